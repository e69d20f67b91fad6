"""Comparison of a synthetic table with the real one."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
