"""Synthetic tables to try things on, each with a domain whose bounds are constants and are never read off the data.

>>> from discreet import datasets
>>> datasets.patients(n=1000)
<Dataset patients: 1000 rows, columns age, cost, 15 clusters>
"""

from discreet.core import door

_MOVED = ("adult", "available", "fetch", "frequencies", "load", "public_table", "public_tables")
__getattr__, __dir__, __all__ = door(
    __name__, __file__, lambda name: "; it is in discreet_studies.public_tables now" if name in _MOVED else ""
)
