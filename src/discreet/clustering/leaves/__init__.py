"""Leaves of a synopsis as weighted points: k-means, hills of their density, mixtures. Post-processing."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
