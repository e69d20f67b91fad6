"""Cells and sums of some rows only: those that conditions on declared columns are true of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core import Domain, FloatArray, IntArray
from discreet.engines.passes.cells import GridMap
from discreet.engines.passes.lattice import TableAdder
from discreet.engines.passes.tally import KeyedNumbers

#: For one column: its position in the domain, and intervals of its axis.
Condition = tuple[int, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class WhereMap:
    """The cells of a grid over the first columns, for rows whose other values lie in given intervals.

    Values beyond the bounds count as the bound. A row with a missing value in a column with a condition has no cell.
    """

    domain: Domain
    grid: GridMap | None  # None: one cell
    where: tuple[Condition, ...] = ()

    @property
    def n_cells(self) -> int:
        return 1 if self.grid is None else self.grid.n_cells

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, -1 for one that is not asked for."""
        if self.grid is None:
            ids = np.zeros(len(columns[0]), np.int64)
        else:
            ids = self.grid.ids(columns[: len(self.grid.domain)])
        for place, stretches in self.where:
            column = self.domain.columns[place]
            x = np.clip(columns[place], column.low, column.high)  # leaves missing values missing
            inside = np.zeros(len(x), bool)
            for low, high in stretches:
                inside |= (x >= low) & ((x < high) | (high >= column.high) & (x == column.high))
            ids[~inside] = -1
        return ids


@dataclass(frozen=True)
class WhereSum:
    """Count such rows, and add up the number of steps between their first column and an origin.

    A row adds round((x - origin)/step) with x clamped to the declared bounds, clamped to ``least..most``. So its share
    is bounded however doubles round. A row with a missing value adds nothing.
    """

    rows: WhereMap
    origin: float
    step: float
    least: int
    most: int
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.rows.domain

    def prepare(self, columns: Sequence[FloatArray]) -> IntArray:
        x, column = np.asarray(columns[0], np.float64), self.domain.columns[0]
        x = np.clip(x[(self.rows.ids(columns) == 0) & ~np.isnan(x)], column.low, column.high)
        steps = np.clip(np.rint((x - self.origin) / self.step), self.least, self.most)
        return np.array([len(steps), steps.astype(np.int64).sum()], np.int64)

    def start(self) -> TableAdder:
        return TableAdder(np.zeros(2, np.int64))

    def result(self, found: KeyedNumbers) -> tuple[int, int]:
        """Return the number of rows and the sum of their steps."""
        held = dict(zip(found.keys.tolist(), found.values[0].tolist(), strict=True))
        return held.get(0, 0), held.get(1, 0)
