"""A table made ready for anonymising: quasi-identifiers as bins of public grids, the other columns as declared.

Roles come from the domain. Quasi-identifiers are binned, sensitive columns and the target are numbered, identifiers are
left out. A column whose role is only "attribute" is refused unless the user says to keep it: whoever passes on a column
must have thought about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines
from discreet.anonymity.growth.grid import NO_BIN, Grid, make_grid
from discreet.anonymity.risk.persons import person_codes
from discreet.core import (
    NAMING,
    AnyArray,
    Categorical,
    Column,
    Date,
    Domain,
    IntArray,
    Numeric,
    Time,
    category_text,
    coding,
    day_number,
    nearest,
    second_number,
    with_person,
)
from discreet.engines.readers import read_columns
from discreet.engines.tables import same_key
from discreet.engines.writing import declared_type, declared_values
from discreet.errors import InvalidArgument, InvalidType, SchemaError

Bins = npt.NDArray[np.uint16]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class CodedColumn:
    """A column as numbers ``0..len(labels)-1`` of its values; a missing value is a value of its own.

    Attributes
    ----------
    name : str
        The column.
    codes : ndarray of int32
        One number per row.
    labels : list
        The values, in the order of the declaration where there is one; numbers rise.
    ordered : bool
        Whether the order means something: numbers.
    """

    name: str
    codes: Codes
    labels: list[Any]
    ordered: bool

    def take(self, rows: Any) -> CodedColumn:
        """Return the column of some rows, numbered as before."""
        return replace(self, codes=self.codes[rows])

    def compact(self) -> CodedColumn:
        """Return the column numbered by the values that occur: as if its rows were the whole table."""
        there = np.bincount(self.codes, minlength=len(self.labels)) > 0
        place = (np.cumsum(there) - 1).astype(np.int32)
        return replace(self, codes=place[self.codes], labels=[self.labels[i] for i in np.flatnonzero(there).tolist()])


@dataclass(frozen=True)
class TablePlan:
    """Which column plays which part, and the grids: public, fixed before any row is read.

    Examples
    --------
    >>> domain = Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"},
    ...                  "ill": {"categories": ["no", "yes"], "role": "sensitive"}})
    >>> plan = TablePlan.of(domain)
    >>> plan.quasi, plan.sensitive
    (('age',), ('ill',))
    """

    domain: Domain
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    target: str | None
    identifiers: tuple[str, ...]
    keep: tuple[str, ...]
    grids: tuple[Grid, ...]
    person: str | None = None

    @property
    def persons(self) -> dict[str, Column | None]:
        """The columns that say whose row it is, with their declarations."""
        return {name: self.domain.column(name) for name in self.identifiers}

    @property
    def passed(self) -> list[str]:
        """The columns that are passed on: sensitive ones, the target, and those that are kept."""
        return list(dict.fromkeys([*self.sensitive, *([self.target] if self.target else []), *self.keep]))

    @classmethod
    def of(
        cls,
        domain: Domain,
        *,
        sensitive: Sequence[str] | str | None = None,
        target: str | None = None,
        keep: Sequence[str] = (),
        person: str | None = None,
        grid: Any = None,
        orders: Mapping[str, tuple[int, ...]] | None = None,
    ) -> TablePlan:
        """Sort the declared columns by role.

        ``sensitive``, ``target`` and ``person`` override the roles. The person is an identifier too: it is not passed
        on. If no column is declared a quasi-identifier, all attributes are: the safe reading. Otherwise attributes must
        be named in ``keep`` to be passed on.
        """
        if not isinstance(domain, Domain):
            raise InvalidType("domain", type(domain), "a Domain", 'domain=Domain({"age": (0, 120)})')
        domain = with_person(domain)
        names, roles = list(domain.names), {c.name: str(c.role) for c in domain}
        given = _names("sensitive", sensitive, names, roles)
        wanted_target = _names("target", target, names, roles)
        kept = _names("keep", keep, names, roles)
        _refuse_naming(roles, sensitive=given, target=wanted_target, keep=kept)
        secret = given or tuple(n for n in names if roles[n] == "sensitive")
        label = wanted_target or tuple(n for n in names if roles[n] == "target")
        if len(label) > 1:
            raise SchemaError(f"columns {', '.join(map(repr, label))} are all declared target; one can be")
        whose = _names("person", person, names, roles) or tuple(n for n in names if roles[n] == "person")
        if len(whose) > 1:
            raise SchemaError(f"columns {', '.join(map(repr, whose))} are all declared person; one can be")
        shared = [n for n in whose if n in {*secret, *label, *kept}]
        if shared:
            raise InvalidArgument("person", shared[0], "a column that is not passed on", "one role for every column")
        _refuse_thresholds(domain, (*secret, *label, *kept))
        special = {*secret, *label, *kept, *whose}
        quasi = tuple(n for n in names if roles[n] == "quasi-identifier")
        clash = [n for n in quasi if n in special]
        if clash:
            parts = {"sensitive": secret, "target": label, "person": whose, "keep": kept}
            part = next(name for name, columns in parts.items() if clash[0] in columns)
            raise InvalidArgument(
                part, clash[0], "not a quasi-identifier at the same time", "one role for every column"
            )
        if not quasi:
            quasi = tuple(n for n in names if roles[n] == "attribute" and n not in special)
        rest = [n for n in names if roles[n] == "attribute" and n not in special and n not in quasi]
        if rest:
            named = ", ".join(map(repr, rest))
            which = f"column {named} has" if len(rest) == 1 else f"columns {named} have"
            it = "it" if len(rest) == 1 else "each"
            raise SchemaError(
                f"{which} no role in an anonymous table; declare {it} a quasi-identifier, sensitive, an identifier or "
                "the target, leave it out of the schema, or pass it on as it is",
                keep=[*kept, *rest],
            )
        if not quasi:
            raise SchemaError('no column is a quasi-identifier; declare role = "quasi-identifier" for at least one')
        identifiers = tuple(n for n in names if n in whose or (roles[n] == "identifier" and n not in special))
        by_column = grid if isinstance(grid, Mapping) else dict.fromkeys(quasi, grid)
        unknown = [n for n in by_column if n not in quasi]
        if unknown:
            raise InvalidArgument("grid", unknown[0], "given for quasi-identifiers only", f"grid={{{quasi[0]!r}: 24}}")
        grids = tuple(make_grid(domain.column(n), by_column.get(n), (orders or {}).get(n)) for n in quasi)
        whom = whose[0] if whose else None
        return cls(domain, quasi, secret, label[0] if label else None, identifiers, kept, grids, whom)


@dataclass(frozen=True)
class Table:
    """The rows of one release, ready to be grouped.

    Attributes
    ----------
    plan : TablePlan
        What is public.
    bins : ndarray of uint16, shape (columns, rows)
        Bin of every row on the grid of every quasi-identifier; column by column in memory.
    kept : ndarray of int64
        Numbers of the input rows that are here; rows without a value in a column that drops them are not.
    sensitive : tuple of CodedColumn
        The sensitive columns.
    target : CodedColumn or None
        The target.
    others : pyarrow.Table
        Sensitive, target and kept columns as they are passed on (`declared_values`), rows as in ``bins``.
    dropped : int
        Input rows left out for a missing quasi-identifier.
    """

    plan: TablePlan
    bins: Bins
    kept: IntArray
    sensitive: tuple[CodedColumn, ...]
    target: CodedColumn | None
    others: pa.Table
    dropped: int
    identifiers: pa.Table

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.bins.shape[1])

    @cached_property
    def persons(self) -> IntArray | None:
        """Whose row each is, as numbers; None if no column says so."""
        name = self.plan.person
        return None if name is None else person_codes(self.identifiers[name], self.plan.domain.column(name))

    @property
    def entries(self) -> PlaceCounts:
        """The rows by sensitive values and person, all at one place."""
        return PlaceCounts(np.zeros(self.n, np.int64), self.sensitive, self.persons, np.ones(self.n, np.int64))

    def bin_counts(self, j: int) -> IntArray:
        """Return how many rows each bin of a column has."""
        return np.bincount(self.bins[j], minlength=self.plan.grids[j].n_bins)

    def reordered(self, grids: Sequence[Grid], places: Mapping[int, AnyArray]) -> Table:
        """Return the same rows on grids whose categories are in another order; ``places`` says where each bin goes."""
        bins = self.bins.copy() if places else self.bins
        for j, place in places.items():
            bins[j] = place[self.bins[j]]
        return replace(self, plan=replace(self.plan, grids=tuple(grids)), bins=bins)

    def placed(self, _: Any, leaf: IntArray) -> PlaceCounts:
        """Return the rows by leaf of a tree, sensitive values and person."""
        return replace(self.entries, place=leaf)


@dataclass(frozen=True)
class PlaceCounts:
    """The rows of a table by place, sensitive values and person.

    Attributes
    ----------
    place : ndarray of int64
        Where the rows of each entry are put.
    sensitive : tuple of CodedColumn
        The sensitive columns, an entry each.
    persons : ndarray of int64 or None
        Whose rows they are.
    rows : ndarray of int64
        How many they are.
    """

    place: IntArray
    sensitive: tuple[CodedColumn, ...]
    persons: IntArray | None
    rows: IntArray


def read_table(data: Any, plan: TablePlan) -> Table:
    """Read a table: one pass over the declared columns, one over what says whose rows they are.

    Examples
    --------
    >>> plan = TablePlan.of(Domain({"age": (0, 120)}))
    >>> read_table(pa.table({"age": [35.5, None, 200.0]}), plan).bins.tolist()
    [[35, 119]]
    """
    source = engines.open(data, plan.domain)
    d, passed = len(plan.quasi), [plan.domain.column(name) for name in plan.passed]
    wanted = plan.domain.select([*plan.quasi, *plan.passed])
    pieces, lost = [np.empty((d, 0), np.uint16)], 0
    found: list[list[pa.Array]] = [[] for _ in passed]
    for columns in source.batches(wanted):
        pieces.append(np.empty((d, len(columns[0])), np.uint16))
        for grid, coordinates, piece in zip(plan.grids, columns[:d], pieces[-1], strict=True):
            lost += grid.write_bins(coordinates, piece)
        for column, coordinates, held in zip(passed, columns[d:], found, strict=True):
            held.append(declared_values(column, coordinates))
    bins = pieces[1] if len(pieces) == 2 else np.concatenate(pieces, axis=1)
    kept = np.flatnonzero((bins != NO_BIN).all(axis=0)) if lost else np.arange(bins.shape[1])
    others = pa.table({c.name: pa.chunked_array(held, declared_type(c)) for c, held in zip(passed, found, strict=True)})
    whole = len(kept) == bins.shape[1]
    others = others if whole else others.take(pa.array(kept))
    identifiers = read_columns(source, list(plan.identifiers), plan.persons)
    identifiers = identifiers if whole else identifiers.take(pa.array(kept))
    binned = bins if whole else np.ascontiguousarray(bins[:, kept])
    coded = tuple(code_column(plan.domain, name, others[name]) for name in plan.sensitive)
    target = code_column(plan.domain, plan.target, others[plan.target]) if plan.target else None
    return Table(plan, binned, kept, coded, target, others, bins.shape[1] - len(kept), identifiers)


def code_column(domain: Domain | None, name: str, values: pa.ChunkedArray) -> CodedColumn:
    """Number the values of a column. Declared categories come first, in their order; numbers in rising order.

    What a reader takes for the same (`discreet.engines.tables.same`) is one value, or it would make a class look
    diverse: ``1`` and ``1.0``, a category with blanks around it, and all that is missing.
    """
    column = domain.column(name) if domain is not None else None
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    found = encoded.dictionary.to_pylist()
    alike = same_key(encoded.dictionary, column).to_pylist()
    numbers = isinstance(column, Numeric) or (column is None and all(_is_number(v) for v in found if v is not None))
    keys: list[float | None] = []
    if numbers:
        keys = list(map(reader_of(column), found))
        order = sorted(range(len(found)), key=lambda i: (keys[i] is None, keys[i] or 0.0))
    elif isinstance(column, Categorical):
        declared = pa.array([category_text(c) for c in column.categories])
        place = {key: i for i, key in enumerate(same_key(declared, column).to_pylist())}
        order = sorted(range(len(found)), key=lambda i: (place.get(alike[i], len(place)), str(alike[i])))
    else:
        order = sorted(range(len(found)), key=lambda i: (found[i] is None, str(found[i])))
    rank = np.empty(len(found) or 1, np.int32)
    first: dict[Any, int] = {}
    labels: list[Any] = []
    for i in order:
        known = keys[i] if numbers and keys[i] is not None else None
        same = ("number", known) if known is not None else ("text", alike[i])
        if same not in first:
            first[same] = len(labels)
            labels.append(found[i])
        rank[i] = first[same]
    codes = (
        rank[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)] if len(values) else np.empty(0, np.int32)
    )
    return CodedColumn(name, codes.astype(np.int32), labels, numbers)


def reader_of(column: Column | None) -> Callable[[Any], float | None]:
    """Return what reads one value of a column of numbers, dates or times: its place on the axis, None if it has none.

    Examples
    --------
    >>> reader_of(Numeric("age", 0, 120))(" 7.0"), reader_of(Date("born", "1950-01-01", "2000-01-01"))("unknown")
    (7.0, None)
    """
    return day_number if isinstance(column, Date) else second_number if isinstance(column, Time) else _number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    try:
        number = None if value is None else float(value)
    except (ValueError, OverflowError):
        return None
    return None if number is None or math.isnan(number) else number


def _refuse_naming(roles: Mapping[str, str], **passed_on: tuple[str, ...]) -> None:
    """Refuse to pass on, as it is, a column that says whose row it is: the roles alone decide, before any row."""
    plain = [n for n, role in roles.items() if role not in NAMING]
    for label, listed in passed_on.items():
        naming = [n for n in listed if roles[n] in NAMING]
        if naming:
            own = [n for n in listed if n in plain] if label == "keep" else []
            other = own or [n for n in plain if roles[n] == "attribute"][:1]
            fix = f"{label}={other!r}" if label == "keep" and other else f"leaving {label} out"
            raise InvalidArgument(
                label,
                naming[0],
                f"a column that does not say whose row it is (it has the role {roles[naming[0]]}, which is never "
                "passed on as it is; identifiers='hash' with a key passes on a keyed hash)",
                fix,
            )


def _refuse_thresholds(domain: Domain, passed_on: Sequence[str]) -> None:
    """Refuse a threshold of a column that is passed on as it is: values beyond it would be shown."""
    for name in passed_on:
        for side in coding.declared(domain.column(name)):
            raise SchemaError(
                f"column {name!r} declares a {side} and is passed on as it is, so values beyond it would be shown; "
                f"leave the {side} out, or declare the column a quasi-identifier"
            )


def _names(label: str, given: Any, names: list[str], roles: Mapping[str, str]) -> tuple[str, ...]:
    listed = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    for name in listed:
        if name not in names:
            plain = [n for n in names if label == "person" or roles[n] not in NAMING] or names
            near = nearest(name, plain) or plain[0]
            shown = f"[{near!r}]" if label == "keep" else repr(near)
            raise InvalidArgument(label, name, f"a declared column ({', '.join(plain[:20])})", f"{label}={shown}")
    return listed


def without_values(column: Any) -> SchemaError:
    """Return the refusal of a quasi-identifier of which no row has a value as declared.

    Examples
    --------
    >>> print(without_values(Categorical("sex", ["f", "m"])))
    quasi-identifier 'sex': no row has a value of its declared list ('f', 'm'); check the list, or leave the column out
    """
    if not isinstance(column, Categorical):
        what = f"a {column.kind}" if isinstance(column, (Date, Time)) else "a number"
        return SchemaError(
            f"quasi-identifier {column.name!r} has no value in any row that can be read as {what}; check how it is "
            "declared, or leave the column out"
        )
    shown = ", ".join(repr(category_text(c)) for c in column.categories[:3])
    more = ", …" * (len(column.categories) > 3)
    return SchemaError(
        f"quasi-identifier {column.name!r}: no row has a value of its declared list ({shown}{more}); check the list, "
        "or leave the column out"
    )
