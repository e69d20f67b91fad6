"""The rows of a table that is released to a file: read in batches, put into places, printed by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.growth.grid import NO_BIN, Cells
from discreet.anonymity.release.delivery import Delivery, hashed_columns
from discreet.anonymity.release.release import _bounds, _centers, _flat, _intervals
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.core import AnyArray, Guarantee, IntArray
from discreet.engines import RowWriter
from discreet.engines.readers import column_batches
from discreet.engines.writing import declared_values


@dataclass(frozen=True)
class PublishedCells:
    """The published cells: their runs of bins, and the cell of each place (-1 if its rows are suppressed)."""

    first: AnyArray
    last: AnyArray
    of_place: AnyArray
    settings: dict[str, Any]


class FrozenPartition(Protocol):
    """A frozen partition: the place of a row, and the cells that a release of counted rows publishes."""

    def route(self, bins: Any) -> IntArray:
        """Return the place of every row, numbers from 0."""

    def decide(self, counts: PlaceCounts) -> PublishedCells:
        """Find the cells; refuse a table that cannot keep the rules."""

    def labels(self, places: IntArray) -> pa.Array:
        """Return what stands for places between processes: whole numbers, or text."""

    def places(self, labels: pa.Array) -> IntArray:
        """Return the places here that labels of another process stand for."""


@dataclass(frozen=True)
class FoundRows:
    """Some rows, or entries that stand for several: their places, values, and how many others were left out.

    ``left_out`` counts rows without a quasi-identifier, and rows without a person.
    """

    place: IntArray
    raw: dict[str, pa.Array]
    left_out: IntArray
    rows: IntArray | None = None


@dataclass(frozen=True)
class DriverRows:
    """Rows that are read in batches by this process; Spark's are `discreet.anonymity.release.on_executors`."""

    source: engines.Source
    plan: TablePlan
    partition: FrozenPartition
    names: Sequence[str]

    def placed(self) -> Iterator[FoundRows]:
        for bins, left_out, raw in batches(self.source, self.plan, self.names):
            yield FoundRows(self.partition.route(bins), raw, left_out)

    def writer(self, target: str | Path, guarantee: Guarantee, stream: noise.Generator, delivery: Delivery) -> Any:
        order = noise.RowOrder(stream) if delivery.order == "shuffled" else None
        return RowWriter(target, guarantee, order, book=delivery.book)

    def written(self, out: Any, shown: ReleasedColumns, cell_of: IntArray, n: int) -> Iterator[FoundRows]:
        """Write the rows, about ``n``, and yield the cells they are written in."""
        for bins, left_out, raw in batches(self.source, self.plan, shown.names):
            own = cells_at(self.partition.route(bins), cell_of)
            rows = np.flatnonzero(own >= 0)
            out.write(shown.table(own[rows], shown.carried(rows, raw)))
            yield FoundRows(own, raw, left_out)


def cells_at(place: IntArray, cell_of: IntArray) -> IntArray:
    """Return the cells of places; -1 also for one that the first pass did not meet."""
    found: IntArray = cell_of[np.minimum(place, len(cell_of) - 1)].astype(np.int64, copy=False)
    return found


def batches(
    source: engines.Source, plan: TablePlan, names: Sequence[str]
) -> Iterator[tuple[Any, IntArray, dict[str, pa.Array]]]:
    """Yield bins and columns of the rows that have every quasi-identifier they must, and a person where one is counted.

    Between them is how many rows were left out (`FoundRows`); `read_table` says why those without a person are.
    Columns are as they are passed on, `declared_values`; those that say whose rows they are, as they came.
    """
    d, passed = len(plan.quasi), [name for name in names if name in plan.passed]
    wanted = plan.domain.select([*plan.quasi, *passed])
    others = list(dict.fromkeys([*(n for n in names if n not in passed), *([plan.person] if plan.person else [])]))
    for coordinates, raw in column_batches(source, others, wanted, persons=plan.persons):
        bins, lost = np.empty((d, len(coordinates[0])), np.uint16), 0
        for grid, values, row in zip(plan.grids, coordinates[:d], bins, strict=True):
            lost += grid.write_bins(values, row)
        for name, values in zip(passed, coordinates[d:], strict=True):
            raw[name] = declared_values(plan.domain.column(name), values)
        read = bins.shape[1]
        named = plan.named(raw[plan.person]) if plan.person else np.ones(read, bool)
        kept = (bins != NO_BIN).all(axis=0) & named if lost else named
        held, unnamed = int(kept.sum()), read - int(named.sum())
        if held < read:
            chosen = pa.array(kept)
            bins, raw = np.ascontiguousarray(bins[:, kept]), {n: c.filter(chosen) for n, c in raw.items()}
        yield bins, np.array([read - held - unnamed, unnamed]), raw


class ReleasedColumns:
    """The printed columns of each cell, computed once."""

    def __init__(self, plan: TablePlan, cells: Cells, delivery: Delivery, flat: bool) -> None:
        # What is printed of every different run of bins, and the number of each cell's run.
        self._cells: dict[str, tuple[pa.Array, AnyArray]] = {}
        show = _bounds if delivery.form == "bounds" else _intervals if delivery.output == "interval" else _centers
        for j, grid in enumerate(cells.grids):
            runs, place = cells.runs(j)
            every = np.arange(len(runs))
            made = pa.table(show(Cells((grid,), runs[:, :1], runs[:, 1:], every), every))
            made = _flat(made) if flat else made
            self._cells |= {name: (made[name].combine_chunks(), place) for name in made.column_names}
        self._others, self._key, self._domain = plan.passed, delivery.key, plan.domain
        self.hashed = list(plan.identifiers) if delivery.identifiers == "hash" else []
        self.passed = [*self._others, *self.hashed]
        declared = [n for n in plan.domain.names if n in (*self._cells, *self.passed)]
        bounds = [*self._cells, *(n for n in declared if n in self.passed)]
        self._order = bounds if delivery.form == "bounds" else declared
        self.names = list(dict.fromkeys([*self.passed, *([plan.person] if plan.person else [])]))

    def carried(self, rows: IntArray, raw: dict[str, pa.Array]) -> dict[str, pa.Array]:
        picked = pa.array(rows)
        columns = {name: raw[name].take(picked) for name in self._others}
        if self.hashed:
            named = pa.table({name: raw[name] for name in self.hashed})
            columns |= hashed_columns(named, rows, self._key, self._domain)
        return columns

    def table(self, cell: IntArray, carried: dict[str, pa.Array]) -> pa.Table:
        columns = {name: values.take(pa.array(place[cell])) for name, (values, place) in self._cells.items()} | carried
        return pa.table({name: columns[name] for name in self._order})
