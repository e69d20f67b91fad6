"""Discretisers of single columns to compare density trees with: equal width, equal frequency, MDLP, ChiMerge.

They keep a classifier's accuracy and promise nothing: with h bins per column there are up to h^d combinations, and most
records are alone in theirs. So what they give is not for publication.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import chdtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from discreet import noise
from discreet.anonymity import DensityTree
from discreet.anonymity.release import read_table
from discreet.core import Domain, FloatArray, IntArray, as_domain, checks
from discreet.errors import InvalidArgument
from discreet.evaluation import one_thread, read_matrix
from discreet.evaluation.attacks import draws
from discreet_studies.harness.study import Estimate
from discreet_studies.measured.classified import scores
from discreet_studies.measured.significance import adjusted, paired

METHODS = ("equal-width", "equal-frequency", "mdlp", "chimerge")


class Discretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Put every column of numbers into bins. **Promises nothing**: it is there to be compared with.

    Parameters
    ----------
    method : {"equal-width", "equal-frequency", "mdlp", "chimerge"}, default "equal-width"
        Bins of one width between the smallest and the largest value; at the quantiles; cut where entropy falls by more
        than it costs to write the cut down (Fayyad and Irani 1993); neighbours merged as long as the classes in them
        differ by no more than chance (Kerber 1992). The last two need the classes.
    bins : int, default 10
        Bins per column, of the first two; the most there may be, of ChiMerge. MDLP finds its own number.
    confidence : float, default 0.95
        Of the test by which ChiMerge tells neighbours apart.

    Attributes
    ----------
    cuts_ : list of ndarray
        The inner cuts of each column.

    Examples
    --------
    >>> ages = np.array([[23.0], [31.0], [35.0], [58.0]])
    >>> Discretizer("equal-frequency", bins=2).fit_transform(ages).ravel().tolist()
    [0.0, 0.0, 1.0, 1.0]
    >>> Discretizer("mdlp").fit(np.arange(40.0)[:, None], np.arange(40) >= 20).cuts_[0].tolist()
    [19.5]
    """

    def __init__(self, method: str = "equal-width", bins: int = 10, *, confidence: float = 0.95) -> None:
        self.method = method
        self.bins = bins
        self.confidence = confidence

    def fit(self, X: Any, y: Any = None) -> Discretizer:
        """Find the cuts of every column."""
        method = checks.choice("method", self.method, METHODS)
        bins = checks.whole("bins", self.bins, low=1)
        sure = float(checks.probability("confidence", self.confidence))
        rows = _finite(read_matrix("X", X))
        if not rows.size:
            raise InvalidArgument("X", rows.shape, "a table with rows and columns", "X=np.zeros((n, d))")
        if method in ("mdlp", "chimerge"):
            classes = _classes(y, len(rows))
        columns = [rows[:, j] for j in range(rows.shape[1])]
        if method == "equal-width":
            self.cuts_ = [equal_width(x, bins) for x in columns]
        elif method == "equal-frequency":
            self.cuts_ = [equal_frequency(x, bins) for x in columns]
        elif method == "mdlp":
            self.cuts_ = [description_length(x, classes) for x in columns]
        else:
            self.cuts_ = [chi_merge(x, classes, bins, sure) for x in columns]
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the number of the bin of every cell; what lies beyond the rows of `fit` is in the outer bins."""
        check_is_fitted(self)
        rows = _finite(read_matrix("X", X, len(self.cuts_)))
        return np.column_stack([np.searchsorted(a, rows[:, j], side="right") for j, a in enumerate(self.cuts_)]).astype(
            np.float64
        )


#: What a forest is judged by: accuracy, macro F1, recall and precision of its answers, and the area of its chances.
SCORES = ("accuracy", "f1", "recall", "precision", "auc")


@dataclass(frozen=True)
class Classified:
    """How well a forest classifies by what one method leaves of the rows: means over folds, with 95 % intervals.

    Attributes
    ----------
    accuracy, f1, recall, precision, auc : Estimate
        Macro means over the classes; ``auc`` is the area under the ROC curve from the forest's probabilities, each
        class against the others.
    difference : Estimate
        The tested score of this method less that of the density tree, on the same folds.
    p : float
        Of the paired test that this difference is none, after Holm's correction for the methods; NaN for the tree.
    """

    accuracy: Estimate
    f1: Estimate
    recall: Estimate
    precision: Estimate
    auc: Estimate
    difference: Estimate
    p: float


@one_thread()
def compare_discretizers(
    X: Any,
    y: Any,
    *,
    k: int = 10,
    bins: int = 10,
    domain: Any = None,
    folds: int = 5,
    repeats: int = 1,
    trees: int = 10,
    score: str = "accuracy",
    random_state: object = None,
) -> dict[str, Classified]:
    """Classify rows by what each discretiser, and a k-anonymous density tree, leaves of them. **Not private.**

    Everything is fitted on the training rows of a fold, and a random forest is judged on the others. The density tree
    is the only one of them that keeps k records together. Every method is tested against it fold by fold, by the
    corrected resampled t-test (Nadeau and Bengio 2003; Bouckaert and Frank 2004 for repeated folds): training parts
    overlap, so the variance of a mean is that of one fold times 1/runs + test rows/training rows. All intervals are
    made the same way.

    Parameters
    ----------
    X : array of numbers, rows by columns
        What is known of the records.
    y : array
        Their classes.
    k : int, default 10
        Of the density tree.
    bins : int, default 10
        Of the discretisers, see `Discretizer`.
    domain : Domain, mapping or (low, high), optional
        Bounds of the columns, for the density tree; by default those of the rows.
    folds : int, default 5
        Parts, each of which is judged on once.
    repeats : int, default 1
        Times that the rows are dealt into folds.
    trees : int, default 10
        Of the forest.
    score : {"accuracy", "f1", "recall", "precision", "auc"}, default "accuracy"
        What is tested.
    random_state : optional
        Seed.

    Returns
    -------
    dict of str to Classified
        By method: of the values as they are ("none"), of every discretiser, of the tree ("density-tree").

    Examples
    --------
    >>> from discreet_studies.density_trees.labelled import labelled
    >>> iris = labelled("iris")
    >>> found = compare_discretizers(iris.X, iris.labels, k=5, bins=5, folds=3, repeats=2, random_state=1)
    >>> list(found), found["mdlp"].f1.mean > 0.85, found["mdlp"].auc.runs
    (['none', 'equal-width', 'equal-frequency', 'mdlp', 'chimerge', 'density-tree'], True, 6)
    """
    rows = _finite(read_matrix("X", X))
    classes = _classes(y, len(rows))
    parts, size = checks.whole("folds", folds, low=2), checks.whole("trees", trees, low=1)
    tested, turns = checks.choice("score", score, SCORES), checks.whole("repeats", repeats, low=1)
    least = int(np.bincount(classes).min()) if len(classes) else 0
    if least < 2:
        raise InvalidArgument("y", f"a class of {least}", "classes of at least two rows each", "leaving rare ones out")
    if least < parts:
        raise InvalidArgument("folds", parts, f"at most {least}, the size of the smallest class", f"folds={least}")
    bounds = _bounds(rows, domain)
    stream = noise.generator(random_state)
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(turns):
        split = StratifiedKFold(parts, shuffle=True, random_state=draws.seed(stream))
        for train, test in split.split(rows, classes):
            for name, shown in _shown(rows, classes, train, k, bins, bounds).items():
                forest = RandomForestClassifier(size, random_state=draws.seed(stream)).fit(shown[train], classes[train])
                found.setdefault(name, []).append(scores(classes[test], forest.predict_proba(shown[test])))
    return _compared(found, tested, 1 / (parts - 1))


def _compared(found: dict[str, list[dict[str, float]]], tested: str, overlap: float) -> dict[str, Classified]:
    gaps = {
        name: paired([a[tested] - b[tested] for a, b in zip(runs, found["density-tree"], strict=True)], overlap)
        for name, runs in found.items()
    }
    chances = adjusted({name: p if name != "density-tree" else math.nan for name, (p, _) in gaps.items()})
    compared = {}
    for name, runs in found.items():
        means = {each: paired([run[each] for run in runs], overlap)[1] for each in SCORES}
        compared[name] = Classified(**means, difference=gaps[name][1], p=chances[name])
    return compared


def _finite(rows: FloatArray) -> FloatArray:
    if not np.isfinite(rows).all():
        raise InvalidArgument("X", rows.shape, "rows of finite numbers", "X[np.isfinite(X).all(axis=1)]")
    return rows


def _classes(y: Any, n_rows: int) -> IntArray:
    """Number the classes."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        got = None if y is None else labels.shape
        raise InvalidArgument("y", got, f"a class for each of {n_rows} rows", "y=labels")
    if labels.dtype.kind == "O":  # of several types, or with gaps: by what is written
        labels = labels.astype(str)
    return np.unique(labels, return_inverse=True)[1].ravel()


