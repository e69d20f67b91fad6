"""Mechanisms and ledgers for repeated reports of a device."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
