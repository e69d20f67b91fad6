"""The published tree as it was: tight volumes, midpoints between data values, the box of the data. NOT FOR RELEASE.

It exists to reproduce the reference (spec density-trees, 3.3, 3.9 and 9.1.5): each leaf's box and each cut here is made
of exact values of single records. `DensityTree` is what to publish with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import IntArray, checks, jit
from discreet.errors import InvalidArgument

MARK = "not for release"


class ReferenceTree:
    """The density estimation tree of the source. Its cuts are midpoints of data values: not for release.

    Parameters
    ----------
    k : int
        Least number of records in a leaf.
    volume : {"tight", "cell"}
        The volume in the gain: of the box of a node's records, sides of width 0 left out (the source), or of its cell
        (Ram and Gray).

    Attributes
    ----------
    mark : str
        "not for release".
    n_leaves : int
        Number of leaves, after `fit`.

    Privacy
    -------
    None. The cuts tell the mean of two neighbouring values.

    Examples
    --------
    >>> tree = ReferenceTree(2).fit(np.array([[1.0], [1.5], [8.0], [9.0]]))
    >>> tree.n_leaves, tree.apply(np.array([[0.0], [7.0]])).tolist(), tree.mark
    (2, [1, 2], 'not for release')
    """

    mark = MARK

    def __init__(self, k: int, volume: str = "tight") -> None:
        self.k = checks.whole("k", k, low=2)
        self.volume = checks.choice("volume", volume, ("tight", "cell"))

    def fit(self, X: Any) -> ReferenceTree:
        """Grow on a table of finite numbers."""
        table = np.ascontiguousarray(X, dtype=np.float64)
        if table.ndim != 2 or not np.isfinite(table).all():
            raise InvalidArgument("X", "a table", "two-dimensional and finite", "dropping rows with missing values")
        if len(table) < self.k:
            raise InvalidArgument("k", self.k, f"at most the number of records ({len(table)})", "a smaller k")
        self._column, self._cut, self._right, self.depth = _grow(table, self.k, self.volume == "tight")
        self.n_leaves = int((self._column < 0).sum())
        return self

    def apply(self, X: Any) -> IntArray:
        """Return the leaf of every row: its node number."""
        return _apply(np.ascontiguousarray(X, dtype=np.float64), self._column, self._cut, self._right)


@jit
def _score(size: int, low: Any, high: Any) -> float:  # pragma: no cover
    """Return c²/V; sides of width 0 are left out."""
    volume = 1.0
    for m in range(low.size):
        if high[m] > low[m]:
            volume *= high[m] - low[m]
    return float(size) * size / volume


@jit
def _best(table: Any, ids: Any, low: Any, high: Any, k: int, tight: bool) -> tuple[int, float]:  # pragma: no cover
    """Return column and cut with the largest gain; column -1 if none is better than no cut."""
    size, d = ids.size, table.shape[1]
    boxes = np.empty((size, 2, d))
    box, values = np.empty((2, d)), np.empty(size)
    best, at, cut = 1.0, -1, 0.0
    for m in range(d):
        box[0, m], box[1, m] = np.inf, -np.inf
        for i in ids:
            box[0, m], box[1, m] = min(box[0, m], table[i, m]), max(box[1, m], table[i, m])
    whole = _score(size, box[0], box[1])
    for j in range(d):
        for i in range(size):
            values[i] = table[ids[i], j]
        order = np.argsort(values, kind="mergesort")
        if tight:
            for i in range(size - 1, -1, -1):  # boxes of all records from one on
                for m in range(d):
                    value = table[ids[order[i]], m]
                    boxes[i, 0, m] = value if i == size - 1 else min(boxes[i + 1, 0, m], value)
                    boxes[i, 1, m] = value if i == size - 1 else max(boxes[i + 1, 1, m], value)
        for i in range(1, size):
            below, above = values[order[i - 1]], values[order[i]]
            for m in range(d):
                value = table[ids[order[i - 1]], m]
                box[0, m] = value if i == 1 else min(box[0, m], value)
                box[1, m] = value if i == 1 else max(box[1, m], value)
            if i < k or size - i < k or not below < above:
                continue
            middle = (below + above) / 2
            if tight:
                gain = (_score(i, box[0], box[1]) + _score(size - i, boxes[i, 0], boxes[i, 1])) / whole
            elif low[j] < middle < high[j]:
                share = (middle - low[j]) / (high[j] - low[j])
                gain = 1.0 + (i - share * size) ** 2 / (share * (1.0 - share)) / (float(size) * size)
            else:
                continue
            if gain > best * (1.0 + 1e-12):
                best, at, cut = gain, j, middle
    return at, cut


@jit
def _grow(table: Any, k: int, tight: bool) -> Any:  # pragma: no cover
    n, d = table.shape
    room = 2 * (n // k) + 1
    column, right, cuts = np.full(room, -1), np.full(room, -1), np.zeros(room)
    ids = np.arange(n)
    stack = np.empty((n // k + 2, 4), np.int64)
    cells = np.empty((n // k + 2, 2, d))
    for m in range(d):
        cells[0, 0, m], cells[0, 1, m] = np.inf, -np.inf
        for i in range(n):
            cells[0, 0, m], cells[0, 1, m] = min(cells[0, 0, m], table[i, m]), max(cells[0, 1, m], table[i, m])
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, -1, 0
    top, nodes, depth = 1, 0, 0
    while top > 0:
        top -= 1
        a, b, above, level = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        cell = cells[top].copy()
        node = nodes
        nodes += 1
        depth = max(depth, level)
        if above >= 0:
            right[above] = node
        if b - a < 2 * k:
            continue
        own = ids[a:b].copy()
        j, cut = _best(table, own, cell[0], cell[1], k, tight)
        if j < 0:
            continue
        column[node], cuts[node] = j, cut
        p, middle = a, a
        for side in range(2):
            for i in own:
                if (table[i, j] < cut) == (side == 0):
                    ids[p] = i
                    p += 1
            if side == 0:
                middle = p
        for side in range(2):  # right first: the left one is taken from the stack before it
            here = top + side
            stack[here, 0], stack[here, 1] = (a, middle) if side else (middle, b)
            stack[here, 2], stack[here, 3] = -1 if side else node, level + 1
            for m in range(d):
                cells[here, 0, m], cells[here, 1, m] = cell[0, m], cell[1, m]
        cells[top, 0, j] = cut
        cells[top + 1, 1, j] = cut
        top += 2
    return column[:nodes], cuts[:nodes], right[:nodes], depth


@jit
def _apply(table: Any, column: Any, cut: Any, right: Any) -> IntArray:  # pragma: no cover
    leaf = np.empty(len(table), np.int64)
    for i in range(len(table)):
        node = 0
        while column[node] >= 0:
            node = node + 1 if table[i, column[node]] < cut[node] else right[node]
        leaf[i] = node
    return leaf
