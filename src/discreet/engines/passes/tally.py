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

from discreet.core import Domain, FloatArray, IntArray
from discreet.engines.passes.cells import CellMap
from discreet.engines.passes.counts import CellTally
from discreet.engines.passes.kernels import merge_sparse


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
