"""The only source of randomness: exact integer noise, exact coins, private choices, public hashes.

>>> from discreet import noise
>>> noise.discrete_laplace(scale=2.0, size=3, rng=7).tolist()     # rng=None, the default, is operating-system entropy
[1, 1, 5]
"""

from discreet.noise.choice.exponential import exponential
from discreet.noise.choice.quantiles import choose_cuts, quantiles, quantiles_from_counts
from discreet.noise.hashing.families import HashFamily, fingerprint
from discreet.noise.integer.exceedances import exceedances
from discreet.noise.integer.gaussian import discrete_gaussian
from discreet.noise.integer.geometric import geometric
from discreet.noise.integer.laplace import discrete_laplace
from discreet.noise.integer.laws import DiscreteGaussian, DiscreteLaplace
from discreet.noise.integer.max_norm import max_norm_laplace
from discreet.noise.reports.coins import bernoulli, randomized_response
from discreet.noise.stream.generator import Generator, generator
from discreet.noise.stream.order import RowOrder, beside, keyed_order, order_key, permutation
from discreet.noise.stream.uniform import below

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
    "keyed_order",
    "max_norm_laplace",
    "order_key",
    "permutation",
    "quantiles",
    "quantiles_from_counts",
    "randomized_response",
]


def __dir__() -> list[str]:
    return __all__
