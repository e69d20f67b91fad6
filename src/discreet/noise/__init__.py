"""The only source of randomness: exact integer noise, exact coins, private choices, public hashes.

>>> from discreet import noise
>>> noise.discrete_laplace(scale=2.0, size=3, rng=7).tolist()     # rng=None, the default, is operating-system entropy
[1, 1, 5]
"""

from discreet.core import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
