"""The unit of work: what the command line, a job file, a page and a notebook start."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
