"""Pictures of the nD-Laplace study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet_studies.harness.report import COLOURS, MARKS, curves
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.nd_laplace import published
from discreet_studies.nd_laplace.findings import column_where

_Line = list[tuple[float, Estimate]]


def pictures(results: Results) -> dict[str, Any]:
    """Return what can be drawn of the results."""
    made = {
        "artefact": _artefact(results),
        "noise": _noise(results),
        "last-column": _last_column(results),
        "points": _points(results),
        "shapes": _shapes(results),
        "attacks": _attacks(results),
        "rivals": _rivals(results),
        "remap": _remap(results),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _line(results: Results, measure: str, at: str, values: Sequence[float], **where: Any) -> _Line:
    found = [(float(v), results.estimate(measure, **where, **{at: v})) for v in values]
    return [(v, e) for v, e in found if e.runs]


def _drawn(lines: dict[str, _Line]) -> dict[str, _Line]:
    return {name: line for name, line in lines.items() if line}


def _add(figure: Any, name: str, xs: Sequence[float], ys: Sequence[float], place: int, **more: Any) -> None:
    """Add published figures: marks without a line."""
    import plotly.graph_objects as go

    colour = COLOURS[place % len(COLOURS)]
    mark = {"symbol": "star", "size": 13, "color": colour, "line": {"width": 1, "color": "#000000"}}
    figure.add_trace(go.Scatter(x=list(xs), y=list(ys), mode="markers", marker=mark, name=name, **more))


def _below(figure: Any, height: int = 520) -> Any:
    """Put the legend under the picture, where it covers nothing."""
    legend = {"orientation": "h", "yanchor": "top", "y": -0.16, "x": 0}
    figure.update_layout(legend=legend, height=height, margin={"t": 70, "b": 40, "l": 70, "r": 30}, width=800)
    return figure


def _artefact(results: Results) -> Any:
    names = {
        ("lost", "published"): "published sampler, published file",
        ("right", "published"): "published sampler, right file",
        ("right", "right"): "right noise, right file",
    }
    lines, epsilon = {}, 0.5
    for (file, sampler), name in names.items():
        points = [
            (float(n), results.estimate("ami k-means", **column_where("seeds", file, sampler, n, epsilon)))
            for n in range(2, 8)
        ]
        lines[name] = [(n, e) for n, e in points if e.runs]
    title = "Seeds, ε = 0.5: clusters that get better with every column, and why"
    if not _drawn(lines):
        lines = {}
        for sampler, name in (("published", "published sampler"), ("right", "right noise")):
            own = {"part": "columns", "set": "wine", "units": "box", "epsilon": 9.0, "sampler": sampler}
            lines[name] = _line(results, "ami k-means", "columns", (2, 4, 7, 10, 13), **own)
        title = "Wine, ε = 9: clusters that get better with every column"
        return _below(curves(title, "columns", "AMI of k-means after noise", lines, None)) if _drawn(lines) else None
    figure = curves(title, "columns", "AMI of k-means after noise", lines, None)
    _add(figure, "published figures (one draw each)", range(2, 8), published.SEEDS[epsilon], 4)
    return _below(figure)


def _noise(results: Results) -> Any:
    columns = range(1, 8)
    lines: dict[str, _Line] = {}
    for sampler, name in (("published", "published sampler"), ("right", "right noise: √8 in every column")):
        own = {"part": "sampler", "sampler": sampler, "columns": 7}
        found = [(float(j), results.estimate(f"deviation {j}", **own)) for j in columns]
        lines[name] = [(j, e) for j, e in found if e.runs]
    if not _drawn(lines):
        return None
    title = "Seven columns, ε = 1: how much noise each column gets"
    figure = curves(title, "column", "deviation of the noise (in units of the data)", lines, None, log_y=True)
    _add(figure, "the published perturbed Seeds table", columns, published.SEEDS_NOISE[1], 4)
    figure.update_yaxes(tickvals=[0.001, 0.01, 0.1, 1, 10], ticktext=["0.001", "0.01", "0.1", "1", "10"])
    return _below(figure)


def _last_column(results: Results) -> Any:
    counts = (2, 3, 4, 5, 7, 10)
    lines = {
        "published sampler": _line(results, "advantage", "columns", counts, part="pair", sampler="published"),
        "right noise": _line(results, "advantage", "columns", counts, part="pair", sampler="right"),
    }
    if not _drawn(lines):
        return None
    title = "Two records 1 apart in the last column, ε = 1: advantage of a look at it"
    figure = curves(title, "columns", "advantage", lines, math.tanh(0.5), "what ε = 1 allows")
    figure.update_yaxes(range=[0, 1.08])
    return _below(figure)


def _points(results: Results) -> Any:
    names = {"ari k-means": "k-means", "ari affinity": "affinity propagation", "ari dbscan": "DBSCAN, radius 0.5"}
    own = {"part": "points", "units": "box"}
    lines = {name: _line(results, m, "epsilon", published.BUDGETS, **own) for m, name in names.items()}
    raw = _line(results, "ari k-means", "epsilon", published.BUDGETS, part="points", units="raw")
    lines["k-means, columns in their own units"] = raw
    if not _drawn(lines):
        return None
    title = "Fifty points in the plane: the published draw (stars) and ours"
    figure = curves(title, "ε per unit of distance", "ARI against raw records", _drawn(lines), None, log_x=True)
    for place, measure in enumerate(names):
        at = published.POINT_MEASURES.index(measure)
        ys = [figures[at] for figures in published.POINTS.values()]
        _add(figure, f"published: {names[measure]}", list(published.POINTS), ys, place)
    _ticks(figure, published.BUDGETS)
    return _below(figure, 560)


def _ticks(figure: Any, values: Sequence[float]) -> None:
    figure.update_xaxes(tickvals=list(values), ticktext=[f"{v:g}" for v in values])


def _shapes(results: Results) -> Any:
    lines: dict[str, _Line] = {}
    for name in ("circle", "line", "skewed", "ring-like", "band-like", "skew-like"):
        for way in ("k-means", "hierarchical"):
            own = {"part": "columns", "set": name, "sampler": "right", "columns": 2, "units": "raw"}
            budgets = published.COLUMN_BUDGETS
            lines[f"{name}, {way}"] = _line(results, f"ami {way}", "epsilon", budgets, **own)
    shown = {n: line for n, line in _drawn(lines).items() if "like" not in n} or _drawn(lines)
    if not shown:
        return None
    title = "Shapes of 1,000 points, two columns: two ways to cluster"
    figure = curves(title, "ε per unit of distance", "AMI against raw records", shown, None, log_x=True)
    for i, trace in enumerate(figure.data):
        trace.line.color, trace.marker.symbol = COLOURS[i // 2], MARKS[i // 2]
        trace.line.dash = "dot" if i % 2 else "solid"
    _ticks(figure, published.COLUMN_BUDGETS)
    return _below(figure)


def _attacks(results: Results) -> Any:
    own = {"part": "attack", "set": "crowd"}
    lines: dict[str, _Line] = {}
    for size in (9.0, 27.0):
        name = f"membership, ε = {size:g}"
        lines[name] = _line(results, "advantage", "columns", (2, 3, 5, 9), **own, by="rate", size=size)
    for size in (40.0, 160.0):
        name = f"membership, ε times diameter = {size:g}"
        lines[name] = _line(results, "advantage", "columns", (2, 3, 5, 9), **own, by="total", size=size)
    name = "error of the best guess, ε times diameter = 40"
    lines[name] = _line(results, "error", "columns", (2, 3, 5, 9), **own, by="total", size=40.0)
    if not _drawn(lines):
        return None
    title = "Attacks on the right noise: does leakage grow with the columns?"
    figure = curves(title, "columns", "advantage; error as a share of a blind guess", _drawn(lines), None)
    for i, trace in enumerate(figure.data):
        trace.line.dash = "dash" if i in (2, 3) else "dot" if i == 4 else "solid"
    return _below(figure, 560)


def _rivals(results: Results) -> Any:
    name, n = ("seeds", 7) if "seeds" in results.seen("set") else ("wine", 13)
    totals = (5.0, 10.0, 20.0, 40.0)
    own = {"part": "equal", "set": name, "columns": n}
    labels = {
        "nd_laplace": "NDLaplace",
        "piecewise": "Piecewise",
        "column_laplace": "ColumnLaplace",
        "priv_unit": "PrivUnit",
        "square_wave": "SquareWave",
        "whole ε on every column": "Piecewise, all of ε on every column",
    }
    lines = {text: _line(results, "ami", "total", totals, **own, mechanism=m) for m, text in labels.items()}
    if not _drawn(lines):
        return None
    title = f"{name.capitalize()}, {n} columns: rivals at equal total ε, and the published comparison"
    figure = curves(
        title, "ε between the two farthest rows", "AMI of k-means after noise", _drawn(lines), None, log_x=True
    )
    _ticks(figure, totals)
    return _below(figure)


def _remap(results: Results) -> Any:
    own = {"part": "remap", "set": "blobs"}
    names = {
        "none": "as drawn",
        "clip": "clipped",
        "grid": "grid of 12 × 12",
        "bayes": "Bayes, public prior",
        "resample": "drawn again (half the rate)",
        "noise-aware": "as drawn, NoisyKMeans",
    }
    budgets = (1.0, 3.0, 5.0, 9.0)
    lines = {text: _line(results, "cost", "epsilon", budgets, **own, remap=m) for m, text in names.items()}
    if not _drawn(lines):
        return None
    title = "Four clusters, 500 points in [-1, 1]²: what remapping does for the centres"
    y = "cost of the centres (1: as good as without noise)"
    figure = curves(title, "ε per unit of distance", y, _drawn(lines), None, log_x=True, log_y=True)
    _ticks(figure, budgets)
    figure.update_yaxes(tickvals=[1, 2, 5, 10, 20, 50, 100], ticktext=["1", "2", "5", "10", "20", "50", "100"])
    return _below(figure)
