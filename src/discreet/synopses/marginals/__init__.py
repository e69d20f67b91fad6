"""Marginal synopses: noisy low-order marginals of many columns, a model of all of them, and rows drawn from it."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
