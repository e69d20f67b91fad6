"""Choice of mechanisms and settings, amplification by shuffling, and the influence of made-up reports."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
