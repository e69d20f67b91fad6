"""The screen `account`: what was released from this data set, at what price, and what is left."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.responses import Response

from discreet.accounts import Account
from discreet.core import Domain, Person
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument
from discreet.studio.app import Studio, Visit, answers
from discreet.studio.jobs import job_of
from discreet.studio.runs import Run
from discreet.studio.runs.charges import entry_of, forgotten, paid_file
from discreet.studio.runs.offer import of_table, offer_of
from discreet.studio.schema.values import TwoWays, read_number
from discreet.studio.screens.release import when
from discreet.studio.workspace import Project

#: Fields of the form that opens an account, and whom an error is about.
_FIELDS = ("dataset", "epsilon", "delta", "rho", "path")


@answers("/p/{project}/account")
def show(visit: Visit, status: int = 200, **said: Any) -> Response:
    content = _content(visit.studio, visit.project)
    content |= {"ask": visit.query.get("ask", ""), "verified": None, "error": "", "wrong": "", "when": when}
    return visit.page("account.html", status, screen="account", **{**content, **said})


def _content(studio: Studio, project: Project) -> dict[str, Any]:
    """Return all that the page shows; only accounts and folders of runs are read."""
    runs = list(of_table(studio.workspace, project))
    account, broken = None, ""
    try:
        account = Account(project.account) if project.account else None
    except DiscreetError as error:
        broken = str(error)
    done = [(other, run) for other, run in runs if run.state == "done"]
    without = [(other, run) for other, run in done if not run.asked["price"]]
    content: dict[str, Any] = {
        "account": account, "broken": broken, "without": without, "unit": _unit(project),
        "uncounted": [each for each in done if _uncounted(each[1], account)],
        "elsewhere": _elsewhere(studio, project), "place": str(_place(studio, project)), "given": {}, "price": None,
    }  # fmt: skip
    if account is None:
        return content
    mine: dict[int, tuple[Project, Run]] = {}
    under_way, gone = set(), set()
    for other, run in runs:
        if not run.asked["account"] or os.path.realpath(run.asked["account"]) != os.path.realpath(account.path):
            continue
        number = run.status["entry"]
        if number is None and run.state != "done" and (found := entry_of(run)):
            number = found.number
        for each in [*run.status["lost"], *([] if number is None else [number])]:
            mine[each] = (other, run)
        if number and not run.ended:
            under_way.add(number)
        if number and run.ended and run.state != "done" and not paid_file(run):
            gone.add(number)  # it may be booked: killed before the file was written
        gone.update(run.status["lost"])
    offer = offer_of(studio.workspace, project)
    lost = [e for e in account.entries if e.number in gone or (e.state == "reserved" and e.number not in under_way)]
    return content | {
        "entries": list(reversed(account.entries)), "mine": mine, "lost": {e.number for e in lost},
        "unexplained": [e.number for e in lost if not e.notes],
        "under_way": under_way, "together": _together(str(account.path), account.head),
        "price": offer.charge if offer.charge and not offer.refused else None,
        "forgotten": forgotten(studio.workspace, project.account),
    }  # fmt: skip


def _uncounted(run: Run, account: Account | None) -> bool:
    """Return whether a finished release has a price that no account was charged for."""
    if not run.asked["price"] or run.asked["account"]:
        return False
    digest = (run.status["promise"] or {}).get("digest")
    return account is None or digest not in {entry.digest for entry in account.entries}


@lru_cache(32)
def _together(path: str, head: str) -> tuple[float, float] | None:  # the head stands for all that was written
    """Return the ε of all releases together, if none chose its price after seeing another, and its δ."""
    account = Account(path)
    return (account.together(), account.stated_delta) if account.entries else None


def _unit(project: Project) -> Person | str | None:
    """Return the unit of privacy that the columns declare; None if they are not declared yet."""
    try:
        domain = job_of(project).read_domain() if project.goal else Domain.from_toml(project.schema_file)
    except DiscreetError:
        return None
    return domain.unit if domain is not None and isinstance(domain.unit, Person) else "row"


def _elsewhere(studio: Studio, project: Project) -> list[str]:
    """Return accounts that the same table has in other projects, and one that lies where a new one would."""
    found = [*studio.workspace.accounts_of(project.source, but=project.id), str(_place(studio, project))]
    return [path for path in dict.fromkeys(found) if path != project.account and os.path.isfile(path)]


def _place(studio: Studio, project: Project) -> Path:
    near = Path(project.source).parent
    own = studio.workspace.home / "accounts"
    uploaded = not project.source or project.folder in Path(project.source).parents
    folder = own if uploaded or not near.is_dir() or not os.access(near, os.W_OK) else near
    return folder / f"{project.name.partition('.')[0] or 'table'}.account"


@answers("/p/{project}/account/create", "POST")
def create(visit: Visit) -> Response:
    given = {name: visit.text(name) for name in _FIELDS}
    try:
        _make(visit, given)
    except DiscreetError as error:
        wrong = getattr(error, "name", "")
        return show(visit, 400, error=str(error), wrong=wrong if wrong in _FIELDS else "", given=given)
    return visit.to("account")


def _make(visit: Visit, given: dict[str, str]) -> None:
    unit, usual = _unit(visit.project), _place(visit.studio, visit.project)
    if unit is None:
        raise DataSourceError("columns: they are not declared yet, and they say whose privacy is counted")
    place = Path(os.path.expanduser(given["path"] or usual))
    if not place.is_absolute():
        raise InvalidArgument("path", given["path"], "a whole path", str(usual))
    if place.parent == visit.studio.workspace.home / "accounts":
        place.parent.mkdir(mode=0o700, exist_ok=True)
    if os.path.lexists(place):
        raise InvalidArgument("path", given["path"], "a new file: one is there, and can be opened", f"{place}.2")
    limits: dict[str, Any] = {name: _number(name, given[name]) for name in ("epsilon", "rho") if given[name]}
    limits |= {"delta": _number("delta", given["delta"] or "0"), "yes_really": bool(visit.form.get("yes_really"))}
    _use(visit.project, Account.create(place, dataset=given["dataset"], unit=unit, **limits))


def _use(project: Project, account: Account) -> None:
    project.account = str(account.path)
    project.save()


def _number(name: str, text: str) -> float:
    try:
        found = read_number(text)
    except TwoWays as error:
        either = "{whole} or {point}".format(**error.values)
        raise InvalidArgument(name, text, "a number that can be read in one way", either) from None
    if found is None:
        raise InvalidArgument(name, text, "a number", "1e-6" if name == "delta" else "3")
    return float(found)


@answers("/p/{project}/account/open", "POST")
def open_file(visit: Visit) -> Response:
    path = visit.text("path")
    try:
        if not path:
            raise InvalidArgument("path", path, "the file of an account", "patients.account")
        _use(visit.project, Account(path))
    except DiscreetError as error:
        return show(visit, 400, error=str(error), wrong="open")
    return visit.to("account")


@answers("/p/{project}/account/annotate", "POST")
def annotate(visit: Visit) -> Response:
    number = visit.text("entry")
    entry = int(number) if number.isdecimal() and len(number) < 9 else 0
    _account(visit).annotate(entry, visit.text("text"))
    return visit.to(f"account#entry-{entry}")


@answers("/p/{project}/account/close", "POST")
def close(visit: Visit) -> Response:
    if not visit.form.get("sure"):
        return visit.to("account?ask=close#close")
    _account(visit).close()
    return visit.to("account")


@answers("/p/{project}/account/book", "POST")
def book(visit: Visit) -> Response:
    from discreet.synopses import promise_of

    account, asked = _account(visit), (visit.text("project"), visit.text("number"))
    for other, run in of_table(visit.studio.workspace, visit.project):
        if (other.id, str(run.number)) == asked and run.state == "done" and _uncounted(run, account):
            promise = promise_of(run.path("release")) if "release" in run.files else None
            if promise is None:
                raise DataSourceError(f"run {run.number}: the synopsis was not kept, so its price cannot be booked")
            account.add(promise)
    return visit.to("account")


@answers("/p/{project}/account/verify")
def verify(visit: Visit) -> Response:
    head = visit.query.get("head", "").strip()
    try:
        facts = Account(visit.project.account).verify(head or None)
        found = {"holds": True, "lines": facts["lines"], "releases": len(facts["entries"]), "head": bool(head)}
    except DiscreetError as error:
        found = {"holds": False, "why": str(error)}
    return show(visit, verified=found)


def _account(visit: Visit) -> Account:
    if not visit.project.account:
        raise DataSourceError("account: this table has none yet; open one first")
    return Account(visit.project.account)
