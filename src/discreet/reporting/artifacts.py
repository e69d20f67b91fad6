"""The kind of a file, from its first bytes, its metadata and its neighbours."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet.anonymity.release import META as RECORD
from discreet.core import PROMISE_ENDING, Categorical, Code, Domain, promise_place
from discreet.engines import PARQUET
from discreet.engines.tables import format_of, sheet_as_csv, unescaped
from discreet.errors import FormatError
from discreet.local.wire import BITMAP, MAGIC, REPORTS
from discreet.synopses import CHECKSUM_MARK
from discreet.synopses import FACTS as SYNOPSIS

_PARQUET_MAGIC = b"PAR1"


def kind_of(path: Path) -> str:
    """Return the kind of a file; empty for one that is not of ours, such as CSV.

    A "released table" has its promise next to it; "table" is other Parquet; a damaged Parquet file is a "synopsis".
    """
    described = path.parent / path.name.removesuffix(PROMISE_ENDING)
    if path.name.endswith(PROMISE_ENDING) and described != path.parent and described.exists():
        return "promise of a table"
    if promise_place(path).is_file():
        return "released table"
    with path.open("rb") as file:
        head = file.read(64)
        end = file.seek(0, os.SEEK_END)  # the file may be larger than memory
        file.seek(max(end - 4, 0))
        tail = file.read()
    if head.startswith(MAGIC):
        return {REPORTS: "reports", BITMAP: "bitmap"}.get(head[5] if len(head) > 5 else 0, "counts")
    if _PARQUET_MAGIC in (head[:4], tail):
        return _of_parquet(path)
    return "promise" if head.lstrip()[:1] == b"{" else "job" if path.suffix.lower() == ".toml" else ""


def _of_parquet(path: Path) -> str:
    try:
        named = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, OSError):
        data = path.read_bytes()
        whole = data[:4] == data[-4:] == _PARQUET_MAGIC
        # A reader of synopses says what is damaged.
        return "synopsis" if not whole or SYNOPSIS + b"\x18" in data or CHECKSUM_MARK in data else "table"
    made = SYNOPSIS in named or any(value.startswith(CHECKSUM_MARK) for value in named.values())
    return "record" if RECORD in named else "synopsis" if made else "table"


def read_released(path: Path, domain: Domain | None) -> pa.Table:
    """Read a released table. Categories are texts: as a number, 01234 would be another category."""
    texts = {c.name: pa.string() for c in domain or () if isinstance(c, (Categorical, Code))}
    form, marked = format_of(path)
    options = pa_csv.ConvertOptions(
        column_types=texts, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
        decimal_point=form.decimal,
    )  # fmt: skip
    read, parse = pa_csv.ReadOptions(encoding=form.encoding), pa_csv.ParseOptions(delimiter=form.delimiter)
    try:
        if path.suffix.lower() in PARQUET:
            table = pq.read_table(path)
        else:
            files: list[Any] = sorted(path.glob("part-*")) if path.is_dir() else [path]
            if path.suffix.lower() == ".xlsx":
                files = [sheet_as_csv(path)]
            table = pa.concat_tables([pa_csv.read_csv(file, read, parse, options) for file in files])
        unread = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        # Arrow's messages quote the row.
        said = "it is damaged, or its rows do not all have the same columns"
        raise FormatError(f"{path.name} cannot be read as a table: {said}") from None
    if unread or len(set(table.column_names)) < table.num_columns:
        said = "bytes that are not UTF-8" if unread else "several columns of one name"
        raise FormatError(f"{path.name} cannot be read as a table: it holds {said}")
    return unescaped(table) if marked else table
