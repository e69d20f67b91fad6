"""The pictures of the density-tree study: small multiples over k, losses by table, and maps over share and k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from discreet_studies.density_trees.findings import (
    COLUMNS,
    CRITERION,
    at_best,
    here,
    loss,
    over_k,
    over_runs,
    shared_runs,
)
from discreet_studies.density_trees.published import PRINTED, tables
from discreet_studies.harness.report import COLOURS, MARKS
from discreet_studies.harness.study import Estimate, Results

#: Points of a curve: k and value with its interval.
Points = list[tuple[float, Estimate]]
_GREY = "#57606a"
_AGAIN, _OURS = "published method, run again", f"ours: {CRITERION}"


def pictures(results: Results) -> dict[str, Any]:
    """Return accuracy, F1, ROC and build time over k, losses by table, and maps of both methods."""
    found = {
        "accuracy": _multiples(
            results,
            "Accuracy over k: as printed, measured again, and ours (every table has its own scale)",
            "accuracy",
            {
                "as printed": _printed("accuracy"),
                _AGAIN: _measured(results, "accuracy", "reference"),
                _OURS: _measured(results, "accuracy", CRITERION),
            },
            level=True,
        ),
        "losses": _losses(results),
        "f1": _multiples(
            results,
            "Macro F1 over k: as printed, measured again, and ours (every table has its own scale)",
            "macro F1",
            {
                "as printed": _printed("f1"),
                _AGAIN: _measured(results, "f1", "reference"),
                _OURS: _measured(results, "f1", CRITERION),
            },
        ),
        "roc": _multiples(
            results,
            "The printed ROC is the macro recall; the area under the curve is another number",
            "recall or area",
            {
                "ROC as printed (two classes)": _printed("roc"),
                "macro recall, run again": _measured(results, "recall", "reference"),
                "area, run again": _measured(results, "auc", "reference"),
                f"area, {_OURS}": _measured(results, "auc", CRITERION),
            },
        ),
        "seconds": _multiples(
            results,
            "Seconds to build over k: as printed, the same method compiled, and ours",
            "seconds",
            {
                "as printed": _printed("seconds"),
                _AGAIN: _measured(results, "built", "reference"),
                _OURS: _measured(results, "built", CRITERION),
            },
            log_y=True,
        ),
    }
    for method, words in (("reference", "the published method"), (CRITERION, _OURS)):
        if any("share" in s for s, _ in results.rows):
            found[f"shares-{method}"] = _maps(results, method, words)
    return found


def _printed(measure: str) -> Callable[[str], Points]:
    def points(name: str) -> Points:
        rows = [(k, row) for (n, k), row in sorted(tables().items()) if n == name and k <= 100]
        return [(float(k), Estimate.of([row[measure]])) for k, row in rows if measure in row]

    return points


def _measured(results: Results, measure: str, method: str) -> Callable[[str], Points]:
    return lambda name: [(float(k), found) for k, found in over_k(results, measure, name, method).items()]


def _multiples(
    results: Results,
    title: str,
    y: str,
    lines: dict[str, Callable[[str], Points]],
    *,
    level: bool = False,
    log_y: bool = False,
) -> Any:
    """Return one small panel a table; the first line is printed and has no marks."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    names = here(results)
    across = 3
    down = math.ceil(len(names) / across)
    figure = make_subplots(down, across, subplot_titles=names, vertical_spacing=0.2 / down, horizontal_spacing=0.07)
    named: set[str] = set()
    for i, name in enumerate(names):
        row, column = i // across + 1, i % across + 1
        for j, (words, points_of) in enumerate(lines.items()):
            points = points_of(name)
            colour = _GREY if j == 0 else COLOURS[j - 1]
            style = {"color": colour, "width": 2 if j else 1.5, "dash": "solid" if j else "dot"}
            figure.add_trace(
                go.Scatter(
                    x=[k for k, _ in points],
                    y=[e.mean for _, e in points],
                    error_y={"array": [_half(e) for _, e in points], "thickness": 1, "width": 2, "visible": j > 0},
                    mode="lines+markers" if j else "lines",
                    marker={"symbol": MARKS[(j - 1) % len(MARKS)], "size": 6},
                    line=style,
                    name=words,
                    legendgroup=words,
                    showlegend=bool(points) and words not in named,
                ),
                row,
                column,
            )
            named |= {words} if points else set()
        if level:
            _, runs = shared_runs(results, name, "reference")
            own = {"set": name, "trees": 10, **at_best(name, "continuous")}
            plain = over_runs(results, "accuracy", own, runs).mean
            figure.add_trace(
                go.Scatter(
                    x=[5, 100],
                    y=[plain, plain],
                    mode="lines",
                    line={"color": "#000000", "width": 1, "dash": "dash"},
                    name="continuous data, measured",
                    legendgroup="level",
                    showlegend=i == 0,
                ),
                row,
                column,
            )
        figure.update_xaxes(title_text="k" if i + across >= len(names) else None, row=row, col=column)
        figure.update_xaxes(range=[0, 105], tickvals=[5, 20, 40, 60, 80, 100], row=row, col=column)
        figure.update_yaxes(title_text=y if column == 1 else None, row=row, col=column)
    return _finished(figure, title, 1000, 90 + 230 * down, log_y=log_y)


