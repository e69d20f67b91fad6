"""Questions to a synopsis, and their answers with both parts of the error. Post-processing."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
