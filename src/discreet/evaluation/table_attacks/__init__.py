"""Attacks on released tables, and what a reader of one can take its columns for."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
