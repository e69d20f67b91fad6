"""Weighted k-means on a synopsis: post-processing, so it may try as often as it likes at no price.

Restarts alone rarely find the optimum with dozens of clusters. So the best of several k-means++ starts is improved by
*swaps*: a centre moves from where it is missed least to where points cost most, and stays if the cost fell after a few
Lloyd steps (random swap, Fränti 2018; local search, Lattanzi and Sohler 2019).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.clustering.leaves import _kmeans_kernels as kernels
from discreet.core import AnyArray, FloatArray, IntArray, checks
from discreet.errors import InvalidArgument, InvalidType

#: Lloyd steps that a start or a trial swap gets before it is judged, and that the chosen one gets.
_TRIAL_STEPS, _SWAP_STEPS, _FULL_STEPS = 5, 2, 200
#: Candidates for each centre of a k-means++ start, and trial swaps for each cluster.
_CANDIDATES, _SWAPS_PER_CLUSTER, _FEWEST_SWAPS = 3, 12, 100


@dataclass(frozen=True, eq=False)
class WeightedClusters:
    """Centres, the weight of the points nearest to each, and the cost Σ w |x - c|²."""

    centers: FloatArray
    weights: FloatArray
    cost: float


def weighted_kmeans(points: Any, weights: Any, n_clusters: int, *, n_init: int = 10, seed: int = 0) -> WeightedClusters:
    """Cluster weighted points, in the units they are given in; centres come sorted by their coordinates.

    Points with a weight of 0 or less do not count. With fewer points than clusters, the points are the centres. Of
    ``n_init`` k-means++ starts the best is improved by swaps; the same seed gives the same centres.
    """
    n_clusters = checks.whole("n_clusters", n_clusters, low=1)
    n_init = checks.whole("n_init", n_init, low=1)
    places, masses = _read(points, weights)
    if len(places) <= n_clusters:
        centers, cost = places, 0.0
    else:
        centers, cost = _search(places, masses, n_clusters, n_init, noise.generator(checks.whole("seed", seed)))
    centers = centers[np.lexsort(centers.T[::-1])]
    return WeightedClusters(centers, mass_by(nearest(places, centers), masses, len(centers)), cost)


def nearest(points: FloatArray, centers: FloatArray) -> IntArray:
    """Return the number of the nearest centre of each point."""
    labels, gaps = np.empty(len(points), np.int64), np.empty(len(points))
    kernels.assign(np.ascontiguousarray(points), np.ascontiguousarray(centers), labels, gaps)
    return labels


def mass_by(labels: AnyArray, masses: FloatArray, n_labels: int) -> FloatArray:
    """Add masses up by label; as floats also where there are none."""
    return np.bincount(labels, masses, minlength=n_labels).astype(np.float64)


def _read(points: Any, weights: Any) -> tuple[FloatArray, FloatArray]:
    """Check the arrays and keep what counts: distinct points of positive weight."""
    try:
        places, masses = np.asarray(points, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType("points", type(points).__name__, "an array of numbers", "points=synopsis.points") from None
    if places.ndim != 2 or masses.shape != places.shape[:1]:
        raise InvalidArgument(
            "weights", (places.shape, masses.shape), "one number for each row of points", "weights=synopsis.weights"
        )
    if not (np.isfinite(places).all() and np.isfinite(masses).all()):
        raise InvalidArgument("points", "numbers that are not finite", "finite numbers", "points=synopsis.points")
    places, masses = places[masses > 0], masses[masses > 0]
    places, which = np.unique(places, axis=0, return_inverse=True)
    return np.ascontiguousarray(places), mass_by(which.ravel(), masses, len(places))


def _search(
    places: FloatArray, masses: FloatArray, k: int, n_init: int, stream: noise.Generator
) -> tuple[FloatArray, float]:
    labels, near = np.empty(len(places), np.int64), np.empty(len(places))
    best, best_cost = places[:k], np.inf
    for _ in range(n_init):
        centers = kernels.seed_centers(places, masses, _uniforms((k, _CANDIDATES), stream))
        kernels.assign(places, centers, labels, near)
        cost = kernels.lloyd(places, masses, centers, labels, near, _TRIAL_STEPS)
        if cost < best_cost:
            best, best_cost = centers, cost
    swaps = max(_FEWEST_SWAPS, _SWAPS_PER_CLUSTER * k) if k > 1 else 0
    return _swapped(places, masses, best, _uniforms((swaps,), stream))


def _swapped(
    places: FloatArray, masses: FloatArray, centers: FloatArray, uniforms: FloatArray
) -> tuple[FloatArray, float]:
    """Leave a poor optimum by swaps of centres: one trial for each number in ``uniforms``; return centres and cost.

    A trial puts a centre on a point drawn with probability proportional to what it costs now, takes away the centre
    that is missed least, runs a few Lloyd steps and is kept if the cost fell; then Lloyd runs on to its end.
    """
    n, k = len(places), len(centers)
    labels, near, second = np.empty(n, np.int64), np.empty(n), np.empty(n)
    extra, moved, which = np.empty(k), np.zeros(k, np.bool_), np.empty(k, np.int64)
    kernels.assign(places, centers, labels, near)
    cost = kernels.lloyd(places, masses, centers, labels, near, _FULL_STEPS)
    kernels.second_nearest(places, centers, labels, second)
    cumulative = np.cumsum(masses * near)
    for uniform in uniforms:
        if cumulative[-1] <= 0.0:
            break
        chosen = min(int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right")), n - 1)
        removed = kernels.best_to_remove(places, masses, labels, near, second, chosen, extra)
        trial = centers.copy(), labels.copy(), near.copy()
        trial[0][removed], moved[removed] = places[chosen], True
        kernels.reassign(places, trial[0], moved, which, *trial[1:])
        moved[removed] = False
        if kernels.lloyd(places, masses, *trial, _SWAP_STEPS) < cost * (1.0 - 1e-9):
            cost = kernels.lloyd(places, masses, *trial, _FULL_STEPS)
            centers, labels, near = trial
            kernels.second_nearest(places, centers, labels, second)
            cumulative = np.cumsum(masses * near)
    return centers, cost


def _uniforms(shape: tuple[int, ...], stream: noise.Generator) -> FloatArray:
    drawn: FloatArray = noise.below(2**53, shape, stream) / 2.0**53
    return drawn
