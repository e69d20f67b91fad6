"""Public knowledge about a table: column names, bounds, categories, roles.

A `Domain` is *declared*, never read from the data: the smallest value of a column is a single record, and so is a
category that only one person has. Rows are clamped and scaled one by one.

Every column has a real axis. A numeric axis is the declared interval. A categorical axis with c categories is [0, c];
category i is at i + 1/2. A date axis counts days since 1970-01-01. On an axis of whole numbers, i is the middle of the
interval from i - 1/2 to i + 1/2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.core import checks
from discreet.core.arrays import FloatArray
from discreet.core.columns import hints, kinds, lists
from discreet.core.columns.box import Box, vector
from discreet.core.columns.facts import Facts
from discreet.core.columns.kinds import Categorical, Column, Date, Integer, Numeric
from discreet.core.columns.unit import Person, Unit, read_unit, unit_to_plain
from discreet.core.output import html
from discreet.core.output.files import write_whole
from discreet.core.schema.dialect import Dialect, read_dialect
from discreet.core.schema.file import load_schema, write_toml
from discreet.errors import InvalidArgument, InvalidType, SchemaError

NO_FACTS = Facts()


class Domain:
    """The declared columns of a table.

    Parameters
    ----------
    columns : mapping
        From column name to ``(low, high)`` (a tuple: bounds, also dates), ``["a", "b"]`` (a list: categories), a
        mapping with the keys of a schema file (``bounds`` or ``categories``, ``role``, ``missing``), a `Numeric`,
        `Integer`, `Date`, `Time`, `Code` or `Categorical`, or the result of `categories_from`.
    source : Dialect or mapping, optional
        The format of the table's files; the ``[source]`` of a schema file. It does not count when domains are compared.
    unit : "row" or Person, optional
        Who is protected: one row, or one person with a bounded number of rows. Required if a column has the role
        "person". The person column need not be declared, unless columns are matched by position.
    functions : mapping, optional
        Columns whose value follows from another column: from the column to the other one, to the value for each of its
        values. Whole numbers, dates and times may be given as intervals, ``(18, 64)`` or ``"18..64"``.
    impossible : sequence of mapping, optional
        Combinations of values of two or three columns that no row has, each written as for `Synopsis.count`. Like
        functions, these are public facts (`discreet.core.columns.facts`), not read from this table.
    rules : sequence of str, optional
        Orders, differences and sums that every row keeps: ``"admission <= discharge"``, ``"discharge - admission <=
        90"``, ``"total = ward + drugs"``. See `discreet.core.columns.rules`.

    Examples
    --------
    >>> domain = Domain({"age": (0, 120), "sex": ["f", "m"]})
    >>> domain.names
    ('age', 'sex')
    >>> domain.clamp([[130, 0.5]]).tolist()
    [[120.0, 0.5]]
    >>> domain = Domain({"school": ["none", "primary"], "years": Integer(0, 4), "age": Integer(0, 120)},
    ...                 functions={"years": {"school": {"none": 0, "primary": 4}}},
    ...                 impossible=[{"age": (0, 8), "school": "primary"}])
    >>> domain.facts.sentences
    ('years is a function of school', 'no row has age = 0 to 8 and school = primary')
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        unit: Any = None,
        source: Any = None,
        functions: Any = None,
        impossible: Any = None,
        rules: Any = None,
    ) -> None:
        if isinstance(columns, Domain) or not isinstance(columns, Mapping):
            kind = type(columns).__name__  # not the object: it may be the data
            raise InvalidType("columns", kind, "a mapping from column name to bounds", '{"age": (0, 120)}')
        read = [kinds.read_column(name, declared) for name, declared in columns.items()]
        self._setup(read, named=True, unit=unit, source=source)
        if functions is not None or impossible is not None or rules is not None:
            self._facts = Facts.read({c.name: c for c in self._columns}, functions, impossible, rules)

    def _setup(
        self, columns: Sequence[Column], *, named: bool, unit: Any = None, source: Any = None, facts: Facts = NO_FACTS
    ) -> None:
        if not columns:
            raise InvalidArgument("columns", {}, "a declaration of at least one column", '{"age": (0, 120)}')
        self._unit = read_unit(unit)
        columns = [_as_person(c, self._unit) for c in columns]
        self._columns = tuple(columns)
        self._named = named
        self._source = read_dialect(source)
        self._facts = facts
        self._index = {c.name: i for i, c in enumerate(columns)}
        self._low = np.array([c.low for c in columns])
        self._high = np.array([c.high for c in columns])
        if len(self.weights) > 1:
            listed = ", ".join(map(repr, self.weights))
            raise SchemaError(f"columns {listed} all have the role 'weight'; only one can, and others are attributes")
        if isinstance(self._unit, Person):
            _check_groups(self._unit, self._index, columns)

    @classmethod
    def _of(cls, columns: Sequence[Column], **rest: Any) -> Domain:
        domain = cls.__new__(cls)
        domain._setup(columns, **rest)
        return domain

    @classmethod
    def box(cls, low: Any, high: Any, *, names: Sequence[str] | None = None) -> Domain:
        """Declare numeric columns by two corners; a scalar holds for all columns.

        Without ``names`` the columns are called ``x0, x1, ...`` and match those of the data by position.

        Examples
        --------
        >>> Domain.box(low=0, high=[1, 10])
        Domain({'x0': (0.0, 1.0), 'x1': (0.0, 10.0)})
        >>> Domain.box(0, 1, names=["a", "b"]).names
        ('a', 'b')
        """
        lower, upper = vector("low", low), vector("high", high)
        if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
            raise InvalidType("names", names, "a list of column names", 'names=["a", "b"]')
        size = max(len(lower), len(upper)) if names is None else len(names)
        for label, corner in (("low", lower), ("high", upper)):
            if len(corner) not in (1, size):
                widest = corner.min() if label == "low" else corner.max()
                raise InvalidArgument(label, len(corner), f"one number or {size} of them", f"{label}={widest:.17g}")
        labels = [f"x{i}" for i in range(size)] if names is None else list(names)
        if len(set(map(str, labels))) < len(labels):
            raise InvalidArgument("names", labels, "a list without repeats", "naming each column once")
        corners = list(zip(labels, np.broadcast_to(lower, size), np.broadcast_to(upper, size), strict=True))
        with hints.of_box(corners):
            return cls._of([Numeric(n, float(a), float(b)) for n, a, b in corners], named=names is not None)

    @classmethod
    def from_toml(cls, source: str | Path) -> Domain:
        """Read a schema file, or the text of one (recognised by its line breaks).

        Examples
        --------
        >>> Domain.from_toml('''
        ... [columns.age]
        ... bounds = [0, 120]
        ... role = "quasi-identifier"
        ... ''').column("age").role
        'quasi-identifier'
        """
        columns, rest = load_schema(source)
        with hints.in_a_file():
            return cls(columns, **rest)

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the schema file's text, and write it if a path is given.

        Examples
        --------
        >>> print(Domain({"sex": ["f", "m"]}).to_toml())
        [columns.sex]
        categories = ["f", "m"]
        role = "attribute"
        missing = "drop"
        """
        unit = {} if self._unit is None else {"unit": unit_to_plain(self._unit)}
        source = self._source.to_dict()
        written = {"source": source} if source else {}
        folder = None if path is None else Path(path).parent
        columns = {c.name: lists.short(c, folder) for c in self._columns}
        text = write_toml({**unit, **written, "columns": columns, **self._facts.to_dict()}).rstrip("\n")
        if path is not None:
            write_whole(path, text + "\n", streams=True)
        return text

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the declared columns as plain data, in order; `unit` and `facts` hold the rest."""
        return {c.name: c.to_dict() for c in self._columns}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns, in order."""
        return self._columns

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(c.name for c in self._columns)

    @property
    def named(self) -> bool:
        """True if columns match by name; if not (`Domain.box` without names), by position."""
        return self._named

    @property
    def unit(self) -> Unit | None:
        """The unit of privacy that was declared; None where nothing was said."""
        return self._unit

    def with_unit(self, unit: Any) -> Domain:
        """Return the same columns with another unit of privacy."""
        return Domain._of(self._columns, named=self._named, unit=unit, source=self._source, facts=self._facts)

    @property
    def facts(self) -> Facts:
        """The declared functions of columns, and the combinations of values that cannot occur."""
        return self._facts

    def without_functions(self) -> Domain:
        """Return the columns that are read: no functions of others, whose facts become facts about their sources, and
        no sums.
        """
        unread = self._facts.sources.keys() | self._facts.rules.unread
        if not unread:
            return self
        kept = [c for c in self._columns if c.name not in unread]
        facts = self._facts.without_functions({c.name: c for c in self._columns})
        return Domain._of(kept, named=self._named, unit=self._unit, source=self._source, facts=facts)

    def modelled(self) -> Domain:
        """Return the columns of a model that keeps the rules: differences instead of ends, and no sums."""
        if not self._facts.rules.texts:
            return self
        columns = self._facts.rules.modelled(self._columns)
        return Domain._of(columns, named=self._named, unit=self._unit, source=self._source, facts=self._facts)

    @property
    def source(self) -> Dialect:
        """Format of this table's files."""
        return self._source

    @property
    def low(self) -> FloatArray:
        """Lower ends of the axes."""
        return self._low.copy()

    @property
    def high(self) -> FloatArray:
        """Upper ends of the axes."""
        return self._high.copy()

    @property
    def bounds(self) -> Box:
        """The whole domain as a box."""
        return Box(self._low, self._high)

    @property
    def weights(self) -> tuple[str, ...]:
        """The column of weights, if there is one."""
        return tuple(c.name for c in self._columns if c.role == "weight")

    def column(self, name: str) -> Column:
        """Return one column's declaration."""
        return self._columns[self.position(name)]

    def position(self, name: str) -> int:
        """Return the place of a column in the declared order."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise checks.undeclared(name, self.names) from None

    def select(self, names: Sequence[str]) -> Domain:
        """Return the domain of some columns, in the given order, with the facts about them.

        Facts about the column of a function that is left out become facts about its source.
        """
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InvalidType("names", names, "a list of column names", 'names=["age"]')
        chosen = [self.column(n) for n in names]
        if len(set(names)) < len(chosen):
            raise InvalidArgument("names", list(names), "a list without repeats", "naming each column once")
        facts = self._facts.select(names, {c.name: c for c in self._columns})
        return Domain._of(chosen, named=self._named, unit=self._unit, source=self._source, facts=facts)

    def clamp(self, X: Any) -> FloatArray:
        """Move every coordinate into its declared interval; NaN (missing) stays NaN."""
        return cast(FloatArray, np.clip(self._matrix(X), self._low, self._high))

    def to_unit(self, X: Any) -> FloatArray:
        """Clamp and scale every axis to [0, 1]."""
        return cast(FloatArray, (self.clamp(X) - self._low) / (self._high - self._low))

    def from_unit(self, U: Any) -> FloatArray:
        """Scale from [0, 1] back to the declared intervals."""
        return cast(FloatArray, self._low + self._matrix(U) * (self._high - self._low))

    def _matrix(self, X: Any) -> FloatArray:
        try:
            matrix = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidType("X", type(X).__name__, "a table of numbers", "X=np.zeros((n, d))") from None
        if matrix.ndim != 2 or matrix.shape[1] != len(self):
            raise SchemaError(
                f"X must have {len(self)} columns ({', '.join(self.names[:8])}), got shape {matrix.shape}; "
                "pass a two-dimensional array in the order of the domain"
            )
        return matrix

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Domain)
            and self._columns == other._columns
            and self._named == other._named
            and self._unit == other._unit
            and self._facts == other._facts
        )

    def __hash__(self) -> int:
        return hash(self._columns)

    def _repr_html_(self) -> str:
        rows = []
        for c in self._columns:
            listed = ", ".join(map(str, c.categories[:12])) if isinstance(c, Categorical) else ""
            if isinstance(c, Categorical):
                listed += f" and {len(c.categories) - 12:,} more" if len(c.categories) > 12 else ""
            else:
                listed = " to ".join(map(str, c.ends()))
            rows.append([c.name, c.kind, listed, c.role, c.missing])
        said = self._unit.describe() if isinstance(self._unit, Person) else self._unit
        unit = "" if said is None else f", unit: {said}"
        count = f"{len(self)} column{'s' * (len(self) > 1)}"
        unit += f"; {'; '.join(self._facts.sentences[:6])}" if self._facts else ""
        return html.table(f"Domain: {count} declared{unit}", ["column", "kind", "declared", "role", "missing"], rows)

    def __repr__(self) -> str:
        shown = {
            c.name: hints.listed(c) if isinstance(c, Categorical) else c if isinstance(c, Integer) else tuple(c.ends())
            for c in itertools.islice(self._columns, 6)
        }
        more = f", and {len(self) - 6} more" if len(self) > 6 else ""
        unit = "" if self._unit is None else f", unit={self._unit!r}"
        facts = "".join(f", {name}={value}" for name, value in self._facts.to_dict().items())
        return f"Domain({repr(shown)[:-1]}{more}}}{unit}{facts})"


def _as_person(column: Column, unit: Unit | None) -> Column:
    """Give the column that the unit names its role; refuse a second person, and a person that is to be released."""
    if not isinstance(unit, Person) or (column.name != unit.column and column.role != "person"):
        return column
    if column.name != unit.column or column.role not in ("attribute", "identifier", "person"):
        raise SchemaError(
            f"the unit is one {unit.called} by column {unit.column!r}, but column {column.name!r} has the role "
            f"{column.role!r}; only {unit.column!r} can have the role 'person', and no other"
        )
    return replace(column, role="person")


def _check_groups(unit: Person, declared: Mapping[str, int], columns: Sequence[Column]) -> None:
    """Refuse groups of rows that are not cells of a public grouping; columns left out of a selection are let be."""
    for name in unit.group:
        column = columns[declared[name]] if name in declared else None
        if column is not None and not isinstance(column, (Categorical, Integer, Date)):
            raise SchemaError(
                f"rows of a {unit.called} cannot be grouped by column {name!r}, which is declared with bounds; group "
                "by columns of categories, whole numbers or dates"
            )


def as_domain(domain: object, names: Sequence[str]) -> Domain:
    """Read a user's ``domain`` argument for a table with these column names.

    It is a `Domain`, a mapping for `Domain`, or a pair ``(low, high)`` whose scalars hold for all columns.
    """
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, Mapping):
        return Domain(domain)
    if isinstance(domain, tuple) and len(domain) == 2:
        return Domain.box(domain[0], domain[1], names=list(names))
    expected = "the declared bounds of the columns (bounds are never read off the data)"
    raise InvalidType("domain", type(domain).__name__, expected, 'domain={"age": (0, 120)}')


def dialect_of(domain: object) -> Dialect | None:
    """Return how files are written by what a user may pass as ``domain``; None where it does not say."""
    return domain.source if isinstance(domain, Domain) else None
