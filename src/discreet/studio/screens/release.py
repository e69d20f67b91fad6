"""The screen `release`: what will be run, how far it has come, what came out."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from discreet.errors import DataSourceError, SchemaError
from discreet.studio.app import Visit, answers
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


@answers("/p/{project}/release")
def show(visit: Visit) -> Response:
    project, workspace = visit.project, visit.studio.workspace
    form = visit.query.get("form", "csv")
    others = workspace.accounts_of(project.source, but=project.id)
    return _page(visit, offer=offer_of(workspace, project, form), runs=runs_of(project), form=form, elsewhere=others)


@answers("/p/{project}/release/{number:int}")
def show_run(visit: Visit) -> Response:
    """Show one run: its progress, its result, or how to go on."""
    project, run = visit.project, _run(visit)
    drawn = None
    if run.files.get("release") or run.files.get("counts"):
        drawn = results.shown(visit, release_of(project, str(run.number)))
    return _page(visit, run=run, told=_told(run), runs=runs_of(project), results=drawn, job=_handed(project, run))


def _page(visit: Visit, **content: Any) -> Response:
    notice = visit.query.get("notice", "")
    made: dict[str, Any] = {"offer": None, "run": None, "told": {}, "results": None, "form": "csv", "given": {}}
    made |= {"elsewhere": [], "raw": "", "persons": False, "notice": notice if notice in _NOTICES else "", **content}
    if isinstance(made["offer"], Offer) and made["offer"].job is not None:
        job = made["offer"].job
        made["given"] = {name: job.parameters.get(name) for name in _TOLD}
        made["persons"] = job.kind == "anonymize" and counts_persons(job.parameters, job.read_domain())
        made["raw"] = raw_columns(job.kind, job.parameters)
    most = visit.studio.supervisor.most
    return visit.page("release.html", screen="release", when=when, most=most, **made)


@answers("/p/{project}/release/start", "POST")
def start(visit: Visit) -> Response:
    project, number = visit.project, _whole(visit.form.get("number"))
    if (project.runs / str(number)).exists():
        return visit.to(f"release/{number}")
    offer = offer_of(visit.studio.workspace, project, str(visit.form.get("form", "csv")))
    if offer.job is None or offer.key != visit.form.get("key"):
        return visit.to("release?notice=changed")
    if offer.refused or (offer.uncounted and not visit.form.get("uncounted")):
        return visit.to("release?notice=uncounted" if offer.uncounted else "release")
    job, language = offer.job, visit.t.language  # type: ignore[attr-defined]
    if language != "en" and "report" in job.outputs:  # its page is written as the studio is shown
        job = replace(job, parameters={"language": language, **job.parameters})
    try:
        run = visit.studio.supervisor.start(project, job, number, offer.digest)
    except Busy:
        return visit.to("release?notice=busy")
    return visit.to(f"release/{run.number}")


@answers("/p/{project}/release/{number:int}/again", "POST")
def again(visit: Visit) -> Response:
    run, attempt = _run(visit), _whole(visit.form.get("attempt"))
    if run.asked["account"] and (why := forgotten(visit.studio.workspace, run.asked["account"])):
        raise DataSourceError(why)
    try:
        visit.studio.supervisor.again(visit.project, run, attempt)
    except Busy:
        return visit.to(f"release/{run.number}?notice=busy")
    return visit.to(f"release/{run.number}")


@answers("/p/{project}/release/{number:int}/stop", "POST")
def stop(visit: Visit) -> Response:
    run = visit.studio.supervisor.stop(_run(visit))
    return visit.to(f"release/{run.number}")


@answers("/p/{project}/release/{number:int}/never", "POST")
def never(visit: Visit) -> Response:
    """Take the steward's word that a table was never handed out, and delete it."""
    run = _run(visit)
    if visit.text("sure") == "yes" and run.state == "done" and run.asked.get("history") and not run.status["never"]:
        run.keep_inside()
    return visit.to(f"release/{run.number}")


@answers("/p/{project}/release/{number:int}/progress")
def progress(visit: Visit) -> Response:
    run = _run(visit)
    return JSONResponse({"state": run.state, "ended": run.ended, **run.status["progress"]})


@answers("/p/{project}/release/{number:int}/file/{name}")
def download(visit: Visit) -> Response:
    run, name = _run(visit), visit.named["name"]
    if name not in run.files or not run.path(name).is_file():
        raise HTTPException(404)
    called = f"{_called(visit)}-{run.number}-{run.files[name]}"
    return FileResponse(run.path(name), filename=called, media_type="application/octet-stream")


@answers("/p/{project}/job.toml")
def next_job_file(visit: Visit) -> Response:
    return _attached(next_job(visit.project), f"{_called(visit)}.job.toml")


@answers("/p/{project}/release/{number:int}/job.toml")
def job_file(visit: Visit) -> Response:
    """Hand over the job file of a run, as somebody else can run it."""
    run = _run(visit)
    return _attached(_handed(visit.project, run), f"{_called(visit)}-{run.number}.job.toml")


def _called(visit: Visit) -> str:
    return visit.project.name.partition(".")[0]


def _attached(made: Handed, name: str) -> Response:
    if made.lacking:
        raise SchemaError(made.lacking)
    there = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return PlainTextResponse(made.text, media_type="application/toml", headers=there)


def _handed(project: Project, run: Run) -> Handed:
    if run.job is None:
        return Handed("", f"run {run.number}: this version cannot read its job file")
    return handed(project, run.job, f"/p/{project.id}/release/{run.number}/job.toml")


def _run(visit: Visit) -> Run:
    for run in runs_of(visit.project):
        if run.number == visit.named["number"]:
            return run
    raise HTTPException(404)


def _whole(text: Any) -> int:
    if not isinstance(text, str) or not text.isdecimal() or len(text) > 6:
        raise DataSourceError("form: the number of the run is not one; open the page again")
    return int(text)


def _told(run: Run) -> dict[str, Any]:
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
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M") if text else ""
    except ValueError:  # of a status that was edited
        return ""
