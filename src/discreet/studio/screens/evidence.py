"""The screen `evidence`: the report, an audit, attacks on demand, the sentence to sign, the digest to publish."""

import base64
import datetime
import hashlib
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from discreet.core import Guarantee, promise_place
from discreet.errors import DiscreetError
from discreet.jobs import Job, WrongOption, signed_page
from discreet.studio import checks, pictures
from discreet.studio.app import Visit, answers
from discreet.studio.released import Released, earlier_of, facts_of, release_of, releases, with_plane
from discreet.studio.runs.supervisor import Busy
from discreet.studio.words import T
from discreet.studio.workspace import Project

#: A report is one page with a style of its own, named by its digest; nothing else may be loaded or run.
_POLICY = (
    "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
_HERE = "/p/{project}/evidence/{number}"


@answers("/p/{project}/evidence")
@answers(_HERE)
def show(visit: Visit, status: int = 200, **content: Any) -> Response:
    project, found = visit.project, releases(visit.project)
    typed = {"method": "", "against": project.source, "control": "", "column": "", "sure": ""}
    content = {"errors": {}, **content, "given": {**typed, **content.get("given", {})}}
    if not found:
        return visit.page("evidence.html", screen="evidence", release=None, **content)
    release, facts, fault = release_of(project, visit.named.get("number") or visit.query.get("run", "")), None, ""
    try:
        facts = facts_of(visit.studio.later, project, release)
    except DiscreetError as error:  # a file that was changed cannot be read, but it can be audited
        fault = str(error)
    made, seals = checks.checks_of(project, release), _seals(release, facts)
    content |= checks.weighed(facts) if facts else {"kept": None, "weigh": [], "among": None, "one_group": 0}
    return visit.page(
        "evidence.html", status, screen="evidence", release=release, others=found, facts=facts,
        earlier=earlier_of(project, release), checks=made, busy=[check for check in made if not check.run.ended],
        drawn=_drawn(made, visit.t), said=checks.said_about(release), audited=audits_now(made, seals)[0],
        files=_files(release), seals=seals, kind=_kind(release, facts),
        attackable=checks.attackable(facts) if facts else (), refused=visit.query.get("refused", ""),
        here=f"/p/{project.id}/evidence/{release.number}", fault=fault, **content,
    )  # fmt: skip


def _files(release: Released) -> list[Path]:
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
    sealed = dict(seals)
    found = [a["result"] for a in checks.attached(made, "audit")]
    found = [a for a in found if a["digest"] is None or sealed.get(a["file"], a["digest"]) == a["digest"]]
    if not all(a["passed"] for a in found):
        return found, "refused"
    named = {a["file"] for a in found}
    return found, "not_audited" if not named else "audited" if named >= set(sealed) else "partly"


def _kind(release: Released, facts: dict[str, Any] | None) -> str:
    if "table" in release.files:
        return "synthetic_table"
    return "" if facts is None else str(facts["kind"]).replace(" ", "_")


def _drawn(made: list[checks.Check], t: T) -> dict[int, list[pictures.Picture]]:
    attacks = [check for check in made if check.kind == "attack"]
    return {check.run.number: pictures.localised(pictures.attack(t, check.figures), t) for check in attacks}


def _release(visit: Visit) -> Released:
    return release_of(visit.project, visit.named["number"])


def _known(visit: Visit) -> tuple[Released, dict[str, Any]]:
    release = _release(visit)
    facts = facts_of(visit.studio.later, visit.project, release)
    if facts is None:
        raise HTTPException(503)
    return release, facts


@answers(f"{_HERE}/about", "POST")
def about(visit: Visit) -> Response:
    """Keep who answers for a release, what it is for, and who signs."""
    release = _release(visit)
    checks.say_about(release, visit.typed)
    if visit.text("then") == "sign":
        return visit.to(f"evidence/{release.number}/sign")
    return visit.to(f"evidence?run={release.number}#report")


def _begun(visit: Visit, release: Released, job: Job, mark: str) -> Response:
    refused = ""
    try:
        visit.studio.supervisor.begin(checks.owner(visit.project, release), job)
    except Busy:
        refused = "&refused=busy"
    return visit.to(f"evidence?run={release.number}{refused}#{mark}")


@answers(f"{_HERE}/audit", "POST")
def audit(visit: Visit) -> Response:
    """Check a released file against its promise."""
    release = _release(visit)
    file = next((each for each in _files(release) if each.name == visit.form.get("file")), release.file)
    return _begun(visit, release, Job("audit", str(file)), "audit")


@answers(f"{_HERE}/risk", "POST")
def risk(visit: Visit) -> Response:
    """Measure how well people hide in a released table."""
    release = _release(visit)
    return _begun(visit, release, Job("risk", str(release.file)), "attacks")


@answers(f"{_HERE}/attack", "POST")
def attack(visit: Visit) -> Response:
    """Attack a release, with a control group; only the process of the attack reads raw rows."""
    release = _release(visit)
    given = {name: value.strip() for name, value in visit.typed.items()}
    facts = facts_of(visit.studio.later, visit.project, release)
    errors = {}
    if given.get("sure") != "yes":
        errors["sure"] = "needed"
    for name in ("against", "control"):
        if not given.get(name) or not Path(given[name]).expanduser().exists():
            errors[name] = "absent"
    if facts is not None and not errors:
        try:
            paths = {n: str(Path(given[n]).expanduser().resolve()) for n in ("against", "control")}
            job = checks.attack_job(visit.project, release, facts, {**given, **paths})
            return _begun(visit, release, job, "attacks")
        except WrongOption as error:
            errors[error.option.name] = str(error)
        except DiscreetError as error:
            errors["method"] = str(error)
    return show(visit, 400, errors=errors, given=given)


@answers(f"{_HERE}/stop/{{check}}", "POST")
def stop(visit: Visit) -> Response:
    release = _release(visit)
    for check in checks.checks_of(visit.project, release):
        if str(check.run.number) == visit.named["check"]:
            visit.studio.supervisor.stop(check.run)
    return visit.to(f"evidence?run={release.number}")


@answers(f"{_HERE}/report")
@answers(f"{_HERE}/report.html")
def report(visit: Visit) -> Response:
    """Show the report in its own window, or hand it over as a file."""
    release, facts = _known(visit)
    language, key = visit.t.language, visit.studio.key  # type: ignore[attr-defined]
    signer = None if key is None else key.public.fingerprint
    text = _report(visit.project, release, facts, language, signer)
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in release.file.name)
    name += ".report.html"
    if key is not None:
        text = signed_page(text, name, key, _files(release))
    headers = {"content-security-policy": policy_of(text)}
    if visit.request.url.path.endswith(".html"):
        headers["content-disposition"] = f'attachment; filename="{name}"'
    return HTMLResponse(text, headers=headers)


