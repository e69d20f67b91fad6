"""The screen `evidence`: the report, an audit, attacks on demand, the sentence to sign, the digest to publish."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from discreet.core import Guarantee, promise_place
from discreet.errors import DiscreetError, InvalidArgument
from discreet.jobs import Job, WrongOption
from discreet.studio import checks, pictures
from discreet.studio.app import Studio, seen
from discreet.studio.released import Released, earlier_of, facts_of, release_of, releases, with_plane
from discreet.studio.runs.supervisor import Busy
from discreet.studio.screens import results
from discreet.studio.words import T
from discreet.studio.workspace import Project

#: A report is one page with a style of its own, named by its digest; nothing else may be loaded or run.
_POLICY = (
    "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'"
)


async def show(studio: Studio, request: Request, status: int = 200, **content: Any) -> Response:
    """Show the evidence for a release."""
    project = studio.project(request)
    found = await run_in_threadpool(releases, project)
    typed = {"method": "", "against": project.source, "control": "", "column": "", "sure": ""}
    content = {"errors": {}, **content, "given": {**typed, **content.get("given", {})}}
    if not found:
        return studio.page(request, "evidence.html", screen="evidence", project=project, release=None, **content)
    number = request.path_params.get("number") or request.query_params.get("run", "")
    release = release_of(project, str(number))
    fault = ""
    try:
        facts = await facts_of(studio.later, project, release)
    except DiscreetError as error:  # a file that was changed cannot be read, but it can be audited
        facts, fault = None, str(error)
    made = await run_in_threadpool(checks.checks_of, project, release)
    drawn = await run_in_threadpool(_drawn, made, studio.words(request))
    busy = [check for check in made if not check.run.ended]
    seals = await run_in_threadpool(_seals, release, facts)
    content |= checks.weighed(facts) if facts else {"kept": None, "weigh": [], "among": None, "one_group": 0}
    earlier = await run_in_threadpool(earlier_of, project, release)
    return studio.page(
        request, "evidence.html", status=status, screen="evidence", project=project, release=release, others=found,
        facts=facts, earlier=earlier, checks=made, busy=busy, drawn=drawn, said=checks.said_about(release),
        audited=audits_now(made, seals)[0], files=_files(release), seals=seals, kind=_kind(release, facts),
        attackable=checks.attackable(facts) if facts else (), refused=request.query_params.get("refused", ""),
        here=f"/p/{project.id}/evidence/{release.number}", fault=fault, **content,
    )  # fmt: skip


def _files(release: Released) -> list[Path]:
    """Return the files with a guarantee: the artifact and its synthetic rows."""
    return [*([release.files["table"]] if "table" in release.files else []), release.file]


def _seals(release: Released, facts: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return what ties each file to its promise: the seal over both, or of a file without one its digest."""
    if facts is None:
        return []
    found = []
    for file in _files(release):
        sealed = facts["digest"] or f"sha256:{facts['file_sha256']}"
        if file != release.file:
            sealed = Guarantee.from_json(promise_place(file).read_text(encoding="utf-8")).digest or ""
        found.append((file.name, sealed))
    return found


def audits_now(made: list[checks.Check], seals: list[tuple[str, str]]) -> tuple[list[dict[str, Any]], str]:
    """Return the audits of the files as they are now, and what may be said of all files together."""
    sealed = dict(seals)
    found = [a["result"] for a in checks.attached(made, "audit")]
    found = [a for a in found if a["digest"] is None or sealed.get(a["file"], a["digest"]) == a["digest"]]
    if not all(a["passed"] for a in found):
        return found, "refused"
    named = {a["file"] for a in found}
    return found, "not_audited" if not named else "audited" if named >= set(sealed) else "partly"


def _kind(release: Released, facts: dict[str, Any] | None) -> str:
    """Return the word for what was released."""
    if "table" in release.files:
        return "synthetic_table"
    return "" if facts is None else str(facts["kind"]).replace(" ", "_")


def _drawn(made: list[checks.Check], t: T) -> dict[int, list[pictures.Picture]]:
    """Return the pictures of attacks, by the number of the check."""
    attacks = [check for check in made if check.kind == "attack"]
    return {check.run.number: pictures.localised(pictures.attack(t, check.figures), t) for check in attacks}


def _release(studio: Studio, request: Request) -> tuple[Project, Released]:
    project = studio.project(request)
    return project, release_of(project, request.path_params["number"])


async def _known(studio: Studio, request: Request) -> tuple[Project, Released, dict[str, Any]]:
    project, release = _release(studio, request)
    facts = await facts_of(studio.later, project, release)
    if facts is None:
        raise HTTPException(503)
    return project, release, facts


async def about(studio: Studio, request: Request) -> Response:
    """Keep who answers for a release, what it is for, and who signs."""
    project, release = _release(studio, request)
    form = await request.form()
    await run_in_threadpool(checks.say_about, release, {name: str(value) for name, value in form.items()})
    if form.get("then") == "sign":
        return seen(f"/p/{project.id}/evidence/{release.number}/sign")
    return seen(f"/p/{project.id}/evidence?run={release.number}#report")


