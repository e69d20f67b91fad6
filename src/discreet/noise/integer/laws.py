"""The laws of integer noise: probabilities, variances, thresholds.

The variance of integer noise is *not* 2/ε²: at ε = 1 it is 1.84, and at ε = 3 it is 0.11 instead of 0.22.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import checks, later
from discreet.noise.integer.laplace import check_scale

special = later("scipy.special")

#: Up to this σ, tails are sums of chances.
_SUMMED = 1000


@dataclass(frozen=True)
class DiscreteLaplace:
    """The law Pr[Z = z] = (1-α)/(1+α) α^|z|, α = e^(-1/scale); scale = sensitivity / ε, 0 is the law of no noise.

    Examples
    --------
    >>> law = DiscreteLaplace(1)
    >>> round(law.variance, 4), round(law.pmf(0), 4)
    (1.8413, 0.4621)
    >>> law.threshold(0.001)        # exceeded by noise alone once in a thousand draws
    6
    """

    scale: Fraction

    def __init__(self, scale: checks.Number) -> None:
        object.__setattr__(self, "scale", check_scale("scale", scale))

    @property
    def rate(self) -> float:
        """1/scale: the ε of a count."""
        return float(1 / self.scale) if self.scale else math.inf

    @property
    def alpha(self) -> float:
        """e^(-1/scale), the ratio of neighbouring probabilities."""
        return math.exp(-self.rate)

    @property
    def variance(self) -> float:
        """2α/(1-α)²."""
        gap = -math.expm1(-self.rate)
        return 2 * self.alpha / gap**2

    def pmf(self, z: npt.ArrayLike) -> Any:
        """Return Pr[Z = z]."""
        return _scalar(np.exp(self.logpmf(z)))

    def logpmf(self, z: npt.ArrayLike) -> Any:
        """Return ln Pr[Z = z]."""
        distance = np.abs(np.asarray(z, dtype=np.float64))
        if math.isinf(self.rate):
            return _scalar(np.where(distance == 0, 0.0, -np.inf))
        return _scalar(math.log(math.tanh(self.rate / 2)) - distance * self.rate)

    def sf(self, k: npt.ArrayLike) -> Any:
        """Return Pr[Z >= k]: α^k/(1+α) for k >= 0, 1 - α^(1-k)/(1+α) for k <= 1."""
        k = np.asarray(k, dtype=np.float64)
        if math.isinf(self.rate):
            return _scalar((k <= 0).astype(np.float64))
        tail = np.exp(-np.where(k >= 1, k, 1 - k) * self.rate) / (1 + self.alpha)
        return _scalar(np.where(k >= 1, tail, 1 - tail))

    def mean_above(self, k: npt.ArrayLike) -> Any:
        """Return E[Z | Z >= k]: the bias of a count that was kept because it was large."""
        k = np.asarray(k, dtype=np.float64)
        excess = self.alpha / -math.expm1(-self.rate)
        j = np.maximum(1 - k, 0)
        power = np.exp(-np.where(j > 0, j, 0) * self.rate) if math.isfinite(self.rate) else (j == 0) * 1.0
        below = power * (j + excess) / (1 + self.alpha - power) if self.scale else np.zeros_like(k)
        return _scalar(np.where(k >= 1, k + excess, below))

    def threshold(self, tail: checks.Number) -> int:
        """Return the smallest integer τ >= 0 with Pr[Z > τ] <= tail."""
        share = float(checks.probability("tail", tail))
        if not self.scale:
            return 0
        return max(0, math.ceil(math.log(1 / (share * (1 + self.alpha))) / self.rate) - 1)


@dataclass(frozen=True)
class DiscreteGaussian:
    """The law Pr[Z = z] ∝ e^(-z²/(2σ²)) on the integers (Canonne, Kamath, Steinke 2020); 0 is the law of no noise.

    Examples
    --------
    >>> law = DiscreteGaussian(0.5)
    >>> round(law.variance, 4), round(law.pmf(0), 4)
    (0.215, 0.7866)
    """

    sigma: Fraction

    def __init__(self, sigma: checks.Number) -> None:
        object.__setattr__(self, "sigma", check_scale("sigma", sigma))

    @property
    def normaliser(self) -> float:
        """Σ e^(-z²/(2σ²)); by Poisson summation σ√(2π)(1 + 2 Σ e^(-2π²σ²j²)) once σ is not small."""
        s = float(self.sigma)
        if s == 0:
            return 1.0
        j = np.arange(1, 41, dtype=np.float64)
        if s < 1:
            return float(1 + 2 * np.exp(-(j**2) / (2 * s * s)).sum())
        return float(s * math.sqrt(2 * math.pi) * (1 + 2 * np.exp(-2 * (math.pi * s * j) ** 2).sum()))

    @property
    def variance(self) -> float:
        """The variance: σ² up to 1e-6 from σ = 1 on, smaller below."""
        s = float(self.sigma)
        if s == 0:
            return 0.0
        j = np.arange(1, 41, dtype=np.float64)
        if s < 1:
            return float(2 * (j**2 * np.exp(-(j**2) / (2 * s * s))).sum() / self.normaliser)
        # σ³ d/dσ of the logarithm of the normaliser.
        wave = np.exp(-2 * (math.pi * s * j) ** 2)
        return float(s * s * (1 - 8 * (math.pi * s) ** 2 * (j**2 * wave).sum() / (1 + 2 * wave.sum())))

    def logpmf(self, z: npt.ArrayLike) -> Any:
        """Return ln Pr[Z = z]."""
        z = np.asarray(z, dtype=np.float64)
        if not self.sigma:
            return _scalar(np.where(z == 0, 0.0, -np.inf))
        return _scalar(-(z**2) / (2 * float(self.sigma) ** 2) - math.log(self.normaliser))

    def pmf(self, z: npt.ArrayLike) -> Any:
        """Return Pr[Z = z]."""
        return _scalar(np.exp(self.logpmf(z)))

    def sf(self, k: npt.ArrayLike) -> Any:
        """Return Pr[Z >= k]; for σ above 1000 by the continuous Gaussian law, which agrees within rounding."""
        k = np.asarray(k, dtype=np.float64)
        s = float(self.sigma)
        if s == 0:
            return _scalar((k <= 0).astype(np.float64))
        if s > _SUMMED:
            return _scalar(special.ndtr((0.5 - k) / s))
        z, _, above, _ = self._sums()
        return _scalar(np.where(k > z[-1], 0.0, above[np.clip(k - z[0], 0, len(z) - 1).astype(np.int64)]))

    def mean_above(self, k: npt.ArrayLike) -> Any:
        """Return E[Z | Z >= k]: the bias of a count that was kept because it was large."""
        k = np.asarray(k, dtype=np.float64)
        s = float(self.sigma)
        if s == 0:
            return _scalar(np.zeros_like(k))
        if s > _SUMMED:
            x = (k - 0.5) / s
            return _scalar(s * math.sqrt(2 / math.pi) / special.erfcx(x / math.sqrt(2)))
        z, _, above, moment = self._sums()
        at = np.clip(k - z[0], 0, len(z) - 1).astype(np.int64)
        # Beyond the sums, chances fall so fast that only the first one counts.
        return _scalar(np.where(k >= z[-1], k, moment[at] / np.maximum(above[at], 1e-300)))

    def threshold(self, tail: checks.Number) -> int:
        """Return the smallest integer τ >= 0 with Pr[Z > τ] <= tail."""
        share, low = float(checks.probability("tail", tail)), 0
        if not self.sigma:
            return 0
        high = max(1, math.ceil(40 * float(self.sigma)))
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.sf(middle + 1) <= share else (middle + 1, high)
        return low

    def _sums(self) -> tuple[Any, Any, Any, Any]:
        """Return integers z, their chances, Pr[Z >= z] and the sum of y Pr[Z = y] over y >= z."""
        most = math.ceil(38 * float(self.sigma)) + 2
        z = np.arange(-most, most + 1, dtype=np.float64)
        p = np.asarray(self.pmf(z))
        return z, p, np.cumsum(p[::-1])[::-1], np.cumsum((z * p)[::-1])[::-1]


def _scalar(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value
