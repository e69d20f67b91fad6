"""The methods that group records into cells: density tree, Mondrian, generalisation; drawing rows first; which k."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
