"""The format of a file: delimiter, quotes, marks in numbers, encoding, dates. It is declared, like bounds, never
guessed.

It is the ``[source]`` of a schema file and applies to every row. Values that cannot be read as declared are missing, so
no row decides how others are read.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import checks
from discreet.core.schema.file import toml_tables
from discreet.errors import InvalidArgument, InvalidType, SchemaError

#: What schemas may call an encoding, and what Python calls it.
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16", "latin-1": "latin-1", "windows-1252": "cp1252"}
#: The directives that a date format may use, and how many digits each takes.
DIRECTIVES = {"Y": (4, 4), "y": (2, 2), "m": (1, 2), "d": (1, 2), "H": (1, 2), "M": (1, 2), "S": (1, 2)}
#: Written differently, but one mark to a reader: the blanks that keep a number on one line.
BLANKS = (" ", "\u00a0", "\u202f", "\u2009")


@dataclass(frozen=True)
class Dialect:
    """The declared format of a text file.

    Parameters
    ----------
    delimiter : str, default ","
        The separator of fields: one ASCII character, such as ``;``, ``|`` or a tab.
    quote : str, default '"'
        The quote character of fields; doubled inside. Empty: none.
    decimal : {".", ","}, default "."
        The decimal mark.
    thousands : str, default ""
        The mark between groups of digits, such as ``.`` or ``'``; a blank means any kind of blank, and ``'`` also the
        typographic one.
    marks : sequence of str
        Text before or after a number that is ignored: ``["€", "%"]``.
    encoding : {"utf-8", "utf-16", "latin-1", "windows-1252"}, default "utf-8"
        The encoding. Invalid bytes become replacement characters.
    header : bool, default True
        Whether the first line (after skipped ones) names the columns.
    names : sequence of str, optional
        Column names, instead of those in the file.
    skip : int, default 0
        Lines before the header.
    dates : sequence of str
        Date formats besides 1984-05-01, tried in order: ``["%d.%m.%Y", "%d/%m/%y"]``. A time after a date is ignored,
        but must be part of the format: ``"%d.%m.%Y %H:%M"``.
    true, false : sequence of str
        Words for 1 and 0 besides ``true`` and ``false``, in any case.
    missing : sequence of str
        Marks of missing values; numbers and dates are compared by value. Unreadable values are missing anyway.
    sheet : str, default ""
        The sheet of a workbook; required if it has several.
    looked : int, default 0
        Number of rows that someone looked at to find the format; every guarantee repeats it.
    selected : sequence of str
        Columns with private categories, and their price; every guarantee repeats it.

    Examples
    --------
    >>> german = Dialect(delimiter=";", decimal=",", thousands=".", dates=["%d.%m.%Y"])
    >>> german.to_dict()
    {'delimiter': ';', 'decimal': ',', 'thousands': '.', 'dates': ['%d.%m.%Y']}
    """

    delimiter: str = ","
    quote: str = '"'
    decimal: str = "."
    thousands: str = ""
    marks: tuple[str, ...] = ()
    encoding: str = "utf-8"
    header: bool = True
    names: tuple[str, ...] = ()
    skip: int = 0
    dates: tuple[str, ...] = ()
    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sheet: str = ""
    looked: int = 0
    selected: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote", "decimal", "thousands", "encoding", "sheet"):
            if not isinstance(getattr(self, name), str):
                raise InvalidType(name, getattr(self, name), "text", f"{name} = {_default(name)!r}")
        if not _mark(self.delimiter):
            raise InvalidArgument("delimiter", self.delimiter, "one character that is no letter or digit", '";"')
        if self.quote and (not _mark(self.quote) or self.quote == self.delimiter):
            raise InvalidArgument("quote", self.quote, "one character other than the delimiter, or empty", "'\"'")
        checks.choice("decimal", self.decimal, (".", ","))
        if self.thousands in (*BLANKS, "\u2019"):
            object.__setattr__(self, "thousands", "'" if self.thousands == "\u2019" else " ")
        if self.thousands and (self.thousands == self.decimal or self.thousands not in tuple(".,' _")):
            what = "a mark between digits (. , ' _ or a blank) other than the decimal mark, or empty"
            raise InvalidArgument("thousands", self.thousands, what, repr("." if self.decimal == "," else ","))
        checks.choice("encoding", self.encoding.lower(), tuple(ENCODINGS))
        object.__setattr__(self, "encoding", self.encoding.lower())
        checks.choice("header", self.header, (True, False))
        for name in ("skip", "looked"):
            object.__setattr__(self, name, checks.whole(name, getattr(self, name), low=0))
        for name in ("marks", "names", "dates", "true", "false", "missing", "selected"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        for name in ("marks", "true", "false"):
            for text in getattr(self, name):
                if not text or _is_number(text):
                    what = "texts that are neither empty nor numbers"
                    raise InvalidArgument(name, text, what, f"{name} = {['€'] if name == 'marks' else ['ja']}")
        if len(set(self.names)) < len(self.names):
            raise InvalidArgument("names", list(self.names), "a list without repeats", "naming each column once")
        for written in self.dates:
            _check_date(written)
        if both := set(lowered(self.true)) & set(lowered(self.false)):
            raise SchemaError(f"{min(both)!r} stands among the words for true and for false; leave it in one list")

    @property
    def plain(self) -> bool:
        """True if values are written as programs write them, so that nothing but the fields is to be found."""
        special = self.thousands or self.marks or self.dates or self.true or self.false or self.missing
        return self.decimal == "." and not special

    @property
    def stated(self) -> tuple[str, ...]:
        """Sentences that every guarantee must contain."""
        looked = (
            f"the first {self.looked} rows of the file were looked at to find out how it is written and of what kinds "
            "its columns are; this choice is not covered by the promise"
        )
        prices = (
            f"the categories of a column were selected privately, at a separate price that adds to this one: {text}"
            for text in self.selected
        )
        return (*((looked,) if self.looked else ()), *prices)

    def to_dict(self) -> dict[str, Any]:
        """Return what is declared otherwise than usual, as plain data."""
        found = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        changed = {name: value for name, value in found.items() if value != _default(name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def load_dialect(source: str | Path) -> Dialect:
    """Return the format that a schema file declares; its columns may still be incomplete."""
    where, table = toml_tables(source)
    return read_dialect(table.get("source"), f"[source] of {where}")


def read_dialect(declared: object, where: str = "[source]") -> Dialect:
    """Read what a schema declares under ``[source]``, or a `Dialect`."""
    if declared is None:
        return _USUAL
    if isinstance(declared, Dialect):
        return declared
    if not isinstance(declared, Mapping):
        raise InvalidType("source", type(declared).__name__, "a Dialect or a mapping", 'source={"delimiter": ";"}')
    known = [f.name for f in dataclasses.fields(Dialect)]
    odd = sorted(set(map(str, declared)) - set(known))
    if odd:
        near = checks.nearest(odd[0], known)
        raise SchemaError(f"{where} has no key {odd[0]!r}; try {near or known[0]}")
    return Dialect(**cast(Any, dict(declared)))


def lowered(words: Iterable[str]) -> list[str]:
    """Return words in lower case, letter by letter, as they are compared with a file."""
    listed = list(words)
    found: list[str] = pc.utf8_lower(pa.array(listed, pa.large_string())).to_pylist() if listed else []
    return found


def _default(name: str) -> Any:
    return Dialect.__dataclass_fields__[name].default


def _mark(text: str) -> bool:
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0+-."


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _texts(name: str, given: object) -> tuple[str, ...]:
    values = (given,) if isinstance(given, str) else given
    if not isinstance(values, Iterable) or isinstance(values, (bytes, Mapping)):
        raise InvalidType(name, given, "a list of texts", f'{name} = ["..."]')
    found = tuple(values)
    if any(not isinstance(value, str) for value in found):
        raise InvalidType(name, given, "a list of texts", f'{name} = ["..."]')
    return tuple(cast(str, value).strip() for value in found)


def _check_date(written: str) -> None:
    """Refuse a format that does not say year, month and day, each once."""
    used = [written[i + 1 : i + 2] for i, c in enumerate(written) if c == "%"]
    wanted = {"d", "m"} <= set(used) and ("Y" in used) != ("y" in used)
    if not wanted or set(used) - set(DIRECTIVES) or len(set(used)) < len(used):
        what = "a format with %Y (or %y), %m and %d once each, and %H, %M and %S where a time of day is written too"
        raise InvalidArgument("dates", written, what, '"%d.%m.%Y"')


#: How programs write: most tables are opened with it, several times per release.
_USUAL = Dialect()