def _bounds(rows: FloatArray, domain: Any) -> Domain:
    if domain is not None:
        domain = as_domain(domain, [f"x{j}" for j in range(rows.shape[1])])
    if domain is not None and len(domain) != rows.shape[1]:
        raise InvalidArgument("domain", len(domain), f"of the {rows.shape[1]} columns of X", "domain=None")
    ends = (rows.min(axis=0), rows.max(axis=0)) if domain is None else (domain.low, domain.high)
    wide = [(float(a), float(b) if b > a else float(a) + 1.0) for a, b in zip(*ends, strict=True)]
    return Domain({f"x{j}": {"bounds": list(pair), "role": "quasi-identifier"} for j, pair in enumerate(wide)})


def _shown(rows: FloatArray, y: IntArray, train: IntArray, k: int, bins: int, bounds: Domain) -> dict[str, FloatArray]:
    """Return what is left of all rows by what was learned from some."""
    found = {"none": rows}
    for method in METHODS:
        found[method] = Discretizer(method, bins).fit(rows[train], y[train]).transform(rows)
    tables = [pa.table({f"x{j}": part[:, j] for j in range(part.shape[1])}) for part in (rows[train], rows)]
    model = DensityTree(k, domain=bounds).fit(tables[0])
    first, last = model.tree_.cells
    middles = (first + last) / 2
    found["density-tree"] = np.asarray(middles[model.tree_.route(read_table(tables[1], model.plan_).bins)])
    return found


