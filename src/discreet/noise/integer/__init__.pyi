from .laplace import LARGEST_SCALE as LARGEST_SCALE
from .laws import DiscreteGaussian as DiscreteGaussian
from .laws import DiscreteLaplace as DiscreteLaplace
from .max_norm import max_norm_variance as max_norm_variance
from .max_norm import smallest_scale as smallest_scale
