"""Distances of synthetic rows to real ones, and a membership attack on releases that can be repeated."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray, Told, jit, later
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.roc import Rate, ScoredAttack, split
from discreet.evaluation.comparison.columns import Columns
from discreet.evaluation.threads import one_thread

ensemble = later("sklearn.ensemble")

#: Fewest and most rows whose nearest neighbour is searched, and the most pairs of rows.
_FEWEST, _LOOKED_FOR, _MOST_PAIRED = 200, 2000, 10**8
#: Candidates for the attack, rows that are attacked, pairs of columns that are scored.
_CANDIDATES, _TARGETS, _PAIRS = 3000, 500, 100


@dataclass(frozen=True)
class Closeness(Told):
    """Distances of synthetic rows to the closest real row, compared with a baseline of other real rows.

    A distance is the mean over columns: for numbers the difference as a share of the column's range, for categories 0
    or 1. **It proves nothing about privacy**: a release can leak without a row near a real one, and a private one
    comes near by chance. Only an excess over the baseline is a sign, of copying. ``near`` is the share of synthetic
    rows nearer than the nearest twentieth of the baseline: about 0.05 if nothing was copied.
    """

    copies: Rate
    baseline_copies: Rate
    median: float
    baseline_median: float
    near: Rate
    baseline: str

    @property
    def copied(self) -> bool:
        """True if more rows are copies than by chance, beyond both intervals."""
        return self.copies.interval[0] > self.baseline_copies.interval[1]

    def to_dict(self) -> dict[str, Any]:
        rates = {name: getattr(self, name).to_dict() for name in ("copies", "baseline_copies", "near")}
        plain = {name: getattr(self, name) for name in ("median", "baseline_median", "baseline", "copied")}
        return {**rates, **plain}


def closeness(
    columns: Columns, real: FloatArray, other: FloatArray, holdout: FloatArray | None, level: float,
    stream: noise.Generator,
) -> Closeness:  # fmt: skip
    most = min(max(_MOST_PAIRED // len(real), _FEWEST), _LOOKED_FOR)

    def some(values: FloatArray) -> IntArray:
        return draws.order(len(values), stream)[:most]

    reference = _scaled(real, columns)
    found = nearest(_scaled(other[some(other)], columns), reference, columns.numeric, np.full(1, -1))
    if holdout is None:
        own = some(real)
        base = nearest(reference[own], reference, columns.numeric, own)
    else:
        base = nearest(_scaled(holdout[some(holdout)], columns), reference, columns.numeric, np.full(1, -1))
    twentieth = float(np.quantile(base, 0.05))
    return Closeness(
        Rate(int((found == 0).sum()), len(found), level),
        Rate(int((base == 0).sum()), len(base), level),
        float(np.median(found)),
        float(np.median(base)),
        Rate(int((found < twentieth).sum()), len(found), level),
        "other real rows" if holdout is None else "holdout",
    )


def _scaled(values: FloatArray, columns: Columns) -> FloatArray:
    return np.ascontiguousarray(values / columns.widths)


@jit
def nearest(rows: Any, reference: Any, numeric: Any, own: Any) -> Any:
    """Return the distance of each row to the nearest reference row other than number ``own``."""
    n, d = rows.shape
    found = np.empty(n)
    for i in range(n):
        best = np.inf
        skip = own[i] if own.size == n else -1
        for r in range(reference.shape[0]):
            if r == skip:
                continue
            total = 0.0
            for j in range(d):
                a, b = rows[i, j], reference[r, j]
                if a == b:
                    continue
                if np.isnan(a) or np.isnan(b):
                    total += 0.0 if np.isnan(a) and np.isnan(b) else 1.0
                elif numeric[j]:
                    total += min(abs(a - b), 1.0)
                else:
                    total += 1.0
                if total >= best:
                    break
            best = min(best, total)
            if best == 0.0:
                break
        found[i] = best / d
    return found


@dataclass(frozen=True)
class Membership(Told):
    """Result of the membership attack on repeated releases, compared with the claim."""

    attack: ScoredAttack
    epsilon: float | None
    delta: float
    releases: int
    targets: int

    @property
    def allowed_advantage(self) -> float:
        """The largest advantage that the claim allows: (e^ε - 1 + 2δ)/(e^ε + 1)."""
        if self.epsilon is None:
            return 1.0
        return min(math.tanh(self.epsilon / 2) + 2 * self.delta / (math.exp(min(self.epsilon, 700)) + 1), 1.0)

    def allowed_tpr(self, fpr: float) -> float:
        """Return the share of members that may be found at this false positive rate: at most e^ε fpr + δ."""
        if self.epsilon is None:
            return 1.0
        e = math.exp(min(self.epsilon, 700))
        return min(e * fpr + self.delta, 1 - (1 - self.delta - fpr) / e, 1.0)

    @property
    def epsilon_lower(self) -> float:
        """The ε that the lower end of the advantage shows at δ = 0: log((1 + a)/(1 - a)), at least 0."""
        a = min(max(self.attack.advantage_interval[0], 0.0), 1 - 1e-12)
        return math.log((1 + a) / (1 - a))

    @property
    def refuted(self) -> bool:
        """True if the attack gets further than the claim allows, beyond its interval."""
        return self.attack.advantage_interval[0] > self.allowed_advantage

    def to_dict(self) -> dict[str, Any]:
        names = ("epsilon", "delta", "releases", "targets", "allowed_advantage", "epsilon_lower", "refuted")
        allowed = {str(f): self.allowed_tpr(f) for f in (0.01, 0.001)}
        return {**{n: getattr(self, n) for n in names}, "allowed_tpr_at": allowed, "attack": self.attack.to_dict()}


def membership(
    columns: Columns, table: pa.Table, real: FloatArray, edges: Any, release: Callable[[pa.Table, int], Any],
    claim: tuple[float | None, float], shadows: int, level: float, stream: noise.Generator,
) -> Membership:  # fmt: skip
    """Make releases of random halves of the rows, and attack each with the others as the attacker's own trials.

    Each row is in a half by a coin toss, independent of all others: the game that ε bounds. The attacked rows are
    those farthest from all others, which a release protects least (Carlini et al. 2022).
    """
    reference = _scaled(real, columns)
    some = draws.order(len(real), stream)[:_CANDIDATES]
    lonely = nearest(reference[some], reference, columns.numeric, some)
    targets = some[np.argsort(-lonely, kind="stable")[:_TARGETS]]
    base, sizes = columns.cells(real, edges)
    pairs = list(combinations(range(len(columns.names)), 2))
    pairs = [pairs[i] for i in draws.order(len(pairs), stream)[:_PAIRS].tolist()]
    inside = np.asarray(noise.below(2, size=(shadows, len(real)), rng=stream), bool)
    scores = []
    for who in inside:
        made = columns.read("release", release(table.filter(pa.array(who)), draws.seed(stream)))
        near = -nearest(reference[targets], _scaled(made, columns), columns.numeric, np.full(1, -1))
        cells = columns.cells(made, edges)[0]
        scores.append(np.stack([near, *_lifts(base[:, targets], cells, sizes + 3, pairs)]))
    known = inside[:, targets]
    found = _guesses(np.stack(scores), known, stream)
    attack = split("membership, repeated releases", found[known], found[~known], stream, confidence=level)
    return Membership(attack, claim[0], claim[1], shadows, len(targets))


def _lifts(people: IntArray, made: IntArray, sizes: IntArray, pairs: list[tuple[int, int]]) -> list[FloatArray]:
    """Return how full a person's cells are in a release: the mean log share over single columns, and over pairs."""
    singles = [np.log((np.bincount(m, minlength=int(s))[p] + 0.5) / len(m))
               for p, m, s in zip(people, made, sizes, strict=True)]  # fmt: skip
    joint = []
    for a, b in pairs:
        keys, asked = (c[a] * int(sizes[b]) + c[b] for c in (made, people))
        present, counts = np.unique(keys, return_counts=True)
        at = np.minimum(np.searchsorted(present, asked), len(present) - 1)
        joint.append(np.log((np.where(present[at] == asked, counts[at], 0) + 0.5) / len(keys)))
    return [np.mean(found, axis=0) for found in (singles, joint) if found]


