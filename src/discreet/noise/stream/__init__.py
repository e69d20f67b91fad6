"""Random bytes: generators, exact coins, uniform integers, random orders."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
