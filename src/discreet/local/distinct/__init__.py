"""How many different items there are: private bitmaps of data holders, and plain sketches to measure them against."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
