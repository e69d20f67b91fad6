"""Growing a partition: grids, criteria, searches, the frozen tree."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