def equal_width(column: FloatArray, bins: int) -> FloatArray:
    """Return the inner cuts of bins of one width between the smallest and the largest value."""
    return 2 * np.linspace(column.min() / 2, column.max() / 2, bins + 1)[1:-1]  # the whole range may be too large


def _between(below: Any, above: Any) -> Any:
    """Return the middle of two values; the upper one where no number lies between them, as cuts belong to it."""
    middle = below / 2 + above / 2
    return np.where((below < middle) & (middle <= above), middle, above)


def equal_frequency(column: FloatArray, bins: int) -> FloatArray:
    """Return the inner cuts at the quantiles; equal ones are merged."""
    return np.unique(np.quantile(column, np.arange(1, bins) / bins))


def chi_merge(column: FloatArray, labels: IntArray, bins: int, confidence: float = 0.95) -> FloatArray:
    """Return the cuts of Kerber (1992): the neighbours most alike are merged until χ² tells all that are left apart.

    Intervals begin as single values. Neighbours that hold one and the same class are merged at once, because nothing is
    more alike; the loop is over what is then left, not over rows.

    Examples
    --------
    >>> chi_merge(np.arange(40.0), (np.arange(40) >= 20).astype(int), 10).tolist()
    [19.5]
    """
    values, place = np.unique(column, return_inverse=True)
    n_classes = int(labels.max(initial=0)) + 1
    counts = np.bincount(place.ravel() * n_classes + labels, minlength=len(values) * n_classes).reshape(-1, n_classes)
    only = np.where((counts > 0).sum(axis=1) == 1, counts.argmax(axis=1), -1)
    first = np.flatnonzero(np.r_[True, (only[1:] != only[:-1]) | (only[1:] < 0)])
    held = np.add.reduceat(counts, first, axis=0).astype(np.float64)
    if len(held) < 2:
        return np.empty(0)
    limit = float(chdtri(n_classes - 1, 1 - confidence)) if n_classes > 1 else np.inf
    before, after = np.arange(len(held)) - 1, np.arange(len(held)) + 1
    gaps = _chi_squares(held[:-1], held[1:])
    waiting = [(gap, i) for i, gap in enumerate(gaps.tolist())]
    heapify(waiting)
    now, alive, left = gaps.tolist(), np.ones(len(held), bool), len(held)
    while waiting and left > 1:
        gap, i = heappop(waiting)
        if not alive[i] or now[i] != gap or after[i] >= len(held):
            continue  # one of the two was merged since
        if gap > limit and left <= bins:
            break
        j = int(after[i])
        held[i] += held[j]
        alive[j], left = False, left - 1
        after[i] = after[j]
        if after[j] < len(held):
            before[after[j]] = i
        for a in (int(before[i]), i):
            if a >= 0 and after[a] < len(held):
                now[a] = float(_chi_squares(held[a][None], held[after[a]][None])[0])
                heappush(waiting, (now[a], a))
    kept = first[np.flatnonzero(alive)][1:]
    return np.asarray(_between(values[kept - 1], values[kept]))


