"""The frontier as pictures: the error of a reader against the success of an attacker, one line a model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from discreet_studies.harness import chart
from discreet_studies.harness.chart import GREY, Chart, Mark, Panel, measured, plain
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.measured.points import advantage_bound


class Line(NamedTuple):
    """How a method is named and drawn."""

    name: str
    short: str
    parameter: str
    style: int = 0
    labelled: bool = False


LINES = {
    "raw": Line("the table itself", "the table itself", ""),
    "nothing": Line("nothing but the number of rows", "nothing", ""),
    "grid": Line("central: grid synopsis, ε", "grid synopsis", "ε", 0, True),
    "privtree": Line("central: PrivTree synopsis, the same ε", "PrivTree", "ε", 5),
    "local": Line("local: hashed reports, ε", "local reports", "ε", 1, True),
    "metric": Line("metric: Laplace noise, ε at a tenth of the ranges", "noisy rows", "ε", 2, True),
    "density-tree": Line("k-anonymous: density tree, k", "density tree", "k", 3, True),
    "mondrian": Line("k-anonymous: Mondrian, the same k", "Mondrian", "k", 4),
}
_DRAWN = ("grid", "privtree", "local", "metric", "density-tree", "mondrian")
_TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
_TITLES = {"public": "has public records", "others": "knows all the others"}


def pictures(results: Results) -> dict[str, Chart]:
    """Return the frontier of each table, the promise beside what was reached, and the other costs and attacks."""
    found = {table: _frontier(results, table) for table in results.seen("table")}
    first = results.seen("table")[0]
    found["promise"] = _promise(results, first)
    title = f"{first}: three ways to lose, against an attacker who has public records"
    costs = [("advantage_public_isolated", m) for m in ("counts", "clusters", "accuracy_lost")]
    found["costs"] = Chart(title, [_panel(results, first, pair) for pair in costs])
    others = [(f"{m}_isolated", "counts") for m in ("gain_public", "gain_others", "linked")]
    found["inference"] = Chart(
        f"{first}: other attacks on isolated people", [_panel(results, first, p) for p in others]
    )
    return found


_AXES = {
    "counts": "error of counts (% of rows)",
    "clusters": "cost of clusters (raw = 1)",
    "accuracy_lost": "accuracy lost (percentage points)",
    "advantage_public_isolated": "membership advantage",
    "gain_public_isolated": "value guessed: gain, attacker has public records",
    "gain_others_isolated": "value guessed: gain, attacker knows all the others",
    "linked_isolated": "row picked by quasi-identifiers (share)",
}
_HUNDRED = ("counts", "accuracy_lost")


def _frontier(results: Results, table: str) -> Chart:
    """Draw one table: an attacker a panel, a line a method, a mark a parameter."""
    panels = []
    for attacker, words in _TITLES.items():
        pair = (f"advantage_{attacker}_isolated", "counts")
        lines = [_line(results, table, method, pair, labels=True) for method in _DRAWN]
        if attacker == "others":
            lines += [_allowed(results, table, method) for method in ("grid", "local")]
        for _, e in _points(results, table, "nothing", "counts"):
            level = (e.mean, "nothing released but the number of rows")
        x = "membership advantage over isolated people"
        how: dict[str, Any] = {"log_y": True, "up": plain(_TICKS), "x_range": (-0.06, 1.06), "level": level}
        panels.append(Panel(x, _AXES["counts"], [line for line in lines if line.marks], f"The attacker {words}", **how))
    return Chart(f"{table}: what readers lose and attackers win. Below and to the left is better", panels)


def _panel(results: Results, table: str, pair: tuple[str, str]) -> Panel:
    x, y = pair
    lines = [_line(results, table, method, pair, labels=False) for method in _DRAWN]
    how: dict[str, Any] = {}
    if y != "accuracy_lost":
        how = {"log_y": True, "up": plain(_TICKS if y == "counts" else [1, 1.5, 2, 3, 4])}
    return Panel(_AXES[x], _AXES[y], [line for line in lines if line.marks], **how)


def _points(results: Results, table: str, method: str, measure: str) -> list[tuple[float, Estimate]]:
    chosen = sorted({float(s["value"]) for s, _ in results.rows if s["table"] == table and s["method"] == method})
    times = 100 if measure in _HUNDRED else 1
    found = []
    for value in chosen:
        e = results.estimate(measure, table=table, method=method, value=value)
        if e.runs:
            found.append((value, Estimate(times * e.mean, times * e.low, times * e.high, e.runs)))
    return found


def _line(results: Results, table: str, method: str, measures: tuple[str, str], *, labels: bool) -> chart.Line:
    """Draw a method: one measure against another, intervals both ways."""
    across, up = (dict(_points(results, table, method, m)) for m in measures)
    line = LINES[method]
    marks = []
    for value, a, b in ((value, across[value], up[value]) for value in across if value in up):
        known = (b.low, b.high, a.low, a.high) if math.isfinite(a.high) and math.isfinite(b.high) else (math.nan,) * 4
        marks.append(Mark(a.mean, b.mean, *known, f"{value:g}" if labels and line.labelled else ""))
    return chart.Line(line.name, marks, line.style)


def _allowed(results: Results, table: str, method: str) -> chart.Line:
    """Draw the most that ε allows at the error that was measured."""
    marks = [Mark(advantage_bound(value), e.mean) for value, e in _points(results, table, method, "counts")]
    name = f"the most that ε allows, {LINES[method].short}"
    return chart.Line(name, marks, LINES[method].style, "dots", None)


def _promise(results: Results, table: str) -> Chart:
    """Draw what was reached against ε, under the bound."""
    smooth = [10 ** (-2 + 3 * i / 60) for i in range(61)]
    bound = [Mark(e, advantage_bound(e)) for e in smooth]
    lines = [chart.Line("the most that ε allows: tanh(ε/2)", bound, GREY, "dots", None)]
    for method in ("grid", "privtree", "local"):
        found = _points(results, table, method, "advantage_others_isolated")
        lines.append(chart.Line(LINES[method].name, measured(found), LINES[method].style))
    title = f"{table}: what ε promises, and what one who knows all the others reached"
    panel = Panel("ε", "membership advantage over isolated people", lines, log_x=True, across=plain((0.01, 0.1, 1, 10)))
    return Chart(title, [panel])
