"""The declared columns while a steward edits them: a draft that may be incomplete, kept as plain data of its file.

What was typed is read field by field, and only what was changed is changed: a category that a file holds as a number
stays one, and keys that no form shows stay as they are. Nothing here reads a row; names come from the header alone.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core import Domain, lists, write_whole
from discreet.core.schema import Dialect, KnownKind, known_kind, merged, of_header, read_dialect, undeclared, write_toml
from discreet.errors import DataSourceError, DiscreetError, SchemaError
from discreet.studio.schema.typed import UNUSED, Fault, ordered, read_texts, texts_of
from discreet.studio.workspace import Project

#: Where an offer comes from that the file itself makes.
LABELS = "labels that the file declares in its head, apart from the rows"
#: Types of files and the kinds of values that they hold.
_TYPES = (("bool", "boolean"), ("date", "date"), ("timestamp", "date"), ("time", "time"), ("int", "integer"),
          ("uint", "integer"), ("double", "number"), ("float", "number"), ("decimal", "number"))  # fmt: skip
#: Public facts of a schema file.
FACTS = ("functions", "impossible", "rules")


@dataclass
class Sheet:
    """The columns of a table, declared or not."""

    columns: dict[str, dict[str, Any]]  # declarations; {} for an undeclared column
    #: Columns that are left out, with their earlier declarations.
    unused: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)  # all columns as in the table
    rest: dict[str, Any] = field(default_factory=dict)  # unit, source and facts, as in the file
    #: Labels of codes that the table's own file declares.
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)  # declared columns that the table does not have
    folder: Path = field(default=Path(), compare=False)  # of lists of categories that the file names

    @classmethod
    def of_names(cls, names: Iterable[str], dialect: Dialect | None = None) -> Sheet:
        plain = _plain(names)
        source = {} if dialect is None else dialect.to_dict()
        return cls({name: {} for name in plain}, order=plain, rest={"source": source} if source else {})

    @classmethod
    def load(cls, project: Project) -> Sheet:
        """Read what was declared so far; from the header where nothing was."""
        if not project.schema_file.is_file():
            return _drafted(project)
        made = cls.of_text(project.schema_file.read_text(encoding="utf-8"))
        made.folder = project.folder
        made.unused = {name: dict(held) for name, held in project.unused.items() if name not in made.columns}
        named = [name for name in project.columns if name in made.columns or name in made.unused]
        if head := _head(project):
            # What the table has besides is left out until somebody says otherwise.
            named, made.labels = _plain(head.names), dict(head.labels)
            made.unused |= {name: {} for name in named if name not in made.columns and name not in made.unused}
            follows = made.rest.get("functions", {})
            made.absent = [name for name in made.columns if name not in set(named) and name not in follows]
        made.order = [*named, *(n for n in (*made.columns, *made.unused) if n not in set(named))]
        return made

    @classmethod
    def of_text(cls, text: str) -> Sheet:
        try:
            table = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SchemaError(f"the schema is not valid TOML: {error}") from None
        columns = table.pop("columns", None)
        if not isinstance(columns, dict) or not all(isinstance(c, dict) for c in columns.values()) or not columns:
            raise SchemaError("the schema must hold one table [columns.NAME] per column")
        if strange := set(table) - {"unit", "source", *FACTS}:
            raise SchemaError(
                f"the schema has an unknown section {min(strange)!r}; known are columns, unit, source and facts"
            )
        return cls(columns, {}, list(columns), table)

    def save(self, project: Project) -> None:
        """Keep what was declared: the file whole, then the columns that are left out."""
        write_whole(project.schema_file, self.text(), private=True)
        project.columns, project.unused = list(self.order), dict(self.unused)
        project.save()

    def text(self) -> str:
        above: dict[str, Any] = {key: self.rest[key] for key in ("unit", "source") if key in self.rest}
        facts = {key: self.rest[key] for key in FACTS if self.rest.get(key)}
        columns = {name: self.columns[name] for name in self.order if name in self.columns}
        return write_toml({**above, "columns": columns, **facts})

    @property
    def version(self) -> str:
        return hashlib.sha256(repr((self.text(), self.unused)).encode()).hexdigest()[:16]

    def waits(self, name: str) -> bool:
        return name in self.columns and bool(undeclared(self.columns[name]))

    @property
    def waiting(self) -> list[str]:
        return [name for name in self.order if self.waits(name)]

    @property
    def persons(self) -> list[str]:
        """The columns that say whose row it is."""
        return [name for name, held in self.columns.items() if held.get("role") == "person"]

    @property
    def unit(self) -> str:
        """To whom privacy is promised: "row", "person", "household", or "" while that must still be said."""
        unit = self.rest.get("unit")
        if isinstance(unit, dict):
            return str(next((key for key in unit if key not in ("rows", "group", "per_group")), "person"))
        return "" if unit is None and self.persons else "row"

    @property
    def rows(self) -> str:
        unit = self.rest.get("unit")
        return str(unit.get("rows", "")) if isinstance(unit, dict) else ""

    @property
    def source(self) -> Dialect:
        return read_dialect(self.rest.get("source"))

    def held(self, name: str) -> dict[str, Any]:
        return self.columns.get(name) or self.unused.get(name) or {}

    def texts(self, name: str) -> dict[str, str]:
        shown = texts_of(self.held(name))
        return {**shown, "role": UNUSED} if name in self.unused else shown

    def domain(self) -> Domain:
        return Domain(lists.beside(self.columns, self.folder), **self.rest)

    def problem(self) -> str:
        """Return what is wrong with the columns together, if all are declared."""
        if self.waiting or not self.columns:
            return ""
        try:
            self.domain()
        except DiscreetError as error:
            return str(error)
        return ""

    def offer(self, name: str) -> KnownKind | None:
        """Return a suggestion for an undeclared column, from labels of the file or the public catalogue."""
        if self.waits(name) and self.labels.get(name):
            return KnownKind("", {"categories": list(self.labels[name])}, LABELS)
        return known_kind(name) if self.waits(name) else None

    def take(self, name: str) -> bool:
        """Declare a column as the catalogue has it; a role that was chosen stays."""
        known = self.offer(name)
        if known is None:
            return False
        held = self.columns[name]
        chosen = {"role": held["role"]} if held.get("role", "attribute") != "attribute" else {}
        self.columns[name] = ordered(merged(merged(held, known.declared), chosen))
        return True

    def edit(self, typed: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], Fault]:
        """Take over what was typed of columns, and return what cannot be used; such a column stays as it was."""
        faults: dict[tuple[str, str], Fault] = {}
        for name, texts in typed.items():
            if name not in self.columns and name not in self.unused:
                continue  # of another table, or gone
            try:
                made = read_texts(name, self.held(name), {**self.texts(name), **texts}, self.source)
            except Fault as fault:
                faults[name, fault.field] = fault
                continue
            used, other = (self.columns, self.unused)
            if texts.get("role", self.texts(name)["role"]) == UNUSED:
                used, other = other, used
            used[name] = made
            other.pop(name, None)
        self._keep_unit()
        return faults

    def set_unit(self, unit: str, rows: str) -> None:
        """Say to whom privacy is promised; how many rows of a person are used is a whole number, or auto."""
        if unit in ("person", "household", self.unit) and unit not in ("", "row"):
            if len(self.persons) != 1:
                raise Fault("unit", "no_person" if not self.persons else "two_persons", names=", ".join(self.persons))
            said = rows.strip().lower()
            if said != "auto" and not (said.isdecimal() and 1 <= int(said) <= 2**20):
                raise Fault("rows", "person_rows_wrong")
            held = self.rest.get("unit")
            more = {k: v for k, v in held.items() if k != self.unit} if isinstance(held, dict) else {}
            self.rest["unit"] = {**more, unit: self.persons[0], "rows": said if said == "auto" else int(said)}
        elif unit == "row" and (self.persons or "unit" in self.rest):
            self.rest["unit"] = "row"

    def set_facts(self, text: str) -> None:
        try:
            told = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Fault("facts", "library", text=str(error)) from None
        if strange := set(told) - set(FACTS):
            raise Fault("facts", "facts_strange", name=min(strange))
        self.rest = {**{k: v for k, v in self.rest.items() if k not in FACTS}, **told}

    def facts(self) -> str:
        return write_toml({key: self.rest[key] for key in FACTS if self.rest.get(key)})

    def replace_by(self, text: str) -> None:
        """Take over a whole schema file; columns of the table that it does not name are left out."""
        given = Sheet.of_text(text)
        for name, held in given.columns.items():
            if isinstance(held.get("categories_file"), str) and "categories" not in held:
                raise SchemaError(
                    f"column {name!r}: the list {held['categories_file']!r} is not here; write its categories into the "
                    "schema, or paste them on the column's page"
                )
        strange = [name for name in given.columns if name not in self.order]
        if strange:
            raise SchemaError(
                f"the schema declares {', '.join(map(repr, strange[:5]))}, which the table does not have; its columns "
                f"are {', '.join(map(repr, self.order[:12]))}{', …' * (len(self.order) > 12)}"
            )
        if given.rest.get("source"):
            read_dialect(given.rest["source"])
        left = {name: self.held(name) for name in self.order if name not in given.columns}
        kept = {"source": self.rest["source"]} if "source" in self.rest else {}
        looked = kept.get("source", {}).get("looked")
        self.columns, self.unused, self.rest = given.columns, left, {**kept, **given.rest}
        if looked:  # stays in every schema
            self.rest["source"] = {"looked": looked, **self.rest["source"]}

    def add_codebook(self, book: Mapping[str, dict[str, Any]]) -> int:
        own = of_header(book, [name for name in self.order if name in self.columns])
        taken = [name for name in self.waiting if own.get(name)]
        for name in taken:
            self.columns[name] = ordered(merged(self.columns[name], own[name]))
        return len(taken)

    def _keep_unit(self) -> None:
        """Forget a promise to persons whose column is no longer one."""
        unit = self.rest.get("unit")
        named = unit.get(self.unit) if isinstance(unit, dict) else None
        if isinstance(unit, dict) and named in self.order and named not in self.persons:
            if len(self.persons) == 1:
                unit[self.unit] = self.persons[0]
            else:
                del self.rest["unit"]


def declared(project: Project) -> Domain | None:
    """Return the declared columns of a project; None while some wait, or without a table."""
    try:
        sheet = Sheet.load(project)
        return None if sheet.waiting else sheet.domain()
    except DiscreetError:
        return None


def _drafted(project: Project) -> Sheet:
    """Return the columns by the header alone, read as the screen `data` says; types that a file keeps say the kind."""
    from discreet.studio.tables.heads import head_of

    head = head_of(project)
    if head.doubtful:
        raise DataSourceError("the first line may be somebody's record")  # not a word of it
    made = Sheet.of_names(head.names, head.dialect)
    made.labels = dict(head.labels)
    for name, type_ in zip(head.names, head.types, strict=False):
        kind = next((kind for begin, kind in _TYPES if type_.startswith(begin)), "")
        if kind and name in made.columns and name not in made.labels:
            made.columns[name] = {"kind": kind}
    return made


def _head(project: Project) -> Any:
    """Return the head of the table, None where it cannot be read now or its first line may be a record."""
    from discreet.studio.tables.heads import head_of

    try:
        head = head_of(project)
    except DiscreetError:
        return None
    return head if head.names else None


def _plain(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(n.strip() for n in names) if name]
