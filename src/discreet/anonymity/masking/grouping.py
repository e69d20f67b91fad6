"""Groups of k rows: MDAV, in large tables inside blocks of near rows; or the best groups along a line."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.masking._mdav_kernels import best_path, mdav
from discreet.anonymity.release.table import Table
from discreet.core import BoolArray, FloatArray, IntArray

#: MDAV compares all rows of tables up to this size: 4 s at k = 10 and 13 s at k = 3 on one core.
EXACT_ROWS = 100_000
#: Most rows of a block, unless that makes fewer groups than `BLOCK_GROUPS`. Both and the share
#: below were chosen on generated tables by benchmarks/tuning/microaggregation.py.
BLOCK_ROWS = 32_768
BLOCK_GROUPS = 1500
#: No cut leaves less than this share of the rows on a side.
CUT_SHARE = 0.1
#: Evenly spaced places between the least and the largest number where a column may be split.
_PLACES = 256


@dataclass(frozen=True)
class Points:
    """Rows as they are compared: numbers over their declared width, and codes that are 1 apart where they differ."""

    numbers: FloatArray
    codes: IntArray

    @classmethod
    def of(cls, table: Table, coordinates: FloatArray, columns: Sequence[int]) -> "Points":
        """Read columns. A number that may be missing counts as a number and as a code "is it missing"."""
        numbers, codes = [np.empty((table.n, 0))], [np.empty((table.n, 0), np.int64)]
        for j in columns:
            grid = table.plan.grids[j]
            if not grid.numeric:
                codes.append(table.bins[j].astype(np.int64)[:, None])
                continue
            column = grid.column
            unit = (coordinates[j] - column.low) / (column.high - column.low)
            numbers.append(np.where(np.isnan(unit), 0.5, unit)[:, None])
            if grid.own_missing:
                codes.append(np.isnan(unit).astype(np.int64)[:, None])
        return cls(np.concatenate(numbers, axis=1), np.concatenate(codes, axis=1))

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: IntArray) -> "Points":
        return Points(self.numbers[rows], self.codes[rows])


def auto_rows(n: int, k: int) -> int | None:
    return None if n <= EXACT_ROWS else max(BLOCK_ROWS, BLOCK_GROUPS * k)


def mdav_groups(points: Points, k: int, block_rows: int | None) -> IntArray:
    """Return the group of every row by MDAV; with ``block_rows`` inside blocks of at most so many, and once more."""
    if block_rows is None or len(points) <= block_rows:
        return _mdav(points, k)
    group, made = np.empty(len(points), np.int64), 0
    for rows in make_blocks(points, k, block_rows):
        own = _mdav(points.take(rows), k)
        group[rows] = own + made
        made += int(own.max()) + 1
    return _again(points, group, k, block_rows)


def _mdav(points: Points, k: int) -> IntArray:
    """Return the groups of MDAV. A copy is worked on: the kernel overwrites what it is given."""
    numbers, codes = points.numbers.copy(), points.codes.copy()
    return np.asarray(mdav(numbers, codes, int(codes.max(initial=0)) + 1, k), np.int64)


def _again(points: Points, groups: IntArray, k: int, most: int) -> IntArray:
    """Group the rows of the groups that lost most once more, at most ``most`` rows, if that loses less.

    Rare rows are scattered over blocks, and block boundaries separate near rows: here they meet.
    """
    held, lost = np.bincount(groups), losses(points, groups)
    worst = np.argsort(-lost / held, kind="stable")
    chosen = np.zeros(len(held), bool)
    chosen[worst[np.cumsum(held[worst]) <= most]] = True
    rows = np.flatnonzero(chosen[groups])
    pool = points.take(rows)
    found = _mdav(pool, k) if len(rows) else np.empty(0, np.int64)
    if not len(rows) or losses(pool, found).sum() >= lost[chosen].sum():
        return groups
    made = (np.cumsum(~chosen) - 1)[groups]
    made[rows] = found + int((~chosen).sum())
    return made


def losses(points: Points, groups: IntArray) -> FloatArray:
    """Return the sum of squares within every group; a code is the corner of a simplex with edge 1."""
    held = np.bincount(groups)
    total = np.zeros(len(held))
    for x in points.numbers.T:
        gap = x - (np.bincount(groups, x) / held)[groups]
        total += np.bincount(groups, gap * gap)
    for codes in points.codes.T:
        levels = int(codes.max()) + 1
        pairs, counts = np.unique(groups * levels + codes, return_counts=True)
        total += (held - np.bincount(pairs // levels, counts.astype(float) ** 2) / held) / 2
    return total


def path_groups(points: Points, k: int) -> IntArray:
    """Return the groups of k to 2k - 1 neighbours along a line that leave the least sum of squares within groups.

    The line is the first principal component of the numbers; of one column, its own order, missing values last.
    """
    numbers, codes = points.numbers, points.codes.T
    along = np.asarray(numbers.sum(axis=1))
    if numbers.shape[1] > 1:
        axis = np.linalg.eigh(np.cov(numbers.T, ddof=0))[1][:, -1]
        along, codes = np.asarray(numbers @ (axis * np.sign(axis[np.abs(axis).argmax()]))), codes[:0]
    order = np.lexsort((along, *codes))
    part = points.take(order)
    group = np.empty(len(points), np.int64)
    group[order] = best_path(part.numbers, part.codes, int(part.codes.max(initial=0)) + 1, k)
    return group


def make_blocks(points: Points, k: int, block_rows: int) -> list[IntArray]:
    """Cut the rows in two, and these again, until no block has more than ``block_rows``; each keeps at least k.

    Like a regression tree, it cuts the column where that takes away most of the sum of squares.
    """
    blocks, left = [], [np.arange(len(points))]
    while left:
        rows = left.pop()
        if len(rows) <= block_rows:
            blocks.append(rows)
            continue
        below = _cut(points.take(rows), max(k, int(CUT_SHARE * len(rows))))
        if below is None:
            below = np.arange(len(rows)) < len(rows) // 2
        left += [rows[~below], rows[below]]
    return blocks


def _cut(points: Points, least: int) -> BoolArray | None:
    """Return which rows lie below the best cut with at least so many rows on both sides; None if there is none."""
    n, best = len(points), 0.0
    below: BoolArray | None = None
    for values, coded in [(v, False) for v in points.numbers.T] + [(v, True) for v in points.codes.T]:
        low, high = values.min(), values.max()
        if low == high:
            continue
        place = values - low if coded else np.minimum((values - low) * (_PLACES / (high - low)), _PLACES - 1)
        place = place.astype(np.int64)
        held = np.bincount(place).astype(float)
        first = np.cumsum(held)[:-1]
        last = n - first
        with np.errstate(divide="ignore", invalid="ignore"):  # a side without rows is left out below
            if coded:  # corners of a simplex: the squared distance of two mixtures that share no corner
                squares = np.cumsum(held**2)
                gap = (squares[:-1] / first**2 + (squares[-1] - squares[:-1]) / last**2) / 2
            else:
                sums = np.cumsum(np.bincount(place, values))
                gap = ((sums[-1] - sums[:-1]) / last - sums[:-1] / first) ** 2
            gain = np.where((first >= least) & (last >= least), first * last * gap, 0.0)
        at = int(gain.argmax())
        if gain[at] > best:
            best, below = float(gain[at]), place <= at
    return below
