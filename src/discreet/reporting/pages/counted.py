"""What the page of a marginal synopsis says: which columns were counted together, with what noise, and what follows."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from discreet.reporting.pages import svg
from discreet.reporting.words import number

#: Marginals that are named and drawn.
_MOST = 12
#: Lines of a ledger that stand on a page; of a longer one its steps, without their parts.
_LINES = 14
#: What an indented line of a ledger begins with.
_PART = "\u2003"


def headline(release: dict[str, Any], columns: int) -> str:
    """Say in a line what a synopsis is."""
    if "measured" in release:
        return f"A model of {columns:,} columns, made from noisy counts"
    if "lifted" in release:
        return f"Clusters in {columns:,} columns: {release['leaves']:,} groups of rows with a noisy mean each"
    return f"A synopsis: {release['leaves']:,} boxes with a noisy count each"


def told(found: Sequence[dict[str, Any]]) -> list[str]:
    """Say what was counted together and what was not; nothing of a synopsis whose boxes were counted.

    Examples
    --------
    >>> told([{"columns": "age by ill", "cells": 20, "std_error": 9.2, "dependence": 0.1}])[0][:84]
    'Every column was counted by itself, and these together: age by ill (20 counts, ± 9 e'
    """
    if not found:
        return []
    listed = [f"{one['columns']} ({one['cells']:,} counts, ± {one['std_error']:,.0f} each)" for one in found]
    more = f" and {len(listed) - _MOST:,} more" if len(listed) > _MOST else ""
    return [
        f"Every column was counted by itself, and these together: {'; '.join(listed[:_MOST])}{more}. What was not "
        "counted together is what the model assumes: as even as the rest allows. Rows that it invents are nobody's."
    ]


def projected(release: dict[str, Any]) -> list[str]:
    """Say what clusters in many dimensions were found with, and what the release does not know.

    Examples
    --------
    >>> projected({"lifted": {"axes": 10, "boxes": 200, "centres": 8, "radius": 1.5}, "leaves": 20})[0][:67]
    'Rows were projected to 10 axes, chosen at random before any row was'
    """
    if (known := release.get("lifted")) is None:
        return []
    return [
        f"Rows were projected to {known['axes']:,} axes, chosen at random before any row was read, and counted there "
        f"in {known['boxes']:,} boxes. {release['leaves']:,} groups were found in these; noisy means of the groups in "
        f"all columns, and of the clusters after them, gave {known['centres']:,} centres. Rows further than "
        f"{known['radius']:.3g} from the middle of the table count as if they were nearer. How single columns are "
        "distributed is not in the release."
    ]


def drawn(found: Sequence[dict[str, Any]]) -> list[tuple[Markup, str]]:
    """Draw what depends on what; nothing where nothing does."""
    near = [one for one in found if one["dependence"] > 0][:_MOST]
    if not near:
        return []
    shares = [100 * one["dependence"] for one in near]
    picture = svg.ranked(
        [one["columns"] for one in near], shares, title="dependence", axis="% of the rows", form=_short, letters=32
    )
    return [(picture, "What depends on what: rows that would have to move for independence")]


def _short(value: float) -> str:
    return number(value, 2)


def prepared(facts: dict[str, Any]) -> dict[str, Any]:
    """Put the column that a release was made to predict first, and say of invented rows that they are that.

    Examples
    --------
    >>> release = {"marginals": [{"column": "age"}, {"column": "ill"}]}
    >>> made = prepared({"kind": "invented rows", "parameters": {"target": "ill"}, "release": release})
    >>> made["release"]["marginals"][0]
    {'column': 'ill', 'said': 'in the invented rows'}
    """
    target, release = facts["parameters"].get("target"), facts["release"]
    said = {"said": f"in the {facts['kind']}"} if facts["kind"].endswith(" rows") else {}
    marginals = [{**m, **said} for m in release.get("marginals", ())]
    marginals.sort(key=lambda m: m["column"] != target)
    made = {**facts, "release": {**release, "marginals": marginals}}
    if found := facts.get("comparison"):
        asked = ((found.get("together") or {}).get("utility") or {}).get("target", target)
        made["comparison"] = {**found, "columns": sorted(found["columns"], key=lambda c: c["column"] != asked)}
    return made


def in_short(ledger: Sequence[tuple[str, str, str]]) -> tuple[list[tuple[str, str, str]], bool]:
    """Return the lines of a ledger for which there is room, the sum among them, and whether there are more.

    Examples
    --------
    >>> lines = [("columns", "", ""), *[("\u2003age", "", "")] * 20, ("round 1", "", ""), ("spent in all", "", "")]
    >>> [line[0] for line in in_short(lines)[0]], in_short(lines[:3])[1]
    (['columns', 'round 1', 'spent in all'], False)
    """
    if len(ledger) <= _LINES:
        return list(ledger), False
    steps = [line for line in ledger if not line[0].startswith(_PART)]
    return (steps if len(steps) <= _LINES else [*steps[: _LINES - 1], steps[-1]]), True
