"""Classifiers on two tables: can they be distinguished, and does one teach what the other does?

Histogram gradient boosting (scikit-learn) takes numbers, categories and missing values as they are. No tuning.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray, Told, later
from discreet.errors import InvalidArgument
from discreet.evaluation.attacks import draws
from discreet.evaluation.attacks.roc import ScoredAttack
from discreet.evaluation.comparison.columns import drawn
from discreet.evaluation.threads import one_thread

ensemble = later("sklearn.ensemble")
metrics = later("sklearn.metrics")

#: Categories that the booster supports; rarer ones are merged.
_MOST_CATEGORIES = 250
_FOLDS, _NULLS, _RESAMPLES = 3, 3, 100
#: Trees per model. With a hundred, the twelve models take twice as long and distinguish tables no better.
_TREES = 40
#: One in so many real rows is kept away from training; of large tables no more than the second number are used.
_TEST_SHARE, _MOST_TRAINED = 3, 50_000
#: More classes than this are not a target for classification.
_MOST_CLASSES = 100


@dataclass(frozen=True)
class Propensity(Told):
    """Result of a classifier that distinguishes synthetic from real rows, judged on unseen rows.

    ``auc`` is 0.5 if it cannot, 1 if always. ``pmse_ratio`` is the mean squared distance of the predicted
    probabilities from one half, divided by that of shuffled labels: 1 for indistinguishable tables (Snoke et al.
    2018).
    """

    rows: int
    auc: float
    auc_interval: tuple[float, float]
    pmse_ratio: float

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "auc_interval": list(self.auc_interval)}


@one_thread()
def propensity(
    real: FloatArray, other: FloatArray, numeric: BoolArray, most: int, level: float, stream: noise.Generator
) -> Propensity | None:
    """Train on two thirds of equally many rows of both and judge on the rest, in turn; None with too few rows."""
    n = min(len(real), len(other), most)
    if n < 2 * _FOLDS:
        return None
    some = [drawn(t, n, stream) for t in (real, other)]
    X = np.concatenate(features(some, numeric))
    truth = np.repeat([0, 1], n)
    chances = _out_of_fold(X, truth, numeric, stream)
    shuffled = [_pmse(_out_of_fold(X, truth[draws.order(len(truth), stream)], numeric, stream)) for _ in range(_NULLS)]
    found = ScoredAttack("propensity", chances[n:], chances[:n], 0.5, confidence=level)
    null = float(np.mean(shuffled))
    return Propensity(n, found.auc, found.auc_interval, _pmse(chances) / null if null else float("nan"))


def _pmse(chances: FloatArray) -> float:
    return float(((chances - 0.5) ** 2).mean())


def _out_of_fold(X: FloatArray, truth: IntArray, numeric: BoolArray, stream: noise.Generator) -> FloatArray:
    """Return for each row the probability of the second class, by a model that saw neither it nor its duplicate.

    Duplicates are in the same fold: a memorised real row would count as knowledge about its copy.
    """
    found = np.empty(len(X))
    bits = np.ascontiguousarray(X + 0.0).view(np.dtype((np.void, X.shape[1] * X.itemsize)))
    doubles = np.unique(bits.ravel(), return_inverse=True)[1].ravel()
    fold = draws.order(int(doubles.max()) + 1, stream)[doubles] % _FOLDS
    for k in range(_FOLDS):
        part, train = fold == k, fold != k
        if len(np.unique(truth[train])) < 2 or not part.any():
            found[part] = 0.5
            continue
        kind = partial(ensemble.HistGradientBoostingClassifier, max_iter=_TREES)
        model, kept = _fitted(kind, X[train], truth[train], numeric, stream)
        found[part] = model.predict_proba(X[part][:, kept])[:, 1]
    return found


@dataclass(frozen=True)
class Utility(Told):
    """Quality of models trained on synthetic and on real rows, judged on other real rows.

    ``measure`` is "AUC" for two classes, "accuracy" for more, "R²" for numbers. ``seen`` is True if the synthetic
    table was made from the rows it is judged on: its figure is slightly too good then.
    """

    target: str
    measure: str
    on_real: float
    on_synthetic: float
    loss_interval: tuple[float, float]
    trained_on: int
    tested_on: int
    seen: bool

    @property
    def loss(self) -> float:
        return self.on_real - self.on_synthetic

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "loss": self.loss, "loss_interval": list(self.loss_interval)}


@one_thread()
def utility(
    name: str, place: int, real: FloatArray, other: FloatArray, holdout: FloatArray | None, numeric: BoolArray,
    level: float, stream: noise.Generator,
) -> Utility:  # fmt: skip
    """Predict one column from the others, trained on either table and judged on a holdout.

    Without a holdout a third of the real rows are kept away from training. Rows without the target are left out.
    """
    train, test = real, holdout
    if test is None:
        test, train = np.split(real[draws.order(len(real), stream)], [len(real) // _TEST_SHARE])
    train, other, test = (drawn(t, _MOST_TRAINED, stream) for t in (train, other, test))
    train, other, test = (t[~np.isnan(t[:, place])] for t in (train, other, test))
    if min(map(len, (train, other, test))) < 2:
        raise InvalidArgument("target", name, "a column with values in both tables", "another column")
    n = min(len(train), len(other))
    train, other = (drawn(t, n, stream) for t in (train, other))
    classes = np.unique(np.concatenate([train[:, place], test[:, place]]))
    keep = np.delete(np.arange(len(numeric)), place)
    regress = bool(numeric[place]) and len(classes) > 2
    if not len(keep):
        raise InvalidArgument("target", name, "one of at least two columns that are compared", "a wider table")
    if not regress and len(classes) > _MOST_CLASSES:
        raise InvalidArgument("target", name, f"numbers, or at most {_MOST_CLASSES} classes", "another column")
    figure, measure = (metrics.r2_score, "R²") if regress else (_accuracy, "accuracy")
    if not regress and len(classes) == 2:
        figure, measure = _area, "AUC"
    *inputs, rows = (t[:, keep] for t in features((train, other, test), numeric))
    truth = test[:, place]

    def predicted(X: FloatArray, y: FloatArray) -> FloatArray:
        """Return predictions; a table with a single value predicts that value."""
        if len(np.unique(y)) < 2:
            return np.full(len(rows), y[0])
        kind: Callable[..., Any] = (
            ensemble.HistGradientBoostingRegressor if regress else ensemble.HistGradientBoostingClassifier
        )
        model, kept = _fitted(kind, X, y, numeric[keep], stream)
        if measure == "AUC":
            # The chance of the larger class; one that only the synthetic table has counts for neither.
            larger = np.flatnonzero(model.classes_ == classes[-1])
            return np.asarray(model.predict_proba(rows[:, kept])[:, larger].sum(axis=1))
        return np.asarray(model.predict(rows[:, kept]))

    told = [predicted(X, t[:, place]) for X, t in zip(inputs, (train, other), strict=True)]
    values = [float(figure(truth, one)) for one in told]
    gaps = []
    for _ in range(_RESAMPLES):
        again = np.asarray(noise.below(len(truth), size=len(truth), rng=stream))
        if len(np.unique(truth[again])) > 1:
            gaps.append(figure(truth[again], told[0][again]) - figure(truth[again], told[1][again]))
    low, high = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2]) if gaps else (float("nan"),) * 2
    return Utility(name, measure, values[0], values[1], (float(low), float(high)), n, len(truth), holdout is None)


def _area(truth: FloatArray, scores: FloatArray) -> float:
    high = truth == truth.max()
    return float("nan") if high.all() else ScoredAttack("area", scores[high], scores[~high], 0.5).auc


def _accuracy(truth: FloatArray, guess: FloatArray) -> float:
    return float((truth == guess).mean())


def _fitted(
    kind: Callable[..., Any], X: FloatArray, y: Any, numeric: BoolArray, stream: noise.Generator
) -> tuple[Any, BoolArray]:
    kept = np.asarray((~np.isnan(X)).any(axis=0))
    if not kept.any():
        X, kept = np.zeros_like(X), np.ones(X.shape[1], bool)
    model = kind(categorical_features=~numeric[kept], early_stopping=False, random_state=draws.seed(stream))
    return model.fit(X[:, kept], y), kept


def features(tables: Sequence[FloatArray], numeric: BoolArray) -> list[FloatArray]:
    """Merge the rarest categories of columns that have more than boosters support."""
    found = [table.copy() for table in tables]
    for j in np.flatnonzero(~numeric).tolist():
        codes = np.concatenate([table[:, j] for table in tables])
        codes = codes[~np.isnan(codes)].astype(np.int64)
        counts = np.bincount(codes) if len(codes) else np.zeros(1)
        if len(counts) > _MOST_CATEGORIES:
            place = np.empty(len(counts))
            place[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), _MOST_CATEGORIES)
            for table in found:
                there = ~np.isnan(table[:, j])
                table[there, j] = place[table[there, j].astype(np.int64)]
    return found
