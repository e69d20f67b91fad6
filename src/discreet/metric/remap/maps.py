"""Post-processing of perturbed points: functions of the points, the public law and public knowledge.

None of them takes a raw row, so they cost nothing. Points are rows of the scaled space. (Resampling is different: it
uses the raw point again; see `discreet.metric.NDLaplace`.)
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import FloatArray, jit, later, map_threads
from discreet.metric.geometry.laws import IsotropicLaw
from discreet.metric.remap.density import HistogramMixture, density_at, fit_density
from discreet.metric.remap.prior import PlacePrior
from discreet.noise.stream import even_points

spatial = later("scipy.spatial")
special = later("scipy.special")

#: Candidates of the Bayes remap: round the noisy point, and from the prior.
_NEAR, _FROM_PRIOR = 1024, 512
#: Points that one thread takes at a time.
_AT_ONCE = 1024


def clip(points: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Move points into a public box."""
    return np.asarray(np.clip(points, low, high))


def to_grid(points: FloatArray, low: FloatArray, high: FloatArray, per_axis: int) -> FloatArray:
    """Move points to the nearest of ``per_axis`` equally spaced values on every axis."""
    steps = (high - low) / (per_axis - 1)
    return np.asarray(low + np.clip(np.rint((points - low) / steps), 0, per_axis - 1) * steps)


def nearest_places(points: FloatArray, places: FloatArray) -> Any:
    """Return, for every point, the number of the nearest place."""
    return spatial.cKDTree(places).query(points)[1]


def bayes(
    points: FloatArray, rate: float, prior: PlacePrior, low: FloatArray, high: FloatArray, loss: str = "squared"
) -> FloatArray:
    """Move every point to the best guess of its origin, given public knowledge.

    The probability that a point z comes from x is proportional to p(x) e^(-rate ‖z - x‖) (Chatzikokolakis, Elsalamouny,
    Palamidessi 2017), p the prior's density (`discreet.metric.remap.density`). The guess is the mean of that law for
    squared loss, its geometric median for Euclidean loss (Weiszfeld's iteration). Both are computed over candidates of
    two kinds, some drawn around z from the noise, some from the prior, with weights of multiple importance sampling
    (Veach and Guibas 1995). The draws are public constants. If the prior is uniform, a point stays where it is.

    ``prior`` must never contain raw rows. The box ``low``, ``high`` contains all places.
    """
    d = points.shape[1]
    density = fit_density(prior.places, prior.weights, low, high, 0.5 / rate)
    offsets = _offsets(d) / rate
    law = IsotropicLaw(d, rate)
    own = _prior_draws(prior, low, high, density)
    out = np.empty_like(points)
    arrays: Any = density.low, density.width, density.tables, density.shares
    rounds = 40 if loss == "euclidean" else 0
    front = float(law.log_density(np.zeros(d)))
    fixed: Any = (offsets, law.log_density(offsets), own, density.log_at(own), law.rate, front)
    kernel: Any = _bayes

    def work(start: int) -> None:
        part = slice(start, start + _AT_ONCE)
        kernel(np.ascontiguousarray(points[part]), *fixed, *arrays, rounds, out[part])

    map_threads(work, range(0, len(points), _AT_ONCE))
    lost = np.isnan(out).any(axis=1)  # no candidate was possible
    out[lost] = clip(points[lost], low, high)
    return out


@lru_cache(maxsize=16)
def _offsets(d: int) -> FloatArray:
    """Return offsets that follow the noise at rate 1, evenly spread and in opposite pairs."""
    half = _NEAR // 2
    uniform = even_points(half, d + 1, 7)
    normals = special.ndtri(np.clip(uniform[:, 1:], 1e-9, 1 - 1e-9))
    lengths = special.gammaincinv(d, np.clip(uniform[:, 0], 1e-9, 1 - 1e-9))
    one_side = normals / np.linalg.norm(normals, axis=1, keepdims=True) * lengths[:, None]
    return np.concatenate([one_side, -one_side])


def _prior_draws(prior: PlacePrior, low: FloatArray, high: FloatArray, density: HistogramMixture) -> FloatArray:
    """Draw candidates from the prior's density: a level, a point of the prior, a place in the point's cell."""
    d = len(low)
    uniform = even_points(_FROM_PRIOR, d + 2, 8)
    chosen = np.searchsorted(np.cumsum(prior.weights) / prior.weights.sum(), uniform[:, 0], side="right")
    places = np.clip(prior.places[np.minimum(chosen, len(prior.places) - 1)], low, high)
    level = np.searchsorted(np.cumsum(density.theta), uniform[:, 1], side="right")
    cells = 2.0 ** np.minimum(level, len(density.theta) - 1)[:, None]
    cell = np.minimum(np.floor((places - low) / (high - low) * cells), cells - 1)
    return np.asarray(low + (cell + uniform[:, 2:]) / cells * (high - low))


@jit
def _bayes(
    points: Any, offsets: Any, log_noise: Any, own: Any, log_prior: Any, rate: float, log_front: float, low: Any,
    width: Any, tables: Any, shares: Any, rounds: int, out: Any,
) -> None:  # fmt: skip  # pragma: no cover
    n, d = points.shape
    near, far = offsets.shape[0], own.shape[0]
    m = near + far
    log_volume = np.log(width).sum()
    places, score = np.empty((m, d)), np.empty(m)
    guess, moved = np.empty(d), np.empty(d)
    for i in range(n):
        best = -np.inf
        for j in range(m):
            if j < near:
                for c in range(d):
                    places[j, c] = points[i, c] + offsets[j, c]
                found = density_at(places[j], low, width, tables, shares)
                log_p = math.log(found) - log_volume if found > 0 else -np.inf
                log_f = log_noise[j]
            else:
                s = 0.0
                for c in range(d):
                    places[j, c] = own[j - near, c]
                    s += (points[i, c] - places[j, c]) ** 2
                log_p = log_prior[j - near]
                log_f = log_front - rate * math.sqrt(s)
            # p f/(near f + far p), each candidate's weight under the mixture of both ways to draw it.
            a, b = math.log(near) - log_p, math.log(far) - log_f
            top = max(a, b)
            score[j] = -np.inf if top == np.inf else -(top + math.log1p(math.exp(min(a, b) - top)))
            best = max(best, score[j])
        if best == -np.inf:
            out[i] = np.nan
            continue
        total = 0.0
        guess[:] = 0.0
        for j in range(m):
            score[j] = math.exp(score[j] - best)
            total += score[j]
            for c in range(d):
                guess[c] += score[j] * places[j, c]
        guess /= total
        for _ in range(rounds):
            pull = 0.0
            moved[:] = 0.0
            for j in range(m):
                if score[j] < 1e-9:
                    continue
                s = 1e-18
                for c in range(d):
                    s += (guess[c] - places[j, c]) ** 2
                w = score[j] / math.sqrt(s)
                pull += w
                for c in range(d):
                    moved[c] += w * places[j, c]
            change = 0.0
            for c in range(d):
                moved[c] /= pull
                change += (moved[c] - guess[c]) ** 2
                guess[c] = moved[c]
            if change * rate * rate < 1e-8:
                break
        out[i] = guess
