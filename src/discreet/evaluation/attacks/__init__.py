"""Attacks on points, synopses and centres: membership, reconstruction, attributes."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
