"""From a partition to a released table, also one larger than memory."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
