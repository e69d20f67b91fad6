"""Schema files: columns, their draft, codebooks, and the format of the table."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
