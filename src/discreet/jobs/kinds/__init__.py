"""All kinds of job, by name: one file each, which declares its options."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
