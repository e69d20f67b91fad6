"""Publication of leaves: noisy counts, or noisy counts and means in one joint draw.

With means, a row of a leaf adds (1, q) to the leaf's count and fixed-point sums, where q_j is the row's place on axis
j relative to the leaf's own box: -S at its lower face, +S at its upper one. The vector (S n, Σq_1, ..., Σq_d) moves
by at most S in the maximum norm, so one draw of max-norm noise pays for all of it.
"""

from typing import NamedTuple

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.core.budget import Price
from discreet.mechanisms import Hold, Law, Moves, law_for

#: S: the fixed-point steps of half a box, as `Source.sums` counts them.
FIXED_POINT = 1024
#: How many times finer than the fixed point a lattice can be.
MOST_FINE = 2**20
#: Guess of the root mean square of a leaf's true offset, in half widths; sets how far noisy means are shrunk.
TYPICAL_OFFSET = 0.25


class PublishedLeaves(NamedTuple):
    """The published values of some leaves.

    ``weights`` are noisy counts, including negative ones. ``offsets`` are representatives relative to the centres of
    the boxes, in half widths; None means the centres.
    """

    weights: IntArray | FloatArray
    variances: FloatArray
    offsets: FloatArray | None


def publish(
    hold: Hold, counts: IntArray, sums: IntArray | None = None, *, typical_offset: float = TYPICAL_OFFSET,
    apart: bool = False,
) -> PublishedLeaves:  # fmt: skip
    """Publish the counts of disjoint leaves, and their fixed-point sums if given, at the price of a charged line.

    A mean is shrunk by β²/(β² + v/ñ²) with β = ``typical_offset``, v the noise variance and ñ = max(1, noisy count).

    Privacy
    -------
    Neighbours: add or remove one row, which is in one leaf: its count changes by 1, or the vector (S n, sums) by at
    most S in every entry, hence by S √(d + 1) in Euclidean norm. Shrinking and clamping come after. Price: that of the
    line, once.
    """
    if sums is None:
        noisy = hold.numbers(counts, apart=apart)
        return PublishedLeaves(noisy.values, np.full(len(counts), noisy.variance), None)
    finer, law = means_law(hold.price, sums.shape[1])
    if not law.drawable:  # a mean would be noise alone, and wider than can be drawn
        counted = publish(hold, counts, apart=apart)
        return counted._replace(weights=counted.weights.astype(np.float64), offsets=np.zeros(sums.shape))
    steps = finer * FIXED_POINT
    table = np.column_stack([steps * counts, finer * sums])
    vectors = hold.vectors(table, _moves(steps, sums.shape[1])).values / steps
    weights, variance = vectors[:, 0], law.variance / steps**2
    safe = np.maximum(weights, 1.0)[:, np.newaxis]
    shrunk = typical_offset**2 / (typical_offset**2 + variance / safe**2)
    return PublishedLeaves(weights, np.full(len(counts), variance), np.clip(shrunk * vectors[:, 1:] / safe, -1.0, 1.0))


def means_law(price: Price, n_axes: int) -> tuple[int, Law]:
    """Return the law of the noise for counts and means, and how many times finer than the fixed point its lattice is.

    With an immense ε the lattice is made finer until its noise has the room the sampler needs. Beyond `MOST_FINE` sums
    of rows would not fit 64 bits, and the law cannot be drawn.
    """
    finer = 1
    while True:
        law = law_for(price, _moves(finer * FIXED_POINT, n_axes), n_axes + 1)
        if not law.too_narrow or finer >= MOST_FINE:
            return finer, law
        finer *= 2


def count_variance(price: Price, n_axes: int, *, means: bool) -> float:
    """Return the variance of the noise on a published count; with means, of one that shares its draw with them."""
    if not means:
        return law_for(price).variance
    return law_for(price, _moves(FIXED_POINT, n_axes), n_axes + 1).variance / FIXED_POINT**2


def _moves(steps: int, n_axes: int) -> Moves:
    return Moves(linf=steps, l2_squared=steps**2 * (n_axes + 1))
