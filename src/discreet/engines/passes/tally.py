"""One pass over rows: whole numbers, added up by key. All engines share this unit of work.

A pass is a small picklable object without data. It is started for each thread, row group or partition, and the results
are added up. The numbers are whole, so neither the division nor the order changes the sum, and lost work can be
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from discreet.core import Domain, FloatArray, IntArray
from discreet.engines.passes.cells import CellMap
from discreet.engines.passes.kernels import add_counts, count_runs, merge_sparse
from discreet.errors import InvalidArgument

#: Up to this number of cells rows are counted into a plain array. It is compared with the public number of cells.
DENSE_CELLS = 2**22
#: Above this many cells `CellCounts.dense` refuses.
DENSE_LIMIT = 2**27
#: This many cell numbers are collected before they are sorted, with more cells than `DENSE_CELLS`.
SORT_ROWS = 2**22


class CellCounts:
    """Raw numbers of rows by occupied cell. They must never leave the mechanism that asked for them.

    Even the set of occupied cells and the total reveal single rows. Add noise, publish the noisy values and drop this
    object. It is neither printed nor saved. Of ``n_cells`` cells, ``cells`` are the occupied ones, ascending.

    Examples
    --------
    >>> counts = CellCounts(6, [1, 4], [10, 20])
    >>> counts
    CellCounts(n_cells=6)
    >>> (counts + counts).dense().tolist()
    [0, 20, 0, 0, 40, 0]
    """

    __slots__ = ("cells", "counts", "n_cells")

    def __init__(self, n_cells: int, cells: npt.ArrayLike, counts: npt.ArrayLike) -> None:
        self.n_cells = n_cells
        self.cells: IntArray = np.asarray(cells, dtype=np.int64)
        self.counts: IntArray = np.asarray(counts, dtype=np.int64)

    def dense(self) -> IntArray:
        """Return the counts of all cells as one flat array."""
        if self.n_cells > DENSE_LIMIT:
            raise InvalidArgument(
                "n_cells", self.n_cells, f"at most {DENSE_LIMIT} to list all cells", "fewer parts per axis"
            )
        array = np.zeros(self.n_cells, dtype=np.int64)
        array[self.cells] = self.counts
        return array

    def __add__(self, other: CellCounts) -> CellCounts:
        if not isinstance(other, CellCounts):
            return NotImplemented
        if other.n_cells != self.n_cells:
            raise InvalidArgument(
                "other", other, f"counts of the same {self.n_cells} cells", "counting both with one cell map"
            )
        return CellCounts(self.n_cells, *merge_sparse(self.cells, self.counts, other.cells, other.counts))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CellCounts)
            and self.n_cells == other.n_cells
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CellCounts(n_cells={self.n_cells})"


class CellTally:
    """Counts under construction: takes cell numbers in batches, in any order, in bounded memory.

    With many cells only occupied ones are kept, as sorted runs. Two runs are merged when the later one is as long as
    the earlier one, so each cell moves a logarithmic number of times.
    """

    def __init__(self, n_cells: int) -> None:
        self._n_cells = n_cells
        self._dense = np.zeros(n_cells, dtype=np.int64) if n_cells <= DENSE_CELLS else None
        self._waiting = np.empty(0 if self._dense is not None else SORT_ROWS, dtype=np.int64)
        self._spare = np.empty_like(self._waiting)
        self._n_waiting = 0
        self._runs: list[CellCounts] = []

    def add(self, ids: IntArray) -> None:
        """Count the rows of a batch; -1 is a dropped row."""
        if self._dense is not None:
            add_counts(self._dense, ids)
            return
        ids = ids[ids >= 0]
        while len(ids):
            moved = ids[: len(self._waiting) - self._n_waiting]
            self._waiting[self._n_waiting : self._n_waiting + len(moved)] = moved
            self._n_waiting += len(moved)
            ids = ids[len(moved) :]
            if self._n_waiting == len(self._waiting):
                self._sort()

    def result(self) -> CellCounts:
        if self._dense is not None:
            cells = np.flatnonzero(self._dense != 0)  # several times as quick as of the numbers themselves
            return CellCounts(self._n_cells, cells, self._dense[cells])
        self._sort()
        total = self._runs.pop()
        while self._runs:
            total = self._runs.pop() + total
        return total

    def _sort(self) -> None:
        n, bits = self._n_waiting, (self._n_cells - 1).bit_length()
        run = CellCounts(self._n_cells, *count_runs(self._waiting[:n], self._spare[:n], bits))
        self._n_waiting = 0
        while self._runs and len(self._runs[-1].cells) <= 2 * len(run.cells):
            run = self._runs.pop() + run
        self._runs.append(run)


class KeyedNumbers:
    """Whole numbers by key, ascending, one row each: raw counts or sums, as sensitive as the rows."""

    __slots__ = ("keys", "values")

    def __init__(self, keys: IntArray, values: IntArray) -> None:
        self.keys, self.values = keys, values

    @classmethod
    def occupied(cls, table: IntArray) -> KeyedNumbers:
        """Return the numbers of a table that are not 0, by their places in it."""
        flat = table.reshape(-1)
        keys = np.flatnonzero(flat)
        return cls(keys, flat[keys][np.newaxis])

    @classmethod
    def of(cls, keys: IntArray, values: IntArray) -> KeyedNumbers:
        """Sort keys that come once each, in any order."""
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], values[:, order])

    def __add__(self, other: KeyedNumbers) -> KeyedNumbers:
        if not len(other.keys):
            return self
        if not len(self.keys):
            return other
        if len(self.values) == 1:
            keys, counts = merge_sparse(self.keys, self.values[0], other.keys, other.values[0])
            return KeyedNumbers(keys, counts[np.newaxis])
        return KeyedNumbers(*merge([(self.keys, self.values), (other.keys, other.values)]))

    def __repr__(self) -> str:
        return "KeyedNumbers()"  # what is in it must not be shown


def merge(parts: Sequence[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Add up tables whose columns belong to ascending keys."""
    keys, places = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    table = np.zeros((len(parts[0][1]), keys.size), np.int64)
    start = 0
    for found, part in parts:
        table[:, places[start : start + found.size]] += part  # keys of a part are distinct
        start += found.size
    return keys, table


class Adder(Protocol):
    """The sums of a pass so far, in one place."""

    def add(self, prepared: Any) -> None:
        """Take in a batch that the pass has prepared."""

    def result(self) -> KeyedNumbers:
        """Return what was gathered."""


class Pass(Protocol):
    """Work over all rows."""

    @property
    def domain(self) -> Domain:
        """The columns it needs."""

    @property
    def width(self) -> int:
        """Numbers per key."""

    def prepare(self, columns: list[FloatArray]) -> Any:
        """Do what can be done with a batch by itself, in any thread."""

    def start(self) -> Adder:
        """Return an adder that has seen no row."""


@dataclass(frozen=True)
class CountPass:
    """Count the rows in each cell of a map."""

    cell_map: CellMap
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.cell_map.domain

    @property
    def by_row(self) -> bool:
        """True if the map takes a batch as one array, rows by columns, where a table has it in that form."""
        return getattr(self.cell_map, "by_row", False)

    def prepare(self, columns: list[FloatArray]) -> IntArray:
        return self.cell_map.ids(columns)

    def start(self) -> Adder:
        return _Counting(CellTally(self.cell_map.n_cells))


@dataclass
class _Counting:
    tally: CellTally

    def add(self, prepared: IntArray) -> None:
        self.tally.add(prepared)

    def result(self) -> KeyedNumbers:
        found = self.tally.result()
        return KeyedNumbers(found.cells, found.counts[np.newaxis])
