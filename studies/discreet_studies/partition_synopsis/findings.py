"""The results of the partition study beside the printed figures.

A printed mean of m runs is reproduced if it lies where the mean of m further runs would lie with 95 % probability, by
the spread of ours, give or take 0.2 % of NICV (or 0.05 of a centroid index): k-means is not the same program. Figures
without noise have to agree in the digits that were printed, give or take 0.005 % of NICV for where k-means stopped.
"""

from __future__ import annotations

import math

from scipy.special import stdtrit

from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, Estimate, Finding, Results
from discreet_studies.partition_synopsis.published import (
    ANCHORS,
    EPSILONS,
    OWN_BASELINE,
    PARTITIONERS,
    RUNS,
    SETS,
    SHUTTLE_RATIOS,
    WINS,
    Anchor,
    chosen,
    printed,
    threshold,
)

#: The ε whose figures stand in the report; the pictures have all.
SHOWN = ("0.1", "1", "10")
#: How the tables are called.
TITLES = {
    "s1": "S1",
    "s2": "S2",
    "s3": "S3",
    "s4": "S4",
    "shuttle_test": "Shuttle (14,500 rows)",
    "shuttle": "Shuttle (58,000 rows)",
    "skin": "Skin",
    "travel": "Travel",
}
GRIDS = {"EUGKM": "eugkm", "DPKFM": "dpkfm"}
#: Where k-means stopped may move the baseline, and with it all figures without noise, by so much.
_STOPPED = 5e-5
#: Wins that ten cells on ten runs each may differ by.
_WINS_APART = 2
_ROWS_STATED = "14,500 rows of the test file were used, not the 58,000 that are stated"
_NOT_GIVEN = "its formulas and shares were not given; completed after Qardaji, Yang and Li (2013)"


def baseline(results: Results, name: str, *, as_printed: bool = False) -> float:
    """Return NICV of non-private k-means: the best that was found, or what the printed percentages refer to."""
    where = {"set": name, "method": "without noise"}
    if as_printed and name in OWN_BASELINE:
        key, percent = OWN_BASELINE[name]
        return results.estimate(f"nicv@{key}", **where).mean / (1 + percent / 100)
    return results.estimate("nicv@baseline", **where).mean


def over(found: Estimate, base: float) -> Estimate:
    """Return NICV as per cent over a baseline.

    Examples
    --------
    >>> over(Estimate(3.0, 2.0, 4.0, 5), 2.0)
    50.000 [0.000, 100.000] (5 runs)
    """
    mean, low, high = (100 * (x / base - 1) for x in (found.mean, found.low, found.high))
    return Estimate(mean, low, high, found.runs)


def tree(
    results: Results,
    name: str,
    partitioner: str,
    epsilon: str,
    *,
    method: str = "published",
    shape: str | None = None,
    metric: str = "nicv",
) -> Estimate:
    """Return what a tree reached at one ε, by default the published one in the shape that was chosen."""
    shape = chosen(name, partitioner) if shape is None else shape
    own = {"set": name, "method": method, "partitioner": partitioner, "shape": shape, "threshold": threshold(name)}
    return results.estimate(f"{metric}@{epsilon}", **own)


def near(value: float, found: Estimate, runs: int, slack: float) -> bool:
    """Tell whether a printed mean of ``runs`` runs agrees with ours.

    Examples
    --------
    >>> near(12.0, Estimate.of([9.0, 10.0, 11.0]), 10, 0.0), near(13.0, Estimate.of([9.0, 10.0, 11.0]), 10, 0.0)
    (True, False)
    """
    spread = 0.0
    if found.runs > 1:
        spread = (found.high - found.mean) * math.sqrt(1 + found.runs / runs)
    return abs(found.mean - value) <= spread + slack


def nicv_near(value: float, found: Estimate, runs: int) -> bool:
    """Tell whether printed per cent over the baseline agree with ours: the rule, and 0.2 % of NICV."""
    return near(value, found, runs, 0.05 + 0.002 * (100 + value))


