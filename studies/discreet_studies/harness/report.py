"""Results as a page: Markdown for people, CSV for programs, pictures where Plotly is installed."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.core.output import write_whole
from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, Estimate, Finding, Results, Study

#: Colours that colour-blind readers can tell apart (Okabe and Ito 2008), with marks that need no colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
_HEAD = ("figure", "published", "measured", "95 % interval", "runs", "ours at best", "95 % interval", "verdict")


def page(study: Study, results: Results) -> str:
    """Return the report in Markdown."""
    lines = [f"# {study.title}", "", f"After {study.source}.", ""]
    found = study.findings(results)
    lines += _summary(found)
    for section in dict.fromkeys(f.section for f in found):
        lines += [f"## {section}", ""] if section else []
        lines += [*table([f for f in found if f.section == section]), ""]
    lines += [line for note in study.notes(results) for line in (note, "")]
    # Shipped results may hold what has no file here.
    held = {value for setting, _ in results.rows for value in setting.values() if isinstance(value, str)}
    if absent := [name for name in study.absent() if name not in held]:
        lines += [f"Not run here, as they are not to be had: {', '.join(absent)}."]
    return "\n".join(lines).rstrip() + "\n"


def _summary(findings: Sequence[Finding]) -> list[str]:
    """Return how many figures of each section have which verdict, for a study of several sections."""
    sections = list(dict.fromkeys(f.section for f in findings if f.verdict))
    if len(sections) < 2:
        return []
    rows = []
    for section in sections:
        own = [f.verdict for f in findings if f.section == section]
        rows.append([section, *(str(own.count(v)) for v in (REPRODUCED, CORRECTED, NOT))])
    every = [str(sum(f.verdict == v for f in findings)) for v in (REPRODUCED, CORRECTED, NOT)]
    head = ["figures", REPRODUCED, CORRECTED, NOT]
    return ["## Verdicts", "", table_of(head, [*rows, ["all", *every]]), ""]


def table(findings: Sequence[Finding]) -> list[str]:
    """Return findings as the lines of a Markdown table; columns that none of them fills are left out."""
    rows = []
    for f in findings:
        verdict = f"{f.verdict}: {f.note}" if f.verdict and f.note else f.verdict or f.note
        rows.append([f.figure, number(f.published), *_shown(f.measured, True), *_shown(f.best, False), verdict])
    judged = any(f.verdict for f in findings)
    head = [*_HEAD[:-1], "verdict" if judged else "note"]
    filled = [i for i in range(len(head)) if i in (0, 2) or any(row[i] not in ("–", "") for row in rows)]
    text = (0, len(head) - 1)
    rule = "".join("---|" if i in text else "---:|" for i in filled)
    lines = ["| " + " | ".join(row[i] for i in filled) + " |" for row in [head, *rows]]
    return [lines[0], "|" + rule, *lines[1:]]


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return any table in Markdown; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def number(value: float | None) -> str:
    """Return a number with three digits after the point, without any if it is large, or a dash."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def comma_separated(findings: Sequence[Finding]) -> str:
    """Return findings as CSV, with all digits."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    ends = ("mean", "low", "high", "runs")
    writer.writerow(
        ["section", "figure", "published", *(f"measured_{e}" for e in ends), *(f"best_{e}" for e in ends)]
        + ["verdict", "note"]
    )
    for f in findings:
        best = ["", "", "", ""] if f.best is None else [f.best.mean, f.best.low, f.best.high, f.best.runs]
        measured = [f.measured.mean, f.measured.low, f.measured.high, f.measured.runs]
        published = "" if f.published is None else f.published
        writer.writerow([f.section, f.figure, published, *measured, *best, f.verdict, f.note])
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
    *,
    log_x: bool = False,
    log_y: bool = False,
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
    figure.update_xaxes(type="log" if log_x else "linear")
    figure.update_yaxes(type="log" if log_y else "linear")
    return figure


def _shown(estimate: Estimate | None, with_runs: bool) -> list[str]:
    if estimate is None or not estimate.runs:
        return ["–", "–"] + (["0"] if with_runs else [])
    interval = "–" if math.isinf(estimate.low) else f"{number(estimate.low)} to {number(estimate.high)}"
    return [number(estimate.mean), interval] + ([str(estimate.runs)] if with_runs else [])
