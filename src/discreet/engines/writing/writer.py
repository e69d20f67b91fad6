"""A table written piece by piece, whole or not at all.

Pieces go to a temporary file. It gets its name, and its guarantee file, when all pieces are written and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet.core import (
    Categorical,
    Code,
    Column,
    Date,
    FloatArray,
    Guarantee,
    Integer,
    NewFile,
    Time,
    category_text,
    check_place,
    date_array,
    payload_of,
    promise_place,
    writing,
)
from discreet.engines.source import Source
from discreet.engines.tables.escapes import FACT, escaped
from discreet.engines.writing.formats import DialectWriter, WorkbookWriter, workbook_package
from discreet.engines.writing.shuffled import Shuffler
from discreet.errors import DataSourceError

if TYPE_CHECKING:
    from discreet.noise import RowOrder

PARQUET = (".parquet", ".pq")
#: What a table can be called that is written; a name without an ending is CSV.
WRITTEN = (".csv", ".txt", ".xlsx", *PARQUET)
#: Rows that a `WrittenTable` shows.
HEAD = 6


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """A table that was written piece by piece and is not in memory: its file, rows, columns and first rows.

    The path of a Spark frame is a folder of part files. The guarantee is sealed over the bytes of the file, and is also
    in the same folder as ``<name>.guarantee.json``; None for what is not to be published.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import discreet as dc
    >>> noise = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1), random_state=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     noise.transform_file(np.array([[0.2, 0.3], [0.8, 0.9]]), f"{folder}/noisy.parquet")
    <table of 2 rows and 2 columns in noisy.parquet>
    """

    path: Path
    n_rows: int
    names: tuple[str, ...]
    head: pa.Table
    guarantee: Guarantee | None = None

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"<table of {self.n_rows} rows and {len(self.names)} columns in {self.path.name}>"


class RowWriter:
    """Writes tables of one schema to a file: Parquet or a workbook by the name's suffix, CSV otherwise.

    ``book`` is called with the sealed guarantee before the file gets its name.
    """

    def __init__(
        self,
        path: str | Path,
        guarantee: Guarantee | None = None,
        order: RowOrder | None = None,
        facts: Mapping[str, Any] | None = None,
        book: Callable[[Guarantee], None] | None = None,
    ) -> None:
        self._path = Path(path).expanduser()
        self._guarantee, self._facts, self._book = guarantee, facts, book
        self._order = order
        self._mixed: Shuffler | None = None
        self._parquet = self._path.suffix.lower() in PARQUET
        self._writer: Any = None
        self._out = NewFile(self._path)
        self._schema: pa.Schema | None = None
        self._head: pa.Table | None = None
        self.n_rows = 0

    def __enter__(self) -> RowWriter:
        check_target(self._path, promised=self._guarantee is not None)
        if self._order is not None:
            self._mixed = Shuffler(self._path.parent, self._order)
        with writing(self._path):
            self._out.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, pa.ArrowException):  # what is left of a file that is thrown away
            if self._writer is not None:
                self._writer.close()
        if self._mixed is not None:
            self._mixed.__exit__()
        self._out.__exit__()

    def write(self, table: pa.Table) -> None:
        """Write some rows behind the others, or among them where the order is drawn."""
        self.n_rows += table.num_rows
        (self._write if self._mixed is None else self._mixed.add)(table)

    def _write(self, table: pa.Table) -> None:
        if self._writer is None:
            self._schema, self._head = table.schema, table.slice(0, 0)
            with writing(self._path):
                how = (self._path.suffix, self._guarantee, self._facts)
                self._writer = table_writer(self._out.file, table.schema, *how)
        assert self._head is not None
        if self._head.num_rows < HEAD:
            self._head = pa.concat_tables([self._head, table.slice(0, HEAD - self._head.num_rows)]).combine_chunks()
        if table.num_rows or not self._parquet:
            with writing(self._path):
                self._writer.write_table(table)

    def finish(self) -> WrittenTable:
        """Give the file its name, and write its guarantee. At least one table, perhaps empty, was written."""
        for table in () if self._mixed is None else self._mixed.tables():
            self._write(table)
        assert self._schema is not None
        assert self._head is not None
        with writing(self._path):
            self._writer.close()
            self._out.file.flush()
            assert self._out.temporary is not None  # a table is never streamed
            sealed = None if self._guarantee is None else self._guarantee.seal(payload_of(self._out.temporary))
            if sealed is not None and self._book is not None:
                self._book(sealed)  # before anyone can see the file
            self._out.keep(sealed)
        return WrittenTable(self._path, self.n_rows, tuple(self._schema.names), self._head, sealed)


def table_writer(
    file: Any, schema: pa.Schema, suffix: str, guarantee: Guarantee | None, facts: Mapping[str, Any] | None = None
) -> Any:
    """Open a writer of tables; a Parquet file carries what is promised of it. ``facts``: its format."""
    parquet = suffix.lower() in PARQUET
    if parquet and guarantee is not None:
        schema = schema.with_metadata({"discreet.guarantee": guarantee.to_json()})
    if parquet:
        return pq.ParquetWriter(file, schema)
    if suffix.lower() == ".xlsx":
        return WorkbookWriter(file, schema, None if guarantee is None else guarantee.domain)
    told = facts or ({} if guarantee is None else guarantee.parameters)
    plain = DialectWriter(file, schema, told["csv"]) if told.get("csv") else pa_csv.CSVWriter(file, schema)
    if not FACT.items() <= told.items():
        return plain
    return SimpleNamespace(write_table=lambda table: plain.write_table(escaped(table)), close=plain.close)


def write_table(
    path: str | Path,
    table: pa.Table,
    guarantee: Guarantee | None = None,
    facts: Mapping[str, Any] | None = None,
    book: Callable[[Guarantee], None] | None = None,
) -> None:
    """Write a table from memory, with its guarantee if it has one; ``facts`` and ``book`` as in `RowWriter`."""
    with RowWriter(path, guarantee, facts=facts, book=book) as out:
        out.write(table)
        out.finish()


def check_target(path: str | Path, *, promised: bool, source: Source | None = None) -> None:
    """Refuse a path where a table or its guarantee cannot be written, before any row is read.

    A table may not replace a file that it is made from: the only copy of the rows would be lost.
    """
    target = Path(path).expanduser()
    promise = promise_place(target)
    check_place(target)
    if promised:  # both or none
        check_place(promise, promise=True)
    if not promised and promise.exists():
        raise DataSourceError(
            f"output: {promise.name!r} beside {str(path)!r} promises something about another table; name another "
            "file, or remove both first"
        )
    check_table_ending(target)
    files = [str(part.path) for part in source.parts if hasattr(part, "path")] if source is not None else []
    if str(target.resolve()) in files:
        raise DataSourceError(f"output: {str(path)!r} is a file that is read, and would be lost; name another")


def check_table_ending(path: str | Path) -> None:
    """Refuse a name that says the table is written in a way that it is not, before budget goes into it."""
    target = Path(path)
    if target.suffix.lower() == ".gz":
        raise DataSourceError(f"output: {str(path)!r} would not be compressed; name a .csv or .parquet file")
    if target.suffix and target.suffix.lower() not in WRITTEN:
        raise DataSourceError(
            f"output: a table is written as {', '.join(WRITTEN[:-1])} or {WRITTEN[-1]}, got {str(path)!r}; "
            f"try {str(target.with_suffix('.csv'))!r}"
        )
    if target.suffix.lower() == ".xlsx":
        workbook_package()


# Columns that an anonymous table passes on are read as coordinates on their declared axis and written from these. So
# only declared values leave: a name in a number column or an undeclared category is missing, a number beyond its bounds
# is the bound, and all spellings of a value are written alike.


def declared_type(column: Column) -> pa.DataType:
    """Return the Arrow type of the values of a declared column: it depends on the declaration alone."""
    if isinstance(column, Categorical):
        kinds = set(map(type, column.categories))
        return pa.bool_() if kinds == {bool} else pa.int64() if kinds == {int} else pa.large_string()
    if isinstance(column, (Date, Time, Code)):
        return pa.large_string()
    return pa.int64() if isinstance(column, Integer) else pa.float64()


def declared_values(column: Column, coordinates: FloatArray) -> pa.Array:
    """Write coordinates of a declared column as its values; missing ones as null."""
    missing, kind = np.isnan(coordinates), declared_type(column)
    if isinstance(column, Categorical):
        plain = column.categories if kind != pa.large_string() else [category_text(c) for c in column.categories]
        places = np.where(missing, 0, coordinates).astype(np.int64)
        return pa.array(plain, kind).take(pa.array(places, mask=missing))
    inside = np.clip(coordinates, column.low, column.high)
    if isinstance(column, (Date, Time, Code)):
        return (date_array(inside) if isinstance(column, Date) else column.array(inside)).cast(kind)
    # Adding 0.0 takes the sign off -0.0: equal numbers that are counted as one value are written alike.
    return pa.array(np.where(missing, 0.0, inside) + 0.0, mask=missing).cast(kind)
