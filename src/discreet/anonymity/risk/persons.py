"""Count persons instead of rows.

A class of k rows of one person hides no one. If a column identifies the person, k counts persons. Rows without a person
count as one person, which is never too many. `discreet.engines.tables.same` decides which spellings are one person.
"""

from typing import Any

import numpy as np

from discreet.core import Column, IntArray, jit
from discreet.engines.tables import key_codes, same_key


def person_codes(column: Any, declared: Column | None = None) -> IntArray:
    """Number the persons of a column as declared; all missing ones get one number."""
    return key_codes(same_key(column, declared))


def persons_by_class(classes: IntArray, persons: IntArray | None, n_classes: int) -> IntArray:
    """Return how many persons each class has; without ``persons`` every row is one."""
    if persons is None:
        return np.bincount(classes, minlength=n_classes)
    order = np.lexsort((persons, classes))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(classes[order]) != 0) | (np.diff(persons[order]) != 0)
    return np.bincount(classes[order[first]], minlength=n_classes)


def largest_share(classes: IntArray, persons: IntArray, rows: IntArray) -> float:
    """Return the largest share of one person in the rows of a class: a random guess finds them with that chance."""
    if not len(classes):
        return 0.0
    order = np.lexsort((persons, classes))
    own, whose = classes[order], persons[order]
    first = np.flatnonzero(np.concatenate([[True], (np.diff(own) != 0) | (np.diff(whose) != 0)]))
    held = np.add.reduceat(rows[order], first)
    sizes = np.bincount(classes, rows)
    return float((held / sizes[own[first]]).max())


def persons_by_node(parent: IntArray, levels: IntArray, leaf: IntArray, persons: IntArray) -> IntArray:
    """Return the number of persons of each node, given the parent and depth of each node, and the leaf of each row.

    The rows of a person are taken in the order of their leaves. Each row counts in all nodes above its leaf, and is
    subtracted at the lowest common ancestor with the row before it.
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
