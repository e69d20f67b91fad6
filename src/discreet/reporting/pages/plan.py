"""The outlook as one page: what to expect of every method, and how its error falls with ε."""

from typing import Any

from discreet.planning import Outlook
from discreet.reporting.pages import svg
from discreet.reporting.pages.frame import Answer, render
from discreet.reporting.words import number, share

#: What the errors of a question are shares of.
UNITS = {
    "counts": "share of all rows",
    "places": "declared widths",
    "clusters": "excess of the squared error",
}
_QUESTIONS = {
    "counts": "How many hold a value, or fall into a box",
    "places": "Where a row lies",
    "clusters": "Where the clusters are",
}


def plan_page(found: Outlook) -> str:
    """Return a page without scripts or outside files.

    Examples
    --------
    >>> from discreet.planning import outlook
    >>> text = plan_page(outlook(1000, 2))
    >>> text.count("<svg"), "<script" in text
    (7, False)
    """
    best = [min((r for r in found.rows if r.question == q), key=lambda r: r.error) for q in UNITS]
    answers = [
        Answer("What was asked?", f"{found.n:,} rows, {found.d} columns, ε = {found.epsilon:g}",
               [("", f"{found.clusters} clusters, k = {found.k}, {found.values:,} values, radius {found.radius:g}"),
                ("soft", "No data were looked at: everything follows from these numbers.")]),
        Answer("What is to be expected?", "The smallest error of each question",
               [("", f"{row.question}: {row.method}, {_error(row)} ({UNITS[row.question]})") for row in best]),
        Answer("What should worry me?", "Errors are not all alike",
               [("", "Errors of different questions cannot be compared, nor can promises of different models."),
                ("soft", "Not known: how your data lie. Bounds say so: at most, at least.")]),
    ]  # fmt: skip
    questions = [
        (f"{_QUESTIONS[q]} ({UNITS[q]})", [_card(row, found) for row in found.rows if row.question == q]) for q in UNITS
    ]
    bounds = [(b, *map(percent, (b.lost, b.bias, b.noise, b.error))) for b in found.bounds]
    least = min(found.bounds, key=lambda b: b.error).rows if found.bounds else 0
    title = f"What to expect of {found.n:,} rows and {found.d} columns"
    return render(
        "plan.html", title, "Plan", answers, questions=questions, bounds=bounds, best_bound=least, persons=found.persons
    )


def _card(row: Any, found: Outlook) -> dict[str, Any]:
    picture, target = None, found.target_error
    if row.model != "syntactic":  # whose error is the same at any ε
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
    """Write a needed budget for people."""
    return "none" if epsilon is None else number(epsilon, 3)
