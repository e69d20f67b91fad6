"""Histograms of nodes whose rows are outside memory, added up piece by piece.

For each node and column they count the records per bin, the sums of the places of all columns if the criterion needs
them, and the sensitive values. These are whole numbers, so neither the pieces nor their order change them. They are as
sensitive as the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth._count_kernels import BYTES, EIGHT, settle
from discreet.core import AnyArray, IntArray, jit


class TopTree(NamedTuple):
    """The upper part of a growing tree; node 0 is the root. A leaf is its own child."""

    column: IntArray
    cut: IntArray
    children: IntArray
    depth: int

    def route(self, rows: Any) -> IntArray:
        node = np.zeros(len(rows), np.int64)
        _route_top(rows, self.column, self.cut, self.children, self.depth, node)
        return node


class CountShape(NamedTuple):
    """The size of the counts of a node: columns, bins, sensitive values and columns whose places are added up."""

    columns: int
    bins: int
    values: int
    summed: int
    #: Whether the place of every bin is its number.
    even: bool

    @property
    def nbytes(self) -> int:
        return 8 * self.columns * self.bins * (1 + self.summed + self.values)


@dataclass(frozen=True)
class CountJob:
    """One pass over rows: the nodes to count. It holds no rows and can be sent to executors.

    ``slot`` is the place of each node of ``top`` among the ``slots`` counted nodes, or -1. ``places`` is the place of
    each bin, by column (`GridSpace.places`).
    """

    top: TopTree
    slot: IntArray
    slots: int
    shape: CountShape
    places: IntArray

    def start(self) -> NodeCounts:
        n, (d, bins, values, summed, _) = self.slots, self.shape
        room = [(n, d, bins), (n, d, bins, summed), (n, d, bins, values)]
        counts, sums, held = (np.zeros(size, np.int64) for size in room)
        return NodeCounts(self, counts, sums, held)


@dataclass(frozen=True)
class NodeCounts:
    """Histograms by node: records, sums of places, lowest and highest bins, sensitive values."""

    job: CountJob
    counts: IntArray
    sums: IntArray
    values: IntArray

    def add(self, rows: AnyArray, codes: IntArray) -> None:
        """Count rows: bins side by side, and the numbers of their sensitive values."""
        job = self.job
        slot = job.slot[job.top.route(rows)]
        if job.shape.even and job.shape.summed and rows.dtype == np.uint8 and rows.shape[1] % 8 == 0:
            packed = np.zeros((*self.counts.shape, rows.shape[1] // 4), np.uint64)
            _add_in_lanes(rows, slot, self.counts, self.sums, packed)
        else:
            _add_counts(rows, slot, job.places, self.counts, self.sums)
        if self.values.shape[3]:
            _add_values(rows, slot, codes, self.values)

    def merge(self, other: NodeCounts) -> None:
        for mine, theirs in zip(self.arrays, other.arrays, strict=True):
            mine += theirs

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.counts, self.sums, self.values


@jit
def _route_top(rows: Any, column: Any, cut: Any, children: Any, depth: int, node: Any) -> None:
    for i in range(node.size):
        at = 0
        for _ in range(depth):  # as often for every row: no branch to foretell
            at = children[at, int(rows[i, column[at]] >= cut[at])]
        node[i] = at


@jit
def _add_counts(rows: Any, slot: Any, places: Any, counts: Any, sums: Any) -> None:
    n, d = len(rows), counts.shape[1]
    summed = sums.shape[3] > 0
    place = np.zeros(d, np.int64)
    for i in range(n):
        at = slot[i]
        if at < 0:
            continue
        if summed:
            for m in range(d):
                place[m] = places[m, rows[i, m]]
        for j in range(d):
            bin_ = rows[i, j]
            counts[at, j, bin_] += 1
            if summed:
                for m in range(d):
                    sums[at, j, bin_, m] += place[m]


@jit
def _add_in_lanes(rows: Any, slot: Any, counts: Any, sums: Any, packed: Any) -> None:
    n, d, words = len(rows), counts.shape[1], rows.view(np.uint64)
    for i in range(n):
        at = slot[i]
        if at < 0:
            continue
        for j in range(d):
            bin_ = rows[i, j]
            counts[at, j, bin_] += 1
            for w in range(words.shape[1]):
                packed[at, j, bin_, 2 * w] += words[i, w] & BYTES
                packed[at, j, bin_, 2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
            if counts[at, j, bin_] & 255 == 0:
                settle(packed[at, j, bin_], sums[at, j, bin_], d)
    for at in range(counts.shape[0]):
        for j in range(d):
            for bin_ in range(counts.shape[2]):
                if counts[at, j, bin_] & 255:
                    settle(packed[at, j, bin_], sums[at, j, bin_], d)


@jit
def _add_values(rows: Any, slot: Any, codes: Any, values: Any) -> None:
    n, d = len(rows), values.shape[1]
    for i in range(n):
        if slot[i] >= 0:
            for q in range(codes.shape[0]):
                for j in range(d):
                    values[slot[i], j, rows[i, j], codes[q, i]] += 1
