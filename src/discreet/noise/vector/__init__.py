"""Exact noise on vectors: isotropic in n dimensions, on the sphere, directions."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
