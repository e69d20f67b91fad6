"""Rows as points of a public lattice, and sums of the points in a ball: the input of means in many dimensions.

The lattice has one step for all axes, 2^-20 of half the domain's diagonal, and its origin in the middle of the domain.
A row is clamped and rounded to it once. From there on all numbers are whole and below 2^53, so matrix products are
exact in doubles, whatever the library, batches, threads or machines.

Sensitivity. A row adds q, its offset from a public anchor clipped to a ball of radius R, to the sums of one group. Each
coordinate of the clipped offset is rounded towards the anchor, which never lengthens it. If doubles still err by a last
digit, Σq² (a whole number) shows it, and all coordinates move one step towards the anchor until it is at most R². So
‖q‖ <= R holds for the whole numbers that are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core import BoolArray, Domain, FloatArray, IntArray, jit
from discreet.engines.passes.cells import nearest_rows
from discreet.engines.passes.tally import KeyedNumbers, Pass

#: Lattice steps of half the domain's diagonal.
REACH = 2**20
#: Whole numbers that stand for 1 in a projection.
ONE = 2**10
#: Cells into which distances up to the whole diagonal are distinguished.
NORM_CELLS = 2**16
#: Rows of a batch at most, and rows times columns, so that memory does not grow with the number of columns.
BATCH_SIZE, BATCH_NUMBERS = 2**17, 2**20


def batch_rows(n_axes: int) -> int:
    """Return the number of rows of a batch for so many columns."""
    return max(256, min(BATCH_SIZE, BATCH_NUMBERS // n_axes))


@dataclass(frozen=True, eq=False)
class Lattice:
    """Lattice points of rows. Coordinates are divided by ``units`` before distances are taken."""

    domain: Domain
    units: FloatArray
    step: float

    def __init__(self, domain: Domain, units: Any = None) -> None:
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "units", np.ones(len(domain)) if units is None else np.array(units, dtype=np.float64))
        half = (domain.high - domain.low) / 2 / self.units
        object.__setattr__(self, "step", math.sqrt(float((half * half).sum())) / REACH)

    @property
    def middle(self) -> FloatArray:
        return self.domain.low + (self.domain.high - self.domain.low) / 2

    def rows(self, columns: Sequence[FloatArray] | FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the points of rows without missing values, as doubles that are whole, and which rows these are."""
        block = columns if isinstance(columns, np.ndarray) else np.column_stack(list(columns))
        with np.errstate(all="ignore"):  # a long double may overflow: it is clamped like any infinite value
            block = np.ascontiguousarray(block, dtype=np.float64)
        out, kept = np.empty_like(block), np.empty(len(block), np.bool_)
        _to_lattice(block, self.domain.low, self.domain.high, self.middle, 1 / (self.step * self.units), out, kept)
        return (out if kept.all() else out[kept]), kept

    def points(self, coordinates: FloatArray) -> FloatArray:
        """Return the lattice points nearest to places, clamped into the domain."""
        inside = self.domain.clamp(coordinates)
        return np.asarray(np.rint((inside - self.middle) / (self.step * self.units)), np.float64)

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the places of points, real ones too."""
        return np.asarray(self.middle + points * (self.step * self.units), np.float64)


@dataclass(frozen=True, eq=False)
class Projection:
    """A public map from lattice points to few axes: y = (z - origin) M s.

    M holds whole numbers: an orthonormal matrix times `ONE`, rounded. ``origin`` is the lattice point that goes to 0.
    """

    lattice: Lattice
    matrix: IntArray
    origin: FloatArray

    def of_points(self, points: FloatArray) -> FloatArray:
        """Return the image of lattice points, one row each."""
        matrix = self.matrix.astype(np.float64)
        return np.asarray((points @ matrix - self.origin @ matrix) * (self.lattice.step / ONE), np.float64)

    def columns(self, columns: Sequence[FloatArray] | FloatArray) -> list[FloatArray]:
        """Return the coordinates of rows on the few axes; rows with missing values are left out."""
        return list(np.ascontiguousarray(self.of_points(self.lattice.rows(columns)[0]).T))


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of a row: the nearest centre, in all dimensions or after a projection.

    ``centers`` are lattice points, or places on the axes of the projection.
    """

    lattice: Lattice
    centers: FloatArray
    projection: Projection | None = None

    def of(self, points: FloatArray) -> IntArray:
        """Return the group of each lattice point; the first of several at the same distance."""
        if self.projection is not None:
            return nearest_rows(self.projection.of_points(points), self.centers)
        if len(self.centers) == 1:
            return np.zeros(len(points), np.int64)
        # Whole numbers below 2^45: the product is exact on every machine.
        return np.asarray(((self.centers * self.centers).sum(axis=1) - 2 * (points @ self.centers.T)).argmin(axis=1))


