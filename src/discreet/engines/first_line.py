"""The format of a text file, guessed from its first line, and from its first rows only if the user allows it.

The result is a proposal for a schema that people check. Releases read rows as declared.
"""

import glob
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core import NAMING, Domain, FloatArray, Integer, Numeric
from discreet.core.schema import Dialect, is_address, looks_like_a_record
from discreet.engines.opening import is_text_table
from discreet.engines.opening import open as open_table
from discreet.engines.source import Source
from discreet.engines.tables.csv_file import decoded_head
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.formats.cells import Cells
from discreet.engines.tables.part import SEPARATORS, Part

_NAMES = {",": "commas", **SEPARATORS}
#: Usual marks of missing values; public, not from any file.
MISSING = ("?", "NA", "N/A", "n/a", "NULL", "null", "-", "--", "nan", ".", "-999", "-9999", "k.A.")
_WORDS = [words.split() for words in ("yes no", "y n", "ja nein", "j n", "oui non", "si no", "t f", "wahr falsch")]
_DATES = (
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
    (r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y"),
    (r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    (r"\d{8}", "%Y%m%d"),
)
_SLASHES = r"(\d{1,2})/(\d{1,2})/(\d{4})"
_ISO = r"\d{4}-\d{2}-\d{2}([T ].*)?"
#: What may stand behind a date; a format without it reads none of these.
_CLOCKS = (("", ""), (r" \d{1,2}:\d{2}", " %H:%M"), (r" \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"))
_CLOCK = r"( \d{1,2}:\d{2}(:\d{2})?)?"
#: Any of these; a column may mix them.
_DAY = rf"{_ISO}|({'|'.join([_SLASHES, *(p for p, written in _DATES if written != '%Y%m%d')])}){_CLOCK}"
#: Characters of a number or a date. Patterns take time by the square of the length, and a field may hold a megabyte.
_LONGEST = 64
_MARKS = ("€", "$", "£", "%", "EUR", "USD", "CHF")
#: Marks of decimals and of groups of digits that go together.
_PAIRS = ((",", "."), (".", ","), (".", "'"), (",", " "), (".", " "))


@dataclass(frozen=True)
class Proposal:
    """The guessed format of a file, the reasons, and the guessed kinds of its columns."""

    dialect: Dialect
    reasons: tuple[str, ...]
    kinds: dict[str, str]


def proposed(data: str, *, header: bool | None = None, sheet: str = "", skip: int = 0) -> Proposal:
    """Propose how a table is written: by its first line where it is text, else as files keep it themselves."""
    path = text_file(data)
    if path is not None:
        return propose(path, header=header is not False, skip=skip)
    return Proposal(Dialect(sheet=sheet, header=header is not False, skip=skip), (), {})


def text_file(data: str) -> Path | None:
    """Return the text file, or the first of several, whose first line a draft may read; None if there is none."""
    if is_address(data):
        return None
    path = Path(data).expanduser()
    listed = path.iterdir() if path.is_dir() else [path] if path.exists() else map(Path, glob.glob(str(path)))
    texts = (p for p in listed if p.is_file() and is_text_table(p) and not p.name.startswith(("_", ".")))
    return min(texts, default=None)


def may_be_a_record(source: Source) -> bool:
    """Return whether the line that names the columns may be a record; then none of it may be shown."""
    return source.headed and (source.parts[0].repeats or looks_like_a_record(source.names))


def first_rows(source: Source, rows: int) -> list[list[str]]:
    """Return the first rows as texts, for the owner of the table."""
    part, found = source.parts[0], []
    for pieces, _ in part.read(range(len(part.names)), rows):
        found += list(zip(*(_cells(piece, rows) for piece in pieces), strict=True))
        if len(found) >= rows:
            break
    return [list(row) for row in found[:rows]]


def propose(path: Path, *, header: bool = True, skip: int = 0) -> Proposal:
    """Propose a dialect from the first line: its encoding and its most frequent delimiter outside quotes."""
    text, encoding, why = decoded_head(path, skip + 1)
    line = (re.split(r"\r\n|\r|\n", text, maxsplit=skip + 1) + [""] * skip)[skip]
    outside = re.sub(r'"[^"]*"', "", line)
    found = max(_NAMES, key=outside.count)
    reasons = [why] if why else []
    delimiter = found if outside.count(found) else ","
    if delimiter != "," and ".tsv" not in path.name.lower():
        reasons.append(f"Values are separated by {_NAMES[delimiter]}, judging by the first line.")
    return Proposal(Dialect(delimiter=delimiter, encoding=encoding, header=header, skip=skip), tuple(reasons), {})


def look(proposed: Proposal, source: Source, rows: int) -> Proposal:
    """Look at the first rows; propose number and date formats and the kinds of columns, but no bounds or categories."""
    table = source.parts[0]
    seen, encoding = _texts(table, rows, "utf-8"), proposed.dialect.encoding
    if encoding == "utf-8" and any("\ufffd" in v for column in seen for v in column):
        # The first line was ASCII. Bytes are read again: a euro sign that cannot be read hides the numbers next to it.
        seen, encoding = _texts(table, rows, "cp1252"), "windows-1252"
    values = [v for column in seen for v in column]
    missing = tuple(m for m in MISSING if m in set(values))
    columns = [[v for v in column if v and v not in missing] for column in seen]
    marks = tuple(m for m in _MARKS if any(_marked(column, re.escape(m)) for column in columns))
    bare = [[_unmarked(v, marks) for v in column] for column in columns]
    typed = [[v for v in column if type(v) is str] for column in bare]
    money = [any(_marked(column, re.escape(m)) for m in marks if m != "%") for column in columns]
    decimal, thousands = _number_marks(typed, proposed.dialect.delimiter, money)
    bare = [[v if type(v) is str else v.replace(".", decimal) for v in column] for column in bare]
    formats = _date_formats(columns)
    true, false = _words(columns)
    dialect = replace(
        proposed.dialect, decimal=decimal, thousands=thousands, marks=marks, dates=formats, true=true, false=false,
        missing=missing, looked=rows, encoding=encoding,
    )  # fmt: skip
    kinds = {name: _kind(c, b, dialect) for name, c, b in zip(table.names, columns, bare, strict=True)}
    named = zip(table.names, columns, strict=True)
    odd = [name for name, column in named if name and not kinds[name] and _beside(column)]
    hint = f"Numbers of {', '.join(odd)} have text next to them in some rows. Declare the text as marks under "
    hint += '[source], such as marks = ["€"], or remove it from the file.'
    reasons = (*proposed.reasons, *((hint,) if odd else ()))
    return Proposal(dialect, reasons, {name: kind for name, kind in kinds.items() if kind})


class _Number(str):
    """A number that a workbook keeps as one: its spelling says nothing about the texts."""


def _texts(table: Part, rows: int, encoding: str) -> list[list[str]]:
    """Return the first rows as texts, column by column."""
    columns: list[list[str]] = [[] for _ in table.names]
    for pieces, _ in islice(table.read(range(len(table.names)), 2**12), 64):
        for column, piece in zip(columns, pieces, strict=True):
            found = [(v or b"").decode(encoding, "replace").strip() for v in piece.text()[:rows].to_pylist()]
            numeric = piece.numeric.tolist() if isinstance(piece, Cells) else []
            column += [_Number(v) if own else v for v, own in zip_longest(found, numeric[: len(found)])]
        if len(columns[0]) >= rows:
            break
    return [column[:rows] for column in columns]


def _mostly(column: Sequence[str], pattern: str) -> bool:
    """Return whether nearly all texts are written so; none that is longer than numbers and dates are."""
    fitting = sum(len(v) <= _LONGEST and re.fullmatch(pattern, v) is not None for v in column)
    return bool(column) and fitting >= 0.9 * len(column)


def _marked(column: Sequence[str], mark: str) -> bool:
    number = r"[+-]?[\d.,' \u00a0\u202f]+"
    return _mostly(column, rf"{mark}\s*{number}|{number}\s*{mark}")


def _beside(column: Sequence[str]) -> bool:
    """Return whether some numbers of a column have a mark next to them, which is not written as most are."""
    mark = rf"(?:{'|'.join(map(re.escape, _MARKS))})"
    number = r"[\d.,' \u00a0\u202f]*\d[\d.,' \u00a0\u202f]*-*"
    return _mostly(column, rf"[+-]?({mark}\s*)?[+-]?{number}\s*{mark}?") and any(re.search(mark, v) for v in column)


def _unmarked(value: str, marks: Sequence[str]) -> str:
    for mark in () if isinstance(value, _Number) else marks:
        value = value.removeprefix(mark).removesuffix(mark).strip()
    return value


def _number_marks(columns: Sequence[Sequence[str]], delimiter: str, money: Sequence[bool]) -> tuple[str, str]:
    """Return the decimal mark of most number columns, and the thousands mark.

    1.234 is ambiguous, so it is ignored for the decimal mark. Without other evidence, a file with semicolons has
    decimal commas. Amounts of money such as 12.345 € or 900 € have no three decimals; 1.459 € may be a price of fuel.
    """
    points: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    for column, paid in zip(columns, money, strict=True):
        if not _mostly(column, r"[+-]?[\d.,'\u2019 \u00a0\u202f]*\d[\d.,]*"):
            continue
        if unsure := next((mark for mark in ".," if _either(column, re.escape(mark))), ""):
            groups[unsure] += 1
            amount = rf"[+-]?([1-9]\d{{0,2}}|[1-9]\d{{1,2}}{re.escape(unsure)}\d{{3}})"
            sure = paid and any(re.fullmatch(amount, v) for v in column if len(v) <= _LONGEST)
            points["." if unsure == "," else ","] += sure
        elif _mostly(column, r"[+-]?\d+(\.\d+)?"):
            points["."] += any("." in v for v in column)
            groups.update(_rare_groups(column, "."))
        elif _mostly(column, r"[+-]?\d+(,\d+)?"):
            points[","] += 1
            groups.update(_rare_groups(column, ","))
        else:
            for decimal, thousands in _PAIRS:
                mark = _blanks(thousands)
                if _mostly(column, rf"[+-]?\d{{1,3}}({mark}?\d{{3}})*({re.escape(decimal)}\d+)?"):
                    points[decimal] += 2
                    groups[thousands] += 2
                    break
    point = next((mark for mark, n in points.most_common(1) if n), "," if delimiter == ";" else ".")
    return point, next((mark for mark, _ in groups.most_common() if mark != point), "")


def _blanks(thousands: str) -> str:
    return "[ \u00a0\u202f]" if thousands == " " else re.escape(thousands)


def _rare_groups(column: Sequence[str], point: str) -> dict[str, int]:
    """Return the mark between groups of digits of a column whose large numbers are rare: 0,00 mostly, then 1.234,00."""
    short = [v for v in column if len(v) <= _LONGEST]
    for decimal, thousands in _PAIRS:
        group = rf"({_blanks(thousands)}\d{{3}})"
        sure = rf"[+-]?\d{{1,3}}({group}+{re.escape(decimal)}\d+|{group}{{2,}})"
        if decimal == point and any(re.fullmatch(sure, v) for v in short):
            return {thousands: 2}
    return {}


def _either(column: Sequence[str], mark: str) -> bool:
    """Return whether a mark may stand before thousands as well as before decimals: three digits follow it always."""
    other = rf"{mark}(\d{{1,2}}|\d{{4,}})$"
    return (
        any(re.search(mark, v) for v in column)
        and _mostly(column, rf"[+-]?(0|[1-9]\d{{0,2}}({mark}\d{{3}})?)")
        and not any(re.search(other, v) for v in column if len(v) <= _LONGEST)
    )


def _date_formats(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    found = []
    for column in columns:
        if not _mostly(column, _DAY):
            continue
        days = [(p, written) for p, written in _DATES if written != "%Y%m%d"]
        if parts := [p for v in column if (p := re.match(_SLASHES, v))]:
            first, second = (max(int(p[i]) for p in parts) for i in (1, 2))
            # Where neither number exceeds 12 it cannot be told; a day first is more common in the world.
            days.append((_SLASHES, "%m/%d/%Y" if second > 12 >= first else "%d/%m/%Y"))
        short = [v for v in column if len(v) <= _LONGEST]
        found += [
            written + behind
            for pattern, written in days
            for clock, behind in _CLOCKS
            if any(re.fullmatch(pattern + clock, v) for v in short)
        ]
    return tuple(dict.fromkeys(found))


def _words(columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for yes, no in _WORDS:
        if any(column and {v.casefold() for v in column} == {yes, no} for column in columns):
            return (yes,), (no,)
    return (), ()


def _kind(column: Sequence[str], bare: Sequence[str], dialect: Dialect) -> str:
    """Return integer, number, date or boolean; empty where it is text, or cannot be told."""
    if {v.casefold() for v in column} in ({"true", "false"}, {*dialect.true, *dialect.false} - {""}) and column:
        return "boolean"
    group = _blanks(dialect.thousands) if dialect.thousands else "(?!)"
    whole = rf"[+-]?\d+|[+-]?\d{{1,3}}({group}\d{{3}})+"
    if _mostly(bare, whole):
        return "integer"
    if _mostly(bare, rf"({whole})({re.escape(dialect.decimal)}\d+)?(e[+-]?\d+)?"):
        return "number"
    return "date" if _mostly(column, _DAY) else ""


@dataclass(frozen=True)
class Doubts:
    """Problems of a schema on the first rows: names of columns, nothing of their content.

    ``careless``: a bound equals a value. ``unread``: no value can be read as declared. ``partly``: "most", "many" (more
    than a tenth) or "some" of the values cannot be read as declared.
    """

    careless: list[str]
    unread: list[str]
    partly: dict[str, str]


def examine(domain: Domain, data: str, rows: int) -> Doubts:
    """Try a schema on the first rows: which bounds equal a value, and which columns cannot be read as declared.

    The answer depends on the rows, so it is for their owner. Missing values are not counted as problems.
    """
    asked = [c for c in domain if c.role not in NAMING]
    # Whole numbers as plain ones: those beyond would count as the bound, and look like it.
    plain = {c.name: Numeric(c.name, c.low, c.high) if c.kind == "integer" else c for c in asked}
    doubts = Doubts([], [], {})
    if not plain:
        return doubts
    tried = Domain(plain)
    found: dict[str, list[FloatArray]] = {name: [] for name in plain}
    odd = dict.fromkeys(plain, 0)
    left = rows
    source = open_table(data, dialect=domain.source)
    # A number among the marks is missing by value, however it is written: without the marks it can be read.
    unmarked = [Encoder(column, replace(domain.source, missing=())) for column in tried]
    for part, (positions, encoders) in zip(source.parts, source.match(tried), strict=True):
        for pieces, _ in part.read(positions, 2**12) if left > 0 else ():
            for name, piece, encoder, bare in zip(plain, pieces, encoders, unmarked, strict=True):
                values = part.encode(piece, encoder)[:left]
                found[name].append(values)
                unread = np.isnan(values) & np.isnan(part.encode(piece, bare)[:left])
                texts = _cells(piece, left)
                odd[name] += sum(bool(texts[i]) and texts[i] not in domain.source.missing for i in unread.nonzero()[0])
            left -= len(values)
            if left <= 0:
                break
    for column in asked:
        values = np.concatenate([np.empty(0), *found[column.name]])
        read = values[~np.isnan(values)]
        if len(values) and not len(read):
            doubts.unread.append(column.name)
        elif (share := odd[column.name] / max(odd[column.name] + len(read), 1)) > 0.01:
            doubts.partly[column.name] = "most" if share > 0.5 else "many" if share > 0.1 else "some"
        if isinstance(column, Numeric) and len(read):
            low, high = (column.least, column.most) if isinstance(column, Integer) else (column.low, column.high)
            # 0, 1 and 100 are what columns mean, and stand in many tables.
            if ({float(low), float(high)} - {0.0, 1.0, 100.0}) & {float(read.min()), float(read.max())}:
                doubts.careless.append(column.name)
    return doubts


def _cells(piece: Any, rows: int) -> list[str]:
    """Return what stands in some rows of a column as text; empty where nothing does."""
    values = (piece.text() if hasattr(piece, "text") else piece)[:rows].to_pylist()
    texts = [v.decode("utf-8", "replace").strip() if isinstance(v, bytes) else str(v).strip() for v in values]
    return ["" if v is None or t.casefold() == "nan" else t for v, t in zip(values, texts, strict=True)]
