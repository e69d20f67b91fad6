"""Paragraphs, tables and pictures of the partition study."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.harness.chart import GREY, Chart, Line, Panel, measured, plain
from discreet_studies.harness.chart import printed as printed_marks
from discreet_studies.harness.report import number, table_of
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
    return ["## What fixing the faults costs", words, table_of(head, rows)] if rows else []


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
        "A generated mixture of five clusters replaces Metro PT. One tree per process, ε = 1, eight levels, all "
        "else by default; what is compiled is not counted. The published uniform partitioner, which lists every "
        f"block, asks for {blocks:,.0f} of them here in the first two of up to twelve levels, before any noise."
    )
    head = ["partitioner", "seconds to grow", "seconds to cluster", "table, MB", "peak, MB", "leaves"]
    return ["## The large table", words, table_of([*head, "NICV over non-private"], rows)]


def pictures(results: Results) -> dict[str, Chart]:
    """Return NICV over ε by table, printed beside rerun; and all cells, printed against rerun."""
    found = {}
    here = {str(s["set"]) for s, _ in results.rows if s["method"] == "published"}
    for name in (n for n in (*SETS, *_like(results)) if n in here):
        found[name.replace("_", "-")] = _over_epsilon(results, name)
    if any(cells(results, n, p) for n in SETS if n in here for p in PARTITIONERS):
        found["cells"] = _printed_against_rerun(results, [n for n in SETS if n in here])
    return found


def _over_epsilon(results: Results, name: str) -> Chart:
    base = baseline(results, name)
    theirs = baseline(results, name, as_printed=True)
    lines: list[Line] = []

    def line(title: str, points: list[tuple[str, Estimate]], look: int, marks: dict[str, float]) -> None:
        shares = [(EPSILONS[e], Estimate(v.mean / base, v.low / base, v.high / base, v.runs)) for e, v in points]
        if not (found := measured(shares)):
            return
        lines.append(Line(title, found, look))
        if marks:
            single = printed_marks((EPSILONS[e], (1 + v / 100) * theirs / base) for e, v in marks.items())
            lines.append(Line("", single, look, "none", hollow=True))

    for i, p in enumerate(PARTITIONERS):
        shape = chosen(name, p)
        marks = {e: v for e in EPSILONS if (v := printed(name, "nicv", p, shape, e)) is not None}
        line(f"{p} {shape}", [(e, tree(results, name, p, e)) for e in EPSILONS], i, marks)
    marks = {e: v for e in EPSILONS if (v := printed(name, "nicv", "binary", "EUGKM", e)) is not None}
    for i, (method, title) in ((4, ("eugkm", "EUGkM")), (6, ("ours", "ours: PrivateKMeans"))):
        points = [(e, results.estimate(f"nicv@{e}", set=name, method=method)) for e in EPSILONS]
        line(title, points, i, marks if method == "eugkm" else {})
    how: dict[str, Any] = {"log_x": True, "across": [(v, e) for e, v in EPSILONS.items()]}
    how |= _from_one([m.y for drawn in lines for m in drawn.marks], "y_range", "up", "log_y")
    title = f"{TITLES.get(name, name)}: published methods run again (lines) and as printed (open marks)"
    return Chart(title, [Panel("ε", "NICV over the best non-private clustering", lines, **how)])


def _from_one(values: list[float], ends: str, ticks: str, log: str) -> dict[str, Any]:
    """Return how to draw an axis that starts at 1: logarithmic with few numbers, a plain one where all are near 1."""
    top = max(values)
    if top < 1.3:
        return {ends: (1 - 0.05 * (top - 1), 1 + 1.1 * (top - 1))}
    many = top > 300
    marks = [m * 10.0**e for e in range(6) for m in ((1,) if many else (1, 2, 5))]
    return {log: True, ends: (0.96, 1.5 * top), ticks: plain(sorted({*marks, *([] if top > 10 else [1.2, 1.5, 3.0])}))}


def _printed_against_rerun(results: Results, here: list[str]) -> Chart:
    lines, top = [], 1.0
    for look, p in enumerate(PARTITIONERS):
        found = [(1 + value / 100, 1 + ours.mean / 100) for n in here for value, ours, _ in cells(results, n, p)]
        top = max([top, *(x for pair in found for x in pair)])
        lines.append(Line(p, printed_marks(found), look, "none"))
    lines.append(Line("equal", printed_marks([(1.0, 1.0), (top, top)]), GREY, "dash", None))
    how = _from_one([top], "x_range", "across", "log_x") | _from_one([top], "y_range", "up", "log_y")
    title = "All printed cells that were run again: NICV over non-private k-means"
    return Chart(title, [Panel("printed (1 + per cent / 100)", "run again", lines, **how)])
