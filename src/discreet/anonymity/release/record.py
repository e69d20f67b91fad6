"""The release record: one file of a release history, which lists who was published in which cell.

It is a Parquet file, a row per input row: identifier and sensitive values as text, the cell as a number (null if
suppressed) and in words. Its metadata hold the rules, the declarations, the seals of earlier records and its own, a
SHA-256 digest of everything. The file undoes the release, so only its owner can read it (mode 600).

People are followed by *one* column, the person or the only identifier: with several, a person with a new case number
would look like another person. It must be declared in the same way each time (`discreet.engines.tables.same`).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.release.table import Table, TablePlan
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.rules import Rules
from discreet.core import Categorical, Column, IntArray, category_text, check_place, counted, refuse_later, write_whole
from discreet.engines.tables import same_key
from discreet.errors import DataSourceError, DiscreetError, FormatError, SchemaError

_FORMAT, _FORMAT_VERSION = "discreet.record", 3
META = b"discreet.record"
_IDENTIFIER, _SENSITIVE = "identifier:", "sensitive:"
#: The quasi-identifiers of a row on the public grids: of several rows of a person, which is which.
_WHERE = "where"


#: By column whose categories were grouped by how common they are: how often each occurred.
GroupCounts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class ReleaseRecord:
    """The published cell of each person in one release. Never publish it.

    ``records`` are the columns of the file, ``required`` the rules as `Rules.to_history` has them. ``counts_persons``
    says whether k counted persons. ``declared`` and ``measured`` declare the identifier and the sensitive columns, on
    which l and t depend. ``earlier`` are seals of the records it was checked with. ``groups`` group the categories of
    later releases alike: other groups would cut across the cells; so would other ``cuts`` (`Tree.cuts`), which later
    trees begin with. ``places`` says which quasi-identifiers rows could have (`places`). ``choice`` is the key by which
    the rows of a person were chosen (`capped`). ``label`` names it in errors.
    """

    records: pa.Table
    required: Mapping[str, Any]
    counts_persons: bool
    declared: Mapping[str, Any]
    measured: Mapping[str, Any]
    earlier: tuple[str, ...] = ()
    groups: GroupCounts = field(default_factory=dict)
    cuts: Mapping[str, Any] = field(default_factory=dict)
    places: str = ""
    choice: str = ""
    label: str = "an earlier release"

    @classmethod
    def of(
        cls, table: Table, cells: Cells, required: Mapping[str, Any], earlier: Sequence[str] = (),
        groups: GroupCounts | None = None, cuts: Mapping[str, Any] | None = None,
    ) -> Self:  # fmt: skip
        """Make the record of a release from the input rows and the cells they were published in."""
        followed = following_column(table.plan)
        who = identities(table)
        columns = {_IDENTIFIER + followed: who}
        columns |= {_SENSITIVE + n: as_text(table.others[n]) for n in table.plan.sensitive}
        number = pa.array(cells.of, mask=cells.of < 0)
        parts = [[f"{grid.name} {text}" for text in cells.texts(j)] for j, grid in enumerate(cells.grids)]
        words = pa.array([", ".join(found) for found in zip(*parts, strict=True)], pa.large_string())
        columns |= {"cell": number, "published": words.take(number), "suppressed": pa.array(cells.of < 0)}
        columns[_WHERE] = where(table)
        plan = table.plan
        declared, measured = following_declaration(plan), sensitive_declarations(plan)
        whose = plan.person is not None
        kept: Any = (tuple(earlier), groups or {}, cuts or {}, places(table), table.choice)
        return cls(pa.table(columns), dict(required), whose, declared, measured, *kept)

    @property
    def identifiers(self) -> tuple[str, ...]:
        return self._named(_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self._named(_SENSITIVE)

    @property
    def n(self) -> int:
        return int(self.records.num_rows)

    @cached_property
    def cell(self) -> IntArray:
        """The cell of every record; -1 for one that was suppressed."""
        return np.asarray(self.records["cell"].fill_null(-1).combine_chunks().to_numpy(zero_copy_only=False), np.int64)

    @property
    def identifier(self) -> pa.Array:
        """The column by which people are followed, as text in one spelling."""
        return self.records[_IDENTIFIER + self.declared["name"]].combine_chunks()

    def values(self, name: str) -> pa.Array:
        return self.records[_SENSITIVE + name].combine_chunks()

    @property
    def where(self) -> pa.Array:
        """The quasi-identifiers of each row (see `where`); empty texts in some records of earlier versions."""
        if _WHERE in self.records.column_names:
            return self.records[_WHERE].combine_chunks()
        return pa.array([""] * self.n, pa.large_string())

    @cached_property
    def rules(self) -> Rules:
        diverse, close = self.required.get("l", {}), self.required.get("t", {})
        return Rules(
            self.required["k"],
            l_diversity=diverse.get("least"),
            l_kind=diverse.get("kind", "distinct"),
            c=diverse.get("c", 3.0),
            t_closeness=close.get("most"),
            t_kind=close.get("kind", "auto"),
            hierarchies={name: Hierarchy(tree) for name, tree in close.get("hierarchies", {}).items()},
            per_person="persons" in (diverse.get("counts"), close.get("counts")),
        )

    @cached_property
    def seal(self) -> str:
        digest = hashlib.sha256(json.dumps(self._facts(), sort_keys=True).encode())
        for name in self.records.column_names:
            digest.update(_digest(self.records[name].combine_chunks()))
        return "sha256:" + digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the file. Only its owner can read it (mode 600)."""
        target = Path(path).expanduser()
        check_place(target)
        facts = json.dumps({**self._facts(), "seal": self.seal})
        sink = pa.BufferOutputStream()
        pq.write_table(self.records.replace_schema_metadata({META: facts}), sink)
        write_whole(target, sink.getvalue().to_pybytes(), private=True)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            table = pq.read_table(Path(path).expanduser())
        except OSError as error:
            reason = f" ({error.strerror})" if error.strerror else ""
            raise DataSourceError(f"history: cannot read {str(path)!r}{reason}") from None
        except pa.ArrowException:
            raise FormatError(f"history: {str(path)!r} is not a release record") from None
        found = (table.schema.metadata or {}).get(META)
        if found is None:
            raise FormatError(f"history: {str(path)!r} is not a release record")
        try:
            facts = json.loads(found)
            refuse_later("it", facts, _FORMAT_VERSION)
            if (facts["format"], facts["format_version"]) != (_FORMAT, _FORMAT_VERSION):
                raise FormatError(f"a release record this version can read has format_version {_FORMAT_VERSION}")
            record = cls(
                table.replace_schema_metadata(None), facts["required"], facts["counts_persons"], facts["declared"],
                facts["sensitive"], tuple(facts["earlier"]), facts.get("groups", {}), facts.get("cuts", {}),
                facts.get("places", ""), facts.get("choice", ""),
            )  # fmt: skip
            if record.identifier.null_count:
                raise FormatError("some rows have no identifier")
            if set(record.measured) != set(record.sensitive):
                raise FormatError("it lacks the declaration of a sensitive column")
            good = record.seal == facts["seal"] and record._facts() == {k: v for k, v in facts.items() if k != "seal"}
            rules = record.rules  # rules that cannot be checked later are refused now
            if rules.t_on and rules.t_kind == "hierarchical" and set(record.sensitive) - set(rules.hierarchies):
                raise FormatError("it lacks the hierarchy of a sensitive column")
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError, pa.ArrowException) as error:
            # What is not ours may quote a record: text where a number should be, say.
            said = str(error) if isinstance(error, DiscreetError) else type(error).__name__
            raise FormatError(f"history: the release record {str(path)!r} cannot be read: {said}") from None
        if not good:
            raise FormatError(f"history: the release record {str(path)!r} was changed: its seal does not fit")
        return record

    def _facts(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "declared": dict(self.declared),
            "sensitive": dict(self.measured),
            "counts_persons": self.counts_persons,
            "required": dict(self.required),
            "earlier": list(self.earlier),
            "records": self.n,
            **{name: held for name in ("places", "choice") if (held := getattr(self, name))},
            **({"groups": {name: dict(held) for name, held in self.groups.items()}} if self.groups else {}),
            **({"cuts": dict(self.cuts)} if self.cuts else {}),
        }

    def _named(self, start: str) -> tuple[str, ...]:
        return tuple(n.removeprefix(start) for n in self.records.column_names if n.startswith(start))

    def __repr__(self) -> str:
        return f"<release record of {self.n} records, {int((self.cell < 0).sum())} suppressed; not to be handed out>"


