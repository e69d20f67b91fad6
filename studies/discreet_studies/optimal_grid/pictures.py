"""The pictures of the grid study."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.as_published.grids import parts
from discreet_studies.harness.report import COLOURS, MARKS
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.optimal_grid.findings import NAMES, NEAR, printed_ratio
from discreet_studies.optimal_grid.notes import curve, swept
from discreet_studies.optimal_grid.published import AXES, CELLS, WCSS
from discreet_studies.optimal_grid.results import Sums

_GREY = "#57606a"
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


def pictures(results: Results) -> dict[str, Any]:
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


def _points(name: str, points: list[tuple[float, Estimate]], i: int, *, legend: bool = True, lines: bool = True) -> Any:
    import plotly.graph_objects as go

    colour = COLOURS[i % len(COLOURS)]
    ends = [(e.high - e.mean, e.mean - e.low) if math.isfinite(e.high) else (0.0, 0.0) for _, e in points]
    return go.Scatter(
        x=[x for x, _ in points],
        y=[e.mean for _, e in points],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [above for above, _ in ends],
            "arrayminus": [below for _, below in ends],
            "thickness": 1,
            "width": 3,
        },
        mode="lines+markers" if lines else "markers",
        marker={"symbol": MARKS[i % len(MARKS)], "size": 8 if lines else 6, "color": colour},
        line={"color": colour, "width": 2},
        name=name,
        legendgroup=name,
        showlegend=legend,
    )


def _log_ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks at 1, 2 and 5 of every power of ten, in plain numbers."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**p for p in powers for m in (1, 2, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{t:g}" for t in ticks]}


def _epsilon_axis(sums: Sums) -> dict[str, Any]:
    return {
        "type": "log",
        "title": "privacy budget ε",
        "tickvals": sums.epsilons,
        "ticktext": [f"{e:g}" for e in sums.epsilons],
    }


def _panels(titles: list[str], title: str, height: int = 480) -> Any:
    from plotly.subplots import make_subplots

    figure = make_subplots(1, len(titles), subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(title=title, template="plotly_white", width=1000, height=height)
    figure.update_layout(legend={"orientation": "h", "y": -0.2, "x": 0.5, "xanchor": "center"})
    return figure


def _printed(sums: Sums) -> Any:
    """Every figure of Table II against its measurement, with the band in which it counts as reproduced."""
    figure = _panels([f"d = {d}" for d in AXES], "Table II: measured against printed sums of squares")
    ends = [0.3, 200.0]
    for column, d in enumerate(AXES, 1):
        for i, (method, name) in enumerate(NAMES.items()):
            points = [
                (WCSS[method, *c, e], sums.estimate(method, c, e))
                for c in sums.cells
                for e in sums.epsilons
                if c[0] == d and (method, *c, e) in WCSS and sums.runs(method, c, e)
            ]
            if points:
                figure.add_trace(_points(name, points, i, legend=column == 1, lines=False), 1, column)
        for factor, dash in ((1.0, "solid"), (1 - NEAR, "dot"), (1 + NEAR, "dot")):
            line = {"color": _GREY, "width": 1, "dash": dash}
            x, y = ends, [factor * end for end in ends]
            figure.add_scatter(x=x, y=y, mode="lines", line=line, showlegend=False, row=1, col=column)
    figure.update_xaxes(title="printed sum of squares / K", range=[math.log10(e) for e in ends], **_log_ticks(*ends))
    figure.update_yaxes(range=[math.log10(e) for e in ends], **_log_ticks(*ends))
    figure.update_yaxes(title="measured sum of squares / K", col=1)
    return figure


def _rules(sums: Sums) -> Any:
    figure = _panels([f"d = {d}" for d in AXES], "EUGkM over RUGNIK: above 1, RUGNIK is better")
    lines = {
        "exact N, as published": ("eugkm", "rugnik"),
        "N paid for": ("eugkm, paid", "rugnik, paid"),
        "exact N, after a mixture fit": ("eugkm, mixture", "rugnik, mixture"),
    }
    for column, d in enumerate(AXES, 1):
        exact = [(e, Estimate(printed_ratio(d, e), math.nan, math.inf, 1)) for e in sums.epsilons]
        figure.add_trace(_points("printed", exact, 0, legend=column == 1), 1, column)
        for i, (name, (one, other)) in enumerate(lines.items(), 1):
            among = [c for c in CELLS if ("eugkm", *c, sums.epsilons[0]) in WCSS]
            points = [(e, sums.mean_ratio(one, other, d, e, among)) for e in sums.epsilons]
            figure.add_trace(_points(name, points, i, legend=column == 1), 1, column)
    figure.add_hline(y=1, line={"dash": "dash", "color": _GREY})
    figure.update_xaxes(**_epsilon_axis(sums))
    figure.update_yaxes(title="ratio of sums of squares", col=1)
    return figure


def _over_epsilon(sums: Sums, title: str, methods: dict[str, str]) -> Any:
    figure = _panels([f"d = {d}" for d in AXES], title, 540)
    for column, d in enumerate(AXES, 1):
        for i, (method, name) in enumerate(methods.items()):
            points = [(e, sums.mean_ratio(method, "no privacy", d, e)) for e in sums.epsilons]
            if all(estimate.runs for _, estimate in points):
                figure.add_trace(_points(name, points, i, legend=column == 1), 1, column)
    figure.add_hline(y=1, line={"dash": "dash", "color": _GREY})
    figure.update_xaxes(**_epsilon_axis(sums))
    figure.update_yaxes(**_log_ticks(1, 50))
    figure.update_yaxes(title="sum of squares / that without privacy", col=1)
    return figure


def _cells(results: Results, sums: Sums) -> Any:
    """The error over the size of the grid; dashes show what the rules would take."""
    cells = list(dict.fromkeys(cell for cell, _ in swept(results, "parts")))
    titles = [f"d = {d}, K = {k}, N = {n}" for d, k, n in cells]
    figure = _panels(titles, "Error over the number of parts per axis; stars: RUGNIK's size", 540)
    for column, cell in enumerate(cells, 1):
        for i, e in enumerate(e for c, e in swept(results, "parts") if c == cell):
            for refinement, dash in (("none", "solid"), ("mixture", "dot")):
                found = curve(results, sums, refinement, cell, e)
                name = f"ε = {e:g}, {'as drawn' if refinement == 'none' else 'mixture'}"
                trace = _points(name, [(float(m), x) for m, x in found.items()], i, legend=column == 1)
                trace.line.dash = dash
                figure.add_trace(trace, 1, column)
                each = parts("rugnik", cell[2], e, cell[0], cell[1])
                if each in found:
                    mark = {"symbol": "star", "size": 16, "color": COLOURS[i], "line": {"color": "white", "width": 1}}
                    y = [found[each].mean]
                    figure.add_scatter(x=[each], y=y, mode="markers", marker=mark, showlegend=False, row=1, col=column)
    figure.add_hline(y=1, line={"dash": "dash", "color": _GREY})
    figure.update_xaxes(title="parts per axis m")
    figure.update_yaxes(range=[math.log10(0.9), math.log10(30)], **_log_ticks(1, 20))
    figure.update_yaxes(title="sum of squares / that without privacy", col=1)
    return figure


def _rows(results: Results, sums: Sums) -> Any:
    """The error over the number of rows, by rule."""
    held = swept(results, "rows")
    epsilons = sorted({e for _, e in held})
    d, k = held[0][0][:2]
    title = f"More rows than were tried: d = {d}, K = {k}"
    figure = _panels([f"ε = {e:g}" for e in epsilons], title)
    names = {"rugnik": "RUGNIK, exact N", "eugkm": "EUGkM, exact N", "ours": "PrivateKMeans, N paid for"}
    for column, e in enumerate(epsilons, 1):
        for i, (method, name) in enumerate(names.items()):
            cells = [c for c, ee in held if ee == e]
            points = [(float(c[2]), sums.ratio(method, "no privacy", c, e, "rows")) for c in cells]
            points = [(x, Estimate(r.mean - 1, r.low - 1, r.high - 1, r.runs)) for x, r in points]
            figure.add_trace(_points(name, points, i, legend=column == 1), 1, column)
    ns = sorted({c[2] for c, _ in held})
    figure.update_xaxes(title="rows N", type="log", tickvals=ns, ticktext=[f"{n:,}" for n in ns])
    # Excesses that are not above 0 are below any point of the axis.
    figure.update_yaxes(type="log", exponentformat="power", range=[-5, 1.2], dtick=1)
    figure.update_yaxes(title="excess over the sum of squares without privacy", col=1)
    return figure
