"""Rows written by executors, in a random order that does not depend on how often a task runs.

A repeated task must send every row to the same place, so executors draw nothing and do not count rows in order of
arrival. Equal rows are added up; the i-th of them gets a keyed hash of its content and i
(`discreet.noise.keyed_order`), a function of the rows as a multiset. A hash of this number chooses the row's file, and
rows of a file are sorted by it (ties by content), so the order of all rows is uniform.

A task writes to a file with a unique name and returns the name. The driver moves only the files that were returned to
it. Files of failed, duplicate or running tasks are deleted; they never had a final name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet.core import Guarantee, WordArray, after_promise, cannot_write, payload_of, writing
from discreet.core.schema import Dialect
from discreet.engines.spark import SparkTable, brought
from discreet.engines.tables.escapes import format_of
from discreet.engines.writing.shuffled import even_tables
from discreet.engines.writing.writer import HEAD, PARQUET, WrittenTable, table_writer
from discreet.errors import DataSourceError
from discreet.noise import keyed_order
from discreet.noise.hashing import TAG_BYTES, siphash_bytes

#: Rows of a part file, about.
ROWS_PER_PART = 1 << 18
#: Rows that are numbered, and given to Spark, at a time.
_AT_ONCE = 1 << 16
#: Whose row it is, how many rows there are, and the row's number; no column that is carried is called so.
PERSON, ROWS, _FIRST, _NUMBER = "person", "rows", "first", "number"

#: Turns Arrow batches into others, on an executor.
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: What columns that are carried are declared as.
_TYPES = {"boolean": pa.bool_(), "bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}


def arrow_type(declared: str) -> pa.DataType:
    """Return the Arrow type of a column that Spark declares so."""
    return _TYPES[declared]


def spark_type(kind: pa.DataType) -> str:
    """Return the Spark type of an Arrow type: numbers, booleans, otherwise text."""
    return next((name for name, own in _TYPES.items() if own == kind), "string")


def exactly(column: pa.Array, declared: str) -> pa.Array:
    """Return a column in a form in which Spark adds up what is the same bit for bit: 0.0 and -0.0 are two values."""
    kind = arrow_type(declared)
    if pa.types.is_floating(kind):
        return column.cast(kind).view(pa.int64())
    return column.cast(kind)


def as_they_were(column: pa.Array, declared: str) -> pa.Array:
    """Undo `exactly`; text becomes large again."""
    kind = arrow_type(declared)
    if pa.types.is_floating(kind):
        return column.view(kind)
    return column.cast(pa.large_string()) if kind == pa.string() else column


def carried_type(declared: str) -> str:
    """Return how Spark knows a column in the form of `exactly`."""
    return "bigint" if declared == "double" else declared


def added_up(table: SparkTable, positions: Sequence[int], work: Work, schema: str) -> Iterator[pa.RecordBatch]:
    """Run ``work`` on executors, add up the column ``rows`` of equal entries, and bring these."""
    made = table.frame_of(positions).mapInArrow(work, schema)
    names = [name for name in made.columns if name != ROWS]
    return brought(made.groupBy(*names).agg({ROWS: "sum"}))


@dataclass(frozen=True)
class Parts:
    """Part files as the driver knows them: their names in order, and the files of counts."""

    files: list[str]
    tallies: list[str]
    n_rows: int


def write_parts(
    table: SparkTable, positions: Sequence[int], work: Work, schema: str, write: Work, *, parts: int, key: WordArray
) -> Parts:
    """Make rows with ``work``, put them into random order, and have ``write`` write them to ``parts`` files.

    ``work`` makes batches of ``schema``: the number of a cell (below 0 for rows that are only counted), the content in
    the form of `exactly`, perhaps ``person``, and ``rows``, the number of equal rows. ``write`` takes rows in order and
    returns one batch: the names of its file and its counts file, and the number of rows. ``key`` comes from
    `discreet.noise.order_key`.
    """
    made = table.frame_of(positions).mapInArrow(work, schema)
    names = [name for name in made.columns if name != ROWS]
    content = [name for name in names if name != PERSON]
    groups = made.groupBy(*names).agg({ROWS: "sum"}).toDF(*names, ROWS)
    first = "0L"
    if PERSON in names:
        # Rows of several people may hold the same: which of them is whose changes nothing of what is written.
        before = f"PARTITION BY {', '.join(content)} ORDER BY {PERSON} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        first = f"coalesce(sum({ROWS}) OVER ({before}), 0L)"
    groups = groups.selectExpr(*names, ROWS, f"{first} AS {_FIRST}")
    numbered = groups.mapInArrow(lambda batches: _numbered(batches, key, len(content)), f"{schema}, {_NUMBER} bigint")
    placed = numbered.repartition(parts, _NUMBER).sortWithinPartitions(_NUMBER, *content)
    done = placed.mapInArrow(write, "part int, file string, tally string, n bigint").collect()
    found = sorted(tuple(row) for row in done)
    files = [file for _, file, _, _ in found if file]
    return Parts(files, [tally for _, _, tally, _ in found], sum(n for *_, n in found))


def _numbered(batches: Iterator[pa.RecordBatch], key: WordArray, width: int) -> Iterator[pa.RecordBatch]:
    """Give every row a number, on an executor; rows that are only counted stay together."""
    for batch in batches:
        rows, first = (np.asarray(batch.column(name), np.int64) for name in (ROWS, _FIRST))
        hidden = np.asarray(batch.column(0), np.int64) < 0
        copies = np.where(hidden, 1, rows)
        words, ends = _words(batch.columns[:width], key), np.cumsum(copies)
        carried = batch.select([*range(batch.num_columns - 2)])
        for start in range(0, int(ends[-1]) if len(ends) else 0, _AT_ONCE):
            here = np.arange(start, min(start + _AT_ONCE, int(ends[-1])))
            own = np.searchsorted(ends, here, side="right")
            which = here - (ends[own] - copies[own]) + first[own]
            numbers = keyed_order(np.column_stack([words[own], which.astype(np.uint64)]), key)
            columns = [column.take(pa.array(own)) for column in carried.columns]
            columns += [pa.array(np.where(hidden[own], rows[own], 1)), pa.array(numbers)]
            yield pa.RecordBatch.from_arrays(columns, [*carried.schema.names, ROWS, _NUMBER])


def _words(columns: Sequence[pa.Array], key: WordArray) -> WordArray:
    """Return rows as words: a number itself, a hash of a text, and in the last word what is missing."""
    n = len(columns[0])
    words = np.zeros((n, len(columns) + 1 + len(columns) // 64), np.uint64)
    for j, column in enumerate(columns):
        gone = column.is_null().to_numpy(zero_copy_only=False)
        words[:, len(columns) + j // 64] |= gone.astype(np.uint64) << np.uint64(j % 64)
        if pa.types.is_integer(column.type):
            words[:, j] = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        else:
            words[:, j] = text_words(column.cast(pa.large_string()).fill_null(""), key)
    return words


def text_words(texts: pa.Array, key: WordArray) -> WordArray:
    """Return keyed hashes of texts, none of which is missing."""
    _, places, buffer = texts.buffers()
    offsets = np.frombuffer(places, np.int64, len(texts) + 1, texts.offset * 8) if len(texts) else np.zeros(1, np.int64)
    data = np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", np.uint8)
    found = np.empty(len(texts), np.uint64)
    siphash_bytes(data, offsets, TAG_BYTES, key[0], key[1], found)
    return found


def check_new(path: str | Path) -> None:
    """Refuse a place where something is: a folder cannot take the place of another in one step; nor one workbook."""
    if Path(path).suffix.lower() == ".xlsx":
        raise DataSourceError(f"output: a Spark frame is written as .csv or .parquet, got {str(path)!r}")
    if Path(path).expanduser().exists():
        raise DataSourceError(
            f"output: {str(path)!r} is there already, and a Spark frame is written to a folder of its own; "
            "remove it first, or name another"
        )


class PartFolder:
    """A folder of part files that is written whole or not at all, Parquet or CSV by name.

    Executors and the driver must both reach it. The guarantee is put into Parquet files; `finish` seals it and writes
    it next to the folder.
    """

    def __init__(self, path: str | Path, guarantee: Guarantee, book: Callable[[Guarantee], None] | None = None) -> None:
        self._path, self._guarantee, self._book = Path(path).expanduser().absolute(), guarantee, book
        self._work, self.parts = "", Parts([], [], 0)

    def __enter__(self) -> PartFolder:
        check_new(self._path)
        with writing(self._path):
            self._work = tempfile.mkdtemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        if f"[Errno {ENOSPC}]" in str(error):  # of an executor: Spark passes its words on
            raise cannot_write(self._path, OSError(ENOSPC, os.strerror(ENOSPC))) from None

    def writer(self, made: Callable[[pa.RecordBatch], pa.Table], tally: Callable[[], Any]) -> Work:
        """Return what writes rows on an executor: ``made`` turns carried rows into released ones, ``tally`` counts."""
        folder, suffix, guarantee = self._work, self._path.suffix, self._guarantee
        return lambda batches: _write_part(batches, folder, suffix, guarantee, made, tally())

    def counted(self) -> Iterator[pa.Table]:
        """Yield what tasks counted of the rows they wrote."""
        missing = [n for n in (*self.parts.files, *self.parts.tallies) if not Path(self._work, n).is_file()]
        if missing:
            raise DataSourceError(
                f"output: executors wrote to a folder {str(self._path.parent)!r} that is not the driver's; name one "
                "that all machines share"
            )
        for name in self.parts.tallies:
            with pa.OSFile(str(Path(self._work, name))) as file:
                yield pa.ipc.open_stream(file).read_all()

    def finish(self) -> WrittenTable:
        """Give the folder its name, and write its guarantee."""
        whole, ending = Path(self._work, "whole"), "parquet" if self._path.suffix.lower() in PARQUET else "csv"
        mask = os.umask(0)
        os.umask(mask)
        with writing(self._path):
            whole.mkdir()
            for i, name in enumerate(self.parts.files):
                place = whole / f"part-{i:05}.{ending}"
                os.rename(Path(self._work, name), place)
                with suppress(PermissionError):  # a file of the user who runs executors is as that user made it
                    place.chmod(0o666 & ~mask)
            sealed = self._guarantee.seal(payload_of(whole))
            if self._book is not None:
                self._book(sealed)
            after_promise(self._path, sealed, lambda: os.replace(whole, self._path))
        head = _head(self._path / f"part-00000.{ending}", format_of(self._path)[0])
        return WrittenTable(self._path, self.parts.n_rows, tuple(head.column_names), head, sealed)


def _write_part(
    batches: Iterator[pa.RecordBatch],
    folder: str,
    suffix: str,
    guarantee: Guarantee,
    made: Callable[[pa.RecordBatch], pa.Table],
    tally: Any,
) -> Iterator[pa.RecordBatch]:
    """Write the rows of one partition to a file that no other attempt knows, and what was counted to another."""
    from pyspark import TaskContext

    context, own = TaskContext.get(), uuid.uuid4().hex
    part = 0 if context is None else context.partitionId()
    rows = 0

    def released() -> Iterator[pa.Table]:
        for batch in batches:
            tally.add(batch)
            yield made(batch)

    file, writer = Path(folder, f"{own}.rows"), None
    with file.open("wb") as out:
        for table in even_tables(released()):
            if not table.num_rows:
                continue
            writer = writer or table_writer(out, table.schema, suffix, guarantee)
            writer.write_table(table)
            rows += table.num_rows
        if writer is not None:
            writer.close()
    counted = Path(folder, f"{own}.tally")
    found = tally.table()
    with counted.open("wb") as out, pa.ipc.new_stream(out, found.schema) as stream:
        stream.write_table(found)
    told = [pa.array([part], pa.int32()), pa.array([file.name if rows else None], pa.string())]
    told += [pa.array([counted.name], pa.string()), pa.array([rows], pa.int64())]
    yield pa.RecordBatch.from_arrays(told, ["part", "file", "tally", "n"])


def _head(path: Path, form: Dialect) -> pa.Table:
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            batch = next(file.iter_batches(HEAD))
            return pa.Table.from_batches([batch]).replace_schema_metadata(None)
    encoding, parsing = pa_csv.ReadOptions(encoding=form.encoding), pa_csv.ParseOptions(delimiter=form.delimiter)
    with pa_csv.open_csv(path, encoding, parsing) as file:
        return pa.Table.from_batches([file.read_next_batch().slice(0, HEAD)])
