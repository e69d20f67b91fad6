"""The screen `release`: what will be run, how far it has come, what came out."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from discreet.errors import DataSourceError, SchemaError
from discreet.studio import words
from discreet.studio.app import Studio, seen
from discreet.studio.forecast import counts_persons
from discreet.studio.jobs import Handed, handed
from discreet.studio.released import release_of
from discreet.studio.runs import Run, runs_of
from discreet.studio.runs.charges import charge_of, entry_of, forgotten, paid_file
from discreet.studio.runs.offer import Offer, next_job, offer_of
from discreet.studio.runs.supervisor import Busy
from discreet.studio.screens import results
from discreet.studio.screens.plan import raw_columns
from discreet.studio.workspace import Project

_NOTICES = ("busy", "changed", "uncounted")
#: Options that the page lists, in this order; the others are in the job file.
_TOLD = ("epsilon", "rho", "delta", "k", "l", "t", "radius", "n_clusters", "target", "seed")


async def show(studio: Studio, request: Request) -> Response:
    """Show what would be run, and all runs so far."""
    project = studio.project(request)
    form = request.query_params.get("form", "csv")
    offer, runs = await run_in_threadpool(lambda: (offer_of(studio.workspace, project, form), runs_of(project)))
    others = await run_in_threadpool(studio.workspace.accounts_of, project.source, but=project.id)
    return _page(studio, request, project, offer=offer, runs=runs, form=form, elsewhere=others)


async def show_run(studio: Studio, request: Request) -> Response:
    """Show one run: its progress, its result, or how to go on."""
    project, run = _run(studio, request)
    told, runs, job = await run_in_threadpool(lambda: (_told(run), runs_of(project), _handed(project, run)))
    drawn = None
    if run.files.get("release") or run.files.get("counts"):
        drawn = await results.shown(studio, request, project, release_of(project, str(run.number)))
    return _page(studio, request, project, run=run, told=told, runs=runs, results=drawn, job=job)


def _page(studio: Studio, request: Request, project: Project, **content: Any) -> Response:
    notice = request.query_params.get("notice", "")
    made: dict[str, Any] = {"offer": None, "run": None, "told": {}, "results": None, "form": "csv", "given": {}}
    made |= {"elsewhere": [], "raw": "", "persons": False, "notice": notice if notice in _NOTICES else "", **content}
    if isinstance(made["offer"], Offer) and made["offer"].job is not None:
        job = made["offer"].job
        made["given"] = {name: job.parameters.get(name) for name in _TOLD}
        made["persons"] = job.kind == "anonymize" and counts_persons(job.parameters, job.read_domain())
        made["raw"] = raw_columns(job.kind, job.parameters)
    return studio.page(
        request, "release.html", screen="release", project=project, when=when, most=studio.supervisor.most,
        catalogue=words.catalogue(), **made,
    )  # fmt: skip


async def start(studio: Studio, request: Request) -> Response:
    """Start what the page offered; once, however often the form is sent."""
    project, form = studio.project(request), await request.form()
    number = _whole(form.get("number"))
    back = f"/p/{project.id}/release"
    if (project.runs / str(number)).exists():
        return seen(f"{back}/{number}")
    offer = await run_in_threadpool(offer_of, studio.workspace, project, str(form.get("form", "csv")))
    if offer.job is None or offer.key != form.get("key"):
        return seen(f"{back}?notice=changed")
    if offer.refused or (offer.uncounted and not form.get("uncounted")):
        return seen(f"{back}?notice=uncounted" if offer.uncounted else back)
    try:
        run = await run_in_threadpool(studio.supervisor.start, project, offer.job, number, offer.digest)
    except Busy:
        return seen(f"{back}?notice=busy")
    return seen(f"{back}/{run.number}")


async def again(studio: Studio, request: Request) -> Response:
    """Go on with a run that did not end well."""
    project, run = _run(studio, request)
    attempt = _whole((await request.form()).get("attempt"))
    here = f"/p/{project.id}/release/{run.number}"
    if run.asked["account"] and (why := await run_in_threadpool(forgotten, studio.workspace, run.asked["account"])):
        raise DataSourceError(why)
    try:
        await run_in_threadpool(studio.supervisor.again, project, run, attempt)
    except Busy:
        return seen(f"{here}?notice=busy")
    return seen(here)


async def stop(studio: Studio, request: Request) -> Response:
    """End a run."""
    project, run = _run(studio, request)
    await run_in_threadpool(studio.supervisor.stop, run)
    return seen(f"/p/{project.id}/release/{run.number}")


async def never(studio: Studio, request: Request) -> Response:
    """Take the steward's word that a table was never handed out, and delete it."""
    project, run = _run(studio, request)
    said = (await request.form()).get("sure") == "yes"
    if said and run.state == "done" and run.asked.get("history") and not run.status["never"]:
        await run_in_threadpool(run.keep_inside)
    return seen(f"/p/{project.id}/release/{run.number}")


