"""What an attacker makes of a released thing: scorers that see the artifact, the public law and public records.

A scorer is made before the people are shown to it, and is then called with their records alone. It has no parameter
through which the released people's raw rows, or who is in the release, could enter.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.laws import LawSpace
from discreet.evaluation.attacks.pairs import log_sums, stranger_density
from discreet.synopses import Synopsis

Scorer = Callable[[FloatArray], FloatArray]

#: Noisy copies of each public record that stand for the points of people who are not in question.
_COPIES = 4
_BLOCK = 2**21
#: Beyond this many pairs of leaf and public record no smooth density is made.
_MOST_PAIRS = 10**9
#: How many public records in a leaf weigh as much as the smooth density does.
_PRIOR_COUNTS = 2.0


def likelihood_ratio(points: FloatArray, space: LawSpace, reference: FloatArray | None) -> Scorer:
    """Score a record by the exact likelihood ratio of the released points, in it against not in it.

    A member's point is one of the n, any of them, with density f(z - x); all others have the density p of a perturbed
    stranger. So the ratio is (1/n) Σ_i f(z_i - x)/p(z_i). For one who is not in it, its expectation is
    ∫ f(z - x)/p(z) p(z) dz = 1 whatever x: it needs no further calibration. p is estimated from public records;
    without any, from the released points, which blurs it once more.
    """
    rate, n = space.law.rate, len(points)
    stranger = stranger_density(points, points if reference is None else reference, rate)

    def score(records: FloatArray) -> FloatArray:
        return log_sums(space.scale(records), points, rate, -stranger) - math.log(n)

    return score


def release_score(points: FloatArray, space: LawSpace, reference: FloatArray | None, stream: noise.Generator) -> Scorer:
    """Score a record by log Σ_i exp(-rate |x - z_i|), less what a stranger's record at the same place would get.

    The latter is the same sum over public records to which the attacker adds noise of the public law himself.
    """
    rate, n = space.law.rate, len(points)
    if reference is None:
        return lambda records: log_sums(space.scale(records), points, rate)
    shadow = np.repeat(reference, _COPIES, axis=0)
    shadow = shadow + draws.isotropic(len(shadow), shadow.shape[1], rate, stream)

    def score(records: FloatArray) -> FloatArray:
        places = space.scale(records)
        return log_sums(places, points, rate) - math.log(n) - stranger_density(places, shadow, rate)

    return score


def synopsis_ratio(synopsis: Synopsis, reference: FloatArray | None) -> Scorer:
    """Score a record by the likelihood ratio of the noisy count w of its leaf.

    Without the record a count is about λ, what public records let one expect, with it λ + 1. For an exact Poisson count
    the ratio is w/λ; under wide noise of variance v its log is (w - λ)/v. Both are 1 + (w - λ)/(λ + v), which has
    expectation 1 for one who is not in it, and is used for all. What is not known of λ goes into v. A record in no
    listed leaf gets 1: next to nothing is known of its cell.
    """
    if reference is None:
        raise InvalidArgument("reference", None, "public records of the same kind of people", "reference=others")
    expected, unsure = _expected(synopsis, reference)
    ratio = 1 + (synopsis.weights - expected) / (expected + unsure + synopsis.variances)

    def score(records: FloatArray) -> FloatArray:
        return np.asarray(np.append(ratio, 1.0)[leaves(synopsis, records)])  # place -1 is the last

    return score


def _expected(synopsis: Synopsis, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the count to expect in each leaf, and the variance of that guess.

    The public records in the leaf tell it where they are many; in fine leaves a smooth density through their
    neighbours does. Both are joined as a Gamma law with the smooth one as its mean beforehand.
    """
    n, m = max(synopsis.total, 1.0), len(reference)
    places = leaves(synopsis, reference)
    counts = np.bincount(places[places >= 0], minlength=synopsis.n_leaves).astype(np.float64)
    if synopsis.n_leaves * m <= _MOST_PAIRS:
        spread = reference.std(axis=0)
        spread[spread == 0] = 1.0
        middles = np.nan_to_num(synopsis.points) / spread
        widths = np.where(np.isnan(synopsis.upper), 1.0, synopsis.upper - synopsis.lower)
        volume = np.log(np.maximum(widths, 1e-300)).sum(axis=1)
        smooth = stranger_density(middles, reference / spread, math.inf, peak=False) + volume
        smooth = np.exp(smooth - smooth.max())
        smooth *= max(counts.sum(), 1.0) / smooth.sum()
    else:
        smooth = np.full(synopsis.n_leaves, max(counts.sum(), 1.0) / max(synopsis.n_leaves, 1))
    smooth = np.maximum(smooth, 1e-9)
    shape = counts + _PRIOR_COUNTS
    mean = shape / (1 + _PRIOR_COUNTS / smooth) * n / m
    return mean, mean * mean / shape


