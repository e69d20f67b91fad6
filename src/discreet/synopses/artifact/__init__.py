"""The artifact of the central model: leaves, questions, merging, files, pictures."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
