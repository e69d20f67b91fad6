"""A job: data, columns, method, parameters and outputs in one object, or in one TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import engines
from discreet.core import PROMISE_ENDING, STREAMS, check_place, promise_place, special, write_whole
from discreet.core.schema import is_address, table_place, write_toml
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument, InvalidType, SchemaError
from discreet.jobs.declare import Kind, Speech, check, known, must_give
from discreet.jobs.kinds import KINDS
from discreet.jobs.options import FILE, PAGE, SCHEMA

if TYPE_CHECKING:
    from discreet.core import Guarantee

_SECTIONS = ("job", "data", "schema", "parameters", "outputs")
#: Modules of the work of kinds; by default named like the kind.
_WORK = {"report": "pages", "compare": "pages", "plan": "pages", "cluster": "synopsis", "anonymize": "tables",
    "mask": "tables", "risk": "tables", "aggregate": "sketch", "merge": "sketch", "estimate": "sketch",
    "sketch-plan": "sketch", "overlap": "distinct"}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A job, which is checked when it is made.

    Parameters
    ----------
    kind : str
        The kind of job, such as "synopsis", "cluster", "anonymize", "perturb" or "sketch".
    data : str, path, list of them or None
        The input, mostly a table: a file, a folder, a pattern or a database. For "cluster" without ``schema``, a saved
        synopsis. None for kinds without input, such as "plan".
    schema : Domain, mapping, path or None
        The declared columns, or the file that declares them. None for kinds without a schema.
    parameters : mapping
        Options as on the command line, with ``_`` for ``-``.
    outputs : mapping
        Files by name of the output, such as "release", "centers" or "report".
    folder : path, optional
        Start of relative paths: the folder of the job file, or the current one.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "people.csv").write_text("age\\n" + "35\\n" * 500)
    ...     job = Job("synopsis", "people.csv", schema={"age": (0, 120)}, parameters={"epsilon": 1},
    ...         outputs={"release": "s.parquet"}, folder=folder)
    ...     result = job.run()
    ...     again = Job.from_toml(job.to_toml())
    >>> result.guarantee.epsilon, again == job
    (1.0, True)
    """

    kind: str
    data: Any = None
    schema: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        kind = self.declared
        for name, value in (("parameters", self.parameters), ("outputs", self.outputs)):
            if not isinstance(value, Mapping):
                raise InvalidType(name, value, "a mapping from names to values", f"{name}={{}}")
        data = self.data
        if data is not None and kind.data is None:
            raise FormatError(f"[data] is not for a {self.kind} job; leave it out")
        if kind.data is not None and (data is not None or kind.data.required):
            if data is None:
                raise kind.wrong("data", None, must_give(kind.data))
            data = check(kind, kind.data, data)
            if kind.suits is not None:
                kind.suits(data, Path(self.folder))
        clean = {
            "data": data,
            "schema": self._clean_schema(),
            "parameters": kind.check("parameters", self.parameters, kind.parameters),
            "outputs": kind.check("outputs", self.outputs, kind.outputs),
            "folder": Path(self.folder),
        }
        for name, cleaned in clean.items():
            object.__setattr__(self, name, cleaned)
        if kind.together is not None:
            kind.together(self)
        said = [each.name for each in PAGE if each.name in self.parameters]
        page = next((each.name for each in kind.outputs if each.name in ("report", "html")), "")
        if said and page not in self.outputs and self.kind != "report":
            raise kind.wrong(said[0], self.parameters[said[0]], "used with a page", (page, f"{page}.html"))
        self._check_places()

    @property
    def declared(self) -> Kind:
        """Return the declaration of this kind of job."""
        return KINDS[self.kind]

    def _clean_schema(self) -> Any:
        kind, schema = self.declared, self.schema
        if schema is not None and not kind.schema:
            fix = "leaving [schema] out" + "; values are declared by [parameters] domain" * (self.kind == "sketch")
            raise kind.wrong("schema", "a schema", f"left out of a {self.kind}", fix)
        if schema is None:
            if kind.schema == "needed":
                raise kind.wrong("schema", None, "given: the declared columns")
            return None
        if isinstance(schema, (str, os.PathLike)):
            return check(kind, SCHEMA, schema)
        from discreet.core import Domain

        if isinstance(schema, Mapping):
            schema = Domain(schema)
        if not isinstance(schema, Domain):
            raise InvalidType("schema", type(schema).__name__, "a Domain, a mapping or a path", 'schema="schema.toml"')
        return schema

    def _check_places(self) -> None:
        """Refuse outputs that would overwrite inputs or each other."""
        kind = self.declared
        taken: dict[str, str] = {}
        given: list[tuple[Any, Any]] = [] if kind.data is None else [(kind.data, self.data)]
        given.append((SCHEMA, self.schema if isinstance(self.schema, str) else None))
        for each, value in given + [(option, self.parameters.get(option.name)) for option in kind.parameters]:
            if each.reads and value is not None:
                values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
                files = [v for v in values if isinstance(v, str) and not is_address(v)]
                taken.update({os.path.realpath(self.place(v)): each.name for v in files})
                for v in filter(is_address, values):
                    self.table(v)  # refuses passwords, which a job would keep
        tables = {each.name for each in kind.outputs if str(each.example).endswith(".csv")}
        for name, value in self.outputs.items():
            places = [self.place(value)]
            if name in tables and not value.lower().endswith((".csv", ".parquet", PROMISE_ENDING)):
                engines.check_table_ending(value)
            if name == "release" and self.kind in ("anonymize", "mask", "perturb"):
                places.append(promise_place(places[0]))  # its guarantee is next to it
            for place in places:
                other = taken.get(os.path.realpath(place))
                if other is not None:
                    ending = Path(value if name in tables else str(kind.option(name).example)).suffix
                    raise kind.wrong(
                        name,
                        value,
                        lambda say, other=other: f"another file than {_path(say, other)}",  # type: ignore[misc]
                        (name, str(Path(value).with_name(f"other-{Path(value).stem}{ending}"))),
                    )
                taken[os.path.realpath(place)] = name

    @classmethod
    def from_toml(cls, source: str | Path) -> Job:
        """Read a job file, or its text, which has line breaks."""
        folder = Path()
        if isinstance(source, str) and "\n" in source:
            where, text = "job text", source
        else:
            where = str(source)
            try:
                text = Path(source).expanduser().read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError, TypeError, ValueError) as error:
                raise DataSourceError(f"job: cannot read {where!r} ({error}); check the path") from None
            folder = Path(source).expanduser().parent
        try:
            table = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            fix = "'discreet run --example synopsis' prints an example"
            raise FormatError(f"{where} is not valid TOML: {error}; {fix}") from None
        known(where, table, _SECTIONS)
        for name in _SECTIONS:
            if not isinstance(table.get(name, {}), dict):
                raise InvalidType(f"[{name}]", table[name], "a section of the file", f"[{name}]")
        named = table.get("job", {})
        known("[job]", named, ["kind"])
        _check_kind(named.get("kind"))
        given = table.get("data", {})
        known("[data]", given, ["path"])
        return cls(
            kind=named["kind"],
            data=given.get("path"),
            schema=_read_schema(table.get("schema")),
            parameters=table.get("parameters", {}),
            outputs=table.get("outputs", {}),
            folder=folder,
        )

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the text of the job file, and write it if a path is given."""
        parts: dict[str, Any] = {"job": {"kind": self.kind}}
        if self.data is not None:
            parts["data"] = {"path": self.data}
        if isinstance(self.schema, str):
            parts["schema"] = {"path": self.schema}
        elif self.schema is not None:
            parts["schema"] = tomllib.loads(self.schema.to_toml())  # as in a file of its own
        parts["parameters"] = self.parameters
        if self.declared.outputs:
            parts["outputs"] = self.outputs
        text = write_toml(parts).rstrip("\n")
        if path is not None:
            check_place(path, streams=True)
            write_whole(path, text + "\n", streams=True)
        return text

    def place(self, path: str) -> Path:
        """Return a path of the job; relative paths start at its folder."""
        return self.folder / Path(path).expanduser()

    def with_output(self, name: str, path: str) -> Job:
        """Return the job with another output, and with the schema as it was parsed."""
        made = replace(self, outputs={**self.outputs, name: path})
        made.__dict__.update(_domain=self.read_domain(), signer=self.__dict__.get("signer"))
        return made

    def places(self) -> dict[str, Path]:
        """Return the paths of the outputs."""
        return {name: self.place(path) for name, path in self.outputs.items()}

    def read_domain(self) -> Any:
        """Return the declared columns with the unit of the job. The schema is parsed once."""
        return self._domain

    @cached_property
    def _domain(self) -> Any:
        from discreet.core import Domain

        declared = Domain.from_toml(self.place(self.schema)) if isinstance(self.schema, str) else self.schema
        unit, rows = self.parameters.get("unit"), self.parameters.get("person_rows")
        bounded = any(option.name == "person_rows" for option in self.declared.parameters)
        if bounded and (rows is not None or "person" in self.parameters):
            from discreet.core import Person, persons

            named = self.parameters.get("person") or next(iter(persons(declared)), None)
            if persons(declared):
                self.declared.check_columns("person", [named], persons(declared), "the person column of the schema")
            if named is None:
                raise self.declared.wrong("person", None, "given: the schema has no person column")
            unit = Person(named, rows=rows or "auto")
        return declared if unit is None else declared.with_unit(unit)

    def dialect(self) -> Any:
        """Return the format of the table from the schema, whose columns may be undeclared; None without a schema."""
        from discreet.core.schema import load_dialect

        if isinstance(self.schema, str):
            return load_dialect(self.place(self.schema))
        return None if self.schema is None else self.schema.source

    def read_table(self) -> Any:
        """Return the table, opened once; no row is read yet."""
        return self._source

    @cached_property
    def _source(self) -> Any:
        from discreet import engines

        return engines.open(self.table(self.data), dialect=self.read_domain().source)

    def table(self, path: str) -> str:
        """Return a table of the job, a path or an address, ready to open."""
        return table_place(path, self.folder)

    @property
    def form(self) -> dict[str, Any]:
        """Return how tables are written: arguments of what writes them."""
        return {name: self.parameters[name] for name in ("escape_formulas", "csv_dialect") if name in self.parameters}

    @property
    def fingerprint(self) -> str | None:
        """Return the fingerprint of the key that signs what the job writes; known while it runs."""
        key = self.__dict__.get("signer")
        return None if key is None else key.public.fingerprint

    @property
    def artifact(self) -> Path:
        """Return the released file."""
        for name in ("counts", "release"):
            if name in self.outputs:
                return self.place(self.outputs[name])
        return self.place(self.data)

    @property
    def releases(self) -> bool:
        """Return whether the job makes a release that can be booked; clusters of a synopsis are post-processing."""
        named = any(each.name == "account" for each in self.declared.own)
        return named and self.kind != "report" and (self.kind != "cluster" or self.schema is not None)

    def run(self) -> JobResult:
        """Run the job and write its outputs, each completely or not at all.

        Everything that can be checked without the data is checked first. Outputs are written when all are made, except
        releases that an account was charged for, which are written at once.
        """
        done: JobResult = self._do(self._signed if "sign" in self.parameters else lambda work: work.run(self))
        return done

    def _signed(self, work: Any) -> JobResult:
        from discreet.jobs.signing import key_of, signed

        key = self.__dict__["signer"] = key_of(self)
        return signed(work.run(self), key)

    def check(self) -> None:
        """Check everything that can be checked without opening the data."""
        self._do(lambda work: work.check(self))

    def _check_promise(self, path: str) -> None:
        """Refuse a guarantee file that would belong to another file."""
        place = self.place(path)
        described = place.with_name(place.name.removesuffix(PROMISE_ENDING))
        written = {os.path.realpath(p) for p in self.places().values()}
        if described != place and (described.exists() or os.path.realpath(described) in written):
            expected = f"another name, because this is the guarantee of {described.name!r}"
            raise self.declared.wrong("guarantee", path, expected, ("guarantee", "promise.json"))

    def _do(self, act: Any) -> Any:
        for name, path in self.outputs.items():
            option, found = self.declared.option(name), special(self.place(path))
            if found and not (option.streams and found in STREAMS):
                fix = str(Path(path, option.example)) if found == "folder" else option.example
                raise self.declared.wrong(name, path, f"a regular file, and not a {found}", (name, fix))
            check_place(self.place(path), promise=name == "guarantee", streams=option.streams)
            if name == "guarantee":
                self._check_promise(path)
        work = import_module(f"discreet.jobs.work.{_WORK.get(self.kind, self.kind)}")
        try:
            if any(self.place(path).is_file() for path in self.outputs.values()):
                from discreet.jobs.charging import check_paid

                check_paid(self)
            return act(work)
        except DiscreetError as error:
            raise self.declared.translated(error) from None


@dataclass(frozen=True)
class JobResult:
    """The result of a job: its guarantee, the written files, and facts as plain data."""

    job: Job
    guarantee: Guarantee | None
    files: Mapping[str, Path]  # by name of the output
    figures: Mapping[str, Any]
    artifact: Any = field(default=None, repr=False, compare=False)  # a synopsis, a table, estimates, a risk report
    more: Any = field(default=None, repr=False, compare=False)  # for the verb to show
    failed: bool = False  # a requirement was not met: exit code 1
    printed: Any = field(default=None, repr=False, compare=False)  # what ``--json`` prints, if not the figures

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "kind": self.job.kind,
            "files": {name: str(path) for name, path in self.files.items()},
            "figures": dict(self.figures),
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "seeded": self.guarantee is not None and self.guarantee.seeded,
        }


def _path(say: Speech, name: str) -> str:
    return f"{say(name)} path" if name == "schema" and say.door is FILE else say(name)


def _check_kind(kind: Any) -> None:
    """Refuse an unknown kind of job."""
    if kind in KINDS if isinstance(kind, str) else False:
        return
    from difflib import get_close_matches

    listed = ", ".join(map(repr, KINDS))
    near = (get_close_matches(str(kind), KINDS, 1, 0.5) or ["synopsis"])[0]
    expected = "given" if kind is None else f"one of {listed}" if isinstance(kind, str) else "a text"
    raise InvalidArgument("[job] kind", kind, expected, f'kind = "{near}"')


def _read_schema(given: Any) -> Any:
    if given is None:
        return None
    known("[schema]", given, ("path", "columns", "unit", "source", "functions", "impossible", "rules"))
    if ("path" in given) == ("columns" in given) or ("path" in given and len(given) > 1):
        more = sorted(set(given) - {"path"})
        fix = 'path = "schema.toml" or [schema.columns.NAME] tables'
        if "path" in given and more:
            fix = f"writing [{more[0]}] into {given['path']}, or leaving [schema.{more[0]}] out"
        expected = "either a path or columns, and unit, source and facts with columns only"
        raise InvalidArgument("[schema]", sorted(given), expected, fix)
    if "path" in given:
        if not isinstance(given["path"], str) or not given["path"]:
            raise InvalidType("[schema] path", given["path"], "a path", 'path = "schema.toml"')
        return given["path"]
    if not isinstance(given["columns"], dict):
        expected = "one table [schema.columns.NAME] per column"
        raise InvalidType("[schema] columns", given["columns"], expected, "[schema.columns.age]")
    from discreet.core import Domain

    try:
        return Domain.from_toml(write_toml(given))
    except InvalidArgument as error:  # in a job file, the sections of a schema have a longer name
        raise type(error)(_in_job(error.name), error.value, error.expected, error.fix) from None
    except (FormatError, SchemaError) as error:
        raise type(error)(_in_job(str(error))) from None


def _in_job(text: str) -> str:
    return re.sub(r"\[(source|unit|columns|functions)\b", r"[schema.\1", text)
