"""Tables to try things on: generators of synthetic ones, loaders of real ones.

Everything here is public or invented, so it may use plain seeded randomness and read its rows freely. The domain
that comes with each table is a constant written beside it, never the smallest and largest value of the data.

>>> from discreet import datasets
>>> datasets.patients(n=1000)
<Dataset patients: 1000 rows, columns age, cost, 15 clusters>
"""

from discreet.datasets.catalogue import PublicTable, fetch, public_table, public_tables
from discreet.datasets.dataset import Dataset
from discreet.datasets.frequencies import Frequencies, anglicisms, frequencies
from discreet.datasets.generators import mixture, patients, s_like
from discreet.datasets.labelled import labelled, labelled_names
from discreet.datasets.loaders import available, load
from discreet.datasets.practice import practice
from discreet.datasets.records import Records, adult, people

__all__ = [
    "Dataset",
    "Frequencies",
    "PublicTable",
    "Records",
    "adult",
    "anglicisms",
    "available",
    "fetch",
    "frequencies",
    "labelled",
    "labelled_names",
    "load",
    "mixture",
    "patients",
    "people",
    "practice",
    "public_table",
    "public_tables",
    "s_like",
]


def __dir__() -> list[str]:
    return __all__
