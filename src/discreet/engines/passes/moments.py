"""Sums of products of bounded features: the input of private regression and principal components.

A row becomes a vector of whole numbers: `UNIT` for the intercept, round(UNIT (x - c)/h) for a number with centre c and
half width h, and `UNIT` or 0 for each category but the first. All products are whole and at most UNIT², so matrix
products of a batch are exact in doubles, and sums do not depend on batches, threads or machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.core import BoolArray, Categorical, Domain, FloatArray, IntArray
from discreet.engines.passes.lattice import TableAdder
from discreet.engines.passes.tally import KeyedNumbers

#: Fixed-point steps of half a range.
UNIT = 2**10
#: Fixed-point steps of a coefficient in a `GradientPass`; with at most `MOST_COEFFICIENT` products stay below 2^53.
COEFFICIENT, MOST_COEFFICIENT = 2**16, 2.0**10


@dataclass(frozen=True, eq=False)
class Design:
    """The features of a row: an intercept, then the columns of a domain in their order.

    Which sums of products are published follows from the declared columns. For numbers x and x' and categories these
    are the count n, Σx, Σ(2x² - 1) (twice as exact as Σx²), Σxx', the counts of categories, Σx by category, and counts
    of pairs of categories. Others are known: two categories of a column exclude each other.

    Sensitivity, in units of one: every sum has at most one change of at most 1 by a row (``most``). There are ``moved``
    sums that a row can change, as in each pair of columns it changes one: of all categories of a column only its own.
    """

    domain: Domain

    @cached_property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """The column of each feature after the intercept, and its category; -1 for a number."""
        out: list[tuple[int, int]] = []
        for j, column in enumerate(self.domain):
            levels = range(1, len(column.categories)) if isinstance(column, Categorical) else (-1,)
            out += [(j, level) for level in levels]
        return tuple(out)

    @cached_property
    def places(self) -> IntArray:
        """Where each product of two features is in the published vector; -1 for one that is always 0."""
        column = np.array([-1, *(j for j, _ in self.terms)])
        number = np.array([False, *(level < 0 for _, level in self.terms)])
        m = len(column)
        found, after = np.full((m, m), -1, np.int64), 0
        for i in range(m):
            for j in range(i, m):
                if i == j and i and not number[i]:
                    found[i, i] = found[0, i]  # a category's square is itself
                elif column[i] != column[j] or i == j:
                    found[i, j] = found[j, i] = after
                    after += 1
        return found

    @cached_property
    def squares(self) -> BoolArray:
        """Marks the features whose square is published as 2x² - 1."""
        return np.array([False, *(level < 0 for _, level in self.terms)])

    @property
    def size(self) -> int:
        """The length of the published vector."""
        return int(self.places.max()) + 1

    @property
    def moved(self) -> int:
        """The most published sums that a row changes."""
        d = len(self.domain)
        return 1 + d + sum(not isinstance(c, Categorical) for c in self.domain) + d * (d - 1) // 2

    def rows(self, columns: Any) -> tuple[FloatArray, BoolArray]:
        """Return the whole numbers of rows without missing values, as doubles, and which rows these are."""
        kept = np.ones(len(columns[0]), bool)
        for x in columns:
            kept &= ~np.isnan(x)
        out = np.empty((int(kept.sum()), 1 + len(self.terms)))
        out[:, 0] = UNIT
        for t, (j, level) in enumerate(self.terms, 1):
            x, low, high = np.asarray(columns[j], np.float64)[kept], self.domain.low[j], self.domain.high[j]
            x = np.clip(x, low, high)
            if level < 0:
                half = (high - low) / 2 or 1.0
                out[:, t] = np.clip(np.rint((x - (low + half)) / half * UNIT), -UNIT, UNIT)
            else:
                out[:, t] = np.where(np.minimum(np.floor(x), high - 1) == level, UNIT, 0)
        return out, kept


@dataclass(frozen=True, eq=False)
class MomentsPass:
    """Add up the products of all pairs of features."""

    design: Design
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.design.domain

    def prepare(self, columns: list[FloatArray]) -> IntArray:
        rows, _ = self.design.rows(columns)
        return np.asarray(rows.T @ rows).astype(np.int64)

    def start(self) -> TableAdder:
        return TableAdder(np.zeros(self.design.places.shape, np.int64))

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return the raw sums that are published, times UNIT²."""
        table, design = self.start().table, self.design
        table.reshape(-1)[found.keys] = found.values[0]
        own = np.flatnonzero(design.squares)
        table[own, own] = 2 * table[own, own] - table[0, 0]
        out = np.zeros(design.size, np.int64)
        known = design.places >= 0
        out[design.places[known]] = table[known]
        return out


@dataclass(frozen=True, eq=False)
class GradientPass:
    """Add up (y - p) z over rows: z features, y the category of the last column, p its chance by given coefficients.

    ``coefficients`` are whole numbers, in units of 1/COEFFICIENT, so that z'θ is exact. y - p is rounded to 1/UNIT and
    clamped to -1..1, so every sum changes by at most UNIT² by a row, and of the categories of a column one changes.
    """

    design: Design
    coefficients: IntArray
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.design.domain

    def prepare(self, columns: list[FloatArray]) -> IntArray:
        rows, _ = self.design.rows(columns)
        features, target = rows[:, :-1], rows[:, -1]
        margin = features @ self.coefficients.astype(np.float64) / (UNIT * COEFFICIENT)
        chance = 1 / (1 + np.exp(-np.clip(margin, -500, 500)))
        gap = np.clip(np.rint(target - UNIT * chance), -UNIT, UNIT)
        return np.asarray(features.T @ gap).astype(np.int64)

    def start(self) -> TableAdder:
        return TableAdder(np.zeros(len(self.coefficients), np.int64))

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return the raw sums, times UNIT²."""
        table = self.start().table
        table[found.keys] = found.values[0]
        return table