@one_thread()
def _guesses(scores: FloatArray, inside: BoolArray, stream: noise.Generator) -> FloatArray:
    """Return for each release and person the chance of being in it, learnt from all other releases.

    ``scores`` has shape (releases, scores, people). A booster weighs log odds and scores.
    """
    found = np.empty(inside.shape)
    releases = np.arange(len(inside))
    for i in releases.tolist():
        rest = releases[releases != i]
        known = [_log_odds(scores, inside, r, rest[rest != r]) for r in rest.tolist()]
        model = ensemble.HistGradientBoostingClassifier(
            max_iter=50, early_stopping=False, random_state=draws.seed(stream)
        )
        model.fit(np.concatenate(known), inside[rest].ravel())
        found[i] = model.predict_proba(_log_odds(scores, inside, i, rest))[:, 1]
    return found


def _log_odds(scores: FloatArray, inside: BoolArray, at: int, rehearsed: IntArray) -> FloatArray:
    """Return per person the scores of one release and their log odds by the other releases, with normal densities.

    With few releases the spread of one person is uncertain: it is shrunk towards that of all people.
    """
    held, known = scores[rehearsed], inside[rehearsed][:, None, :]
    n_in, n_out = known.sum(axis=0), (~known).sum(axis=0)
    mean_in = (held * known).sum(axis=0) / np.maximum(n_in, 1)
    mean_out = (held * ~known).sum(axis=0) / np.maximum(n_out, 1)
    spread = ((held - np.where(known, mean_in, mean_out)) ** 2).sum(axis=0)
    steady = (spread + spread.mean(axis=1, keepdims=True) / max(len(held) - 2, 1)) / (len(held) - 1)
    odds = (scores[at] - (mean_in + mean_out) / 2) * (mean_in - mean_out) / (steady + 1e-12)
    told = np.concatenate([scores[at], np.where((n_in > 0) & (n_out > 0), odds, 0.0)])
    return np.ascontiguousarray(told.T)
