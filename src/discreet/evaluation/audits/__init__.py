"""Whether a mechanism keeps its claim: lower bounds from runs, exact laws, tables counted again."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
