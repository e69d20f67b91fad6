"""Paragraphs, tables and pictures of the partition study."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.harness.report import COLOURS, MARKS, number, table_of
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.partition_synopsis.findings import SHOWN, TITLES, baseline, nicv_near, over, tree
from discreet_studies.partition_synopsis.published import EPSILONS, PARTITIONERS, SETS, SHAPES, chosen, printed

_NAMES = {"eugkm": "EUGkM", "dpkfm": "DPKFM", "ours": "ours"}


def notes(results: Results) -> list[str]:
    """Return all cells, the price of mending the faults, thresholds, k-means alone, and the large table."""
    here = [n for n in (*SETS, "shuttle", *_like(results)) if n in results.seen("set")]
    text = _all_cells(results, [n for n in here if n in SETS])
    text += _written(results, here)
    text += _mended(results, here)
    text += _thresholds(results)
    text += _starts(results, here)
    return text + _large(results)


def _like(results: Results) -> list[str]:
    return [n for n in results.seen("set") if n.endswith("-like")]


def cells(results: Results, name: str, partitioner: str) -> list[tuple[float, Estimate, bool]]:
    """Return every printed cell that was run again: the printed value, ours, and whether they agree."""
    found = []
    base = baseline(results, name, as_printed=True)
    for shape in SHAPES:
        for epsilon in EPSILONS:
            value = printed(name, "nicv", partitioner, shape, epsilon)
            measured = tree(results, name, partitioner, epsilon, shape=shape)
            if value is None or not measured.runs:
                continue
            ours = over(measured, base)
            found.append((value, ours, nicv_near(value, ours, 10)))
    return found


def _all_cells(results: Results, here: list[str]) -> list[str]:
    rows, agree, total = [], 0, 0
    for name in here:
        for p in PARTITIONERS:
            found = cells(results, name, p)
            if not found:
                continue
            good = sum(ok for _, _, ok in found)
            gaps = sorted(abs(math.log((100 + ours.mean) / (100 + value))) for value, ours, _ in found)
            agree, total = agree + good, total + len(found)
            middle = 100 * math.expm1(gaps[len(gaps) // 2])
            rows.append([f"{TITLES[name]}, {p}", str(len(found)), str(good), f"{middle:.1f}"])
    if not rows:
        return []
    head = ["printed table", "cells run again", "reproduced", "median difference of NICV, %"]
    words = (
        f"Of {total} printed cells that were run again with the published faults on, {agree} are reproduced by the "
        "rule of this page. The rule is weak where a cell has one or two runs, which is so for all shapes but the "
        "chosen ones; the last column does not depend on it."
    )
    return ["## All cells of the printed tables", words, table_of(head, rows)]


def _written(results: Results, here: list[str]) -> list[str]:
    """Return how far the printed figures are from what the text describes."""
    rows = []
    for name in here:
        base = baseline(results, name, as_printed=True)
        for p in PARTITIONERS:
            for epsilon in ("0.05", "0.21", "1", "4.64", "10"):
                found = tree(results, name, p, epsilon, method="written")
                if found.runs:
                    run = tree(results, name, p, epsilon)
                    value = printed(name, "nicv", p, chosen(name, p), epsilon)
                    row = [f"{TITLES[name]}, {p} {chosen(name, p)}, ε = {epsilon}", number(value)]
                    rows.append([*row, *(v for e in (run, found) for v in _with_interval(over(e, base)))])
    words = (
        "Printed figures show what was run. As written, the median weighs with its own budget and without underflow, "
        "the binary partitioner moves its share for cuts to the tests, and grids are rounded down. Per cent of NICV "
        "over the printed baseline."
    )
    head = ["table and tree", "printed", "as run", "95 % interval", "as written", "95 % interval"]
    return ["## As run and as written", words, table_of(head, rows)] if rows else []


def _with_interval(found: Estimate) -> tuple[str, str]:
    return (number(found.mean), _interval(found)) if found.runs else ("–", "–")


def _mended(results: Results, here: list[str]) -> list[str]:
    """Return what the published settings reach once they are private, and ours."""
    rows = []
    for name in here:
        base = baseline(results, name)
        for p in PARTITIONERS:
            row = [f"{TITLES.get(name, name)}, {p} {chosen(name, p)}"]
            for epsilon in SHOWN:
                both = (tree(results, name, p, epsilon, method=method) for method in ("published", "mended"))
                row += [_percent(over(e, base)) for e in both]
            if any(v != "–" for v in row[1:]):
                rows.append(row)
        for method in ("eugkm", "dpkfm", "ours"):
            row = [f"{TITLES.get(name, name)}, {_NAMES[method]}"]
            for epsilon in SHOWN:
                value = _percent(over(results.estimate(f"nicv@{epsilon}", set=name, method=method), base))
                row += ["–", value] if method == "ours" else [value, "–"]
            if any(v != "–" for v in row[1:]):
                rows.append(row)
    head = ["table and method"]
    for epsilon in SHOWN:
        head += [f"as published, ε = {epsilon}", f"private, ε = {epsilon}"]
    words = (
        "Per cent of NICV over the best non-private clustering found. *As published* has the faults, among them bounds "
        "read off the data; *private* is `TreeSynopsis` with the same depth, budget, threshold and thirds, public "
        "bounds and noise everywhere (depth 10 at most with quantiles). *Ours* is `PrivateKMeans` with nothing set."
    )
    return ["## What mending the faults costs", words, table_of(head, rows)] if rows else []


def _percent(found: Estimate) -> str:
    return number(found.mean) if found.runs else "–"


def _thresholds(results: Results) -> list[str]:
    rows = []
    for p in PARTITIONERS:
        shape = chosen("s1", p)
        values = sorted(
            {int(s["threshold"]) for s, _ in results.rows if s.get("set") == "s1" and s.get("shape") == shape}
        )
        if len(values) < 2:
            continue
        for epsilon in SHOWN:
            row = [f"{p} {shape}, ε = {epsilon}"]
            for value in values:
                own = {"set": "s1", "method": "published", "partitioner": p, "shape": shape, "threshold": value}
                row.append(_percent(over(results.estimate(f"nicv@{epsilon}", **own), baseline(results, "s1"))))
            rows.append(row)
    if not rows:
        return []
    head = ["S1, as published", *(f"T = {t}" for t in (10, 20, 40, 80))]
    return ["## Thresholds", "Per cent of NICV over non-private k-means.", table_of(head, rows)]


def _starts(results: Results, here: list[str]) -> list[str]:
    rows = []
    for name in here:
        base = baseline(results, name)
        found = [over(results.estimate("nicv@rows", set=name, method="k-means", starts=n), base) for n in (1, 5)]
        if all(e.runs for e in found):
            rows.append([TITLES.get(name, name), *(v for e in found for v in (number(e.mean), _interval(e)))])
    words = (
        "Plain k-means on the rows themselves, twenty steps from k-means++ starts, in per cent of NICV over the best "
        "clustering found. Figures of published methods that are no larger than this say nothing about privacy."
    )
    head = ["table", "one start", "95 % interval", "best of five", "95 % interval"]
    return ["## What restarts alone cost", words, table_of(head, rows)] if rows else []


def _interval(found: Estimate) -> str:
    return f"{number(found.low)} to {number(found.high)}"


def _large(results: Results) -> list[str]:
    rows = []
    for p in PARTITIONERS:
        where = {"set": "large", "partitioner": p}
        names = ("grow_seconds", "cluster_seconds", "table_megabytes", "peak_megabytes", "leaves")
        found = [results.estimate(m, **where) for m in names]
        if not found[0].runs:
            continue
        ratio = results.estimate("nicv", **where).mean / results.estimate("nicv@baseline", **where).mean
        rows.append([p, *(number(e.mean) for e in found), number(ratio)])
    if not rows:
        return []
    blocks = results.estimate("published_blocks", set="large").mean
    words = (
        "An invented mixture of five clusters stands in for Metro PT. One tree a process, ε = 1, eight levels, all "
        "else by default; what is compiled is not counted. The published uniform partitioner, which lists every "
        f"block, asks for {blocks:,.0f} of them here in the first two of up to twelve levels, before any noise."
    )
    head = ["partitioner", "seconds to grow", "seconds to cluster", "table, MB", "peak, MB", "leaves"]
    return ["## The large table", words, table_of([*head, "NICV over non-private"], rows)]


def pictures(results: Results) -> dict[str, Any]:
    """Return NICV over ε by table, printed beside rerun; and all cells, printed against rerun."""
    found = {}
    here = {str(s["set"]) for s, _ in results.rows if s["method"] == "published"}
    for name in (n for n in (*SETS, *_like(results)) if n in here):
        found[name.replace("_", "-")] = _over_epsilon(results, name)
    if any(cells(results, n, p) for n in SETS if n in here for p in PARTITIONERS):
        found["cells"] = _printed_against_rerun(results, [n for n in SETS if n in here])
    return found


def _over_epsilon(results: Results, name: str) -> Any:
    import plotly.graph_objects as go

    base = baseline(results, name)
    theirs = baseline(results, name, as_printed=True)
    figure = go.Figure()

    def line(title: str, points: list[tuple[str, Estimate]], i: int, marks: dict[str, float]) -> None:
        points = [(e, v) for e, v in points if v.runs]
        if not points:
            return
        figure.add_trace(
            go.Scatter(
                x=[EPSILONS[e] for e, _ in points],
                y=[v.mean / base for _, v in points],
                error_y={
                    "array": [(v.high - v.mean) / base if math.isfinite(v.high) else 0.0 for _, v in points],
                    "thickness": 1,
                },
                mode="lines+markers",
                marker={"symbol": MARKS[i], "size": 7, "color": COLOURS[i]},
                line={"color": COLOURS[i], "width": 3 if i == 6 else 2},
                name=title,
            )
        )
        if marks:
            figure.add_trace(
                go.Scatter(
                    x=[EPSILONS[e] for e in marks],
                    y=[(1 + v / 100) * theirs / base for v in marks.values()],
                    mode="markers",
                    marker={
                        "symbol": MARKS[i] + ("-open" if MARKS[i] != "x" else "-thin-open"),
                        "size": 11,
                        "color": COLOURS[i],
                        "line": {"width": 1.5, "color": COLOURS[i]},
                    },
                    showlegend=False,
                )
            )

    for i, p in enumerate(PARTITIONERS):
        shape = chosen(name, p)
        marks = {e: v for e in EPSILONS if (v := printed(name, "nicv", p, shape, e)) is not None}
        line(f"{p} {shape}", [(e, tree(results, name, p, e)) for e in EPSILONS], i, marks)
    marks = {e: v for e in EPSILONS if (v := printed(name, "nicv", "binary", "EUGKM", e)) is not None}
    for i, (method, title) in ((4, ("eugkm", "EUGkM")), (6, ("ours", "ours: PrivateKMeans"))):
        points = [(e, results.estimate(f"nicv@{e}", set=name, method=method)) for e in EPSILONS]
        line(title, points, i, marks if method == "eugkm" else {})
    tops = [y for trace in figure.data for y in trace.y]
    _log_axis(figure.update_yaxes, max(tops))
    figure.update_layout(
        title=f"{TITLES.get(name, name)}: published methods run again (lines) and as printed (open marks)",
        template="plotly_white",
        width=900,
        height=520,
        xaxis_title="ε",
        yaxis_title="NICV over the best non-private clustering",
    )
    figure.update_xaxes(type="log", tickvals=list(EPSILONS.values()), ticktext=list(EPSILONS))
    return figure


def _log_axis(update: Any, top: float) -> None:
    """Give a logarithmic axis that starts at 1 a range, and few numbers that can be read; a plain one near 1."""
    if top < 1.3:
        update(range=[1 - 0.05 * (top - 1), 1 + 1.1 * (top - 1)])
        return
    many = top > 300
    marks = [m * 10**e for e in range(6) for m in ((1,) if many else (1, 2, 5))]
    marks = sorted({*marks, *([] if top > 10 else [1.2, 1.5, 3.0])})
    shown = [v for v in marks if v <= 1.5 * top]
    update(
        type="log", range=[math.log10(0.96), math.log10(1.5 * top)], tickvals=shown, ticktext=[f"{v:,g}" for v in shown]
    )


def _printed_against_rerun(results: Results, here: list[str]) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    ends = [1.0, 1.0]
    for i, p in enumerate(PARTITIONERS):
        found = [(1 + value / 100, 1 + ours.mean / 100) for n in here for value, ours, _ in cells(results, n, p)]
        ends[1] = max([ends[1], *(x for pair in found for x in pair)])
        figure.add_trace(
            go.Scatter(
                x=[x for x, _ in found],
                y=[y for _, y in found],
                mode="markers",
                marker={"symbol": MARKS[i], "size": 5, "color": COLOURS[i], "opacity": 0.7},
                name=p,
            )
        )
    dash = {"dash": "dash", "color": "#57606a"}
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line=dash, name="equal"))
    figure.update_layout(
        title="All printed cells that were run again: NICV over non-private k-means",
        template="plotly_white",
        width=760,
        height=600,
        xaxis_title="printed (1 + per cent / 100)",
        yaxis_title="run again",
    )
    _log_axis(figure.update_xaxes, ends[1])
    _log_axis(figure.update_yaxes, ends[1])
    return figure
