"""Boxes with noisy counts: grids, trees, and their refinement."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
