"""Trees grown level by level from counts alone."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
