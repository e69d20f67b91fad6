"""Many marginals of a table in one pass: counts by one to three columns.

Each column has a public grid. A marginal names its columns and, for each, a group for every cell of the grid, so it may
be coarser than the grid. Rows are put on the grids once per batch; then a marginal costs one addition per row and
column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import AnyArray, Code, Date, Domain, FloatArray, IntArray, Integer, few, held, jit, quickly
from discreet.engines.passes.cells import GridMap
from discreet.engines.passes.kernels import add_axis
from discreet.engines.passes.tally import Adder, KeyedNumbers

#: Prefixes of a code that are counted at most; each is a cell.
MOST_PREFIXES = 1024


@dataclass(frozen=True, eq=False)
class GroupedMarginal:
    """Columns and the groups of their cells."""

    columns: tuple[int, ...]
    groups: tuple[IntArray, ...]
    shape: tuple[int, ...] = field(init=False)

    def __init__(self, columns: Sequence[int], groups: Sequence[AnyArray]) -> None:
        object.__setattr__(self, "columns", tuple(int(c) for c in columns))
        object.__setattr__(self, "groups", tuple(np.asarray(g, np.int64) for g in groups))
        object.__setattr__(self, "shape", tuple(int(g.max()) + 1 for g in self.groups))

    @property
    def n_cells(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class MarginalsPass:
    """Count many marginals in one pass. A row that a missing value drops is in none of them."""

    grid: AxisGrids
    marginals: tuple[GroupedMarginal, ...]
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.grid.read or self.grid.domain

    def prepare(self, columns: list[FloatArray]) -> IntArray:
        """Put the rows of a batch on the grids; one row of the result per column, without dropped rows."""
        return self.grid.codes(columns)

    def start(self) -> Adder:
        return MarginalTally(self.marginals)

    def split(self, found: KeyedNumbers) -> list[IntArray]:
        """Return the counts of each marginal, its last column fastest."""
        ends = np.cumsum([m.n_cells for m in self.marginals])
        flat = np.zeros(int(ends[-1]) if len(ends) else 0, np.int64)
        flat[found.keys] = found.values[0]
        return np.split(flat, ends[:-1])


@dataclass(frozen=True)
class AxisGrids:
    """A public grid for each column; the rules are those of `GridMap`.

    If the grid of a numeric column is coarser than its values, there are two more cells, one for each bound: clamped
    values are there, and zeros that mean "none". Cells also end where a declared fact begins or ends, so that facts are
    about whole cells. Rows that the domain declares impossible are dropped, each by itself. If rules give the model
    other columns than the table, ``read`` has those of the table, and every row is mapped by itself.
    """

    domain: Domain
    parts: tuple[int, ...]  # cells of each column, without those of bounds and missing values
    ends: tuple[bool, ...]  # whether it has cells for its bounds
    read: Domain | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each column, all included."""
        every = zip(self.parts, self.ends, self.domain, self.cuts, strict=True)
        return tuple(p + 2 * e + (c.missing == "own") + len(cuts) for p, e, c, cuts in every)

    @cached_property
    def cuts(self) -> tuple[FloatArray, ...]:
        """Places on each axis where a cell ends for a declared fact alone."""
        made = []
        for j, column in enumerate(self.domain):
            prefixes = column.codes.finest(MOST_PREFIXES) - 0.5 if isinstance(column, Code) else ()
            told = {*self.domain.facts.cuts(column.name), *prefixes}
            asked = np.array(sorted(e for e in told if column.low < e < column.high))
            if len(asked):
                edges = np.concatenate(self._even(j))
                # Between the same two days is the same place.
                same = np.ceil if isinstance(column, Date) else np.asarray
                asked = asked[~np.isin(same(asked), same(edges))]
            made.append(asked)
        return tuple(made)

    @cached_property
    def impossible(self) -> tuple[dict[int, NDArray[np.bool_]], ...]:
        """For each combination that cannot occur, from its columns to which of their cells belong to it."""
        every = (one.stretches for one in self.domain.facts.impossible)
        return tuple({(j := self.domain.position(name)): self._held(j, pairs) for name, pairs in one} for one in every)

    def _held(self, j: int, stretches: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
        return held(self.domain.columns[j], *self.boxes(j), stretches)

    def boxes(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the cells of a column; NaN for missing values, both alike for a bound of real numbers."""
        made, upto = (np.sort(np.concatenate([ends, self.cuts[column]])) for ends in self._even(column))
        return made, upto

    def _even(self, column: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the cells that a column would have without facts."""
        declared = self.domain.columns[column]
        axis = GridMap(self.domain.select([declared.name]), [self.parts[column]])
        lower, upper = (x[:, 0] for x in axis.boxes(np.arange(axis.n_cells)))
        if not self.ends[column]:
            return lower, upper
        one = 1.0 if isinstance(declared, Integer) else 0.0  # the width of a value
        last = self.parts[column] - 1
        first, behind = declared.low, declared.high
        made = np.concatenate([[first], lower[: last + 1], [behind - one], lower[last + 1 :]])
        upto = np.concatenate([[first + one], upper[: last + 1], [behind], upper[last + 1 :]])
        made[1], upto[last + 1] = first + one, behind - one
        return made, upto

    def codes(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of every row on every axis, one row per column; dropped rows are left out."""
        if self.read is not None:
            at = dict(zip(self.read.names, columns, strict=True))
            for plan in self.domain.facts.rules.plans:
                at |= plan.forward(at)
            columns = [at[name] for name in self.domain.names]
        made = np.zeros((len(self.parts), len(columns[0])), np.int64)
        for j, (x, column) in enumerate(zip(columns, self.domain, strict=True)):
            add_axis(made[j], x, column.low, column.high - column.low, self.parts[j], column.missing == "own")
            if self.ends[j]:
                half = 0.5 if isinstance(column, Integer) else 0.0
                quickly(mark_ends, len(x))(made[j], x, column.low + half, column.high - half, self.parts[j])
            if len(self.cuts[j]):
                made[j] += (made[j] >= 0) * np.searchsorted(self.cuts[j], x, side="right")  # missing values come last
        kept = (made >= 0).all(axis=0)
        for one in self.impossible:
            kept &= ~np.logical_and.reduce([cells[made[j]] for j, cells in one.items()])
        return made if kept.all() else np.ascontiguousarray(made[:, kept])


@jit
def mark_ends(cells: IntArray, x: AnyArray, low: float, high: float, parts: int) -> None:
    """Move cells up by one and give the bounds, and what lies beyond, cells of their own; missing values come last."""
    for i in range(cells.size):
        if cells[i] < 0:
            continue
        if cells[i] == parts:
            cells[i] = parts + 2
        elif x[i] <= low:
            cells[i] = 0
        elif x[i] >= high:
            cells[i] = parts + 1
        else:
            cells[i] += 1


class MarginalTally:
    """Counts of all marginals, one after the other in one flat array."""

    counts: IntArray

    def __init__(self, marginals: Sequence[GroupedMarginal]) -> None:
        self._columns = np.full((len(marginals), 3), -1, np.int64)
        self._starts = np.zeros((len(marginals), 3), np.int64)
        places: list[IntArray] = []
        total = length = 0
        for i, marginal in enumerate(marginals):
            for k, (column, groups) in enumerate(zip(marginal.columns, marginal.groups, strict=True)):
                self._columns[i, k], self._starts[i, k] = column, length
                # The first column carries the place of the whole marginal.
                places.append(groups * math.prod(marginal.shape[k + 1 :]) + (total if k == 0 else 0))
                length += len(groups)
            total += marginal.n_cells
        self._places = np.concatenate(places) if places else np.zeros(0, np.int64)
        self.counts = np.zeros(total, np.int64)

    def add(self, prepared: IntArray) -> None:
        if not few(count_marginals, prepared.shape[1]):
            # No code or place is negative, and unsigned ones need no check for that, which saves a third of the time.
            codes, places = prepared.view(f"u{prepared.itemsize}"), self._places.view(np.uint64)
            count_marginals(codes, self._columns, self._starts, places, self.counts)
            return
        for columns, starts in zip(self._columns, self._starts, strict=True):
            parts = zip(columns[columns >= 0], starts, strict=False)
            np.add.at(self.counts, sum(self._places[start + prepared[column]] for column, start in parts), 1)

    def result(self) -> KeyedNumbers:
        return KeyedNumbers.occupied(self.counts)


@jit
def count_marginals(codes: AnyArray, columns: IntArray, starts: IntArray, places: AnyArray, counts: IntArray) -> None:
    """Add every row to one cell of every marginal.

    ``places[starts[m, k] + code]`` is what the code of the k-th column of marginal m adds to the number of its cell.
    """
    n = codes.shape[1]
    for m in range(columns.shape[0]):
        a, b, c = columns[m]
        s, t, u = starts[m]
        x, y, z, of_x, of_y, of_z = codes[a], codes[b], codes[c], places[s:], places[t:], places[u:]
        if b < 0:
            for i in range(n):
                counts[of_x[x[i]]] += 1
        elif c < 0:
            for i in range(n):
                counts[of_x[x[i]] + of_y[y[i]]] += 1
        else:
            for i in range(n):
                counts[of_x[x[i]] + of_y[y[i]] + of_z[z[i]]] += 1
