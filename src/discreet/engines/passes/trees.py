"""Tree maps: the node of a public tree that a row falls into, and statistics of the rows in its nodes.

A tree lives on a public grid: ``2**bits`` equal cells on a numeric axis, one per category on a categorical axis, and
one more at the end if missing values have their own cell. A box is a range of cells per axis. A cut is a whole number
k; a row goes left of it if its cell is below k. Part p of G of a range [A, B) starts at ``A + floor(p (B - A) / G)``; a
range of fewer than G cells has one part per cell. All statistics are sums of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core import Categorical, Column, Domain, FloatArray, IntArray, Integer, jit
from discreet.engines.passes.cells import first_number
from discreet.engines.passes.tally import KeyedNumbers

#: Rows of a block.
CHUNK = 2**13
#: Units between the middle and the edge of a box (`RowCells.spreads`).
SPREAD_UNITS = 2**8

#: Cells, and ends of boxes in cells: an axis has 2^30 + 1 of them at most. There may be many, so they are kept short.
Cells: TypeAlias = npt.NDArray[np.int32]
#: Cells by row and axis, and the node each row has reached.
Block: TypeAlias = tuple[Cells, npt.NDArray[np.int32]]


def grid_parts(domain: Domain, bits: int) -> IntArray:
    """Return the number of cells of each axis, without the one for missing values."""
    return np.array([_parts(c, bits) for c in domain], np.int64)


def _parts(column: Column, bits: int) -> int:
    if isinstance(column, Categorical):
        return len(column.categories)
    return min(column.n_values, int(2**bits)) if isinstance(column, Integer) else int(2**bits)


def grid_cells(domain: Domain, bits: int) -> IntArray:
    """Return the number of cells of each axis, the one for missing values included."""
    own = np.array([c.missing == "own" for c in domain], np.int64)
    return np.asarray(grid_parts(domain, bits) + own)


@dataclass(frozen=True, eq=False)
class TreeMap:
    """A tree of integer cuts on the public grid, as a cell map."""

    domain: Domain
    bits: int
    axis: IntArray  # of each node's cuts; -1 for a leaf
    first: IntArray  # each node's first child
    cut_at: IntArray  # where its cuts begin in `cuts`, and how many there are
    n_cuts: IntArray
    cuts: IntArray
    slot: IntArray  # the number under which its rows are counted; -1 if they are not
    lower: Cells  # box of each slot
    upper: Cells
    key_axis: IntArray  # the axis along which each slot is divided into lines; -1 for none
    lines: int = 1

    @classmethod
    def root(cls, domain: Domain, bits: int) -> TreeMap:
        """Return the tree of one node."""
        none, zero, cells = np.array([-1]), np.array([0]), grid_cells(domain, bits).astype(np.int32)[np.newaxis]
        return cls(domain, bits, none, none, zero, zero, np.empty(0, np.int64), zero, cells * 0, cells, none)

    @property
    def n_slots(self) -> int:
        """Number of nodes whose rows are counted."""
        return len(self.lower)

    @property
    def n_cells(self) -> int:
        return self.n_slots * self.lines

    @cached_property
    def widths(self) -> Cells:
        """Widths of the boxes of the slots, in cells."""
        return self.upper - self.lower

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, ``slot * lines + line``; -1 for a row that is dropped or in no slot."""
        n, whole = len(columns[0]), blank(columns)
        blocks = (encode(self.domain, self.bits, columns, start, whole) for start in range(0, n, CHUNK))
        return np.concatenate([np.empty(0, np.int64), *(self.block_ids(block) for block in blocks)])

    def block_ids(self, block: Block) -> IntArray:
        """Walk the rows of a block on to where they end, and return their cells."""
        self.route(block)
        out = np.empty(len(block[1]), np.int64)
        widths = self.widths if self.lines > 1 else self.upper  # not used with one line per slot
        write_ids(*block, self.slot, self.lower, widths, self.key_axis, self.lines, out)
        return out

    def route(self, block: Block) -> None:
        """Walk the rows of a block from the nodes they have reached to where they end."""
        cells, node = block
        route(cells, self.axis, self.first, self.cut_at, self.n_cuts, self.cuts, node)

    def boxes(self, slots: Any) -> tuple[FloatArray, FloatArray]:
        """Return the real bounds of slots; NaN on an axis where a slot holds missing values only."""
        chosen = np.asarray(slots, np.int64)
        return real_bounds(self.domain, self.bits, self.lower[chosen], self.upper[chosen])


