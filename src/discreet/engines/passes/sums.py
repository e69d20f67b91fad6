"""Counts and fixed-point sums by cell: the input of noisy means.

A row in a cell with centre c and half widths h adds q_j = clamp(round(S (x_j - c_j) / h_j), -S, S) to the cell's sum on
axis j. The numbers are whole, so the order of rows, batches and files does not matter, and the clamp bounds a row's
share.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.core import Domain, FloatArray, IntArray, checks, jit
from discreet.engines.passes.cells import CellMap
from discreet.engines.passes.kernels import add_counts
from discreet.engines.passes.tally import Adder, KeyedNumbers, merge
from discreet.errors import InvalidType

#: Cell numbers and coordinates of some rows.
Located: TypeAlias = tuple[IntArray, list[FloatArray]]
#: Most numbers for which boxes and sums of all cells are held at once; compared with public sizes.
_DENSE = 2**22


@runtime_checkable
class BoxedMap(CellMap, Protocol):
    """A cell map that knows the boxes of its cells, as `GridMap` does."""

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return the real bounds of cells, NaN on an axis where the cell is the one for missing values."""


class CellSums:
    """Raw counts and fixed-point sums by occupied cell. They must never leave the mechanism that asked for them."""

    __slots__ = ("cells", "counts", "n_cells", "sums")

    def __init__(self, n_cells: int, cells: npt.ArrayLike, counts: npt.ArrayLike, sums: npt.ArrayLike) -> None:
        self.n_cells = n_cells
        self.cells: IntArray = np.asarray(cells, dtype=np.int64)
        self.counts: IntArray = np.asarray(counts, dtype=np.int64)
        self.sums: IntArray = np.asarray(sums, dtype=np.int64)

    def dense(self) -> tuple[IntArray, IntArray]:
        """Return counts and sums of all cells, the empty ones too."""
        counts = np.zeros(self.n_cells, np.int64)
        sums = np.zeros((self.n_cells, self.sums.shape[1]), np.int64)
        counts[self.cells] = self.counts
        sums[self.cells] = self.sums
        return counts, sums

    def __repr__(self) -> str:
        return f"CellSums(n_cells={self.n_cells})"


@dataclass(frozen=True)
class SumsPass:
    """Count rows by cell and add up their offsets from the cell's centre: the work of `Source.sums`."""

    cell_map: BoxedMap
    scale: int

    def __post_init__(self) -> None:
        if not isinstance(self.cell_map, BoxedMap):
            raise InvalidType("cell_map", type(self.cell_map), "a cell map with boxes", "cell_map=GridMap(domain, 16)")
        object.__setattr__(self, "scale", checks.whole("scale", self.scale, low=1, high=2**20))

    @property
    def domain(self) -> Domain:
        return self.cell_map.domain

    @property
    def width(self) -> int:
        """The count, then the sums axis by axis."""
        return 1 + len(self.domain)

    def prepare(self, columns: list[FloatArray]) -> Located:
        return self.cell_map.ids(columns), columns

    def start(self) -> Adder:
        return _Dense(self) if self.cell_map.n_cells * len(self.domain) <= _DENSE else _Sparse(self)

    def result(self, found: KeyedNumbers) -> CellSums:
        return CellSums(self.cell_map.n_cells, found.keys, found.values[0], found.values[1:].T)


class _Dense:
    """Keeps numbers for every cell."""

    def __init__(self, job: SumsPass) -> None:
        self._scale = job.scale
        self._frames = _frames(job.cell_map, np.arange(job.cell_map.n_cells), job.scale)
        self._table = np.zeros((job.width, job.cell_map.n_cells), np.int64)

    def add(self, prepared: Located) -> None:
        _add(self._table, *prepared, self._frames, self._scale)

    def result(self) -> KeyedNumbers:
        cells = np.flatnonzero(self._table[0])
        return KeyedNumbers(cells, self._table[:, cells])


class _Sparse:
    """Keeps numbers for occupied cells only; batches are gathered until they outgrow what is merged."""

    def __init__(self, job: SumsPass) -> None:
        self._job = job
        self._cells, self._table = np.empty(0, np.int64), np.empty((job.width, 0), np.int64)
        self._waiting: list[tuple[IntArray, IntArray]] = []
        self._n_waiting = 0

    def add(self, prepared: Located) -> None:
        ids, columns = prepared
        found, places = np.unique(ids, return_inverse=True)
        if found.size and found[0] < 0:
            found, places = found[1:], places - 1
        part = np.zeros((len(self._table), found.size), np.int64)
        scale = self._job.scale
        _add(part, places, columns, _frames(self._job.cell_map, found, scale), scale)
        self._waiting.append((found, part))
        self._n_waiting += found.size
        if self._n_waiting > max(self._cells.size, 2**20):
            self._merge()

    def result(self) -> KeyedNumbers:
        self._merge()
        return KeyedNumbers(self._cells, self._table)

    def _merge(self) -> None:
        self._cells, self._table = merge([(self._cells, self._table), *self._waiting])
        self._waiting, self._n_waiting = [], 0


def _frames(cell_map: BoxedMap, cells: IntArray, scale: int) -> tuple[FloatArray, FloatArray]:
    """Return, axis by axis, the centres of cells and fixed-point steps per unit of length."""
    lower, upper = cell_map.boxes(cells)
    with np.errstate(divide="ignore"):  # a box too narrow for a double: its rows count as its centre or its faces
        centres, steps = lower + (upper - lower) / 2, 2 * scale / (upper - lower)
    return np.ascontiguousarray(centres.T), np.ascontiguousarray(steps.T)


def _add(
    table: IntArray, ids: IntArray, columns: list[FloatArray], frames: tuple[FloatArray, FloatArray], scale: int
) -> None:
    add_counts(table[0], ids)
    for x, sums, centres, steps in zip(columns, table[1:], *frames, strict=True):
        _add_axis(sums, ids, x, centres, steps, scale)


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
