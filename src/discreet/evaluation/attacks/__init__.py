"""What somebody with the release could find out."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
