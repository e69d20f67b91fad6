"""Tables and queries of SQLite and PostgreSQL, streamed as Arrow by ADBC.

Every query runs inside another, ``select ... from (query)``, in a read-only transaction: it cannot change the database,
only the needed columns are sent, and all passes see the same rows. SQLite has types for values only; each value is read
as a cell of a workbook is. Error messages of the database may quote a row or a password, so they are not repeated.
"""

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.schema import Address, Dialect
from discreet.engines.tables.encode import Encoder, column_kind
from discreet.engines.tables.formats.cells import Cells
from discreet.engines.tables.part import Batch, Part
from discreet.engines.tables.text_numbers import numbers_of_text
from discreet.errors import DataSourceError, MissingExtra

#: Rows that SQLite sends at a time.
_ROWS = 1 << 15
_LIMITS = "'0001-01-01' and '9999-12-31'"
#: What PostgreSQL calls numbers of any length.
_LONG = ("numeric", "money")


class _Database(Part):
    """Common part of both databases: one connection, one transaction, one query."""

    slow = True
    #: What is said in the transaction, which drivers begin by themselves, before anything is asked.
    _first: tuple[str, ...] = ()

    def __init__(self, address: Address) -> None:
        self.label = f"table {address.table!r} of the database" if address.table else "the query"
        asked = f"select * from {_quoted(address.table)}" if address.table else address.query.strip().rstrip("; \n\t")
        # On lines of its own: the query may end in a comment.
        self._rows = f"from (\n{asked}\n) as discreet_rows"
        driver, place = self._driver(address)
        self._wrong = (driver.Error, pa.ArrowException, OSError, RuntimeError, ValueError)
        try:
            self._connection = driver.connect(place)
        except self._wrong:
            what = f"the file {address.uri!r}" if address.kind == "sqlite" else "host, name, user and password"
            raise DataSourceError(f"data: the database cannot be opened; check {what}") from None
        weakref.finalize(self, _closed, self._connection)
        for text in self._first:
            with self._asking() as cursor:
                cursor.execute(text)
        with self._ask(f"select * {self._rows} limit 0") as reader:
            self._schema: pa.Schema = reader.schema
            self.names = tuple(self._schema.names)  # which may not be text

    def _driver(self, address: Address) -> tuple[Any, str]:
        raise NotImplementedError

    @contextlib.contextmanager
    def _ask(self, text: str) -> Iterator[Any]:
        with self._asking() as cursor:
            self._prepare(cursor)
            cursor.execute(text)
            yield cursor.fetch_record_batch()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Any]:
        cursor = self._connection.cursor()
        try:
            yield cursor
        except self._wrong as error:
            if isinstance(error, DataSourceError):
                raise
            raise DataSourceError(
                f"data: {self.label} cannot be read; try it in a client of the database (what the database says of it "
                "is not shown here, because it may quote a row)"
            ) from None
        finally:
            with contextlib.suppress(*self._wrong):
                cursor.close()

    def _prepare(self, cursor: Any) -> None:
        """Say how rows are to be sent."""

    def _answers(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._ask(f"select {', '.join(wanted) or '1'} {self._rows}") as reader:
            yield from reader


class SqliteTable(_Database):
    """A table or query of SQLite, in which every value has a type of its own."""

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        wanted = [text for p in positions for text in _typed(_name(self.names[p]))]
        for batch in self._answers(wanted):
            columns = batch.columns
            yield [_cells(*columns[3 * k : 3 * k + 3]) for k in range(len(positions))], batch.num_rows

    def _driver(self, address: Address) -> tuple[Any, str]:
        try:
            from adbc_driver_sqlite import dbapi
        except ImportError:
            raise MissingExtra("reading SQLite", "sql") from None
        return dbapi, f"file:{quote(str(Path(address.uri).expanduser()))}?mode=ro"  # else one would be made

    def _prepare(self, cursor: Any) -> None:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS)})


class PostgresTable(_Database):
    """A table or query of PostgreSQL."""

    _first = ("set transaction isolation level repeatable read, read only",)

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self.kind(position)
        numeric = self._stored(position) in _LONG
        encoder.check("float" if numeric else column_kind(kind), "numeric" if numeric else kind, self.label)

    def kind(self, position: int) -> pa.DataType:
        """Return the type of a column, as its values are passed on."""
        kind = self._schema.field(position).type
        return kind if self._plain(position) else pa.large_string()

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        long = [self._stored(p) in _LONG for p in positions]
        for batch in self._answers([self._column(p) for p in positions]):
            pieces = zip(batch.columns[: len(positions)], long, strict=True)
            yield [_numbers(piece) if is_long else piece for piece, is_long in pieces], batch.num_rows

    def _driver(self, address: Address) -> tuple[Any, str]:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise MissingExtra("reading PostgreSQL", "sql") from None
        return dbapi, address.uri

    def _stored(self, position: int) -> str:
        said = (self._schema.field(position).metadata or {}).get(b"POSTGRESQL:type", b"")
        return str(said.decode())

    def _plain(self, position: int) -> bool:
        """Return whether values of a column can be sent as they are."""
        kind = self._schema.field(position).type
        simple = column_kind(kind) in ("bool", "int", "float", "date") or pa.types.is_string(kind)
        return simple and self._stored(position) not in _LONG

    def _column(self, position: int) -> str:
        name = _name(self.names[position])
        if self._stored(position) in _LONG:
            return f"{name}::numeric::text"
        if not self._plain(position):
            return f"{name}::text"
        dated = column_kind(self._schema.field(position).type) == "date"
        return f"case when {name} between {_LIMITS} then {name} end" if dated else name


def database(address: Address) -> SqliteTable | PostgresTable:
    return SqliteTable(address) if address.kind == "sqlite" else PostgresTable(address)


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _quoted(table: str) -> str:
    """Quote the name of a table, perhaps with that of its schema."""
    return ".".join(map(_name, table.split(".")))


def _typed(name: str) -> tuple[str, str, str]:
    """Return the SQLite expressions for a column: kind, number and text of each value."""
    kind = f"typeof({name})"
    return (
        f"case {kind} when 'integer' then 1 when 'real' then 1 when 'text' then 2 else 0 end",
        f"case when {kind} in ('integer', 'real') then cast({name} as real) else 0.0 end",
        # Whole numbers with all their digits: who is numbered so is not to be taken for somebody else.
        f"case {kind} when 'text' then {name} when 'integer' then cast({name} as text) else '' end",
    )


def _cells(kinds: pa.Array, numbers: pa.Array, texts: pa.Array) -> Cells:
    kind = kinds.to_numpy()
    numeric = kind == 1
    written = texts.cast(pa.large_binary())
    kept = pa.array((kind == 2) | (numeric & (pc.binary_length(written).to_numpy() > 0)))
    return Cells(np.where(numeric, numbers.to_numpy(), np.nan), numeric, pc.if_else(kept, written, None))


def _numbers(digits: pa.Array) -> Cells:
    """Read numbers that were sent as their digits, whatever marks are declared for texts."""
    texts = digits.cast(pa.large_binary())
    numbers = numbers_of_text(texts, Dialect())
    return Cells(numbers, ~np.isnan(numbers), texts)


def _closed(connection: Any) -> None:
    with contextlib.suppress(Exception):
        connection.close()
