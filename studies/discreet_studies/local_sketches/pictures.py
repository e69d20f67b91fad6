"""Pictures of the sketch experiments: measured curves with their intervals, the printed single runs beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet_studies.harness.report import COLOURS, MARKS
from discreet_studies.harness.study import Estimate, Finding, Results
from discreet_studies.local_sketches.findings import (
    EXP_50K,
    EXP_500K,
    FILTER,
    NORM_200K,
    SHAPE,
    WORDS,
    costs,
    findings,
    percents,
)
from discreet_studies.local_sketches.published import column

_WIDTH, _HEIGHT = 900, 520
Curve = Sequence[tuple[float, Estimate]]


def pictures(results: Results) -> dict[str, Any]:
    """Return the figures by name."""
    return {
        "faults": _faults(findings(results)),
        "epsilon": _epsilon(results),
        "width": _shape(results, "m", "k", 1024),
        "rows": _shape(results, "k", "m", 256),
        "users": _users(results),
        "bits": _bits(results),
        "chances": _chances(results),
        "threshold": _thresholds(results),
    }


class _Picture:
    """A figure in the making, both axes logarithmic."""

    def __init__(self, title: str, x: str, y: str, *, log_x: bool = True, height: int = _HEIGHT) -> None:
        import plotly.graph_objects as go

        self._scatter, self.figure = go.Scatter, go.Figure()
        self.figure.update_layout(
            title=title, template="plotly_white", width=_WIDTH, height=height, xaxis_title=x, yaxis_title=y
        )
        self.figure.update_layout(legend={"x": 1.02, "y": 1.0}, margin={"l": 80, "r": 20, "t": 60, "b": 60})
        marks = {"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True, "showline": True}
        self.figure.update_yaxes(**marks)
        self.figure.update_xaxes(**({**marks} if log_x else {"showline": True}))

    def curve(self, name: str, points: Curve, look: int, dash: str = "solid") -> None:
        """Draw means with their intervals."""
        shown = [(x, e) for x, e in points if e.runs]
        if not shown:
            return
        up = [e.high - e.mean if math.isfinite(e.high) else 0.0 for _, e in shown]
        down = [min(e.mean - e.low, 0.9 * e.mean) if math.isfinite(e.low) else 0.0 for _, e in shown]
        self.figure.add_trace(
            self._scatter(
                x=[x for x, _ in shown],
                y=[e.mean for _, e in shown],
                error_y={"type": "data", "array": up, "arrayminus": down, "thickness": 1.2, "width": 4},
                mode="lines+markers",
                line={"color": COLOURS[look % len(COLOURS)], "width": 2, "dash": dash},
                marker={"symbol": MARKS[look % len(MARKS)], "size": 6},
                name=name,
            )
        )

    def printed(self, name: str, points: Iterable[tuple[float, float]], look: int, shown: bool = True) -> None:
        """Draw printed single runs as hollow marks."""
        places = list(points)
        colour = COLOURS[look % len(COLOURS)]
        self.figure.add_trace(
            self._scatter(
                x=[x for x, _ in places],
                y=[y for _, y in places],
                mode="markers",
                marker={
                    "symbol": f"{MARKS[look % len(MARKS)]}-open",
                    "size": 12,
                    "color": colour,
                    "line": {"width": 2},
                },
                name=name,
                showlegend=shown,
            )
        )

    def ticks(self, values: Sequence[float]) -> None:
        """Mark the points of the grid on the x axis."""
        self.figure.update_xaxes(
            tickvals=list(values), ticktext=[f"{v:,g}" if v < 1e6 else f"{v / 1e6:g}M" for v in values]
        )


def _line(results: Results, measure: str, x: str, values: Iterable[float], **where: Any) -> Curve:
    return [(value, results.estimate(measure, **where, **{x: value})) for value in values]


def _epsilon(results: Results) -> Any:
    title = "Mean error over ε: 200,000 normal values, k = 1,024, m = 256 (Tables 5.5 and 5.6)"
    picture = _Picture(title, "ε of one report", "mean error of a count")
    budgets = [point["epsilon"] for point, _ in column("5.5", "mean_error")]
    for look, part in enumerate(("PCMS", "PHCMS")):
        where = {"part": part, **NORM_200K, **SHAPE}
        picture.curve(f"{part}", _line(results, "mean_error", "epsilon", budgets, **where), look)
        if part == "PHCMS":
            wrong = _line(results, "mean_error_half", "epsilon", budgets, **where)
            picture.curve("PHCMS, constant of ε/2", wrong, look, "dash")
        table = {"PCMS": "5.5", "PHCMS": "5.6"}[part]
        picture.printed(f"{part}, printed", [(p["epsilon"], v) for p, v in column(table, "mean_error")], look)
    # Beyond, subset selection makes no error at all, which has no place on this scale.
    few = [epsilon for epsilon in budgets if epsilon <= 12]
    picture.curve("ours: subset selection", _line(results, "mean_error", "epsilon", few, part="subset", **NORM_200K), 2)
    picture.ticks(budgets)
    return picture.figure


def _shape(results: Results, x: str, other: str, fixed: int) -> Any:
    words = {"m": "columns m", "k": "rows k"}
    title = f"Mean error over {words[x]}: 50,000 exponential values, ε = 2, {other} = {fixed:,} (Tables 5.2 and 5.4)"
    picture = _Picture(title, words[x], "mean error of a count")
    picture.figure.update_yaxes(tickvals=[100, 200, 500, 1000, 2000, 5000], dtick=None)
    for look, (part, table) in enumerate((("PCMS", "5.2"), ("PHCMS", "5.4"))):
        points = [(p[x], v) for p, v in column(table, "mean_error") if p[other] == fixed]
        values = [value for value, _ in points]
        where = {"part": part, **EXP_50K, "epsilon": 2, other: fixed}
        picture.curve(part, _line(results, "mean_error", x, values, **where), look)
        if part == "PHCMS":
            picture.curve("PHCMS, constant of ε/2", _line(results, "mean_error_half", x, values, **where), look, "dash")
        picture.printed(f"{part}, printed", points, look)
        picture.ticks(values)
    return picture.figure


def _users(results: Results) -> Any:
    picture = _Picture(
        "Percent error over users (Figure 5.5, Tables 5.14 and 5.18)", "users", "mean error, percent of the users"
    )
    counts = [point["n"] for point, _ in column("5.14", "percent")]
    normal: Mapping[str, Any] = {"data": "normal"}
    sketch: Mapping[str, Any] = {**normal, **SHAPE, "epsilon": 4}
    curves: Sequence[tuple[str, str, str, str, Mapping[str, Any]]] = (
        ("PCMS, ε = 4", "figure 5.5, PCMS", "mean_error", "solid", {"part": "PCMS", **sketch}),
        ("PHCMS, ε = 4", "figure 5.5, PHCMS", "mean_error", "solid", {"part": "PHCMS", **sketch}),
        ("PHCMS, constant of ε/2", "", "mean_error_half", "dash", {"part": "PHCMS", **sketch}),
        (
            "the same, exponential values",
            "",
            "mean_error_half",
            "dot",
            {"part": "PHCMS", **sketch, "data": "exponential"},
        ),
        ("RAPPOR, ε₁ = 4.3", "5.14", "mean_error", "solid", {"part": "RAPPOR", **normal, **FILTER}),
        ("dBitFlip, ε = 1", "5.18", "mean_error", "solid", {"part": "dBitFlip", **normal, "d": 4, "epsilon": 1}),
    )
    for (name, table, measure, dash, where), look in zip(curves, (0, 1, 1, 1, 3, 4), strict=True):
        line = [(n, Estimate.of(percents(results, measure, n=n, **where))) for n in counts]
        picture.curve(name, line, look, dash)
        if table:
            picture.printed(f"{name.split(',')[0]}, printed", [(p["n"], v) for p, v in column(table, "percent")], look)
    picture.ticks([50, 300, 2500, 15_000, 60_000, 350_000, 2_400_000])
    return picture.figure


def _bits(results: Results) -> Any:
    title = "dBitFlip: mean error over bits of a report, 500,000 exponential values (Table 5.17); hollow: printed"
    picture = _Picture(title, "bits d of a report", "mean error of a count")
    points = column("5.17", "mean_error")
    bits = sorted({p["d"] for p, _ in points})
    for look, epsilon in enumerate((0.05, 0.5, 1, 2, 4, 8, 16)):
        where = {"part": "dBitFlip", **EXP_500K, "epsilon": epsilon}
        picture.curve(f"ε = {epsilon:g}", _line(results, "mean_error", "d", bits, **where), look)
        picture.printed("printed", [(p["d"], v) for p, v in points if p["epsilon"] == epsilon], look, False)
    picture.ticks(bits)
    return picture.figure


def _chances(results: Results) -> Any:
    title = "RAPPOR: mean error over what a report costs, 60 choices of f, p and q (Table 5.15)"
    picture = _Picture(title, "ε₁ of one report", "mean error of a count")
    errors = {tuple(p.values()): v for p, v in column("5.15", "mean_error")}
    where = {"part": "RAPPOR", **EXP_500K, "bits": 128, "hashes": 8}
    rows = sorted(costs(), key=lambda row: row[3])
    picture.printed("printed, at the printed ε₁ (base 10)", [(r[1], errors[tuple(r[0].values())]) for r in rows], 3)
    for look, name, measure in (
        (0, "measured, at the true ε₁", "mean_error"),
        (2, "ours at the same ε₁ and ε∞", "mean_error_ours"),
    ):
        picture.curve(name, [(r[3], results.estimate(measure, **where, **r[0])) for r in rows], look)
        picture.figure.data[-1].mode = "markers"
    picture.ticks((0.2, 0.5, 1, 2, 5, 10, 20))
    return picture.figure


def _thresholds(results: Results) -> Any:
    title = "Fragment puzzle: strings put together from the T strongest fragments (Table 5.11)"
    picture = _Picture(title, "threshold T", "strings")
    points = [(p["T"], v) for p, v in column("5.11", "candidates")]
    where = {"part": "threshold", **WORDS}
    picture.curve("as published", [(t, results.estimate(f"candidates_{t:g}", **where)) for t, _ in points], 1)
    picture.printed("as published, printed", points, 1)
    ours = results.estimate("candidates_ours", **where)
    picture.curve("ours: significant, right hash", [(t, ours) for t, _ in points], 2)
    picture.ticks((10, 20, 50, 100, 200, 500))
    return picture.figure


#: What the overview of faults shows: a name, and the figure of a finding.
_SHOWN: Sequence[tuple[str, str, str]] = (
    ("Pearson's r of vectors in different orders", "Pearson's r", "r, Table 5.2, k = 1,024, m = 256"),
    ("ε₁ with logarithms to the base 10", "cost of one report", "ε₁, f = 0.5, p = 0.25, q = 0.75"),
    ("normalised RMSE as √(MSE/range)", "Normalised", "Table 5.2, k = 1,024, m = 256"),
    ("Hadamard signs scaled with ε/2, m = 256", "Table 5.4", "k = 1,024, m = 256"),
    ("Hadamard signs scaled with ε/2, m = 16", "Table 5.4", "k = 1,024, m = 16"),
    ("one hash that is constant", "Table 5.13", "bits = 128, hashes = 1"),
    ("words that were missed do not count", "Table 5.10", "k = 32, k′ = 32, m = m′ = 16"),
    ("bytes of Python objects called kB", "Tables 5.7", "PCMS, m = 256"),
)


def _faults(found: Sequence[Finding]) -> Any:
    picture = _Picture("Faults switched on and off: measured over printed", "measured / printed", "", height=440)
    figure, names = picture.figure, []
    on: list[tuple[float, str]] = []
    off: list[tuple[float, str]] = []
    for name, section, label in _SHOWN:
        match = [f for f in found if section in f.section and f.figure == label and f.published]
        if not match:
            continue
        finding = match[0]
        assert finding.published is not None
        names.append(name)
        off.append((finding.measured.mean / finding.published, name))
        wrong = _with_fault(finding)
        if wrong is not None:
            on.append((wrong / finding.published, name))
    for x, name in off:
        figure.add_trace(
            picture._scatter(
                x=[1.0, x], y=[name, name], mode="lines", line={"color": "#b0b7bd", "width": 2}, showlegend=False
            )
        )
    for title, points, look in (("fault on", on, 1), ("fault off: the right figure", off, 2)):
        figure.add_trace(
            picture._scatter(
                x=[x for x, _ in points],
                y=[y for _, y in points],
                mode="markers",
                marker={"symbol": MARKS[look], "size": 12, "color": COLOURS[look]},
                name=title,
            )
        )
    figure.add_vline(x=1, line={"dash": "dash", "color": "#57606a"})
    # On a logarithmic axis a note stands at the logarithm.
    figure.add_annotation(text="as printed", x=0, y=1.09, yref="paper", showarrow=False)
    figure.update_yaxes(
        {"type": "category", "categoryorder": "array", "categoryarray": names[::-1], "automargin": True, "dtick": 1}
    )
    figure.update_xaxes(exponentformat="power")
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": -0.18}, margin={"t": 70, "b": 80})
    return figure


def _with_fault(finding: Finding) -> float | None:
    """Return the figure with the fault on, which the note of a finding holds."""
    _, _, text = finding.note.partition("with it ")
    return float(text.split(" ")[0].replace(",", "")) if text else None
