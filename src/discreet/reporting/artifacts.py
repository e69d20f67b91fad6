"""The kind of a file, from its first bytes, its metadata and its neighbours."""

import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet.anonymity.release import META as RECORD
from discreet.anonymity.risk import PROMISE_KEY
from discreet.core import PROMISE_ENDING, Categorical, Code, Domain, promise_place, read_json
from discreet.core.schema import Dialect
from discreet.engines import PARQUET
from discreet.engines.tables import format_of, sheet_as_csv, unescaped
from discreet.errors import FormatError
from discreet.local.wire import BITMAP, MAGIC, REPORTS
from discreet.synopses import CHECKSUM_MARK
from discreet.synopses import FACTS as SYNOPSIS

_PARQUET_MAGIC = b"PAR1"
#: Metadata of a released table.
_METADATA = {b"ARROW:schema", PROMISE_KEY.encode()}
#: What must be the same in the promise inside of a Parquet file and in the one next to it.
_PROMISED = ("model", "epsilon", "delta", "accounting", "spent", "unit", "neighbours", "ledger", "seeded")
#: Parts of a workbook with one sheet.
_WORKBOOK = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(core|app)\.xml|"
    r"xl/((_rels/)?workbook\.xml(\.rels)?|(styles|sharedStrings|metadata)\.xml|theme/theme1\.xml|worksheets/sheet1\.xml)"
)


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


def _check_parquet(path: Path) -> None:
    """Refuse Parquet that holds more than the table: other metadata, another promise, or bytes that no column reads."""
    place = promise_place(path)
    beside = read_json(place.read_bytes()) if place.is_file() else {}
    for file in sorted(path.glob("part-*")) if path.is_dir() else [path]:
        facts = pq.read_metadata(file)
        groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
        used = sum(g.column(i).total_compressed_size for g in groups for i in range(facts.num_columns))
        held = facts.metadata or {}
        other = [name for name in held if name not in _METADATA]
        if other or used + facts.serialized_size + 12 != file.stat().st_size:
            raise FormatError(f"{path.name} holds more than a table: data that its rows do not show")
        try:
            inside = read_json(held.get(PROMISE_KEY.encode(), b"{}"))
            same = all(inside.get(name, beside.get(name)) == beside.get(name) for name in _PROMISED if beside)
        except (ValueError, AttributeError, RecursionError):
            same = False
        if not same:
            raise FormatError(f"{path.name} has another promise inside than next to it")


def _check_workbook(path: Path) -> None:
    """Refuse a workbook that holds more than one sheet of cells."""
    with zipfile.ZipFile(path) as book:
        parts = book.infolist()
    starts = min((part.header_offset for part in parts), default=1)
    if starts or any(not _WORKBOOK.fullmatch(part.filename) for part in parts):
        raise FormatError(f"{path.name} holds more than one table: other sheets, comments or files")


def known_dialect(stated: Any) -> bool:
    """Return whether a promise states a form of CSV that everyone reads alike."""
    if not isinstance(stated, Mapping) or set(stated) - {"delimiter", "decimal", "encoding", "bom", "crlf"}:
        return False
    mark, decimal = stated.get("delimiter", ","), stated.get("decimal", ".")
    known = stated.get("encoding", "utf-8") in ("utf-8", "utf-16", "latin-1", "windows-1252") and decimal in (".", ",")
    return known and isinstance(mark, str) and len(mark) == 1


def _mixed(tables: Sequence[pa.Table]) -> dict[str, pa.DataType]:
    """Return the columns that are texts in some parts and not in others, as texts."""
    kinds: dict[str, set[pa.DataType]] = {}
    for name, kind in ((f.name, f.type) for part in tables for f in part.schema if not pa.types.is_null(f.type)):
        kinds.setdefault(name, set()).add(kind)
    numbers = {pa.int64(), pa.float64()}
    return {name: pa.string() for name, found in kinds.items() if len(found) > 1 and not found <= numbers}


def read_released(path: Path, domain: Domain | None) -> pa.Table:
    """Read a released table. Categories are texts: as a number, 01234 would be another category."""
    texts = {c.name: pa.string() for c in domain or () if isinstance(c, (Categorical, Code))}
    form, marked = format_of(path)
    try:
        if path.suffix.lower() in PARQUET:
            _check_parquet(path)
            table = pq.read_table(path)
        else:
            tables = _read_csv(path, form, texts)
            if mixed := _mixed(tables):  # the type of a column is that of all its parts
                tables = _read_csv(path, form, {**texts, **mixed})
            table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
            if any(part.column_names != table.column_names for part in tables):
                raise OSError
        unread = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    except (pa.ArrowException, OSError, UnicodeDecodeError, zipfile.BadZipFile):
        # Arrow's messages quote the row.
        said = "it is damaged, or its rows do not all have the same columns"
        raise FormatError(f"{path.name} cannot be read as a table: {said}") from None
    if unread or len(set(table.column_names)) < table.num_columns:
        said = "bytes that are not UTF-8" if unread else "several columns of one name"
        raise FormatError(f"{path.name} cannot be read as a table: it holds {said}")
    return unescaped(table) if marked else table


def _read_csv(path: Path, form: Dialect, types: Mapping[str, pa.DataType], only: Sequence[str] = ()) -> list[pa.Table]:
    """Read the files of a table; ``only`` are the columns to read, all if there are none."""
    options = pa_csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
        decimal_point=form.decimal, include_columns=only,
    )  # fmt: skip
    read = pa_csv.ReadOptions(encoding=form.encoding)
    parse = pa_csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True)
    files: list[Any] = sorted(path.glob("part-*")) if path.is_dir() else [path]
    if path.suffix.lower() == ".xlsx":
        _check_workbook(path)
        files = [sheet_as_csv(path)]
    return [pa_csv.read_csv(file, read, parse, options) for file in files]


def as_written(path: Path, table: pa.Table) -> pa.Table:
    """Return a table with texts in the columns where a reader of the file sees cells apart that have one value here.

    Such as numbers that no double holds apart, NaN and nan, or two forms of one moment. Rows with them are not alike.
    """
    is_ = pa.types
    doubtful = [
        f.name for f in table.schema if is_.is_floating(f.type) or is_.is_boolean(f.type) or is_.is_temporal(f.type)
    ]
    if not doubtful or path.suffix.lower() in PARQUET:
        return table
    form, _ = format_of(path)
    written = pa.concat_tables(_read_csv(path, form, dict.fromkeys(doubtful, pa.string()), doubtful))
    mark = re.escape(form.decimal)
    number = re.compile(rf"[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]{{1,4}})?")
    for name in doubtful:
        here, cells = pc.unique(table[name].drop_null()), pc.unique(written[name].drop_null()).to_pylist()
        if len(cells) > len(here):
            numbers = all(number.fullmatch(text.strip(" ")) for text in cells)
            values = [Fraction(text.strip(" ").replace(form.decimal, ".")) if numbers else text for text in cells]
            if len(set(values)) > len(here):
                first = dict(reversed([*zip(values, cells, strict=True)]))
                known = {text: first[value] for value, text in zip(values, cells, strict=True)}
                texts = pa.array([known.get(text) for text in written[name].to_pylist()], pa.string())
                table = table.set_column(table.column_names.index(name), name, texts)
    return table
