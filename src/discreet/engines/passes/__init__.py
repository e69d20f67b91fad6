"""What one pass over rows can do: count by cell, sum, walk a tree, collect texts."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