def blank(columns: Sequence[FloatArray]) -> Block:
    """Return memory for the cells of some rows, all of them at the root; allocated by the thread that frees it."""
    n = len(columns[0])
    return np.empty((n, len(columns)), np.int32), np.zeros(n, np.int32)


def encode(domain: Domain, bits: int, columns: Sequence[FloatArray], start: int, whole: Block) -> Block:
    """Fill in and return the block of rows that begins at ``start``, all of them at the root or dropped."""
    rows = slice(start, start + CHUNK)
    cells, node = whole[0][rows], whole[1][rows]
    parts = grid_parts(domain, bits)
    for j, (x, column) in enumerate(zip(columns, domain, strict=True)):
        own = column.missing == "own"
        fill_cells(x[rows], column.low, column.high - column.low, parts[j], own, cells[:, j], node)
    return cells, node


def real_bounds(domain: Domain, bits: int, lower: Cells, upper: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of boxes given in cells, for publication."""
    reals = np.empty(lower.shape), np.empty(upper.shape)
    for j, (parts, column) in enumerate(zip(grid_parts(domain, bits), domain, strict=True)):  # there may be many boxes
        missing = lower[:, j] >= parts
        for ends, cells in zip(reals, (lower[:, j], upper[:, j]), strict=True):
            if isinstance(column, Integer):
                places = first_number(column, cells.astype(np.float64), int(parts)) - 0.5
            else:
                places = column.low + cells * (column.high - column.low) / parts
            ends[:, j] = np.where(cells >= parts, column.high, places)
            ends[missing, j] = np.nan
    return reals


class TreeAdder:
    """Common part of tree adders: rows come as coordinates, or as blocks that have already reached a node."""

    def __init__(self, tree_map: TreeMap) -> None:
        self.tree_map = tree_map

    def add(self, prepared: list[FloatArray]) -> None:
        """Take in rows that are at the root."""
        whole = blank(prepared)
        for start in range(0, len(prepared[0]), CHUNK):
            self.add_block(encode(self.tree_map.domain, self.tree_map.bits, prepared, start, whole))

    def add_block(self, block: Block) -> None:
        """Walk the rows of a block on to where they end, and take them in."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TreePass:
    """Common part of tree passes."""

    tree_map: TreeMap

    @property
    def domain(self) -> Domain:
        return self.tree_map.domain

    def prepare(self, columns: list[FloatArray]) -> list[FloatArray]:
        return columns


@dataclass(frozen=True, eq=False)
class HistogramPass(TreePass):
    """Count rows by slot, axis and part of the slot's box on that axis."""

    bins: int
    width: ClassVar[int] = 1

    def start(self) -> Histograms:
        return Histograms(self.tree_map, self.bins)

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return counts of shape (slots, axes, bins)."""
        totals = np.zeros((*self.tree_map.lower.shape, self.bins), np.int64)
        totals.reshape(-1)[found.keys] = found.values[0]
        return totals


class Histograms(TreeAdder):
    """The adder of `HistogramPass`."""

    def __init__(self, tree_map: TreeMap, bins: int) -> None:
        super().__init__(tree_map)
        widths = tree_map.widths
        self._boxes = tree_map.lower, widths, np.minimum(widths, bins)
        self.totals = np.zeros((*widths.shape, bins), np.int64)

    def add_block(self, block: Block) -> None:
        self.tree_map.route(block)
        add_histograms(*block, self.tree_map.slot, *self._boxes, self.totals)

    def result(self) -> KeyedNumbers:
        return KeyedNumbers.occupied(self.totals)


@dataclass(frozen=True, eq=False)
class SpreadPass(TreePass):
    """Count rows by slot, and add up by axis how far they lie from its middle."""

    @property
    def width(self) -> int:
        """The count, then the sums axis by axis."""
        return 1 + len(self.domain)

    def start(self) -> Spreads:
        return Spreads(self.tree_map)

    def result(self, found: KeyedNumbers) -> tuple[IntArray, IntArray]:
        """Return rows by slot, and sums by slot and axis."""
        table = np.zeros((self.width, self.tree_map.n_slots), np.int64)
        table[:, found.keys] = found.values
        return table[0], table[1:].T


class Spreads(TreeAdder):
    """The adder of `SpreadPass`."""

    def __init__(self, tree_map: TreeMap) -> None:
        super().__init__(tree_map)
        self._ends = np.add(tree_map.lower, tree_map.upper, dtype=np.int64)  # may be 2^31
        self._scale = (SPREAD_UNITS / tree_map.widths).astype(np.float32)
        self.counts = np.zeros(tree_map.n_slots, np.int64)
        self.sums = np.zeros(self._ends.shape, np.int64)

    def add_block(self, block: Block) -> None:
        self.tree_map.route(block)
        add_spreads(*block, self.tree_map.slot, self._ends, self._scale, self.counts, self.sums)

    def result(self) -> KeyedNumbers:
        keys = np.flatnonzero(self.counts)
        return KeyedNumbers(keys, np.vstack([self.counts[np.newaxis], self.sums.T])[:, keys])


# Rows come in blocks that fit into the cache of one core: ``cells`` by row and axis, and the ``node`` that each row has
# reached (-1: dropped). Slots are the nodes that are counted.


@jit
def fill_cells(
    x: Any, low: float, width: float, parts: int, own: bool, out: Any, node: Any
) -> None:  # pragma: no cover
    """Write the cell of every value, clamp(floor((x - low) / width * parts), 0, parts - 1); missing ones by rule."""
    scale, top = float(parts), float(parts - 1)
    for i in range(x.size):
        t = (x[i] - low) / width * scale
        if t != t:
            out[i] = parts if own else 0
            if not own:
                node[i] = -1
        else:
            out[i] = np.int32(min(max(t, 0.0), top))


@jit
def route(
    cells: Any, axis: Any, first: Any, cut_at: Any, n_cuts: Any, cuts: Any, node: Any
) -> None:  # pragma: no cover
    """Walk every row on from its node to the last it reaches; its child's number is how many cuts are <= its cell."""
    for i in range(node.size):
        v = node[i]
        if v < 0:
            continue
        while axis[v] >= 0:
            cell = cells[i, axis[v]]
            a, n = cut_at[v], n_cuts[v]
            if n == 1:
                v = first[v] + (cell >= cuts[a])
                continue
            low, high = 0, n  # the number of cuts <= cell lies in low..high
            while low < high:
                middle = (low + high) // 2
                if cuts[a + middle] <= cell:
                    low = middle + 1
                else:
                    high = middle
            v = first[v] + low
        node[i] = v


@jit
def write_ids(
    cells: Any, node: Any, slot: Any, lower: Any, width: Any, key_axis: Any, lines: int, out: Any
) -> None:  # pragma: no cover
    """Turn nodes into cell numbers: the node's slot, and if it has a key axis the line of its box the row lies in."""
    for i in range(node.size):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s < 0:
            out[i] = -1
            continue
        line = 0
        j = key_axis[s]
        if j >= 0:
            w = width[s, j]
            # A quotient of whole numbers below 2^53 is rounded to the right side of every whole number.
            line = int(((cells[i, j] - lower[s, j] + 1) * min(lines, w) - 1) / w)
        out[i] = s * lines + line


@jit
def add_histograms(
    cells: Any, node: Any, slot: Any, lower: Any, width: Any, parts: Any, out: Any
) -> None:  # pragma: no cover
    """Count rows by slot, axis and part of the slot's box on that axis."""
    n, d = cells.shape
    part = np.empty(d, np.int32)
    for i in range(n):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s >= 0:
            for j in range(d):  # apart from the counting, so that the divisions are made several at a time
                part[j] = np.int32(((cells[i, j] - lower[s, j] + 1) * parts[s, j] - 1) / width[s, j])
            for j in range(d):
                out[s, j, part[j]] += 1


@jit
def add_spreads(
    cells: Any, node: Any, slot: Any, ends: Any, scale: Any, counts: Any, sums: Any
) -> None:  # pragma: no cover
    """Count rows by slot, and add up how far they lie from its middle: ``abs(2 cell + 1 - ends) * scale``, floored."""
    n, d = cells.shape
    for i in range(n):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s >= 0:
            counts[s] += 1
            for j in range(d):
                sums[s, j] += np.int32(abs(np.float32(2 * cells[i, j] + 1 - ends[s, j])) * scale[s, j])
