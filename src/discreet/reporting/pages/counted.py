"""Text about models and projections on the page of a release, and about long ledgers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from discreet.reporting.pages import svg
from discreet.reporting.words import number

#: Most marginals that are named and drawn.
_MOST = 12
#: Most lines of a ledger on a page; a longer one is shown without parts.
_LINES = 14
#: What an indented line of a ledger begins with.
_PART = "\u2003"


def headline(release: dict[str, Any], columns: int) -> str:
    """Return a one-line description of a synopsis."""
    if "measured" in release:
        return f"A model of {columns:,} columns, made from noisy counts"
    if "lifted" in release:
        return f"Clusters in {columns:,} columns: {release['leaves']:,} groups of rows with a noisy mean each"
    return f"A synopsis: {release['leaves']:,} boxes with a noisy count each"


def told(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return what was counted together; empty for a synopsis of boxes."""
    if not found:
        return []
    listed = [f"{one['columns']} ({one['cells']:,} counts, ± {one['std_error']:,.0f} each)" for one in found]
    more = f" and {len(listed) - _MOST:,} more" if len(listed) > _MOST else ""
    return [
        f"Each column was counted separately, and these together: {'; '.join(listed[:_MOST])}{more}. For everything "
        "else the model assumes the most even distribution that fits. Its synthetic rows belong to no real person."
    ]


def projected(release: dict[str, Any]) -> list[str]:
    """Return how clusters in many dimensions were found, and what the release does not contain."""
    if (known := release.get("lifted")) is None:
        return []
    return [
        f"Rows were projected to {known['axes']:,} random axes, chosen before any row was read, and counted there in "
        f"{known['boxes']:,} boxes. {release['leaves']:,} groups were found in the boxes. Noisy means of these groups "
        f"and of their clusters gave {known['centres']:,} centres. Rows farther than {known['radius']:.3g} from the "
        "middle of the table were moved nearer. The release has no distributions of single columns."
    ]


def drawn(found: Sequence[dict[str, Any]]) -> list[tuple[Markup, str]]:
    """Draw which columns depend on each other; nothing if none do."""
    near = [one for one in found if one["dependence"] > 0][:_MOST]
    if not near:
        return []
    shares = [100 * one["dependence"] for one in near]
    names = [one["columns"] for one in near]
    picture = svg.ranked(
        names, shares, title="dependence", axis="% of the rows", form=partial(number, digits=2), letters=32
    )
    return [(picture, "Dependent columns: share of rows that would have to move to make them independent")]


def prepared(facts: dict[str, Any]) -> dict[str, Any]:
    """Put the target column first, and mark synthetic rows as such."""
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
    """Return the first lines of a long ledger with the total, and True if there are more."""
    if len(ledger) <= _LINES:
        return list(ledger), False
    steps = [line for line in ledger if not line[0].startswith(_PART)]
    return (steps if len(steps) <= _LINES else [*steps[: _LINES - 1], steps[-1]]), True
