"""From what a steward said to a job, and back: the studio starts nothing that a job file could not.

The columns stand inside the job, so that the file is whole. A table that was opened by its path is named by it; one
that was uploaded is named as it was called, because the path in the studio is private and does not last.
"""

import glob
import itertools
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core import PROMISE_ENDING, Domain, Option, write_whole
from discreet.core.schema import is_address, read_address, table_place, write_toml
from discreet.errors import DataSourceError, DiscreetError, SchemaError
from discreet.jobs import Job
from discreet.jobs.kinds import KINDS
from discreet.reporting import kind_of
from discreet.studio.tables.heads import MOST_ROWS
from discreet.studio.workspace import Project, Workspace


@dataclass(frozen=True)
class Handed:
    """A job file that others can run."""

    text: str  # "" if something is missing
    lacking: str = ""  # what is missing
    #: Files to put next to it: the name in the file, and the present path ("" for an uploaded table)
    files: tuple[tuple[str, str], ...] = ()
    paths: bool = False  # whether something is named by its path on this computer
    link: str = ""  # where it is downloaded
    account: bool = False  # an account is among them


def job_of(project: Project) -> Job:
    goal = project.goal or ("report" if project.artifact else "")  # of a release the page about it is made
    if not goal:
        raise SchemaError("goal: it is not chosen yet; say on the screen 'Goal' what is wanted")
    if project.unasked:
        raise SchemaError("data: a job file names this database, which is not asked before you allow it under 'Data'")
    if goal not in KINDS:
        raise SchemaError(f"goal: there is no {goal!r}; choose one on the screen 'Goal'")
    kind = KINDS[goal]
    parameters = dict(project.parameters)
    if project.account and goal != "report" and any(o.name == "account" for o in kind.own):
        parameters["account"] = project.account
    if project.source and project.planned.get("rows") and any(o.name == "expect_rows" for o in kind.parameters):
        parameters.setdefault("expect_rows", int(project.planned["rows"]))
    data = project.source or project.artifact
    columns = None
    if kind.schema and project.source:
        if not project.schema_file.is_file():
            raise SchemaError("columns: none is declared yet; declare them on the screen 'Columns'")
        columns = with_looks(project, Domain.from_toml(project.schema_file))
    chosen = {o.name: str(o.example) for o in kind.outputs if o.required or o.shown or o.default}
    if kind.name == "synthesize":
        chosen["release"] = "synthetic.synopsis.parquet"  # the evidence is about the model behind the rows
    if kind.name == "cluster" and columns is None:  # they are found in a release, which is there already
        del chosen["release"]
    return Job(
        kind.name,
        data=data,
        schema=columns,
        parameters=parameters,
        outputs=chosen,
        # Where nothing lies, so that no output can be taken for the table.
        folder=project.folder / "runs" / "next",
    )


def with_looks(project: Project, columns: Domain) -> Domain:
    """Return the columns with what every release must say: that rows were looked at, wherever that was."""
    if columns.source.looked or not project.seen:
        return columns
    told = tomllib.loads(columns.to_toml())
    return Domain.from_toml(write_toml({**told, "source": {**told.get("source", {}), "looked": MOST_ROWS}}))


def handed(project: Project, job: Job, link: str = "") -> Handed:
    """Return the file of a job as it leaves the studio.

    Files in the private folder of the studio get a bare name: an uploaded table, a release history, an account. They
    are put next to the file. Everything else keeps its path.
    """
    home = os.path.realpath(project.folder.parent)
    files: dict[str, str] = {}

    def bare(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: bare(each) for name, each in value.items()}
        if isinstance(value, list):
            return [bare(each) for each in value]
        if not isinstance(value, str) or is_address(value) or not os.path.realpath(value).startswith(home + os.sep):
            return value
        stem, ending = Path(value).stem, Path(value).suffix
        names = itertools.chain([Path(value).name], (f"{stem}-{number}{ending}" for number in itertools.count(1)))
        name = next(name for name in names if name not in files and name not in outputs.values())
        files[name] = value
        return name

    data = job.data
    if project.uploaded and isinstance(data, str):
        data = Path(data).name
        files[data] = ""
    parameters, outputs = dict(job.parameters), dict(job.outputs)
    if "history" in parameters:
        # The studio keeps its own: elsewhere the job is checked with a copy of it.
        files["people.history"], parameters["history"] = parameters["history"], "people.history"
    for each in job.declared.parameters:
        if each.name != "history" and _reads(each, parameters):
            parameters[each.name] = bare(parameters[each.name])
    account = job.parameters.get("account")
    shared = replace(job, data=data, parameters=parameters, outputs=outputs, folder=project.folder / "runs" / "next")
    named = [data if isinstance(data, str) else "", str(parameters.get("account", ""))]
    paths = any(os.path.isabs(each) for each in named)
    text = shared.to_toml() + "\n"
    return Handed(text, "", tuple(files.items()), paths, link, parameters.get("account") != account)


