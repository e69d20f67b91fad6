"""The declaration of one column: bounds or categories, its role, and the rule for its missing values."""

import datetime
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa

from discreet.core import checks
from discreet.core.arrays import FloatArray
from discreet.core.columns import coding, dates, hints, lists
from discreet.core.columns import levels as column_levels
from discreet.core.columns.codes import CodeSet, code_set
from discreet.errors import DiscreetWarning, InvalidArgument, InvalidType, SchemaError

Category: TypeAlias = str | int | bool
Role = Literal["attribute", "quasi-identifier", "sensitive", "identifier", "target", "person", "weight"]
Missing = Literal["drop", "own"]

ROLES: tuple[Role, ...] = ("attribute", "quasi-identifier", "sensitive", "identifier", "target", "person", "weight")
#: Roles of columns that say whose row it is. They are never released, so they are no axes and need no bounds.
NAMING: tuple[Role, ...] = ("identifier", "person")
#: The values of a person column that declares none.
ANYBODY = ("any",)
MISSING_RULES: tuple[Missing, ...] = ("drop", "own")
#: Bounds are at least so far apart, and nowhere farther from 0: what is made of them, such as squares of distances,
#: sums of many rows and small parts of a width, is then a double with all its digits.
_LEAST, _MOST = 1e-100, 1e100
_USUAL = {"role": "attribute", "missing": "drop", "bottom": None, "top": None, "levels": None}
_USUAL_VALUES: Any = {"time": {"bounds": ["00:00:00", "23:59:59"]}, "boolean": {"categories": [False, True]}}
_KEYS = {"kind", "bounds", "categories", "role", "missing", "categories_file", "bottom", "top", "levels", "pattern"}
_KIND_NAMES = ("integer", "number", "date", "time", "category", "ordered", "boolean", "code")


def category_text(value: Category) -> str:
    """Return the text that identifies a declared category in a file."""
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


