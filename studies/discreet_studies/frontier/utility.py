"""What a reader gets from a release, by three measures that are the same for every model."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from discreet import noise
from discreet.core import FloatArray
from discreet.evaluation import nicv
from discreet_studies.frontier.forms import Raw, ReleasedForm
from discreet_studies.frontier.people import People, World

#: Random boxes that are counted; every second one counts the sensitive value 1 only.
BOXES = 200
#: Rows in a leaf of the classifier, at least.
_LEAF = 50


def utility(made: ReleasedForm, table: People, world: World, seed: int) -> dict[str, float]:
    """Return the error of counts, the cost of clusters and the accuracy of a classifier, each beside the raw table's.

    ``counts``: mean absolute error of the boxes' counts as a share of all rows. ``clusters``: squared distance of the
    table's rows to centres found in the release, divided by that to centres found in the table. ``accuracy``: of a
    decision tree trained on the release that guesses the sensitive values of new people; ``accuracy_lost`` against the
    one trained on the table.
    """
    low, high = boxes(seed)
    error = np.abs(made.counts(low, high) - Raw(table).counts(low, high)).mean() / len(table)
    rows = made.rows(len(table), seed)
    costs = [nicv(table.q, _centres(part, world.clusters, seed)) for part in (rows.q, table.q)]
    accuracy = [_accuracy(part, world.test, seed) for part in (rows, table)]
    return {
        "counts": float(error),
        "clusters": costs[0] / costs[1],
        "accuracy": accuracy[0],
        "accuracy_lost": accuracy[1] - accuracy[0],
    }


def boxes(seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw boxes: two random ends on both quasi-identifiers, all sensitive values or one.

    Examples
    --------
    >>> low, high = boxes(0)
    >>> low.shape, bool((low < high).all()), high[:2, 2].tolist(), low[:2, 2].tolist()
    ((200, 3), True, [2.0, 2.0], [0.0, 1.0])
    """
    ends = np.sort(noise.below(2**53, size=(2, BOXES, 2), rng=seed) / 2**53, axis=0)
    only = np.arange(BOXES) % 2
    return np.column_stack([ends[0], only]), np.column_stack([ends[1], np.full(BOXES, 2.0)])


def _centres(q: FloatArray, clusters: int, seed: int) -> FloatArray:
    found = KMeans(clusters, n_init=8, max_iter=50, random_state=seed).fit(q).cluster_centers_
    return np.asarray(found, np.float64)


def _accuracy(train: People, test: People, seed: int) -> float:
    if len(np.unique(train.v)) < 2:
        return float((test.v == train.v[0]).mean())
    tree = DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=seed)
    return float((tree.fit(train.q, train.v).predict(test.q) == test.v).mean())
