"""Public tables by name, which studies, measurements and benchmarks read.

Every table comes with a domain, whose bounds are constants and are never read off the data. From a shell:
``discreet data list``, ``discreet data fetch NAME``.
"""

from discreet_studies.downloads.catalogue import PublicTable, fetch, public_table, public_tables
from discreet_studies.downloads.fetching import is_here, place
from discreet_studies.downloads.forms import numbers
from discreet_studies.downloads.frequencies import Frequencies, frequencies
from discreet_studies.downloads.loaders import adult, available, load, read_file

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
