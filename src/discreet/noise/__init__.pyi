from .choice.exponential import exponential as exponential
from .choice.quantiles import choose_cuts as choose_cuts
from .choice.quantiles import quantiles as quantiles
from .choice.quantiles import quantiles_from_counts as quantiles_from_counts
from .hashing.families import HashFamily as HashFamily
from .hashing.families import fingerprint as fingerprint
from .integer.exceedances import exceedances as exceedances
from .integer.gaussian import discrete_gaussian as discrete_gaussian
from .integer.laplace import discrete_laplace as discrete_laplace
from .integer.laws import DiscreteGaussian as DiscreteGaussian
from .integer.laws import DiscreteLaplace as DiscreteLaplace
from .integer.max_norm import max_norm_laplace as max_norm_laplace
from .public import PublicRandomness as PublicRandomness
from .public import numpy_stream as numpy_stream
from .reports.coins import bernoulli as bernoulli
from .reports.coins import randomized_response as randomized_response
from .stream.draw import below as below
from .stream.generator import Generator as Generator
from .stream.generator import generator as generator
from .stream.order import RowOrder as RowOrder
from .stream.order import keyed_order as keyed_order
from .stream.order import order_key as order_key
from .stream.order import permutation as permutation
from .stream.order import second_stream as second_stream

# What users see. The other names are for other rooms.
__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Generator",
    "HashFamily",
    "RowOrder",
    "below",
    "bernoulli",
    "discrete_gaussian",
    "discrete_laplace",
    "exceedances",
    "exponential",
    "fingerprint",
    "generator",
    "max_norm_laplace",
    "permutation",
    "quantiles",
    "quantiles_from_counts",
    "randomized_response",
]
