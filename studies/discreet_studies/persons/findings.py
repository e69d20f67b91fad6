"""What the study of persons says: error over the bound and ε, and what an attack on persons gains."""

from __future__ import annotations

import math

from discreet_studies.harness.chart import Chart, Line, Panel, measured, plain
from discreet_studies.harness.report import table_of
from discreet_studies.harness.study import Estimate, Finding, Results

#: What is measured; the rest of a row is its setting.
NUMBERS = ("n", "persons", "most", "error", "advantage", "target_rows", "seconds")
ROW = "row"


def _titles(results: Results) -> dict[str, str]:
    return {
        str(s["data"]): f"{s['data']}: {r['n']:,.0f} rows of {r['persons']:,.0f} persons, at most {r['most']:,.0f} each"
        for s, r in results.rows
    }


def _units(results: Results, **where: object) -> list[str]:
    return [u for u in results.seen("unit") if results.values("error", {"unit": u, **where})]


def findings(results: Results) -> list[Finding]:
    """Return the error of every table and ε at its best bound; the measured one is that of a promise about rows."""
    found = []
    for data, title in _titles(results).items():
        for epsilon in results.seen("epsilon"):
            where = {"what": "error", "data": data, "epsilon": epsilon}
            by = {u: results.estimate("error", unit=u, **where) for u in _units(results, **where)}
            bounds = [u for u in by if u != ROW]
            if ROW in by and bounds:
                best = min(bounds, key=lambda u: by[u].mean)
                note = f"ours: to a person, at most {best} of their rows used; measured: a promise to one row"
                found.append(Finding(f"error at ε = {epsilon:g}", None, by[ROW], by[best], "", note, title))
    return found


def notes(results: Results) -> list[str]:
    """Return the errors over bounds, and the attacks."""
    said = ["## Error over the rows of a person that are used"]
    for data, title in _titles(results).items():
        budgets = [e for e in results.seen("epsilon") if results.values("error", {"data": data, "epsilon": e})]
        rows = [
            [_named(unit), *(_shown(results.estimate("error", data=data, unit=unit, epsilon=e)) for e in budgets)]
            for unit in _units(results, data=data)
        ]
        said += [f"{title}.", table_of(["unit", *(f"ε = {e:g}" for e in budgets)], rows)]
    said += [
        "## An attack on persons, at ε = 1",
        "The advantage of whoever knows all other rows and asks whether the target is in the table, beside what the "
        f"promise allows about one unit, {_allowed(1.0):.2f}. A promise about rows says nothing of somebody with many.",
    ]
    rows = []
    for setting, numbers in results.rows:
        if setting["what"] == "attack":
            target = f"{setting['target']}: {numbers['target_rows']:,.0f}"
            shown = f"{numbers['advantage']:.2f}"
            rows.append([str(setting["data"]), target, _named(str(setting["unit"])), shown])
    return [*said, table_of(["table", "target and their rows", "unit", "advantage"], rows)]


def pictures(results: Results) -> dict[str, Chart]:
    """Return the error over the bound, a panel for each table."""
    panels = []
    for data in results.seen("data"):
        bounds = [int(u) for u in _units(results, data=data) if u != ROW]
        budgets = [e for e in results.seen("epsilon") if results.values("error", {"data": data, "epsilon": e})]
        lines = [
            Line(
                f"ε = {e:g}",
                measured((b, results.estimate("error", data=data, unit=str(b), epsilon=e)) for b in bounds),
                look,
            )
            for look, e in enumerate(budgets)
        ]
        panels.append(
            Panel("rows of a person used", "error", lines, data, log_x=True, log_y=True, across=plain(bounds))
        )
    return {"error": Chart("Error of a 16 x 16 grid promised to persons", panels)}


def _named(unit: str) -> str:
    return "one row" if unit == ROW else f"one person, at most {unit} used"


def _allowed(epsilon: float) -> float:
    return math.tanh(epsilon / 2)


def _shown(e: Estimate) -> str:
    return f"{e.mean:.3f} ± {e.high - e.mean:.3f}" if math.isfinite(e.high) else f"{e.mean:.3f}"