@dataclass(frozen=True, eq=False)
class NormMap:
    """A cell map of the distance from a row to the centre of its group, in equal steps up to the domain's diagonal.

    With ``by_group`` every group has cells of its own, one group after the other.
    """

    groups: Groups
    by_group: bool = False
    by_row: ClassVar[bool] = True

    @property
    def n_cells(self) -> int:
        return NORM_CELLS * (len(self.groups.centers) if self.by_group else 1)

    @property
    def domain(self) -> Domain:
        return self.groups.lattice.domain

    def ids(self, columns: Sequence[FloatArray] | FloatArray) -> IntArray:
        """Return the cell of each row, -1 where a value is missing."""
        points, kept = self.groups.lattice.rows(columns)
        ids = np.full(len(kept), -1, np.int64)
        found = np.empty(len(points), np.int64)
        group = self.groups.of(points)
        _norm_cells(points, group, self.groups.centers, 2.0 * REACH / NORM_CELLS, found)
        ids[kept] = np.minimum(found, NORM_CELLS - 1) + (NORM_CELLS * group if self.by_group else 0)
        return ids


@dataclass(frozen=True, eq=False)
class BallPass:
    """Count rows by group and add up their offsets from the group's anchor, clipped to a ball.

    A key combines a group and a column; column 0 is the count. ``anchors`` are lattice points, ``radius`` is in lattice
    steps.
    """

    groups: Groups
    anchors: FloatArray
    radius: int
    by_row: ClassVar[bool] = True
    width: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.groups.lattice.domain

    def prepare(self, columns: Sequence[FloatArray] | FloatArray) -> IntArray:
        points, _ = self.groups.lattice.rows(columns)
        table = self.start().table
        _add_clipped(points, self.groups.of(points), self.anchors, self.radius, table)
        return table

    def start(self) -> TableAdder:
        return TableAdder(np.zeros((len(self.anchors), 1 + len(self.domain)), np.int64))

    def result(self, found: KeyedNumbers) -> IntArray:
        """Return counts and sums: one row per group, the count first."""
        table = self.start().table
        table.reshape(-1)[found.keys] = found.values[0]
        return table


@dataclass
class TableAdder:
    """Adds tables up."""

    table: IntArray

    def add(self, prepared: IntArray) -> None:
        self.table += prepared

    def result(self) -> KeyedNumbers:
        return KeyedNumbers.occupied(self.table)


@dataclass(frozen=True, eq=False)
class ProjectedPass:
    """A pass over the few axes of a projection, as one over the columns themselves: it can be sent where rows are."""

    inner: Pass
    projection: Projection
    by_row: ClassVar[bool] = True

    @property
    def domain(self) -> Domain:
        return self.projection.lattice.domain

    @property
    def width(self) -> int:
        return self.inner.width

    def prepare(self, columns: Any) -> Any:
        return self.inner.prepare(self.projection.columns(columns))

    def start(self) -> Any:
        return self.inner.start()


@jit
def _to_lattice(
    block: FloatArray, low: FloatArray, high: FloatArray, middle: FloatArray, per_unit: FloatArray, out: FloatArray,
    kept: BoolArray,
) -> None:  # pragma: no cover  # fmt: skip
    for i in range(block.shape[0]):
        missing = 0
        for j in range(block.shape[1]):
            x = block[i, j]
            missing += x != x
            out[i, j] = np.floor((min(max(x, low[j]), high[j]) - middle[j]) * per_unit[j] + 0.5)
        kept[i] = missing == 0


@jit
def _norm_cells(
    points: FloatArray, groups: IntArray, centers: FloatArray, step: float, out: IntArray
) -> None:  # pragma: no cover
    for i in range(points.shape[0]):
        square = 0.0
        for j in range(points.shape[1]):
            gap = points[i, j] - centers[groups[i], j]
            square += gap * gap
        out[i] = int(np.sqrt(square) / step)


@jit
def _add_clipped(
    points: FloatArray, groups: IntArray, anchors: FloatArray, radius: int, table: IntArray
) -> None:  # pragma: no cover
    d = points.shape[1]
    limit = float(radius) * float(radius)
    offset = np.empty(d)
    for i in range(points.shape[0]):
        group = groups[i]
        square = 0.0
        for j in range(d):
            offset[j] = points[i, j] - anchors[group, j]
            square += offset[j] * offset[j]
        if square > limit:
            share = float(radius) / np.sqrt(square)
            square = 0.0
            for j in range(d):
                offset[j] = np.trunc(offset[j] * share)
                square += offset[j] * offset[j]
            while square > limit:
                square = 0.0
                for j in range(d):
                    offset[j] -= np.sign(offset[j])
                    square += offset[j] * offset[j]
        table[group, 0] += 1
        for j in range(d):
            table[group, j + 1] += int(offset[j])
