"""The pictures of the density-tree study: small multiples over k, losses by table, and maps over share and k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

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
from discreet_studies.harness.chart import GREY, Cells, Chart, Line, Mark, Panel, measured, plain
from discreet_studies.harness.study import Estimate, Results

#: Points of a curve: k and value with its interval.
Points = list[tuple[float, Estimate]]
_AGAIN, _OURS = "published method, run again", f"ours: {CRITERION}"


def pictures(results: Results) -> dict[str, Chart]:
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
) -> Chart:
    """Return one small panel a table; the first line is printed and has no marks."""
    panels = []
    for name in here(results):
        drawn = []
        for j, (words, points) in enumerate(lines.items()):
            if marks := measured(points(name)):
                drawn.append(Line(words, marks, j - 1) if j else Line(words, marks, GREY, "dots", None))
        if level:
            _, runs = shared_runs(results, name, "reference")
            own = {"set": name, "trees": 10, **at_best(name, "continuous")}
            plain_data = over_runs(results, "accuracy", own, runs).mean
            ends = [Mark(5, plain_data), Mark(100, plain_data)]
            drawn.append(Line("continuous data, measured", ends, 6, "dash", None))
        ticks = plain((5, 20, 40, 60, 80, 100))
        panels.append(Panel("k", y, drawn, name, log_y=log_y, across=ticks, x_range=(0, 105)))
    return Chart(title, panels)


def _losses(results: Results) -> Chart:
    """Return the loss against continuous data by table: cells of k records, and bins that promise nothing."""
    names = here(results)
    heads = ("cells of at least k records", "bins of single columns, no promise")
    methods: tuple[dict[str, str], ...] = (
        {"reference": _AGAIN, CRITERION: _OURS, "supervised": "ours, supervised"},
        {name: name for name in COLUMNS},
    )
    first = [Mark(PRINTED[n].loss, 0.27 - i) for i, n in enumerate(names)]
    lines = [[Line("as printed", first, GREY, "none", 5)], []]
    for panel, found in enumerate(methods):
        for i, (method, words) in enumerate(found.items()):
            losses = [loss(results, n, method) for n in names]
            marks = [_lying(e, 0.09 - 0.18 * i - row) for row, e in enumerate(losses)]
            lines[panel].append(Line(words, marks, i + 3 * panel, "none"))
    every = [v for part in lines for line in part for m in line.marks for v in (m.x, m.left, m.right)]
    known = [v for v in every if math.isfinite(v)]
    up = [(float(-i), f"{n}, k = {PRINTED[n].k}") for i, n in enumerate(names)]
    ends = (min(known) - 0.01, max(known) + 0.01)
    panels = [
        Panel("loss of accuracy", "", part, head, up=up, x_range=ends, y_range=(0.6 - len(names), 0.5))
        for part, head in zip(lines, heads, strict=True)
    ]
    return Chart("Loss of accuracy against continuous data, forest of 10 trees", panels)


def _lying(estimate: Estimate, y: float) -> Mark:
    ends = (estimate.low, estimate.high) if math.isfinite(estimate.high) else (math.nan, math.nan)
    return Mark(estimate.mean, y, math.nan, math.nan, *ends)


def _maps(results: Results, method: str, words: str) -> Chart:
    """Return accuracy by share of the training records and k, a panel a table; the last column is all of them."""
    mapped = [n for n in here(results) if any(s["set"] == n and "share" in s for s, _ in results.rows)]
    shares = sorted({s["share"] for s, _ in results.rows if "share" in s})
    seen = [s for s, _ in results.rows if "share" in s]
    counts = {k: sum(s["k"] == k for s in seen) for k in {int(s["k"]) for s in seen}}
    ks = sorted(k for k, n in counts.items() if 4 * n > max(counts.values()))
    runs = {n: {int(s["seed"]) for s in seen if s["set"] == n} for n in mapped}
    panels = []
    for name in mapped:
        rows: list[Sequence[float]] = []
        for k in ks:
            own = {"set": name, "method": method, "k": k}
            row = [results.estimate("accuracy", share=share, **own).mean for share in shares]
            rows.append([*row, over_runs(results, "accuracy", own | {"trees": 10}, runs[name]).mean])
        columns = [f"{share:.0%}" for share in (*shares, 1.0)]
        panels.append(Cells("share of the training records", "k", columns, [str(k) for k in ks], rows, name))
    title = f"Accuracy, tree on a share of the training records: {words} (left out: fewer than k records)"
    return Chart(title, panels)
