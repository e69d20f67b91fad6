"""Counting persons instead of rows: how many different people a class, or the cell of a node, holds.

A class of k rows of one person hides nobody. Where a column says whose rows they are, k counts persons. Rows without a
person are taken to be of one and the same, which counts fewer people than there may be, never more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet._jit import jit

IntArray = npt.NDArray[np.int64]


def person_codes(column: Any) -> IntArray:
    """Number the persons of a column; all missing ones get one number."""
    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_floating(joined.type):
        joined = pc.if_else(pc.is_nan(joined), None, joined)
        joined = pc.if_else(pc.equal(joined, 0), pa.scalar(0, joined.type), joined)  # -0.0 is nobody else
    encoded = joined if pa.types.is_dictionary(joined.type) else pc.dictionary_encode(joined)
    size = len(encoded.dictionary)
    return np.asarray(encoded.indices.fill_null(size).to_numpy(zero_copy_only=False), np.int64)


def persons_by_class(classes: IntArray, persons: IntArray | None, n_classes: int) -> IntArray:
    """Return how many persons each class has; without ``persons`` every row is one.

    Examples
    --------
    >>> persons_by_class(np.array([0, 0, 0, 1]), np.array([7, 7, 8, 7]), 2).tolist()
    [2, 1]
    """
    if persons is None:
        return np.bincount(classes, minlength=n_classes)
    order = np.lexsort((persons, classes))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(classes[order]) != 0) | (np.diff(persons[order]) != 0)
    return np.bincount(classes[order[first]], minlength=n_classes)


def persons_by_node(parent: IntArray, levels: IntArray, leaf: IntArray, persons: IntArray) -> IntArray:
    """Return how many persons every node of a tree has, given the node above each, its depth, and the leaf of each row.

    Of each person the rows are taken in the order of their leaves. Every row counts in all nodes above its leaf, and is
    taken off again where it meets the row before it: at their lowest common ancestor, and so above it.
    """
    order = np.lexsort((leaf, persons))
    return _distinct_below(parent, levels, leaf[order], persons[order])


@jit
def _distinct_below(parent: Any, level: Any, leaf: Any, person: Any) -> IntArray:  # pragma: no cover
    found = np.zeros(parent.size, np.int64)
    for i in range(leaf.size):
        found[leaf[i]] += 1
        if i > 0 and person[i] == person[i - 1]:
            a, b = leaf[i], leaf[i - 1]
            while a != b:
                if level[a] >= level[b]:
                    a = parent[a]
                else:
                    b = parent[b]
            found[a] -= 1
    for node in range(parent.size - 1, 0, -1):  # children have larger numbers
        found[parent[node]] += found[node]
    return found
