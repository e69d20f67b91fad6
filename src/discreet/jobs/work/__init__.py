"""How each kind of job is done: heavy imports live here, so that declarations stay light."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
