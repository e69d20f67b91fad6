"""Tables to try things on: generators of synthetic ones, loaders of real ones.

Everything here is public or simulated, so it may use plain seeded randomness and read its rows freely. The domain
that comes with each table is a constant written next to it, never the smallest and largest value of the data.

>>> from discreet import datasets
>>> datasets.patients(n=1000)
<Dataset patients: 1000 rows, columns age, cost, 15 clusters>
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
