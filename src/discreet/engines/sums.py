"""Counts and fixed-point sums by cell: what noisy means are made of (spec partition-synopsis 9.9).

A row in a cell with centre c and half widths h adds q_j = clamp(round(S (x_j - c_j) / h_j), -S, S) to the cell's sum
on axis j. Whole numbers, so the order of rows, batches and files does not matter, and a row's share is bounded by
the clamp, whatever rounding the cell map does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet import _checks
from discreet._jit import jit
from discreet.domain import FloatArray
from discreet.engines._kernels import IntArray, add_dense
from discreet.engines._threads import in_order
from discreet.engines.cells import CellMap
from discreet.errors import InvalidType

if TYPE_CHECKING:
    from discreet.engines.source import Source

#: Cell numbers and coordinates of some rows at a time.
Batches: TypeAlias = Iterator[tuple[IntArray, list[FloatArray]]]
#: Up to this many numbers the boxes and sums of all cells are held at once. It is compared with public sizes.
_DENSE = 2**22


@runtime_checkable
class BoxedMap(CellMap, Protocol):
    """A cell map that knows the boxes of its cells, as `GridMap` does."""

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return the real bounds of cells, NaN on an axis where the cell is the one for missing values."""


class CellSums:
    """The raw count and fixed-point sums of each occupied cell. Must never leave the mechanism that asked for them.

    Parameters
    ----------
    n_cells : int
        Number of cells, occupied or not.
    cells : array of int
        The occupied cells, ascending.
    counts : array of int, shape (cells,)
        How many rows each holds.
    sums : array of int, shape (cells, columns)
        Sums of the rows' places relative to their cell.

    Examples
    --------
    >>> CellSums(6, [1, 4], [10, 20], [[512], [-1024]])
    CellSums(n_cells=6)
    """

    __slots__ = ("cells", "counts", "n_cells", "sums")

    def __init__(self, n_cells: int, cells: npt.ArrayLike, counts: npt.ArrayLike, sums: npt.ArrayLike) -> None:
        self.n_cells = n_cells
        self.cells: IntArray = np.asarray(cells, dtype=np.int64)
        self.counts: IntArray = np.asarray(counts, dtype=np.int64)
        self.sums: IntArray = np.asarray(sums, dtype=np.int64)

    def dense(self) -> tuple[IntArray, IntArray]:
        """Return counts and sums of all cells, the empty ones too.

        Examples
        --------
        >>> CellSums(3, [1], [2], [[-5]]).dense()[1].tolist()
        [[0], [-5], [0]]
        """
        counts = np.zeros(self.n_cells, np.int64)
        sums = np.zeros((self.n_cells, self.sums.shape[1]), np.int64)
        counts[self.cells] = self.counts
        sums[self.cells] = self.sums
        return counts, sums

    def __repr__(self) -> str:
        return f"CellSums(n_cells={self.n_cells})"


def sums(source: Source, cell_map: BoxedMap, scale: int, *, batch_size: int) -> CellSums:
    """Do the work of `Source.sums`."""
    if not isinstance(cell_map, BoxedMap):
        raise InvalidType("cell_map", type(cell_map), "a cell map with boxes", "cell_map=GridMap(domain, 16)")
    scale = _checks.whole("scale", scale, low=1, high=2**20)
    n_cells, n_axes = cell_map.n_cells, len(cell_map.domain)
    batches = source._batches(cell_map.domain, batch_size)
    with_ids = in_order(lambda columns: (cell_map.ids(columns), columns), batches)
    gather = _dense if n_cells * n_axes <= _DENSE else _sparse
    cells, table = gather(cell_map, with_ids, scale)
    return CellSums(n_cells, cells, table[0], table[1:].T)


def _dense(cell_map: BoxedMap, batches: Batches, scale: int) -> tuple[IntArray, IntArray]:
    """Keep numbers for every cell: the count, then the sums axis by axis."""
    frames = _frames(cell_map, np.arange(cell_map.n_cells), scale)
    table = np.zeros((1 + len(cell_map.domain), cell_map.n_cells), np.int64)
    for ids, columns in batches:
        _add(table, ids, columns, frames, scale)
    cells = np.flatnonzero(table[0])
    return cells, table[:, cells]


def _sparse(cell_map: BoxedMap, batches: Batches, scale: int) -> tuple[IntArray, IntArray]:
    """Keep numbers for occupied cells only; batches are gathered until they outgrow what is merged."""
    cells, table = np.empty(0, np.int64), np.empty((1 + len(cell_map.domain), 0), np.int64)
    waiting: list[tuple[IntArray, IntArray]] = []
    n_waiting = 0
    for ids, columns in batches:
        found, places = np.unique(ids, return_inverse=True)
        if found.size and found[0] < 0:
            found, places = found[1:], places - 1
        part = np.zeros((len(table), found.size), np.int64)
        _add(part, places, columns, _frames(cell_map, found, scale), scale)
        waiting.append((found, part))
        n_waiting += found.size
        if n_waiting > max(cells.size, 2**20):
            cells, table = _merge([(cells, table), *waiting])
            waiting, n_waiting = [], 0
    return _merge([(cells, table), *waiting])


def _frames(cell_map: BoxedMap, cells: IntArray, scale: int) -> tuple[FloatArray, FloatArray]:
    """Return, axis by axis, the centres of cells and fixed-point steps per unit of length."""
    lower, upper = cell_map.boxes(cells)
    with np.errstate(divide="ignore"):  # a box too narrow for a double: its rows count as its centre or its faces
        centres, steps = lower + (upper - lower) / 2, 2 * scale / (upper - lower)
    return np.ascontiguousarray(centres.T), np.ascontiguousarray(steps.T)


def _add(
    table: IntArray, ids: IntArray, columns: list[FloatArray], frames: tuple[FloatArray, FloatArray], scale: int
) -> None:
    add_dense(table[0], ids)
    for x, sums, centres, steps in zip(columns, table[1:], *frames, strict=True):
        _add_axis(sums, ids, x, centres, steps, scale)


def _merge(parts: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    cells, places = np.unique(np.concatenate([c for c, _ in parts]), return_inverse=True)
    table = np.zeros((len(parts[0][1]), cells.size), np.int64)
    start = 0
    for found, part in parts:
        table[:, places[start : start + found.size]] += part  # cells of a part are distinct
        start += found.size
    return cells, table


@jit
def _add_axis(
    sums: IntArray, ids: IntArray, x: Any, centres: FloatArray, steps: FloatArray, scale: int
) -> None:  # pragma: no cover
    limit = float(scale)
    for i in range(ids.size):
        cell = ids[i]
        if cell < 0:
            continue
        t = np.floor((x[i] - centres[cell]) * steps[cell] + 0.5)
        if t == t:  # a missing value, or the cell for missing values, adds nothing
            sums[cell] += int(min(max(t, -limit), limit))
