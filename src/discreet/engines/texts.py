"""Columns of files as text, in batches: what a telemetry client reads. Local privacy needs values, not counts.

A value of any type is read as its text, so the same values give the same reports from every kind of file. No row causes
an error.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core import Meter
from discreet.core.schema import Dialect
from discreet.engines.opening import open as open_table
from discreet.engines.tables.encode import arrow_kind
from discreet.engines.tables.formats.cells import Cells, Labelled
from discreet.engines.tables.part import Part, is_typed, near_names
from discreet.engines.tables.text_kernels import Field
from discreet.engines.tables.texts import as_text
from discreet.engines.writing.shuffled import even_tables
from discreet.errors import DataSourceError, SchemaError

BATCH_SIZE = 2**16
_LINES = (".txt", ".text", ".lines")
_BLOCK = 1 << 22


def texts(path: str | Path, columns: Sequence[str] = (), *, dialect: Dialect | None = None) -> Iterator[list[pa.Array]]:
    """Yield the named columns in batches, as Arrow text.

    ``path`` is a table, a folder or pattern of tables, or a text file (``.txt``) with one value per line; with a
    dialect, a text file is a table too. ``columns`` may be left out if the file has one column. What can be checked
    without rows is checked at once: the file and its columns.
    """
    if dialect is None and str(path).lower().endswith(_LINES):
        if len(columns) > 1:
            raise SchemaError(f"a text file has one column, not {len(columns)}; use CSV or Parquet for more")
        file = Path(path).expanduser()
        try:
            if not file.is_fifo():  # which may be opened once
                file.open("rb").close()
        except OSError as error:
            raise _unread(file, error) from None
        batches = _lines(file)
    else:
        batches = _read(_parts(path, columns, dialect))
    # Of one size, whatever the file's own: a seeded client must not depend on the kind of file.
    tables = (pa.table(batch, names=list(map(str, range(len(batch))))) for batch in batches)
    even = even_tables(tables, size=BATCH_SIZE)
    return ([column.combine_chunks() for column in table.columns] for table in even if table.num_rows)


def _parts(path: str | Path, columns: Sequence[str], dialect: Dialect | None) -> list[tuple[Part, list[int]]]:
    """Return the files of a table, and the places of the columns in each."""
    source = open_table(str(path), dialect=dialect)
    names = tuple(columns) or source.names
    if not columns and len(names) != 1:
        raise SchemaError(f"data has {len(names)} columns; name the one that holds the values", column="NAME")
    jobs = []
    for part in source.parts:
        if any(name not in part.names for name in names):
            odd = next(name for name in names if name not in part.names)
            marks = [mark for mark in ";\t|" if len(part.names) == 1 and odd in _parted(part.names[0], mark)]
            if marks and dialect is None:
                raise SchemaError(
                    f"{part.label} has no column {odd!r}: fields of its first line are separated by {marks[0]!r}; "
                    "write commas or a .txt file with one value per line, or give a schema to a verb that takes one"
                )
            near = near_names(part, [odd], names)
            raise SchemaError(f"{part.label} has no column {odd!r}{near or '; check the name and the header'}")
        places = [part.names.index(name) for name in names]
        if is_typed(part):
            for place in places:
                kind = part.kind(place)
                if arrow_kind(kind) == "other":
                    raise SchemaError(
                        f"column {part.names[place]!r} of {part.label} has type {kind}; convert it to text"
                    )
        jobs.append((part, places))
    return jobs


def _read(jobs: list[tuple[Part, list[int]]]) -> Iterator[list[pa.Array]]:
    with Meter(sum(part.size() for part, _ in jobs)) as meter:
        for part, places in jobs:
            for pieces, amount in part.read(places, BATCH_SIZE):
                yield [_as_text(piece) for piece in pieces]
                meter.advance(amount)


def _parted(line: str, mark: str) -> list[str]:
    return [name.strip(' "') for name in line.split(mark)]


def _as_text(piece: Any) -> pa.Array:
    if isinstance(piece, (Field, Cells, Labelled)):
        return piece.text().view(pa.large_string())
    if pa.types.is_dictionary(piece.type):
        piece = piece.dictionary_decode()
    if arrow_kind(piece.type) == "text":
        # Not a checked cast: bytes that are not UTF-8 are a value like any other.
        return piece.cast(pa.large_binary()).view(pa.large_string())
    return as_text(piece)


def _lines(path: Path) -> Iterator[list[pa.Array]]:
    try:
        with path.open("rb") as file, Meter(path.stat().st_size) as meter:
            kept, mark = b"", BOM_UTF8
            while block := file.read(_BLOCK):
                body, newline, kept_next = (kept + block.removeprefix(mark)).rpartition(b"\n")
                kept, mark = kept_next, b""
                meter.advance(len(block))
                if newline:
                    yield [_split(body)]
            if kept:
                yield [_split(kept)]
    except OSError as error:
        raise _unread(path, error) from None


def _unread(path: Path, error: OSError) -> DataSourceError:
    return DataSourceError(f"data: cannot read {str(path)!r} ({error.strerror}); check the path")


def _split(body: bytes) -> pa.Array:
    """Cut a block at its line ends; the carriage return of Windows is part of the line end."""
    lines = body.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")
    return pa.array(lines, pa.large_binary()).view(pa.large_string())
