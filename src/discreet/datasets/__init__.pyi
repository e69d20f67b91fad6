from .catalogue import PublicTable as PublicTable
from .catalogue import fetch as fetch
from .catalogue import public_table as public_table
from .catalogue import public_tables as public_tables
from .dataset import Dataset as Dataset
from .fetching import is_here as is_here
from .fetching import place as place
from .forms import numbers as numbers
from .frequencies import Frequencies as Frequencies
from .frequencies import anglicisms as anglicisms
from .frequencies import frequencies as frequencies
from .generators import mixture as mixture
from .generators import patients as patients
from .generators import s_like as s_like
from .loaders import available as available
from .loaders import load as load
from .loaders import read_file as read_file
from .practice import practice as practice
from .records import Records as Records
from .records import adult as adult
from .records import people as people

# What users see. The other names are for other rooms.
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
    "load",
    "mixture",
    "patients",
    "people",
    "practice",
    "public_table",
    "public_tables",
    "s_like",
]
