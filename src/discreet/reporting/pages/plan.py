"""The plan page: the expected error of each method, and how it falls with ε."""

from collections.abc import Sequence
from typing import Any

from discreet.planning import Outlook
from discreet.reporting.language import translated
from discreet.reporting.pages import svg
from discreet.reporting.pages.frame import Answer, render
from discreet.reporting.words import number, share

#: What the errors of a question are shares of.
UNITS = {"counts": "share of all rows", "places": "declared widths", "clusters": "excess of the squared error"}
#: A bound that loses a smaller share of the rows needs no larger one next to it.
_FEW_LOST = 1e-4
_QUESTIONS = {
    "counts": "How many hold a value, or fall into a box",
    "places": "Where a row lies",
    "clusters": "Where the clusters are",
}


def plan_page(found: Outlook, fitness: str = "", language: str = "en", own: Sequence[str] = ()) -> str:
    """Return the page of a plan; ``own`` are the names of columns in the line of fitness."""
    best = [min((r for r in found.rows if r.question == q), key=lambda r: r.error) for q in UNITS]
    answers = [
        Answer("What was asked?", f"{found.n:,} rows, {found.d} columns, ε = {found.epsilon:g}",
               [("", f"{found.clusters} clusters, k = {found.k}, {found.values:,} values, radius {found.radius:g}"),
                ("soft", "No data were used: everything follows from these numbers.")]),
        Answer("What can I expect?", "The method with the smallest error for each question",
               [("", f"{row.question}: {row.method}, {_error(row)} ({UNITS[row.question]})") for row in best]
               + [("", fitness)] * bool(fitness)),
        Answer("What should worry me?", "Errors cannot all be compared",
               [("", "Do not compare errors of different questions, or promises of different models."),
                ("soft", "The distribution of your data is not known. Where it matters, the error is a bound.")]),
    ]  # fmt: skip
    cards = {q: [_card(row, found) for row in found.rows if row.question == q] for q in UNITS}
    questions = [(f"{_QUESTIONS[q]} ({UNITS[q]})", cards[q]) for q in UNITS]
    bounds = [(b, *map(percent, (b.lost, b.bias, b.noise, b.error))) for b in shown_bounds(found)]
    least = min(found.bounds, key=lambda b: b.error).rows if found.bounds else 0
    title = f"What to expect from {found.n:,} rows and {found.d} columns"
    more: dict[str, Any] = {"bounds": bounds, "best_bound": least, "persons": found.persons}
    page = render("plan.html", title, "Plan", answers, questions=questions, **more)
    return translated(page, language, own, page=True)


def shown_bounds(found: Outlook) -> list[Any]:
    """Return the bounds on rows per person, up to the best one and the first that loses almost no rows."""
    best = min((b.error for b in found.bounds), default=0.0)
    passed = [b.error for b in found.bounds].index(best) if found.bounds else 0
    complete = next((i for i, b in enumerate(found.bounds) if b.lost < _FEW_LOST), len(found.bounds))
    return list(found.bounds[: max(passed, complete) + 1])


def _card(row: Any, found: Outlook) -> dict[str, Any]:
    picture, target = None, found.target_error
    if row.model != "syntactic":  # its error does not depend on ε
        picture = svg.curve(
            found.budgets, row.curve, title=row.method, x="ε", y=f"error, {UNITS[row.question]}", log=True,
            form=share, dot=(found.epsilon, row.error, f"{percent(row.error)} at ε = {found.epsilon:g}"),
            level=None if target is None else (target, f"wanted: {percent(target)}"),
        )  # fmt: skip
    wanted = "" if target is None else f"ε for an error of {percent(target)}: {needed(row.needed_epsilon)}"
    return {"row": row, "error": _error(row), "picture": picture, "wanted": wanted}


def _error(row: Any) -> str:
    return f"{'' if row.sense == 'about' else row.sense + ' '}{percent(row.error)}"


def percent(value: float) -> str:
    """Write a share for people."""
    return number(value, 3) if value >= 1 else share(value)


def needed(epsilon: float | None) -> str:
    """Write a required budget for people."""
    return "none" if epsilon is None else number(epsilon, 3)
