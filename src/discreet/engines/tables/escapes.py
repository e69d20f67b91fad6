"""Texts that a spreadsheet would run as formulas: an apostrophe is put before them, and removed when read.

A spreadsheet runs a CSV cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return. After an apostrophe it is
shown as text. Numbers such as ``-5`` stay. A text that begins with apostrophes and then like a formula gets one more,
so removing one restores every text. The guarantee file states whether texts were escaped (`FACT`).
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Domain, Guarantee, promise_place
from discreet.engines.tables.text_kernels import Field
from discreet.errors import InvalidArgument, SchemaError

#: What a promise says of a file whose texts were escaped.
FACT = {"formulas": "escaped"}
_BEGIN = r"^('*[=+\-@\t\r])"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_APOSTROPHE, _FORMULA = ord("'"), frozenset(b"=+-@\t\r")


def check_escapes(path: str | Path, domain: Domain | None, wanted: bool) -> None:
    """Refuse a file other than CSV, and names of columns that begin like formulas, where texts are to be escaped."""
    if not wanted:
        return
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        expected = "used with a CSV file: no spreadsheet runs what a Parquet file holds"
        raise InvalidArgument("escape_formulas", True, expected, "leaving it out")
    odd = [column.name for column in domain or () if column.name[0] in "=+-@'"]
    if odd:
        raise SchemaError(f"column {odd[0]!r} begins like a formula, and names are not escaped; give it another name")


def with_escapes(guarantee: Guarantee, path: str | Path, wanted: bool) -> Guarantee:
    """Return the guarantee of a file; it states whether texts are escaped."""
    check_escapes(path, guarantee.domain, wanted)
    return replace(guarantee, parameters={**guarantee.parameters, **FACT}) if wanted else guarantee


def are_escaped(guarantee: Guarantee | None) -> bool:
    """Return whether a promise says that texts are escaped."""
    return guarantee is not None and FACT.items() <= dict(guarantee.parameters).items()


def file_is_escaped(path: Path) -> bool:
    """Return whether the guarantee of a file, or of the folder that it is part of, states that texts are escaped."""
    for place in (path, path.absolute().parent):
        try:
            return FACT.items() <= dict(json.loads(promise_place(place).read_bytes())["parameters"]).items()
        except (OSError, ValueError, KeyError, TypeError):
            continue  # `discreet audit` says what is wrong with a promise
    return False


def escaped(table: pa.Table) -> pa.Table:
    """Put an apostrophe before texts that a spreadsheet would run."""

    def mark(texts: Any) -> Any:
        number = pc.fill_null(pc.match_substring_regex(texts, _NUMBER), True)
        return pc.if_else(number, texts, pc.replace_substring_regex(texts, _BEGIN, r"'\1"))

    return _changed(table, mark)


def unescaped(table: pa.Table) -> pa.Table:
    """Undo `escaped`."""
    return _changed(table, lambda texts: pc.replace_substring_regex(texts, "^'" + _BEGIN[1:], r"\1"))


def _changed(table: pa.Table, change: Any) -> pa.Table:
    for i, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            table = table.set_column(i, name, change(column))
    return table


def unescaped_field(piece: Field) -> Field:
    """Undo `escaped` in a field of a text file: its texts begin behind the apostrophe."""
    starts = piece.starts.copy()
    held = np.flatnonzero(piece.ends - starts > 1)
    for row in held[piece.block[starts[held]] == _APOSTROPHE].tolist():
        text = piece.block[starts[row] : piece.ends[row]].tobytes().lstrip(b"'")
        starts[row] += bool(text) and text[0] in _FORMULA
    return replace(piece, starts=starts)


class EscapingWriter:
    """A writer of tables that escapes their texts."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write_table(self, table: pa.Table) -> None:
        self._writer.write_table(escaped(table))

    def close(self) -> None:
        self._writer.close()
