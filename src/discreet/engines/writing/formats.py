"""Writers of tables for spreadsheets: CSV with the marks of a country, and workbooks with numbers, dates and texts.

The bytes of a workbook depend on the table alone. Every text is written as a text, so that no spreadsheet runs it as a
formula.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Date, Domain, Time, dates
from discreet.core.schema import ENCODINGS
from discreet.errors import DataSourceError, MissingExtra

#: Rows that a sheet can have, with that of the names.
_MOST_ROWS = 1 << 20
#: Excel counts days from here, and knows none before March 1900.
_FIRST_DAY, _SURE_DAY = -25_569, -25_508
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class WorkbookWriter:
    """Writes tables of one schema to a sheet. Columns of dates and times are found by type or declaration."""

    def __init__(self, file: Any, schema: pa.Schema, domain: Domain | None) -> None:
        self._book = workbook_package().Workbook(file, {"constant_memory": True})
        self._book.set_properties({"created": datetime.datetime(1980, 1, 1)})  # the bytes do not depend on the day
        self._sheet = self._book.add_worksheet("table")
        self._sheet.freeze_panes(1, 0)
        self._date, self._time = (self._book.add_format({"num_format": f}) for f in ("yyyy-mm-dd", "hh:mm:ss"))
        bold = self._book.add_format({"bold": True})
        for j, name in enumerate(schema.names):
            self._sheet.write_string(0, j, _plain(name), bold)
        self._rows, self._declared = 1, {column.name: column for column in domain or ()}

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""
        if self._rows + table.num_rows > _MOST_ROWS:
            self.close()
            raise DataSourceError(
                f"output: a sheet holds at most {_MOST_ROWS - 1:,} rows; name a .csv or .parquet file"
            )
        columns = [self._values(name, table[name].combine_chunks()) for name in table.column_names]
        styles = [style for style, _ in columns]
        for row in zip(*(values for _, values in columns), strict=True):  # the package takes one cell at a time
            for j, value in enumerate(row):
                if isinstance(value, str):
                    if self._sheet.write_string(self._rows, j, value):
                        self.close()
                        raise DataSourceError(
                            "output: a cell of a sheet holds at most 32,767 characters; name a .csv or .parquet file"
                        )
                elif isinstance(value, bool):
                    self._sheet.write_boolean(self._rows, j, value)
                elif value is not None:
                    self._sheet.write_number(self._rows, j, value, styles[j])
            self._rows += 1

    def _values(self, name: str, column: pa.Array) -> tuple[Any, list[Any]]:
        """Return the style of a column, and what its cells hold."""
        kind, declared = column.type, self._declared.get(name)
        if pa.types.is_boolean(kind):
            return None, column.to_pylist()
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            # A spreadsheet keeps doubles: longer whole numbers would change.
            numbers = column.to_pylist()
            return None, [None if v is None or v - v else v if v == float(v) else str(v) for v in numbers]
        texts = column.cast(pa.large_string())
        words: list[Any] = [None if text is None else _plain(text) for text in texts.to_pylist()]
        if isinstance(declared, Time) or pa.types.is_time(kind):
            style, moments = self._time, dates.parse_seconds(texts.cast(pa.large_binary())) / 86_400
        elif isinstance(declared, Date) or pa.types.is_date(kind):
            style, days = self._date, dates.parse_days(texts.cast(pa.large_binary()))
            moments = np.where(days < _SURE_DAY, np.nan, days - _FIRST_DAY)
        else:
            return None, words
        return style, [
            word if number != number else number for word, number in zip(words, moments.tolist(), strict=True)
        ]

    def close(self) -> None:
        """Finish the sheet and the file."""
        if not self._book.fileclosed:
            self._book.close()


def workbook_package() -> Any:
    """Import the package that writes workbooks, or name the extra that brings it."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("writing a workbook", "excel") from None
    return xlsxwriter


def _plain(text: str) -> str:
    """Return a text without control characters, which XML cannot hold: they become the replacement character."""
    return _CONTROL.sub("\ufffd", text)


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
        try:
            self._file.write((text + self._end).encode(plain))
        except UnicodeEncodeError as error:
            sign = text[error.start : error.start + 1]
            raise DataSourceError(
                f"output: {sign!r} cannot be written in {self._encoding}, the encoding of the input; use --csv-dialect "
                "plain or excel-de"
            ) from None

    def close(self) -> None:
        """Do nothing: the file is not ours."""