def following_column(plan: TablePlan) -> str:
    """Return the column by which people are followed: the person, or the only identifier."""
    names = (plan.person,) if plan.person is not None else plan.identifiers
    if not names:
        raise SchemaError(
            "people cannot be followed from release to release: the schema names no identifier and no person; declare "
            'role = "identifier" or "person" for the column that says whose row it is'
        )
    if len(names) > 1:
        from discreet.core.schema import known_kind, toml_key

        listed = ", ".join(map(repr, names))
        likely = [name for name in names if (kind := known_kind(name)) and kind.declared.get("role") == "person"]
        raise SchemaError(
            f"people are followed from release to release by one column, and the schema names {len(names)} identifiers "
            f'({listed}) and no person: declare role = "person" for the one of them that stays the same for a person, '
            f'for example {toml_key([*likely, *names][0])} = {{role = "person"}}'
        )
    return names[0]


def following_declaration(plan: TablePlan) -> dict[str, Any]:
    return _declaration(plan.domain.column(following_column(plan)))


def sensitive_declarations(plan: TablePlan) -> dict[str, Any]:
    return {name: _declaration(plan.domain.column(name)) for name in plan.sensitive}


def _declaration(column: Column) -> dict[str, Any]:
    if isinstance(column, Categorical):
        return {"name": column.name, "kind": column.kind, "categories": [category_text(c) for c in column.categories]}
    return {"name": column.name, "kind": column.kind, "bounds": column.ends()}


