"""Tables written to files, in random order if they are released."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
