"""Shadow attacks: rehearse the release on public records, learn what being in it does to a score, then attack.

Shokri and others (2017) train a classifier on what the rehearsals give; with a single score, every record is measured
against what it gets from releases that it is not in (the offline form of Carlini and others 2022).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.scorers import Scorer

#: ``release(rows, seed)`` makes an artifact, ``score(artifact, records)`` looks at one: a number or a row of them each.
Release = Callable[[FloatArray, int], Any]
Score = Callable[[Any, FloatArray], Any]


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
