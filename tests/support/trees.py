"""Trees made by hand, and what tests look at in trees and grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.anonymity.growth.grid import NO_BIN, Grid
from discreet.anonymity.growth.tree import Tree


def bins_of(grid: Grid, values: Any) -> Any:
    """Return the bin of each value; -1 for a missing value without a bin."""
    found = np.empty(len(values), np.uint16)
    grid.write_bins(values, found)
    return np.where(found == NO_BIN, -1, found.astype(np.int64))


def tree_of(grids: Sequence[Grid], column: Sequence[int], cut: Sequence[int]) -> Tree:
    """Return the tree with these nodes, listed depth first; -1 marks a leaf."""
    right = np.full(len(column), -1)
    waiting: list[int] = []
    for i, own in enumerate(column):
        if i and column[i - 1] < 0:  # after a leaf comes the right child of the last node that waits for one
            right[waiting.pop()] = i
        if own >= 0:
            waiting.append(i)
    used = np.where(np.array(column) < 0, -1, 2)
    return Tree(tuple(grids), np.array(column), np.array(cut), right, used)


def cuts_of(tree: Tree) -> list[list[int]]:
    """Return everything about a tree but its grids."""
    return [a.tolist() for a in (tree.column, tree.cut, tree.right, tree.criterion)]
