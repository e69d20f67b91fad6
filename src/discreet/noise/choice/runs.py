"""Runs of candidate cuts with the same rows on their left: the view of a column that all quantile mechanisms use.

The box is the integer range [start, stop) of public cells, a candidate cut an integer k with start < k < stop, and
``left(k)`` the number of rows in cells below k. It only changes where cells are occupied, so the candidates fall into
runs. Rows and histograms give the same runs, hence with one seed the same cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray

#: A cell's count stops here: sums over 2^22 such cells still fit 64 bits. One row moves it by at most 1, as before.
LARGEST_COUNT = 2**40


@dataclass(frozen=True)
class Runs:
    """Non-empty runs, from left to right: candidates ``first .. first + size - 1``, each with ``left`` rows below it.

    ``rows`` is the number of all rows, ``start`` and ``stop`` the public box. ``left`` and ``rows`` are private.
    """

    first: IntArray
    size: IntArray
    left: IntArray
    rows: int
    start: int
    stop: int

    @classmethod
    def of_cells(cls, cells: AnyArray, *, start: int, stop: int) -> Runs:
        """Read the cell of every row, in any order; a cell outside the box counts as the nearest inside."""
        clamped = np.clip(cells, start, stop - 1).astype(np.int64, copy=False)
        if stop - start <= 4 * len(clamped):  # the same answer without sorting
            counts = np.bincount(clamped - start)
            occupied = np.flatnonzero(counts)
            return cls._of_occupied(occupied + start, counts[occupied], start=start, stop=stop)
        return cls._of_occupied(*np.unique(clamped, return_counts=True), start=start, stop=stop)

    @classmethod
    def of_counts(cls, cells: AnyArray, counts: AnyArray, *, start: int, stop: int) -> Runs:
        """Read rows per cell, in any order; repeated cells add up, negative counts are 0."""
        counts = np.clip(counts, 0, LARGEST_COUNT).astype(np.int64)
        clamped = np.clip(cells, start, stop - 1).astype(np.int64)[counts > 0]
        occupied, place = np.unique(clamped, return_inverse=True)
        totals = np.zeros(len(occupied), np.int64)
        np.add.at(totals, place, counts[counts > 0])
        return cls._of_occupied(occupied, totals, start=start, stop=stop)

    @classmethod
    def _of_occupied(cls, cells: IntArray, counts: IntArray, *, start: int, stop: int) -> Runs:
        left = np.concatenate([[0], np.cumsum(counts)])
        edges = np.concatenate([[start], cells, [stop - 1]])
        size = np.diff(edges)
        kept = size > 0
        return cls(edges[:-1][kept] + 1, size[kept], left[kept], int(left[-1]), start, stop)

    def between(self, low: int, high: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return first, size and left of the runs cut down to the candidates ``low .. high``."""
        begin = int(np.searchsorted(self.first, low, "right")) - 1
        end = int(np.searchsorted(self.first, high, "right"))
        first = np.maximum(self.first[begin:end], low)
        last = np.minimum(self.first[begin:end] + self.size[begin:end] - 1, high)
        return first, last - first + 1, self.left[begin:end]


def rank_losses(left: IntArray, target: Fraction) -> FloatArray:
    """Return ``|left - target|`` minus its smallest value, for increasing ``left``.

    Whole numbers are subtracted before anything is rounded. So the result keeps its relative precision for any number
    of rows, and two equally good ranks both have loss 0.
    """
    whole, part = divmod(target, 1)
    twice = 2 * float(part)
    below = int(np.searchsorted(left, whole, "right"))
    if below == 0:
        return np.asarray(left - left[0], np.float64)
    if below == len(left):
        return np.asarray(left[-1] - left, np.float64)
    # Just below the target the distance is under + part, just above it is over - part.
    under, over = int(whole - left[below - 1]), int(left[below] - whole)
    losses = np.empty(len(left))
    if under + twice <= over:
        losses[:below] = left[below - 1] - left[:below]
        losses[below:] = (left[below:] - whole - under) - twice
    else:
        losses[:below] = (whole - left[:below] - over) + twice
        losses[below:] = left[below:] - left[below]
    return losses
