"""Confidence intervals, one formula each: normal, Laplace or normal, Wilson, Clopper-Pearson."""

import math
from typing import Any

import numpy as np


def normal_width(level: float) -> float:
    """Return the half width of a two-sided normal interval, in standard errors."""
    from scipy.special import ndtri  # takes long to import

    return float(ndtri(0.5 + level / 2))


def noise_width(level: float) -> float:
    """Return the half width of an interval of noisy counts, in standard errors.

    The noise of one count is Laplace, that of many is nearly normal: the wider of both holds for either.
    """
    return max(normal_width(level), -math.log1p(-level) / math.sqrt(2))


def wilson(successes: Any, trials: Any, level: float) -> tuple[Any, Any]:
    """Return the two-sided score interval of a rate (Wilson 1927); 0 and 1 without trials."""
    k, n = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    z = normal_width(level)
    many = np.maximum(n, 1)
    middle, spread = k + z * z / 2, z * np.sqrt(k * (n - k) / many + z * z / 4)
    low, high = (middle - spread) / (n + z * z), (middle + spread) / (n + z * z)
    return np.where(k > 0, low, 0.0), np.where(k < n, high, 1.0)


def clopper_pearson(successes: Any, trials: Any, miss: float) -> tuple[Any, Any]:
    """Return the exact one-sided lower and upper bound of a rate, each wrong with probability at most ``miss``.

    The bounds are quantiles of Beta(k, n-k+1) and Beta(k+1, n-k) (Clopper and Pearson 1934).
    """
    from scipy.special import betaincinv  # takes long to import

    k, n = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, miss), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - miss), 1.0)
    return low, high