def findings(results: Results) -> list[Finding]:
    """Set figures without noise, trees, grids, centroid indices and wins beside the printed ones."""
    here = results.seen("set")
    found = [*_without_noise(results, here)]
    for name in here:
        if name in SETS or name.endswith("-like"):
            found += [*_of_set(results, name)]
    for name in (n for n in SETS if n in here):
        found += [*_indices(results, name)]
    for name in (n for n in SETS if n in here):
        found += [*_wins(results, name)]
    return [*found, *_large(results)]


def _without_noise(results: Results, here: list[str]) -> list[Finding]:
    found = []
    for anchor in (a for a in ANCHORS if a.set in here):
        raw = results.estimate(f"nicv@{anchor.key}", set=anchor.set, method="without noise").mean
        ours = 100 * (raw / baseline(results, anchor.set) - 1)
        theirs = 100 * (raw / baseline(results, anchor.set, as_printed=True) - 1)
        title = f"{TITLES[anchor.set]}: {_built(anchor.key)}"
        middle = sum(anchor.printed) / 2
        if _agrees(anchor, ours):
            found.append(Finding(title, middle, exact(ours), None, REPRODUCED, section="Figures without noise"))
            continue
        right = _agrees(anchor, theirs)
        worse = 100 * (baseline(results, anchor.set, as_printed=True) / baseline(results, anchor.set) - 1)
        note = f"the printed k-means is {worse:.2f} % above the best; with the best it is {ours:,.1f}"
        if OWN_BASELINE.get(anchor.set, ("", 0.0))[0] == anchor.key:
            note += " (this figure gave the printed one away)"
        if anchor.set == "shuttle_test":
            note = f"{_ROWS_STATED}; {note}"
        verdict = CORRECTED if right else NOT
        found.append(Finding(title, middle, exact(theirs), None, verdict, note, "Figures without noise"))
    for name in (n for n in ("shuttle_test", "shuttle") if n in here):
        where = {"set": name, "method": "without noise"}
        six = results.estimate("nicv@binary6", **where).mean
        # With all rows some depths agree by chance: only those tell that are far from 1.
        for depth, value in ((h, v) for h, v in SHUTTLE_RATIOS.items() if name == "shuttle_test" or abs(v - 1) > 0.01):
            ratio = results.estimate(f"nicv@binary{depth}", **where).mean / six
            verdict = NOT if abs(ratio - value) > 5e-4 else CORRECTED if name == "shuttle_test" else REPRODUCED
            title = f"{TITLES[name]}: binary tree, NICV at depth {depth} over that at depth 6"
            found.append(Finding(title, value, exact(ratio), None, verdict, _ROWS_STATED, "Figures without noise"))
    return found


def _agrees(anchor: Anchor, value: float) -> bool:
    low, high = anchor.printed
    slack = 0.05 + _STOPPED * (100 + high)
    return low - slack <= value <= high + slack


def _built(key: str) -> str:
    if key[0].isdigit():
        return "one block" if key == "1x1" else f"{key} blocks"
    kind = key.rstrip("0123456789")
    return f"{kind} tree of depth {key[len(kind) :]}"


def exact(value: float) -> Estimate:
    """Return a figure that does not depend on luck."""
    return Estimate(value, value, value, 1)


def _of_set(results: Results, name: str) -> list[Finding]:
    """Return the rows of one table: chosen shapes and both grids, as per cent over non-private k-means."""
    base = baseline(results, name, as_printed=True)
    section = f"{TITLES.get(name, name)}: NICV, per cent over non-private k-means"
    found = []
    for epsilon in SHOWN:
        best = over(results.estimate(f"nicv@{epsilon}", set=name, method="ours"), base)
        for p in PARTITIONERS:
            shape = chosen(name, p)
            measured = over(tree(results, name, p, epsilon), base)
            value = printed(name, "nicv", p, shape, epsilon)
            found.append(_nicv(f"{p} {shape}, ε = {epsilon}", value, measured, best, 10, section))
        for column, method in GRIDS.items():
            measured = over(results.estimate(f"nicv@{epsilon}", set=name, method=method), base)
            value = printed(name, "nicv", "binary", column, epsilon)
            found.append(_nicv(f"{column}, ε = {epsilon}", value, measured, best, RUNS[column], section))
    return [f for f in found if f.measured.runs]


