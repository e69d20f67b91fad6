"""Scores that distinguish two inputs by the features of a release. An event is a score at or beyond a cut.

Each score is fitted on releases of both inputs. Its events are counted on other releases, so any fit is sound.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray, WordArray
from discreet.evaluation.audits.result import quick_bounds
from discreet.evaluation.threads import one_thread

#: Stands for a missing number among exact values.
_GONE = -np.finfo(np.float64).max
_BINS = 64
#: Releases of each input that a classifier learns from.
_MOST_ROWS = 20_000
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))


class Score(Protocol):
    """A number per release; higher means more likely under the first input, if it was fitted."""

    def of(self, X: FloatArray) -> FloatArray:
        """Return the scores of releases, one row of features each."""

    def words(self, cut: float, above: bool) -> str:
        """Describe the event that the score is at or above (below) a cut."""


class Coordinate:
    """One feature as it is: events are half lines."""

    def __init__(self, column: int, name: str) -> None:
        self.column, self.name = column, name

    def of(self, X: FloatArray) -> FloatArray:
        """Return the feature; missing values are lowest."""
        values = X[:, self.column]
        return np.where(np.isnan(values), -np.inf, values)

    def words(self, cut: float, above: bool) -> str:
        return f"{self.name} {'≥' if above else '≤'} {cut:.10g}"


class CellRatio:
    """Likelihood ratio of one feature's cells: exact values where they repeat, quantile bins otherwise."""

    def __init__(
        self, column: int, name: str, texts: Mapping[float, str], first: FloatArray, second: FloatArray
    ) -> None:
        self.column, self.name, self.texts = column, name, texts
        a, b = self._read(first), self._read(second)
        both = np.concatenate([a, b])
        values, counts = np.unique(both, return_counts=True)
        self.values = values[counts >= 2]
        loose = np.sort(both[_place(self.values, both) < 0])
        n_bins = min(_BINS, len(loose) // 50)
        places = np.linspace(0, max(len(loose) - 1, 0), max(n_bins, 1) + 1)[1:-1].astype(np.int64)
        self.edges = np.unique(loose[places])
        n_cells = len(self.values) + len(self.edges) + 1
        here, there = (np.bincount(self.cells(part), minlength=n_cells) for part in (a, b))
        self.logs = _log_ratio(here, there)
        self.sure = shrunk(self.logs, here, there)
        self.shares = (here + there) / max(len(both), 1)

    def _read(self, X: FloatArray) -> FloatArray:
        values = X[:, self.column]
        return np.where(np.isnan(values), _GONE, values)

    def cells(self, values: FloatArray) -> IntArray:
        place = _place(self.values, values)
        return np.where(place >= 0, place, len(self.values) + np.searchsorted(self.edges, values, side="right"))

    def of(self, X: FloatArray) -> FloatArray:
        """Return log ratios, shrunk towards 0 where they rest on few releases."""
        return np.asarray(self.sure[self.cells(self._read(X))])

    def words(self, cut: float, above: bool) -> str:
        held = self.sure >= cut if above else self.sure <= cut
        chosen = np.flatnonzero(held & (self.shares > 0))
        chosen = chosen[np.argsort(-self.shares[chosen], kind="stable")]
        shown = [self._cell(int(c)) for c in sorted(chosen[:6])]
        more = f" or {len(chosen) - 6} more cells" if len(chosen) > 6 else ""
        return f"{self.name} is {' or '.join(shown) or 'in no cell'}{more}"

    def _cell(self, cell: int) -> str:
        if cell < len(self.values):
            value = float(self.values[cell])
            known = reprlib.repr(self.texts[value]) if value in self.texts else f"{value:.10g}"
            return "missing" if value == _GONE else known
        ends = np.concatenate([[-np.inf], self.edges, [np.inf]])
        place = cell - len(self.values)
        return f"in [{ends[place]:.6g}, {ends[place + 1]:.6g})"


class JointRatio:
    """Likelihood ratio of whole releases, where all features together repeat."""

    def __init__(self, first: FloatArray, second: FloatArray) -> None:
        a, b = row_keys(first), row_keys(second)
        keys, counts = np.unique(np.concatenate([a, b]), return_counts=True)
        self.keys = keys[counts >= 2]
        self.repeated = float(counts[counts >= 2].sum()) / max(len(a) + len(b), 1)
        places = [_place(self.keys, part) for part in (a, b)]
        here, there = (np.bincount(place[place >= 0], minlength=len(self.keys)) for place in places)
        self.sure = np.append(shrunk(_log_ratio(here, there), here, there), 0.0)

    def of(self, X: FloatArray) -> FloatArray:
        """Return log ratios; 0 for a release not seen before."""
        return np.asarray(self.sure[_place(self.keys, row_keys(X))])  # the last is for none

    def words(self, cut: float, above: bool) -> str:
        count = int((self.sure[:-1] >= cut).sum() if above else (self.sure[:-1] <= cut).sum())
        return f"the release is one of {count:,} exact outcomes"


class SumOfRatios:
    """Sum of the log ratios of all features: the best score if features are independent."""

    def __init__(self, ratios: list[CellRatio]) -> None:
        self.ratios = ratios

    def of(self, X: FloatArray) -> FloatArray:
        found = np.zeros(len(X))
        for ratio in self.ratios:
            found += ratio.logs[ratio.cells(ratio._read(X))]
        return found

    def words(self, cut: float, above: bool) -> str:
        return f"the log-likelihood ratios of {len(self.ratios)} features add up to {'≥' if above else '≤'} {cut:.6g}"


class Classifier:
    """A classifier of the whole vector of features."""

    def __init__(self, kind: str, first: FloatArray, second: FloatArray, seed: int) -> None:
        self.kind = kind
        a, b = first[:_MOST_ROWS], second[:_MOST_ROWS]
        X = np.concatenate([a, b])
        filled = np.where(np.isfinite(X), X, np.nan)
        known = np.isfinite(filled)
        count = np.maximum(known.sum(axis=0), 1)
        self.middle = np.where(known, filled, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, filled - self.middle, 0.0) ** 2).sum(axis=0) / count)
        self.spread = np.where(spread > 0, spread, 1.0)
        inputs = self._inputs(X)
        self.kept = np.flatnonzero((inputs != inputs[0]).any(axis=0))
        with one_thread():
            self.model = self._model(seed).fit(inputs[:, self.kept], np.repeat([1, 0], [len(a), len(b)]))

    def _model(self, seed: int) -> Any:
        if self.kind == "logistic regression":
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression(max_iter=1000)
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, min_samples_leaf=40, early_stopping=False, random_state=seed
        )

    def _inputs(self, X: FloatArray) -> FloatArray:
        gone = ~np.isfinite(X)
        scaled = np.clip(np.where(gone, 0.0, (X - self.middle) / self.spread), -1e6, 1e6)
        return np.concatenate([scaled, gone.astype(np.float64)], axis=1)

    def of(self, X: FloatArray) -> FloatArray:
        with one_thread():
            return np.asarray(self.model.decision_function(self._inputs(X)[:, self.kept]), np.float64)

    def words(self, cut: float, above: bool) -> str:
        return f"the score of a {self.kind} on all features {'≥' if above else '≤'} {cut:.6g}"


