"""Scores of records by what was released, the public distribution of the noise and public records.

A scorer is made before it sees any person, and is then called with records only. It has no parameter through which
the raw rows of members, or who is a member, could enter.
"""

import math
from collections.abc import Callable

import numpy as np

from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks.laws import LawSpace
from discreet.evaluation.attacks.pairs import log_sums, stranger_density
from discreet.synopses import Synopsis

Scorer = Callable[[FloatArray], FloatArray]

_BLOCK = 2**21
#: With more pairs of leaf and public record than this, no smooth density is computed.
_MOST_PAIRS = 10**9
#: Weight of the smooth density, in public records per leaf.
_PRIOR_COUNTS = 2.0


def likelihood_ratio(points: FloatArray, space: LawSpace, reference: FloatArray | None) -> Scorer:
    """Score a record by the exact likelihood ratio of the released points, in the release against not in it.

    A member's point is one of the n with density f(z - x); all others have the density p of a perturbed stranger. So
    the ratio is (1/n) Σ_i f(z_i - x)/p(z_i). Its expectation is 1 for anyone who is not in the release, so it needs no
    calibration. p is estimated from public records; without any, from the released points, which blurs it once more.
    """
    rate, n = space.law.rate, len(points)
    stranger = stranger_density(points, points if reference is None else reference, rate)

    def score(records: FloatArray) -> FloatArray:
        return log_sums(space.scale(records), points, rate, -stranger) - math.log(n)

    return score


def synopsis_ratio(synopsis: Synopsis, reference: FloatArray | None) -> Scorer:
    """Score a record by the likelihood ratio of the noisy count w of its leaf.

    Without the record a count is about λ, as expected from public records; with it, λ + 1. For an exact Poisson count
    the ratio is w/λ; under wide noise of variance v its log is (w - λ)/v. Both are 1 + (w - λ)/(λ + v), whose
    expectation is 1 for anyone who is not in the release. The uncertainty of λ is part of v. A record in no listed
    leaf gets 1.
    """
    if reference is None:
        raise InvalidArgument("reference", None, "public records of the same kind of people", "reference=others")
    expected, unsure = _expected(synopsis, reference)
    ratio = 1 + (synopsis.weights - expected) / (expected + unsure + synopsis.variances)

    def score(records: FloatArray) -> FloatArray:
        return np.asarray(np.append(ratio, 1.0)[leaves(synopsis, records)])  # place -1 is the last

    return score


def _expected(synopsis: Synopsis, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected count of each leaf and the variance of that guess.

    Public records in the leaf give it where they are many. In small leaves a smooth density is used as the mean of a
    Gamma prior.
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
    """Return the leaf of each record, in coordinates of the domain; -1 where none is listed."""
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


def nearest_center(centers: FloatArray) -> Scorer:
    """Score a record by its distance to the nearest centre: centres are pulled towards their own people."""

    def score(records: FloatArray) -> FloatArray:
        found = np.empty(len(records))
        size = max(1, _BLOCK // max(centers.size, 1))
        for start in range(0, len(records), size):
            gaps = records[start : start + size, None, :] - centers[None, :, :]
            found[start : start + size] = -np.sqrt((gaps * gaps).sum(axis=2)).min(axis=1)
        return found

    return score
