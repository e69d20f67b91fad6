"""A whole job in one object, and in one file: data, columns, method, parameters, outputs.

The file is TOML. The same object is read by ``discreet run``, by programs and by ``discreet report``; the work is done
by the functions behind the verbs of the command line.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.output import check_place, promise_place, write_whole
from discreet.core.schema_file import dump_schema
from discreet.errors import DataSourceError, FormatError, InvalidArgument, InvalidType
from discreet.jobs import keys
from discreet.jobs.keys import KINDS, OUTPUTS, PARAMETERS, SECTIONS, listed


@dataclass(frozen=True)
class Job:
    """What is to be done with which table: checked when it is made, run when it is told to.

    Parameters
    ----------
    kind : {"synopsis", "cluster", "anonymize", "perturb", "sketch"}
        The job.
    data : str or path
        The table: CSV or Parquet, a folder or a pattern of them. For "cluster" without ``schema`` a saved synopsis.
    schema : Domain, mapping, path or None
        The declared columns, or the file that declares them. None for "sketch", and for clusters of a saved synopsis.
    parameters : mapping
        As on the command line, with ``_`` for ``-``. Unknown names are refused.
    outputs : mapping
        From what to write ("release", "centers", "report", ...) to where.
    folder : path, optional
        Where relative paths start: the folder of the job file, or the current one.

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
    data: str
    schema: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            keys.check_values("job", {"kind": self.kind}, _KIND)
        if not isinstance(self.data, (str, os.PathLike)) or not str(self.data):
            raise InvalidType("[data] path", self.data, "a path", 'path = "people.csv"')
        for name, value in (("parameters", self.parameters), ("outputs", self.outputs)):
            if not isinstance(value, Mapping):
                raise InvalidType(name, value, "a mapping from names to values", f"{name}={{}}")
        outputs = {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in self.outputs.items()}
        keys.check_values("parameters", self.parameters, PARAMETERS[self.kind])
        keys.check_values("outputs", outputs, OUTPUTS[self.kind])
        schema = self.schema
        if isinstance(schema, Mapping):
            schema = Domain(schema)
        elif isinstance(schema, os.PathLike):
            schema = os.fspath(schema)
        elif schema is not None and not isinstance(schema, (str, Domain)):
            raise InvalidType("schema", type(schema).__name__, "a Domain, a mapping or a path", 'schema="schema.toml"')
        clean = {
            "data": os.fspath(self.data),
            "schema": schema,
            "parameters": dict(self.parameters),
            "outputs": outputs,
            "folder": Path(self.folder),
        }
        for name, cleaned in clean.items():
            object.__setattr__(self, name, cleaned)
        self._check_together()

    def _check_together(self) -> None:
        """Refuse what does not go together, whatever the data are."""
        on_synopsis = self.kind == "cluster" and self.schema is None
        if self.kind == "sketch" and self.schema is not None:
            fix = "leaving [schema] out; values are declared by [parameters] domain"
            raise InvalidArgument("[schema]", "a schema", "left out of a sketch", fix)
        if self.schema is None and self.kind not in ("sketch", "cluster"):
            raise InvalidArgument("[schema]", None, "given: the declared columns", '[schema] path = "schema.toml"')
        if on_synopsis:
            for name in ("epsilon", "method", "rows", "unit", "seed"):
                if name in self.parameters:
                    fix = f"adding [schema], or leaving {name} out if the data are a saved synopsis"
                    raise InvalidArgument(f"[parameters] {name}", self.parameters[name], "used with a schema", fix)
            if "release" in self.outputs:
                expected, fix = "left out: the synopsis is there already", "leaving release out"
                raise InvalidArgument("[outputs] release", self.outputs["release"], expected, fix)
        elif self.kind == "cluster" and "epsilon" not in self.parameters:
            raise InvalidArgument("[parameters] epsilon", None, "given with a schema", "epsilon = 1.0")
        if "centers" in self.outputs and "n_clusters" not in self.parameters:
            raise InvalidArgument("[parameters] n_clusters", None, "given for the output 'centers'", "n_clusters = 8")
        needs = {"cluster": {"report": "release"}, "sketch": {"report": "counts", "estimates": "counts"}}
        for name, other in {} if on_synopsis else needs.get(self.kind, {}).items():
            if name in self.outputs and other not in self.outputs:
                fix = f"{other} = {OUTPUTS[self.kind][other].example!r}"
                raise InvalidArgument(f"[outputs] {other}", None, f"given: {name!r} is made from it", fix)
        taken = {os.path.realpath(self.place(self.data)): "[data] path"}
        if isinstance(self.schema, str):
            taken[os.path.realpath(self.place(self.schema))] = "[schema] path"
        for path in listed(self.parameters.get("previous")) if self.kind == "anonymize" else []:
            taken[os.path.realpath(self.place(str(path)))] = "[parameters] previous"
        for name, value in self.outputs.items():
            places = [self.place(value)]
            if name == "release" and self.kind in ("anonymize", "perturb"):
                places.append(promise_place(places[0]))  # a table's promise lies beside it
            for place in places:
                real = os.path.realpath(place)
                if real in taken:
                    expected = f"another file than {taken[real]}"
                    raise InvalidArgument(f"[outputs] {name}", value, expected, f"{name} = 'other-{place.name}'")
                taken[real] = f"[outputs] {name}"

    @classmethod
    def from_toml(cls, source: str | Path) -> Job:
        """Read a job file, or the text of one (recognised by its line breaks).

        Examples
        --------
        >>> text = '''
        ... [job]
        ... kind = "perturb"
        ... [data]
        ... path = "people.csv"
        ... [schema]
        ... path = "schema.toml"
        ... [parameters]
        ... epsilon = 2
        ... radius = 0.1
        ... [outputs]
        ... release = "noisy.csv"
        ... '''
        >>> Job.from_toml(text).parameters["radius"]
        0.1
        """
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
        except tomllib.TOMLDecodeError as error:
            fix = "'discreet run --example synopsis' prints a job that is"
            raise FormatError(f"{where} is not valid TOML: {error}; {fix}") from None
        keys.known(where, table, SECTIONS)
        for name in SECTIONS:
            if not isinstance(table.get(name, {}), dict):
                raise InvalidType(f"[{name}]", table[name], "a section of the file", f"[{name}]")
        keys.check_values("job", table.get("job", {}), _KIND)
        keys.check_values("data", table.get("data", {}), _DATA)
        return cls(
            kind=table["job"]["kind"],
            data=table["data"]["path"],
            schema=_read_schema(table.get("schema")),
            parameters=table.get("parameters", {}),
            outputs=table.get("outputs", {}),
            folder=folder,
        )

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the text of the job file, and write it if a path is given.

        Examples
        --------
        >>> job = Job("anonymize", "t.csv", {"age": (0, 120)}, {"k": 5}, {"release": "safe.csv"})
        >>> print(job.to_toml())
        [job]
        kind = "anonymize"
        <BLANKLINE>
        [data]
        path = "t.csv"
        <BLANKLINE>
        [schema.columns.age]
        bounds = [0, 120]
        role = "attribute"
        missing = "drop"
        <BLANKLINE>
        [parameters]
        k = 5
        <BLANKLINE>
        [outputs]
        release = "safe.csv"
        """
        parts = [keys.section("job", {"kind": self.kind}), keys.section("data", {"path": self.data})]
        if isinstance(self.schema, Domain):
            if self.schema.unit is not None:
                parts.append(keys.section("schema", {"unit": self.schema.unit}))
            parts.append(dump_schema(self.schema.to_dict(), "schema.columns"))
        elif self.schema is not None:
            parts.append(keys.section("schema", {"path": self.schema}))
        parts.append(keys.section("parameters", self.parameters))
        parts.append(keys.section("outputs", self.outputs))
        text = "\n\n".join(parts)
        if path is not None:
            check_place(path)
            write_whole(path, text + "\n")
        return text

    def place(self, path: str) -> Path:
        """Return a path of the job as it is to be opened: relative ones start at its folder."""
        return self.folder / Path(path).expanduser()

    @property
    def artifact(self) -> Path:
        """The released file: what `discreet.reporting` reports on."""
        for name in ("counts", "release"):
            if name in self.outputs:
                return self.place(self.outputs[name])
        return self.place(self.data)

    def run(self) -> JobResult:
        """Do the job and write its outputs, each whole or not at all.

        Places are checked before any data are read. With several outputs the job is rehearsed first (`check`), so that
        a mistake in a parameter of the last one does not leave the first ones behind.
        """
        from discreet.jobs.runs import run

        if len(self.outputs) > 1:
            self.check()
        else:
            self.check_outputs()
        return JobResult(
            self, *run(self, str(self.place(self.data)), {n: self.place(p) for n, p in self.outputs.items()})
        )

    def check(self) -> None:
        """Validate everything without opening the data: the same job is done on an invented table, and thrown away.

        The schema and other public files that the job names are read.
        """
        from discreet.jobs.runs import rehearse

        self.check_outputs()
        rehearse(self)

    def check_outputs(self) -> None:
        """Refuse outputs that cannot be written."""
        for path in self.outputs.values():
            check_place(self.place(path))


@dataclass(frozen=True)
class JobResult:
    """What a job did.

    Attributes
    ----------
    job : Job
        The job.
    guarantee : Guarantee
        What is promised.
    files : dict
        From the name of an output to the file.
    figures : dict
        Plain facts: those that the verb of this kind prints with ``--json``.
    artifact : object
        What was released: a Synopsis, a table, or the estimates of a sketch.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "t.csv").write_text("age\\n" + "35\\n" * 9)
    ...     job = Job("anonymize", "t.csv", {"age": {"bounds": [0, 120], "role": "quasi-identifier"}}, {"k": 3},
    ...         {"release": "safe.csv"}, folder)
    ...     result = job.run()
    >>> result.guarantee.model, list(result.files)
    ('syntactic', ['release', 'promise'])
    """

    job: Job
    guarantee: Guarantee
    files: Mapping[str, Path]
    figures: Mapping[str, Any]
    artifact: Any = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "kind": self.job.kind,
            "files": {name: str(path) for name, path in self.files.items()},
            "figures": dict(self.figures),
            "guarantee": self.guarantee.to_dict(),
            "seeded": self.guarantee.seeded,
        }


_KIND = {"kind": keys.Key(("text",), "what is to be done", "synopsis", True, KINDS)}
_DATA = {"path": keys.Key(("path",), "the table", "people.csv", True)}


def _read_schema(given: Any) -> Any:
    if given is None:
        return None
    keys.known("[schema]", given, ("path", "columns", "unit"))
    if ("path" in given) == ("columns" in given) or ("path" in given and "unit" in given):
        fix = 'path = "schema.toml" or [schema.columns.NAME] tables'
        raise InvalidArgument("[schema]", sorted(given), "either a path or columns, and a unit with columns only", fix)
    if "path" in given:
        if not isinstance(given["path"], str) or not given["path"]:
            raise InvalidType("[schema] path", given["path"], "a path", 'path = "schema.toml"')
        return given["path"]
    if not isinstance(given["columns"], dict):
        return _no_columns(given["columns"])
    return Domain(given["columns"], unit=given["unit"]) if "unit" in given else given["columns"]


def _no_columns(value: Any) -> Any:
    raise InvalidType("[schema] columns", value, "one table [schema.columns.NAME] a column", "[schema.columns.age]")