def row_keys(X: FloatArray) -> WordArray:
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # + 0.0 makes -0.0 equal to 0.0
    keys = np.full(len(X), _MIX[1], np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            keys = (keys ^ column) * _MIX[0]
            keys ^= keys >> np.uint64(29)
    return keys


def shrunk(logs: FloatArray, here: IntArray, there: IntArray) -> FloatArray:
    """Move log ratios of counts towards 0 by one standard error, √(1/(a+1) + 1/(b+1))."""
    error = np.sqrt(1 / (here + 1.0) + 1 / (there + 1.0))
    return np.asarray(np.sign(logs) * np.maximum(np.abs(logs) - error, 0.0))


def _log_ratio(here: IntArray, there: IntArray) -> FloatArray:
    n, m = max(int(here.sum()), 1), max(int(there.sum()), 1)
    return np.asarray(np.log((here + 1.0) / n) - np.log((there + 1.0) / m))


def _place(ordered: AnyArray, values: AnyArray) -> IntArray:
    """Return the place of each value among sorted ones, -1 for others."""
    if not len(ordered):
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[place] == values, place, -1)


# Scores are fitted on the first part of the releases. Every score, cut and direction is tried on the second part, by
# the bound it would give there.

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
        scores = self.score.of(X)
        return int((scores >= self.cut if self.above else scores <= self.cut).sum())

    @property
    def words(self) -> str:
        return self.score.words(self.cut, self.above)


def choose(
    first: FloatArray, second: FloatArray, names: tuple[str, ...], texts: Mapping[float, str] | None = None, *,
    miss: float, delta: float, seed: int,
) -> Event:  # fmt: skip
    """Return the best event, given releases of both inputs as one row of features each; ``texts`` undoes hashes."""
    # With next to nothing to go by, both parts are all there is: the event is poor, its count still fair.
    half = (len(first) // 2, len(second) // 2) if len(first) >= 4 else (0, 0)
    fit = (first[: half[0]], second[: half[1]]) if half[0] else (first, second)
    tune = first[half[0] :], second[half[1] :]
    best = Event(Coordinate(0, names[0]), np.inf, True, True, -np.inf)
    for score in _scores(fit[0], fit[1], names, texts or {}, seed):
        event = _best_cut(score, score.of(tune[0]), score.of(tune[1]), miss, delta)
        if event.expected > best.expected + _WORTH:
            best = event
    return best


def _scores(
    first: FloatArray, second: FloatArray, names: tuple[str, ...], texts: Mapping[float, str], seed: int
) -> list[Score]:
    """Fit all scores, simple ones first: of two equally good ones the simple one is reported."""
    both = np.concatenate([first, second])
    varied = [c for c, x in enumerate(both.T) if (x != x[0]).any() and not np.isnan(x).all()] or [0]
    # Half lines of hashes mean nothing to a reader; cells of texts name them.
    found: list[Score] = [Coordinate(c, names[c]) for c in varied if not np.isin(both[:, c], list(texts)).any()]
    ratios = [CellRatio(c, names[c], texts, first, second) for c in varied]
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
