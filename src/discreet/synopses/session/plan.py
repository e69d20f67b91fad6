"""The plan of a question: which groups, which rows, which figures. Verbs, SQL and `explain` all make one.

Everything here follows from arguments and schema. Rows are read when the plan is carried out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import (
    Categorical,
    Code,
    Column,
    Domain,
    FloatArray,
    Frames,
    Integer,
    Intervals,
    Person,
    dialect_of,
    read_column,
    stretches_by_name,
)
from discreet.core.budget import Price
from discreet.engines.passes import GroupMap
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms import Law
from discreet.synopses.opening import OpenRelease
from discreet.synopses.queries import ask, edges_of, places
from discreet.synopses.session.answer import labels_of
from discreet.synopses.session.measures import Found, Measure, Quantiles, Rows

#: Numbers up to this many are groups without being asked for.
_OWN_GROUPS = 128


@dataclass(frozen=True)
class Lookup:
    """A column of a public table, joined by a unique key: a value for each value of the key."""

    column: Column
    key: str
    values: FloatArray


@dataclass(frozen=True)
class Plan:
    """A question, matched with the declared columns."""

    measures: Mapping[str, Measure]
    known: Domain
    edges: Mapping[str, FloatArray]
    boxes: tuple[Mapping[str, Any], ...] | None
    lookups: tuple[Lookup, ...] = ()

    @classmethod
    def of(
        cls, axes: Domain, measures: Mapping[str, Measure], by: Any = (), bins: Any = None, where: Any = None,
        lookups: tuple[Lookup, ...] = (),
    ) -> Plan:  # fmt: skip
        """Check what is asked for against the columns that may be released."""
        known = Domain._of([*axes.columns, *(one.column for one in lookups)], named=axes.named)
        names = names_of(by)
        for name in (*names, *(m.column for m in measures.values() if m.column is not None)):
            known.position(name)  # refuses a column that is not declared
        if len(set(names)) < len(names):
            raise InvalidArgument("by", list(names), "each column once", f"by={list(dict.fromkeys(names))}")
        for measure in measures.values():
            if measure.column is not None and (wrong := measure.refused(known.column(measure.column))):
                raise InvalidArgument("column", measure.column, *wrong)
        asked = _by_column(known, names, bins)
        edges = {name: _edges(known.column(name), asked.get(name)) for name in names}
        most = min(measure.most_groups for measure in measures.values())
        if math.prod(len(e) for e in edges.values()) > most:
            raise InvalidArgument("by", list(names), f"at most {most:,} groups", "fewer columns, or wider bins")
        made = cls(measures, known, edges, _boxes(known, where), lookups)
        taken = {*made.reads, *names}
        ends = [n for name in names for n in made._places(name, [edges[name][:2]]) if n != name]
        for label in [*ends, *made._figures]:
            if label in taken:  # it would be replaced by the figure, or read by the bounds of the column
                expected = f"named otherwise than columns of the answer ({', '.join(made._figures)}, and ends of bins)"
                raise InvalidArgument("column", label, expected, "another name of it in the table and the schema")
            taken.add(label)
        return made

    def measured(self) -> Iterator[tuple[Measure, Column | None]]:
        """Yield every figure and the column that it measures."""
        for measure in self.measures.values():
            yield measure, None if measure.column is None else self.known.column(measure.column)

    @property
    def asked(self) -> list[str]:
        """The columns of the table that are asked about; none for the number of all rows."""
        asked = [m.column for m in self.measures.values() if m.column is not None]
        asked += [*self.edges, *(name for box in self.boxes or () for name in box)]
        keys = {one.column.name: one.key for one in self.lookups}
        return list(dict.fromkeys(keys.get(name, name) for name in asked))

    @property
    def reads(self) -> list[str]:
        """The columns of the table that take part; one of them if none does."""
        joined = [one.column.name for one in self.lookups]
        free = [name for name in self.known.names if name not in joined]
        return self.asked or ([name for name in free if name not in self._figures] or free)[:1]

    @property
    def _figures(self) -> list[str]:
        """The columns of an answer that name no group."""
        many = any(isinstance(m, Quantiles) and len(m.qs) > 1 for m in self.measures.values())
        figures = [label for name in self.measures for label in labels_of(name, len(self.measures) == 1)]
        return [*["q"] * many, *figures, "few"]

    def reading(self, axes: Domain) -> Domain:
        """Return the columns to read: a missing value drops a row only if no figure can do without it."""
        read, measured = axes.select(self.reads), {m.column for m in self.measures.values()}
        needed = {*self.edges, *(n for box in self.boxes or () for n in box), *(measured if len(measured) == 1 else ())}
        made = [c if c.name in needed else read_column(c.name, c.to_dict() | {"missing": "own"}) for c in read]
        return Domain._of(made, named=axes.named, unit=axes.unit, source=dialect_of(axes))

    def stated(self, declared: Domain) -> Domain:
        """Return the declared columns of an answer: those of the table, and of public tables if they name groups."""
        own, shown = declared.select(self.reads), {*self.edges} - {*declared.names}
        columns = [*own.columns, *(one.column for one in self.lookups if one.column.name in shown)]
        return Domain._of(columns, named=own.named, unit=own.unit, source=dialect_of(own), facts=own.facts)

    def groups(self, axes: Domain) -> GroupMap:
        """Return the map from rows to groups, given the columns that are read."""
        used = [one for one in self.lookups if one.key in axes.names]
        known = Domain._of([*axes.columns, *(one.column for one in used)], named=axes.named)
        boxes = self.boxes
        return GroupMap(
            axes, known, tuple((known.position(n), e) for n, e in self.edges.items()),
            None if boxes is None else tuple({known.position(n): pairs for n, pairs in box.items()} for box in boxes),
            looked_up=tuple((axes.position(one.key), one.values) for one in used),
        )  # fmt: skip

    def apart(self, unit: Any) -> bool:
        """Return whether no group of the plan holds rows of two of a person's groups."""
        if not isinstance(unit, Person) or not unit.group:
            return False
        return all(name in self.edges and isinstance(self.known.column(name), Categorical) for name in unit.group)

    def take(self, opening: OpenRelease) -> dict[str, Found]:
        """Release every figure for an equal share of what the gate holds."""
        groups, share = self.groups(opening.domain), opening.gate.left / len(self.measures)
        found = {}
        for name, measure in self.measures.items():
            at = -1 if measure.column is None else groups.known.position(measure.column)
            found[name] = measure.take(Rows(opening, groups, at, self.apart(opening.gate.person)), share)
        return found

    @property
    def note(self) -> str:
        """What the bins leave out of the declared bounds; empty if nothing. No row is read."""
        said = []
        for name, edges in self.edges.items():
            column: Any = self.known.column(name)
            if isinstance(column, Categorical):
                continue
            half = 0.5 * isinstance(column, Integer)
            sides = [f"below {column.at(edges[0] + half)}"] if edges[0] > column.low else []
            sides += [f"from {column.at(edges[-1] + half)} on"] if edges[-1] < column.high else []
            if sides:
                said.append(f"Rows with {name} {' or '.join(sides)} are in no group: the bins end before its bounds.")
        return " ".join(said)

    def keys(self) -> dict[str, pa.Array]:
        """Return the groups as columns: categories, or both ends of bins; null for missing values."""
        bins = [
            [*pairwise(e.tolist()), *([(math.nan, math.nan)] * (self.known.column(n).missing == "own"))]
            for n, e in self.edges.items()
        ]
        at: Any = np.indices([len(b) for b in bins]).reshape(len(bins), -1) if bins else []
        made: dict[str, pa.Array] = {}
        for name, own, index in zip(self.edges, bins, at, strict=True):
            made |= {k: array.take(pa.array(index)) for k, array in self._places(name, own).items()}
        return made

    def _places(self, name: str, bins: list[Any]) -> dict[str, pa.Array]:
        """Return the columns that name the groups of a column."""
        column = self.known.column(name)
        found = places(column, bins)
        single = isinstance(column, Integer) and (np.diff(self.edges[name]) == 1).all()
        return {name: next(iter(found.values()))} if single else found

    def explained(self, price: Price, unit: str, charged: str, rows: float | None, step: float) -> QueryPlan:
        """Return what would be released for a price per row, and how wide its noise is (unknown if ``step`` is NaN)."""
        share, lines = price / len(self.measures), []
        for measure, column in self.measured():
            law, error = measure.law(column, share), measure.error(column, share, rows)
            times = step if measure.kind in ("count", "sum") or math.isnan(step) else 1.0
            lines.append((measure.label, law, None if error is None or math.isnan(times) else error * times))
        n_groups = math.prod(len(e) - 1 for e in self.edges.values())
        return QueryPlan(charged, unit, n_groups, tuple(lines), rows, self.note)

    def check(self, price: Price, epsilon: Any, error: Any = None) -> None:
        """Refuse a budget whose noise cannot be drawn, or the error that led to it."""
        if not all(measure.drawable(column, price / len(self.measures)) for measure, column in self.measured()):
            if error is not None:
                raise InvalidArgument("error", error, "so small that noise as wide can be drawn", "error=1.0")
            expected = "so large that its noise can be drawn: bounds far from 0 make sums noisy"
            raise InvalidArgument("epsilon", epsilon, expected, "epsilon=1.0, or bounds nearer to 0")

    def wide(self, pure: Price, rho: Price) -> bool:
        """Return whether Gaussian noise is narrower for every figure: prices per row, with the same promise."""

        def error(measure: Measure, column: Any, price: Price) -> float:
            return measure.error(column, price / len(self.measures), 1000.0) or 0.0

        return all(m.gaussian and error(m, c, rho) < error(m, c, pure) for m, c in self.measured())


