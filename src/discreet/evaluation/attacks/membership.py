"""Membership attacks: was a person's record in a release of points, a synopsis or centres?

Only the evaluator knows who is in the release. The attack gets the release, what is public, and then the records of
members and others in random order.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import draws, scorers
from discreet.evaluation.attacks.laws import LawSpace, records
from discreet.evaluation.attacks.pairs import log_sums
from discreet.evaluation.attacks.roc import ScoredAttack, score_blindly, split
from discreet.evaluation.attacks.scorers import Scorer
from discreet.synopses import Synopsis

_KINDS = ("auto", "points", "synopsis", "centers")


def membership_attack(
    artifact: Any,
    members: Any,
    non_members: Any,
    *,
    kind: str = "auto",
    metric: Any = None,
    rate: Any = None,
    reference: Any = None,
    score: Callable[[Any, FloatArray], Any] | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ScoredAttack:
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
    stream = noise.generator(random_state)
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
    """Return the scorer that uses the distribution of the noise."""
    if kind == "synopsis":
        return scorers.synopsis_ratio(_synopsis(artifact, width), public)
    if kind == "centers":
        return scorers.nearest_center(_centers(artifact, width))
    space = LawSpace.of(metric, rate, width)
    points = space.scale(records("artifact", artifact, width, least=2))
    return scorers.likelihood_ratio(points, space, None if public is None else space.scale(public))


def _synopsis(artifact: Any, width: int) -> Synopsis:
    found = artifact if isinstance(artifact, Synopsis) else getattr(artifact, "synopsis_", None)
    if not isinstance(found, Synopsis):
        raise InvalidType("artifact", type(artifact).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")
    if len(found.domain) != width:
        raise InvalidArgument("artifact", f"{len(found.domain)} columns", f"about {width} columns, as the records")
    return found


def _centers(artifact: Any, width: int) -> FloatArray:
    return records("artifact", getattr(artifact, "cluster_centers_", artifact), width)


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
