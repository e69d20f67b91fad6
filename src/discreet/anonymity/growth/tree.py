"""The frozen partition: the cell of each record. It holds splits on public grids, no records.

Nodes are numbered depth first, left first: the left child of node i is i + 1. A record goes left if its bin is below
the cut, so every record has exactly one leaf, also one that was never seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.anonymity.growth import criteria as _criteria
from discreet.anonymity.growth.grid import Bins, Grid
from discreet.core import AnyArray, FloatArray, IntArray, jit, quickly


@dataclass(frozen=True, eq=False)
class Tree:
    """A partition of the space of quasi-identifiers by binary cuts.

    By node: ``column`` of the split, ``cut`` (the first bin of its right side), ``right`` child (the left child of node
    i is i + 1), and ``criterion``, a number of `criteria.NAMES`; all are -1 for a leaf.
    """

    grids: tuple[Grid, ...]
    column: AnyArray
    cut: AnyArray
    right: AnyArray
    criterion: AnyArray

    def __post_init__(self) -> None:
        for name in ("column", "cut", "right", "criterion"):  # half the space: of 10^8 rows there are 10^7 nodes
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.int32))

    @classmethod
    def from_cuts(cls, grids: tuple[Grid, ...], cuts: Mapping[str, Any]) -> Self | None:
        """Return a tree from what `cuts` wrote; None if its grids are others."""
        if not cuts or cuts["grids"] != [_signature(grid) for grid in grids]:
            return None
        column = np.array(cuts["column"], np.int64)
        right, open_ = np.full(len(column), -1, np.int64), []
        for i in range(1, len(column)):
            if column[i - 1] >= 0:
                open_.append(i - 1)
            else:  # behind a leaf comes the right child of the last node that waits for one
                right[open_.pop()] = i
        return cls(grids, column, np.array(cuts["cut"]), right, np.array(cuts["criterion"]))

    def cuts(self) -> dict[str, Any]:
        told = {name: getattr(self, name).tolist() for name in ("column", "cut", "criterion")}
        return {"grids": [_signature(grid) for grid in self.grids], **told}

    @property
    def n_nodes(self) -> int:
        return len(self.column)

    @cached_property
    def leaves(self) -> IntArray:
        return np.flatnonzero(self.column < 0)

    @property
    def n_leaves(self) -> int:
        return len(self.leaves)

    @cached_property
    def parent(self) -> AnyArray:
        """The node above each; -1 for the root."""
        above = np.full(self.n_nodes, -1, np.int32)
        inner = np.flatnonzero(self.column >= 0)
        above[inner + 1] = inner
        above[self.right[inner]] = inner
        return above

    @cached_property
    def levels(self) -> AnyArray:
        return quickly(_levels, self.n_nodes)(self.parent)

    @cached_property
    def ends(self) -> AnyArray:
        """The end of the subtree of each node: that of node i is ``i .. ends[i] - 1``."""
        return quickly(_ends, self.n_nodes)(self.column, self.right)

    @cached_property
    def cells(self) -> tuple[AnyArray, AnyArray]:
        first, last = self.cells_of(np.arange(self.n_nodes))
        return first.astype(np.int32), last.astype(np.int32)

    def cells_of(self, nodes: IntArray) -> tuple[AnyArray, AnyArray]:
        """Return first and last bin of some nodes, in rising order: less to hold than `cells` of millions of nodes."""
        last = np.array([g.n_bins - 1 for g in self.grids], np.uint16)
        return quickly(_some_cells, self.n_nodes)(self.column, self.cut, nodes, last)

    @property
    def leaves_before(self) -> AnyArray:
        """The number of leaves before each node; the last entry is their total."""
        found = np.zeros(self.n_nodes + 1, np.int32)
        np.cumsum(self.column < 0, out=found[1:])
        return found

    def criteria(self) -> dict[str, int]:
        found = np.bincount(self.criterion[self.column >= 0], minlength=len(_criteria.NAMES))
        return {name: int(n) for name, n in zip(_criteria.NAMES, found, strict=True) if n}

    def route(self, bins: Bins) -> IntArray:
        return _route(bins, self.column, self.cut, self.right)

    def totals(self, values: IntArray) -> IntArray:
        """Add up what the leaves hold, for every node; ``values`` has an entry per node, used at the leaves."""
        before = np.concatenate([[0], np.cumsum(np.where(self.column < 0, values, 0))])
        found: IntArray = before[self.ends] - before[:-1]
        return found

    def volumes(self) -> FloatArray:
        """Return the volume of every node's cell; every column is as wide as 1 (and one step for missing values)."""
        first, last = self.cells
        sides = []
        for j, grid in enumerate(self.grids):
            points = grid_shares(grid)
            sides.append(points[last[:, j] + 1] - points[first[:, j]])
        product: FloatArray = np.prod(sides, axis=0)
        return product

    def merged(self, node: IntArray, above: IntArray) -> IntArray:
        """Return nodes with those named in ``above``, in rising order, in place of all below them."""
        # Subtrees are stretches of numbers, nested or apart: one that begins before an earlier one ends lies inside it.
        ends = np.maximum.accumulate(self.ends[above])
        top = above[np.append(True, above[1:] >= ends[:-1])]
        at = np.searchsorted(top, node, side="right") - 1
        inside = (at >= 0) & (node < self.ends[top[np.maximum(at, 0)]])
        return np.where(inside, top[np.maximum(at, 0)], node)

    def collapsed(self, nodes: IntArray) -> tuple[Self, IntArray]:
        """Return the tree with some nodes made leaves, and the new number of each node that is left."""
        inner = np.unique(nodes[self.column[nodes] >= 0])
        above = np.zeros(self.n_nodes + 1, np.int32)
        above[inner + 1] += 1
        np.subtract.at(above, self.ends[inner], 1)
        keep = np.cumsum(above[:-1]) == 0
        place = np.cumsum(keep) - 1
        right = np.where(self.right >= 0, place[self.right], -1)
        column, cut, right, criterion = (np.array(a) for a in (self.column, self.cut, right, self.criterion))
        column[inner] = cut[inner] = right[inner] = criterion[inner] = -1
        return type(self)(self.grids, column[keep], cut[keep], right[keep], criterion[keep]), place


