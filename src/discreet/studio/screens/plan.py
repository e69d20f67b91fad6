"""The screen `plan`: how much privacy against how much error, before data are touched; or the error first."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from discreet.accounts import Account
from discreet.core import SURE_DELTA, Categorical, Domain, Integer, Option, category_text, large_delta
from discreet.errors import DiscreetError, InvalidArgument
from discreet.jobs import PAGE, SURE, Job, Kind, WrongOption, option
from discreet.jobs.kinds import KINDS
from discreet.reporting import number
from discreet.studio import forms
from discreet.studio.app import Visit, answers
from discreet.studio.forecast import PEOPLE, Forecast, counts_persons, forecast, known
from discreet.studio.jobs import job_of
from discreet.studio.runs.charges import worth
from discreet.studio.schema import declared
from discreet.studio.schema.values import certain
from discreet.studio.words import T
from discreet.studio.workspace import Project

#: Options at the top of a plan. The first number among them can be solved for.
MAIN = {
    "synopsis": ("epsilon", "method"), "synthesize": ("epsilon", "delta"), "cluster": ("n_clusters", "epsilon"),
    "anonymize": ("k", "l", "t"), "perturb": ("epsilon", "radius", "method", "latitude", "longitude"),
    "sketch": ("column", "epsilon"),
}  # fmt: skip
#: Options of other screens.
_ELSEWHERE = ("account", "history", "unit", "person", "person_rows", "fresh", "overwrite", "domain", "domain_size")
#: Options that would change the kind of guarantee.
_UNSPOKEN = {"anonymize": ("sample", "delta")}
#: Options that an opened release cannot take.
_SPENT = ("epsilon", "delta", "rho", "method", "rows", "size_share", "yes_really", "seed")
#: Options that name a column.
_COLUMN = ("column", "latitude", "longitude", "target", "users")
#: Options of an anonymous table that give columns a role.
_NAMING = ("sensitive", "target", "keep", "person")
#: Ends of the logarithmic sliders; their fields take any number.
_SLIDERS = {"epsilon": (0.01, 20), "k": (2, 1000), "radius": (0.001, 1)}
CHARGED = ("synopsis", "synthesize", "cluster")
_MOST_VALUES = 1000
#: Public guesses: the number of rows or persons, shares of people from one table to the next, and the wanted error.
_GUESSES = {
    "rows": option("about_rows", "whole", "", 10_000, low=1, high=10**15),
    "persons": option("about_persons", "whole", "", 10_000, low=1, high=10**15),
    "leave": option("about_leave", "number", "", 2.0, low=0, high=100),
    "come": option("about_come", "number", "", 2.0, low=0, high=100),
    "wanted": option("about_wanted", "number", "", 10.0, above=0),
}


@dataclass
class Wish:
    """A submitted form: parameters of the job, public guesses, typed values and errors."""

    parameters: dict[str, Any]
    planned: dict[str, Any]
    typed: dict[str, str]
    faults: dict[str, str]


def options_of(kind: Kind, method: str, *, spent: bool = False) -> list[Option]:
    away = {*_ELSEWHERE, *(_SPENT if spent else ())} - ({"person"} if kind.name == "anonymize" else set())
    away |= {*_UNSPOKEN.get(kind.name, ())}
    usual = next((o.default for o in kind.parameters if o.name == "method"), None)
    fits = method or usual
    return [o for o in kind.parameters if o.name not in away and (not o.methods or fits in o.methods)]


def _read(project: Project, domain: Domain | None, given: Mapping[str, str], t: T) -> Wish:
    """Read a form; values of other screens stay."""
    kind = KINDS[project.goal]
    typed = dict(given)
    if take := typed.pop("take", ""):
        typed["k" if project.goal == "anonymize" else "epsilon"] = certain(take)
    method = typed.get("method", str(project.parameters.get("method", "")))
    options = options_of(kind, method, spent=bool(project.artifact))
    for each in options:
        if each.takes == ("flag",):
            typed.setdefault(each.name, "")  # browsers do not send empty ticks
    parameters, faults = forms.read_all(kind, options, typed, t)
    # Values without a field stay, unless they belong to another method.
    offered = {o.name for o in options}
    kept = {name: value for name, value in project.parameters.items()
            if name not in typed and (name in offered or name in _ELSEWHERE)}  # fmt: skip
    planned = dict(project.planned)
    for name, guess in _GUESSES.items():
        try:
            if guess.name in typed:
                planned[name] = forms.read(KINDS["plan"], guess, typed[guess.name], t)
        except forms.Wrong as error:
            faults[guess.name] = str(error)
    made = {**kept, **parameters}
    if kind.name == "sketch":
        listed = values_of(domain, str(made.get("column", "")))
        if listed and (made.get("column") != project.parameters.get("column") or "domain" not in made):
            made["domain"] = listed
    if "column" in faults or not (domain or kind.name != "sketch"):
        made.pop("domain", None)
    return Wish(made, planned, typed, faults)


def values_of(domain: Domain | None, name: str) -> list[Any]:
    if domain is None or name not in domain.names:
        return []
    column = domain.column(name)
    if isinstance(column, Categorical):
        return [category_text(c) for c in column.categories]
    if type(column) is Integer and column.n_values <= _MOST_VALUES:
        return [str(v) for v in range(column.least, column.most + 1)]
    return []


def _problem(project: Project, domain: Domain | None, t: T) -> tuple[str, dict[str, str]]:
    """Return what prevents the job: a message, or errors by field."""
    if project.goal == "sketch" and project.source and not project.parameters.get("column"):
        fits = [name for name in domain.names if values_of(domain, name)] if domain is not None else []
        return ("", {"column": t("forms.needed")}) if fits else (t("plan.no_values"), {})
    if project.goal == "anonymize" and domain is not None:
        for name in _NAMING:
            named = project.parameters.get(name) or []
            gone = [n for n in ([named] if isinstance(named, str) else named) if n not in domain.names]
            if gone:
                return "", {name: t("plan.not_declared", names=", ".join(map(str, gone)))}
        if rest := roleless(domain, project.parameters):
            return t("plan.no_role", names=", ".join(rest)), {}
    try:
        job = job_of(project)
        Job(job.kind, job.data, job.schema, job.parameters, job.outputs, project.folder).check()
    except WrongOption as error:
        if any(o.name == error.option.name for o in options_of(error.kind, str(project.parameters.get("method", "")))):
            return "", {error.option.name: forms.said(error, t)}
        return f"{forms.Page(t).name(error.option)}: {forms.said(error, t)}", {}
    except InvalidArgument as error:
        return str(error), {}
    except DiscreetError as error:
        speak = getattr(error, "speak", None)
        return str(error) if speak is None else str(speak(forms.Page(t))), {}
    return "", {}


def roleless(domain: Domain, parameters: Mapping[str, Any]) -> list[str]:
    """Return the columns that an anonymous table does not know what to do with: others have a role, these have none."""
    if all(column.role != "quasi-identifier" for column in domain):
        return []  # then each of them is one
    named = [parameters.get(name) or [] for name in _NAMING]
    special = {n for given in named for n in ([given] if isinstance(given, str) else given)}
    return [column.name for column in domain if column.role == "attribute" and column.name not in special]


def account_of(project: Project, parameters: Mapping[str, Any], domain: Domain | None) -> dict[str, Any] | None:
    """Return what is left of the account, and what would be after the release."""
    if not project.account or project.goal not in CHARGED:
        return None
    try:
        account = Account(project.account)
        price, slack = parameters.get("epsilon"), parameters.get("delta", 0)
        left, plain = worth(float(account.remaining), float(account.total)), account.currency == "epsilon"
        after = left - float(price) if plain and price is not None else None
        short = "" if after is None or after >= 0 else "short"
        try:
            if price is not None and math.isfinite(price) and not short and plain:
                unit = None if domain is None else domain.unit
                account.check("plan", price, delta=slack, unit=unit or "row")
        except DiscreetError as error:
            short = str(error)
        return {"name": account.dataset, "left": number(left), "total": number(float(account.total)), "short": short,
                "sign": "ε" if plain else "ρ", "fault": "",
                "after": None if after is None else number(worth(after, float(account.total)))}  # fmt: skip
    except DiscreetError as error:
        return {"fault": str(error)}


def _expected(project: Project, wish: Wish, domain: Domain | None, t: T) -> tuple[Forecast | None, str]:
    if project.artifact:
        return None, t("plan.costs_nothing")
    if not known(project.goal, wish.parameters):
        return None, t("plan.not_known")
    if set(wish.faults) & {"epsilon", "k", "radius", "delta", "n_clusters", "about_rows"}:
        return None, ""
    try:
        return forecast(project.goal, wish.parameters, domain, wish.planned, t), ""
    except DiscreetError as error:
        return None, str(error)


@answers("/p/{project}/plan")
def show(visit: Visit) -> Response:
    project = visit.project
    if project.goal not in MAIN:
        return visit.to("goal")
    domain, query = declared(project), dict(visit.query)
    asked = any(name != "done" for name in query)
    kept = Wish(dict(project.parameters), dict(project.planned), {}, {})
    return _page(visit, domain, _read(project, domain, query, visit.t) if asked else kept, unsaved=asked)


@answers("/p/{project}/plan/outlook")
def show_outlook(visit: Visit) -> Response:
    if visit.project.goal not in MAIN:
        return Response(status_code=404)
    domain = declared(visit.project)
    wish = _read(visit.project, domain, visit.query, visit.t)
    return visit.studio.page(visit.request, "outlook.html", **_outlook(visit, domain, wish))


@answers("/p/{project}/plan", "POST")
def save(visit: Visit) -> Response:
    """Save the plan, and continue to the release if it is valid."""
    project, t = visit.project, visit.t
    if project.goal not in MAIN:
        return visit.to("goal")
    domain = declared(project)
    wish = _read(project, domain, visit.typed, t)
    tried = replace(project, parameters=wish.parameters, planned=wish.planned)
    problem, faults = ("", {}) if wish.faults else _problem(tried, domain, t)
    wish.faults |= faults
    if wish.faults:
        return _page(visit, domain, wish, 422)
    tried.save()
    return visit.to("release" if visit.text("act") == "go" and not problem else "plan?done=1")


def _outlook(visit: Visit, domain: Domain | None, wish: Wish) -> dict[str, Any]:
    project = visit.project
    found, why = _expected(project, wish, domain, visit.t)
    main = "k" if project.goal == "anonymize" else "epsilon"
    return {
        "found": found, "why": why, "goal": project.goal, "main": main, "there": project,
        "sign": {"epsilon": "ε"}.get(main, main), "rows": wish.planned.get("rows"),
        "elsewhere": visit.studio.workspace.accounts_of(project.source, but=project.id),
        "account": account_of(project, wish.parameters, domain), "raw": raw_columns(project.goal, wish.parameters),
        "charged": project.goal in CHARGED and not project.artifact,
        "large_delta": bool(large_delta(wish.parameters.get("delta") or 0.0, wish.planned.get("rows"))),
        # A level that holds at a distance is large or small by that distance.
        "strength": _strength(wish.parameters.get("epsilon")) if project.goal not in ("anonymize", "perturb") else "",
    }  # fmt: skip


def raw_columns(goal: str, parameters: Mapping[str, Any]) -> str:
    """Return the columns that an anonymous table passes on as they are."""
    keep = parameters.get("keep") or ()
    return ", ".join([keep] if isinstance(keep, str) else map(str, keep)) if goal == "anonymize" else ""


def _strength(epsilon: Any) -> str:
    if not isinstance(epsilon, (int, float)):
        return ""
    return "strong" if epsilon <= 1 else "common" if epsilon <= 5 else "weak" if epsilon <= SURE else "nothing"


def _fields(kind: Kind, names: Sequence[Option], wish: Wish, domain: Domain | None, t: T) -> list[Any]:
    made = []
    for each in names:
        one = forms.field(kind, each, t, wish.parameters, wish.typed, wish.faults)
        if each.name in _COLUMN and domain is not None:
            offered = [n for n in domain.names if each.name != "column" or values_of(domain, n)]
            one = replace(one, control="choice" if each.name == "column" else "offered", choices=tuple(offered))
        made.append(one)
    return made


def _page(visit: Visit, domain: Domain | None, wish: Wish, status: int = 200, *, unsaved: bool = False) -> Response:
    project, t, kind = visit.project, visit.t, KINDS[visit.project.goal]
    told, problem = _outlook(visit, domain, wish), ""
    if not wish.faults and not unsaved:
        problem, faults = _problem(project, domain, t)
        wish.faults |= faults
    method = str(wish.typed.get("method", wish.parameters.get("method", "")))
    by_name = {o.name: o for o in options_of(kind, method, spent=bool(project.artifact))}
    main = [by_name.pop(name) for name in MAIN[project.goal] if name in by_name]
    sure, seed = by_name.pop("yes_really", None), by_name.pop("seed", None)
    words_of_page = [by_name.pop(o.name) for o in PAGE if o.name in by_name]
    groups = {
        "main": main, "sure": [sure] if sure and _doubtful(wish, t) else [], "more": list(by_name.values()),
        "page": words_of_page, "seed": [seed] if seed else [],
    }  # fmt: skip
    fields = {name: _fields(kind, options, wish, domain, t) for name, options in groups.items()}
    guesses = {name: wish.typed.get(f"about_{name}", _plain(wish.planned.get(name))) for name in _GUESSES}
    unit, sphere = None if domain is None else domain.unit, wish.parameters.get("method") == "sphere"
    idle = domain is not None and project.goal == "anonymize" and roleless(domain, wish.parameters)
    return visit.page(
        "plan.html", status, screen="plan", fields=fields, sliders=_SLIDERS, guesses=guesses, faults=wish.faults,
        unsaved=unsaved, problem=problem,
        to_columns=bool(problem and idle), persons=counts_persons(wish.parameters, domain),
        wanted_in="people" if project.goal in PEOPLE else "metres" if sphere else "share",
        ask_persons=getattr(unit, "rows", None) == "auto", waiting=domain is None and bool(project.source),
        open_groups={name for name, each in fields.items() if any(f.fault or f.text for f in each)},
        notice="done" in visit.query, wrong=[(name, _called(kind, name, t)) for name in wish.faults], **told,
    )  # fmt: skip


def _called(kind: Kind, name: str, t: T) -> str:
    if name.startswith("about_"):
        return t("plan.about_wanted" if name == "about_wanted" else f"plan.{name}")
    return forms.texts(kind.name, kind.option(name), t)[0]


def _doubtful(wish: Wish, t: T) -> bool:
    """Return whether a budget must be confirmed, or was."""
    epsilon, delta = wish.parameters.get("epsilon", 0), wish.parameters.get("delta", 0)
    asked = {t("forms.twice_epsilon"), t("forms.twice_delta")} & set(wish.faults.values())
    return bool(wish.parameters.get("yes_really") or epsilon > SURE or delta > SURE_DELTA or asked)


def _plain(value: Any) -> str:
    return "" if value is None else certain(f"{value:g}") if isinstance(value, float) else str(value)
