"""Exact integer noise: discrete Laplace, discrete Gaussian, geometric, and their laws."""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
