"""Random bytes and what is drawn straight from them: generators, exact coins against digits, uniform integers."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
