"""Cell maps: the cell of a public partition that a row falls into.

A map is a small frozen object without data, so it can be sent to another process or machine. It states its columns and
number of cells, and returns the cell numbers of a batch of coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from discreet.core import Categorical, Code, Column, Domain, FloatArray, IntArray, Integer, checks, jit
from discreet.engines.passes.kernels import add_axis, drop_rows
from discreet.errors import InvalidArgument, InvalidType, SchemaError


@runtime_checkable
class CellMap(Protocol):
    """What an engine needs to know of a cell map.

    Examples
    --------
    >>> isinstance(GridMap(Domain({"age": (0, 120)}), 12), CellMap)
    True
    """

    @property
    def domain(self) -> Domain:
        """The columns the map needs, with their bounds and rules for missing values."""

    @property
    def n_cells(self) -> int:
        """Number of cells, occupied or not."""

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, -1 for a dropped one, from one coordinate array a column."""


@dataclass(frozen=True)
class GridMap:
    """A grid of equal cells on every axis.

    On an axis with m parts, x falls into cell ``clamp(floor((x - low) / (high - low) * m), 0, m - 1)``. No cell ends
    inside a whole number of an `Integer` column. If the rule for missing values is "own", they get one more cell at the
    end; if it is "drop", the row has no cell. Cells are numbered as by `numpy.ravel_multi_index`.

    ``parts`` is one number for all axes, or one per axis. A categorical axis has one cell per category; its entry is
    that number or None.

    Examples
    --------
    >>> grid = GridMap(Domain({"age": (0, 120), "sex": ["f", "m"]}), 12)
    >>> grid.shape, grid.n_cells
    ((12, 2), 24)
    >>> grid.ids([np.array([35.0, np.nan]), np.array([1.5, 0.5])]).tolist()
    [7, -1]
    """

    domain: Domain
    parts: tuple[int, ...]

    def __init__(self, domain: Domain, parts: Any) -> None:
        if not isinstance(domain, Domain):
            raise InvalidType("domain", type(domain), "a Domain", 'domain=Domain({"age": (0, 120)})')
        if isinstance(parts, (list, tuple, np.ndarray)):
            if len(parts) != len(domain):
                raise InvalidArgument("parts", len(parts), f"one number or {len(domain)} of them", "parts=16")
            chosen = tuple(_parts(f"parts[{i}]", p, c) for i, (p, c) in enumerate(zip(parts, domain, strict=True)))
        else:
            number = checks.whole("parts", parts, low=1)
            chosen = tuple(_parts("parts", None if isinstance(c, Categorical) else number, c) for c in domain.columns)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "parts", chosen)
        if self.n_cells >= 2**63:
            raise InvalidArgument(
                "parts", chosen, "a grid of fewer than 2**63 cells", "fewer parts per axis or fewer columns"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the grid, in order."""
        return self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis, the one for missing values included."""
        return tuple(p + _own(c) for p, c in zip(self.parts, self.domain, strict=True))

    @property
    def n_cells(self) -> int:
        """Number of cells, occupied or not."""
        return math.prod(self.shape)

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the cell of each row, -1 for a dropped row."""
        if len(columns) != len(self.domain):
            raise SchemaError(f"a grid over {', '.join(self.names[:8])} needs {len(self.domain)} columns")
        ids = np.zeros(len(columns[0]), dtype=np.int64)
        for x, column, parts in zip(columns, self.domain, self.parts, strict=True):
            add_axis(ids, x, column.low, column.high - column.low, parts, _own(column))
        return ids

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return opposite corners of cells (public); NaN on an axis where a cell holds missing values."""
        flat = np.asarray(cells)
        if flat.ndim != 1 or (flat.size and flat.dtype.kind not in "iu"):
            raise InvalidType("cells", type(cells), "a one-dimensional array of cell numbers", "cells=[0, 1]")
        if flat.size and (flat.min() < 0 or flat.max() >= self.n_cells):
            raise InvalidArgument("cells", "others", f"cell numbers from 0 to {self.n_cells - 1}", "cells=[0]")
        rest = flat.astype(np.int64)
        index = np.empty((flat.size, len(self.shape)))
        for axis in range(len(self.shape) - 1, -1, -1):
            rest, index[:, axis] = np.divmod(rest, self.shape[axis])
        parts = np.array(self.parts, dtype=np.float64)
        index[index >= parts] = np.nan
        low, width = self.domain.low, self.domain.high - self.domain.low
        lower, upper = low + index * width / parts, low + (index + 1) * width / parts
        for axis, column in enumerate(self.domain):
            if isinstance(column, Integer):
                lower[:, axis] = first_number(column, index[:, axis], self.parts[axis]) - 0.5
                upper[:, axis] = first_number(column, index[:, axis] + 1, self.parts[axis]) - 0.5
        return lower, upper


@dataclass(frozen=True)
class RowMap:
    """One cell for all rows that a grid over the domain would count."""

    domain: Domain
    n_cells: ClassVar[int] = 1
    by_row: ClassVar[bool] = True

    def ids(self, columns: Sequence[FloatArray] | FloatArray) -> IntArray:
        """Return 0 for a row that counts, -1 for a dropped one."""
        if isinstance(columns, np.ndarray):
            return drop_rows(np.ascontiguousarray(columns, np.float64), np.array([not _own(c) for c in self.domain]))
        ids = np.zeros(len(columns[0]), dtype=np.int64)
        for x, column in zip(columns, self.domain, strict=True):
            if not _own(column):
                ids[np.isnan(x)] = -1
        return ids


def first_number(column: Integer, cells: FloatArray, parts: int) -> FloatArray:
    """Return the smallest whole number in each cell of the axis, by the arithmetic of `append_axis`."""
    width = column.high - column.low
    found = np.ceil(column.low + cells * width / parts)
    for step in (-1.0, 1.0):
        moved = found + step if step < 0 else found
        cell = np.floor((moved - column.low) / width * parts)
        found = np.where(cell >= cells, moved, found) if step < 0 else np.where(cell < cells, found + 1, found)
    return np.where(cells >= parts, column.most + 1.0, np.where(cells <= 0, float(column.least), found))


def _own(column: Column) -> bool:
    return column.missing == "own"


def _parts(label: str, value: object, column: Column) -> int:
    if not isinstance(column, Categorical):
        number = checks.whole(label, value, low=1)
        # No cell without a number, and none so narrow that doubles cannot tell it from its neighbour.
        if isinstance(column, Code):  # whole prefixes, if they divide the codes evenly
            number = max(
                (n for n in column.codes.cuts.values() if n <= number and column.n_values % n == 0), default=number
            )
        return min(number, column.n_values, 2**31) if isinstance(column, Integer) else number
    size = len(column.categories)
    if value is not None and checks.whole(label, value, low=1) != size:
        raise InvalidArgument(
            label, value, f"{size}, the number of categories of column {column.name!r}", f"{label}=None"
        )
    return size


@dataclass(frozen=True, eq=False)
class NearestMap:
    """Cells around centres: each row belongs to the nearest one, and to the first of several at the same distance.

    Coordinates are clamped first. A row with a missing value has no cell. The box of every cell is the whole domain, so
    `Source.sums` adds up places relative to the domain.
    """

    domain: Domain
    centers: FloatArray
    units: FloatArray

    def __init__(self, domain: Domain, centers: Any, units: Any = None) -> None:
        places = np.array(centers, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != len(domain) or not len(places) or not np.isfinite(places).all():
            raise InvalidArgument(
                "centers", places.shape, f"a table of finite numbers with {len(domain)} columns", "centers=[[0.0, 0.0]]"
            )
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "centers", places)
        object.__setattr__(self, "units", np.ones(len(domain)) if units is None else np.array(units, dtype=np.float64))

    @property
    def n_cells(self) -> int:
        return len(self.centers)

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the nearest centre of each row, -1 where a value is missing."""
        return nearest_rows(self._scaled(columns), self.centers / self.units)

    def distances(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the distance of each row to each centre, NaN where a value is missing."""
        return _distances(self._scaled(columns), self.centers / self.units)

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return the whole domain for every cell: that is where its rows may lie."""
        shape = (len(np.asarray(cells)), len(self.domain))
        return np.broadcast_to(self.domain.low, shape).copy(), np.broadcast_to(self.domain.high, shape).copy()

    def _scaled(self, columns: Sequence[FloatArray]) -> FloatArray:
        return self.domain.clamp(np.column_stack(list(columns))) / self.units


@jit
def nearest_rows(rows: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest of some centres for each row, the first of several; -1 where a value is missing."""
    ids = np.empty(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        best, label = np.inf, -1
        for k in range(centers.shape[0]):
            distance = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - centers[k, j]
                distance += gap * gap
            if distance < best:  # never true with a missing value
                best, label = distance, k
        ids[i] = label
    return ids


@jit
def _distances(rows: FloatArray, centers: FloatArray) -> FloatArray:
    out = np.empty((rows.shape[0], centers.shape[0]))
    for i in range(rows.shape[0]):
        for k in range(centers.shape[0]):
            distance = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - centers[k, j]
                distance += gap * gap
            out[i, k] = np.sqrt(distance)
    return out


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
