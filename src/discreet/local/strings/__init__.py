"""Frequent strings without a list of candidates."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
