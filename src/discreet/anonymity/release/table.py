"""A table prepared for anonymisation: quasi-identifiers as bins of public grids, other columns as declared.

Roles come from the domain. Sensitive columns and the target are numbered, identifiers are left out. A column with the
role "attribute" is refused unless ``keep`` names it, so that no column is passed on by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.anonymity.growth.grid import NO_BIN, Bins, Grid, make_grid
from discreet.anonymity.risk.coded import CodedColumn, code_column
from discreet.anonymity.risk.rules import ReachedLevels, Rules
from discreet.core import (
    NAMING,
    AnyArray,
    BoolArray,
    Categorical,
    Code,
    Column,
    Date,
    Domain,
    IntArray,
    Time,
    category_text,
    coding,
    nearest,
    with_person,
)
from discreet.engines.readers import read_columns
from discreet.engines.tables import key_codes, same_key
from discreet.engines.writing import declared_type, declared_values
from discreet.errors import InvalidArgument, InvalidType, SchemaError


@dataclass(frozen=True)
class TablePlan:
    """The roles of the columns, and the grids: public, fixed before any row is read."""

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
        return {name: self.domain.column(name) for name in self.identifiers}

    def named(self, persons: Any) -> BoolArray:
        """Return which rows have a person, given the column that says so."""
        keys = same_key(persons, self.domain.column(str(self.person)))
        return np.asarray(keys.is_valid().to_numpy(zero_copy_only=False))

    @property
    def passed(self) -> list[str]:
        return list(dict.fromkeys([*self.sensitive, *([self.target] if self.target else []), *self.keep]))

    @classmethod
    def of(
        cls, domain: Domain, *, sensitive: Sequence[str] | str | None = None, target: str | None = None,
        keep: Sequence[str] = (), person: str | None = None, grid: Any = None,
        orders: Mapping[str, tuple[int, ...]] | None = None,
    ) -> TablePlan:  # fmt: skip
        """Sort the declared columns by role; ``sensitive``, ``target`` and ``person`` override the roles.

        If no column is a quasi-identifier, all attributes are. Otherwise ``keep`` must name attributes to pass them on.
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
        whose = _names("person", person, names, roles) or tuple(n for n in names if roles[n] == "person")
        for role, columns in (("target", label), ("person", whose)):
            if len(columns) > 1:
                raise SchemaError(f"columns {', '.join(map(repr, columns))} are all declared {role}; one can be")
        shared = [n for n in whose if n in {*secret, *label, *kept}]
        if shared:
            fix = f"leaving {shared[0]!r} out of sensitive, target and keep"
            raise InvalidArgument("person", shared[0], "a column that is not passed on", fix)
        _refuse_thresholds(domain, (*secret, *label, *kept))
        special = {*secret, *label, *kept, *whose}
        quasi = tuple(n for n in names if roles[n] == "quasi-identifier")
        clash = [n for n in quasi if n in special]
        if clash:
            parts = {"sensitive": secret, "target": label, "person": whose, "keep": kept}
            part = next(name for name, columns in parts.items() if clash[0] in columns)
            fix = f"leaving {part} out, or no role quasi-identifier for {', '.join(map(repr, clash))} in the schema"
            raise InvalidArgument(part, clash[0], "not a quasi-identifier at the same time", fix)
        if not quasi:
            quasi = tuple(n for n in names if roles[n] == "attribute" and n not in special)
        rest = [n for n in names if roles[n] == "attribute" and n not in special and n not in quasi]
        if rest:
            named, single = ", ".join(map(repr, rest)), len(rest) == 1
            which = f"column {named} has" if single else f"columns {named} have"
            raise SchemaError(
                f"{which} no role in an anonymous table; in the schema, give {'it' if single else 'each'} the role "
                '"quasi-identifier" (or "sensitive", "identifier", "target"), or delete it there to leave it out of '
                "the release; only if its exact values may be released, add",
                keep=[*kept, *rest],
            )
        if not quasi:
            raise SchemaError('no column is a quasi-identifier; declare role = "quasi-identifier" for at least one')
        identifiers = tuple(n for n in names if n in whose or (roles[n] == "identifier" and n not in special))
        by_column = grid if isinstance(grid, Mapping) else dict.fromkeys(quasi, grid)
        refuse_unknown("grid", by_column, quasi)
        for name in by_column if isinstance(grid, Mapping) else ():
            if isinstance(domain.column(name), Categorical):
                expected = "about columns of numbers, dates or codes: categories are grouped by a hierarchy"
                raise InvalidArgument("grid", name, expected, f"leaving {name!r} out of it")
        grids = tuple(make_grid(domain.column(n), by_column.get(n), (orders or {}).get(n)) for n in quasi)
        whom = whose[0] if whose else None
        return cls(domain, quasi, secret, label[0] if label else None, identifiers, kept, grids, whom)


