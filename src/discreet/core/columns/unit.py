"""The unit of privacy that a schema states: one row, or one person or household with a bounded number of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from discreet.core import checks
from discreet.errors import InvalidArgument, InvalidType, SchemaError

#: A person's rows, at most: more would be no bound, and noise for so many hides everything.
MOST_ROWS = 2**20
ROW = "one row"
#: How the unit of a promise to persons begins, whatever the bound.
_WHOLE = ", with all their rows"
PERSON = f"one person{_WHOLE}"
PERSON_NEIGHBOURS = f"add or remove {PERSON}"
_EXAMPLE = 'unit=Person("user", rows=8)'
_KEYS = ("person", "rows", "group", "per_group")


@dataclass(frozen=True)
class Person:
    """The unit of privacy is one person; at most ``rows`` of their rows are used.

    A keyed hash of person and row chooses them before any other step sees the rows, uniformly among a person's rows.
    Rows whose person is missing or not as declared are dropped.

    Parameters
    ----------
    column : str
        The column that identifies the person. Bounds or categories are optional; rows outside are dropped.
    rows : int or "auto"
        The contribution bound. Noise grows with it; more rows per person are dropped. "auto" selects privately, with 5
        % of the budget, a bound that nine of ten persons do not exceed.
    group : str or sequence of str, optional
        Columns of categories, whole numbers or dates that define groups of rows.
    per_group : int, optional
        The contribution bound per person and group.
    called : str, default "person"
        The name of the unit: "household", "school", "device". Promises and errors use it; nothing else changes.

    Notes
    -----
    Adding or removing one person changes the bounded table by at most ``rows`` rows, because the kept rows of a person
    depend only on their own rows and the key. So counts that a row changes by one in one place change by at most
    ``rows`` in total (`l1`), and a mechanism that is ε/rows-differentially private for rows is ε-differentially private
    for persons. In zCDP, ρ grows with the squared Euclidean length of the change (`l2_squared`): ``rows`` squared, or
    less if groups are counted separately and `per_group` bounds each.

    Examples
    --------
    >>> unit = Person("user", rows=8)
    >>> unit.describe()
    'one person, with all their rows (at most 8 used)'
    >>> unit.l1, unit.l2_squared(), Person("user", rows=8, group="day", per_group=3).l2_squared()
    (8, 64, 22)
    >>> Person("hh", rows=12, called="household").describe()
    'one household, with all their rows (at most 12 used)'
    """

    column: str
    rows: int | Literal["auto"]
    group: tuple[str, ...] = ()
    per_group: int | None = None
    called: str = field(default="person", repr=False)

    def __init__(
        self, column: str, rows: Any = None, *, group: Any = (), per_group: Any = None, called: str = "person"
    ) -> None:
        if not isinstance(called, str) or not re.fullmatch(r"[^\W\d_][\w -]*", called):
            raise InvalidArgument("called", called, "a word for the unit", 'called="household"')
        if not isinstance(column, str):
            raise InvalidType("person", column, "the name of a column", _EXAMPLE)
        if not column or column != column.strip():
            raise InvalidArgument("person", column, "the name of a column", _EXAMPLE)
        expected = 'a whole number, at least 1, or "auto"'
        if rows is None:
            raise InvalidArgument("rows", rows, expected, f"Person({json.dumps(column, ensure_ascii=False)}, rows=8)")
        if isinstance(rows, str) and rows != "auto":
            fix = int(rows) if rows.isdecimal() and 0 < int(rows) <= MOST_ROWS else "auto"
            raise InvalidType("rows", rows, expected, f"rows={fix!r}".replace("'", '"'))
        if rows != "auto":
            rows = checks.whole("rows", rows, low=1, high=MOST_ROWS)
        names = (group,) if isinstance(group, str) else group
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise InvalidType("group", group, "names of columns", 'group="day"')
        if (per_group is None) == bool(names):
            fix = "per_group=2" if per_group is None else f'group="day", per_group={per_group!r}'
            raise InvalidArgument("per_group", per_group, "given together with group", fix)
        if per_group is not None:
            per_group = checks.whole("per_group", per_group, low=1, high=MOST_ROWS)
        kept = {"column": column, "rows": rows, "group": tuple(names), "per_group": per_group, "called": called}
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    def describe(self) -> str:
        """Return the unit as a promise names it."""
        if self.rows == "auto":
            return f"one {self.called}{_WHOLE} (the number used is selected privately)"
        groups = f", at most {self.per_group:,} per {' and '.join(self.group)}" if self.per_group else ""
        return f"one {self.called}{_WHOLE} (at most {self.rows:,} used{groups})"

    @property
    def used(self) -> str:
        """Which rows a count is about, as answers say it."""
        return f"of the rows used: at most {self.rows:,} per {self.called}, and none without an id"

    @property
    def neighbours(self) -> str:
        """The neighbour relation as a promise names it."""
        return f"add or remove one {self.called}{_WHOLE}"

    @property
    def l1(self) -> int:
        """By how much one person changes counts altogether, where a row changes one count by one."""
        if self.rows == "auto":
            raise SchemaError(f"the number of rows used per {self.called} is selected privately and not known yet")
        return int(self.rows)

    def l2_squared(self, *, grouped: bool = True) -> int:
        """Return the largest sum of squares by which one person changes such counts.

        All rows may fall into one cell: ``rows`` squared. If no cell holds rows of two groups (``grouped``), a cell
        gets at most ``per_group``; the sum is largest if as many cells as possible are full.
        """
        most = min(self.per_group or self.l1, self.l1) if grouped else self.l1
        full, rest = divmod(self.l1, most)
        return full * most**2 + rest**2

    def to_dict(self) -> dict[str, Any]:
        """Return the unit as plain data: the ``[unit]`` of a schema file."""
        grouped = {"group": list(self.group), "per_group": self.per_group} if self.per_group else {}
        return {self.called: self.column, "rows": self.rows, **grouped}


Unit: TypeAlias = Literal["row"] | Person


def read_unit(unit: Any) -> Unit | None:
    """Check a unit from a user or a file; None if nothing is given."""
    if unit is None or isinstance(unit, Person):
        return unit
    if isinstance(unit, Mapping):
        named = [key for key in unit if key not in _KEYS[1:]]
        typing = [key for key in named if key != "person" and (not isinstance(key, str) or checks.nearest(key, _KEYS))]
        if len(named) != 1 or typing or "rows" not in unit:
            strange = sorted(map(str, typing or named[1:]))
            fix = f"leaving {strange[0]} out" if strange else '"rows": 8' if named else '"person": "user"'
            expected = "a table of person (or household) and rows (and group and per_group), or 'row'"
            raise InvalidType("unit", sorted(map(str, unit)), expected, fix)
        rest = {key: value for key, value in unit.items() if key != named[0]}
        return Person(unit[named[0]], called=named[0], **rest)
    if not isinstance(unit, str):
        raise InvalidType("unit", type(unit).__name__, "the text 'row' or a Person", f"unit='row' or {_EXAMPLE}")
    if unit != "row":
        raise InvalidArgument("unit", unit, "'row' or a Person", f"unit='row' or {_EXAMPLE}")
    return "row"


def unit_to_plain(unit: Unit) -> str | dict[str, Any]:
    """Return a unit as a file holds it."""
    return unit.to_dict() if isinstance(unit, Person) else unit


def unit_kind(text: str) -> str:
    """Return the kind of unit that the text of a guarantee names: "row", "person" (of any name), or the text itself."""
    return "row" if text == ROW else "person" if _WHOLE in text and text.startswith("one ") else text


def unit_noun(text: str) -> str:
    """Return the name of a unit in the text of a guarantee: "row", "person", "household"."""
    return text.partition(",")[0].removeprefix("one ")


def plural(noun: str) -> str:
    """Return several of a noun: "persons", "households", "families"."""
    return re.sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"
