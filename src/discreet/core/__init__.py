"""Below every room: what is declared, what is paid, what is promised, and the checks and files all rooms share."""

from discreet.core._doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
