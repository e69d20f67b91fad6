"""Private k-means through a synopsis, the interactive method, and the choice between them."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
