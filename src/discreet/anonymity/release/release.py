"""A release: the anonymous table and its guarantee."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import noise
from discreet.accounts import Reservation
from discreet.anonymity.growth.grid import Cells, Grid
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.delivery import Delivery, hashed_columns
from discreet.anonymity.release.history import ReleaseHistory
from discreet.anonymity.release.kept import KeptCounter, own_sensitive
from discreet.anonymity.release.record import GroupCounts, ReleaseRecord
from discreet.anonymity.release.table import Table, TablePlan
from discreet.anonymity.risk.printed import PROMISE_KEY, with_legend
from discreet.anonymity.risk.rules import Rules
from discreet.core import (
    Code,
    Date,
    FloatArray,
    Guarantee,
    IntArray,
    Integer,
    Person,
    Time,
    checks,
    date_array,
    plural,
    write_sealed,
)
from discreet.engines import PARQUET, check_target
from discreet.engines.tables import with_format
from discreet.engines.writing import table_writer
from discreet.errors import InvalidArgument

_IN_ORDER = (
    "the table stays with whoever holds the data: its rows are in the order of the input, and whoever knows or guesses "
    "how that was sorted can tell the rows of a group apart"
)
_CLASSES = (
    "an attacker knows nothing of a person but the quasi-identifiers; that a person is in the table, and what the "
    "group has in common, is not hidden"
)
_LINKED = (
    "an attacker does not know several rows of one person: hashed identifiers show which rows belong together, and "
    "their cells together may fit fewer than k people"
)
_MINIMAL = (
    "an attacker does not use how the cells were made: a cell that could not be split because of l or t reveals "
    "something about the values in it"
)
_SAMPLE = (
    "readers know that the rows were drawn from the cells, counts and sensitive values of a k-anonymous table: they "
    "reveal no more than it does, but are not k-anonymous themselves"
)


@dataclass(frozen=True)
class Origin:
    """The input of a release: rows, rules, seals of earlier records, history, and what later releases begin with."""

    table: Table
    required: dict[str, Any]
    earlier: tuple[str, ...]
    history: ReleaseHistory | None
    groups: GroupCounts
    tree: Tree | None


@dataclass(frozen=True, eq=False)
class Release:
    """An anonymous table with its guarantee.

    Attributes
    ----------
    table : pyarrow.Table
        The table to publish.
    guarantee : Guarantee
        Model "syntactic", with k, l and t required and reached.
    cells : Cells
        The published cells and the cell of each row. Do not publish them.
    rows : ndarray of int64
        The input row of each row of `table`; empty for drawn rows. Do not publish it.
    suppressed, dropped : int
        Rows left out: to keep the rules, and for a missing quasi-identifier or person.
    bounds : pyarrow.Table
        The quasi-identifiers for programs: ``age_lower``, ``age_upper`` or, for categories, the list ``job_set``.

    Examples
    --------
    >>> import discreet as dc
    >>> domain = dc.Domain({"age": (0, 120), "ill": ["no", "yes"]})
    >>> people = {"age": [31, 33, 36, 38, 61, 64, 66, 69], "ill": ["no", "no", "yes", "no", "yes", "no", "no", "yes"]}
    >>> release = dc.anonymity.DensityTree(k=4, domain=domain, sensitive="ill").fit_transform(pa.table(people))
    >>> sorted(set(release.table.column("age").to_pylist()))
    ['[0, 50)', '[50, 120]']
    """

    table: pa.Table
    guarantee: Guarantee
    cells: Cells
    rows: IntArray
    suppressed: int
    dropped: int
    _kept: Origin | None = field(default=None, repr=False)
    _must_be_followed: bool = field(default=False, repr=False)
    #: The cell of each row of `table`.
    _own: IntArray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    _stored: bool = field(default=False, repr=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def bounds(self) -> pa.Table:
        """The quasi-identifiers for programs: lower and upper ends, or lists of categories."""
        if not len(self.rows):
            expected = "interval or center: a drawn row has no bounds"
            raise InvalidArgument("output", "sample", expected, 'output="interval"')
        return pa.table(_bounds(self.cells, self._own))

    @cached_property
    def record(self) -> ReleaseRecord:
        """The published cell of each person, for the release history. It undoes the release."""
        if self._kept is None:
            expected = (
                "a release by cells, in the program that made it: stored copies and changed values have no record"
            )
            raise InvalidArgument("release", type(self).__name__, expected, "DensityTree, Mondrian or Generalization")
        kept = self._kept
        cuts = None if kept.tree is None else kept.tree.cuts()
        return ReleaseRecord.of(kept.table, self.cells, kept.required, kept.earlier, kept.groups, cuts)

    def __getstate__(self) -> dict[str, Any]:
        # A pickled release may travel. It holds no identifiers, no places of rows in the input and no suppressed rows.
        followed = self._kept is not None and self._kept.history is not None
        state = {name: value for name, value in self.__dict__.items() if name not in ("_kept", "record")}
        of = self._own if len(self.rows) else np.sort(self.cells.of[self.cells.of >= 0])
        return {
            **state, "cells": replace(self.cells, of=of), "rows": np.arange(len(self.rows)),
            "_must_be_followed": self._must_be_followed or followed, "_stored": True,
        }  # fmt: skip

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame; what labels stand for goes with it, in its ``attrs``."""
        frame = self.table.to_pandas()
        if "labels" in self.guarantee.parameters:
            frame.attrs[PROMISE_KEY] = self.guarantee.to_json()
        return frame

    def save(
        self, path: str | Path, *, form: str = "text", escape_formulas: bool = False, csv_dialect: str = "input",
        booking: Reservation | None = None,
    ) -> None:  # fmt: skip
        """Write the table and, next to it, the guarantee as ``<name>.guarantee.json``.

        The guarantee is sealed over the bytes of the file, so `discreet audit` notices a change of either. A release
        that was made with a history is checked once more and added to it.

        Parameters
        ----------
        path : str or Path
            The file: Parquet or a workbook (``.xlsx``) by its suffix, CSV otherwise.
        form : {"text", "bounds"}
            Quasi-identifiers as texts for people, or as bounds for programs. CSV writes lists of categories as texts.
        escape_formulas : bool
            CSV: put an apostrophe before texts that a spreadsheet would run (`discreet.engines.tables.escapes`).
        csv_dialect : {"input", "plain", "excel-de", "excel-en"}
            CSV: separator and decimal mark of the declared input, of programs, or of a spreadsheet, with its marks for
            UTF-8 and ends of lines, and formulas escaped.
        booking : Reservation, optional
            A reservation of an account (`discreet.Account.reserve`), best made before any row was read. The guarantee
            names it, and it is booked before the file appears.
        """
        target = Path(path).expanduser()
        check_target(target, promised=True)  # both or none
        told = replace(self, guarantee=with_format(self.guarantee, target, escape_formulas, csv_dialect, booking))
        if self._must_be_followed:
            expected = "saved by the program that made it: its history needs the input rows"
            raise InvalidArgument("release", "a stored copy", expected, "making the release again")
        if self._kept is not None and self._kept.history is not None:
            self._kept.history.add(told, path, form, self._book_with(booking, target))
            return
        payload = told._payload(target.suffix, form)
        sealed = told.guarantee.seal(payload)
        self._book_with(booking, target)(sealed)
        write_sealed(target, payload, sealed)

    def _book_with(self, booking: Reservation | None, target: Path) -> Callable[[Guarantee], None]:
        """Return what tells the account of a sealed file."""
        return (lambda _: None) if booking is None else booking.book

    def _payload(self, suffix: str = ".csv", form: str = "text") -> bytes:
        """Return the bytes that `save` writes into a file of this ending."""
        table = self.table
        if checks.choice("form", form, ("text", "bounds")) == "bounds":
            others = table.drop_columns([grid.name for grid in self.cells.grids])
            table = pa.table({name: held[name] for held in (self.bounds, others) for name in held.column_names})
        sink = io.BytesIO()
        if suffix.lower() in PARQUET:
            pq.write_table(table.replace_schema_metadata({PROMISE_KEY: self.guarantee.to_json()}), sink)
        else:
            flat = _flat(table)
            writer = table_writer(sink, flat.schema, suffix, self.guarantee)
            writer.write_table(flat)
            writer.close()
        return sink.getvalue()

    def __repr__(self) -> str:
        reached = self.guarantee.parameters["reached"]
        return f"<release of {len(self)} rows in {self.cells.n_cells} cells, k = {reached['k']}>"


