"""Metric privacy: points near each other look alike. n-dimensional Laplace noise, remapping, and other mechanisms.

>>> import numpy as np
>>> from discreet import metric
>>> metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1)).transform(np.array([[0.2, 0.3]])).shape
(1, 2)
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
