"""Prices, the draws they pay for, and the lines of a ledger."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
