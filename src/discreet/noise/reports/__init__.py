"""What a device draws for one report: coins, subsets, numbers, stored randomness."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
