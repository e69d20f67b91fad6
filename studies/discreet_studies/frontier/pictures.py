"""The frontier as pictures: the error of a reader against the success of an attacker, one line a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from discreet.evaluation import advantage_bound
from discreet_studies.harness.report import COLOURS, MARKS
from discreet_studies.harness.study import Estimate, Results


class Line(NamedTuple):
    """How a method is named and drawn."""

    name: str
    short: str
    parameter: str
    style: int = 0
    text: str = ""


LINES = {
    "raw": Line("the table itself", "the table itself", ""),
    "nothing": Line("nothing but the number of rows", "nothing", ""),
    "grid": Line("central: grid synopsis, ε", "grid synopsis", "ε", 0, "bottom left"),
    "privtree": Line("central: PrivTree synopsis, the same ε", "PrivTree", "ε", 5),
    "local": Line("local: hashed reports, ε", "local reports", "ε", 1, "top right"),
    "metric": Line("metric: Laplace noise, ε at a tenth of the ranges", "noisy rows", "ε", 2, "top right"),
    "density-tree": Line("k-anonymous: density tree, k", "density tree", "k", 3, "top right"),
    "mondrian": Line("k-anonymous: Mondrian, the same k", "Mondrian", "k", 4),
}
_DRAWN = ("grid", "privtree", "local", "metric", "density-tree", "mondrian")
_GREY = "#57606a"
_TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
_TITLES = {"public": "has public records", "others": "knows all the others"}


def pictures(results: Results) -> dict[str, Any]:
    """Return the frontier of each table, the promise beside what was reached, and the other costs and attacks."""
    found: dict[str, Any] = {}
    for table in results.seen("table"):
        found[table] = _frontier(results, table)
    first = results.seen("table")[0]
    found["promise"] = _promise(results, first)
    found["costs"] = _panels(
        results,
        first,
        f"{first}: three ways to lose, against an attacker who has public records",
        [("advantage_public_isolated", m) for m in ("counts", "clusters", "accuracy_lost")],
    )
    found["inference"] = _panels(
        results,
        first,
        f"{first}: other attacks on isolated people",
        [("gain_public_isolated", "counts"), ("gain_others_isolated", "counts"), ("linked_isolated", "counts")],
    )
    return found


_AXES = {
    "counts": "error of counts (% of rows)",
    "clusters": "cost of clusters (raw = 1)",
    "accuracy_lost": "accuracy lost (percentage points)",
    "advantage_public_isolated": "membership advantage",
    "gain_public_isolated": "value guessed: gain,<br>attacker has public records",
    "gain_others_isolated": "value guessed: gain,<br>attacker knows all the others",
    "linked_isolated": "row picked by<br>quasi-identifiers (share)",
}
_HUNDRED = ("counts", "accuracy_lost")


def _frontier(results: Results, table: str) -> Any:
    """Draw one table: an attacker a panel, a line a method, a mark a parameter."""
    from plotly.subplots import make_subplots

    titles = [f"The attacker {t}" for t in _TITLES.values()]
    figure = make_subplots(2, 1, vertical_spacing=0.1, subplot_titles=titles)
    for row, attacker in enumerate(_TITLES, 1):
        for method in _DRAWN:
            _line(figure, results, table, method, (f"advantage_{attacker}_isolated", "counts"), (row, 1), labels=True)
        if attacker == "others":
            for method in ("grid", "local"):
                _allowed(figure, results, table, method, row)
        _level(figure, results, table, row)
    figure.update_xaxes(title_text="membership advantage over isolated people", range=[-0.06, 1.06], zeroline=False)
    figure.update_xaxes(dtick=0.1)
    figure.update_yaxes(title_text=_AXES["counts"], type="log", tickvals=_TICKS)
    title = f"{table}: what readers lose and attackers win. Below and to the left is better"
    return _laid_out(figure, title, 1080, -0.07)


def _panels(results: Results, table: str, title: str, pairs: Sequence[tuple[str, str]]) -> Any:
    from plotly.subplots import make_subplots

    shared = len({y for _, y in pairs}) == 1
    figure = make_subplots(1, len(pairs), shared_yaxes=shared, horizontal_spacing=0.04 if shared else 0.08)
    for column, (x, y) in enumerate(pairs, 1):
        for method in _DRAWN:
            _line(figure, results, table, method, (x, y), (1, column), labels=False)
        figure.update_xaxes(title_text=_AXES[x], col=column)
        if column == 1 or not shared:
            figure.update_yaxes(title_text=_AXES[y], col=column)
        if y != "accuracy_lost":
            figure.update_yaxes(type="log", tickvals=_TICKS if y == "counts" else [1, 1.5, 2, 3, 4], col=column)
    return _laid_out(figure, title, 520, -0.28)


def _points(results: Results, table: str, method: str, measure: str) -> list[tuple[float, Estimate]]:
    chosen = sorted({float(s["value"]) for s, _ in results.rows if s["table"] == table and s["method"] == method})
    times = 100 if measure in _HUNDRED else 1
    found = []
    for value in chosen:
        e = results.estimate(measure, table=table, method=method, value=value)
        if e.runs:
            found.append((value, Estimate(times * e.mean, times * e.low, times * e.high, e.runs)))
    return found


def _line(
    figure: Any,
    results: Results,
    table: str,
    method: str,
    measures: tuple[str, str],
    panel: tuple[int, int],
    *,
    labels: bool,
) -> None:
    """Draw a method: one measure against another, intervals both ways."""
    import plotly.graph_objects as go

    across, up = (_points(results, table, method, m) for m in measures)
    if not across:
        return
    line, colour = LINES[method], COLOURS[LINES[method].style]
    bars = [
        {
            "type": "data",
            "array": [e.high - e.mean if math.isfinite(e.high) else 0.0 for _, e in part],
            "thickness": 1,
            "width": 2,
        }
        for part in (across, up)
    ]
    figure.add_trace(
        go.Scatter(
            x=[e.mean for _, e in across],
            y=[e.mean for _, e in up],
            error_x=bars[0],
            error_y=bars[1],
            mode="lines+markers+text" if labels and line.text else "lines+markers",
            text=[f"{value:g}" for value, _ in across],
            textposition=line.text or None,
            textfont={"size": 11, "color": colour},
            marker={"symbol": MARKS[line.style], "size": 7},
            line={"color": colour, "width": 2},
            name=line.name,
            legendgroup=method,
            showlegend=panel == (1, 1),
        ),
        row=panel[0],
        col=panel[1],
    )


def _allowed(figure: Any, results: Results, table: str, method: str, row: int) -> None:
    """Draw the most that ε allows at the error that was measured."""
    import plotly.graph_objects as go

    up = _points(results, table, method, "counts")
    figure.add_trace(
        go.Scatter(
            x=[advantage_bound(value) for value, _ in up],
            y=[e.mean for _, e in up],
            mode="lines",
            line={"color": COLOURS[LINES[method].style], "width": 2, "dash": "dot"},
            name=f"the most that ε allows, {LINES[method].short}",
        ),
        row=row,
        col=1,
    )


def _level(figure: Any, results: Results, table: str, row: int) -> None:
    """Draw the error that is left without any release."""
    for _, e in _points(results, table, "nothing", "counts"):
        figure.add_hline(y=e.mean, line={"dash": "dash", "color": _GREY, "width": 1}, row=row, col=1)
        # On a logarithmic axis a note is placed by the logarithm.
        figure.add_annotation(
            x=1.0,
            y=math.log10(e.mean),
            text="nothing released but the number of rows",
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
            font={"size": 11, "color": _GREY},
            row=row,
            col=1,
        )


def _promise(results: Results, table: str) -> Any:
    """Draw what was reached against ε, under the bound."""
    import plotly.graph_objects as go

    figure = go.Figure()
    ends = (-2.0, 1.0)
    smooth = [10 ** (ends[0] + (ends[1] - ends[0]) * i / 100) for i in range(101)]
    bound = [advantage_bound(e) for e in smooth]
    dotted = {"color": _GREY, "dash": "dot", "width": 2}
    figure.add_trace(go.Scatter(x=smooth, y=bound, mode="lines", line=dotted, name="the most that ε allows: tanh(ε/2)"))
    for method in ("grid", "privtree", "local"):
        found = _points(results, table, method, "advantage_others_isolated")
        line = LINES[method]
        figure.add_trace(
            go.Scatter(
                x=[value for value, _ in found],
                y=[e.mean for _, e in found],
                error_y={
                    "array": [e.high - e.mean if math.isfinite(e.high) else 0.0 for _, e in found],
                    "thickness": 1,
                },
                mode="lines+markers",
                marker={"symbol": MARKS[line.style], "size": 7},
                line={"color": COLOURS[line.style], "width": 2},
                name=line.name,
            )
        )
    figure.update_xaxes(type="log", title_text="ε", dtick=1)
    figure.update_yaxes(title_text="membership advantage over isolated people")
    title = f"{table}: what ε promises, and what one who knows all the others reached"
    figure.update_layout(title=title, template="plotly_white", width=860, height=480)
    return figure


def _laid_out(figure: Any, title: str, height: int, legend: float) -> Any:
    figure.update_layout(
        title=title,
        template="plotly_white",
        width=1000,
        height=height,
        legend={"orientation": "h", "y": legend, "yanchor": "top", "x": 0.5, "xanchor": "center"},
        margin={"b": 120, "t": 90, "r": 40},
    )
    return figure
