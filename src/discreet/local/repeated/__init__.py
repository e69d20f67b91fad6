"""Mechanisms and ledgers for devices that report again and again."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
