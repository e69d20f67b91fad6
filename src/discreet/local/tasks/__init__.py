"""Tasks that a collector serves: what is asked, the frames that answer it, and the client that decides whether to."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
