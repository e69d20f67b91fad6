"""Rules and risk of a table: classes, distances, persons, hierarchies."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
