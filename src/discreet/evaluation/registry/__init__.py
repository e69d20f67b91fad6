"""Every public mechanism, with the inputs on which it is audited."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
