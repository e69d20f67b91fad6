"""Two-level grids: every cell of a grid is divided further, each into its own number of parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import Categorical, Domain, FloatArray, IntArray, Integer, jit
from discreet.engines.passes.cells import GridMap


@dataclass(frozen=True, eq=False)
class NestedMap:
    """A grid whose cells are grids.

    ``parts`` gives the parts of the numeric axes for each cell of the first level. Cells are numbered cell by cell of
    that level. Axes of categories or whole numbers, and cells for missing values, are not divided.
    """

    grid: GridMap
    parts: IntArray
    #: Number of the first cell inside each cell of the grid, and behind the last one that of all cells.
    starts: IntArray = field(init=False)

    def __post_init__(self) -> None:
        sizes = np.ones(self.grid.n_cells, np.int64)
        for radix in self._radices(np.arange(self.grid.n_cells)):
            sizes *= radix
        object.__setattr__(self, "starts", np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def domain(self) -> Domain:
        return self.grid.domain

    @property
    def n_cells(self) -> int:
        return int(self.starts[-1])

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, -1 for a dropped one."""
        first = self.grid.ids(columns)
        inside = np.zeros(len(first), np.int64)
        for x, column, parts in zip(columns, self.domain, self.grid.parts, strict=True):
            if not isinstance(column, (Categorical, Integer)):
                _append_inner(inside, first, x, column.low, column.high - column.low, parts, self.parts)
        return np.where(first < 0, -1, self.starts[first] + inside)

    def outer(self, cells: Any) -> IntArray:
        """Return the first-level cell around each cell."""
        return np.searchsorted(self.starts, np.asarray(cells, dtype=np.int64), side="right") - 1

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return the real bounds of cells, as `GridMap.boxes` does."""
        outer = self.outer(cells)
        lower, upper = self.grid.boxes(outer)
        rest = np.asarray(cells, dtype=np.int64) - self.starts[outer]
        radices = self._radices(outer)
        for axis in range(len(radices) - 1, -1, -1):
            rest, index = np.divmod(rest, radices[axis])
            low, step = lower[:, axis].copy(), (upper[:, axis] - lower[:, axis]) / radices[axis]
            last = index + 1 == radices[axis]
            lower[:, axis] = low + index * step
            upper[:, axis] = np.where(last, upper[:, axis], low + (index + 1) * step)
        return lower, upper

    def _radices(self, outer: IntArray) -> list[IntArray]:
        """Return, axis by axis, how many parts first-level cells have inside."""
        radices: list[IntArray] = []
        rest = outer
        for size, parts, column in zip(
            reversed(self.grid.shape), reversed(self.grid.parts), reversed(self.domain.columns), strict=True
        ):
            rest, index = np.divmod(rest, size)
            whole = isinstance(column, (Categorical, Integer))
            radices.insert(0, np.where(whole | (index >= parts), 1, self.parts[outer]))
        return radices


@jit
def _append_inner(
    inside: IntArray, first: IntArray, x: Any, low: float, width: float, outer_parts: int, parts: IntArray
) -> None:  # pragma: no cover
    """Append one axis to the numbers within first-level cells, as `append_axis` does to those of a grid."""
    scale = float(outer_parts)
    for i in range(inside.size):
        t = (x[i] - low) / width * scale
        if first[i] < 0 or t != t:
            continue
        radix = parts[first[i]]
        t = min(max(t, 0.0), scale)
        cell = min(int(t), outer_parts - 1)
        inside[i] = inside[i] * radix + min(int((t - cell) * radix), radix - 1)
