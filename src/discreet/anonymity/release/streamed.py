"""Release a table larger than memory with a frozen partition, in two passes over batches of rows.

The first pass counts rows by place, sensitive values and person. The published cells follow from these counts by the
same rules as in memory. The second pass writes the rows and counts them again: the file gets its name only if the
written rows keep the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.growth.cells import Cells
from discreet.anonymity.growth.frontier import enforce
from discreet.anonymity.growth.grid import NO_BIN
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.delivery import Delivery, check_key, hashed_columns
from discreet.anonymity.release.kept import KeptCounter, nearly_unique, own_sensitive
from discreet.anonymity.release.release import _bounds, _centers, _flat, _intervals, promise
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.release.tabled import Counter, PlaceCounter, TabledCounts, enforce_table
from discreet.anonymity.risk.blind import check_blind, growth_rules
from discreet.anonymity.risk.rules import ReachedLevels, Rules
from discreet.core import AnyArray, BoolArray, Guarantee, IntArray, check_fitted
from discreet.engines import PARQUET, RowWriter, WrittenTable, check_target
from discreet.engines.readers import column_batches
from discreet.engines.tables import with_escapes
from discreet.engines.writing import declared_values
from discreet.errors import DataSourceError, InvalidArgument


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


def release_file(
    data: Any,
    target: str | Path,
    plan: TablePlan,
    rules: Rules,
    partition: FrozenPartition,
    delivery: Delivery,
    *,
    method: str,
    notes: Sequence[str] = (),
) -> WrittenTable:
    """Release a table to a file; see `ToFile.transform_file`. ``data`` is read twice."""
    if delivery.output == "sample":
        raise InvalidArgument("output", "sample", "interval or center in a file", 'output="interval"')
    if delivery.identifiers == "hash" and plan.identifiers:
        check_key(delivery.key)
    source = engines.open(data, plan.domain)
    stream = noise.generator(delivery.random_state)
    counter = partition.counter(plan) if isinstance(partition, LeavesOf) else Counter(plan)
    passed, total = KeptCounter(plan), 0
    names = list(dict.fromkeys([*counter.names, *passed.names]))
    rows: Rows = DriverRows(source, plan, partition, names)
    if source.remote and delivery.order == "shuffled":
        from discreet.anonymity.release.on_executors import ExecutorRows, check_new

        check_new(target)
        rows = ExecutorRows(source, plan, partition, names)
    check_target(target, promised=True, source=source)
    for found in rows.placed():
        total += found.seen
        counter.add(found.place, found.raw, found.rows)
        passed.add(found.place, found.raw, found.rows)
    counts: Any = counter.counts()  # a table from a partition that takes one
    decided = partition.decide(counts)
    figures, reached = _figures(rules, counts, decided.of_place, total)
    rules.check(reached)
    figures |= _passed_on(plan, counts, passed, decided.of_place)
    cells = Cells(plan.grids, decided.first, decided.last, np.empty(0, np.int64))
    told = {**decided.settings, **cells.legend()}
    guarantee = promise(plan, rules, figures, delivery, method, told, notes, stream.seeded)
    guarantee = with_escapes(guarantee, target, delivery.escape_formulas)
    again = PlaceCounter(plan, len(decided.first)) if isinstance(counter, PlaceCounter) else Counter(plan)
    passed_again, seen = KeptCounter(plan), 0
    del counts, counter, passed  # before as much is counted again
    shown = ReleasedColumns(plan, cells, delivery, flat=Path(target).suffix.lower() not in PARQUET)
    cell_of = np.append(decided.of_place, decided.of_place.dtype.type(-1))  # the last: a place that was not met before
    del cells, decided
    with rows.writer(target, guarantee, stream, delivery) as out:
        for found in rows.written(out, shown, cell_of, figures["rows"]):
            seen += found.seen
            again.add(found.place, found.raw, found.rows)
            passed_again.add(found.place, found.raw, found.rows)
        # What was written is counted as a table of its own: cells in place of places.
        written = again.counts()
        recounted, reached = _figures(rules, written, None, seen)
        recounted |= _passed_on(plan, written, passed_again, None)
        if not reached.ok or recounted != figures:
            raise DataSourceError(
                "data: the table changed while it was read, or gives other rows each time; write it out first"
            )
        made: WrittenTable = out.finish()
        return made


@dataclass(frozen=True)
class FoundRows:
    """Some rows, or entries that stand for several: their places, values, and the number of rows read."""

    place: IntArray
    raw: dict[str, pa.Array]
    seen: int
    rows: IntArray | None = None


class Rows(Protocol):
    """The rows of a table that is released to a file, read twice."""

    def placed(self) -> Iterator[FoundRows]:
        """Yield where rows are put."""

    def writer(self, target: str | Path, guarantee: Guarantee, stream: noise.Generator, delivery: Delivery) -> Any:
        """Return what writes, to be entered."""

    def written(self, out: Any, shown: ReleasedColumns, cell_of: IntArray, n: int) -> Iterator[FoundRows]:
        """Write the rows, about ``n``, and yield the cells they are written in."""


@dataclass(frozen=True)
class DriverRows:
    """Rows that come by here in batches."""

    source: engines.Source
    plan: TablePlan
    partition: FrozenPartition
    names: Sequence[str]

    def placed(self) -> Iterator[FoundRows]:
        for bins, kept, raw in batches(self.source, self.plan, self.names):
            yield FoundRows(self.partition.route(bins), raw, len(kept))

    def writer(self, target: str | Path, guarantee: Guarantee, stream: noise.Generator, delivery: Delivery) -> Any:
        return RowWriter(target, guarantee, noise.RowOrder(stream) if delivery.order == "shuffled" else None)

    def written(self, out: Any, shown: ReleasedColumns, cell_of: IntArray, n: int) -> Iterator[FoundRows]:
        for bins, kept, raw in batches(self.source, self.plan, shown.names):
            own = cells_at(self.partition.route(bins), cell_of)
            rows = np.flatnonzero(own >= 0)
            out.write(shown.table(own[rows], shown.carried(rows, raw)))
            yield FoundRows(own, raw, len(kept))


def cells_at(place: IntArray, cell_of: IntArray) -> IntArray:
    """Return the cells of places; -1 also for one that the first pass did not meet."""
    found: IntArray = cell_of[np.minimum(place, len(cell_of) - 1)].astype(np.int64, copy=False)
    return found


def _figures(
    rules: Rules, counts: PlaceCounts | TabledCounts, of_place: AnyArray | None, total: int
) -> tuple[dict[str, Any], ReachedLevels]:
    """Return the counts of a guarantee and the levels reached; without ``of_place``, places are cells."""
    if isinstance(counts, TabledCounts):
        own = counts.places if of_place is None else of_place[counts.places]
        reached, rows, cells, suppressed = counts.figures(rules, np.append(own, np.int32(-1)))
    else:
        cell = counts.place if of_place is None else of_place[counts.place]
        reached = rules.measure(cell, counts.sensitive, counts.persons, counts.rows)
        shown = cell >= 0
        rows, cells = int(counts.rows[shown].sum()), len(np.unique(cell[shown]))
        suppressed = int(counts.rows.sum()) - rows
    figures = {
        "reached": reached.to_dict(),
        "rows": rows,
        "cells": cells,
        "suppressed": suppressed,
        "dropped_for_missing_values": total - rows - suppressed,
    }
    return figures, reached


def _passed_on(
    plan: TablePlan, counts: PlaceCounts | TabledCounts, passed: KeptCounter, of_place: AnyArray | None
) -> dict[str, Any]:
    """Return the facts of a guarantee about columns that are passed on."""
    if isinstance(counts, TabledCounts):
        own = counts.places if of_place is None else of_place[counts.places]
        rows = counts.held(np.append(own >= 0, False))
        shares = own_sensitive(counts.sensitive, np.ones(len(rows), bool), rows)
    else:
        cell = counts.place if of_place is None else of_place[counts.place]
        shares = own_sensitive(counts.sensitive, cell >= 0, counts.rows)
    shares |= passed.own(of_place)
    return {**passed.result(of_place), **nearly_unique(shares, plan)}


def batches(
    source: engines.Source, plan: TablePlan, names: Sequence[str]
) -> Iterator[tuple[Any, BoolArray, dict[str, pa.Array]]]:
    """Yield bins and columns of the rows that have every quasi-identifier they must, and which those are.

    Columns are as they are passed on, `declared_values`; those that say whose rows they are, as they came.
    """
    d, passed = len(plan.quasi), [name for name in names if name in plan.passed]
    wanted = plan.domain.select([*plan.quasi, *passed])
    others = [name for name in names if name not in passed]
    for coordinates, raw in column_batches(source, others, wanted, persons=plan.persons):
        bins, lost = np.empty((d, len(coordinates[0])), np.uint16), 0
        for grid, values, row in zip(plan.grids, coordinates[:d], bins, strict=True):
            lost += grid.write_bins(values, row)
        for name, values in zip(passed, coordinates[d:], strict=True):
            raw[name] = declared_values(plan.domain.column(name), values)
        kept = (bins != NO_BIN).all(axis=0) if lost else np.ones(bins.shape[1], bool)
        if lost:
            chosen = pa.array(kept)
            bins, raw = np.ascontiguousarray(bins[:, kept]), {n: c.filter(chosen) for n, c in raw.items()}
        yield bins, kept, raw


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
        self._others = plan.passed
        self._hashed = list(plan.identifiers) if delivery.identifiers == "hash" else []
        self._key = delivery.key
        self._domain = plan.domain
        passed = [*self._others, *self._hashed]
        declared = [n for n in plan.domain.names if n in (*self._cells, *passed)]
        self._order = [*self._cells, *(n for n in declared if n in passed)] if delivery.form == "bounds" else declared
        self.passed = passed
        self.hashed = self._hashed
        self.names = list(dict.fromkeys([*passed, *([plan.person] if plan.person else [])]))

    def carried(self, rows: IntArray, raw: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Return the columns of some rows that are passed on with their cell."""
        picked = pa.array(rows)
        columns = {name: raw[name].take(picked) for name in self._others}
        if self._hashed:
            named = pa.table({name: raw[name] for name in self._hashed})
            columns |= hashed_columns(named, rows, self._key, self._domain)
        return columns

    def table(self, cell: IntArray, carried: dict[str, pa.Array]) -> pa.Table:
        """Return the rows to write, given their cells."""
        columns = {name: values.take(pa.array(place[cell])) for name, (values, place) in self._cells.items()} | carried
        return pa.table({name: columns[name] for name in self._order})


