"""Sums of products of bounded features: the input of private regression and principal components.

A row becomes a vector of whole numbers: `UNIT` for the intercept, round(UNIT (x - c)/h) for a number with centre c and
half width h, and `UNIT` or 0 for each category but the first. All products are whole and at most UNIT², so matrix
products of a batch are exact in doubles, and sums do not depend on batches, threads or machines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.core import BoolArray, Categorical, Domain, FloatArray, IntArray
from discreet.engines.passes.lattice import TableAdder
from discreet.engines.passes.tally import KeyedNumbers

#: Fixed-point steps of half a range.
UNIT = 2**10
#: Fixed-point steps of a coefficient of a gradient; with at most `MOST_COEFFICIENT` products stay below 2^53.
COEFFICIENT, MOST_COEFFICIENT = 2**16, 2.0**10
#: The sums z'θ, in whole steps, at which a chance in units of 1/UNIT is rounded up: a row's chance depends on it alone.
_EDGES = np.array([math.log((k + 0.5) / (UNIT - k - 0.5)) for k in range(UNIT)]) * UNIT * COEFFICIENT


@dataclass(frozen=True, eq=False)
class Design:
    """The features of a row: an intercept, then the columns of a domain in their order.

    Which sums of products are published follows from the declared columns. For numbers x and x' and categories these
    are the count n, Σx, Σ(2x² - 1) (twice as exact as Σx²), Σxx', the counts of categories, Σx by category, and counts
    of pairs of categories. Others are known: two categories of a column exclude each other.

    Sensitivity, in units of one: a row changes every sum by at most 1. There are ``moved`` sums that it can change, as
    in each pair of columns it changes one: of all categories of a column only its own.
    """

    domain: Domain

    @cached_property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """The column of each feature after the intercept, and its category; -1 for a number."""
        levels = [range(1, len(c.categories)) if isinstance(c, Categorical) else (-1,) for c in self.domain]
        return tuple((j, level) for j, each in enumerate(levels) for level in each)

    @cached_property
    def squares(self) -> BoolArray:
        """Marks the features whose square is published as 2x² - 1: numbers."""
        return np.array([False, *(level < 0 for _, level in self.terms)])

    @cached_property
    def places(self) -> IntArray:
        """Where each product of two features is in the published vector; -1 for one that is always 0."""
        column = np.array([-1, *(j for j, _ in self.terms)])
        asked = np.triu(column[:, np.newaxis] != column) | np.diag(self.squares | (column < 0))
        found = np.full(asked.shape, -1)
        found[asked] = np.arange(asked.sum())
        found = np.maximum(found, found.T)
        own = np.flatnonzero(~self.squares)
        found[own, own] = found[0, own]  # a category's square is itself
        return found

    @property
    def size(self) -> int:
        """The length of the published vector."""
        return int(self.places.max()) + 1

    @property
    def moved(self) -> int:
        """The most published sums that a row changes."""
        d = len(self.domain)
        return 1 + d + sum(not isinstance(c, Categorical) for c in self.domain) + d * (d - 1) // 2

    @property
    def names(self) -> tuple[str, ...]:
        """The names of features after the intercept: a column's, or column=category."""
        columns: Any = self.domain.columns
        return tuple(
            columns[j].name if level < 0 else f"{columns[j].name}={columns[j].categories[level]}"
            for j, level in self.terms
        )

    @cached_property
    def units(self) -> tuple[FloatArray, FloatArray]:
        """Centres and half widths of the features after the intercept; 0 and 1 for categories."""
        at, number = np.array([j for j, _ in self.terms], np.int64), self.squares[1:]
        half = (self.domain.high - self.domain.low)[at] / 2
        return np.where(number, self.domain.low[at] + half, 0.0), np.where(number, half, 1.0)

    def rows(self, columns: Any) -> tuple[FloatArray, BoolArray]:
        """Return the whole numbers of rows without missing values, as doubles, and which rows these are."""
        kept = ~np.any([np.isnan(x) for x in columns], axis=0)
        out = np.full((int(kept.sum()), 1 + len(self.terms)), float(UNIT))
        for t, ((j, level), centre, half) in enumerate(zip(self.terms, *self.units, strict=True), 1):
            high = self.domain.high[j]
            x = np.clip(np.asarray(columns[j], np.float64)[kept], self.domain.low[j], high)
            steps = np.clip(np.rint((x - centre) / half * UNIT), -UNIT, UNIT)
            out[:, t] = steps if level < 0 else UNIT * (np.minimum(np.floor(x), high - 1) == level)
        return out, kept


@dataclass(frozen=True, eq=False)
class MomentsPass:
    """Add up the products of all pairs of features; with coefficients θ, the gradient of the logistic likelihood.

    The gradient is Σ(y - p) z: z features, y the category of the last column, p its chance at θ. Coefficients are whole
    numbers, in units of 1/COEFFICIENT, so z'θ is exact, and p, rounded to 1/UNIT, follows from it alone. So a row
    changes every sum by at most UNIT², and of the categories of a column one.
    """

    design: Design
    coefficients: IntArray | None = None
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.design.domain

    def prepare(self, columns: list[FloatArray]) -> IntArray:
        rows, _ = self.design.rows(columns)
        if self.coefficients is None:
            return np.asarray(rows.T @ rows).astype(np.int64)
        features = rows[:, :-1]
        chance = np.searchsorted(_EDGES, features @ self.coefficients.astype(np.float64))
        return np.asarray(features.T @ (rows[:, -1] - chance)).astype(np.int64)

    def start(self) -> TableAdder:
        m = len(self.design.places)
        return TableAdder(np.zeros((m, m) if self.coefficients is None else m - 1, np.int64))

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return the raw sums that are published, times UNIT²."""
        table, design = self.start().table, self.design
        table.reshape(-1)[found.keys] = found.values[0]
        if self.coefficients is not None:
            return table
        table[design.squares, design.squares] = 2 * table[design.squares, design.squares] - table[0, 0]
        out, known = np.zeros(design.size, np.int64), design.places >= 0
        out[design.places[known]] = table[known]
        return out
