"""Was a person's record in what was released? One front for points, synopses, centres and models.

Who is in the release is the evaluator's knowledge. The attack gets the released thing, what is public, and then the
people's records in a random order, members and others mixed; what it cannot know has no way in.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.attacks import draws, scorers, shadow
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
    method: str = "likelihood",
    kind: str = "auto",
    metric: Any = None,
    rate: Any = None,
    reference: Any = None,
    release: Callable[[Any, int], Any] | None = None,
    score: Any = "ratio",
    shadows: int = 16,
    label: Callable[[Any], Any] | None = None,
    reach: float | None = None,
    directions: int = 25,
    steps: int = 10,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ScoredAttack:
    """Tell people whose records are in a release from people whose records are not.

    Parameters
    ----------
    artifact : array, data frame, Synopsis, fitted model or callable
        What was released: perturbed points, a synopsis, centres (or a model with ``cluster_centers_``). A callable
        ``release(rows, seed)`` makes it from the members here, and serves the shadow method as well. For the method
        "boundary": a model with ``predict``, or ``predict`` itself.
    members, non_members : array of shape (n, d)
        Records that are in it and records that are not, of the same kind of people. At least 4 each; a thousand each
        make the interval narrow enough to say something.
    method : {"likelihood", "shadow", "boundary"}
        By the law of the release; by rehearsing the release on public records; by asking a model for labels only.
    kind : {"auto", "points", "synopsis", "centers"}
        What the artifact is. By default a synopsis or a model is known by its type, and an array holds points.
    metric : mechanism or law, optional
        Whose noise is on the points, with ``law`` and ``scale(X)``; points, members and all others are raw rows then.
    rate : float, optional
        Instead: the noise rate, with all rows in the scaled space.
    reference : array of shape (m, d), optional
        Public records of the same kind of people, none of them a member: what the attacker has. Needed for synopses
        and for shadows, better with points.
    release : callable, optional
        For shadows, ``release(rows, seed)`` as far as the attacker can repeat it.
    score : {"ratio", "release"} or callable
        For points, the likelihood ratio (the best there is) or the plain log Σ exp(-rate |x - z|). For shadows,
        ``score(artifact, records)``: a number each, or a row of features each, on which a forest is trained. By default
        the score that goes with the kind.
    shadows : int, default 16
        Rehearsals.
    label : callable, optional
        For "boundary": ``label(records)`` gives the labels they should have.
    reach : float, optional
        For "boundary": how far to look; by default the diagonal of the box around all records in question.
    directions, steps : int
        For "boundary": directions tried, and bisections along each.
    confidence : float, default 0.95
        Of the intervals.
    random_state : None, int or Generator
        For splitting, rehearsing and directions.

    Returns
    -------
    ScoredAttack
        Its baseline says how well the judged members and others can be told apart with no release at all, from the
        records of the other half: if that is not near 0, they are not the same kind of people.

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
    method = checks.choice("method", method, ("likelihood", "shadow", "boundary"))
    kind = checks.choice("kind", kind, _KINDS)
    level = float(checks.probability("confidence", confidence))
    stream = noise.generator(random_state)
    inside = records("members", members, least=4)
    outside = records("non_members", non_members, inside.shape[1], least=4)
    public = None if reference is None else records("reference", reference, inside.shape[1])
    scale: Callable[[Any], FloatArray] = getattr(metric, "scale", None) or (lambda rows: np.asarray(rows, np.float64))
    if method == "boundary":
        ask = getattr(artifact, "predict", artifact)
        if not callable(ask):
            raise InvalidType("artifact", type(artifact).__name__, "a model with predict, or predict itself")
        span = np.ptp(np.concatenate([inside, outside]), axis=0)
        far = float(np.linalg.norm(span)) or 1.0 if reach is None else float(checks.positive("reach", reach))
        ways, halvings = checks.whole("directions", directions, low=1), checks.whole("steps", steps, low=1)
        scorer = scorers.boundary_distance(ask, far, ways, halvings, label, stream)
        facts: dict[str, Any] = {"method": "boundary", "directions": ways}
    else:
        if callable(artifact):
            release = release or artifact
            artifact = artifact(inside.copy(), draws.seed(stream))
        sort = _kind(artifact, kind)
        if method == "likelihood":
            scorer = _likelihood(artifact, sort, metric, rate, public, score, inside.shape[1], stream)
        else:
            scorer = _shadow(artifact, sort, metric, rate, public, release, score, shadows, inside.shape[1], stream)
        facts = {"method": method, "kind": sort}
    scores, control = score_blindly(scorer, inside, outside, stream)
    halves = draws.half(len(inside), stream), draws.half(len(outside), stream)
    blind = _without(scale(inside), scale(outside), halves, level)
    name = f"membership, {method}"
    return split(name, scores, control, stream, confidence=level, halves=halves, blind=blind, facts=facts)


def _kind(artifact: Any, kind: str) -> str:
    if kind != "auto":
        return kind
    if isinstance(artifact, Synopsis) or isinstance(getattr(artifact, "synopsis_", None), Synopsis):
        return "synopsis"
    return "centers" if hasattr(artifact, "cluster_centers_") else "points"


def _likelihood(
    artifact: Any, kind: str, metric: Any, rate: Any, public: FloatArray | None, score: Any, width: int, stream: Any
) -> Scorer:
    """Make the scorer that knows the law of the artifact. It gets no members."""
    if kind == "synopsis":
        return scorers.synopsis_ratio(_synopsis(artifact, width), public)
    if kind == "centers":
        return scorers.nearest_center(_centers(artifact, width))
    style = checks.choice("score", score, ("ratio", "release"))
    space = LawSpace.of(metric, rate, width)
    points = space.scale(records("artifact", artifact, width, least=2))
    known = None if public is None else space.scale(public)
    if style == "ratio":
        return scorers.likelihood_ratio(points, space, known)
    return scorers.release_score(points, space, known, stream)


def _shadow(
    artifact: Any,
    kind: str,
    metric: Any,
    rate: Any,
    public: FloatArray | None,
    release: Any,
    score: Any,
    shadows: Any,
    width: int,
    stream: noise.Generator,
) -> Scorer:
    """Make the scorer that rehearses. It gets no members."""
    if not callable(release):
        raise InvalidType("release", release, "release(rows, seed), as the attacker can repeat it", "release=make")
    if public is None:
        raise InvalidArgument("reference", None, "public records to rehearse on", "reference=others")
    if callable(score):
        look = score
    elif kind == "synopsis":
        look = lambda made, rows: scorers.synopsis_density(_synopsis(made, width))(rows)  # noqa: E731
    elif kind == "centers":
        look = lambda made, rows: scorers.nearest_center(_centers(made, width))(rows)  # noqa: E731
    else:
        space = LawSpace.of(metric, rate, width)

        def look(made: Any, rows: FloatArray) -> FloatArray:
            points = space.scale(records("artifact", made, width))
            return log_sums(space.scale(rows), points, space.law.rate)

    return shadow.shadow_scorer(artifact, release, look, public, checks.whole("shadows", shadows, low=1), stream)


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
    """Tell the judged half of the groups apart by where the other half of each lies: no release is looked at.

    Kernel densities with a usual width, m^(-1/(d + 4)) standard deviations; even odds are the threshold.
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
