"""Releasing a Spark frame from where its rows are: executors count them, and executors write them.

No row comes to the driver. From the first pass it gets combinations of place, sensitive values, person and kept columns
with their counts, from the second the names of files and what was counted of the rows in them as they were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines, noise
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.rows import FoundRows, FrozenPartition, ReleasedColumns, batches, cells_at
from discreet.anonymity.release.table import TablePlan
from discreet.anonymity.risk.counted import Values, ValueTally
from discreet.core import BoolArray, Domain, Guarantee, IntArray, WordArray
from discreet.core.schema import Dialect
from discreet.engines.readers import places_of
from discreet.engines.spark import PERSON, ROWS, PartFolder, SparkTable
from discreet.engines.spark import parts as spark_parts
from discreet.engines.tables import same_key
from discreet.engines.writing import declared_type

#: Rows that are looked at in one go on an executor, and entries that are held there before they are handed on.
_ROWS, _ENTRIES = 1 << 17, 1 << 18
#: The cells of rows that lack a quasi-identifier, or a person; suppressed rows have -1.
_LOST, _UNNAMED = -2, -3
#: Bins of a column have numbers below this.
_BINS = 1 << 16


def bin_label(column: Any, own: IntArray) -> IntArray:
    """Return the labels of bins of columns: all below 0, as no place is."""
    found: IntArray = -1 - (column * _BINS + own)
    return found


def left_out(lost: BoolArray, persons: pa.Array | None, rows: IntArray) -> IntArray:
    """Count rows that lack a quasi-identifier or a person: entries of these have an empty text there."""
    unnamed = np.zeros_like(lost) if persons is None else lost & persons.is_valid().to_numpy(zero_copy_only=False)
    return np.array([int(rows[lost & ~unnamed].sum()), int(rows[unnamed].sum())])


class ExecutorRows:
    """Rows that stay where they are; see `discreet.anonymity.release.rows.DriverRows`."""

    def __init__(
        self, source: engines.Source, plan: TablePlan, partition: FrozenPartition, names: Sequence[str]
    ) -> None:
        self.table = cast(SparkTable, source.parts[0])
        self._source, self._plan, self._partition, self._names = source, plan, partition, list(names)

    def placed(self) -> Iterator[FoundRows]:
        for labels, raw, rows in self.entries():
            known = labels.is_valid()
            counted = rows[known.to_numpy(zero_copy_only=False)]
            own = {name: column.filter(known) for name, column in raw.items()}
            gone = left_out(labels.is_null().to_numpy(zero_copy_only=False), raw.get(str(self._plan.person)), rows)
            yield FoundRows(self._partition.places(labels.filter(known)), own, gone, counted)

    def entries(self, *, by_bin: bool = False) -> Iterator[tuple[pa.Array, dict[str, pa.Array], IntArray]]:
        """Yield labels of places, what rows hold and how many do, in entries; no label for rows that lack a value.

        With ``by_bin`` there are also entries for every column and bin, labelled by `bin_label`, that hold nothing.
        """
        rows, whose = self.worker(self._names), self._plan.person
        place = "string" if pa.types.is_string(self._partition.labels(np.empty(0, np.int64)).type) else "bigint"
        columns = {"c": place, **{f"c{i}": self._type(name) for i, name in enumerate(self._names)}}
        work = _Placing(rows, self._partition, whose, self._names, columns, by_bin)
        for batch in spark_parts.added_up(self.table, rows.positions, work, _schema(columns)):
            raw = {name: batch.column(1 + i) for i, name in enumerate(self._names)}
            yield batch.column(0), raw, np.asarray(batch.columns[-1], np.int64)

    def writer(self, target: str | Path, guarantee: Guarantee, stream: noise.Generator, delivery: Delivery) -> Any:
        self._key = noise.order_key(stream)
        return PartFolder(target, guarantee, delivery.book)

    def written(self, out: Any, shown: ReleasedColumns, cell_of: IntArray, n: int) -> Iterator[FoundRows]:
        rows, person = self.worker(shown.names), self._plan.person
        columns = {"c": "bigint", **{f"c{i}": self._type(name) for i, name in enumerate(shown.passed)}}
        columns |= {} if person is None else {PERSON: "string"}
        secret = noise.generator(None).bytes(32).view(np.uint64)  # for hashes of persons, in this call only
        work = _Releasing(rows, self._partition, shown, cell_of, person, secret, columns)
        carried = {name: spark_parts.carried_type(kind) for name, kind in columns.items()}
        counted = [name for name in self._names if name != person]
        at = [shown.passed.index(name) for name in counted]
        write = out.writer(
            lambda batch: _released(batch, shown, columns),
            lambda: _Written(["c", *(f"c{i}" for i in at), *([] if person is None else [PERSON])], columns),
        )
        out.parts = spark_parts.write_parts(
            self.table, rows.positions, work, _schema(carried), write,
            parts=-(-max(n, 1) // spark_parts.ROWS_PER_PART), key=self._key,
        )  # fmt: skip
        for table in out.counted():
            cell, held = (np.asarray(table.column(i).combine_chunks(), np.int64) for i in (0, -1))
            here, gone = cell > _LOST, np.array([int(held[cell == lost].sum()) for lost in (_LOST, _UNNAMED)])
            raw = {name: table.column(1 + i).combine_chunks().filter(pa.array(here)) for i, name in enumerate(counted)}
            if person is not None:
                raw[person] = table.column(PERSON).combine_chunks().filter(pa.array(here))
            yield FoundRows(cell[here], raw, gone, held[here])

    def _type(self, name: str) -> str:
        """Return how Spark knows a column: by its declaration if it is passed on; persons and hashes are text."""
        passed = name in self._plan.passed
        return spark_parts.spark_type(declared_type(self._plan.domain.column(name))) if passed else "string"

    def worker(self, names: Sequence[str]) -> RowsHere:
        domain, person = self._plan.domain, self._plan.person
        names = list(dict.fromkeys([*names, *([person] if person else [])]))
        wanted = {*self._plan.quasi, *names}
        asked = [name for name in domain.names if name in wanted]
        bound = self._source.match(domain)[0][0]
        positions = [bound[domain.position(name)] for name in asked]
        assert not names or places_of(self._source, self.table, names)
        return RowsHere(self._plan, domain.select(asked), self._source.dialect, tuple(names), positions)


@dataclass(frozen=True)
class RowsHere:
    """Reads the Arrow batches of a partition as every engine reads rows."""

    plan: TablePlan
    domain: Domain
    dialect: Dialect
    names: tuple[str, ...]
    positions: list[int]

    def __call__(self, pieces: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, IntArray, dict[str, pa.Array]]]:
        for table in _together(pieces):
            named = table.rename_columns(list(self.domain.names))
            source = engines.open(named, self.domain, dialect=self.dialect)
            yield from batches(source, self.plan, self.names)


def _together(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in pieces:
        held.append(batch)
        if sum(b.num_rows for b in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


class _Entries:
    """Adds up equal rows of Arrow columns; the last column is how many there are."""

    def __init__(self, types: dict[str, pa.DataType]) -> None:
        self._types = types
        self._clear()

    def _clear(self) -> None:
        self._values, self._tally, self._held = [Values() for _ in self._types], ValueTally(), 0

    def add(self, columns: Sequence[pa.Array], rows: IntArray | None = None) -> None:
        self._tally.add([v.codes(c) for v, c in zip(self._values, columns, strict=True)], rows)
        self._held += len(columns[0])

    def table(self) -> pa.Table:
        codes, rows = self._tally.result()
        columns = {}
        for i, (name, kind) in enumerate(self._types.items()):
            if not len(rows):
                columns[name] = pa.array([], kind)
                continue
            columns[name] = self._values[i].array().take(pa.array(codes[i], mask=codes[i] < 0)).cast(kind)
        return pa.table({**columns, ROWS: pa.array(rows, pa.int64())})

    def added_up(self, pieces: Iterable[Sequence[pa.Array]]) -> Iterator[pa.Table]:
        for columns in pieces:
            self.add(columns)
            if self._held > _ENTRIES:
                yield self.table()
                self._clear()
        yield self.table()


@dataclass(frozen=True)
class _Placing:
    """First pass on an executor: rows by place and what is counted of them."""

    rows: RowsHere
    partition: FrozenPartition
    person: str | None
    names: list[str]
    columns: dict[str, str]
    by_bin: bool

    def __call__(self, pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types = {name: spark_parts.arrow_type(kind) for name, kind in self.columns.items()}
        held = np.zeros((len(self.rows.plan.grids), _BINS if self.by_bin else 0), np.int64)
        lost = np.zeros(2, np.int64)

        def read() -> Iterator[list[pa.Array]]:
            nonlocal lost
            for bins, gone, raw in self.rows(pieces):
                lost += gone
                for j, own in enumerate(bins if self.by_bin else ()):
                    held[j] += np.bincount(own, minlength=_BINS)
                yield [pa.array(self.partition.route(bins)), *(self._read(name, raw[name]) for name in self.names)]

        for table in _Entries({**types, "c": pa.int64()}).added_up(read()):
            labels = self.partition.labels(np.asarray(table.column(0).combine_chunks(), np.int64))
            yield from table.set_column(0, "c", labels).to_batches(_ROWS)
        if lost.any():
            empty = {name: pa.nulls(2, kind) for name, kind in types.items()}
            if self.person is not None:
                at = f"c{self.names.index(self.person)}"
                empty[at] = pa.array([None, ""], types[at])  # see `left_out`
            yield pa.RecordBatch.from_arrays([*empty.values(), pa.array(lost)], [*types, ROWS])
        column, own = np.nonzero(held)
        if len(own):
            nulls = [pa.nulls(len(own), kind) for name, kind in types.items() if name != "c"]
            labels = pa.array(bin_label(column, own), pa.int64())
            yield pa.RecordBatch.from_arrays([labels, *nulls, pa.array(held[column, own])], [*types, ROWS])

    def _read(self, name: str, column: pa.Array) -> pa.Array:
        if name != self.person:
            return column
        return same_key(column, self.rows.plan.domain.column(name)).cast(pa.string())


@dataclass(frozen=True)
class _Releasing:
    """Second pass on an executor: rows as they are passed on, equal ones added up."""

    rows: RowsHere
    partition: FrozenPartition
    shown: ReleasedColumns
    cell_of: IntArray
    person: str | None
    secret: WordArray
    columns: dict[str, str]

    def __call__(self, pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kinds = [kind for name, kind in self.columns.items() if name not in ("c", PERSON)]
        types = {n: spark_parts.arrow_type(spark_parts.carried_type(kind)) for n, kind in self.columns.items()}
        lost = np.zeros(2, np.int64)

        def read() -> Iterator[list[pa.Array]]:
            nonlocal lost
            for bins, gone, raw in self.rows(pieces):
                lost += gone
                own = cells_at(self.partition.route(bins), self.cell_of)
                carried = self.shown.carried(np.arange(len(own)), raw)
                passed = [carried[name] for name in self.shown.passed]
                columns = [spark_parts.exactly(c, kind) for c, kind in zip(passed, kinds, strict=True)]
                whose = [] if self.person is None else [self._whose(raw[self.person])]
                yield [pa.array(own), *columns, *whose]

        for table in _Entries(types).added_up(read()):
            yield from table.to_batches(_ROWS)
        if lost.any():
            nulls = [pa.nulls(2, kind) for name, kind in types.items() if name != "c"]
            yield pa.RecordBatch.from_arrays([pa.array([_LOST, _UNNAMED]), *nulls, pa.array(lost)], [*types, ROWS])

    def _whose(self, column: pa.Array) -> pa.Array:
        """Distinguish persons by hashes of 128 bits, so that no identifier is sent or written next to the target."""
        assert self.person is not None
        keys = same_key(column, self.rows.plan.domain.column(self.person)).cast(pa.large_string())
        texts = keys.fill_null("")
        words = np.column_stack([spark_parts.text_words(texts, self.secret[i : i + 2]) for i in (0, 2)])
        halves = np.empty((len(words), 32), np.uint8)
        bytes_of = words.view(np.uint8)
        halves[:, ::2], halves[:, 1::2] = bytes_of >> 4, bytes_of & 15
        letters = pa.py_buffer((halves + ord("a")).tobytes())  # letters alone are read as no number
        places = pa.py_buffer(np.arange(0, 32 * len(words) + 1, 32, dtype=np.int64).tobytes())
        marks = pa.LargeStringArray.from_buffers(len(words), places, letters).cast(pa.string())
        return pc.if_else(keys.is_null(), pa.scalar(None, pa.string()), marks)


class _Written:
    """Counts rows as they are written, by cell and what the guarantee speaks of."""

    def __init__(self, names: list[str], columns: dict[str, str]) -> None:
        self._names, self._columns = names, columns
        types = {name: spark_parts.arrow_type(columns[name]) for name in names}
        self._entries = _Entries({n: pa.large_string() if t == pa.string() else t for n, t in types.items()})

    def add(self, batch: pa.RecordBatch) -> None:
        own = [spark_parts.as_they_were(batch.column(name), self._columns[name]) for name in self._names]
        self._entries.add(own, np.asarray(batch.column(ROWS), np.int64))

    def table(self) -> pa.Table:
        return self._entries.table()


def _released(batch: pa.RecordBatch, shown: ReleasedColumns, columns: dict[str, str]) -> pa.Table:
    cell = np.asarray(batch.column("c"), np.int64)
    there = cell >= 0
    carried = {
        name: spark_parts.as_they_were(batch.column(f"c{i}").filter(pa.array(there)), columns[f"c{i}"])
        for i, name in enumerate(shown.passed)
    }
    for name in shown.hashed:
        carried[name] = carried[name].cast(pa.string())
    return shown.table(cell[there], carried)


def _schema(columns: dict[str, str]) -> str:
    return ", ".join([*(f"{name} {kind}" for name, kind in columns.items()), f"{ROWS} bigint"])