@dataclass(frozen=True)
class Table:
    """The rows of a release: ``bins`` (columns by rows) on the grids, and the columns ``others`` that are passed on.

    ``kept`` are the numbers of the input rows that are here, ``dropped`` counts those without a quasi-identifier and
    ``unnamed`` those without a person. ``over`` counts rows beyond the most that a person may have, ``choice`` is the
    key that chose among them.
    """

    plan: TablePlan
    bins: Bins
    kept: IntArray
    sensitive: tuple[CodedColumn, ...]
    target: CodedColumn | None
    others: pa.Table
    dropped: int
    identifiers: pa.Table
    unnamed: int = 0
    over: int = 0
    choice: str = ""

    @property
    def n(self) -> int:
        return int(self.bins.shape[1])

    @cached_property
    def persons(self) -> IntArray | None:
        if (name := self.plan.person) is None:
            return None
        return key_codes(same_key(self.identifiers[name], self.plan.domain.column(name)))

    @property
    def entries(self) -> PlaceCounts:
        return PlaceCounts(np.zeros(self.n, np.int64), self.sensitive, self.persons, np.ones(self.n, np.int64))

    def bin_counts(self, j: int) -> IntArray:
        return np.bincount(self.bins[j], minlength=self.plan.grids[j].n_bins)

    def reordered(self, grids: Sequence[Grid], places: Mapping[int, AnyArray]) -> Table:
        bins = self.bins.copy() if places else self.bins
        for j, place in places.items():
            bins[j] = place[self.bins[j]]
        return replace(self, plan=replace(self.plan, grids=tuple(grids)), bins=bins)

    def take(self, rows: IntArray) -> Table:
        picked = pa.array(rows)
        return replace(
            self,
            bins=np.ascontiguousarray(self.bins[:, rows]),
            kept=self.kept[rows],
            sensitive=tuple(column.take(rows) for column in self.sensitive),
            target=None if self.target is None else self.target.take(rows),
            others=self.others.take(picked),
            identifiers=self.identifiers.take(picked),
        )

    def placed(self, _: Any, leaf: IntArray) -> PlaceCounts:
        return replace(self.entries, place=leaf)


@dataclass(frozen=True)
class PlaceCounts:
    """Rows counted by place, sensitive values and person; ``rows`` is the number of rows of each entry."""

    place: IntArray
    sensitive: tuple[CodedColumn, ...]
    persons: IntArray | None
    rows: IntArray

    def figures(self, rules: Rules, of_place: AnyArray | None = None) -> tuple[ReachedLevels, int, int, int, IntArray]:
        """Measure cells, given that of every place: what is reached, rows, cells, rows in no cell, rows shown by entry.

        Without ``of_place``, places are cells.
        """
        cell = self.place if of_place is None else of_place[self.place]
        reached = rules.measure(cell, self.sensitive, self.persons, self.rows)
        shown = cell >= 0
        rows = int(self.rows[shown].sum())
        cells, suppressed = len(np.unique(cell[shown])), int(self.rows.sum()) - rows
        return reached, rows, cells, suppressed, np.where(shown, self.rows, 0)


