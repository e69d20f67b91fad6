"""The studio: a page on this computer that leads from a table to a release with evidence.

It holds no method of its own. What it starts is the same `Job` that the command line and job files start; what it
draws comes from `reporting`, `planning` and released artifacts.
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