def _nicv(figure: str, value: float | None, measured: Estimate, best: Estimate, runs: int, section: str) -> Finding:
    ours = best if best.runs else None
    if value is None or not measured.runs:
        return Finding(figure, None, measured, ours, section=section)
    if nicv_near(value, measured, runs):
        return Finding(figure, value, measured, ours, REPRODUCED, section=section)
    ratio = (100 + measured.mean) / (100 + value)
    apart = f"NICV of the rerun is {100 * abs(ratio - 1):.0f} % {'above' if ratio > 1 else 'below'}"
    why = _NOT_GIVEN if figure.startswith("DPKFM") else f"{runs} runs were printed without their spread"
    return Finding(figure, value, measured, ours, NOT, f"{apart}; {why}", section)


def _indices(results: Results, name: str) -> list[Finding]:
    """Return the centroid indices at ε = 1, over the runs that had as many centres as clusters."""
    section = "Centroid index at ε = 1"
    best = results.estimate("ci@1", set=name, method="ours")
    cells = [(f"{p} {chosen(name, p)}", p, chosen(name, p), tree(results, name, p, "1", metric="ci"), 10)
             for p in PARTITIONERS]  # fmt: skip
    for column, method in GRIDS.items():
        cells.append((column, "binary", column, results.estimate("ci@1", set=name, method=method), RUNS[column]))
    found = []
    for title, p, column, measured, runs in cells:
        value = printed(name, "ci", p, column, "1")
        if not measured.runs or value is None or value < 0:
            continue
        good = near(value, measured, runs, 0.05)
        note = "" if good else _NOT_GIVEN if column == "DPKFM" else f"{runs} runs were printed without their spread"
        figure = f"{TITLES[name]}: {title}"
        ours = best if best.runs else None
        found.append(Finding(figure, value, measured, ours, REPRODUCED if good else NOT, note, section))
    return found


def won(results: Results, name: str, partitioner: str) -> tuple[int, int, int]:
    """Return at how many ε the rerun is below every printed benchmark's rerun, how many are clear, and of how many."""
    count, clear, of = 0, 0, 0
    for epsilon in EPSILONS:
        own = tree(results, name, partitioner, epsilon)
        grids = [
            results.estimate(f"nicv@{epsilon}", set=name, method=method)
            for column, method in GRIDS.items()
            if printed(name, "nicv", partitioner, column, epsilon) is not None
        ]
        if not own.runs or any(not g.runs for g in grids):
            continue
        of += 1
        count += all(own.mean < g.mean for g in grids)
        clear += all(own.mean - g.mean < -math.hypot(_error(own), _error(g)) * 1.96 for g in grids)
    return count, clear, of


def _error(found: Estimate) -> float:
    """Return the standard error of a mean, read back from its interval."""
    return (found.high - found.mean) / float(stdtrit(found.runs - 1, 0.975)) if found.runs > 1 else math.inf


def _wins(results: Results, name: str) -> list[Finding]:
    found = []
    for p in PARTITIONERS:
        count, clear, of = won(results, name, p)
        if of < len(EPSILONS):
            continue
        value = WINS[name][p]
        good = abs(count - value) <= _WINS_APART
        note = f"{clear} of them beyond chance"
        if not good:
            note += "; ten runs of each were too few to decide"
            note += ", and DPKFM had to be completed" if printed(name, "nicv", p, "DPKFM", "1") is not None else ""
        figure = f"{TITLES[name]}: {p} {chosen(name, p)} below every grid, number of ten ε"
        verdict = REPRODUCED if good else NOT
        found.append(Finding(figure, value, exact(count), None, verdict, note, "Wins"))
    return found


def _large(results: Results) -> list[Finding]:
    """Return what the trees took on the table that ended the published run."""
    found = []
    section = "1,516,948 rows of 15 columns, where the published run ended without memory"
    for p in PARTITIONERS:
        where = {"set": "large", "partitioner": p}
        for measure, unit in (("grow_seconds", "seconds"), ("peak_megabytes", "megabytes at most")):
            measured = results.estimate(measure, **where)
            if measured.runs:
                found.append(Finding(f"{p}: {unit}", None, measured, section=section))
    return found
