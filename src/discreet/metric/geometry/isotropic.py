"""The law of isotropic Laplace noise."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import FloatArray, checks, later

special = later("scipy.special")


@dataclass(frozen=True)
class IsotropicLaw:
    """Noise with density proportional to e^(-rate ‖y‖) in n dimensions.

    Its length has the Gamma(n) law with mean n/rate, its direction is uniform. Distances are in the declared metric
    (see `discreet.metric.Scaling`). ``rate`` is ε per unit of distance.

    Examples
    --------
    >>> law = IsotropicLaw(dimension=7, rate=2.0)
    >>> law.expected_error, round(law.coordinate_std, 3)
    (3.5, 1.414)
    >>> round(law.accuracy_radius(0.05), 2), law.indistinguishable(1.0)
    (5.92, 0.5)
    """

    dimension: int
    rate: float

    @property
    def expected_error(self) -> float:
        """Mean length of the noise, n/rate."""
        return self.dimension / self.rate

    @property
    def coordinate_std(self) -> float:
        """Standard deviation along each axis, √(n + 1)/rate."""
        return math.sqrt(self.dimension + 1) / self.rate

    def log_density(self, offsets: Any) -> FloatArray:
        """Return ln of the density at each offset (rows by n): ln(rate^n Γ(n/2)/(2 π^(n/2) Γ(n))) - rate ‖y‖."""
        n = self.dimension
        front = (
            n * math.log(self.rate)
            + special.gammaln(n / 2)
            - math.log(2)
            - n / 2 * math.log(math.pi)
            - special.gammaln(n)
        )
        return np.asarray(front - self.rate * np.linalg.norm(np.asarray(offsets, np.float64), axis=-1))

    def accuracy_radius(self, delta: float) -> float:
        """Return α such that the noise is longer than α with probability δ: the (α, δ)-accuracy."""
        return float(special.gammaincinv(self.dimension, 1 - float(checks.probability("delta", delta)))) / self.rate

    def indistinguishable(self, level: float) -> float:
        """Return the radius within which two points differ by at most a factor e^level: level/rate."""
        return float(checks.positive("level", level)) / self.rate

    def best_guess_bound(self, distance: float) -> float:
        """Return the largest excess of hits over false alarms for two points at a distance: tanh(εD/2)."""
        return math.tanh(self.rate * float(distance) / 2)
