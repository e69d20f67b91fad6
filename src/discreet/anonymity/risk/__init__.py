"""What a table promises and who could be found in it: classes, rules, distances, persons."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
