"""The grids as they were published: their size follows from the exact number of rows, which nobody paid for.

For experiments only. With the number of rows known to one, adding a row can change the number of cells, and whoever
counts the cells of the release has told two neighbouring tables apart: no ε covers that. `GridSynopsis` buys a noisy
number instead, or takes one that is declared to be public.

Also as published: no guard against fewer cells than clusters. Not as published: noise is discrete Laplace.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.clustering import weighted_kmeans
from discreet.core import Domain, FloatArray, checks
from discreet.synopses import GridSynopsis, Synopsis
from discreet.synopses.boxes.grid import THETA, eugkm, rugnik

RULES = ("rugnik", "eugkm")


def parts(rule: str, n: int, epsilon: float, d: int, k: int) -> int:
    """Return the parts per axis that a rule gives for this many rows.

    Examples
    --------
    >>> parts("rugnik", 200, 0.1, 2, 2), parts("eugkm", 200, 0.1, 2, 2)
    (3, 1)
    """
    return rugnik(n, epsilon, d, k, guard=False) if rule == "rugnik" else eugkm(n, epsilon, d)


def eugkm_rounded(n: float, epsilon: float, d: int, rounding: str) -> int:
    """Return EUGkM's parts per axis with its number made whole as an experiment did it; at least 1.

    Examples
    --------
    >>> eugkm_rounded(5000, 1.0, 2, "up"), eugkm_rounded(5000, 1.0, 2, "down")
    (23, 22)
    """
    whole = {"up": math.ceil, "down": math.floor}[checks.choice("rounding", rounding, ("up", "down"))]
    return max(1, whole(math.pow(max(1.0, n) * epsilon / THETA, 2 / (2 + d))))


def release(X: FloatArray, domain: Domain, k: int, epsilon: float, each: int, seed: int) -> Synopsis:
    """Return the noisy counts of a grid of this many parts per axis, all of ε spent on them.

    Examples
    --------
    >>> import numpy as np
    >>> release(np.zeros((9, 2)), Domain.box([-1, -1], 1), 3, 1.0, 1, 0).points.tolist()
    [[0.0, 0.0]]
    """
    return GridSynopsis(epsilon, domain, each, n_clusters=k, n_rows=len(X), random_state=seed).fit(X).synopsis_


def signed_kmeans(points: FloatArray, weights: FloatArray, k: int, seed: int, steps: int = 100) -> FloatArray:
    """Run Lloyd's steps with weights of either sign, from k-means on the positive ones.

    A program that does not treat negative counts does this. A centre whose weights sum to nothing or less stays where
    it is, and centres stay within the outermost points.

    Examples
    --------
    >>> import numpy as np
    >>> signed_kmeans(np.array([[0.0], [1.0], [9.0]]), np.array([4.0, -2.0, 1.0]), 2, 0).tolist()
    [[0.0], [9.0]]
    """
    centers = weighted_kmeans(points, np.maximum(weights, 0), k, seed=seed).centers
    low, high = points.min(axis=0), points.max(axis=0)
    for _ in range(steps):
        nearest = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        sums = np.bincount(nearest, weights, len(centers))
        moved = centers.copy()
        for i in np.flatnonzero(sums > 0):
            moved[i] = np.clip(weights[nearest == i] @ points[nearest == i] / sums[i], low, high)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def steps(rule: str, epsilon: float, d: int, k: int, most: int) -> int:
    """Return at how many numbers of rows, from 1 up to ``most``, one row more changes the size of the grid.

    Examples
    --------
    >>> steps("eugkm", 1.0, 2, 2, 100)
    2
    """

    def between(low: int, high: int) -> int:
        # More rows never make a grid coarser, so equal ends have nothing between them.
        if parts(rule, low, epsilon, d, k) == parts(rule, high, epsilon, d, k):
            return 0
        middle = (low + high) // 2
        return 1 if high - low == 1 else between(low, middle) + between(middle, high)

    return between(1, most + 1)
