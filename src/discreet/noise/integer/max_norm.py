"""Exact noise on integer vectors whose law depends on the largest entry: one draw for a count and its sums.

Wanted: Pr[z] proportional to a^r on the lattice of dimension D, where r is the largest absolute entry of z and
a = e^(-1/scale). Mix uniform laws on cubes: choose a radius K, then every entry uniformly from -K..K. A point with norm
r is in every cube with K >= r, so with Pr[K] = c (2K+1)^D a^K its chance is Σ_{K >= r} c a^K = c a^r / (1 - a).

The radius is a sum of D + 1 geometric variables, Pr[K] proportional to C(K+D, D) a^K, kept with probability
Π_{i=1..D} (2K+1)/(2K+2i) = (2K+1)^D / (2^D D! C(K+D, D)). Each factor is a rational coin, tossed by drawing a whole
number below 2K+2i. At scales well above D almost all are kept, at scale D/8, the smallest allowed, 2 %.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import IntArray, checks
from discreet.errors import InvalidArgument
from discreet.noise.integer.laplace import check_scale, coin_chances, geometric_table
from discreet.noise.stream import kernels, watch
from discreet.noise.stream.draw import draw

#: From this scale on the closed form of the variance is right to five digits, and to all beyond dimension 1.
_LARGE_SCALE = 64.0


def max_norm_laplace(scale: checks.Number, dimension: int, size: int, rng: object = None) -> IntArray:
    """Draw ``size`` integer vectors (rows) with probability proportional to ``exp(-max|z_j| / scale)``, exactly.

    Parameters
    ----------
    scale : float or Fraction
        Largest change of any entry, divided by ε, at least ``dimension / 8``. Taken as the exact rational it denotes.
        0 means ε = ∞: no noise.
    dimension : int
        Entries of a vector, from 1 to 10000.
    size : int
        Number of vectors.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Privacy
    -------
    Neighbours: add or remove one row. If a row moves no entry of an integer vector by more than Δ, then the largest
    entry of a difference changes by at most Δ (triangle inequality), so ``vector + z`` with scale Δ/ε is
    ε-differentially private, however many entries move at once. Price: ε for the whole vector.

    Examples
    --------
    >>> max_norm_laplace(scale=2.0, dimension=3, size=2, rng=7).tolist()
    [[-6, 7, -3], [-3, -3, 2]]
    """
    exact = check_scale("scale", scale)
    dimension = checks.whole("dimension", dimension, low=1, high=10_000)
    shape = (checks.whole("size", size), dimension)
    watch.drew("max-norm", exact, shape[0], rng)
    if exact == 0:
        return np.zeros(shape, np.int64)
    if exact < smallest_scale(dimension):
        expected = f"0 (no noise) or at least {float(smallest_scale(dimension)):g} for dimension {dimension}"
        raise InvalidArgument("scale", scale, expected, "a finer unit: vector and scale times 16")

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return kernels.max_norm(geometric_table(exact, precision), dimension, *state)

    vectors: IntArray = draw(kernel, shape, rng, bytes_each=len(coin_chances(exact)) + 8)
    return vectors


def smallest_scale(dimension: int) -> Fraction:
    """Return the smallest scale allowed: below it too few radii would be kept."""
    return Fraction(dimension, 8)


def max_norm_variance(scale: checks.Number, dimension: int) -> float:
    """Return the variance of every entry: ``((D+1)(D+2) scale^2 - 1/4) / 3``, or its exact sum at small scales.

    Given the radius, an entry has variance K(K+1)/3. With t = K + 1/2 that is (t^2 - 1/4)/3, and t has weights
    t^D e^(-t/scale) at half-odd numbers: the midpoint rule of a gamma law, whose error vanishes as the scale grows.
    """
    rate = check_scale("scale", scale)
    if rate == 0:
        return 0.0
    width = float(rate)
    if width >= _LARGE_SCALE:
        return ((dimension + 1) * (dimension + 2) * width * width - 0.25) / 3
    radius = np.arange(math.ceil(width * (2 * dimension + 60)) + 60, dtype=np.float64)
    log_weight = dimension * np.log(2 * radius + 1) - radius / width
    weight = np.exp(log_weight - log_weight.max())
    return float((weight * radius * (radius + 1)).sum() / weight.sum() / 3)
