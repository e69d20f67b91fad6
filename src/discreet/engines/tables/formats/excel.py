"""Workbooks: .xlsx, .xls, .xlsb and .ods, read by calamine. One sheet is a table.

The first row with any content (after skipped ones) names the columns. No value decides the type of a column: a cell
that does not fit its column is missing. A row without any cell is not a row. A sheet is held in memory.
"""

import csv
import io
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from discreet.core.schema import Dialect, toml_value
from discreet.engines.tables.formats.cells import Cells, cells_of
from discreet.engines.tables.part import Batch, Part, distinct_names
from discreet.engines.tables.texts import text_of
from discreet.errors import DataSourceError, MissingExtra

#: Rows turned into Python's objects at a time.
_ROWS = 1 << 14


class _Sheet:
    """The cells of a sheet, and the columns that were asked for."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells
        self.columns: dict[tuple[object, ...], list[Cells]] = {}


#: Sheets that some table still holds, so that one that is opened again is not read again.
_HELD: WeakValueDictionary[tuple[object, ...], _Sheet] = WeakValueDictionary()


@contextmanager
def _book(path: Path) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Open a workbook: the names of its sheets of cells, and of those that are not hidden."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtra(f"reading {path.suffix.lower()} files", "excel") from None
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        sheets = [m for m in book.sheets_metadata if m.typ == calamine.SheetTypeEnum.WorkSheet]
        shown = [m.name for m in sheets if m.visible == calamine.SheetVisibleEnum.Visible]
        yield book, [m.name for m in sheets], shown
    except (calamine.CalamineError, OSError, ValueError):
        what = "a workbook (an encrypted one is not read)"
        raise DataSourceError(f"data: file {str(path)!r} cannot be read as {what}; check the file") from None


def sheets_of(path: Path) -> list[str]:
    """Return the names of the sheets that a workbook shows."""
    with _book(path) as (_, sheets, shown):
        return shown or sheets


def sheet_as_csv(path: Path) -> io.BytesIO:
    """Return the only sheet of a workbook as a CSV file, for readers of those; missing cells are empty."""
    with _book(path) as (book, sheets, _):
        rows = book.get_sheet_by_name(sheets[0]).to_python(skip_empty_area=False)
    lines = [[(text_of(cell) or b"").decode("utf-8", "replace") for cell in row] for row in rows]
    made = io.StringIO()
    csv.writer(made).writerows(lines)
    return io.BytesIO(made.getvalue().encode())


class ExcelTable(Part):
    """One sheet of a workbook, read by ``sheet``, ``skip``, ``header`` and ``names`` of the dialect."""

    slow = True

    def __init__(self, path: Path, dialect: Dialect | None = None) -> None:
        self.label = f"file {str(path)!r}"
        self.dialect = dialect or Dialect()
        self.path = path
        facts = path.stat()
        key = (str(path), facts.st_size, facts.st_mtime_ns, self.dialect.sheet)
        held = _HELD.get(key)
        self._held = _Sheet(self._opened()) if held is None else held
        _HELD[key] = self._held
        self._sheet = self._held.cells
        self._header()
        #: Whether the names were read from a first row, which may be a record after all: then no error quotes them.
        self.headed = self.dialect.header and not self.dialect.names

    def size(self) -> int:
        return int(self._sheet.total_height)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        self._convert([p for p in dict.fromkeys(positions) if self._key(p) not in self._held.columns])
        columns = [self._held.columns[self._key(p)] for p in positions]
        for pieces in zip(*columns, strict=True):
            yield list(pieces), len(pieces[0].numbers)

    def _key(self, position: int) -> tuple[object, ...]:
        return self._body, self._place, self._width, position

    def _convert(self, positions: Sequence[int]) -> None:
        """Take the cells of some columns over; the sheet is in memory as a whole, so they are kept."""
        if not positions:
            return
        rows = islice(self._sheet.iter_rows(), self._body, None)
        first, last = self._place, self._place + self._width
        found: list[list[Cells]] = [[] for _ in positions]
        while some := list(islice(rows, _ROWS)):
            if self._pad:
                some = [[""] * self._pad + row for row in some]
            blank = [""] * len(some[0][first:last])
            kept = [row for row in some if row[first:last] != blank]
            for pieces, position in zip(found, positions, strict=True):
                place = first + position
                wide = place < len(some[0])  # all rows of a sheet are equally wide
                pieces.append(cells_of([row[place] for row in kept] if wide else [""] * len(kept)))
        self._held.columns.update({self._key(p): pieces for p, pieces in zip(positions, found, strict=True)})

    def _opened(self) -> Any:
        """Open the sheet that is declared, or the only one."""
        with _book(self.path) as (book, sheets, shown):
            wanted = self.dialect.sheet
            if not wanted and len(open_ones := shown or sheets) == 1:
                wanted = open_ones[0]
            if wanted in sheets:
                return book.get_sheet_by_name(wanted)
        if not sheets:
            raise DataSourceError(f"data: {self.label} has no sheet of cells; name another file")
        said = f"has no sheet {wanted!r} but" if wanted else "has several sheets:"
        listed = ", ".join(map(repr, sheets[:20])) + (", ..." if len(sheets) > 20 else "")
        first = (shown or sheets)[0]
        fix = f"declare sheet = {toml_value(first)} under [source], or draft a schema with --sheet {shlex.quote(first)}"
        raise DataSourceError(f"data: {self.label} {said} {listed}; {fix}")

    def _header(self) -> None:
        """Find the names, and where the table begins, by the first row with anything in it alone."""
        row: list[object] = []
        self._body = self.dialect.skip
        for row in islice(self._sheet.iter_rows(), self.dialect.skip, None):
            if any(cell != "" for cell in row):
                break
            self._body += 1
        else:
            row = []
        filled = [i for i, cell in enumerate(row) if cell != ""]
        last = filled[-1] + 1 if filled else 0
        # A record may lack its first value: without a header columns are counted from the first of the sheet.
        self._pad = 0 if self.dialect.header or not self._sheet.start else self._sheet.start[1]
        self._place = filled[0] if filled and self.dialect.header else 0
        if self.dialect.header:
            found = [(text_of(cell) or b"").decode("utf-8", "replace").strip() for cell in row[self._place : last]]
            self._body += 1
        else:
            found = [f"column_{i}" for i in range(1, last + self._pad + 1)] if filled else []
        names = self.dialect.names
        if names and self.dialect.header and len(names) != len(found):
            raise DataSourceError(
                f"data: {self.label} has {len(found)} columns, but {len(names)} names are declared under [source]; "
                "name every column, also those that are not used"
            )
        self.names = names or distinct_names(found)
        self.repeats = not names and self.names != tuple(found)
        self._width = len(self.names)
        self.unnamed = not self.dialect.header and not names
        if not self.names and self.dialect.header:
            raise DataSourceError(f"data: {self.label} has no header: the sheet is empty; name another sheet or file")
