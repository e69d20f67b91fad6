"""What travels: reports, counts, and their one binary form."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
