"""Public keyed hashes and the loops that count which reports support which candidates."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
