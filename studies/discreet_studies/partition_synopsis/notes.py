"""Paragraphs, tables and pictures of the partition study."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import Any

from discreet_studies.harness.chart import GREY, Chart, Line, Panel, measured, plain
from discreet_studies.harness.chart import printed as printed_marks
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import NOT, REPRODUCED, UNSURE, Estimate, Finding, Results
from discreet_studies.partition_synopsis.claims import SAME, SECTION, claims
from discreet_studies.partition_synopsis.findings import GRIDS, SHOWN, TITLES, baseline, cells, over, tree
from discreet_studies.partition_synopsis.published import EPSILONS, PARTITIONERS, SETS, chosen, printed

_NAMES = {"eugkm": "EUGkM", "dpkfm": "DPKFM", "ours": "ours"}


def notes(results: Results) -> list[str]:
    """Return claims, all cells, the price of mending the faults, thresholds, k-means alone, and the large table."""
    here = [n for n in (*SETS, "shuttle", *_like(results)) if n in results.seen("set")]
    text = _claims(results)
    text += _all_cells(results, [n for n in here if n in SETS])
    text += _written(results, here)
    text += _mended(results, here)
    text += _thresholds(results)
    text += _starts(results, here)
    return text + _large(results)


def _like(results: Results) -> list[str]:
    return [n for n in results.seen("set") if n.endswith("-like")]


def _all_cells(results: Results, here: list[str]) -> list[str]:
    """Return verdicts by printed table, and how many runs are behind the cells."""
    rows, runs, apart = [], Counter[int](), []
    for metric, title in (("nicv", "NICV"), ("ci", "centroid index")):
        for name in here:
            judged = [f for f in cells(results, name, metric) if f.verdict]
            runs.update(f.measured.runs for f in judged if metric == "nicv")
            for p in (*PARTITIONERS, *GRIDS):
                found = [f for f in judged if f.figure.startswith(p)]
                if not found:
                    continue
                gaps = [
                    _gap(f, metric) for f in found if metric == "nicv" or min(f.measured.mean, f.published or 0) >= 0
                ]
                apart += [_gap(f, metric) for f in found if f.verdict == NOT and metric == "nicv"]
                middle = f"{median(gaps):.2f}" if gaps else "–"
                held = [str(sum(f.verdict == v for f in found)) for v in (REPRODUCED, UNSURE, NOT)]
                rows.append([f"{TITLES[name]}, {p}, {title}", str(len(found)), *held, middle])
    if not rows:
        return []
    near = sum(gap <= 5 for gap in apart)
    words = (
        f"NICV: {_by_runs(runs)}. Of the {len(apart):,} cells of NICV that are not reproduced, {near:,} are within 5 % "
        "of the printed figure: there the runs agree so well that even a small difference shows. The last column is "
        "the median difference between printed and measured: per cent of NICV, or clusters."
    )
    head = ["printed table", "cells", REPRODUCED, UNSURE, NOT, "median difference"]
    return ["## All cells of the printed tables", words, table_of(head, rows)]


def _gap(found: Finding, metric: str) -> float:
    value = found.published or 0.0
    if metric == "ci":
        return abs(found.measured.mean - value)
    return 100 * math.expm1(abs(math.log((100 + found.measured.mean) / (100 + value))))


def _by_runs(runs: Counter[int]) -> str:
    return ", ".join(f"{n:,} cells with {r} runs" for r, n in sorted(runs.items()))


def _claims(results: Results) -> list[str]:
    """Return the claims of the source by partitioner, and the others, each with its interval."""
    found = [f for f in claims(results) if f.note != "exact"]
    by_kind: dict[str, dict[str, str]] = {}
    others = []
    words = {REPRODUCED: "holds", UNSURE: UNSURE, NOT: "does not hold"}
    for f in found:
        claim, column = f.figure.split("; ")
        told = f"{f.measured.mean:.1f} [{f.measured.low:.1f}, {f.measured.high:.1f}] {words[f.verdict]}"
        if column in PARTITIONERS:
            by_kind.setdefault(claim, {})[column] = told
        else:
            others.append([f"{claim}, {column}", told])
    if not by_kind:
        return []
    text = (
        "Each cell: by how many per cent of NICV the first group is above the second, its 95 % interval over seeds, "
        "and whether the claim holds. The means are over all tables, shapes and ε that the claim names, in logarithms. "
        "Low ε: 0.01 to 0.1; high: 1 to 10. For the last rows the claim is that binary and median trees gain from more "
        f"depth, and the others not: their difference is less than {SAME:.0f} %."
    )
    rows = [[claim, *(told.get(p, "–") for p in PARTITIONERS)] for claim, told in by_kind.items()]
    parts = [part for part in (rows[:4], rows[4:]) if part]
    tables = [table_of(["claim", *PARTITIONERS], part) for part in parts]
    return [f"## {SECTION}", text, *tables, *([table_of(["claim", "difference"], others)] if others else [])]


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
    if any(n in here for n in SETS):
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
    judged = [f for n in here for f in cells(results, n, "nicv")]
    for look, p in enumerate(PARTITIONERS):
        own = [(f.published, f.measured) for f in judged if f.figure.startswith(p)]
        found = [(1 + value / 100, 1 + ours.mean / 100) for value, ours in own if value is not None]
        top = max([top, *(x for pair in found for x in pair)])
        lines.append(Line(p, printed_marks(found), look, "none"))
    lines.append(Line("equal", printed_marks([(1.0, 1.0), (top, top)]), GREY, "dash", None))
    how = _from_one([top], "x_range", "across", "log_x") | _from_one([top], "y_range", "up", "log_y")
    title = "All printed cells that were run again: NICV over non-private k-means"
    return Chart(title, [Panel("printed (1 + per cent / 100)", "run again", lines, **how)])
