"""Cells: boxes of bins, and which row of a table lies in which. What every method hands over to be released."""

from dataclasses import dataclass

import numpy as np

from discreet.anonymity.growth.grid import Grid
from discreet.core.arrays import IntArray


@dataclass(frozen=True)
class Cells:
    """The cells of one release.

    Attributes
    ----------
    grids : tuple of Grid
        The public grids, one per quasi-identifier.
    first, last : ndarray of int64, shape (cells, columns)
        The run of bins that a cell covers on each column, both ends included.
    of : ndarray of int64
        The cell of every row; -1 for a row that is suppressed.
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
        """Return what is printed for a column, one text per cell; equal runs are written once."""
        runs = np.stack([self.first[:, column], self.last[:, column]], axis=1)
        distinct, place = np.unique(runs, axis=0, return_inverse=True)
        written = [self.grids[column].text(int(a), int(b)) for a, b in distinct]
        return [written[i] for i in place.ravel()]