def publish(
    table: Table, cells: Cells, rules: Rules, delivery: Delivery, *, method: str = "",
    settings: Mapping[str, Any] | None = None, notes: Sequence[str] = (), earlier: Sequence[str] = (),
    history: ReleaseHistory | None = None, groups: GroupCounts | None = None, tree: Tree | None = None,
) -> Release:  # fmt: skip
    """Turn cells into a release; rows with cell -1 are suppressed. The rules are checked again on the released rows.

    ``earlier`` are the seals of the records that the cells were checked with.
    """
    stream = noise.generator(delivery.random_state, "random_state")
    rows = np.flatnonzero(cells.of >= 0)
    suppressed = len(cells.of) - len(rows)
    found = rules.measure(cells.of, table.sensitive, table.persons)
    rules.check(found)
    if delivery.output == "sample":
        drawn, own, donors = _sample(table, cells, stream)
        columns = {**drawn, **_others(table, donors)}
        kept = _kept_by(table, own, donors, persons=False)  # drawn rows belong to no person
        rows = np.empty(0, np.int64)
    else:
        if delivery.order == "shuffled":
            rows = rows[noise.permutation(len(rows), rng=stream)]
        own = cells.of[rows]
        shown = _intervals(cells, own) if delivery.output == "interval" else _centers(cells, own)
        columns = {**shown, **_others(table, rows)}
        kept = _kept_by(table, own, rows)
        if delivery.identifiers == "hash":
            columns = {**hashed_columns(table.identifiers, rows, delivery.key, table.plan.domain), **columns}
    figures = {
        "reached": found.to_dict(),
        "rows": len(own),
        "cells": len(np.unique(own)),
        "suppressed": suppressed,
        **left_out(table.dropped, table.unnamed),
        **kept,
    }
    told = {**(settings or {}), **({} if delivery.output == "sample" else cells.legend())}
    guarantee = promise(table.plan, rules, figures, delivery, method, told, notes, stream.seeded)
    made = with_legend(pa.table({name: columns[name] for name in _order_of(table, columns)}), guarantee)
    origin = Origin(table, rules.to_history(), tuple(earlier), history, groups or {}, tree)
    gone = table.dropped + table.unnamed
    return Release(made, guarantee, cells, table.kept[rows], suppressed, gone, origin, _own=own)