@dataclass(frozen=True, repr=False)
class QueryPlan(Frames):
    """What a query would cost and how wide its noise would be. Nothing is read or charged.

    Attributes
    ----------
    price : str
        What would be charged, for one ``unit``.
    groups : int
        The number of groups, which together cost that price.
    lines : tuple
        For each figure its name, the law of its noise, and the expected standard error; None if that depends on rows
        and no guess was given.
    rows : float or None
        The guess of rows per group.
    note : str
        Which values the bins leave out; empty if none.
    epsilon : float
        The ε of the price.

    Examples
    --------
    >>> QueryPlan("epsilon 1", "one row", 2, ())
    QueryPlan(2 groups for epsilon 1; )
    """

    price: str
    unit: str
    groups: int
    lines: tuple[tuple[str, Law, float | None], ...] = field(default=())
    rows: float | None = None
    note: str = ""
    epsilon: float = 0.0

    def to_arrow(self) -> pa.Table:
        """Return one row per figure."""
        facts = {"groups": self.groups, "price": self.price, "unit": self.unit}
        rows = [{"figure": n, **facts, "noise": law.name, "std_error": error} for n, law, error in self.lines]
        return pa.Table.from_pylist(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {"price": self.price, "unit": self.unit, "groups": self.groups,
                "figures": self.to_arrow().to_pylist(), **({"note": self.note} if self.note else {})}  # fmt: skip

    def __repr__(self) -> str:
        errors = []
        for name, law, error in self.lines:
            guess = f" with {self.rows:,.6g} rows per group" if self.rows is not None else ""
            known = "error not known beforehand" if error is None else f"standard error about {error:.3g}{guess}"
            errors.append(f"{name}: {law.name} noise, {known}")
        return f"QueryPlan({self.groups:,} group{'s' * (self.groups != 1)} for {self.price}; {'; '.join(errors)})"


def names_of(by: Any) -> tuple[str, ...]:
    """Return columns to group by: one name, several, or none."""
    names = (by,) if isinstance(by, str) else () if by is None else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidType("by", by, "names of columns", 'by=["town"]')
    return tuple(names)


def _by_column(known: Domain, names: tuple[str, ...], bins: Any) -> Mapping[str, Any]:
    if bins is None or isinstance(bins, Mapping):
        for name in bins or {}:
            if name not in names:
                raise InvalidArgument("bins", name, "about columns of by", f"by={[*names, name]}")
        return bins or {}
    numbers = [name for name in names if not isinstance(known.column(name), Categorical)]
    if len(numbers) != 1:
        named = numbers[0] if numbers else "age"
        raise InvalidArgument("bins", bins, "a mapping from columns of numbers", f"bins={{{named!r}: {bins!r}}}")
    return {numbers[0]: bins}


def _edges(column: Column, bins: Any) -> FloatArray:
    if isinstance(column, Categorical):
        if bins is not None:
            raise InvalidArgument("bins", bins, f"left out: column {column.name!r} has categories", "bins=None")
        return np.arange(len(column.categories) + 1.0)
    if bins is None:
        if isinstance(column, Integer) and not isinstance(column, Code) and column.n_values <= _OWN_GROUPS:
            return np.arange(column.low, column.high + 0.25)
        raise InvalidArgument("bins", None, f"given for {column.name!r}", f"bins={{{column.name!r}: 10}}")
    try:
        return edges_of(column, bins)
    except InvalidArgument as error:
        fix = error.fix.removeprefix("bins=")
        raise type(error)("bins", bins, error.expected, f"bins={{{column.name!r}: {fix}}}") from None


def _boxes(known: Domain, where: Any) -> tuple[Mapping[str, Any], ...] | None:
    """Return conditions as boxes by the names of columns; None for all rows."""
    if where is None:
        return None
    if isinstance(where, str):
        try:
            found, note = ask.read(known, where, exact=True)
        except InvalidArgument as error:
            fix = re.sub("^question=", "where=", error.fix)
            raise InvalidArgument("where", error.value, error.expected, fix) from None
        if note and not found:
            raise InvalidArgument("where", where, f"true of some row: {note}", 'missing = "own" in the schema')
        return tuple({known.names[at]: pairs for at, pairs in box.items()} for box in found)
    if not isinstance(where, Mapping):
        raise InvalidType("where", type(where).__name__, "a condition", 'where="age > 30"')
    return ({name: _up_to(known.columns[known.position(name)], value) for name, value in where.items()},)


def _up_to(column: Column, value: Any) -> Intervals:
    """Return a pair's interval: it leaves out its upper end, unless that is the bound."""
    return [
        (low, math.inf if high >= column.high else high) for low, high in stretches_by_name(column, value, "where=")
    ]


def rounded_up(number: float) -> Fraction:
    """Return a number with three digits that is not smaller."""
    digits = 2 - math.floor(math.log10(number))
    return Fraction(math.ceil(number * 10**digits - 1e-9), 1) / Fraction(10) ** digits
