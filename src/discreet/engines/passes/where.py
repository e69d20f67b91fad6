"""Groups of the rows that conditions are true of: the cells of such rows, and sums of one column in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core import (
    AnyArray,
    BoolArray,
    Categorical,
    Column,
    Date,
    Domain,
    FloatArray,
    IntArray,
    Integer,
    Intervals,
)
from discreet.engines.passes.lattice import TableAdder
from discreet.engines.passes.tally import KeyedNumbers


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The cells of some rows: those in one of the ``boxes``, which do not overlap.

    Values beyond the bounds count as the bound. A row has no cell if it is in no box, lies outside the edges of an
    axis, or lacks a value that takes part: in a column of ``present``, or one whose rule is "drop". If the rule is
    "own", missing values have the last cell of their axis, and only intervals of NaN hold them. All of it is decided
    row by row.
    """

    #: The columns that are read, and after them those that are looked up.
    domain: Domain
    known: Domain
    #: Positions in ``known`` and edges; a cell holds its lower edge, the last one a bound too.
    axes: tuple[tuple[int, FloatArray], ...] = ()
    #: By position; None for all rows.
    boxes: tuple[Mapping[int, Intervals], ...] | None = None
    present: tuple[int, ...] = ()
    #: Columns that follow from another: its position, and a value for each of its numbers from the least.
    looked_up: tuple[tuple[int, FloatArray], ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis, the one for missing values included."""
        return tuple(len(edges) - 1 + (self.known.columns[at].missing == "own") for at, edges in self.axes)

    @property
    def n_cells(self) -> int:
        return math.prod(self.shape)

    def columns(self, columns: Sequence[FloatArray]) -> list[FloatArray]:
        """Return all columns that are known of a batch, clamped to their bounds."""
        made = [np.clip(x, c.low, c.high) for x, c in zip(columns, self.domain, strict=True)]
        for at, values in self.looked_up:
            column = self.domain.columns[at]
            half = 0.0 if isinstance(column, Categorical) else 0.5
            place = np.floor(made[at] - math.floor(column.low + 0.5) + half)
            gone = np.isnan(place)
            cells = np.clip(np.where(gone, 0, place), 0, len(values) - 1).astype(np.int64)
            made.append(np.where(gone, np.nan, values[cells]))
        return made

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, -1 for one that is not asked for."""
        return self.cells(self.columns(columns))

    def cells(self, known: Sequence[FloatArray]) -> IntArray:
        """Return the same of columns that are clamped and looked up already."""
        ids = np.zeros(len(known[0]), np.int64)
        used = {at for at, _ in self.axes} | {at for box in self.boxes or () for at in box}
        left = [at for at in used if self.known.columns[at].missing == "drop"]
        kept = ~np.logical_or.reduce(
            [np.isnan(known[at]) for at in {*left, *self.present}] or [np.zeros(len(ids), bool)]
        )
        for (at, edges), size in zip(self.axes, self.shape, strict=True):
            cell = _cells(self.known.columns[at], known[at], edges, size)
            kept &= cell >= 0
            ids = ids * size + cell
        if self.boxes is not None:
            inside = np.zeros(len(ids), bool)
            for box in self.boxes:
                parts = [_inside(self.known.columns[at], known[at], pairs) for at, pairs in box.items()]
                inside |= np.logical_and.reduce(parts) if parts else True
            kept &= inside
        return np.where(kept, ids, -1)


def _cells(column: Column, x: FloatArray, edges: FloatArray, size: int) -> IntArray:
    if isinstance(column, Categorical):
        found = np.minimum(np.where(np.isnan(x), -1, x), len(edges) - 2).astype(np.int64)
    else:
        found = np.searchsorted(edges, x, side="right") - 1
        found = np.where((edges[-1] >= column.high) & (x == column.high), len(edges) - 2, found)
        found = np.where((found >= len(edges) - 1) | np.isnan(x), -1, found)
    return np.where(np.isnan(x), size - 1, found) if size == len(edges) else found


def _inside(column: Column, x: FloatArray, pairs: Intervals) -> BoolArray:
    """Return which values lie in intervals; what counts as the bound is in the last category or whole number."""
    found, steps = np.zeros(len(x), bool), isinstance(column, (Categorical, Integer, Date))
    for low, high in pairs:
        if math.isnan(low):
            found |= np.isnan(x)
        else:
            found |= (x >= low) & ((x < high) | steps & (high >= column.high) & (x == column.high))
    return found


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Count the rows of each group that have a value in one column, and add up its steps from an origin.

    A row adds s = round((x - origin)/step), clamped to ``least..most``, so its share is bounded however doubles round.
    With ``square`` it also adds round(square (2 (s/most)² - 1)), which is from -square to square.
    """

    groups: GroupMap
    at: int
    origin: float
    step: float
    least: int
    most: int
    square: int = 0
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.groups.domain

    def prepare(self, columns: Sequence[FloatArray]) -> IntArray:
        known = self.groups.columns(columns)
        x, ids = np.asarray(known[self.at], np.float64), self.groups.cells(known)
        kept = (ids >= 0) & ~np.isnan(x)
        x, ids = x[kept], ids[kept]
        steps = np.clip(np.rint((x - self.origin) / self.step), self.least, self.most)
        added: list[AnyArray | None] = [None, steps]
        if self.square:
            added.append(np.clip(np.rint(self.square * (2 * (steps / self.most) ** 2 - 1)), -self.square, self.square))
        # Whole numbers below 2^32, of a batch of at most 2^20 rows: doubles add them exactly.
        return np.array([np.bincount(ids, each, self.groups.n_cells) for each in added]).astype(np.int64)

    def start(self) -> TableAdder:
        return TableAdder(np.zeros((3 if self.square else 2, self.groups.n_cells), np.int64))

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return the numbers of rows and the sums, one column per group."""
        table = np.zeros((3 if self.square else 2) * self.groups.n_cells, np.int64)
        table[found.keys] = found.values[0]
        return table.reshape(-1, self.groups.n_cells)