@dataclass(frozen=True)
class LeavesOf:
    """A frozen tree: a row is put into its leaf, and leaves are merged where the release needs it."""

    tree: Tree
    rules: Rules
    suppress: float
    settings: dict[str, Any]
    blind: bool = False

    def route(self, bins: Any) -> IntArray:
        """Return the leaf of every row."""
        return self.tree.route(bins)

    def labels(self, places: IntArray) -> pa.Array:
        """Return the leaves: nodes have the same numbers everywhere."""
        return pa.array(places, pa.int64())

    def places(self, labels: pa.Array) -> IntArray:
        """Return the leaves."""
        return np.asarray(labels, np.int64)

    def tabled(self, plan: TablePlan) -> bool:
        """Return whether rows are counted in a table of leaves and values."""
        return plan.person is None and len(plan.sensitive) <= 1 and not self.blind

    def counter(self, plan: TablePlan) -> Counter:
        """Return what counts rows by leaf."""
        return PlaceCounter(plan, self.tree.n_leaves, self.tree.leaves_before) if self.tabled(plan) else Counter(plan)

    def decide(self, counts: PlaceCounts | TabledCounts) -> PublishedCells:
        """Find the finest cells that keep the rules."""
        if isinstance(counts, TabledCounts):
            cell, nodes, merged = enforce_table(self.tree, counts, self.rules, suppress=self.suppress)
            of_place = np.full(self.tree.n_nodes, -1, np.int32)
            of_place[counts.places] = cell
            settings = {**self.settings, "leaves_merged": merged, "suppression_allowed": self.suppress}
            return PublishedCells(*self.tree.cells_of(nodes), of_place, settings)
        found = enforce(
            self.tree,
            counts.place,
            growth_rules(self.rules, self.blind),
            counts.sensitive,
            suppress=self.suppress,
            persons=counts.persons,
            rows=counts.rows,
        )
        cells = found.cells(self.tree)
        if self.blind:
            check_blind(self.rules, cells.of, counts.sensitive, counts.persons, counts.rows)
        of_place = np.full(self.tree.n_nodes, -1, np.int64)
        of_place[counts.place] = cells.of  # rows of one leaf share their cell
        settings = {**self.settings, "leaves_merged": found.merged, "suppression_allowed": self.suppress}
        settings |= {"cuts": "blind"} if self.blind else {}
        return PublishedCells(cells.first, cells.last, of_place, settings)