@dataclass(frozen=True)
class Numeric:
    """A numeric column: values are clamped to ``low..high``.

    Parameters
    ----------
    low, high : float
        Public bounds, ``low < high``, from -1e100 to 1e100 and at least 1e-100 apart. Values beyond them (also infinite
        ones) count as the bound.
    role : str, default "attribute"
        What the column is to a disclosure: one of `ROLES`.
    missing : {"drop", "own"}, default "drop"
        The row-wise rule for missing or unreadable values: the row is left out, or it gets a cell of its own.
    bottom, top : float, optional
        Public thresholds beyond which an anonymous table prints all values as one (`discreet.core.columns.coding`).
    levels : str, list or mapping, optional
        Public groups by which anonymous tables divide and print the column (`discreet.core.columns.levels`).

    Examples
    --------
    >>> Numeric("age", 0, 120)
    Numeric(name='age', low=0.0, high=120.0, role='attribute', missing='drop')
    """

    name: str
    low: float
    high: float
    role: Role = "attribute"
    missing: Missing = "drop"
    bottom: Any = field(default=None, repr=False)
    top: Any = field(default=None, repr=False)
    levels: Any = field(default=None, repr=False)
    kind: ClassVar[str] = "numeric"

    def __post_init__(self) -> None:
        _check_name(self.name)
        fix = hints.repaired(self.low, self.high)
        low = checks.finite(f"low bound of column {self.name!r}", self.low, fix=fix)
        high = checks.finite(f"high bound of column {self.name!r}", self.high, fix=fix)
        expected = ""
        if not low < high:
            expected = "a non-empty interval (low < high)"
        elif max(-low, high) > _MOST or high - low < _LEAST:
            expected = f"from {-_MOST:g} to {_MOST:g} and at least {_LEAST:g} apart"
        if expected:
            raise InvalidArgument(f"bounds of column {self.name!r}", (low, high), expected, fix)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        _check_rules(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data; dates and times as text."""
        kind = {"kind": self.kind} if isinstance(self, Integer) else {}
        rules = {"role": self.role, "missing": self.missing, **coding.declared(self)}
        levels = {} if self.levels is None else {"levels": column_levels.plain(self.levels)}
        return {**kind, **self._values(), **rules, **levels}

    def _values(self) -> dict[str, Any]:
        return {"bounds": self.ends()}

    def ends(self) -> list[Any]:
        """Return the first and the last value as plain data."""
        return [self.low, self.high]

    def at(self, place: float) -> Any:
        """Return the value at a place of the axis as plain data."""
        return coding.shown(self, place)


@dataclass(frozen=True)
class Date(Numeric):
    """A column of dates: a `Numeric`, in whole days since 1970-01-01.

    ``low`` and ``high``, the first and last day, are dates, time stamps or ISO 8601 text. What is no date is missing;
    of a time stamp the day counts.

    Examples
    --------
    >>> born = Date("born", "1920-01-01", "2010-12-31")
    >>> born.low, born.to_dict()["bounds"]
    (-18263.0, ['1920-01-01', '2010-12-31'])
    """

    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        _check_name(self.name)
        for side in ("low", "high"):
            bound: object = getattr(self, side)
            # A float is a day already: a copy of a declaration passes through here as well.
            day = bound if isinstance(bound, float) else dates.day_number(bound)
            if day is None:
                label = f"{side} bound of column {self.name!r}"
                wrong = InvalidArgument if isinstance(bound, str) else InvalidType
                raise wrong(label, bound, "a date such as 1984-05-01", hints.mended_days(self.low, self.high))
            object.__setattr__(self, side, day)
        if not self.low < self.high:
            label, shown = f"bounds of column {self.name!r}", tuple(self.ends())
            raise InvalidArgument(label, shown, "a first and a later last day", hints.mended_days(self.low, self.high))
        super().__post_init__()

    def ends(self) -> list[Any]:
        return [dates.date_text(self.low), dates.date_text(self.high)]


@dataclass(frozen=True, init=False)
class Integer(Numeric):
    """A column of whole numbers from ``low`` to ``high``; both ends belong to it.

    Number i is the stretch from i - 1/2 to i + 1/2 of the axis, and no cell ever ends inside it. Other numbers count as
    the nearest whole one. Other arguments are those of `Numeric`; a `Domain` gives the name.

    Examples
    --------
    >>> age = Integer(0, 120)
    >>> age.least, age.most, age.n_values, (age.low, age.high)
    (0, 120, 121, (-0.5, 120.5))
    """

    kind: ClassVar[str] = "integer"

    def __init__(
        self, low: Any, high: Any, *, role: Role = "attribute", missing: Missing = "drop", bottom: Any = None,
        top: Any = None, levels: Any = None, name: str = "",
    ) -> None:  # fmt: skip
        ends: list[float] = []
        fix = hints.repaired(low, high, whole=True)
        for side, given, half in (("low", low, -0.5), ("high", high, 0.5)):
            label = f"{side} bound of column {name!r}" if name else side
            value = checks.finite(label, given, fix=fix)
            if (value - half).is_integer() and isinstance(given, float):  # a copy: the end of the axis already
                value -= half
            if not value.is_integer() or abs(value) > 2**51:  # a half next to it must be a double
                raise InvalidArgument(label, given, "a whole number between -2**51 and 2**51", fix)
            ends.append(value)
        if not ends[0] < ends[1]:
            label = f"bounds of column {name!r}" if name else "bounds"
            fix = hints.repaired(*ends, whole=True)
            raise InvalidArgument(label, (int(ends[0]), int(ends[1])), "two different whole numbers, low < high", fix)
        rules = {"name": name, "role": role, "missing": missing, "bottom": bottom, "top": top, "levels": levels}
        for part, kept in {"low": ends[0] - 0.5, "high": ends[1] + 0.5, **rules}.items():
            object.__setattr__(self, part, kept)
        if name:
            _check_name(name)
        _check_rules(self)

    def __repr__(self) -> str:
        changed = [f"{k}={getattr(self, k)!r}" for k, usual in _USUAL.items() if getattr(self, k) != usual]
        return f"{type(self).__name__}({', '.join([*self._arguments(), *changed])})"

    def _arguments(self) -> list[str]:
        return [*map(repr, self.ends())]

    @property
    def least(self) -> int:
        """The smallest number."""
        return int(self.low + 0.5)

    @property
    def most(self) -> int:
        """The largest number."""
        return int(self.high - 0.5)

    @property
    def n_values(self) -> int:
        """Number of whole numbers."""
        return self.most - self.least + 1

    def array(self, numbers: FloatArray) -> pa.Array:
        """Return whole numbers of the axis as the values that they stand for, NaN as null."""
        missing = np.isnan(numbers)
        return pa.array(np.rint(np.where(missing, 0, numbers)).astype(np.int64), mask=missing)

    def ends(self) -> list[Any]:
        return [self.least, self.most]


@dataclass(frozen=True, init=False, repr=False)
class Time(Integer):
    """A column of times of day, to the second; both ends belong to it.

    An `Integer` of seconds since midnight, written ``HH:MM:SS``; by default of the whole day. Midnight is where the
    axis ends: the last second of a day and the first of the next are not neighbours on it. What is no time of day is
    missing; of a time stamp the time counts, fractions are left away.

    Examples
    --------
    >>> open_hours = Time("08:00", "18:30")
    >>> open_hours, open_hours.least, open_hours.to_dict()["bounds"]
    (Time('08:00:00', '18:30:00'), 28800, ['08:00:00', '18:30:00'])
    """

    kind: ClassVar[str] = "time"

    def __init__(self, low: Any = "00:00:00", high: Any = "23:59:59", *, name: str = "", **rules: Any) -> None:
        ends: list[Any] = []
        fix = 'low="00:00", high="23:59:59"'  # a night that ends in the morning lies in it too
        for side, given in (("low", low), ("high", high)):
            second = given if isinstance(given, float) else dates.second_number(given)
            if second is None:
                label = f"{side} bound of column {name!r}" if name else side
                wrong = InvalidArgument if isinstance(given, str) else InvalidType
                raise wrong(label, given, "a time of day such as 08:30", fix)
            ends.append(second if isinstance(given, float) else int(second))
        if not ends[0] < ends[1]:
            label = f"bounds of column {name!r}" if name else "bounds"
            raise InvalidArgument(label, (low, high), "a first and a later last time of day", fix)
        super().__init__(*ends, name=name, **rules)

    def ends(self) -> list[Any]:
        return [dates.time_text(self.least), dates.time_text(self.most)]

    def array(self, numbers: FloatArray) -> pa.Array:
        return dates.time_array(numbers)


@dataclass(frozen=True, init=False, repr=False)
class Code(Integer):
    """A column of codes: texts of a pattern or a list, such as postcodes, diagnoses, regions and occupations.

    An `Integer` that numbers the codes in the order of their signs, so that all codes with one prefix are neighbours.
    Synopses count prefixes, and anonymous tables print them: ``010**``. Other texts are missing; if all codes begin
    with digits, a number that lost zeros in front (1067) is filled up.

    Parameters
    ----------
    pattern : str, optional
        A regular expression without ``.``, ``*`` and ``+``, for at most a million codes of 64 characters:
        ``[A-Z]\\d{2}(\\.\\d)?``.
    categories : list of str, optional
        The public list of all codes, instead of a pattern. Synthetic rows hold only these.
    levels : list of int, optional
        The lengths of prefixes that anonymous tables may print; by default, all.

    Examples
    --------
    >>> zips = Code(r"\\d{5}", levels=[1, 2, 3])
    >>> zips, zips.n_values, zips.ends()
    (Code('\\\\d{5}', levels=(1, 2, 3)), 100000, ['00000', '99999'])
    """

    kind: ClassVar[str] = "code"
    pattern: str = ""
    categories: tuple[str, ...] = ()
    listed: str = field(default="", compare=False)
    codes: CodeSet = field(init=False, compare=False)
    low: float = field(init=False)
    high: float = field(init=False)
    bottom: Any = field(init=False)
    top: Any = field(init=False)

    def __init__(
        self, pattern: str = "", categories: Iterable[str] = (), *, listed: str = "", name: str = "", **rules: Any
    ) -> None:
        given = () if isinstance(categories, str) else tuple(map(str, categories))
        found = code_set(str(pattern), given)
        if found is None:
            what = (
                r"such as \d{5} or [A-Z]\d{2}(\.\d)?, of at most a million codes of 64 characters; "
                "or else a list of codes without stars"
            )
            label = f"pattern of column {name!r}" if name else "pattern"
            raise InvalidArgument(label, given[:3] or pattern, what, 'pattern="[0-9]{5}"')
        for part, value in {"pattern": pattern, "categories": given, "listed": listed, "codes": found}.items():
            object.__setattr__(self, part, value)
        super().__init__(0, found.size - 1, name=name, **rules)

    def _arguments(self) -> list[str]:
        listed = f"categories=[{', '.join(map(repr, self.categories[:3]))}{', ...' * (self.n_values > 3)}]"
        return [repr(self.pattern) if self.pattern else listed]

    def _values(self) -> dict[str, Any]:
        return _listed(self) if self.categories else {"pattern": self.pattern}

    @property
    def list_digest(self) -> str:
        return lists.digest(self.categories)

    def ends(self) -> list[Any]:
        return [self.codes.codes[0], self.codes.codes[-1]]

    def at(self, place: float) -> str:
        return self.codes.codes[min(int(np.ceil(place)), self.most)]

    def array(self, numbers: FloatArray) -> pa.Array:
        return self.codes.texts(numbers)


@dataclass(frozen=True)
class Categorical:
    """A categorical column: values outside the declared categories are treated as missing.

    Parameters
    ----------
    categories : sequence of str, int or bool
        The public list, in the order of the axis. Recognised by their text, so ``1`` and ``"1"`` are the same.
    ordered : bool, default False
        Whether the order means something, from small to large: then such a column can be compared and has quantiles.
    listed : str, default ""
        The public file that the list was read from (`categories_from`); a schema file names it and its digest instead.

    Examples
    --------
    >>> Categorical("sex", ["f", "m"]).high
    2.0
    """

    name: str
    categories: tuple[Category, ...]
    role: Role = "attribute"
    missing: Missing = "drop"
    ordered: bool = False
    listed: str = field(default="", compare=False)
    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        _check_name(self.name)
        label = f"categories of column {self.name!r}"
        if isinstance(self.categories, (str, bytes)) or not isinstance(self.categories, Iterable):
            raise InvalidType(label, self.categories, "a list of categories", '["a", "b"]')
        values = tuple(self.categories)
        for value in values:
            if not isinstance(value, (str, int, bool, np.integer, np.bool_)):
                raise InvalidType(label, value, "text, whole numbers or booleans", hints.categories_meant(values))
        texts = [category_text(v) for v in values]
        if not values:
            raise InvalidArgument(label, values, "a list of at least one category", '["a", "b"]')
        if len(set(texts)) < len(texts):
            twice = next(t for t in texts if texts.count(t) > 1)
            raise InvalidArgument(label, twice, "a list without repeats", hints.named_once(values, texts))
        plain = tuple(v.item() if isinstance(v, (np.integer, np.bool_)) else v for v in values)
        object.__setattr__(self, "categories", plain)
        checks.choice(f"ordered of column {self.name!r}", self.ordered, (True, False))
        _check_rules(self)

    @property
    def low(self) -> float:
        """Lower end of the axis, always 0."""
        return 0.0

    @property
    def high(self) -> float:
        """Upper end of the axis: the number of categories."""
        return float(len(self.categories))

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        kind = {"kind": "ordered"} if self.ordered else {}
        return {**kind, **_listed(self), "role": self.role, "missing": self.missing}

    @property
    def list_digest(self) -> str:
        """SHA-256 of the list, one category to a line."""
        return lists.digest(category_text(c) for c in self.categories)


def _listed(column: Code | Categorical) -> dict[str, Any]:
    """Return categories as plain data, with the name of the file they are from: its path may be private."""
    file = {"categories_file": Path(column.listed).name, "categories_digest": column.list_digest}
    return {"categories": list(column.categories), **(file if column.listed else {})}


Column: TypeAlias = Numeric | Categorical


def even_edges(column: Numeric | Categorical, bins: int) -> FloatArray:
    """Divide the axis of a column into bins as equal as possible; codes by prefix, even if the shortest are more."""
    if not isinstance(column, Integer):
        return np.linspace(column.low, column.high, bins + 1)
    if isinstance(column, Code):
        cuts = {n: count for n, count in column.codes.cuts.items() if count > 1}
        first = next((cuts[n] for n in column.levels or cuts if n in cuts), 1)
        return np.append(column.codes.finest(max(bins, first)) - 0.5, column.high)
    return np.append(np.arange(column.low, column.high, -(-column.n_values // bins)), column.high)


def read_column(name: object, declared: object) -> Column:
    _check_name(name)
    name = cast(str, name)
    if isinstance(declared, (Numeric, Categorical)):
        if isinstance(declared, Integer) and not declared.name:
            return replace(declared, name=name)
        if declared.name != name:
            raise InvalidArgument(
                "columns", declared.name, f"keyed by its own name ({name!r})", f"{declared.name!r}: ..."
            )
        return _trimmed(declared)
    if isinstance(declared, list):
        column = _trimmed(Categorical(name, cast(Any, declared)))
        if len(declared) == 2 and all(hints.is_number(x) for x in declared):
            warnings.warn(hints.two_categories(name, declared), DiscreetWarning, stacklevel=4)
        return column
    if isinstance(declared, (tuple, Mapping)):
        try:
            return _bounded(name, declared, {}) if isinstance(declared, tuple) else _by_keys(name, declared)
        except InvalidArgument as error:
            raise hints.spelled(error, declared) from None
    expected = "(low, high) or a list of categories"
    raise InvalidType(f"declaration of column {name!r}", declared, expected, hints.declaration_meant(declared))


def _trimmed(column: Column) -> Column:
    """Return a column; refuse a category with surrounding blanks, which are ignored where rows are read."""
    if isinstance(column, Categorical):
        bare = [c.strip() if isinstance(c, str) else c for c in column.categories]
        odd = next((c for c, same in zip(column.categories, bare, strict=True) if c != same), None)
        if odd is not None:
            fix = hints.named_once(bare, [category_text(c) for c in bare], repr(str(odd).strip()))
            raise InvalidArgument(f"categories of column {column.name!r}", odd, "texts without surrounding blanks", fix)
    return column


def _by_keys(name: str, declared: Mapping[str, Any]) -> Column:
    """Read a declaration in the words of a schema file."""
    declared = lists.filled(name, declared)
    unknown = set(declared) - _KEYS
    for part in {"unit", "rules"} & unknown:
        raise SchemaError(
            f"column {name!r} has no {part}: it belongs to the whole table, so write the line {part!r} above the first "
            "[columns.NAME] of the file"
        )
    for key in sorted(map(str, unknown)):
        near = checks.nearest(key, sorted(_KEYS))
        raise SchemaError(
            f"column {name!r} has no key {key!r}; "
            + (f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(_KEYS))}")
        )
    kind = declared.get("kind")
    if kind is not None and kind not in _KIND_NAMES:
        near = checks.nearest(kind, _KIND_NAMES)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(_KIND_NAMES)}"
        raise SchemaError(f"column {name!r} cannot be of kind {kind!r}; {hint}")
    if kind == "code" or "pattern" in declared:
        if "bounds" in declared or kind not in ("code", None):
            got = "bounds" if "bounds" in declared else f"the kind {kind!r}"
            raise SchemaError(f'column {name!r} cannot have {got} as well as a pattern: a code has kind = "code" alone')
        given = {k: v for k, v in declared.items() if k not in ("kind", "categories_file")}
        return Code(name=name, listed=declared.get("categories_file", ""), **given)
    if not {"bounds", "categories"} & set(declared):
        # A person column has no axis: an empty list means any value.
        usual = {"categories": list(ANYBODY)} if declared.get("role") in NAMING else _USUAL_VALUES.get(kind, {})
        declared = {**declared, **usual}
    coded: dict[str, Any] = {k: declared[k] for k in ("bottom", "top", "levels") if k in declared}
    if ("bounds" in declared) == ("categories" in declared) or (coded and "bounds" not in declared):
        raise SchemaError(
            f"column {name!r} must declare either 'bounds' or 'categories' (or 'categories_file'), and optionally "
            f"'kind', 'role' and 'missing', and with bounds 'bottom', 'top' and 'levels'; or a 'pattern' of codes, got "
            f"{sorted(map(str, declared))}"
        )
    rules: dict[str, Any] = {**coded, **{k: declared[k] for k in ("role", "missing") if k in declared}}
    if kind in ("integer", "time") and "bounds" in declared:
        low, high = _pair(name, declared["bounds"])
        return (Integer if kind == "integer" else Time)(low, high, name=name, **rules)
    found = _bounded(name, declared["bounds"], rules) if "bounds" in declared else None
    listed = {"ordered": kind == "ordered", "listed": declared.get("categories_file", "")}
    column = _trimmed(Categorical(name, declared["categories"], **rules, **listed)) if found is None else found
    told = {"numeric": "number", "categorical": "ordered" if kind == "ordered" else "category"}
    if kind is not None and kind != told.get(column.kind, column.kind):
        known = "integer, number, date and time (with bounds), category, ordered and boolean, and code (with a pattern)"
        if kind != "boolean" or not set(getattr(column, "categories", ())) <= {False, True}:
            raise SchemaError(f"column {name!r} cannot be of kind {kind!r} as it is declared; kinds are {known}")
    return column


def _bounded(name: str, bounds: object, rules: Mapping[str, Any]) -> Numeric:
    low, high = _pair(name, bounds)
    # Two texts are dates too: that is how plain data holds them, and numbers are not written in quotes.
    texts = isinstance(low, str) and isinstance(high, str)
    dated = texts or any(isinstance(b, (datetime.date, np.datetime64)) for b in (low, high))
    return Date(name, low, high, **rules) if dated else Numeric(name, low, high, **rules)


def _pair(name: str, bounds: object) -> tuple[Any, Any]:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidArgument(f"bounds of column {name!r}", bounds, "a pair (low, high)", "low=0, high=1")
    return bounds[0], bounds[1]


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidType("column name", name, "text", repr(str(name)))
    if not name or name != name.strip():
        fix = repr(name.strip() or "age")
        raise InvalidArgument("column name", name, "non-empty text without surrounding blanks", fix)


def _check_rules(column: Column) -> None:
    checks.choice(f"role of column {column.name!r}", column.role, ROLES)
    checks.choice(f"missing of column {column.name!r}", column.missing, MISSING_RULES)
    if isinstance(column, Numeric):
        coding.settle(column)
        column_levels.settle(column)
    sound = column.kind in ("numeric", "integer") and column.low >= -0.5 and column.missing == "drop"
    if column.role == "weight" and not sound:
        expected = "given to numbers from 0 on whose missing values are dropped: how many people a row stands for"
        raise InvalidArgument(f"role of column {column.name!r}", "weight", expected, "bounds = [0, 500]")
