from . import refine as refine
from .consistency import rate_of as rate_of
from .synopsis import BoxSynopsis as BoxSynopsis