def leaves(synopsis: Synopsis, records: FloatArray) -> IntArray:
    """Return the leaf of every record, in the domain's coordinates; -1 where none is listed."""
    rows = synopsis.domain.clamp(records)
    # The domain's upper end belongs to the last leaf.
    rows = np.minimum(rows, np.nextafter(synopsis.domain.high, synopsis.domain.low))
    found = np.empty(len(rows), np.int64)
    size = max(1, _BLOCK // max(synopsis.n_leaves, 1))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        inside = np.ones((len(part), synopsis.n_leaves), bool)
        for axis in range(part.shape[1]):
            column = part[:, axis, None]
            inside &= (column >= synopsis.lower[:, axis]) & (column < synopsis.upper[:, axis])
        found[start : start + size] = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
    return found


def synopsis_density(synopsis: Synopsis) -> Scorer:
    """Score a record by the log density of the synopsis at its place: what a shadow attack calibrates."""
    widths = np.where(np.isnan(synopsis.upper), 1.0, synopsis.upper - synopsis.lower)
    volume = np.log(np.maximum(widths, 1e-300)).sum(axis=1)
    density = np.log(np.maximum(synopsis.weights, 0.5)) - volume

    def score(records: FloatArray) -> FloatArray:
        place = leaves(synopsis, records)
        lowest = float(density.min()) if len(density) else 0.0
        return np.where(place >= 0, np.append(density, lowest)[place], lowest)

    return score


def nearest_center(centers: FloatArray) -> Scorer:
    """Score a record by how near it is to a centre: centres are drawn towards their own people, if only a little."""

    def score(records: FloatArray) -> FloatArray:
        # The largest term of the log sum at a huge rate is the nearest centre; asked for directly.
        found = np.empty(len(records))
        size = max(1, _BLOCK // max(centers.size, 1))
        for start in range(0, len(records), size):
            gaps = records[start : start + size, None, :] - centers[None, :, :]
            found[start : start + size] = -np.sqrt((gaps * gaps).sum(axis=2)).min(axis=1)
        return found

    return score


def boundary_distance(
    predict: Callable[[FloatArray], Any],
    reach: float,
    directions: int,
    steps: int,
    label: Callable[[FloatArray], Any] | None,
    stream: noise.Generator,
) -> Scorer:
    """Score a record by its distance to the decision boundary, found from predicted labels alone.

    From the record, along random directions, the label is asked for at doubling distances until it changes, and the
    place of the change is bisected. The least over all directions is the score; negative if the model's label is not
    the record's own, where that is known (Choquette-Choo and others 2021).
    """
    doubling = reach / 2.0 ** np.arange(8, -1, -1)

    def ask(rows: FloatArray) -> Any:
        return np.asarray(predict(rows))

    def score(records: FloatArray) -> FloatArray:
        own = ask(records)
        nearest = np.full(len(records), reach)
        for _ in range(directions):
            way = draws.directions(len(records), records.shape[1], stream)
            inner, outer = np.zeros(len(records)), np.full(len(records), np.inf)
            for radius in doubling:
                # Beyond what is known already there is nothing to find.
                open_ = np.flatnonzero(np.isinf(outer) & (inner < nearest))
                if not len(open_):
                    break
                same = ask(records[open_] + radius * way[open_]) == own[open_]
                inner[open_[same]] = radius
                outer[open_[~same]] = radius
            found = np.flatnonzero(np.isfinite(outer) & (inner < nearest))
            for _ in range(steps if len(found) else 0):
                middle = (inner[found] + outer[found]) / 2
                same = ask(records[found] + middle[:, None] * way[found]) == own[found]
                inner[found] = np.where(same, middle, inner[found])
                outer[found] = np.where(same, outer[found], middle)
            nearest[found] = np.minimum(nearest[found], (inner[found] + outer[found]) / 2)
        if label is None:
            return nearest
        return np.where(own == np.asarray(label(records)), nearest, -nearest)

    return score
