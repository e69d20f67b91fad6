"""Two tables beside each other: what of the real one is in the synthetic one."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
