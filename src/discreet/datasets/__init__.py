"""Example tables: generators of synthetic ones, loaders of public ones.

Every table comes with a domain, whose bounds are constants and are never read off the data.

>>> from discreet import datasets
>>> datasets.patients(n=1000)
<Dataset patients: 1000 rows, columns age, cost, 15 clusters>
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
