"""Pictures of the sketch experiments: measured curves with their intervals, the printed single runs beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet_studies.harness.chart import GREY, Chart, Line, Mark, Panel, measured, plain, printed
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

Curve = Sequence[tuple[float, Estimate]]


def pictures(results: Results) -> dict[str, Chart]:
    """Return the figures by name."""
    return {
        "faults": _faults(findings(results)),
        "epsilon": _epsilon(results),
        "width": _shape(results, "m", "k", 1024),
        "rows": _shape(results, "k", "m", 256),
        "users": _users(results),
        "bits": _bits(results),
        "chances": _chances(results),
        "values": _values(results),
        "threshold": _thresholds(results),
    }


class _Picture:
    """A chart in the making, both axes logarithmic."""

    def __init__(self, title: str, x: str, y: str) -> None:
        self.title, self.x, self.y = title, x, y
        self.lines: list[Line] = []

    def curve(self, name: str, points: Curve, look: int, dash: str = "solid") -> None:
        """Draw means with their intervals."""
        if marks := measured(points):
            self.lines.append(Line(name, marks, look, dash))

    def printed(self, name: str, points: Iterable[tuple[float, float]], look: int) -> None:
        """Draw printed single runs as hollow marks."""
        self.lines.append(Line(name, printed(points), look, "none", hollow=True))

    def chart(self, across: Sequence[float], **how: Any) -> Chart:
        """Return the chart; ``across`` are the points of the grid on the x axis."""
        axes: dict[str, Any] = {"log_x": True, "log_y": True, "across": plain(across)} | how
        return Chart(self.title, [Panel(self.x, self.y, self.lines, **axes)])


def _line(results: Results, measure: str, x: str, values: Iterable[float], **where: Any) -> Curve:
    return [(value, results.estimate(measure, **where, **{x: value})) for value in values]


def _epsilon(results: Results) -> Chart:
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
    return picture.chart(budgets)


def _shape(results: Results, x: str, other: str, fixed: int) -> Chart:
    words = {"m": "columns m", "k": "rows k"}
    title = f"Mean error over {words[x]}: 50,000 exponential values, ε = 2, {other} = {fixed:,} (Tables 5.2 and 5.4)"
    picture = _Picture(title, words[x], "mean error of a count")
    for look, (part, table) in enumerate((("PCMS", "5.2"), ("PHCMS", "5.4"))):
        points = [(p[x], v) for p, v in column(table, "mean_error") if p[other] == fixed]
        values = [value for value, _ in points]
        where = {"part": part, **EXP_50K, "epsilon": 2, other: fixed}
        picture.curve(part, _line(results, "mean_error", x, values, **where), look)
        if part == "PHCMS":
            picture.curve("PHCMS, constant of ε/2", _line(results, "mean_error_half", x, values, **where), look, "dash")
        picture.printed(f"{part}, printed", points, look)
    return picture.chart(values, up=plain([100, 200, 500, 1000, 2000, 5000]))


def _users(results: Results) -> Chart:
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
            "dots",
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
    return picture.chart([50, 300, 2500, 15_000, 60_000, 350_000, 2_400_000])


def _bits(results: Results) -> Chart:
    title = "dBitFlip: mean error over bits of a report, 500,000 exponential values (Table 5.17); hollow: printed"
    picture = _Picture(title, "bits d of a report", "mean error of a count")
    points = column("5.17", "mean_error")
    bits = sorted({p["d"] for p, _ in points})
    for look, epsilon in enumerate((0.05, 0.5, 1, 2, 4, 8, 16)):
        where = {"part": "dBitFlip", **EXP_500K, "epsilon": epsilon}
        picture.curve(f"ε = {epsilon:g}", _line(results, "mean_error", "d", bits, **where), look)
        picture.printed("", [(p["d"], v) for p, v in points if p["epsilon"] == epsilon], look)
    return picture.chart(bits)


def _chances(results: Results) -> Chart:
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
        picture.curve(name, [(r[3], results.estimate(measure, **where, **r[0])) for r in rows], look, "none")
    return picture.chart((0.2, 0.5, 1, 2, 5, 10, 20))


def _values(results: Results) -> Chart:
    """Draw true and estimated counts by value; bars span all runs."""
    panels = []
    for title, shown in (("the most frequent (Figure 5.9)", range(8)), ("the rarest (Figure 5.10)", range(12, 25))):
        lines = []
        kinds = (("users who hold it", "true", GREY), ("as published", "count", 1), ("ours", "count ours", 2))
        for place, (name, measure, look) in enumerate(kinds):
            marks = []
            for value in shown:
                found = list(results.values(f"{measure} {value}", {"part": "RAPPOR-values"}).values())
                if found:
                    ends = (min(found), max(found)) if look != GREY else ()
                    marks.append(Mark(value + (place - 1) * 0.22, sum(found) / len(found), *ends))
            lines.append(Line(name, marks, look, "none"))
        across = [(float(value), str(value)) for value in shown]
        panels.append(Panel("value", "users", lines, title, across=across))
    runs = results.seeds(part="RAPPOR-values")
    return Chart(f"RAPPOR value by value: 1,000,000 exponential values; bars span {runs} runs", panels)


def _thresholds(results: Results) -> Chart:
    title = "Fragment puzzle: strings put together from the T strongest fragments (Table 5.11)"
    picture = _Picture(title, "threshold T", "strings")
    points = [(p["T"], v) for p, v in column("5.11", "candidates")]
    where = {"part": "threshold", **WORDS}
    picture.curve("as published", [(t, results.estimate(f"candidates_{t:g}", **where)) for t, _ in points], 1)
    picture.printed("as published, printed", points, 1)
    ours = results.estimate("candidates_ours", **where)
    picture.curve("ours: significant, right hash", [(t, ours) for t, _ in points], 2)
    return picture.chart((10, 20, 50, 100, 200, 500))


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


def _faults(found: Sequence[Finding]) -> Chart:
    names: list[str] = []
    on: list[Mark] = []
    off: list[Mark] = []
    for name, section, label in _SHOWN:
        match = [f for f in found if section in f.section and f.figure == label and f.published]
        if not match:
            continue
        finding = match[0]
        assert finding.published is not None
        names.append(name)
        off.append(Mark(finding.measured.mean / finding.published, -float(len(names))))
        wrong = _with_fault(finding)
        if wrong is not None:
            on.append(Mark(wrong / finding.published, -float(len(names))))
    joined = [Line("", [Mark(1.0, mark.y), mark], GREY, shape=None) for mark in off]
    lines = [*joined, Line("fault on", on, 1, "none"), Line("fault off: the right figure", off, 2, "none")]
    lines.append(Line("as printed", [Mark(1.0, -0.4), Mark(1.0, -len(names) - 0.6)], GREY, "dash", None))
    up = [(-float(i), name) for i, name in enumerate(names, 1)]
    panel = Panel("measured / printed", "", lines, log_x=True, up=up, y_range=(-len(names) - 0.6, -0.4))
    return Chart("Faults switched on and off: measured over printed", [panel])


def _with_fault(finding: Finding) -> float | None:
    """Return the figure with the fault on, which the note of a finding holds."""
    _, _, text = finding.note.partition("with it ")
    return float(text.split(" ")[0].replace(",", "")) if text else None
