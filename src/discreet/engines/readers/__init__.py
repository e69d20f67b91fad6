"""Readers of a source: columns as they are, rows of a growing tree, projections."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
