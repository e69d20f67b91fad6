"""The kernels over all pairs, several portions of people at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core import FloatArray, in_order
from discreet.evaluation.attacks import _point_kernels as kernels

_PORTION = 256
#: Steps towards a geometric median; each brings it closer by a factor.
_ROUNDS = 200


def portions(work: Callable[[FloatArray], Any], rows: FloatArray) -> list[Any]:
    """Return the results for portions of rows, in order; kernels hold no interpreter lock."""
    pieces = [np.ascontiguousarray(rows[start : start + _PORTION]) for start in range(0, len(rows), _PORTION)]
    return list(in_order(work, pieces))


def log_sums(x: FloatArray, z: FloatArray, rate: float, offsets: FloatArray | None = None) -> FloatArray:
    """Return log Σ_i exp(offset_i - rate |x - z_i|) for every row of x.

    Examples
    --------
    >>> log_sums(np.array([[0.0], [1e6]]), np.array([[0.0], [0.0]]), 1.0).round(3).tolist()
    [0.693, -999999.307]
    """
    inner = np.ascontiguousarray(z)
    shift = np.zeros(len(z)) if offsets is None else offsets
    return np.concatenate(portions(lambda part: kernels.log_sums(part, inner, shift, rate), x))


def posterior(z: FloatArray, prior: FloatArray, rate: float, estimate: str) -> FloatArray:
    """Return the posterior mean, geometric median or mode of a record given its noisy point."""
    inner = np.ascontiguousarray(prior)
    found = portions(lambda part: kernels.posterior(part, inner, rate, estimate == "median", _ROUNDS), z)
    if estimate == "mode":
        return np.asarray(prior[np.concatenate([mode for _, mode in found])])
    return np.concatenate([guess for guess, _ in found])


def geometric_medians(reports: FloatArray) -> FloatArray:
    """Return the points of least total distance to each person's reports, shape (people, reports, columns)."""
    return np.concatenate(portions(lambda part: kernels.geometric_medians(part, _ROUNDS), reports))


def stranger_density(places: FloatArray, sample: FloatArray, rate: float, *, peak: bool = True) -> FloatArray:
    """Return the log density of a noisy point of somebody like those in a sample, less that of the noise at its peak.

    The kernel is the noise itself, where that is wide enough: the mean of its density over the sample. Where it is
    finer than what a sample can resolve, the usual width of a kernel estimate, m^(-1/(d + 4)) standard deviations,
    takes its place, or gaps in the sample would pass for gaps in the population. With ``peak=False`` it is up to a
    constant, and the rate may be infinite.
    """
    d = sample.shape[1]
    spread = float(np.sqrt(sample.var(axis=0).mean()))
    widest = np.sqrt(d + 1) * len(sample) ** (1 / (d + 4)) / spread if spread > 0 else np.inf
    width = float(min(rate, widest))
    found = log_sums(places, sample, width if np.isfinite(width) else 1.0)
    return np.asarray(found - np.log(len(sample)) + d * np.log(width / rate)) if peak else found
