"""Kernels over all pairs of people and points, run on several portions of people at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core import FloatArray, in_order
from discreet.evaluation.attacks import _point_kernels as kernels

_PORTION = 256


def portions(work: Callable[[FloatArray], Any], rows: FloatArray) -> list[Any]:
    pieces = [np.ascontiguousarray(rows[start : start + _PORTION]) for start in range(0, len(rows), _PORTION)]
    return list(in_order(work, pieces))


def log_sums(x: FloatArray, z: FloatArray, rate: float, offsets: FloatArray | None = None) -> FloatArray:
    inner = np.ascontiguousarray(z)
    shift = np.zeros(len(z)) if offsets is None else offsets
    return np.concatenate(portions(lambda part: kernels.log_sums(part, inner, shift, rate), x))


def posterior(z: FloatArray, prior: FloatArray, rate: float) -> FloatArray:
    inner = np.ascontiguousarray(prior)
    return np.concatenate(portions(lambda part: kernels.posterior(part, inner, rate), z))


def stranger_density(places: FloatArray, sample: FloatArray, rate: float, *, peak: bool = True) -> FloatArray:
    """Return the log density of the noisy point of a stranger, relative to the peak of the noise.

    The kernel is the noise itself where that is wide enough. Otherwise it has the usual width of a kernel estimate,
    m^(-1/(d + 4)) standard deviations, or gaps in the sample would look like gaps in the population. With
    ``peak=False`` the result is up to a constant, and the rate may be infinite.
    """
    d = sample.shape[1]
    spread = float(np.sqrt(sample.var(axis=0).mean()))
    widest = np.sqrt(d + 1) * len(sample) ** (1 / (d + 4)) / spread if spread > 0 else np.inf
    width = float(min(rate, widest))
    found = log_sums(places, sample, width if np.isfinite(width) else 1.0)
    return np.asarray(found - np.log(len(sample)) + d * np.log(width / rate)) if peak else found
