"""Counting persons instead of rows: how many different people a class, or the cell of a node, holds.

A class of k rows of one person hides nobody. Where a column says whose rows they are, k counts persons. Rows without a
person are taken to be of one and the same, which counts fewer people than there may be, never more. Who is the same
person, however spelled, `discreet.engines.tables.same` says.
"""

from typing import Any

import numpy as np

from discreet.core import Column, IntArray, jit
from discreet.engines.tables import key_codes, same_key


def person_codes(column: Any, declared: Column | None = None) -> IntArray:
    """Number the persons of a column as declared; all missing ones get one number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> person_codes(pa.array(["7", " 7", "7.0", "8", None])).tolist()
    [0, 0, 0, 1, 2]
    """
    return key_codes(same_key(column, declared))


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


def largest_share(classes: IntArray, persons: IntArray, rows: IntArray) -> float:
    """Return the largest share that the rows of one person have in a class; 0 for a table without rows.

    Whoever looks for a person in a class and guesses a row at random is right with the share of that person's rows. It
    is 1/k or more, and more than that wherever somebody has more rows than others.

    Examples
    --------
    >>> largest_share(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 7, 9]), np.ones(5, np.int64)).__round__(3)
    0.667
    """
    if not len(classes):
        return 0.0
    order = np.lexsort((persons, classes))
    own, whose = classes[order], persons[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(own) != 0) | (np.diff(whose) != 0)]))
    held = np.add.reduceat(rows[order], first)
    sizes = np.bincount(classes, rows)
    return float((held / sizes[own[first]]).max())


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
