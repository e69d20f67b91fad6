"""Release a table larger than memory with a frozen partition, in two passes over batches of rows.

The first pass counts rows by place, sensitive values and person. The published cells follow from these counts by the
same rules as in memory. The second pass writes the rows and counts them again: the file gets its name only if the
written rows keep the guarantee.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.growth.frontier import enforce
from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.blanks import fill_in, larger_cells
from discreet.anonymity.release.delivery import Delivery, check_key
from discreet.anonymity.release.kept import KeptCounter, own_sensitive
from discreet.anonymity.release.on_executors import ExecutorRows
from discreet.anonymity.release.release import left_out, promise
from discreet.anonymity.release.rows import DriverRows, FoundRows, FrozenPartition, PublishedCells, ReleasedColumns
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.release.tabled import Counter, PlaceCounter, TabledCounts, enforce_table
from discreet.anonymity.risk.rules import ReachedLevels, Rules, check_blind, growth_rules
from discreet.core import AnyArray, IntArray
from discreet.engines import PARQUET, WrittenTable, check_target
from discreet.engines.spark import check_new
from discreet.engines.tables import with_format
from discreet.errors import DataSourceError, InvalidArgument


def release_file(
    data: Any, target: str | Path, plan: TablePlan, rules: Rules, partition: FrozenPartition, delivery: Delivery, *,
    method: str, notes: Sequence[str] = (),
) -> WrittenTable:  # fmt: skip
    """Release a table to a file; see `Partitioner.transform_file`. ``data`` is read twice."""
    if delivery.output == "sample":
        raise InvalidArgument("output", "sample", "interval or center in a file", 'output="interval"')
    if delivery.identifiers == "hash" and plan.identifiers:
        check_key(delivery.key)
    source = engines.open(data, plan.domain)
    stream = noise.generator(delivery.random_state, "random_state")
    first = _Pass(plan, partition.counter(plan) if isinstance(partition, LeavesOf) else Counter(plan))
    rows: Any = DriverRows(source, plan, partition, first.names)
    if source.remote and delivery.order == "shuffled":
        check_new(target)
        rows = ExecutorRows(source, plan, partition, first.names)
    check_target(target, promised=True, source=source)
    counts = first.count(rows.placed())
    decided = partition.decide(counts)  # type: ignore[arg-type]  # a table only from a partition that takes one
    figures, reached = first.figures(rules, counts, decided.of_place)
    rules.check(reached)
    cells = Cells(plan.grids, decided.first, decided.last, np.empty(0, np.int64))
    told = {**decided.settings, **cells.legend()}
    guarantee = promise(plan, rules, figures, delivery, method, told, notes, stream.seeded)
    guarantee = with_format(guarantee, target, delivery.escape_formulas, delivery.csv_dialect, delivery.booking)
    known = isinstance(first.counter, PlaceCounter)
    second = _Pass(plan, PlaceCounter(plan, len(decided.first)) if known else Counter(plan))
    del counts, first  # before as much is counted again
    shown = ReleasedColumns(plan, cells, delivery, flat=Path(target).suffix.lower() not in PARQUET)
    cell_of = np.append(decided.of_place, decided.of_place.dtype.type(-1))  # the last: a place that was not met before
    del cells, decided
    with rows.writer(target, guarantee, stream, delivery) as out:
        # What was written is counted as a table of its own: cells in place of places.
        written = second.count(rows.written(out, shown, cell_of, figures["rows"]))
        recounted, reached = second.figures(rules, written)
        if not reached.ok or recounted != figures:
            raise DataSourceError(
                "data: the table changed while it was read, or gives other rows each time; write it out first"
            )
        made: WrittenTable = out.finish()
        return made


class _Pass:
    """The counts of one pass over the rows."""

    def __init__(self, plan: TablePlan, counter: Counter) -> None:
        self.counter, self.kept, self.left_out = counter, KeptCounter(plan), np.zeros(2, np.int64)
        self.names = list(dict.fromkeys([*counter.names, *self.kept.names]))

    def count(self, rows: Iterator[FoundRows]) -> PlaceCounts | TabledCounts:
        for found in rows:
            self.left_out += found.left_out
            self.counter.add(found.place, found.raw, found.rows)
            self.kept.add(found.place, found.raw, found.rows)
        return self.counter.counts()

    def figures(
        self, rules: Rules, counts: PlaceCounts | TabledCounts, of_place: AnyArray | None = None
    ) -> tuple[dict[str, Any], ReachedLevels]:
        """Return the facts of a guarantee and the levels reached; without ``of_place``, places are cells."""
        reached, rows, cells, suppressed, held = counts.figures(rules, of_place)
        figures = {
            "reached": reached.to_dict(),
            "rows": rows,
            "cells": cells,
            "suppressed": suppressed,
            **left_out(*self.left_out.tolist()),
            **self.kept.facts(own_sensitive(counts.sensitive, held), of_place),
        }
        return figures, reached


@dataclass(frozen=True)
class LeavesOf:
    """A frozen tree: a row is put into its leaf, and leaves are merged where the release needs it."""

    tree: Tree
    rules: Rules
    suppress: float
    settings: dict[str, Any]
    blind: bool = False
    blanks: bool = False

    def route(self, bins: Any) -> IntArray:
        return self.tree.route(bins)

    def labels(self, places: IntArray) -> pa.Array:
        """Return the leaves: nodes have the same numbers everywhere."""
        return pa.array(places, pa.int64())

    def places(self, labels: pa.Array) -> IntArray:
        return np.asarray(labels, np.int64)

    def counter(self, plan: TablePlan) -> Counter:
        """Return what counts rows by leaf: a table of leaves and values where that is all there is to count."""
        tabled = plan.person is None and len(plan.sensitive) <= 1 and not self.blind and not self.blanks
        return PlaceCounter(plan, self.tree.n_leaves, self.tree.leaves_before) if tabled else Counter(plan)

    def decide(self, counts: PlaceCounts | TabledCounts) -> PublishedCells:
        settings = {**self.settings, "leaves_merged": 0, "suppression_allowed": self.suppress}
        if isinstance(counts, TabledCounts):
            cell, nodes, settings["leaves_merged"] = enforce_table(self.tree, counts, self.rules, self.suppress)
            of_place = np.full(self.tree.n_nodes, -1, np.int32)
            of_place[counts.places] = cell
            return PublishedCells(*self.tree.cells_of(nodes), of_place, settings)
        rules, rows = growth_rules(self.rules, self.blind), None if (counts.rows == 1).all() else counts.rows
        more: dict[str, Any] = {"suppress": self.suppress, "persons": counts.persons, "rows": rows}
        found = enforce(self.tree, counts.place, rules, counts.sensitive, **more)
        cells, settings["leaves_merged"] = found.cells(self.tree), found.merged
        if self.blanks:
            cells = fill_in(cells, counts, rules, partial(larger_cells, self.tree))
            settings["blanked"] = int(counts.rows[(found.node < 0) & (cells.of >= 0)].sum())
        if self.blind:
            check_blind(self.rules, cells.of, counts.sensitive, counts.persons, rows)
            settings["cuts"] = "blind"
        every = np.full(self.tree.n_nodes, -1, np.int64)
        every[counts.place] = cells.of  # rows of one leaf share their cell
        return PublishedCells(cells.first, cells.last, every, settings)