async def progress(studio: Studio, request: Request) -> Response:
    """Return the progress of a run for the script of the page."""
    _, run = _run(studio, request)
    return JSONResponse({"state": run.state, "ended": run.ended, **run.status["progress"]})


async def download(studio: Studio, request: Request) -> Response:
    """Hand over a file that came out."""
    project, run = _run(studio, request)
    name = request.path_params["name"]
    if name not in run.files or not run.path(name).is_file():
        raise HTTPException(404)
    called = f"{project.name.partition('.')[0]}-{run.number}-{run.files[name]}"
    return FileResponse(run.path(name), filename=called, media_type="application/octet-stream")


async def next_job_file(studio: Studio, request: Request) -> Response:
    """Hand over the file of the job that would be run next."""
    project = studio.project(request)
    return _attached(await run_in_threadpool(next_job, project), f"{project.name.partition('.')[0]}.job.toml")


async def job_file(studio: Studio, request: Request) -> Response:
    """Hand over the job file of a run, as somebody else can run it."""
    project, run = _run(studio, request)
    name = f"{project.name.partition('.')[0]}-{run.number}.job.toml"
    return _attached(await run_in_threadpool(_handed, project, run), name)


def _attached(made: Handed, name: str) -> Response:
    if made.lacking:
        raise SchemaError(made.lacking)
    there = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return PlainTextResponse(made.text, media_type="application/toml", headers=there)


def _handed(project: Project, run: Run) -> Handed:
    if run.job is None:
        return Handed("", f"run {run.number}: this version cannot read its job file")
    return handed(project, run.job, f"/p/{project.id}/release/{run.number}/job.toml")


def _run(studio: Studio, request: Request) -> tuple[Project, Run]:
    project = studio.project(request)
    for run in runs_of(project):
        if run.number == request.path_params["number"]:
            return project, run
    raise HTTPException(404)


def _whole(text: Any) -> int:
    if not isinstance(text, str) or not text.isdecimal() or len(text) > 6:
        raise DataSourceError("form: the number of the run is not one; open the page again")
    return int(text)


def _told(run: Run) -> dict[str, Any]:
    """Return what only this run's page says: its outputs, or what going on would cost."""
    if run.state == "done":
        sizes = {name: run.path(name).stat().st_size for name in run.files if run.path(name).is_file()}
        return {"sizes": sizes}
    job = run.job if run.ended else None
    if job is None:
        return {}
    entry, paid = entry_of(run), paid_file(run)
    charge = None if paid else charge_of(job)
    return {"entry": entry, "paid": paid, "charge": charge, "price": run.asked["price"]}


def when(text: str | None) -> str:
    """Return a time in local form."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M") if text else ""
    except ValueError:  # of a status that was edited
        return ""


ROUTES = [
    ("/p/{project}/job.toml", next_job_file, ["GET"]),
    ("/p/{project}/release", show, ["GET"]),
    ("/p/{project}/release/start", start, ["POST"]),
    ("/p/{project}/release/{number:int}", show_run, ["GET"]),
    ("/p/{project}/release/{number:int}/stop", stop, ["POST"]),
    ("/p/{project}/release/{number:int}/again", again, ["POST"]),
    ("/p/{project}/release/{number:int}/never", never, ["POST"]),
    ("/p/{project}/release/{number:int}/progress", progress, ["GET"]),
    ("/p/{project}/release/{number:int}/job.toml", job_file, ["GET"]),
    ("/p/{project}/release/{number:int}/file/{name}", download, ["GET"]),
]
