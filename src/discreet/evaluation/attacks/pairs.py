"""Sums of exp(-rate distance) over all pairs of people and points, on several portions of people at a time."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core import FloatArray, in_order, inlined, jit

_PORTION = 256


def portions(work: Callable[[FloatArray], Any], rows: FloatArray) -> list[Any]:
    pieces = [np.ascontiguousarray(rows[start : start + _PORTION]) for start in range(0, len(rows), _PORTION)]
    return list(in_order(work, pieces))


def log_sums(x: FloatArray, z: FloatArray, rate: float, offsets: FloatArray | None = None) -> FloatArray:
    inner = np.ascontiguousarray(z)
    shift = np.zeros(len(z)) if offsets is None else offsets
    return np.concatenate(portions(lambda part: _log_sums(part, inner, shift, rate), x))


def posterior(z: FloatArray, prior: FloatArray, rate: float) -> FloatArray:
    inner = np.ascontiguousarray(prior)
    return np.concatenate(portions(lambda part: _posterior(part, inner, rate), z))


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


#: exp(-45) of the largest term is beyond a double's digits.
_NEGLIGIBLE = -45.0


@inlined
def _far(a: Any, i: int, b: Any, j: int) -> float:
    total = 0.0
    for axis in range(a.shape[1]):
        gap = a[i, axis] - b[j, axis]
        total += gap * gap
    return math.sqrt(total)


@jit
def _log_sums(x: Any, z: Any, offsets: Any, rate: float) -> Any:
    found = np.empty(x.shape[0])
    for t in range(x.shape[0]):
        top, total = -np.inf, 0.0
        for i in range(z.shape[0]):
            value = offsets[i] - rate * _far(x, t, z, i)
            if value > top:
                total = total * np.exp(top - value) + 1.0
                top = value
            elif value - top > _NEGLIGIBLE:
                total += np.exp(value - top)
        found[t] = top + np.log(total)
    return found


@jit
def _posterior(z: Any, prior: Any, rate: float) -> Any:
    m, d = prior.shape
    guess, weight = np.zeros((z.shape[0], d)), np.empty(m)
    for t in range(z.shape[0]):
        near = np.inf
        for j in range(m):
            weight[j] = _far(z, t, prior, j)
            near = min(near, weight[j])
        total = 0.0
        for j in range(m):
            value = rate * (near - weight[j])
            weight[j] = np.exp(value) if value > _NEGLIGIBLE else 0.0
            total += weight[j]
            for axis in range(d):
                guess[t, axis] += weight[j] * prior[j, axis]
        for axis in range(d):
            guess[t, axis] /= total
    return guess


@jit
def unlinked(known: Any, values: Any, step: float, z_known: Any, z_secret: Any, offsets: Any, rate: float) -> Any:
    """Return log Σ_i exp(offset_i - rate |(known, v) - z_i|) for each person and candidate value v of the secret.

    A value stands for the interval of width ``step`` around it, and a point counts by its distance from the interval:
    with finer noise the true value would be missed between two candidates.
    """
    found = np.empty((known.shape[0], values.size))
    squared = np.empty(z_known.shape[0])
    for t in range(known.shape[0]):
        for i in range(z_known.shape[0]):
            far = _far(known, t, z_known, i)
            squared[i] = far * far
        for v in range(values.size):
            top, total = -np.inf, 0.0
            for i in range(squared.size):
                gap = max(abs(z_secret[i] - values[v]) - step / 2.0, 0.0)
                value = offsets[i] - rate * math.sqrt(squared[i] + gap * gap)
                if value > top:
                    total = total * np.exp(top - value) + 1.0
                    top = value
                elif value - top > _NEGLIGIBLE:
                    total += np.exp(value - top)
            found[t, v] = top + np.log(total)
    return found
