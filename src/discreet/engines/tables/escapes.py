"""Formats of tables for spreadsheets: marks of a country in CSV files, and texts that are not run as formulas.

A spreadsheet runs a CSV cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return. After an apostrophe it is
shown as text. Numbers such as ``-5`` stay. A text that begins with apostrophes and then like a formula gets one more,
so removing one restores every text. The guarantee file states whether texts were escaped (`FACT`), and how a CSV file
is written if it is not the usual way; readers of our files go by it.
"""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Domain, Guarantee, checks, promise_place
from discreet.core.schema import ENCODINGS, Dialect, read_dialect
from discreet.engines.tables.text_kernels import Field
from discreet.errors import DiscreetError, InvalidArgument, SchemaError

#: What a promise says of a file whose texts were escaped.
FACT = {"formulas": "escaped"}
#: CSV for spreadsheets, by the marks of a country.
_EXCEL = {
    "excel-de": {"delimiter": ";", "decimal": ",", "bom": True, "crlf": True},
    "excel-en": {"bom": True, "crlf": True},
}
#: Names of formats of CSV files: as the input, as programs write them, or for a spreadsheet.
CSV_DIALECTS = ("input", "plain", *_EXCEL)
_READ = ("delimiter", "decimal", "encoding")
_BEGIN = r"^('*[=+\-@\t\r])"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_APOSTROPHE, _FORMULA = ord("'"), frozenset(b"=+-@\t\r")


def format_facts(
    path: str | Path, domain: Domain | None, escape_formulas: bool = False, csv_dialect: str = "input"
) -> dict[str, Any]:
    """Return what a guarantee states about the format of a file; refuse a format that does not fit the file."""
    suffix, name = Path(path).suffix.lower(), checks.choice("csv_dialect", csv_dialect, CSV_DIALECTS)
    for option, value in (("escape_formulas", escape_formulas), ("csv_dialect", name in _EXCEL and name)):
        if value and suffix in (".parquet", ".pq", ".xlsx"):
            raise InvalidArgument(option, value, f"used with a CSV file, and not with {suffix}", "leaving it out")
    if suffix in (".parquet", ".pq", ".xlsx"):
        return {}
    form = _like_input(domain) if name == "input" else _EXCEL.get(name, {})
    escapes = escape_formulas or name in _EXCEL
    odd = [column.name for column in domain or () if column.name[0] in "=+-@'"]
    if odd and escapes:
        raise SchemaError(f"column {odd[0]!r} begins like a formula, and names are not escaped; give it another name")
    return {**(FACT if escapes else {}), **({"csv": form} if form else {})}


def _like_input(domain: Domain | None) -> dict[str, Any]:
    """Return how the declared table is written, as far as it is unusual. Commas do not separate decimal commas."""
    if domain is None or domain.source == Dialect():
        return {}
    source = domain.source
    form = {"delimiter": ";" if source.delimiter == source.decimal else source.delimiter, "decimal": source.decimal}
    with suppress(UnicodeEncodeError):
        for column in domain:
            json.dumps(column.to_dict(), ensure_ascii=False, default=str).encode(ENCODINGS[source.encoding])
        form["encoding"] = source.encoding
    return {key: value for key, value in form.items() if value != getattr(Dialect, key)}


def with_format(
    guarantee: Guarantee,
    path: str | Path,
    escape_formulas: bool = False,
    csv_dialect: str = "input",
    booking: Any = None,
) -> Guarantee:
    """Return the guarantee of a file; it states the format, and the account where it is booked."""
    facts = format_facts(path, guarantee.domain, escape_formulas, csv_dialect)
    facts |= {} if booking is None else {"account": booking.facts}
    return replace(guarantee, parameters={**guarantee.parameters, **facts}) if facts else guarantee


def format_of(path: Path) -> tuple[Dialect, bool]:
    """Return how a released file is written and whether texts are escaped, by its guarantee or that of its folder."""
    for place in (path, path.absolute().parent):
        try:
            facts = dict(json.loads(promise_place(place).read_bytes())["parameters"])
            known = {key: value for key, value in facts.get("csv", {}).items() if key in _READ}
            return read_dialect(known), FACT.items() <= facts.items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DiscreetError):
            continue  # `discreet audit` says what is wrong with a promise
    return Dialect(), False


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
