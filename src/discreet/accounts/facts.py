"""Units of privacy and laws of noise as an account writes them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.accounts.book import Entry
from discreet.accounts.laws import IN_RHO, Price
from discreet.core import Guarantee, Line, Numeric, Person, hidden_among
from discreet.errors import BudgetExceeded, InvalidType


def unit_facts(unit: Any) -> Any:
    """Return a unit of privacy as an account writes it: "row", or the name of the unit and its column."""
    if unit is None or unit == "row":
        return "row"
    unit = unit.to_dict() if isinstance(unit, Person) else unit
    pairs = unit.items() if isinstance(unit, Mapping) else ()
    called, named = next(((key, held) for key, held in pairs if key not in ("rows", "group", "per_group")), ("", None))
    if not isinstance(named, str) or not named:
        meant = unit.strip() if isinstance(unit, str) else ""
        said = f'unit=dc.Person("{meant if meant.isidentifier() else "user"}", rows=8)'
        raise InvalidType("unit", unit, "'row' or a Person, as the domain has it", f"{said} or unit=domain.unit")
    return {called: named}


def unit_text(unit: Any) -> str:
    """Return a unit in words."""
    return "one row" if unit == "row" else "".join(f"one {name} (column {column!r})" for name, column in unit.items())


def unit_column(unit: Any) -> str | None:
    """Return the column that names the units; None for rows. Accounts are compared by it, whatever a unit is called."""
    return None if unit == "row" else str(next(iter(unit.values())))


def unit_of(promise: Guarantee) -> Any:
    """Return the unit of a promise, from its domain."""
    return "row" if promise.unit == "one row" or promise.domain is None else promise.domain.unit


def terms_of(promise: Guarantee) -> dict[str, Any]:
    """Return the terms of a release that is not of the central model, as an account writes them.

    A perturbed table is known by its rate: for distances d from the radius on, the loss of two points is at most rate
    times d (`discreet.metric.NDLaplace`), so rates of one metric add up. Categories add their ε at any distance.
    """
    facts = promise.parameters
    told: dict[str, Any] = {"model": promise.model, "unit": promise.unit}
    if promise.model == "syntactic":
        rules = dict(facts.get("required", {}))
        k = hidden_among(facts) if "reached" in facts else rules.get("k")
        return {**told, "k": k, "rules": rules, "earlier": int(facts.get("earlier_releases", 0))}
    spent = promise.spent.exact
    if not isinstance(spent, Fraction):
        raise BudgetExceeded("a release without privacy (epsilon is infinite) exceeds every account")
    if promise.model != "metric":
        return {**told, "epsilon": str(spent), "delta": str(Fraction(repr(promise.delta)))}
    apart = sum((Fraction(part) for part in facts.get("category_epsilon", {}).values()), Fraction(0))
    radius = None if facts.get("radius") is None else Fraction(repr(facts["radius"]))
    rate = None if radius is None else str((spent - apart) / radius)
    numbers = [] if promise.domain is None else [c.name for c in promise.domain if isinstance(c, Numeric)]
    metric = {"columns": numbers, **dict(facts.get("scaling", {}))}
    if radius is None:  # an elastic metric: the distance follows from a public density
        metric["density"] = facts.get("density")
    told |= {"epsilon": str(spent), "categories": str(apart), "metric": metric}
    return {**told, "radius": None if radius is None else str(radius), "rate": rate}


def heads_of(parameters: Mapping[str, Any]) -> list[str]:
    """Return the head of the account that a release names."""
    named = parameters.get("account")
    return [str(named.get("head"))] if isinstance(named, Mapping) else []


def steps_of(promise: Guarantee) -> list[list[Any]]:
    """Return the laws behind a promise with their counts; none for an (ε, δ) promise, whose δ has no single step."""
    if promise.accounting == "epsilon" and promise.delta:
        return []
    found: dict[tuple[str, str, str], int] = {}
    for step in _walk(promise.ledger, promise.accounting == "rho"):
        found[(step[0], step[1], step[2])] = found.get((step[0], step[1], step[2]), 0) + 1
    return [[*step, times] for step, times in found.items()]


def _walk(lines: tuple[Line, ...], zcdp: bool) -> list[list[Any]]:
    steps: list[list[Any]] = []
    for line in lines:
        if line.parts and line.kind == "sequential":
            steps += _walk(line.parts, zcdp)
        else:
            # Of parts on disjoint rows the largest counts; it is the price of the group.
            steps.append(step_facts(line, zcdp, Fraction(0)))
    return steps


def step_facts(line: Line, zcdp: bool, delta: Fraction) -> list[Any]:
    """Return law, price and δ of one step."""
    law = line_law(line)
    if zcdp:  # the line is in ρ, whatever the step was: only Gaussian noise is known by its ρ
        law = law if law == "gaussian" else "zcdp"
    return [law if law != "gaussian" or zcdp else "response", str(line.amount), str(delta), 1]


def line_law(line: Line) -> str:
    """Return the law of a step's privacy loss from its draws; "response" if only its price is known.

    Gaussian noise counts as such if a row moves one number by 1. A choice per row has bounded losses, but a person
    with several rows may enter several choices.
    """
    if line.parts or not line.draws:
        return line.law or "response"
    draw = line.draws[0]
    if len(line.draws) > 1 or draw.rows > 1:
        return "response"
    if draw.law == "gaussian":
        return "gaussian" if draw.moves == 1 else "response"
    return {"laplace": "laplace", "choice": "exponential"}.get(draw.law, "response")


def prices_of(entries: tuple[Entry, ...], currency: str) -> list[Price]:
    """Return the prices of releases by law; an unbooked reservation may have any law of its price."""
    unknown = "zcdp" if currency == "rho" else "response"
    found = []
    for entry in entries:
        if entry.terms is not None:  # not in ε of the table
            continue
        for law, amount, delta, times in entry.steps or ((unknown, entry.price, entry.delta, 1),):
            if law in IN_RHO:  # its δ is only where the ε is stated
                found.append(Price(law, rho=amount, times=times))
            else:
                found.append(Price("pure" if law == "response" or delta else law, amount, delta=delta, times=times))
    return found
