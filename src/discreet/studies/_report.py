"""Results as a page: Markdown for people, CSV for programs, pictures where Plotly is installed."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet._output import write_whole
from discreet.studies._study import Estimate, Finding, Results, Study

#: Colours that colour-blind readers can tell apart (Okabe and Ito 2008), with marks that need no colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
_HEAD = ("figure", "published", "measured", "95 % interval", "runs", "ours at best", "95 % interval", "verdict")


def page(study: Study, results: Results) -> str:
    """Return the report in Markdown."""
    lines = [f"# {study.title}", "", f"After {study.source}.", ""]
    lines += table(study.findings(results))
    lines += [line for note in study.notes(results) for line in ("", note)]
    if absent := list(study.absent()):
        lines += ["", f"Not run here, for want of their files: {', '.join(absent)}."]
    return "\n".join(lines) + "\n"


def table(findings: Sequence[Finding]) -> list[str]:
    """Return findings as the lines of a Markdown table."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|---|" + "---:|" * 6 + "---|"]
    for f in findings:
        verdict = f"{f.verdict}: {f.note}" if f.verdict and f.note else f.verdict or f.note
        cells = [f.figure, number(f.published), *_shown(f.measured, True), *_shown(f.best, False), verdict]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return any table in Markdown; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def number(value: float | None) -> str:
    """Return a number with three digits after the point, or a dash."""
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def comma_separated(findings: Sequence[Finding]) -> str:
    """Return findings as CSV, with all digits."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    ends = ("mean", "low", "high", "runs")
    writer.writerow(
        ["figure", "published", *(f"measured_{e}" for e in ends), *(f"best_{e}" for e in ends), "verdict", "note"]
    )
    for f in findings:
        best = ["", "", "", ""] if f.best is None else [f.best.mean, f.best.low, f.best.high, f.best.runs]
        measured = [f.measured.mean, f.measured.low, f.measured.high, f.measured.runs]
        published = "" if f.published is None else f.published
        writer.writerow([f.figure, published, *measured, *best, f.verdict, f.note])
    return sink.getvalue()


def write_report(study: Study, results: Results, folder: str | Path) -> list[Path]:
    """Write page, table and pictures into a folder; return the files. Without Plotly there are no pictures."""
    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    files = {place / f"{study.name}.md": page(study, results)}
    files[place / f"{study.name}.csv"] = comma_separated(study.findings(results))
    if find_spec("plotly") is not None:
        from plotly.offline import get_plotlyjs

        for name, figure in study.pictures(results).items():
            files[place / f"{study.name}-{name}.html"] = figure.to_html(include_plotlyjs="directory")
        # Once for all pictures, and beside them: a page must open without a network.
        files[place / "plotly.min.js"] = get_plotlyjs()
    for path, text in files.items():
        write_whole(path, text)
    return list(files)


def curves(
    title: str,
    x: str,
    y: str,
    lines: dict[str, list[tuple[float, Estimate]]],
    level: float | None,
    level_name: str = "to compare with",
) -> Any:
    """Return a Plotly figure of means with their intervals; ``level`` is a dashed line to compare with."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for i, (name, points) in enumerate(lines.items()):
        figure.add_trace(
            go.Scatter(
                x=[p for p, _ in points],
                y=[e.mean for _, e in points],
                error_y={
                    "array": [e.high - e.mean if math.isfinite(e.high) else 0.0 for _, e in points],
                    "thickness": 1,
                },
                mode="lines+markers",
                marker={"symbol": MARKS[i % len(MARKS)], "size": 7},
                line={"color": COLOURS[i % len(COLOURS)], "width": 2},
                name=name,
            )
        )
    if level is not None:
        line = {"dash": "dash", "color": "#57606a"}
        figure.add_hline(y=level, line=line, annotation_text=level_name, annotation_position="top left")
    figure.update_layout(title=title, template="plotly_white", width=760, height=480, xaxis_title=x, yaxis_title=y)
    return figure


def _shown(estimate: Estimate | None, with_runs: bool) -> list[str]:
    if estimate is None or not estimate.runs:
        return ["–", "–"] + (["0"] if with_runs else [])
    interval = "–" if math.isinf(estimate.low) else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return [number(estimate.mean), interval] + ([str(estimate.runs)] if with_runs else [])