def _signature(grid: Grid) -> list[Any]:
    return [grid.name, list(grid.edges), list(grid.order), grid.own_missing]


def grid_shares(grid: Grid) -> FloatArray:
    """Return the ends of the bins in shares of the declared width; a category's width is one over their number."""
    if grid.numeric:
        low, high = grid.column.low, grid.column.high
        points = (np.array(grid.edges) - low) / (high - low)
    else:
        points = np.arange(grid.levels + 1) / grid.levels
    return np.append(points, 1 + 1 / grid.levels) if grid.own_missing else points


@jit
def _levels(parent: Any) -> AnyArray:
    level = np.zeros(parent.size, np.int32)
    for i in range(1, parent.size):
        level[i] = level[parent[i]] + 1
    return level


@jit
def _ends(column: Any, right: Any) -> AnyArray:
    end = np.empty(column.size, np.int32)
    for i in range(column.size - 1, -1, -1):
        end[i] = i + 1 if column[i] < 0 else end[right[i]]
    return end


@jit
def _some_cells(column: Any, cut: Any, nodes: Any, last_bins: Any) -> tuple[AnyArray, AnyArray]:
    first, last = np.zeros_like(last_bins), last_bins.copy()
    lows, highs = np.empty((nodes.size, last.size), np.uint16), np.empty((nodes.size, last.size), np.uint16)
    waiting, depth, at = np.empty((64, 2, last.size), np.uint16), 0, 0  # the cells of right children yet to come
    for i in range(column.size):
        if at < nodes.size and nodes[at] == i:
            lows[at], highs[at] = first, last
            at += 1
        if column[i] >= 0:
            if depth == len(waiting):
                waiting = np.concatenate((waiting, np.empty_like(waiting)))
            waiting[depth, 0], waiting[depth, 1] = first, last
            waiting[depth, 0, column[i]] = cut[i]
            last[column[i]] = cut[i] - 1
            depth += 1
        elif depth > 0:
            depth -= 1
            first[:], last[:] = waiting[depth, 0], waiting[depth, 1]
    return lows, highs


@jit
def _route(bins: Any, column: Any, cut: Any, right: Any) -> IntArray:
    leaf = np.empty(bins.shape[1], np.int64)
    for i in range(leaf.size):
        node = 0
        while column[node] >= 0:
            node = node + 1 if bins[column[node], i] < cut[node] else right[node]
        leaf[i] = node
    return leaf