def _reads(option: Option, given: Mapping[str, Any]) -> bool:
    """Return whether an option was given that names files. A list of names instead of a file holds values."""
    listed = "names" in option.takes and isinstance(given.get(option.name), list)
    return option.reads and option.name in given and not listed


def open_job(workspace: Workspace, job: Job, table: str = "") -> Project:
    """Start a project from a job: table, columns, goal and parameters; outputs are the studio's own."""
    kind = job.declared
    if kind.data is None or isinstance(job.data, list):
        raise SchemaError(f"job: a {kind.name} job does not begin with one table; run it with discreet run")
    if "sample" in job.parameters:
        raise SchemaError(
            "job: rows that are drawn first have an epsilon, which these pages do not show; run it with discreet run"
        )
    if "history" in job.parameters:  # two histories of a table would not know of each other's releases
        raise SchemaError(
            "job: it names a release history, and the studio keeps its own of every table; run it with discreet run, "
            "or leave history out"
        )
    columns = Domain.from_toml(job.place(job.schema)) if isinstance(job.schema, str) else job.schema
    data = table or (job.data if is_address(job.data) else _absolute(job, job.data))
    if not is_address(data) and not os.path.exists(data):
        raise DataSourceError(
            f"data: the job's table {job.data!r} is not there; open the job by its path, or upload its table with it"
        )
    account = job.parameters.get("account", "")
    parameters = {name: value for name, value in job.parameters.items() if name != "account"}
    for each in kind.parameters:
        if _reads(each, parameters):
            parameters[each.name] = _absolute(job, parameters[each.name])
    opened = "source" if columns is not None or kind.name == "sketch" else "artifact"
    project = workspace.create(
        **{opened: data}, goal=kind.name, parameters=parameters, account=_absolute(job, account) if account else "",
        # Another computer is contacted, and rows are shown, only if the user agrees.
        unasked=is_address(data) and read_address(data).kind != "sqlite",
    )  # fmt: skip
    if columns is not None:
        write_whole(project.schema_file, columns.to_toml() + "\n", private=True)
    return project


def opened_before(workspace: Workspace, path: str) -> list[Project]:
    try:
        place = table_place(path, Path().absolute()) if is_address(path) else str(Path(path).expanduser().resolve())
    except (OSError, RuntimeError, ValueError, DiscreetError):  # opening it says what is wrong
        return []
    return [p for p in workspace.projects() if not p.uploaded and place in (p.source, p.artifact)]


def opened(workspace: Workspace, path: str) -> Project:
    if is_address(path):
        return _begun(workspace, table_place(path, Path().absolute()))
    try:
        place = Path(path).expanduser().resolve()
        str(place).encode()
    except (OSError, RuntimeError, ValueError):  # not a path
        place = Path()
        path, there = f"{path[:200]}…" if len(path) > 200 else path, False
    else:
        there = os.path.exists(place)
        if not there and glob.glob(str(place)):
            return _begun(workspace, str(place))
    if not path or not there:
        raise DataSourceError(f"path: cannot read {path!r} (no such file or folder); check the path")
    if not place.is_dir() and not place.is_file():  # a pipe or a device has no end
        raise DataSourceError(f"path: {path!r} is neither a file nor a folder; check the path")
    try:
        kind = "" if place.is_dir() else kind_of(place)
    except OSError as error:
        raise DataSourceError(f"path: cannot read {path!r} ({error.strerror}); check its permissions") from None
    if kind == "job":
        return open_job(workspace, Job.from_toml(place))
    if kind in ("", "table"):
        return _begun(workspace, str(place))
    if kind == "promise of a table":
        place = place.with_name(place.name.removesuffix(PROMISE_ENDING))
    return workspace.create(artifact=str(place))


def _begun(workspace: Workspace, source: str) -> Project:
    """Start a project of a table; an account that it is known to have is taken, or releases would go uncounted."""
    follows = next((p.follows for p in workspace.projects(forgotten=True) if p.source == source and p.follows), "")
    return workspace.create(source=source, account=next(iter(workspace.accounts_of(source)), ""), follows=follows)


def _absolute(job: Job, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _absolute(job, each) for name, each in value.items()}
    if isinstance(value, list):
        return [_absolute(job, each) for each in value]
    return os.path.abspath(job.place(value))