async def _begun(studio: Studio, project: Project, release: Released, job: Job, mark: str) -> Response:
    """Start a check in a process of its own."""
    here = f"/p/{project.id}/evidence?run={release.number}"
    try:
        await run_in_threadpool(studio.supervisor.begin, checks.owner(project, release), job)
    except Busy:
        return seen(f"{here}&refused=busy#{mark}")
    return seen(f"{here}#{mark}")


async def audit(studio: Studio, request: Request) -> Response:
    """Check a released file against its promise."""
    project, release = _release(studio, request)
    wanted = str((await request.form()).get("file", ""))
    file = next((each for each in _files(release) if each.name == wanted), release.file)
    return await _begun(studio, project, release, Job("audit", str(file)), "audit")


async def risk(studio: Studio, request: Request) -> Response:
    """Measure how well people hide in a released table."""
    project, release = _release(studio, request)
    return await _begun(studio, project, release, Job("risk", str(release.file)), "attacks")


async def attack(studio: Studio, request: Request) -> Response:
    """Attack a release, with a control group; only the process of the attack reads raw rows."""
    project, release = _release(studio, request)
    given = {name: str(value).strip() for name, value in (await request.form()).items()}
    facts = await facts_of(studio.later, project, release)
    errors = {}
    if given.get("sure") != "yes":
        errors["sure"] = "needed"
    for name in ("against", "control"):
        if not given.get(name) or not Path(given[name]).expanduser().exists():
            errors[name] = "absent"
    if facts is not None and not errors:
        try:
            paths = {n: str(Path(given[n]).expanduser().resolve()) for n in ("against", "control")}
            job = checks.attack_job(project, release, facts, {**given, **paths})
            return await _begun(studio, project, release, job, "attacks")
        except WrongOption as error:
            errors[error.option.name] = str(error)
        except (InvalidArgument, DiscreetError) as error:
            errors["method"] = str(error)
    return await show(studio, request, status=400, errors=errors, given=given)


async def stop(studio: Studio, request: Request) -> Response:
    """End a check."""
    project, release = _release(studio, request)
    for check in checks.checks_of(project, release):
        if str(check.run.number) == request.path_params["check"]:
            await run_in_threadpool(studio.supervisor.stop, check.run)
    return seen(f"/p/{project.id}/evidence?run={release.number}")


async def report(studio: Studio, request: Request) -> Response:
    """Show the report in its own window, or hand it over as a file."""
    project, release, facts = await _known(studio, request)
    text = await run_in_threadpool(_report, project, release, facts)
    headers = {"content-security-policy": policy_of(text)}
    if request.url.path.endswith(".html"):
        name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in release.file.name)
        headers["content-disposition"] = f'attachment; filename="{name}.report.html"'
    return HTMLResponse(text, headers=headers)


def _report(project: Project, release: Released, facts: dict[str, Any]) -> str:
    from discreet.reporting import report_page

    made, said = checks.checks_of(project, release), checks.said_about(release)
    shown = {kind: checks.attached(made, kind) for kind in ("attack", "risk", "audit")}
    told = {name: said[name] or None for name in ("title", "owner", "purpose", "date")}
    whole = with_plane(release, facts)
    return report_page(
        {**whole, "about": told, "attacks": shown["attack"] + shown["risk"], "audits": shown["audit"]}
    )  # fmt: skip


def policy_of(page: str) -> str:
    """Return the policy of a page whose only style is the one that it carries."""
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _POLICY.format(digest=digest)


async def sign(studio: Studio, request: Request) -> Response:
    """Show the page to print and sign."""
    project, release, facts = await _known(studio, request)
    made = await run_in_threadpool(checks.checks_of, project, release)
    seals = await run_in_threadpool(_seals, release, facts)
    audited, verdict = audits_now(made, seals)
    return studio.page(
        request, "sign.html", screen="evidence", project=project, release=release, facts=facts,
        said=checks.said_about(release), audited=audited, verdict=verdict, seals=seals, kind=_kind(release, facts),
        judged=checks.judged(audited), **checks.weighed(facts),
    )  # fmt: skip


_HERE = "/p/{project}/evidence/{number}"
ROUTES = [
    ("/p/{project}/evidence", show, ["GET"]),
    (_HERE, show, ["GET"]),
    (f"{_HERE}/about", about, ["POST"]),
    (f"{_HERE}/audit", audit, ["POST"]),
    (f"{_HERE}/risk", risk, ["POST"]),
    (f"{_HERE}/attack", attack, ["POST"]),
    (f"{_HERE}/stop/{{check}}", stop, ["POST"]),
    (f"{_HERE}/report", report, ["GET"]),
    (f"{_HERE}/report.html", report, ["GET"]),
    (f"{_HERE}/sign", sign, ["GET"]),
    *results.ROUTES,
]
