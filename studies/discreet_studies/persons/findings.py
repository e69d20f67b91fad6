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


def tables(results: Results) -> list[str]:
    """Return the errors over bounds, a table for each set; the best bound of each ε is marked."""
    said = ["Error, mean and half its 95 % interval; * marks where a promise to persons does best."]
    for data, title in _titles(results).items():
        budgets = [e for e in results.seen("epsilon") if results.values("error", {"data": data, "epsilon": e})]
        units = _units(results, data=data)
        own = {(u, e): results.estimate("error", data=data, unit=u, epsilon=e) for u in units for e in budgets}
        best = {(min((own[u, e].mean, u) for u in units if u != ROW)[1], e) for e in budgets}
        rows = [
            [_named(u), *(f"{_shown(own[u, e])} *" if (u, e) in best else _shown(own[u, e]) for e in budgets)]
            for u in units
        ]
        said += [f"## {title}", table_of(["promised to", *(f"ε = {e:g}" for e in budgets)], rows)]
    return said


def notes(results: Results) -> list[str]:
    """Return the attacks: a row for each target, a column for each unit."""
    attacks = [(s, n) for s, n in results.rows if s["what"] == "attack"]
    units = list(dict.fromkeys(str(s["unit"]) for s, _ in attacks))
    found: dict[tuple[str, str], dict[str, str]] = {}
    for setting, numbers in attacks:
        who = str(setting["data"]), f"{setting['target']}: {numbers['target_rows']:,.0f}"
        found.setdefault(who, {})[str(setting["unit"])] = f"{numbers['advantage']:.2f}"
    rows = [[*who, *(by.get(unit, "–") for unit in units)] for who, by in found.items()]
    return [
        "## An attack on persons, at ε = 1",
        "The advantage of an attacker who knows all other rows and asks whether the target is in the table, next to "
        f"what the promise allows about one unit, {_allowed(1.0):.2f}. A promise about rows says nothing about a "
        "person with many.",
        table_of(["table", "target and their rows", *map(_named, units)], rows, 2),
    ]


def doubts(results: Results) -> list[str]:
    """Return which tables have too few persons to say anything of."""
    few = {str(s["data"]): int(r["persons"]) for s, r in results.rows if r["persons"] < 100}
    return [
        f"{data} holds {n} persons: no promise to persons can say anything of so few, and its error is near 1."
        for data, n in few.items()
    ]


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
        top = max((m.high if math.isfinite(m.high) else m.y for line in lines for m in line.marks), default=1.0)
        ends = 0.0, min(1.0, 1.1 * top)
        panels.append(
            Panel("rows of a person used", "error", lines, data, log_x=True, across=plain(bounds), y_range=ends)
        )
    return {"error": Chart("Error of a 16 x 16 grid promised to persons", panels)}


def _named(unit: str) -> str:
    return "one row" if unit == ROW else f"a person, {unit} used"


def _allowed(epsilon: float) -> float:
    return math.tanh(epsilon / 2)


def _shown(e: Estimate) -> str:
    digits = 3 if e.mean >= 0.01 else 5
    half = f" ± {e.high - e.mean:.{digits}f}" if math.isfinite(e.high) else ""
    return f"{e.mean:.{digits}f}{half}"
