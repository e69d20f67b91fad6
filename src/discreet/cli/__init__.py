"""The command line: one file per verb. Each builds a job and shows what came of it."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
