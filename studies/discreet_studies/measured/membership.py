"""Membership attacks that only experiments use: by labels alone, by shadow releases, by the plain sum over points.

All end in `discreet.evaluation.membership_attack`, which shows people in random order and judges the scores.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation import ScoredAttack, membership_attack
from discreet.evaluation.attacks import draws, leaves, log_sums, nearest_center, records
from discreet.synopses import Synopsis

Scorer = Callable[[FloatArray], FloatArray]
#: ``release(rows, seed)`` makes an artifact. ``score(artifact, records)`` returns a number or a row of them per record.
Release = Callable[[FloatArray, int], Any]
Score = Callable[[Any, FloatArray], Any]


def plain_sum(rate: float) -> Score:
    """Return the score log Σ exp(-rate |x - z|), without the correction for how common such a record is."""
    return lambda points, rows: log_sums(np.asarray(rows, np.float64), np.asarray(points, np.float64), rate)


def boundary_attack(
    model: Any,
    members: Any,
    non_members: Any,
    *,
    label: Callable[[FloatArray], Any] | None = None,
    reach: float | None = None,
    directions: int = 25,
    steps: int = 10,
    random_state: Any = None,
) -> ScoredAttack:
    """Attack a model that answers with labels only, by the distance to its decision boundary.

    Parameters
    ----------
    model : object with predict, or callable
        What is asked for labels.
    members, non_members : array of shape (n, d)
        Records that the model was trained on, and others.
    label : callable, optional
        ``label(records)`` returns the labels that they should have.
    reach : float, optional
        Largest distance; by default the diagonal of the box around all records.
    directions, steps : int
        Directions tried, and bisections along each.
    random_state : None, int or Generator
        Seed.
    """
    ask = getattr(model, "predict", model)
    if not callable(ask):
        raise InvalidType("model", type(model).__name__, "a model with predict, or predict itself")
    stream = noise.generator(random_state)
    inside, outside = records("members", members, least=4), records("non_members", non_members, least=4)
    span = np.ptp(np.concatenate([inside, outside]), axis=0)
    far = float(np.linalg.norm(span)) or 1.0 if reach is None else float(checks.positive("reach", reach))
    ways, halvings = checks.whole("directions", directions, low=1), checks.whole("steps", steps, low=1)
    scorer = boundary_distance(ask, far, ways, halvings, label, stream)
    return membership_attack(None, inside, outside, score=lambda _, rows: scorer(rows), random_state=stream)


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


def shadow_attack(
    artifact: Any,
    members: Any,
    non_members: Any,
    release: Release,
    reference: Any,
    *,
    score: Score | None = None,
    rate: float | None = None,
    shadows: int = 16,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ScoredAttack:
    """Attack any release that the attacker can repeat on public records.

    Parameters
    ----------
    artifact : object
        What was released.
    members, non_members, reference : array of shape (n, d)
        Records in the release, records that are not, and public records.
    release : callable
        ``release(rows, seed)``, as far as the attacker can repeat it.
    score : callable, optional
        ``score(artifact, records)``; by default the density of a synopsis, the distance to the nearest centre, or for
        points `plain_sum` at ``rate``.
    rate : float, optional
        Noise rate of points.
    shadows : int, default 16
        Rehearsals.
    confidence, random_state
        See `discreet.evaluation.membership_attack`.
    """
    if not callable(release):
        raise InvalidType("release", release, "release(rows, seed), as the attacker can repeat it", "release=make")
    stream, n = noise.generator(random_state), checks.whole("shadows", shadows, low=1)
    public, look = records("reference", reference), score or _score(artifact, rate)
    scorer = shadow_scorer(artifact, release, look, public, n, stream)
    own: dict[str, Any] = {"confidence": confidence, "random_state": stream}
    return membership_attack(artifact, members, non_members, score=lambda _, rows: scorer(rows), **own)


def _score(artifact: Any, rate: float | None) -> Score:
    if isinstance(artifact, Synopsis):
        return lambda made, rows: synopsis_density(made)(rows)
    if hasattr(artifact, "cluster_centers_") or rate is None:
        return lambda made, rows: nearest_center(np.asarray(getattr(made, "cluster_centers_", made)))(rows)
    return plain_sum(rate)


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


def shadow_scorer(
    artifact: Any, release: Release, score: Score, reference: FloatArray, shadows: int, stream: noise.Generator
) -> Scorer:
    """Rehearse on random halves of the public records and return a scorer of people against the real artifact."""
    if len(reference) < 4:
        raise InvalidArgument("reference", f"{len(reference)} rows", "at least 4 public records", "more records")
    made, inside, outside = [], [], []
    for _ in range(shadows):
        chosen = draws.half(len(reference), stream)
        shadow = release(reference[chosen], draws.seed(stream))
        made.append(shadow)
        inside.append(_table(score(shadow, reference[chosen])))
        outside.append(_table(score(shadow, reference[~chosen])))
    if inside[0].shape[1] > 1:
        return _classifier(artifact, score, np.concatenate(inside), np.concatenate(outside), stream)
    if shadows < 2:
        raise InvalidArgument("shadows", shadows, "at least 2 with a single score", "shadows=16")
    # Which way membership moves the score is learnt from the rehearsals too.
    sign = 1.0 if np.mean([a.mean() - b.mean() for a, b in zip(inside, outside, strict=True)]) >= 0 else -1.0

    def calibrated(records: FloatArray) -> FloatArray:
        rehearsed = np.stack([_table(score(shadow, records))[:, 0] for shadow in made])
        spread = rehearsed.var(axis=0, ddof=1)
        # A few rehearsals give a shaky spread for one record: lean on that of all by one more rehearsal's worth.
        steady = ((len(made) - 1) * spread + spread.mean()) / len(made)
        gap = _table(score(artifact, records))[:, 0] - rehearsed.mean(axis=0)
        found: FloatArray = sign * gap / np.sqrt(steady + 1e-300)
        return found

    return calibrated


def _classifier(
    artifact: Any, score: Score, inside: FloatArray, outside: FloatArray, stream: noise.Generator
) -> Scorer:
    from sklearn.ensemble import RandomForestClassifier

    truth = np.repeat([1, 0], [len(inside), len(outside)])
    model = RandomForestClassifier(random_state=draws.seed(stream)).fit(np.concatenate([inside, outside]), truth)
    return lambda records: model.predict_proba(_table(score(artifact, records)))[:, 1]


def _table(found: Any) -> FloatArray:
    values = np.asarray(found, np.float64)
    return values[:, None] if values.ndim == 1 else values
