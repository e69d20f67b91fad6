"""Cells of a grid as an expression of Spark SQL, where the result is exactly the same.

For columns of machine numbers, the kernel's formula is four operations in double precision, which Java rounds in the
same way. Then no row leaves the JVM, and a count costs no more than a group-by. A shallow tree of midpoints is such a
grid too: its cuts are multiples of a power of two. Text, categories, dates, decimals, other trees and sums go through
the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core import Categorical, Column, Date, Integer
from discreet.engines.passes.cells import CellMap, GridMap, RowMap
from discreet.engines.passes.tally import KeyedNumbers
from discreet.engines.passes.trees import TreeMap, grid_parts

_MACHINE_NUMBERS = ("byte", "short", "integer", "long", "float", "double")
_MOST_PARTS = 2**31
#: Cells of the grid that stands for a tree, at most.
_MOST_CELLS = 2**18
_NONE = "CAST(NULL AS BIGINT)"


def cell_expression(cell_map: CellMap, names: Sequence[str], kinds: Sequence[str]) -> str | None:
    """Return the cell of a row in SQL, null for a dropped row; None if a kernel is needed.

    ``names`` and ``kinds`` are the columns of the frame and their Spark types.
    """
    if type(cell_map) not in (GridMap, RowMap) or not _plain(cell_map, kinds):
        return None
    if isinstance(cell_map, RowMap):
        pairs = zip(cell_map.domain, names, kinds, strict=True)
        gaps = [_missing(name, kind) for column, name, kind in pairs if column.missing == "drop"]
        return f"if({' OR '.join(gaps)}, {_NONE}, 0L)" if gaps else "0L"
    assert isinstance(cell_map, GridMap)
    if max(cell_map.parts) > _MOST_PARTS:
        return None
    axes = zip(cell_map.domain, cell_map.parts, names, kinds, strict=True)
    cells = [_cell(column, parts, name, kind) for column, parts, name, kind in axes]
    return _joined(cells, cell_map.shape)


@dataclass(frozen=True)
class GridOfTree:
    """The grid of a tree: its cells in SQL, and the way from its counts to those of the tree."""

    tree_map: TreeMap
    shifts: tuple[int, ...]
    shape: tuple[int, ...]
    expression: str

    @classmethod
    def of(cls, cell_map: CellMap, names: Sequence[str], kinds: Sequence[str]) -> GridOfTree | None:
        """Find the grid of a tree; None if there is none, or it has too many cells."""
        if not isinstance(cell_map, TreeMap) or cell_map.lines != 1 or not _plain(cell_map, kinds):
            return None
        parts = grid_parts(cell_map.domain, cell_map.bits).tolist()
        nodes = np.flatnonzero(cell_map.axis >= 0)
        n = cell_map.n_cuts[nodes]
        places = np.repeat(cell_map.cut_at[nodes] - (np.cumsum(n) - n), n) + np.arange(n.sum())
        cuts, axis = cell_map.cuts[places], np.repeat(cell_map.axis[nodes], n)
        shifts = []
        for j, width in enumerate(parts):
            step = int(np.gcd.reduce(np.append(cuts[(axis == j) & (cuts != width)], width)))  # missing values lie apart
            shifts.append((step & -step).bit_length() - 1)
        own = [column.missing == "own" for column in cell_map.domain]
        shape = tuple((width >> s) + o for width, s, o in zip(parts, shifts, own, strict=True))
        if math.prod(shape) > _MOST_CELLS:
            return None
        axes = zip(cell_map.domain, parts, names, kinds, shifts, strict=True)
        cells = [_cell(column, width, name, kind, shift) for column, width, name, kind, shift in axes]
        return cls(cell_map, tuple(shifts), shape, _joined(cells, shape))

    def fold(self, found: KeyedNumbers) -> KeyedNumbers:
        """Walk the cells of the grid down the tree and add up their counts."""
        index = np.unravel_index(found.keys, self.shape)
        cells = np.empty((len(found.keys), len(self.shape)), np.int32)
        for j, (i, shift) in enumerate(zip(index, self.shifts, strict=True)):
            cells[:, j] = i << shift  # the index of missing values becomes the cell of missing values
        slots = self.tree_map.block_ids((cells, np.zeros(len(cells), np.int32)))
        totals = np.zeros(self.tree_map.n_slots, np.int64)
        np.add.at(totals, slots[slots >= 0], found.values[0][slots >= 0])
        return KeyedNumbers.occupied(totals)


def _plain(cell_map: CellMap, kinds: Sequence[str]) -> bool:
    """Return whether all columns are declared and stored as numbers."""
    declared = not any(isinstance(column, (Categorical, Date, Integer)) for column in cell_map.domain)
    return declared and all(kind in _MACHINE_NUMBERS for kind in kinds)


def _cell(column: Column, parts: int, name: str, kind: str, shift: int = 0) -> str:
    """Return the cell on one axis; with a shift, which of its runs of 2^shift cells."""
    place = f"(CAST({name} AS DOUBLE) - {_double(column.low)}) / {_double(column.high - column.low)} * {_double(parts)}"
    inside = f"CAST(least(greatest({place}, 0.0D), {_double(parts - 1)}) AS BIGINT)"
    if shift:
        inside = f"shiftright({inside}, {shift})"
    return f"if({_missing(name, kind)}, {f'{parts >> shift}L' if column.missing == 'own' else _NONE}, {inside})"


def _joined(cells: Sequence[str], shape: Sequence[int]) -> str:
    """Join the cells of all axes to one number, the first being the most significant digit."""
    number = cells[0]
    for cell, size in zip(cells[1:], shape[1:], strict=True):
        number = f"({number} * {size}L + {cell})"
    return number


def _missing(name: str, kind: str) -> str:
    return f"{name} IS NULL OR isnan({name})" if kind in ("float", "double") else f"{name} IS NULL"


def _double(value: float) -> str:
    """Write a number so that Spark reads the very same double."""
    return f"({float(value)!r}D)"
