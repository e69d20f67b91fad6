"""Public tables by name: `load`, `adult` and `frequencies` read them from a data folder or the cache, or download them.

From a shell: ``discreet study tables``, ``discreet study fetch NAME``, ``discreet study path NAME``.

>>> from discreet_studies import public_tables
>>> public_tables.public_table("magic").licence
'CC BY 4.0'
"""

from discreet_studies.public_tables.catalogue import PublicTable, fetch, public_table, public_tables
from discreet_studies.public_tables.fetching import is_here, place
from discreet_studies.public_tables.forms import numbers
from discreet_studies.public_tables.frequencies import Frequencies, frequencies
from discreet_studies.public_tables.loaders import adult, available, load, read_file

__all__ = [
    "Frequencies",
    "PublicTable",
    "adult",
    "available",
    "fetch",
    "frequencies",
    "is_here",
    "load",
    "numbers",
    "place",
    "public_table",
    "public_tables",
    "read_file",
]