def _chi_squares(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return χ² of the classes in pairs of intervals, a pair per row; a class in neither has no part in it."""
    both, sizes = one + other, one.sum(axis=1) + other.sum(axis=1)
    found = np.zeros(len(one))
    for part in (one, other):
        expected = both * (part.sum(axis=1) / sizes)[:, None]
        found += ((part - expected) ** 2 / np.where(expected > 0, expected, 1.0)).sum(axis=1)
    return found


def description_length(column: FloatArray, labels: IntArray) -> FloatArray:
    """Return the cuts of Fayyad and Irani (1993): entropy falls by more than it costs to write the cut down.

    Examples
    --------
    >>> description_length(np.arange(40.0), (np.arange(40) >= 20).astype(int)).tolist()
    [19.5]
    """
    order = np.argsort(column, kind="stable")
    values, classes = column[order], labels[order]
    counts = np.eye(int(labels.max(initial=0)) + 1, dtype=np.int64)[classes]
    below = np.vstack([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
    found: list[float] = []
    waiting = [(0, len(values))]
    while waiting:
        a, b = waiting.pop()
        middle = _best_split(values, below, a, b)
        if middle is not None:
            found.append(float(_between(values[middle - 1], values[middle])))
            waiting += [(a, middle), (middle, b)]
    return np.array(sorted(found))


def _best_split(values: FloatArray, below: IntArray, a: int, b: int) -> int | None:
    at = np.flatnonzero(values[a : b - 1] < values[a + 1 : b]) + a + 1
    if not len(at):
        return None
    size = b - a
    left, right = below[at] - below[a], below[b] - below[at]
    cost = ((at - a) * _entropy(left) + (b - at) * _entropy(right)) / size
    i = int(cost.argmin())
    whole = below[b] - below[a]
    parts = [whole, left[i], right[i]]
    classes = [int((p > 0).sum()) for p in parts]
    entropies = [float(_entropy(p[None])[0]) for p in parts]
    weighed = [m * e for m, e in zip(classes, entropies, strict=True)]
    # log2(3^k - 2), of many classes too
    delta = (
        classes[0] * np.log2(3) + np.log1p(-2 * 3.0 ** -classes[0]) / np.log(2) - (weighed[0] - weighed[1] - weighed[2])
    )
    accepted = entropies[0] - cost[i] > (np.log2(size - 1) + delta) / size
    return int(at[i]) if accepted else None


def _entropy(counts: IntArray) -> FloatArray:
    """Return the entropy of each row of counts, in bits."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    found: FloatArray = -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(axis=1)
    return found
