"""Purchases from a table, against a budget: figures by group, each with its noise, price and interval."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
