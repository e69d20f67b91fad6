"""Below the screen `plan`: how well people hide in the raw table, for a steward who may look at it.

A job of a process of its own, as releases are; what it finds is of the rows, so it is shown only where looking is
allowed, and nothing that is released with an ε depends on it.
"""

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from discreet.jobs import Job
from discreet.reporting import share
from discreet.reporting.pages import svg
from discreet.studio import words
from discreet.studio.app import Visit, answers
from discreet.studio.runs import runs_of
from discreet.studio.runs.supervisor import Busy
from discreet.studio.schema import declared
from discreet.studio.workspace import Project


def _looks(project: Project) -> Project:
    return replace(project, folder=project.folder / "raw")


def _ready(project: Project) -> tuple[Job | None, str]:
    if not project.source or not project.looked:
        return None, "not_looked"
    domain = declared(project)
    if domain is None:
        return None, "waiting"
    if not any(c.role == "quasi-identifier" for c in domain):
        return None, "none_known"
    return Job("risk", project.source, schema=domain), ""


@answers("/p/{project}/plan/risk")
def show(visit: Visit) -> Response:
    """Show what was found, how far it is, or what it lacks."""
    project, t = visit.project, visit.t
    job, lacks = _ready(project)
    run = next(iter(runs_of(_looks(project))), None) if project.looked else None
    found: dict[str, Any] = run.figures if run is not None and run.state == "done" else {}
    picture = None
    if found:
        told = {name: facts["distinction"] for name, facts in found["columns"].items() if name != "*"}
        names = sorted(told, key=lambda name: -told[name])
        title, axis = t("risk.columns"), t("risk.columns_axis")
        picture = svg.ranked(names, [told[name] for name in names], title=title, axis=axis, form=share)
    return visit.page(
        "risk.html", screen="plan", ready=job is not None, lacks=lacks, run=run, found=found, picture=picture,
        percent=lambda value: words.written(share(value), t), refused="refused" in visit.query,
        state=run.state if run is not None else "", message=run.status["message"] if run is not None else "",
    )  # fmt: skip


@answers("/p/{project}/plan/risk", "POST")
def start(visit: Visit) -> Response:
    job, _ = _ready(visit.project)
    try:
        if job is not None:
            visit.studio.supervisor.begin(_looks(visit.project), job)
    except Busy:
        return visit.to("plan/risk?refused=1")
    return visit.to("plan/risk")