def read_table(data: Any, plan: TablePlan) -> Table:
    """Read a table: one pass over the declared columns, one over what says whose rows they are.

    Where persons are counted, rows without a person are left out: they may belong to anyone, also to someone who is in
    the group already, so they would make neither k nor a bound on the rows per person true.
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
    identifiers = read_columns(source, list(plan.identifiers), plan.persons)
    named = plan.named(identifiers.column(plan.person)) if plan.person else np.ones(bins.shape[1], bool)
    kept = np.flatnonzero((bins != NO_BIN).all(axis=0) & named) if lost else np.flatnonzero(named)
    others = pa.table({c.name: pa.chunked_array(held, declared_type(c)) for c, held in zip(passed, found, strict=True)})
    whole = len(kept) == bins.shape[1]
    others = others if whole else others.take(pa.array(kept))
    identifiers = identifiers if whole else identifiers.take(pa.array(kept))
    binned = bins if whole else np.ascontiguousarray(bins[:, kept])
    coded = tuple(code_column(plan.domain, name, others[name]) for name in plan.sensitive)
    target = code_column(plan.domain, plan.target, others[plan.target]) if plan.target else None
    unnamed = int((~named).sum())
    return Table(plan, binned, kept, coded, target, others, bins.shape[1] - len(kept) - unnamed, identifiers, unnamed)


def _refuse_naming(roles: Mapping[str, str], **passed_on: tuple[str, ...]) -> None:
    """Refuse to pass on, as it is, a column that says whose row it is: the roles alone decide, before any row."""
    plain = [n for n, role in roles.items() if role not in NAMING]
    for label, listed in passed_on.items():
        naming = [n for n in listed if roles[n] in NAMING]
        if naming:
            own = [n for n in listed if n in plain] if label == "keep" else []
            other = own or [n for n in plain if roles[n] == "attribute"][:1]
            fix = f"{label}={other!r}" if label == "keep" and other else f"leaving {label} out"
            expected = (
                f"a column that does not say whose row it is (it has the role {roles[naming[0]]}, which is never "
                "passed on as it is; identifiers='hash' with a key passes on a keyed hash)"
            )
            raise InvalidArgument(label, naming[0], expected, fix)


def _refuse_thresholds(domain: Domain, passed_on: Sequence[str]) -> None:
    """Refuse a threshold of a column that is passed on as it is: values beyond it would be shown."""
    for name in passed_on:
        for side in coding.declared(domain.column(name)):
            raise SchemaError(
                f"column {name!r} declares a {side} and is passed on as it is, so values beyond it would be shown; "
                f"leave the {side} out, or declare the column a quasi-identifier"
            )


def _names(label: str, given: Any, names: list[str], roles: Mapping[str, str]) -> tuple[str, ...]:
    if given is not None and not isinstance(given, Iterable):
        raise InvalidType(label, given, "a list of columns", f"{label}=[{names[0]!r}]")
    listed = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    for name in listed:
        if name not in names:
            plain = [n for n in names if label == "person" or roles[n] not in NAMING] or names
            near = nearest(name, plain)
            shown = f"[{near!r}]" if label == "keep" else repr(near)
            fix = f"{label}={shown}" if near else "one of these"
            raise InvalidArgument(label, name, f"a declared column ({', '.join(plain[:20])})", fix)
    return listed


def refuse_unknown(label: str, given: Mapping[str, Any], quasi: Sequence[str]) -> None:
    """Refuse an option by column that names something else than a quasi-identifier."""
    for name in given:
        if name not in quasi:
            near = nearest(name, quasi)
            fix = f"{label}={{{near!r}: {given[name]!r}}}" if near else "one of these"
            raise InvalidArgument(label, name, f"given for quasi-identifiers ({', '.join(quasi)})", fix)


def without_values(column: Any) -> SchemaError:
    if not isinstance(column, Categorical):
        what = f"a {column.kind}" if isinstance(column, (Date, Time, Code)) else "a number"
        said = f"quasi-identifier {column.name!r} has no value in any row that can be read as {what}"
        form = ' and its format (dates = ["%d.%m.%Y"] under [source])' if isinstance(column, Date) else ""
        return SchemaError(f"{said}; check how it is declared{form}, or leave the column out")
    shown = ", ".join(repr(category_text(c)) for c in column.categories[:3])
    more = ", …" * (len(column.categories) > 3)
    return SchemaError(
        f"quasi-identifier {column.name!r}: no row has a value of its declared list ({shown}{more}); check the list, "
        "or leave the column out"
    )
