"""The rows of each person, bounded: who a row belongs to, and which of their rows are used."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
