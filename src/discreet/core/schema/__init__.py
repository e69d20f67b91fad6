"""What a table is said to be like before anybody looks at it: the schema file, its draft, and how files are written."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
