"""Discretisers of single columns to compare with: equal width, equal frequency, and least description length.

They keep a classifier's accuracy and promise nothing: with h bins a column there are up to h^d combinations, and most
records are alone in theirs.
"""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import FloatArray, IntArray


def equal_width(column: FloatArray, bins: int) -> FloatArray:
    """Return the inner cuts of bins of one width between the smallest and the largest value."""
    return np.linspace(column.min(), column.max(), bins + 1)[1:-1]


def equal_frequency(column: FloatArray, bins: int) -> FloatArray:
    """Return the inner cuts at the quantiles; equal ones are merged."""
    return np.unique(np.quantile(column, np.arange(1, bins) / bins))


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
            found.append(float((values[middle - 1] + values[middle]) / 2))
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
    delta = np.log2(3.0 ** classes[0] - 2) - (weighed[0] - weighed[1] - weighed[2])
    accepted = entropies[0] - cost[i] > (np.log2(size - 1) + delta) / size
    return int(at[i]) if accepted else None


def _entropy(counts: IntArray) -> FloatArray:
    """Return the entropy of each row of counts, in bits."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    found: FloatArray = -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(axis=1)
    return found