def _finished(figure: Any, title: str, width: int, height: int, *, log_y: bool = False) -> Any:
    """Set title, legend and sizes alike for all."""
    figure.update_layout(
        title={"text": title, "x": 0.02, "y": 1 - 24 / height, "yanchor": "middle", "font": {"size": 18}},
        template="plotly_white",
        width=width,
        height=height,
        legend={"orientation": "h", "x": 0, "y": 1 + 30 / (height - 150), "yanchor": "bottom", "font": {"size": 13}},
        margin={"l": 70, "r": 25, "t": 100, "b": 50},
    )
    figure.update_annotations(font_size=13)
    figure.update_xaxes(automargin=False)
    if log_y:
        figure.update_yaxes(type="log", exponentformat="power", dtick=1, tickfont_size=11)
    return figure


def _half(estimate: Estimate) -> float:
    return estimate.high - estimate.mean if math.isfinite(estimate.high) else 0.0


def _losses(results: Results) -> Any:
    """Return the loss against continuous data by table: cells of k records, and bins that promise nothing."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    names = here(results)
    heads = ("cells of at least k records", "bins of single columns, no promise")
    figure = make_subplots(1, 2, shared_yaxes=True, subplot_titles=heads, horizontal_spacing=0.04)
    panels: tuple[dict[str, str], ...] = (
        {"reference": _AGAIN, CRITERION: _OURS, "supervised": "ours, supervised"},
        dict.fromkeys(COLUMNS, ""),
    )
    places = list(range(len(names)))
    printed = [PRINTED[n].loss for n in names]
    figure.add_trace(
        _dots(go, printed, [0.0] * len(names), [p - 0.27 for p in places], _GREY, "line-ns-open", "as printed")
    )
    shown = 0
    for panel, methods in enumerate(panels):
        for i, (method, words) in enumerate(methods.items()):
            found = [loss(results, n, method) for n in names]
            y = [p - 0.09 + 0.18 * i for p in places]
            dots = [e.mean for e in found], [_half(e) for e in found]
            trace = _dots(go, *dots, y, COLOURS[shown % len(COLOURS)], MARKS[shown % len(MARKS)], words or method)
            figure.add_trace(trace, 1, panel + 1)
            shown += 1
    figure.update_xaxes(title_text="loss of accuracy", zeroline=True, zerolinecolor="#000000", zerolinewidth=1)
    figure.update_yaxes(
        tickvals=places, ticktext=[f"{n}, k = {PRINTED[n].k}" for n in names], range=[len(names) - 0.4, -0.6]
    )
    figure.update_yaxes(title_text="table", row=1, col=1)
    figure.update_xaxes(matches="x")
    figure = _finished(figure, "Loss of accuracy against continuous data, forest of 10 trees", 1000, 820)
    return figure.update_layout(margin={"l": 165, "t": 80, "b": 130}, legend={"y": -0.1, "yanchor": "top"})


def _dots(
    go: Any, x: Sequence[float], half: Sequence[float], y: Sequence[float], colour: str, mark: str, words: str
) -> Any:
    open_mark = mark.endswith("open")
    return go.Scatter(
        x=x,
        y=y,
        error_x={"array": half, "thickness": 1, "width": 2, "visible": not open_mark},
        mode="markers",
        marker={"color": colour, "symbol": mark, "size": 11 if open_mark else 7, "line": {"width": 2, "color": colour}},
        name=words,
    )


def _maps(results: Results, method: str, words: str) -> Any:
    """Return accuracy by share of the training records and k, a panel a table; the last column is all of them."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    mapped = [n for n in here(results) if any(s["set"] == n and "share" in s for s, _ in results.rows)]
    shares = sorted({s["share"] for s, _ in results.rows if "share" in s})
    seen = [s for s, _ in results.rows if "share" in s]
    counts = {k: sum(s["k"] == k for s in seen) for k in {int(s["k"]) for s in seen}}
    ks = sorted(k for k, n in counts.items() if 4 * n > max(counts.values()))
    runs = {n: {int(s["seed"]) for s in seen if s["set"] == n} for n in mapped}
    down = math.ceil(len(mapped) / 2)
    figure = make_subplots(down, 2, subplot_titles=mapped, vertical_spacing=0.22 / down, horizontal_spacing=0.09)
    for i, name in enumerate(mapped):
        rows = []
        for k in ks:
            own = {"set": name, "method": method, "k": k}
            row = [results.estimate("accuracy", share=share, **own).mean for share in shares]
            rows.append([*row, over_runs(results, "accuracy", own | {"trees": 10}, runs[name]).mean])
        figure.add_trace(
            go.Heatmap(
                z=[[None if math.isnan(v) else v for v in row] for row in rows],
                x=[f"{share:.0%}" for share in (*shares, 1.0)],
                y=[str(k) for k in ks],
                text=[["" if math.isnan(v) else f"{v:.2f}" for v in row] for row in rows],
                texttemplate="%{text}",
                textfont={"size": 11},
                coloraxis="coloraxis",
                xgap=1,
                ygap=1,
            ),
            i // 2 + 1,
            i % 2 + 1,
        )
        figure.update_xaxes(
            title_text="share of the training records" if i + 2 >= len(mapped) else None, row=i // 2 + 1, col=i % 2 + 1
        )
        figure.update_yaxes(title_text="k" if i % 2 == 0 else None, row=i // 2 + 1, col=i % 2 + 1)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    title = f"Accuracy, tree on a share of the training records: {words} (white: fewer than k records)"
    figure = _finished(figure, title, 1000, 90 + 270 * down)
    bar = {"title": "accuracy", "len": 0.5, "thickness": 14}
    return figure.update_layout(coloraxis={"colorscale": "Cividis", "cmin": 0.3, "cmax": 1.0, "colorbar": bar})