def left_out(dropped: int, unnamed: int) -> dict[str, int]:
    """Return the facts about rows that were never grouped: without a quasi-identifier, and without a person."""
    return {"dropped_for_missing_values": dropped, **({"left_out_without_person": unnamed} if unnamed else {})}


def promise(
    plan: TablePlan, rules: Rules, figures: Mapping[str, Any], delivery: Delivery, method: str,
    settings: Mapping[str, Any] | None, notes: Sequence[str], seeded: bool,
) -> Guarantee:  # fmt: skip
    counted, output, identifiers = dict(figures), delivery.output, delivery.identifiers
    unit = plan.domain.unit
    called = unit.called if isinstance(unit, Person) and unit.column == plan.person else "person"
    facts = {
        "method": method,
        "output": output,
        "order": "by cell" if output == "sample" else delivery.order,
        "quasi_identifiers": list(plan.quasi),
        "required": rules.to_dict(),
        "reached": counted.pop("reached"),
        **({} if plan.person is None else {"k_counts": f"{plural(called)}, by column {plan.person!r}"}),
        **counted,
        "identifiers": identifiers if plan.identifiers else "none",
        **dict(settings or {}),
    }
    linked = (_LINKED,) if identifiers == "hash" and output != "sample" and plan.identifiers else ()
    told = (_MINIMAL,) if {"l", "t"} & set(facts["required"]) and facts.get("cuts") != "blind" else ()
    known = _SAMPLE if output == "sample" else _CLASSES
    random = output == "sample" or delivery.order == "shuffled" or {"earlier_releases", "most_rows"} & set(facts)
    return Guarantee(
        "syntactic",
        unit="one row" if plan.person is None else f"one {called}",
        parameters=facts,
        domain=plan.domain,
        assumptions=(known, *in_order(facts["order"]), *unknown_columns(facts), *linked, *told, *notes),
        seeded=seeded and bool(random),
    )


