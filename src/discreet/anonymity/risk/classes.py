"""Equivalence classes of a table by factorising: columns are numbered, the numbers joined, no row compared twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import total
from discreet.core import AnyArray, FloatArray, IntArray

_LARGEST = 2**62


def join(columns: Sequence[tuple[IntArray, int]], n: int) -> IntArray:
    """Number the combinations of columns, ``0..classes-1``, in order of their numbers."""
    joined, size = np.zeros(n, np.int64), 1
    for codes, levels in columns:
        if size * levels > _LARGEST:  # number afresh what is there, before the product overflows
            joined, size = _compact(joined, size)
        joined = joined * levels + codes
        size *= levels
    return _compact(joined, size)[0]


def _compact(codes: IntArray, size: int) -> tuple[IntArray, int]:
    if size <= 8 * len(codes) + 1024:  # counting is faster than sorting
        present = np.bincount(codes, minlength=size) > 0
        place = np.cumsum(present) - 1
        return place[codes], int(present.sum())
    if (steps := np.diff(codes)).min(initial=0) >= 0:  # in rising order already, as counted entries are
        place = np.append(0, np.cumsum(steps > 0))[: len(codes)]
        return place, int(place.max(initial=-1)) + 1
    found, place = np.unique(codes, return_inverse=True)
    return place.ravel().astype(np.int64), len(found)


@dataclass(frozen=True)
class Joint:
    """The counts of a sensitive column by class: the pairs of class and value that occur, sorted by class and value.

    ``size`` are the rows of each class, ``start`` is its first pair, ``total`` the share of each value in the whole
    table.
    """

    size: IntArray
    cls: IntArray
    value: IntArray
    count: IntArray
    start: IntArray
    total: FloatArray
    ordered: bool

    @classmethod
    def of(cls, classes: IntArray, column: CodedColumn, rows: IntArray) -> Self:
        levels = len(column.labels)
        size = total(classes, rows)
        pairs = classes * levels + column.codes
        if len(size) * levels <= 8 * len(pairs) + 1024:
            table = total(pairs, rows)
            found = np.flatnonzero(table)
            count = table[found]
        elif np.diff(pairs).min(initial=1) > 0:  # in rising order, each but once
            found, count = pairs, rows
        else:
            found, place = np.unique(pairs, return_inverse=True)
            count = total(place.ravel(), rows)
        owner = found // levels
        pairs_of = np.bincount(owner, minlength=len(size))
        start = np.cumsum(pairs_of) - pairs_of
        shares = np.bincount(column.codes, rows, minlength=levels) / max(int(rows.sum()), 1)
        return cls(size, owner, found % levels, count, start, shares, column.ordered)

    @property
    def share(self) -> FloatArray:
        return np.asarray(self.count / self.size[self.cls])

    def per_class(self, amounts: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.cls, amounts, minlength=len(self.size)), np.float64)

    def distinct(self) -> IntArray:
        return np.bincount(self.cls, minlength=len(self.size))

    def entropy(self) -> FloatArray:
        """Return e^H of each class: the number of equally frequent values that would be as diverse."""
        p = self.share
        return np.exp(self.per_class(-p * np.log(p)))

    def recursive(self, l: int) -> FloatArray:  # noqa: E741
        """Return r_1/(r_l + ... + r_m) of each class: (c, l)-diversity holds for every c above it."""
        if l == 2:  # all but the most frequent
            most = np.maximum.reduceat(self.count, self.start)
            return _ratio(most, self.size - most)
        order = np.lexsort((-self.count, self.cls))
        rank = np.arange(len(order)) - self.start[self.cls[order]]
        falling = self.count[order].astype(np.float64)
        owner = self.cls[order]
        rest = np.bincount(owner, np.where(rank >= l - 1, falling, 0.0), minlength=len(self.size))
        largest = np.bincount(owner, np.where(rank == 0, falling, 0.0), minlength=len(self.size))
        return _ratio(largest, rest)

    def equal_distance(self) -> FloatArray:
        """Return ½ Σ |p - q| of each class. The shares add up to one, so it is the sum of what is above q."""
        return self.per_class(np.maximum(self.share - self.total[self.value], 0.0))

    def ordered_distance(self) -> FloatArray:
        """Return the earth mover's distance with equally spaced values: Σ |P_i - Q_i| / (m - 1) of cumulated shares.

        Between two values of a class its P does not move, so |P - Q_i| is summed over a whole stretch at once, with the
        sums of Q and the place where the rising Q overtakes P.
        """
        m = len(self.total)
        if m < 2:
            return np.zeros(len(self.size))
        q = np.cumsum(self.total)
        sums = np.append(0.0, np.cumsum(q))
        rows = np.cumsum(self.count)
        level = (rows - np.append(0, rows)[self.start[self.cls]]) / self.size[self.cls]
        begin = self.value
        last = np.append(self.cls[1:] != self.cls[:-1], True) if len(self.cls) else np.zeros(0, bool)
        end = np.where(last, m, np.append(self.value[1:], m))
        stretch = _distance(level, begin, end, q, sums)
        first = np.zeros(len(self.size), np.int64)
        head = _distance(np.zeros(len(self.size)), first, self.value[self.start], q, sums)
        return (self.per_class(stretch) + head) / (m - 1)

    def gains(self) -> tuple[FloatArray, FloatArray]:
        """Return (p - q)/q of every pair, and -ln q of its value."""
        q = self.total[self.value]
        return np.asarray((self.share - q) / q), np.asarray(-np.log(q))

    def disclosure(self) -> FloatArray:
        """Return the largest |ln(p/q)| of each class over all values of the table; infinite where one is absent."""
        found = np.zeros(len(self.size))
        np.maximum.at(found, self.cls, np.abs(np.log(self.share / self.total[self.value])))
        return np.where(self.distinct() < int((self.total > 0).sum()), np.inf, found)


def _ratio(largest: AnyArray, rest: AnyArray) -> FloatArray:
    return np.where(rest > 0, largest / np.where(rest > 0, rest, 1), np.inf)


def _distance(level: FloatArray, begin: IntArray, end: IntArray, q: FloatArray, sums: FloatArray) -> FloatArray:
    """Return Σ |level - q_i| for begin <= i < end, with rising q and its cumulated sums."""
    over = np.clip(np.searchsorted(q, level), begin, end)
    below = level * (over - begin) - (sums[over] - sums[begin])
    above = (sums[end] - sums[over]) - level * (end - over)
    return np.asarray(below + above)
