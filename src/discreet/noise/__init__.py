"""The only source of randomness: exact integer noise, exact coins, private choices, public hashes.

>>> from discreet import noise
>>> noise.discrete_laplace(scale=2.0, size=3, rng=7).tolist()     # rng=None, the default, is operating-system entropy
[1, 1, 5]
"""

from discreet.noise._bounds import private_bounds
from discreet.noise._coins import bernoulli, randomized_response
from discreet.noise._exceedances import exceedances
from discreet.noise._exponential import exponential
from discreet.noise._gaussian import discrete_gaussian
from discreet.noise._generator import Generator, generator
from discreet.noise._geometric import geometric
from discreet.noise._hashing import HashFamily, fingerprint
from discreet.noise._laplace import discrete_laplace
from discreet.noise._max_norm import max_norm_laplace
from discreet.noise._order import RowOrder, beside, permutation
from discreet.noise._quantiles import choose_cuts, quantiles, quantiles_from_counts
from discreet.noise._uniform import below
from discreet.noise.laws import DiscreteGaussian, DiscreteLaplace

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Generator",
    "HashFamily",
    "RowOrder",
    "below",
    "bernoulli",
    "beside",
    "choose_cuts",
    "discrete_gaussian",
    "discrete_laplace",
    "exceedances",
    "exponential",
    "fingerprint",
    "generator",
    "geometric",
    "max_norm_laplace",
    "permutation",
    "private_bounds",
    "quantiles",
    "quantiles_from_counts",
    "randomized_response",
]
