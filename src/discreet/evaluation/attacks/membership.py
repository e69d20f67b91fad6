"""Membership attacks: was a person's record in a release of points, a synopsis or centres?

Only the evaluator knows who is in the release. The attack gets the release, what is public, and then the records of
members and others in random order.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.pairs import log_sums, stranger_density
from discreet.evaluation.attacks.roc import ScoredAttack, score_blindly, split
from discreet.synopses import Synopsis

# A scorer is made before it sees any person, and is then called with records only. It has no parameter through which
# the raw rows of members, or who is a member, could enter.

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


_KINDS = ("auto", "points", "synopsis", "centers")


def membership_attack(
    artifact: Any, members: Any, non_members: Any, *, kind: str = "auto", metric: Any = None, rate: Any = None,
    reference: Any = None, score: Callable[[Any, FloatArray], Any] | None = None, confidence: float = 0.95,
    random_state: Any = None,
) -> ScoredAttack:  # fmt: skip
    """Distinguish people whose records are in a release from people whose records are not.

    Parameters
    ----------
    artifact : array, data frame, Synopsis or fitted model
        What was released: perturbed points, a synopsis, or centres (also a model with ``cluster_centers_``).
    members, non_members : array of shape (n, d)
        Records that are in the release and records that are not, of the same kind of people. At least 4 each; the
        interval is useful from about a thousand each.
    kind : {"auto", "points", "synopsis", "centers"}
        Kind of the artifact. By default a synopsis or a model is recognised by its type, and an array holds points.
    metric : mechanism or law, optional
        Whose noise is on the points, with ``law`` and ``scale(X)``. All rows are raw rows then.
    rate : float, optional
        Instead of ``metric``: the noise rate, with all rows in the scaled space.
    reference : array of shape (m, d), optional
        Public records of the same kind of people, none of them a member. Required for synopses, better with points.
    score : callable, optional
        Your own attack: ``score(artifact, records)`` returns one number per record. Higher means "is in it".
    confidence : float, default 0.95
        Confidence of the intervals.
    random_state : None, int or Generator
        Seed.

    Notes
    -----
    The baseline of the result distinguishes members and others without any release. If it is not near 0, they are not
    the same kind of people.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> people, others, public = rng.random((3, 400, 2))
    >>> copied = membership_attack(people, people, others, rate=1e4, reference=public, random_state=1)
    >>> copied.advantage > 0.9
    True
    >>> noisy = people + rng.normal(0, 50, people.shape)
    >>> hidden = membership_attack(noisy, people, others, rate=0.02, reference=public, random_state=1)
    >>> low, high = hidden.advantage_interval
    >>> low < 0 < high
    True
    """
    kind = checks.choice("kind", kind, _KINDS)
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state, "random_state")
    inside = records("members", members, least=4)
    outside = records("non_members", non_members, inside.shape[1], least=4)
    public = None if reference is None else records("reference", reference, inside.shape[1])
    if score is None:
        kind = _kind(artifact, kind)
        scorer = _likelihood(artifact, kind, metric, rate, public, inside.shape[1])
    elif callable(score):
        scorer, kind = partial(score, artifact), "own score"
    else:
        raise InvalidType("score", score, "score(artifact, records), or None", "score=None")
    scores, control = score_blindly(scorer, inside, outside, stream)
    halves = draws.half(len(inside), stream), draws.half(len(outside), stream)
    scale: Callable[[Any], FloatArray] = getattr(metric, "scale", None) or (lambda rows: np.asarray(rows, np.float64))
    blind = _without(scale(inside), scale(outside), halves, level)
    return split("membership", scores, control, stream, confidence=level, halves=halves, blind=blind,
                 facts={"kind": kind})  # fmt: skip


def _kind(artifact: Any, kind: str) -> str:
    if kind != "auto":
        return kind
    if isinstance(artifact, Synopsis) or isinstance(getattr(artifact, "synopsis_", None), Synopsis):
        return "synopsis"
    return "centers" if hasattr(artifact, "cluster_centers_") else "points"


def _likelihood(artifact: Any, kind: str, metric: Any, rate: Any, public: FloatArray | None, width: int) -> Scorer:
    if kind == "synopsis":
        return synopsis_ratio(_synopsis(artifact, width), public)
    if kind == "centers":
        return nearest_center(records("artifact", getattr(artifact, "cluster_centers_", artifact), width))
    space = LawSpace.of(metric, rate, width)
    points = space.scale(records("artifact", artifact, width, least=2))
    return likelihood_ratio(points, space, None if public is None else space.scale(public))


def _synopsis(artifact: Any, width: int) -> Synopsis:
    found = artifact if isinstance(artifact, Synopsis) else getattr(artifact, "synopsis_", None)
    if not isinstance(found, Synopsis):
        raise InvalidType("artifact", type(artifact).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")
    if len(found.domain) != width:
        raise InvalidArgument("artifact", f"{len(found.domain)} columns", f"about {width} columns, as the records")
    return found


def _without(
    inside: FloatArray, outside: FloatArray, halves: tuple[BoolArray, BoolArray], level: float
) -> ScoredAttack:
    """Distinguish the judged half of the groups by the records of the other half, without any release.

    Kernel densities with the usual width, m^(-1/(d + 4)) standard deviations. The threshold is even odds.
    """
    spread = np.concatenate([inside, outside]).std(axis=0)
    spread[spread == 0] = 1.0
    known = inside[halves[0]] / spread, outside[halves[1]] / spread
    rate = float(min(map(len, known)) ** (1 / (inside.shape[1] + 4)))
    even = float(np.log(len(known[0]) / len(known[1])))
    scores = [
        log_sums(rows / spread, known[0], rate) - log_sums(rows / spread, known[1], rate) - even
        for rows in (inside[~halves[0]], outside[~halves[1]])
    ]
    return ScoredAttack("without the release", scores[0], scores[1], 0.0, confidence=level)
