"""The work of each kind of job. Heavy imports are here, so that declarations stay light."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