def places(table: Table) -> str:
    """Return a digest of the texts that `where` can be made of: it changes with the declarations."""
    texts = {grid.name: sorted({grid.text(b, b) for b in range(grid.n_bins)}) for grid in table.plan.grids}
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def where(table: Table) -> pa.Array:
    """Return the quasi-identifiers of each row on the public grids, as text."""
    texts = (pa.array([grid.text(b, b) for b in range(grid.n_bins)], pa.large_string()) for grid in table.plan.grids)
    columns = [text.take(pa.array(bins)) for text, bins in zip(texts, table.bins, strict=True)]
    return pc.binary_join_element_wise(*columns, pa.scalar("; ", pa.large_string()))


#: Floating-point numbers from here on stand for several whole numbers each.
_ROUNDED_FROM = 2.0**53


def identities(table: Table) -> pa.Array:
    """Return the key of each row, as text in one spelling; refuse missing keys and rounded numbers."""
    name = following_column(table.plan)
    who = table.identifiers[name]
    if pa.types.is_floating(who.type) and pc.any(pc.greater_equal(pc.abs(who), _ROUNDED_FROM)).as_py():
        raise SchemaError(
            f"{name!r} holds floating-point numbers of 2**53 and more, which may be rounded, so people cannot be "
            "followed; write the column as whole numbers or as text"
        )
    key = same_key(who, table.plan.domain.column(name)).cast(pa.large_string())
    if key.null_count:
        raise SchemaError(
            f"{counted(key.null_count, 'row')} with no value in {name!r}: their people cannot be followed from "
            "release to release; fill the column in, or leave these rows out"
        )
    return key


def as_text(column: Any) -> pa.Array:
    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_floating(joined.type):
        joined = pc.if_else(pc.is_nan(joined), None, joined)
    return joined.cast(pa.large_string())


def _digest(column: pa.Array) -> bytes:
    """Return a digest of the values of a column, independent of its memory layout."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    digest = hashlib.sha256(np.packbits(missing).tobytes())
    if pa.types.is_large_string(column.type):
        filled = column.fill_null("")
        _, ends, letters = filled.buffers()
        places = np.frombuffer(ends, np.int64, len(filled) + 1, 8 * filled.offset) if len(filled) else np.zeros(1, int)
        digest.update(np.asarray(np.diff(places), "<i8").tobytes())
        if places[-1] > places[0]:
            digest.update(memoryview(letters)[places[0] : places[-1]])
    else:
        digest.update(np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), "<i8").tobytes())
    return digest.digest()
