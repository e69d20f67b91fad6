"""Tasks that a collector serves: the questions, the frames that answer them, and the client."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
