"""The results of the frontier study: what each model gives at a limit on the attacks, and all figures in tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet_studies.frontier.attacks import SORTS
from discreet_studies.frontier.people import TARGETS
from discreet_studies.frontier.pictures import LINES, pictures
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import Estimate, Finding, Results
from discreet_studies.measured.points import advantage_bound

__all__ = ["findings", "notes", "pictures"]

#: How far attacks may get in the steward's table, by the upper end of the interval.
LIMITS = (0.05, 0.1, 0.25)
#: The one that the findings name.
MIDDLE = 0.1
_MODELS = {
    "central": ("grid", "privtree"),
    "local": ("local",),
    "metric": ("metric",),
    "k-anonymous": ("density-tree", "mondrian"),
}
_WHO = {"public": "has public records", "others": "knows all the others"}


def at(results: Results, measure: str, table: str, method: str, value: float) -> Estimate:
    """Return a number over the runs of one setting."""
    return results.estimate(measure, table=table, method=method, value=value)


def values(results: Results, table: str, method: str) -> list[float]:
    """Return the parameters that a method was run with."""
    return sorted({float(s["value"]) for s, _ in results.rows if s["table"] == table and s["method"] == method})


def within(results: Results, table: str, model: str, attacker: str, limit: float) -> tuple[str, float] | None:
    """Return the setting of a model with the least error of counts among those that keep an attacker below a limit.

    It counts as kept if the interval's upper end does not exceed it, for isolated people and for typical ones.
    """
    kept = [
        (at(results, "counts", table, method, value).mean, method, value)
        for method in _MODELS[model]
        for value in values(results, table, method)
        if all(at(results, f"advantage_{attacker}_{s}", table, method, value).high <= limit for s in SORTS)
    ]
    return min(kept)[1:] if kept else None


def findings(results: Results) -> list[Finding]:
    """List measured advantages beside what ε allows, and the least error at a limit; nothing was published."""
    return [*_promises(results), *_choices(results)]


def _promises(results: Results) -> Iterator[Finding]:
    for table in results.seen("table"):
        for method in ("grid", "privtree", "local"):
            for value in values(results, table, method):
                found = at(results, "advantage_others_isolated", table, method, value)
                bound = advantage_bound(value)
                # By the rule of three, guesses that are all right cannot be told from a bound so near to 1.
                above = found.low > bound and bound < 1 - 3 / (TARGETS * found.runs)
                note = f"at most {number(bound)} by ε" + ("; the whole interval lies above" if above else "")
                figure = f"{table}: {LINES[method].short}, ε = {value:g}"
                yield Finding(figure, None, found, None, "", note, "Membership: one who knows all the others, isolated")


def _choices(results: Results) -> Iterator[Finding]:
    for table in results.seen("table"):
        for attacker, who in _WHO.items():
            for model in _MODELS:
                chosen = within(results, table, model, attacker, MIDDLE)
                if chosen is not None:
                    error = _percent(at(results, "counts", table, *chosen))
                    note = f"{LINES[chosen[0]].short}, {LINES[chosen[0]].parameter} = {chosen[1]:g}"
                    section = f"Least error of counts (% of rows) with a membership advantage of at most {MIDDLE:g}"
                    yield Finding(f"{table}: {model}, attacker {who}", None, error, None, "", note, section)


def notes(results: Results) -> list[str]:
    """Return the tables: who keeps which limit, all costs and all attacks by setting."""
    text: list[str] = []
    for table in results.seen("table"):
        text += _steward(results, table)
        text += _costs(results, table)
        text += _attacks(results, table)
    return text


def _steward(results: Results, table: str) -> list[str]:
    rows = []
    for attacker, who in _WHO.items():
        for limit in LIMITS:
            row = [f"{who}, at most {limit:g}"]
            for model in _MODELS:
                chosen = within(results, table, model, attacker, limit)
                if chosen is None:
                    row.append("none")
                    continue
                error = _percent(at(results, "counts", table, *chosen)).mean
                row.append(f"{number(error)} ({LINES[chosen[0]].short}, {LINES[chosen[0]].parameter} = {chosen[1]:g})")
            rows.append(row)
    level = _percent(at(results, "counts", table, "nothing", 0)).mean
    return [
        f"## Which setting keeps which limit: {table}",
        "The least error of counts (% of rows) among the settings whose membership advantage, upper end of its "
        "interval, stays within a limit, for isolated people and for typical ones. "
        f"With nothing but the number of rows the error is {number(level)}.",
        table_of(["attacker and limit", *_MODELS], rows),
    ]


def _settings(results: Results, table: str) -> Iterator[tuple[str, str, float]]:
    for method, line in LINES.items():
        for value in values(results, table, method):
            yield (f"{line.short}, {line.parameter} = {value:g}" if line.parameter else line.short), method, value


def _costs(results: Results, table: str) -> list[str]:
    head = ["release", "error of counts, % of rows", "± ", "cost of clusters", "±", "accuracy", "accuracy lost", "± "]
    rows = []
    for name, method, value in _settings(results, table):
        counts = _percent(at(results, "counts", table, method, value))
        clusters, lost = (at(results, m, table, method, value) for m in ("clusters", "accuracy_lost"))
        accuracy = at(results, "accuracy", table, method, value).mean
        rows.append(
            [name, number(counts.mean), _half(counts), number(clusters.mean), _half(clusters), number(accuracy)]
            + [number(lost.mean), _half(lost)]
        )
    return [
        f"## What it costs the reader: {table}",
        "Counts: mean absolute error over random boxes. Clusters: squared distances to centres found in the release, "
        "divided by those to centres found in the table. Accuracy: of a decision tree, trained on the release, that "
        "guesses the sensitive value of new people. ± is half a 95 % interval over the runs.",
        table_of(head, rows),
    ]


def _attacks(results: Results, table: str) -> list[str]:
    measures = {
        "others, isolated": "advantage_others_isolated",
        "others, typical": "advantage_others_typical",
        "public, isolated": "advantage_public_isolated",
        "public, typical": "advantage_public_typical",
        "value: others, isolated": "gain_others_isolated",
        "value: public, isolated": "gain_public_isolated",
        "value: public, typical": "gain_public_typical",
    }
    rows = []
    for name, method, value in _settings(results, table):
        found = [at(results, m, table, method, value) for m in measures.values()]
        shares = [at(results, m, table, method, value).mean for m in ("linked_isolated", "own_isolated")]
        rows.append([name, *(f"{number(e.mean)} ± {_half(e)}" for e in found), *(number(s) for s in shares)])
    blind = at(results, "blind_isolated", table, "raw", 0).mean
    return [
        f"## What it leaves to attackers: {table}",
        "First four columns: membership advantage. Then how much more often the sensitive value is guessed right of "
        "those who are in the table than of those who are not. *Linked*: the row of an isolated person is picked by "
        "the quasi-identifiers. *Own row*: the sensitive value of an isolated person, guessed right by one who also "
        f"knows which row or report is hers; from public records alone it is {number(blind)}. A dash: no rows.",
        table_of(["release", *measures, "linked", "own row"], rows),
    ]


def _percent(estimate: Estimate) -> Estimate:
    return Estimate(100 * estimate.mean, 100 * estimate.low, 100 * estimate.high, estimate.runs)


def _half(estimate: Estimate) -> str:
    return number((estimate.high - estimate.low) / 2) if math.isfinite(estimate.low) else "–"
