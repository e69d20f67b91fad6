"""The pictures of the grid study."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from discreet_studies.as_published.grids import RULES, parts
from discreet_studies.harness.chart import GREY, STAR, Chart, Line, Mark, Panel, measured, plain
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.optimal_grid.findings import ARMS, NAMES, NEAR, chosen_arm, printed_ratio
from discreet_studies.optimal_grid.notes import curve, swept
from discreet_studies.optimal_grid.published import AXES, CELLS, WCSS
from discreet_studies.optimal_grid.results import Sums

_WITHOUT = (1.0, "without privacy")
#: Lines of the comparison of methods, and of refinements.
_METHODS = {
    "diffprivlib": "diffprivlib",
    "no data": "centres that saw no row",
    "lloyd": "DPLloyd",
    "eugkm": "EUGkM, exact N",
    "rugnik": "RUGNIK, exact N",
    "ours": "PrivateKMeans, N paid for",
    "ours, N declared": "PrivateKMeans, N declared",
}
_REFINEMENTS = {
    "rugnik": "RUGNIK, as drawn",
    "rugnik, project": "RUGNIK, projected",
    "rugnik, threshold": "RUGNIK, threshold",
    "rugnik, mixture": "RUGNIK, mixture",
    "eugkm": "EUGkM, as drawn",
    "eugkm, mixture": "EUGkM, mixture",
}


def pictures(results: Results) -> dict[str, Chart]:
    """Return printed against measured, the two rules, methods, refinements, and curves over cells and rows."""
    sums = Sums(results)
    found = {"printed": _printed(sums), "rules": _rules(sums)}
    title = "Sum of squares over that without privacy (geometric mean over K and N)"
    found["methods"] = _over_epsilon(sums, title, _METHODS)
    title = "The same noisy counts, refined in four ways (exact N; over no privacy)"
    found["refinement"] = _over_epsilon(sums, title, _REFINEMENTS)
    if swept(results, "parts"):
        found["cells"] = _cells(results, sums)
    if swept(results, "rows"):
        found["rows"] = _rows(results, sums)
    return found


def _ends(panels: Iterable[Panel]) -> tuple[float, float]:
    """Return what all panels hold, so that they can be compared."""
    ys = [v for p in panels for line in p.lines for m in line.marks for v in (m.y, m.low, m.high) if math.isfinite(v)]
    return 0.95 * min(ys), 1.05 * max(ys)


def _printed(sums: Sums) -> Chart:
    """Every figure of Table II against its measurement, with the band in which it counts as reproduced."""
    ends, panels, arm = (0.3, 200.0), [], ARMS[chosen_arm(sums)]
    runs = {method: method + arm * (method in RULES) for method in NAMES}
    for d in AXES:
        lines = []
        for factor, dash in ((1.0, "solid"), (1 - NEAR, "dots"), (1 + NEAR, "dots")):
            name = "equal" if dash == "solid" else f"{100 * NEAR:.0f} % more or less" if factor > 1 else ""
            lines.append(Line(name, [Mark(end, factor * end) for end in ends], GREY, dash, None))
        for look, (method, name) in enumerate(NAMES.items()):
            points = [
                (WCSS[method, *c, e], sums.estimate(runs[method], c, e))
                for c in sums.cells
                for e in sums.epsilons
                if c[0] == d and (method, *c, e) in WCSS and sums.runs(runs[method], c, e)
            ]
            if points:
                lines.append(Line(name, measured(points), look, "none"))
        names = ("printed sum of squares / K", "measured sum of squares / K")
        panels.append(Panel(*names, lines, f"d = {d}", True, True, x_range=ends, y_range=ends))
    return Chart("Table II: measured against printed sums of squares", panels)


def _rules(sums: Sums) -> Chart:
    ways = {
        "exact N, as published": ("eugkm", "rugnik"),
        "N paid for": ("eugkm, paid", "rugnik, paid"),
        "exact N, after a mixture fit": ("eugkm, mixture", "rugnik, mixture"),
    }
    panels = []
    for d in AXES:
        lines = [Line("printed", [Mark(e, printed_ratio(d, e, sums.cells)) for e in sums.epsilons])]
        for look, (name, (one, other)) in enumerate(ways.items(), 1):
            among = [c for c in CELLS if ("eugkm", *c, sums.epsilons[0]) in WCSS]
            points = [(e, sums.mean_ratio(one, other, d, e, among)) for e in sums.epsilons]
            lines.append(Line(name, measured(points), look))
        panels.append(Panel("privacy budget ε", "ratio of sums of squares", lines, f"d = {d}", True))
    return Chart("EUGkM over RUGNIK: above 1, RUGNIK is better", _alike(panels, sums.epsilons, (1.0, "equal")))


def _alike(panels: list[Panel], across: Iterable[float], level: tuple[float, str]) -> list[Panel]:
    """Give panels the same axes."""
    ends = _ends(panels)
    return [replace(p, y_range=(min(ends[0], 0.95), ends[1]), across=plain(across), level=level) for p in panels]


def _over_epsilon(sums: Sums, title: str, methods: dict[str, str]) -> Chart:
    panels = []
    for d in AXES:
        lines = []
        for look, (method, name) in enumerate(methods.items()):
            points = [(e, sums.mean_ratio(method, "no privacy", d, e)) for e in sums.epsilons]
            if all(estimate.runs for _, estimate in points):
                lines.append(Line(name, measured(points), look))
        y = "sum of squares / that without privacy"
        panels.append(Panel("privacy budget ε", y, lines, f"d = {d}", True, True, up=plain((1, 2, 5, 10, 20, 50))))
    return Chart(title, _alike(panels, sums.epsilons, _WITHOUT))


def _cells(results: Results, sums: Sums) -> Chart:
    """The error over the size of the grid; stars show what the rule would take."""
    panels = []
    for cell in dict.fromkeys(cell for cell, _ in swept(results, "parts")):
        lines = []
        for look, e in enumerate(e for c, e in swept(results, "parts") if c == cell):
            each = parts("rugnik", cell[2], e, cell[0], cell[1])
            for refinement, dash in (("none", "solid"), ("mixture", "dots")):
                found = curve(results, sums, refinement, cell, e)
                name = f"ε = {e:g}, {'as drawn' if refinement == 'none' else 'mixture'}"
                lines.append(Line(name, measured((float(m), x) for m, x in found.items()), look, dash))
                if each in found:
                    lines.append(Line("", [Mark(each, found[each].mean)], look, "none", STAR))
        d, k, n = cell
        y = "sum of squares / that without privacy"
        how: dict[str, Any] = {"log_y": True, "y_range": (0.9, 30.0), "up": plain((1, 2, 5, 10, 20)), "level": _WITHOUT}
        panels.append(Panel("parts per axis m", y, lines, f"d = {d}, K = {k}, N = {n:,}", **how))
    return Chart("Error over the number of parts per axis; stars: RUGNIK's size", panels)


def _rows(results: Results, sums: Sums) -> Chart:
    """The error over the number of rows, by rule."""
    held = swept(results, "rows")
    d, k = held[0][0][:2]
    ns = sorted({c[2] for c, _ in held})
    names = {"rugnik": "RUGNIK, exact N", "eugkm": "EUGkM, exact N", "ours": "PrivateKMeans, N paid for"}
    panels = []
    for e in sorted({e for _, e in held}):
        lines = []
        for look, (method, name) in enumerate(names.items()):
            points = [(float(c[2]), sums.ratio(method, "no privacy", c, e, "rows")) for c, ee in held if ee == e]
            # Excesses that are not above 0 are below any point of the axis.
            excess = [(x, Estimate(r.mean - 1, r.low - 1, r.high - 1, r.runs)) for x, r in points]
            lines.append(Line(name, measured(excess), look))
        y = "excess over the sum of squares without privacy"
        how: dict[str, Any] = {
            "across": plain(ns),
            "y_range": (1e-5, 16.0),
            "up": [(10.0**p, f"{10.0**p:g}") for p in range(-5, 2)],
        }
        panels.append(Panel("rows N", y, lines, f"ε = {e:g}", True, True, **how))
    return Chart(f"More rows than were tried: d = {d}, K = {k}", panels)
