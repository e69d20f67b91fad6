"""Which mechanism and settings, what can be found, what shuffling adds: before anything is collected."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
