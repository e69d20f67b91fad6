"""Mechanisms: publish counts, sums, choices and quantiles. One call draws the noise and charges the ledger."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
