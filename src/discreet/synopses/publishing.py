"""Publication of leaves: noisy counts, or noisy counts and means in one joint draw (spec partition-synopsis 9.9).

With means, a row of a leaf adds (1, q) to the leaf's count and fixed-point sums, where q_j is the row's place on axis
j relative to the leaf's own box: -S at its lower face, +S at its upper one. The vector (S n, Σq_1, ..., Σq_d) moves
by at most S in the maximum norm, so one draw of max-norm noise pays for all of it.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet import noise
from discreet.core.arrays import FloatArray, IntArray
from discreet.core.checks import Exact
from discreet.noise.integer.laplace import LARGEST_SCALE
from discreet.noise.integer.max_norm import max_norm_variance, smallest_scale
from discreet.synopses.prices import count_law, draw

#: S: the fixed-point steps of half a box, as `Source.sums` counts them.
FIXED_POINT = 1024
#: Guess of the root mean square of a leaf's true offset, in half widths; sets how far noisy means are shrunk.
TYPICAL_OFFSET = 0.25


class PublishedLeaves(NamedTuple):
    """What may be shown of some leaves.

    Attributes
    ----------
    weights : array of int64 or float64, shape (leaves,)
        Noisy counts, negatives included.
    variances : array of float64, shape (leaves,)
        Noise variance of each.
    offsets : array of float64, shape (leaves, axes), or None
        Representatives relative to the centres of the boxes, in half widths, from -1 to 1. None: the centres.
    """

    weights: IntArray | FloatArray
    variances: FloatArray
    offsets: FloatArray | None


def publish(
    counts: IntArray,
    sums: IntArray | None,
    *,
    epsilon: Exact,
    stream: noise.Generator,
    typical_offset: float = TYPICAL_OFFSET,
    unit: str = "epsilon",
) -> PublishedLeaves:
    """Add noise to the counts of disjoint leaves, and to their sums if given. The caller charges the price.

    Parameters
    ----------
    counts : array of int, shape (leaves,)
        Rows of each leaf, in the order in which the noise is drawn (the leaves' own, never that of the rows).
    sums : array of int, shape (leaves, axes), or None
        Fixed-point sums of `Source.sums`. None publishes counts only.
    epsilon : Fraction or inf
        The price of each leaf; with ``unit="rho"`` in ρ.
    stream : Generator
        Where the noise comes from.
    typical_offset : float, default 0.25
        β of the shrinkage: a mean is multiplied by β²/(β² + v/ñ²), v the noise variance and ñ = max(1, noisy count).
    unit : {"epsilon", "rho"}
        What the price is in.

    Returns
    -------
    published : PublishedLeaves

    Privacy
    -------
    Neighbours: add or remove one row. Leaves are disjoint, so a row changes the data of one of them: its count by 1
    (discrete Laplace noise of scale 1/ε), or the vector (S n, sums) by at most S in every entry (max-norm noise of
    scale S/ε). Either is ε-differentially private; shrinking and clamping come after. Price: ε, once for all leaves.
    In ρ the count gets discrete Gaussian noise with σ² >= 1/(2ρ); or all of the vector, which moves by at most
    S √(d + 1) in Euclidean norm, with σ² >= S² (d + 1)/(2ρ). Either is ρ-zCDP.

    Examples
    --------
    >>> counts, sums = np.array([100, 0]), np.array([[51200, 0], [0, 0]])
    >>> out = publish(counts, sums, epsilon=math.inf, stream=noise.generator(1))
    >>> out.weights.tolist(), out.offsets.tolist()
    ([100.0, 0.0], [[0.5, 0.0], [0.0, 0.0]])
    >>> publish(counts, None, epsilon=Fraction(1), stream=noise.generator(1)).weights.tolist()
    [99, 2]
    """
    if sums is None:
        law = count_law(epsilon, unit)
        weights = counts + draw(law, len(counts), stream)
        return PublishedLeaves(weights, np.full(len(counts), law.variance), None)
    dimension = sums.shape[1] + 1
    if _too_wide(epsilon, unit, dimension):  # a mean would be noise alone, and wider than can be drawn
        counted = publish(counts, None, epsilon=epsilon, stream=stream, unit=unit)
        return counted._replace(weights=counted.weights.astype(np.float64), offsets=np.zeros(sums.shape))
    if unit == "rho" and epsilon != math.inf:
        law = count_law(epsilon, unit, FIXED_POINT, dimension)
        drawn = draw(law, (len(counts), dimension), stream)
        return _means(counts, sums, drawn, 1, law.variance / FIXED_POINT**2, typical_offset)
    # With an immense ε the lattice is made finer until its noise has the room the sampler needs.
    finer = 1
    while 0 < noise_scale(finer * FIXED_POINT, epsilon) < smallest_scale(dimension):
        finer *= 2
    steps = finer * FIXED_POINT
    scale = noise_scale(steps, epsilon)
    drawn = noise.max_norm_laplace(scale, dimension, len(counts), stream)
    return _means(counts, sums, drawn, finer, max_norm_variance(scale, dimension) / steps**2, typical_offset)


def _too_wide(epsilon: Exact, unit: str, dimension: int) -> bool:
    """Tell, by public values, whether noise for counts and means together cannot be drawn."""
    if epsilon == math.inf:
        return False
    if unit == "rho":
        return FIXED_POINT**2 * dimension > 2 * Fraction(epsilon) * LARGEST_SCALE**2
    return noise_scale(FIXED_POINT, epsilon) > LARGEST_SCALE


def _means(
    counts: IntArray, sums: IntArray, noisy: IntArray, finer: int, variance: float, typical_offset: float
) -> PublishedLeaves:
    """Add counts and sums to noise on a lattice so many times finer than the fixed point, and read means off it."""
    steps = finer * FIXED_POINT
    noisy[:, 0] += steps * counts
    noisy[:, 1:] += finer * sums
    vectors = noisy / steps
    weights = vectors[:, 0]
    safe = np.maximum(weights, 1.0)[:, np.newaxis]
    shrunk = typical_offset**2 / (typical_offset**2 + variance / safe**2)
    return PublishedLeaves(weights, np.full(len(counts), variance), np.clip(shrunk * vectors[:, 1:] / safe, -1.0, 1.0))


def count_variance(price: Exact, unit: str, n_axes: int, *, means: bool) -> float:
    """Return the variance of the noise on a published count; with means, of one that shares its draw with them.

    Examples
    --------
    >>> round(count_variance(Fraction(1, 2), "rho", 4, means=True), 6)
    5.0
    >>> round(count_variance(Fraction(1), "epsilon", 4, means=False), 2)
    1.84
    """
    if not means:
        return count_law(price, unit).variance
    if unit == "rho":
        return count_law(price, unit, FIXED_POINT, n_axes + 1).variance / FIXED_POINT**2
    return max_norm_variance(noise_scale(FIXED_POINT, price), n_axes + 1) / FIXED_POINT**2


def noise_scale(sensitivity: int, epsilon: Exact) -> Fraction:
    """Return sensitivity / ε, 0 for ε = ∞."""
    return Fraction(0) if epsilon == math.inf else sensitivity / Fraction(epsilon)
