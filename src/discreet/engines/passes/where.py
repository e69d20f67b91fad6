"""Cells of some rows only: those that conditions on declared columns are true of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.engines.passes.cells import GridMap

#: Of one column: its place in the domain, and the stretches of its axis that are asked for.
Condition = tuple[int, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class WhereMap:
    """The cells of a grid over the first columns, for rows whose other values lie in given stretches.

    Values beyond the bounds count as the bound. A row whose value is missing in a column with a condition has no cell.

    Parameters
    ----------
    domain : Domain
        The columns: first those of the grid, then those with conditions only.
    grid : GridMap or None
        The grid. None: one cell, for every row that the conditions are true of.
    where : tuple of (int, stretches)
        The conditions, all of which must be true.

    Examples
    --------
    >>> domain = Domain({"age": (0, 120), "sex": ["f", "m"]})
    >>> women = WhereMap(domain, GridMap(domain.select(["age"]), 12), ((1, ((0.0, 1.0),)),))
    >>> women.ids([np.array([35.0, 36.0]), np.array([0.5, 1.5])]).tolist()
    [3, -1]
    """

    domain: Domain
    grid: GridMap | None
    where: tuple[Condition, ...] = ()

    @property
    def n_cells(self) -> int:
        """Number of cells."""
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
