"""Synthetic example tables, each with its domain. Public tables come with the studies (`discreet.studies.downloads`).

>>> from discreet import datasets
>>> datasets.patients(n=1000)
<Dataset patients: 1000 rows, columns age, cost, 15 clusters>
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
