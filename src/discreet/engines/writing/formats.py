"""Writers of tables for spreadsheets: CSV with the marks of a country, and workbooks with numbers, dates and texts.

A workbook is a ZIP file of XML (ECMA-376, ``workbook.toml``). Its bytes depend on the table alone. Every text is
written as a text, so that no spreadsheet runs it as a formula.
"""

import re
import tomllib
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Date, Domain, Time, dates
from discreet.core.schema import ENCODINGS
from discreet.errors import DataSourceError

#: Rows that a sheet can have, with that of the names.
_MOST_ROWS = 1 << 20
#: Excel counts days from here, and knows none before March 1900.
_FIRST_DAY, _SURE_DAY = -25_569, -25_508
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_TEXT = '<c{style} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


class WorkbookWriter:
    """Writes tables of one schema to a sheet. Columns of dates and times are found by type or declaration."""

    def __init__(self, file: Any, schema: pa.Schema, domain: Domain | None) -> None:
        around = tomllib.loads(files("discreet.engines.writing").joinpath("workbook.toml").read_text(encoding="utf-8"))
        self._zip = zipfile.ZipFile(file, "w")
        for name, text in around["parts"].items():
            self._zip.writestr(_entry(name), _HEAD + text)
        self._sheet = self._zip.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
        self._rows, self._declared = 1, {column.name: column for column in domain or ()}
        names = "".join(_TEXT.format(style=' s="3"', text=_plain(name)) for name in schema.names)
        begin = around["sheet"]["begin"].format(columns=max(len(schema.names), 1))
        self._end = around["sheet"]["end"]
        self._put(f"{_HEAD}{begin}<row>{names}</row>")

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""
        self._rows += table.num_rows
        if self._rows > _MOST_ROWS:
            raise DataSourceError(
                f"output: a sheet holds at most {_MOST_ROWS - 1:,} rows; name a .csv or .parquet file"
            )
        cells = [self._cells(name, table[name].combine_chunks()) for name in table.column_names]
        if table.num_rows:
            self._put("<row>" + "</row><row>".join(map("".join, zip(*cells, strict=True))) + "</row>")

    def _cells(self, name: str, column: pa.Array) -> list[str]:
        kind, declared = column.type, self._declared.get(name)
        if pa.types.is_boolean(kind):
            return ["<c/>" if v is None else f'<c t="b"><v>{v:d}</v></c>' for v in column.to_pylist()]
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            # A spreadsheet keeps doubles: longer whole numbers would change.
            return [
                "<c/>" if v is None or v - v else f"<c><v>{v}</v></c>" if v == float(v) else _cell(str(v))
                for v in column.to_pylist()
            ]
        texts = column.cast(pa.large_string())
        style, numbers = 0, np.full(len(texts), np.nan)
        if isinstance(declared, Time) or pa.types.is_time(kind):
            style, numbers = 2, dates.parse_seconds(texts.cast(pa.large_binary())) / 86_400
        elif isinstance(declared, Date) or pa.types.is_date(kind):
            style, numbers = 1, dates.parse_days(texts.cast(pa.large_binary()))
            numbers = np.where(numbers < _SURE_DAY, np.nan, numbers - _FIRST_DAY)
        words = texts.dictionary_encode()
        cells = np.array([*(_cell(text) for text in words.dictionary.to_pylist()), "<c/>"], object)
        found = cells[np.asarray(words.indices.fill_null(len(cells) - 1))]
        for i in np.flatnonzero(~np.isnan(numbers)).tolist():
            found[i] = f'<c s="{style}"><v>{numbers[i]:.15g}</v></c>'
        return found.tolist()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Finish the sheet and the file."""
        if self._zip.fp is not None:
            self._put(self._end)
            self._sheet.close()
            self._zip.close()

    def _put(self, text: str) -> None:
        self._sheet.write(text.encode("utf-8", "replace"))


def _entry(name: str) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)  # of 1980: the bytes do not depend on the day
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


def _cell(text: str) -> str:
    return _TEXT.format(style="", text=_plain(text))


def _plain(text: str) -> str:
    """Return a text as XML. It has no control characters: they become the replacement character."""
    return escape(_CONTROL.sub("\ufffd", text), {"\r": "&#13;"})


class DialectWriter:
    """Writes tables of one schema as CSV of another form: separator, decimal mark, ends of lines, encoding."""

    def __init__(self, file: Any, schema: pa.Schema, form: Mapping[str, Any]) -> None:
        self._file, self._mark = file, form.get("delimiter", ",")
        self._decimal, self._end = form.get("decimal", "."), "\r\n" if form.get("crlf") else "\n"
        self._encoding = ENCODINGS[form.get("encoding", "utf-8")]
        begin = "\ufeff" if form.get("bom") or self._encoding == "utf-16" else ""
        self._put(begin + self._mark.join(self._quoted(pa.array(schema.names, pa.large_string())).to_pylist()))

    def write_table(self, table: pa.Table) -> None:
        """Write some rows. A missing value is an empty field, and an empty text a quoted one."""
        fields = []
        for column in table.columns:
            texts = pc.cast(column, pa.large_string())
            if pa.types.is_floating(column.type):
                texts = pc.replace_substring(texts, ".", self._decimal)
            elif not pa.types.is_integer(column.type):
                texts = self._quoted(texts)
            fields.append(pc.fill_null(texts, '""' if table.num_columns == 1 else ""))
        if table.num_rows:
            joined = pc.binary_join_element_wise(*fields, pa.scalar(self._mark, pa.large_string()))
            self._put(self._end.join(joined.to_pylist()))

    def _quoted(self, texts: Any) -> Any:
        special = pc.match_substring_regex(texts, rf'["\r\n\{self._mark}]|^$|^\s|\s$')
        doubled = pc.replace_substring(texts, '"', '""')
        return pc.if_else(special, pc.replace_substring_regex(doubled, r"(?s)\A(.*)\z", r'"\1"'), texts)

    def _put(self, text: str) -> None:
        # Only the first piece begins with a mark.
        plain = "utf-16-le" if self._encoding == "utf-16" else self._encoding
        self._file.write((text + self._end).encode(plain, "replace"))

    def close(self) -> None:
        """Do nothing: the file is not ours."""
