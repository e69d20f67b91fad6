"""Cells: boxes of bins, and the cell of each row. Every method releases its result in this form."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.anonymity.growth.grid import Grid
from discreet.core import AnyArray, IntArray, category_text


@dataclass(frozen=True)
class Cells:
    """The cells of a release.

    ``first`` and ``last`` (cells by columns) are the run of bins of each cell, both ends included. ``of`` is the cell
    of each row, -1 for a suppressed row.
    """

    grids: tuple[Grid, ...]
    first: IntArray
    last: IntArray
    of: IntArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.first)

    def counts(self) -> IntArray:
        """Return the rows of every cell."""
        return np.bincount(self.of[self.of >= 0], minlength=self.n_cells)

    def texts(self, column: int) -> list[str]:
        """Return the printed texts of a column, one per cell."""
        runs, place = self.runs(column)
        written = [self.grids[column].text(a, b) for a, b in runs.tolist()]
        return [written[i] for i in place]

    def runs(self, column: int) -> tuple[IntArray, AnyArray]:
        """Return the distinct runs of bins of a column, rising (first and last bin), and the run of each cell."""
        both = self.first[:, column].astype(np.uint32) << np.uint32(16)  # bins are numbers of 16 bits
        both |= self.last[:, column].astype(np.uint32)
        distinct = np.unique(both)
        place = np.searchsorted(distinct, both).astype(np.min_scalar_type(len(distinct)))
        return np.stack([distinct >> np.uint32(16), distinct & np.uint32(0xFFFF)], 1).astype(np.int64), place

    def legend(self) -> dict[str, Any]:
        """Return the meaning of the printed labels, as the fact ``labels`` of a guarantee; empty without labels."""
        found: dict[str, dict[str, list[str]]] = {}
        for j, grid in enumerate(self.grids):
            runs = self.runs(j)[0].tolist() if grid.labels else []
            ends = [(a, min(b, grid.levels - 1)) for a, b in runs if a < grid.levels]
            parts = [part for a, b in ends if b - a + 1 < grid.levels for part in grid.parts(a, b)]  # the whole is "*"
            named = {text: (a, b) for text, a, b in parts if a < b}
            if named:
                found[grid.name] = {
                    t: list(map(category_text, grid.categories(*named[t]) or [])) for t in sorted(named)
                }
        return {"labels": found} if found else {}
