"""The screen `data`: what is opened, what its head says, and its first rows for a steward who asks to look."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from discreet import engines
from discreet.core.schema import ENCODINGS, Dialect, is_address, read_dialect
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument
from discreet.jobs import Job
from discreet.reporting import kind_of
from discreet.studio import words
from discreet.studio.app import Studio, Visit, answers, seen
from discreet.studio.jobs import open_job, opened, opened_before
from discreet.studio.runs import runs_of
from discreet.studio.schema import Sheet
from discreet.studio.schema.values import read_form, shown_form
from discreet.studio.screens.release import when
from discreet.studio.tables import heads, uploads
from discreet.studio.tables.browse import listing
from discreet.studio.workspace import HISTORIES, OWN, Project

_LISTS = ("dates", "missing", "marks", "true", "false")


@answers("/")
def start(visit: Visit, typed: str = "", fault: str = "", same: Sequence[str] = ()) -> Response:
    """Show what was opened before, and the forms that open a table; a folder is listed if one is named."""
    studio, folder = visit.studio, visit.query.get("folder")
    here = None if folder is None else listing(folder or studio.roots[0], studio.roots)
    projects = [_told(project) for project in studio.workspace.projects()]
    return studio.page(
        visit.request, "start.html", 400 if fault else 200, projects=projects, here=here, limit=studio.largest,
        typed=typed, fault=fault, when=when, same=same,
    )  # fmt: skip


def _told(project: Project) -> dict[str, Any]:
    where = project.source or project.artifact
    place = "" if project.uploaded or is_address(where) else str(Path(where).parent)
    there = is_address(where) or os.path.exists(where) or any(c in where for c in "*?[")
    runs = runs_of(project)
    done = [run for run in runs if run.state == "done"]
    return {
        "project": project, "place": place, "there": there, "done": done, "runs": runs,
        "records": sum(bool(run.asked.get("history")) for run in done), "histories": project.folder.parent / HISTORIES,
        "said": project.said,
    }  # fmt: skip


@answers("/open", "POST")
def open_path(visit: Visit) -> Response:
    """Open a table, a folder of them, a database, a release or a job file by its path."""
    path, workspace = visit.text("path"), visit.studio.workspace
    if not path:
        raise DataSourceError("path: it is empty; type where the table is, such as /home/me/people.csv")
    if not visit.form.get("anew") and (same := opened_before(workspace, path)):
        return start(visit, path, same=[project.id for project in same])
    try:
        made = opened(workspace, path)
    except DiscreetError as error:  # an address with a password is not said back
        return start(visit, "" if "://" in path else path, str(error))
    return seen(f"/p/{made.id}/data")


@answers("/upload", "POST")
async def upload(visit: Visit) -> Response:
    """Take a table through the browser, or a job file with its table."""
    studio = visit.studio
    project = studio.workspace.create(uploaded=True)
    with ExitStack() as undo:
        undo.callback(studio.workspace.forget, project)
        files = await uploads.receive(visit.request, project.uploads, studio.largest)
        made = await run_in_threadpool(_uploaded, studio, project, files)
        undo.pop_all()
    return seen(f"/p/{made.id}/data")


def _uploaded(studio: Studio, project: Project, files: list[Path]) -> Project:
    jobs = [f for f in files if f.suffix.lower() == ".toml"]
    if not jobs:
        place = str(files[0] if len(files) == 1 else project.uploads)
        kind = kind_of(files[0]) if len(files) == 1 else ""
        name = "source" if kind in ("", "table") else "artifact"
        setattr(project, name, place)
        project.save()
        return project
    if len(jobs) > 1:
        raise DataSourceError(f"upload: one job file at a time, got {len(jobs)}")
    rest = [f for f in files if f is not jobs[0]]
    job = Job.from_toml(jobs[0])
    called = Path(str(job.data)).name
    table = next((f for f in rest if f.name == uploads.safe_name(called)), rest[0] if len(rest) == 1 else None)
    if table is None:
        if isinstance(job.data, str) and (is_address(job.data) or Path(job.data).is_absolute()):
            made = open_job(studio.workspace, job)
            studio.workspace.forget(project)
            return made
        raise DataSourceError(f"upload: the job is about {called!r}; choose that table together with the job file")
    made = open_job(studio.workspace, job, str(table))
    project.uploads.rename(made.uploads)
    studio.workspace.forget(project)
    place = str(made.uploads / table.name)
    made.source, made.artifact = (place, "") if made.source else ("", place)
    made.uploaded = True
    made.save()
    return made


@answers("/p/{project}/upload", "POST")
async def bring(visit: Visit) -> Response:
    """Take an uploaded table again that was removed when the studio ended."""
    project = visit.project
    if not project.uploaded or project.uploads.exists():
        raise DataSourceError("upload: the table is there; open another one from the start page")
    files = await uploads.receive(visit.request, project.uploads, visit.studio.largest)
    place = str(files[0] if len(files) == 1 else project.uploads)
    project.source, project.artifact = (place, "") if project.source else ("", place)
    project.save()
    return visit.to("data")


@answers("/p/{project}/data")
def show(visit: Visit, said: Mapping[str, str] | None = None, wrong: str = "") -> Response:
    """Show the head of the table, what was typed if it cannot be used, and rows only if the user asked for them."""
    project = visit.project
    _read_as_known(visit.studio, project)
    content: dict[str, Any] = {"head": None, "rows": None, "fault": "", "suggested": []}
    try:
        if project.artifact:
            kind_of(Path(project.artifact))  # or it cannot be read
        else:
            content["head"] = heads.head_of(project)
            if project.looked and not content["head"].doubtful:
                content["rows"] = heads.rows_of(project)
                content["suggested"] = _differences(content["head"].dialect, heads.suggested(project), visit.t)
    except DiscreetError as error:
        content["fault"] = str(error)
    except OSError as error:
        content["fault"] = f"data: cannot read {project.name!r} ({error.strerror}); was it moved?"
    known = [] if content["head"] is None else visit.studio.workspace.datasets(project, content["head"].names)
    gone = project.uploaded and not project.uploads.exists()
    content["sheets"] = heads.sheets_of(project)
    return visit.page(
        "data.html", 400 if wrong else 200, screen="data", said=said or {}, wrong=wrong, gone=gone,
        most=heads.MOST_ROWS, dialect=content["head"].dialect if content["head"] else Dialect(),
        limit=visit.studio.largest, encodings=[(e, e.upper()) for e in ENCODINGS], shown_form=shown_form, known=known,
        **content,
    )  # fmt: skip


def _differences(held: Dialect, better: Dialect, t: words.T) -> list[tuple[str, str]]:
    """Say how rows are written where the table is read otherwise; a comma among decimals would be a missing value."""
    said = []
    for name in ("decimal", "thousands", "encoding", *_LISTS):
        value = getattr(better, name)
        if value != getattr(held, name) and value:
            shown = ", ".join(value) if name in _LISTS else value.replace(" ", "␣")
            said.append((t(f"data.{name}"), shown))
    return said


@answers("/p/{project}/written", "POST")
def say_written(visit: Visit) -> Response:
    """Keep how the table is written: as typed, or as its first rows suggest if they were looked at."""
    project, typed = visit.project, visit.typed
    try:
        looked = typed.get("act") == "suggest"
        heads.say_written(project, heads.suggested(project) if looked else _typed(project, typed))
    except DiscreetError as error:
        told = str(error)
        if isinstance(error, InvalidArgument) and error.name == "dates":
            told = visit.t("data.dates_wrong", text=error.value)
        return show(visit, typed, told)
    return visit.to("data")


def _typed(project: Project, form: dict[str, str]) -> Dialect:
    """Return the dialect that a form says; what it does not ask stays."""
    try:
        held = heads.head_of(project).dialect.to_dict()
    except DiscreetError:  # a workbook with several sheets cannot be opened until one is named
        held = dict(project.written)
    said: dict[str, Any] = {k: v for k, v in form.items() if k in ("decimal", "thousands", "encoding", "sheet")}
    if "delimiter" in form:
        said["delimiter"] = {"tab": "\t", "bar": "|"}.get(form["delimiter"], form["delimiter"])
    for name in _LISTS:
        if name in form:
            parts = [part.strip() for part in form[name].split(",") if part.strip()]
            said[name] = [read_form(part) for part in parts] if name == "dates" else parts
    if "skip" in form:
        if not form["skip"].strip().isdecimal():
            raise DataSourceError(f"skip: must be a whole number of lines, got {form['skip']!r}; try 0")
        said["skip"] = int(form["skip"])
    if "header" in form:
        said["header"] = form["header"] != "record"
    if said.get("header", held.get("header", True)) != held.get("header", True) or "skip" in said:
        held.pop("names", None)
    return read_dialect({**held, **said})


@answers("/p/{project}/dataset", "POST")
def follow(visit: Visit) -> Response:
    """Keep whether the table is a later version of a known data set; take over what was said of that, if it fits."""
    project, names = visit.project, heads.head_of(visit.project).names
    known = {each.mark: each for each in visit.studio.workspace.datasets(project, names)}
    chosen = visit.text("dataset")
    twins = [other for other in visit.studio.workspace.projects() if other.source == project.source]
    if any(run.state == "done" for twin in twins for run in runs_of(twin)):
        raise DataSourceError("dataset: releases were made of this table; open it again to say something else")
    if chosen != OWN and chosen not in known:
        raise DataSourceError("dataset: it was forgotten since; open the table again")
    if chosen != OWN:
        other = known[chosen].latest
        project.account = project.account or other.account
        _take_over(project, other)
    for each in [project, *(twin for twin in twins if twin.id != project.id)]:  # one table, one answer
        each.follows = chosen
        each.save()
    return visit.to("data")


def _take_over(project: Project, other: Project) -> None:
    """Take over what was said of a known table where nothing was said of this one yet, whichever was answered first."""
    mine, theirs = Sheet.load(project), Sheet.load(other)
    derived = theirs.rest.get("functions", {})
    if {*theirs.columns} <= {*mine.order, *derived}:
        mine.order += [name for name in derived if name not in mine.order]
        mine.rest = {**theirs.rest, **mine.rest}  # facts name columns: they need all of them
    for name in mine.order:
        said = theirs.held(name)
        if said and (mine.waits(name) or not mine.held(name)):
            chosen, rest = (mine.columns, mine.unused) if name in theirs.columns else (mine.unused, mine.columns)
            chosen[name] = said
            rest.pop(name, None)
    marks = {k: v for k, v in theirs.source.to_dict().items() if k in ("decimal", "thousands", "looked", *_LISTS)}
    mine.rest["source"] = {**marks, **mine.source.to_dict()}
    mine.save(project)
    if not project.goal:
        project.goal, project.parameters, project.planned = other.goal, dict(other.parameters), dict(other.planned)


def _read_as_known(studio: Studio, project: Project) -> None:
    """Read a table of which nothing was said as a known one is read (sheet, title), if that finds the same people."""
    if project.written or project.schema_file.is_file() or not project.source or project.unasked:
        return
    with suppress(DiscreetError):
        if studio.workspace.datasets(project, heads.head_of(project).names):
            return
    for other in studio.workspace.projects():
        with suppress(DiscreetError):
            place = {k: v for k, v in (heads.said(other) or {}).items() if k in ("sheet", "skip")}
            dialect = read_dialect(place)
            if place and studio.workspace.datasets(project, engines.open(project.source, dialect=dialect).names):
                return heads.say_written(project, dialect)


@answers("/p/{project}/look", "POST")
def look(visit: Visit) -> Response:
    heads.look(visit.project, visit.text("look") == "yes")
    return visit.to("data#rows")


@answers("/p/{project}/ask", "POST")
def ask(visit: Visit) -> Response:
    """Allow the database to be asked that a job file named."""
    visit.project.unasked = False
    visit.project.save()
    return visit.to("data")


@answers("/p/{project}/forget", "POST")
def forget(visit: Visit) -> Response:
    """Remove a project; one with releases only if that was confirmed."""
    runs = runs_of(visit.project)
    if any(run.alive() for run in runs):
        raise DataSourceError("project: a release of it is being made; stop it first, or wait for it")
    if any(run.state == "done" for run in runs) and not visit.form.get("sure"):
        raise DataSourceError("project: releases were made in it; tick on the start page that their files are saved")
    visit.studio.workspace.forget(visit.project)
    return seen("/")
