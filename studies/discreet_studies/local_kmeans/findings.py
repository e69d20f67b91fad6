"""Tables and pictures of the study of local k-means: cost of the centres and agreement of the clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet_studies.harness.chart import Chart, Line, Panel, measured, plain
from discreet_studies.harness.report import table_of
from discreet_studies.harness.study import Estimate, Finding, Results

#: In the order of the tables; the last one looks at no data.
ARMS = ("pair grids", "ND-Laplace", "PrivUnit", "PrivUnit, EM", "no data")
_NAMES = {"round": "round clusters", "mixed": "mixed: 3 numbers, 3 categories", "skin": "Skin", "adult": "Adult"}
_KNOWN = {
    "skin": "30,000 rows, 3 numbers",
    "adult": "30,162 rows, age and 5 categories",
}


def _cells(results: Results) -> dict[str, Mapping[str, Any]]:
    """Return the settings without their seeds, by what they are called."""
    found: dict[str, Mapping[str, Any]] = {}
    order = {name: i for i, name in enumerate(_NAMES)}
    every = [{k: v for k, v in s.items() if k != "seed"} for s, _ in results.rows]
    every.sort(key=lambda s: (order[str(s["set"])], s.get("rows", 0), s.get("columns", 0), s["epsilon"]))
    for setting in every:
        rows, columns = setting.get("rows"), setting.get("columns")
        size = f"{rows:,} rows" + (f", {columns} columns" if columns else "") if rows else _KNOWN[str(setting["set"])]
        found[f"{_NAMES[str(setting['set'])]}, {size}, ε = {setting['epsilon']:g}"] = setting
    return found


def _shown(e: Estimate, digits: int = 2) -> str:
    half = f" ± {e.high - e.mean:.{digits}f}" if math.isfinite(e.high) else ""
    return f"{e.mean:.{digits}f}{half}"


def findings(results: Results) -> list[Finding]:
    """Return the cost of the best other method and of pair grids, for every table and ε."""
    found = []
    for name, where in _cells(results).items():
        by = {arm: results.estimate(f"cost {arm}", **where) for arm in ARMS}
        other = min(ARMS[1:4], key=lambda arm: by[arm].mean)
        note = f"measured: {other}, the best of the others; ours: pair grids"
        found.append(Finding(f"cost, {name}", None, by[other], by["pair grids"], "", note))
    return found


def tables(results: Results) -> list[str]:
    """Return costs and agreement, a row for each table and ε."""
    said = []
    for measure, title, words in (
        (
            "cost",
            "Cost of the centres",
            "Sum of squared distances of the raw rows to the nearest centre, over that of the best centres without "
            "privacy: 1 is perfect. Mean and half its 95 % interval; * marks the best of a row.",
        ),
        (
            "ari",
            "Agreement of the clusters",
            "ARI of the raw rows' nearest centres against the clusters without privacy: 1 is perfect, 0 is chance.",
        ),
    ):
        arms = ARMS if measure == "cost" else ARMS[:-1]
        rows = []
        for name, where in _cells(results).items():
            by = {arm: results.estimate(f"{measure} {arm}", **where) for arm in arms}
            pick = min if measure == "cost" else max
            best = pick((by[arm].mean, arm) for arm in ARMS[:4])[1]
            rows.append([name, *(f"{_shown(by[a])} *" if a == best else _shown(by[a]) for a in arms)])
        said += [f"## {title}", words, table_of(["table", *arms], rows)]
    return said


def _log_ratio(results: Results, other: str, where: Mapping[str, Any]) -> Estimate:
    """Return the mean log of a method's cost over that of pair grids, seed by seed."""
    own, its = (results.values(f"cost {arm}", where) for arm in ("pair grids", other))
    return Estimate.of(math.log(its[key] / own[key]) for key in own if key in its)


def notes(results: Results) -> list[str]:
    """Return how many times as costly the others are, on the same tables."""
    rows = []
    for name, where in _cells(results).items():
        found = [_log_ratio(results, arm, where) for arm in ARMS[1:4]]
        rows.append(
            [name, *(f"{math.exp(e.mean):.2f} ({math.exp(e.low):.2f} to {math.exp(e.high):.2f})" for e in found)]
        )
    runs = min(results.estimate("cost no data", **where).runs for where in _cells(results).values())
    return [
        "## How many times the cost of pair grids",
        f"Geometric mean over {runs} tables with noise of their own, with its 95 % interval; above 1 pair grids are "
        "better.",
        table_of(["table", *ARMS[1:4]], rows),
    ]


def pictures(results: Results) -> dict[str, Chart]:
    """Return the cost over ε, a panel for each number of rows and columns."""
    panels = []
    shapes = dict.fromkeys((s["rows"], s["columns"]) for s in _cells(results).values() if s["set"] == "round")
    for rows, columns in shapes:
        own = {"set": "round", "rows": rows, "columns": columns}
        budgets = sorted({s["epsilon"] for s in _cells(results).values() if own.items() <= s.items()})
        lines = [
            Line(arm, measured((e, results.estimate(f"cost {arm}", **own, epsilon=e)) for e in budgets), look)
            for look, arm in enumerate(ARMS[:4])
        ]
        nothing = results.estimate("cost no data", **own).mean
        title = f"{columns} columns, {rows:,} devices"
        panels.append(
            Panel(
                "ε of a device",
                "cost of the centres (1 is best)",
                lines,
                title,
                log_x=True,
                log_y=True,
                across=plain((1, 4, 16)),
                x_range=(0.9, 18.0),
                y_range=(0.9, 45.0),
                up=plain((1, 2, 5, 10, 20, 50)),
                level=(nothing, "one centre, no data"),
            )
        )
    return {"cost": Chart("Cost of k-means centres when every device perturbs its own row", panels)}