def _report(project: Project, release: Released, facts: dict[str, Any], language: str, signer: str | None) -> str:
    from discreet.reporting import report_page
    from discreet.reporting.pages import with_facts

    made, said = checks.checks_of(project, release), checks.said_about(release)
    shown = {kind: checks.attached(made, kind) for kind in ("attack", "risk", "audit")}
    told = {name: said[name] or None for name in ("title", "owner", "purpose", "date")}
    told["page_made"] = datetime.date.today().isoformat()
    whole = {**with_plane(release, facts), "about": told, "attacks": shown["attack"] + shown["risk"], "signer": signer}
    whole["audits"] = shown["audit"]
    options = {} if release.clusters is None else {"clusters": release.clusters}
    return with_facts(report_page(whole, language), whole, language, **options)


def policy_of(page: str) -> str:
    """Return the policy of a page whose only style is the one that it carries."""
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _POLICY.format(digest=digest)


@answers(f"{_HERE}/sign")
def sign(visit: Visit) -> Response:
    release, facts = _known(visit)
    seals = _seals(release, facts)
    audited, verdict = audits_now(checks.checks_of(visit.project, release), seals)
    return visit.page(
        "sign.html", screen="evidence", release=release, facts=facts, said=checks.said_about(release), audited=audited,
        verdict=verdict, seals=seals, kind=_kind(release, facts), judged=checks.judged(audited),
        **checks.weighed(facts),
    )  # fmt: skip