def unknown_columns(facts: Mapping[str, Any]) -> tuple[str, ...]:
    columns, own = facts.get("kept", {}).get("columns", ()), list(facts.get("nearly_unique", ()))
    said = [f"an attacker knows nothing of a person from {_listed(columns)}, passed on unchanged"] if columns else []
    if own:
        said.append(
            f"an attacker does not know anyone's value in {_listed(own)}: more than half of the rows have a value that "
            "occurs once and identifies them"
        )
    return tuple(said)


def _listed(names: Sequence[str]) -> str:
    return f"column {names[0]}" if len(names) == 1 else f"the columns {', '.join(names)}"


def _kept_by(table: Table, own: IntArray, rows: IntArray, persons: bool = True) -> dict[str, Any]:
    counter = KeptCounter(table.plan, persons)
    if counter.columns:
        picked = pa.array(rows)
        sources = {name: table.identifiers if name == counter.person else table.others for name in counter.names}
        counter.add(own, {name: held[name].take(picked).combine_chunks() for name, held in sources.items()})
    return counter.facts(own_sensitive(table.sensitive, np.bincount(rows, minlength=table.n)))


def in_order(order: str) -> tuple[str, ...]:
    return (_IN_ORDER,) if order == "input" else ()


def _order_of(table: Table, columns: Mapping[str, Any]) -> list[str]:
    return [name for name in table.plan.domain.names if name in columns]


def _intervals(cells: Cells, own: IntArray) -> dict[str, pa.Array]:
    picked = pa.array(own)
    return {grid.name: pa.array(cells.texts(j), pa.string()).take(picked) for j, grid in enumerate(cells.grids)}


def _bounds(cells: Cells, own: IntArray) -> dict[str, pa.Array]:
    shown: dict[str, pa.Array] = {}
    for j, grid in enumerate(cells.grids):
        runs = list(zip(cells.first[:, j].tolist(), cells.last[:, j].tolist(), strict=True))
        if grid.numeric:
            ends = [grid.bounds(a, b) for a, b in runs]
            for side, name in enumerate(("lower", "upper")):
                shown[f"{grid.name}_{name}"] = _points(grid, ends, itemgetter(side)).take(pa.array(own))
        else:
            sets = [[str(c) for c in grid.categories(a, b, declared=True) or []] for a, b in runs]
            shown[f"{grid.name}_set"] = pa.array(sets, pa.list_(pa.string())).take(pa.array(own))
        if grid.own_missing:
            may = pa.array([b >= grid.levels for _, b in runs])
            shown[f"{grid.name}_may_be_missing"] = may.take(pa.array(own))
    return shown


