"""Releases without a price in the limit of an account: what they promise together, and what to worry about."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.accounts.book import Entry
from discreet.core import at_most, counted


def listed(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the totals of entries with terms, by kind.

    Privacy
    -------
    Perturbed tables of one metric: with loss at most rate · d each for distances d from the radius on, together at most
    the sum of the rates times d from the largest radius on (basic composition for each pair of points), plus the ε of
    all categories. Local reports: a sum of ε, for any two values of a user who is in all of them. Both hold for prices
    that are chosen after earlier results. Anonymous tables have no sum.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        if (terms := entry.terms) and (entry.state != "reserved" or terms["model"] != "syntactic"):
            told = json.dumps(terms.get("metric"), sort_keys=True)
            groups.setdefault(f"{terms['model']} {terms['unit']} {told} {_masked(terms)}", []).append(entry)
    return [_summed(held) for held in groups.values()]


def _masked(terms: Mapping[str, Any]) -> bool:
    """Return whether a table keeps no rule at all."""
    return terms["model"] == "syntactic" and terms["k"] is None and not any(terms["rules"].values())


def _summed(held: list[Entry]) -> dict[str, Any]:
    terms = [dict(entry.terms or {}) for entry in held]
    first, numbers = terms[0], [entry.number for entry in held]
    told: dict[str, Any] = {"model": first["model"], "unit": first["unit"], "entries": numbers}
    if first["model"] == "syntactic":
        told["k"] = min((each["k"] for each in terms if each["k"] is not None), default=None)
        said = f"{counted(len(held), 'anonymous table')}: no epsilon"
        if _masked(first):
            said = f"{counted(len(held), 'masked table')}: {'promises' if len(held) == 1 else 'promise'} nothing"
        said += ". The limit above does not count what they reveal."
        return {**told, "said": said}
    told["epsilon"] = str(level := _sum(terms, "epsilon"))
    if first["model"] != "metric":
        told["delta"] = str(slack := _sum(terms, "delta"))
        more = f", delta {at_most(slack)}" if slack else ""
        what = f"{counted(len(held), 'local release')}: epsilon {at_most(level)}{more} in total"
        return {**told, "said": f"{what} for someone with {first['unit']} in each."}
    columns, apart = ", ".join(first["metric"]["columns"]), _sum(terms, "categories")
    told |= {"metric": first["metric"], "categories": str(apart)}
    what = f"{counted(len(held), 'perturbed table')}"
    more = f" Categories add epsilon {at_most(apart)}." if apart else ""
    if first["rate"] is None:
        said = f"{what}: epsilon {at_most(level - apart)} in total between points that are as near as each promise says"
        return {**told, "said": f"{said}.{more}"}
    rate, radius = _sum(terms, "rate"), max(Fraction(each["radius"]) for each in terms)
    told |= {"rate": str(rate), "radius": str(radius)}
    unit = "metre" if first["metric"].get("kind") == "sphere" else "unit of distance"
    said = f"{what} of {columns}: epsilon {at_most(rate)} in total per {unit}, from a distance of {float(radius):g} on"
    return {**told, "said": f"{said}.{more}"}


def _sum(terms: Sequence[dict[str, Any]], name: str) -> Fraction:
    return sum((Fraction(each[name]) for each in terms), Fraction(0))


def unchecked(entries: Sequence[Entry]) -> list[str]:
    """Warn of anonymous tables about the same people that were not checked with each other."""
    # A file appears after it is booked: a table that was only reserved never left.
    tables = [e for e in entries if e.model == "syntactic" and e.state != "reserved" and not e.withdrawn]
    alone = [i for i, entry in enumerate(tables) if (entry.terms or {})["earlier"] < i]
    if not alone:
        return []
    held = tables[: alone[-1] + 1]
    named, changed = ", ".join(str(entry.number) for entry in held), [_masked(entry.terms or {}) for entry in held]
    kind = "masked" if all(changed) else "anonymous or masked" if any(changed) else "anonymous"
    return [
        f"Entries {named} are {kind} tables about the same people, and not all of them were checked together. "
        "Someone with two of them can compare them and may find people. Make each with one release history "
        "(--history), or hand out only one of them"
    ]