class ToFile:
    """`transform_file` for methods whose partition is frozen by ``fit``."""

    def transform_file(
        self,
        data: Any,
        target: str | Path,
        output: str = "interval",
        *,
        form: str = "text",
        random_state: Any = None,
        order: str = "shuffled",
        identifiers: str = "drop",
        key: bytes | None = None,
        escape_formulas: bool = False,
    ) -> WrittenTable:
        """Release records to a file in two passes: for tables larger than memory, and Spark frames.

        Rows, cells and guarantee are those of `transform`. The first pass counts rows by cell, sensitive value and
        person and finds the cells. The second writes the rows and counts them again. The file appears, with its
        guarantee next to it, only if the second count keeps the promise. There is no ``history``: following people
        through several releases needs the table in memory.

        Parameters
        ----------
        data : array, data frame, table or path
            All records of the release. They are read twice and must be the same both times.
        target : str or Path
            The file: Parquet by its suffix (``.parquet``, ``.pq``), CSV otherwise. For a Spark frame, a new folder of
            part files that executors and driver can reach; with ``order="input"`` the driver writes one file.
        output : {"interval", "center"}
            As in `transform`; drawn rows ("sample") need the table in memory.
        form : {"text", "bounds"}
            As in `Release.save`, and so ``escape_formulas``.
        random_state, order, identifiers, key
            As in `transform`, with the same order for the same seed. To shuffle more rows than fit into memory, each
            released row gets a random number and goes to one of 64 private temporary files next to the target by the
            first bits of it; each file is then sorted. The order is exactly uniform (`discreet.noise.RowOrder`). For a
            Spark frame it is uniform too, but another one for the same seed (`discreet.noise.keyed_order`).

        Returns
        -------
        WrittenTable
            Where the rows are, how many, and their sealed promise.

        Raises
        ------
        InvalidArgument
            If the release cannot keep the rules, with the value reached.
        DataSourceError
            If the second pass met other rows than the first.
        """
        check_fitted(self, "plan_")
        delivery = Delivery(output, random_state, order, identifiers, key, form, escape_formulas)
        model: Any = self
        return release_file(
            data, target, model.plan_, model.rules_, self._frozen_partition(), delivery,
            method=type(self).__name__, notes=model._notes(),
        )  # fmt: skip

    def _frozen_partition(self) -> FrozenPartition:
        model: Any = self
        return LeavesOf(model.tree_, model.rules_, float(model._at_fit.suppress), model._facts(), model._is_blind)
