"""Choice of the event that promises the largest lower bound on ε, on releases that are not counted later.

Scores are fitted on the first part of the releases. Every score, cut and direction is tried on the second part, by
the bound it would give there.
"""

from dataclasses import dataclass

import numpy as np

from discreet.core import FloatArray
from discreet.evaluation.audits.bounds import quick_bounds
from discreet.evaluation.audits.event_scores import CellRatio, Classifier, Coordinate, JointRatio, Score, SumOfRatios

_CUTS = 200
#: Fewer repeated releases than this share are no ground for events of exact outcomes.
_REPEATED = 0.02
#: A less plain event must promise this much more.
_WORTH = 0.01
#: Events more frequent than this on the less likely side show an ε of 0.5 at most.
_FREQUENT = 0.6
#: A classifier needs a few releases to learn from.
_FEW = 100


@dataclass(frozen=True, eq=False)
class Event:
    """A set of releases: scores at or above (below) a cut, and the input under which it is more likely (`first`)."""

    score: Score
    cut: float
    above: bool
    first: bool
    expected: float

    def count(self, X: FloatArray) -> int:
        """Return how many releases are in the event."""
        scores = self.score.of(X)
        return int((scores >= self.cut if self.above else scores <= self.cut).sum())

    @property
    def words(self) -> str:
        """The event in words."""
        return self.score.words(self.cut, self.above)


def choose(
    first: FloatArray, second: FloatArray, names: tuple[str, ...], *, miss: float, delta: float, seed: int
) -> Event:
    """Return the best event, given releases of both inputs as one row of features each."""
    # With next to nothing to go by, both parts are all there is: the event is poor, its count still fair.
    half = (len(first) // 2, len(second) // 2) if len(first) >= 4 else (0, 0)
    fit = (first[: half[0]], second[: half[1]]) if half[0] else (first, second)
    tune = first[half[0] :], second[half[1] :]
    best = Event(Coordinate(0, names[0]), np.inf, True, True, -np.inf)
    for score in _scores(fit[0], fit[1], names, seed):
        event = _best_cut(score, score.of(tune[0]), score.of(tune[1]), miss, delta)
        if event.expected > best.expected + _WORTH:
            best = event
    return best


def _scores(first: FloatArray, second: FloatArray, names: tuple[str, ...], seed: int) -> list[Score]:
    """Fit all scores, simple ones first: of two equally good ones the simple one is reported."""
    both = np.concatenate([first, second])
    varied = [c for c in range(both.shape[1]) if _varies(both[:, c])] or [0]
    found: list[Score] = [Coordinate(c, names[c]) for c in varied]
    ratios = [CellRatio(c, names[c], first, second) for c in varied]
    found += ratios
    if len(varied) < 2:
        return found
    joint = JointRatio(first, second)
    if joint.repeated > _REPEATED:
        found.append(joint)
    found.append(SumOfRatios(ratios))
    if min(len(first), len(second)) >= _FEW:
        found += [Classifier(kind, first, second, seed) for kind in ("logistic regression", "gradient boosting")]
    return found


def _varies(values: FloatArray) -> bool:
    return bool((values != values[0]).any() and not np.isnan(values).all())


def _best_cut(score: Score, first: FloatArray, second: FloatArray, miss: float, delta: float) -> Event:
    """Try cuts in both directions, with either input as the more likely one."""
    a, b = np.sort(first), np.sort(second)
    cuts = _cuts(np.concatenate([a, b]))
    sizes = len(a), len(b)
    best = Event(score, np.inf, True, True, -np.inf)
    for above in (True, False):
        if above:
            here, there = (len(x) - np.searchsorted(x, cuts, side="left").astype(np.float64) for x in (a, b))
        else:
            here, there = (np.searchsorted(x, cuts, side="right").astype(np.float64) for x in (a, b))
        for is_first in (True, False):
            hits, others = (here, there) if is_first else (there, here)
            mine, other = sizes if is_first else sizes[::-1]
            bounds = quick_bounds(hits, others, (mine, other), miss, delta)
            # Without any difference, nearly certain events would win. They have the least power.
            bounds = np.where((bounds <= 0) & (others > _FREQUENT * other), -99.0, bounds)
            place = int(np.argmax(bounds))
            if bounds[place] > best.expected:
                best = Event(score, float(cuts[place]), above, is_first, float(bounds[place]))
    return best


def _cuts(scores: FloatArray) -> FloatArray:
    """Return cuts at evenly spread ranks, finer towards both ends."""
    ranked = np.sort(scores)
    n = len(ranked)
    tails = np.unique(np.geomspace(1, max(n // 2, 1), _CUTS // 4).astype(np.int64)) - 1
    even = np.linspace(0, n - 1, _CUTS // 2).astype(np.int64)
    return np.unique(ranked[np.unique(np.concatenate([tails, even, n - 1 - tails]))])
