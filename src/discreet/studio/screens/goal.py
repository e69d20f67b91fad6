"""The screen `goal`: what is wanted, what each choice promises and does not; and three questions that lead there.

The questions and what they lead to are those of `discreet choose`.
"""

from typing import Any

from starlette.responses import Response

from discreet.core import NAMING, Categorical, Domain
from discreet.errors import DiscreetError, InvalidArgument
from discreet.jobs import check, choosing
from discreet.jobs.kinds import KINDS
from discreet.studio.app import Visit, answers
from discreet.studio.schema import declared
from discreet.studio.screens.plan import values_of
from discreet.studio.workspace import Project

#: The goals in the order of the cards, each with the model of its promise.
GOALS: dict[str, str] = choosing.held()["models"]
MODELS = ("central", "local", "metric", "syntactic")


@answers("/p/{project}/goal")
def show(visit: Visit) -> Response:
    waiting = bool(visit.project.source) and declared(visit.project) is None
    return visit.page("goal.html", screen="goal", goals=GOALS, waiting=waiting, models=MODELS)


@answers("/p/{project}/goal/guide")
def guide(visit: Visit) -> Response:
    """Show the next question, or what the answers point to."""
    asked = choosing.QUESTIONS
    answers = {name: visit.query.get(name, "") for name in asked}
    step = next((name for name, said in answers.items() if said not in asked[name]), "")
    told = [(name, said) for name, said in answers.items() if said in asked[name]]
    found = [] if step else choosing.goals(answers["want"], answers["who"])
    more: dict[str, Any] = {
        "step": step, "found": found, "answers": told, "options": asked.get(step, ()), "goals": GOALS,
        "models": MODELS, "again": answers["often"] == "monthly",
    }  # fmt: skip
    return visit.page("goal_guide.html", screen="goal", **more)


@answers("/p/{project}/goal", "POST")
def choose(visit: Visit) -> Response:
    """Set the goal; settings that the new one shares with the old one stay."""
    project, goal = visit.project, visit.text("goal")
    if goal not in GOALS or (project.artifact and goal != "cluster"):
        raise InvalidArgument("goal", goal, f"one of {', '.join(GOALS)}")
    if goal != project.goal:
        project.parameters = begin(project, goal, declared(project))
        project.goal = goal
        project.save()
    return visit.to("plan")


def begin(project: Project, goal: str, domain: Domain | None) -> dict[str, Any]:
    """Return what a plan begins with: the budget and the words of the page stay from before, the rest is usual."""
    kind = KINDS[goal]
    made = choosing.settings(goal)
    if project.artifact:  # a release has spent its own budget
        made = {name: value for name, value in made.items() if name == "n_clusters"}
    if goal == "perturb":
        made |= _places(domain)
        shown = [] if domain is None else [c for c in domain if c.role not in NAMING]
        made |= {"category_epsilon": 1.0} if any(isinstance(c, Categorical) for c in shown) else {}
    if goal == "sketch" and domain is not None:
        fits = [c for c in domain if c.role not in NAMING and len(values_of(domain, c.name)) > 1]
        column = next((c.name for c in sorted(fits, key=lambda c: not isinstance(c, Categorical))), "")
        made |= {"column": column, "domain": values_of(domain, column)} if column else {}
    for option in kind.parameters:
        shared = project.parameters.get(option.name)
        keeps = option.name in ("epsilon", "seed", "title", "owner", "purpose", "date") and goal != "perturb"
        if shared is not None and keeps and not project.artifact:
            try:
                made[option.name] = check(kind, option, shared)
            except DiscreetError:
                continue
    return made


def _places(domain: Domain | None) -> dict[str, Any]:
    """Return the settings for places on the globe, if the columns are a latitude and a longitude."""
    shown = [] if domain is None else [c for c in domain if c.role not in NAMING]
    if [c.to_dict().get("bounds") for c in shown] == [[-90, 90], [-180, 180]]:
        return {"method": "sphere", "latitude": shown[0].name, "longitude": shown[1].name, "radius": 200.0}
    return {}