def number_array(grid: Grid, values: FloatArray, whole: bool) -> pa.Array:
    if isinstance(grid.column, (Date, Time, Code)):
        return date_array(values) if isinstance(grid.column, Date) else grid.column.array(values)
    missing = np.isnan(values)
    if whole or isinstance(grid.column, Integer):
        return pa.array(np.rint(np.where(missing, 0, values)).astype(np.int64), mask=missing)
    return pa.array(values, mask=missing)


def _points(grid: Grid, ends: Sequence[Any], pick: Callable[[Any], float]) -> pa.Array:
    points = np.array([np.nan if e is None else pick(e) for e in ends], np.float64)
    missing = np.isnan(points)
    whole = isinstance(grid.column, Integer) and not isinstance(grid.column, (Date, Time, Code))
    if whole and (points[~missing] % 1).any():  # between two whole numbers
        return pa.array(points, mask=missing)
    return number_array(grid, points, False)


def _centers(cells: Cells, own: IntArray) -> dict[str, pa.Array]:
    shown = _intervals(cells, own)
    for j, grid in enumerate(cells.grids):
        if grid.numeric and not isinstance(grid.column, Code):  # codes have no middle
            ends = [grid.bounds(int(a), int(b)) for a, b in zip(cells.first[:, j], cells.last[:, j], strict=True)]
            shown[grid.name] = _points(grid, ends, lambda e: (e[0] + e[1]) / 2).take(pa.array(own))
    return shown


def _sample(table: Table, cells: Cells, stream: Any) -> tuple[dict[str, pa.Array], IntArray, IntArray]:
    """Draw as many rows as each cell has: quasi-identifiers uniform on the cell, the rest from its own values."""
    counts = cells.counts()
    own = np.repeat(np.arange(cells.n_cells), counts)
    shown = {}
    for j, grid in enumerate(cells.grids):
        first, width = cells.first[own, j], cells.last[own, j] - cells.first[own, j] + 1
        shown[grid.name] = _values(grid, first + _below_each(width, stream))
    # The sensitive and kept columns of one row of the same cell, drawn with replacement: their joint histogram.
    by_cell = np.argsort(cells.of, kind="stable")
    start = np.searchsorted(cells.of[by_cell], np.arange(cells.n_cells))
    donors = by_cell[start[own] + _below_each(counts[own], stream)]
    return shown, own, donors


def _below_each(bounds: IntArray, stream: Any) -> IntArray:
    drawn = np.zeros(len(bounds), np.int64)
    for bound in np.unique(bounds):
        if bound > 1:
            places = np.flatnonzero(bounds == bound)
            drawn[places] = noise.below(int(bound), size=len(places), rng=stream)
    return drawn


def _values(grid: Grid, bins: IntArray) -> pa.Array:
    """Return a value for every bin: the category, the whole number, or the middle of the step."""
    missing = bins >= grid.levels
    places = np.minimum(bins, grid.levels - 1)
    if not grid.numeric:
        labels = pa.array([str(c) for c in grid.categories(0, grid.levels - 1) or []], pa.string())
        return labels.take(pa.array(places, mask=missing))
    edges = np.array(grid.edges)
    whole = bool(np.all(edges == np.floor(edges)) and np.all(np.diff(edges) == 1))
    points = edges[:-1] if whole else (edges[:-1] + edges[1:]) / 2
    if isinstance(grid.column, Integer):
        whole, points = True, np.floor(points)
    return number_array(grid, np.where(missing, np.nan, points[places]), whole)


def _others(table: Table, rows: IntArray) -> dict[str, pa.ChunkedArray]:
    picked = table.others.take(pa.array(rows))
    return {name: picked[name] for name in picked.column_names}


def _flat(table: pa.Table) -> pa.Table:
    for i, column in enumerate(table.columns):
        if pa.types.is_list(column.type):
            texts = pa.array(["|".join(v) if v is not None else None for v in column.to_pylist()], pa.string())
            table = table.set_column(i, table.column_names[i], texts)
    return table
