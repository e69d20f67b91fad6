"""What stands below the findings of the grid study: how they are judged, Table III, refinement, cells, more rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from discreet_studies.as_published.grids import RULES, parts, steps
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.optimal_grid.findings import ARMS, NAMES, NEAR, agreeing, chosen_arm, near
from discreet_studies.optimal_grid.published import AXES, CELLS, EPSILONS, WCSS, WITHOUT_PRIVACY
from discreet_studies.optimal_grid.results import Sums

#: Methods of the comparison with the figure without privacy, and what they are called.
METHODS = {
    "eugkm": "EUGkM, exact N, as drawn",
    "eugkm, mixture": "the same counts, mixture",
    "rugnik": "RUGNIK, exact N, as drawn",
    "rugnik, project": "the same counts, projected",
    "rugnik, threshold": "the same counts, threshold",
    "rugnik, mixture": "the same counts, mixture",
    "ours, N declared": "`PrivateKMeans`, N declared",
    "eugkm, paid": "EUGkM, N paid for, as drawn",
    "rugnik, paid": "RUGNIK, N paid for, as drawn",
    "ours": "`PrivateKMeans`, N paid for",
    "lloyd": "`DPLloyd`, N paid for",
    "diffprivlib": "diffprivlib, exact N",
    "google-clustering": "Google's coresets, (ε, δ)",
    "no data": "centres that saw no row",
}
#: Bounds of N ε / K, the rows of a cluster in units of the noise.
_STRENGTHS = (0, 10, 20, 40, 80, math.inf)
#: Bounds of the parts per axis.
_PARTS = (2, 3, 4, 5, 6, math.inf)
_COMPARED = (("rugnik", "project"), ("rugnik", "threshold"), ("rugnik", "mixture"), ("eugkm", "mixture"))
#: How many numbers of rows are looked through for steps of the grid.
_MOST_ROWS = 2000


def notes(results: Results) -> list[str]:
    """Return the paragraphs and tables."""
    sums = Sums(results)
    text = [
        *_rule(),
        *_negatives(sums),
        *_agreement(sums),
        *_refinement(sums),
        *_strength(sums),
        *_scale(sums),
        *_sizes(),
        *_steps(),
    ]
    return [*text, *_over_cells(results, sums), *_over_rows(results, sums)]


def _rule() -> list[str]:
    return [
        "## How to read the verdicts",
        "All sums of squares are a K-th of the sum over the true rows, as printed; less is better. A figure of Table "
        f"II is reproduced if the mean is within {100 * NEAR:.0f} % of it; if it is not, but the interval holds the "
        "printed figure, we cannot tell. A claim, that one rule is better than the "
        "other, is reproduced if the whole interval of the ratio is above 1. Table I must agree in every digit. One "
        "run is the mean of three fresh tables; intervals are over runs. Ratios are geometric means over K and N of "
        "ratios of means, with intervals by jackknife.",
    ]


def _negatives(sums: Sums) -> list[str]:
    """Return the three treatments of negative counts: chosen on one half of RUGNIK's figures, judged on the other."""
    rows = []
    for arm, words in {"zero": "set to 0", "absolute": "made positive", "signed": "left as they are"}.items():
        ratios = [
            sums.estimate("rugnik" + ARMS[arm], c, e).mean / WCSS["rugnik", *c, e]
            for c in sums.cells
            for e in sums.epsilons
            if sums.runs("rugnik" + ARMS[arm], c, e)
        ]
        held = [("rugnik", True), ("rugnik", False), ("eugkm", None)]
        shares = ["{} of {}".format(*agreeing(sums, rule, arm, half)) for rule, half in held]
        chosen = " (chosen in the full study)" if sums.quick else " (chosen)"
        rows.append([words + chosen * (arm == chosen_arm(sums)), *shares, number(_mean(ratios))])
    seeds = f", {sums.seeds} seeds each" if sums.seeds else ""
    head = ["negative counts are", "RUGNIK, to choose", "RUGNIK, to judge", "EUGkM, all", "RUGNIK, measured / printed"]
    return [
        "## What becomes of negative counts",
        f"The publication does not say. Three treatments were run on the same noisy counts{seeds}. "
        f"{'In the full study, the' if sums.quick else 'The'} one "
        "that reproduces most of every second figure of RUGNIK was taken; the other figures, and all of EUGkM's, judge "
        "it. Left as they are means: k-means starts from the positive counts, and its means weigh with both signs.",
        table_of(head, rows),
    ]


def _agreement(sums: Sums) -> list[str]:
    rows, arm = [], ARMS[chosen_arm(sums)]
    for method, name in NAMES.items():
        run = method + arm * (method in RULES)
        for d in AXES:
            cells, shown, good, total = [c for c in sums.cells if c[0] == d], [], 0, 0
            for e in sums.epsilons:
                pairs = [(sums.estimate(run, c, e).mean, WCSS.get((method, *c, e))) for c in cells]
                held = [(m, p) for m, p in pairs if p is not None and not math.isnan(m)]
                good, total = good + sum(near(m, p) for m, p in held), total + len(held)
                shown.append(number(_mean([m / p for m, p in held])))
            if total:
                rows.append([f"{name}, d = {d}", *shown, f"{good} of {total}"])
    head = ["measured / printed", *(f"ε = {e:g}" for e in sums.epsilons), "reproduced"]
    return ["## Table II in short: what was measured over what is printed", table_of(head, rows)]


def _refinement(sums: Sums) -> list[str]:
    text = [
        "## What refinement adds, and what N costs",
        "Sums of squares over those without privacy: 1 is the best there is. *The same counts* means that nothing but "
        "the treatment of the noisy counts differs from the line above.",
    ]
    for d in AXES:
        rows = []
        for method, name in METHODS.items():
            found = [sums.mean_ratio(method, "no privacy", d, e) for e in sums.epsilons]
            if any(f.runs for f in found):
                rows.append([name, *(_with_interval(f) for f in found)])
        text.append(table_of([f"d = {d}", *(f"ε = {e:g}" for e in sums.epsilons)], rows))
    return [*text, *_against_rugnik(sums)]


def _against_rugnik(sums: Sums) -> list[str]:
    rows = []
    for d in AXES:
        cells = [c for c in sums.cells if c[0] == d]
        for other, name in (("rugnik, paid", "N paid for"), ("rugnik", "exact N"), ("", "as printed")):
            row = [f"d = {d}, RUGNIK, {name}"]
            for e in sums.epsilons:
                theirs = [sums.estimate(other, c, e).mean if other else WCSS["rugnik", *c, e] for c in cells]
                ours = [sums.estimate("ours", c, e).mean for c in cells]
                row.append(f"{sum(a < b for a, b in zip(ours, theirs, strict=True))} of {len(cells)}")
            rows.append(row)
    text = "Settings of K and N in which `PrivateKMeans`, N paid for, has the smaller mean than RUGNIK."
    head = ["", *(f"ε = {e:g}" for e in sums.epsilons)]
    return [f"{text} Only the first line of each three compares at equal privacy.", table_of(head, rows)]


def _strength(sums: Sums) -> list[str]:
    """By what factor a refinement changes the error of the same counts, by strength of the clusters and parts."""
    places = [(c, e) for c in sums.cells for e in sums.epsilons]
    by_strength, by_parts = [], []
    for d in AXES:
        own = [(c, e) for c, e in places if c[0] == d]
        for rule, refinement in _COMPARED:
            name, first = f"d = {d}, {NAMES[rule]}, {refinement}", f"{rule}, {refinement}"
            held = [[(c, e) for c, e in own if _within(c[2] * e / c[1], b)] for b in _bins(_STRENGTHS)]
            by_strength.append([name, *(_with_interval(sums.over(first, rule, h)) for h in held)])
            held = [[(c, e) for c, e in own if _within(parts(rule, c[2], e, d, c[1]), b)] for b in _bins(_PARTS)]
            by_parts.append([name, *(_with_interval(sums.over(first, rule, h)) for h in held)])
    strengths = [f"{low:g} to {high:g}" if high < math.inf else f"from {low:g}" for low, high in _bins(_STRENGTHS)]
    sizes = [f"{low:g}" if high - low == 1 else f"{low:g} or more" for low, high in _bins(_PARTS)]
    return [
        "## When refinement pays",
        "Sums of squares after refinement over those of the same counts as drawn; below 1 it helps. First by N ε / K: "
        "the rows of a cluster in units of the noise of a count.",
        table_of(["refined / as drawn", *strengths], by_strength),
        "The same by the number of parts per axis that the rule took.",
        table_of(["refined / as drawn", *sizes], by_parts),
    ]


def _bins(bounds: Sequence[float]) -> list[tuple[float, float]]:
    return list(itertools.pairwise(bounds))


def _within(value: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= round(value, 9) < bounds[1]


def _scale(sums: Sums) -> list[str]:
    """Both ends of the scale, and printed figures of the largest ε that are no better than no data at all."""
    rows, beaten = [], dict.fromkeys(("diffprivlib", "google-clustering"), 0)
    e, total = EPSILONS[-1], 0
    for cell in sums.cells:
        best, unseen = sums.estimate("no privacy", cell, 0.0), sums.estimate("no data", cell, 0.0)
        printed = [WCSS.get((m, *cell, e)) for m in (*beaten, "rugnik")]
        if printed[0] is not None:
            total += 1
            for m, p in zip(beaten, printed, strict=False):
                beaten[m] += p is not None and p > unseen.mean
        shown = [number(WITHOUT_PRIVACY[cell]), number(best.mean), number(unseen.mean), *map(number, printed)]
        rows.append([_where(cell), *shown])
    head = ["", "no privacy, printed", "no privacy, here", "centres that saw no row"]
    head += [f"{name}, printed, ε = {e:g}" for name in ("diffprivlib", "Google", "RUGNIK")]
    return [
        "## Both ends of the scale",
        "The spread of the generated clusters was set by the first column, so the second is no test. Centres packed "
        f"into the box without a look at the rows are better than the printed figure at ε = {e:g} in "
        f"{beaten['diffprivlib']} of {total} settings for diffprivlib and in {beaten['google-clustering']} of {total} "
        "for Google's method: to beat these two on tables so small says little.",
        table_of(head, rows),
    ]


def _sizes() -> list[str]:
    rows = []
    for d, k, n in CELLS:
        for rule in ("eugkm", "rugnik"):
            cells = [parts(rule, n, e, d, k) ** d for e in EPSILONS]
            rows.append([f"{_where((d, k, n))}, {NAMES[rule]}", *(f"{c}{'*' * (c < k)}" for c in cells)])
    return [
        "## Table III: numbers of cells",
        "As the rules give them for the exact N; * marks fewer cells than clusters. The printed table was lost in the "
        "copy that was read, so there is nothing to compare with.",
        table_of(["cells", *(f"ε = {e:g}" for e in EPSILONS)], rows),
    ]


def _steps() -> list[str]:
    rows = [
        [f"d = {d}, K = {k}, {NAMES[rule]}", *(str(steps(rule, e, d, k, _MOST_ROWS)) for e in EPSILONS)]
        for d in AXES
        for k in (2, 8)
        for rule in ("rugnik", "eugkm")
    ]
    return [
        "## Where one row more changes the grid",
        f"Numbers of rows, from 1 to {_MOST_ROWS}, at which a row more gives another grid. At each of them two "
        "neighbouring tables have releases of different length, and no ε holds. The product measures a noisy number of "
        "rows, or takes one that is declared public and states it in its guarantee.",
        table_of(["", *(f"ε = {e:g}" for e in EPSILONS)], rows),
    ]


def _over_cells(results: Results, sums: Sums) -> list[str]:
    rows = []
    for (d, k, n), e in swept(results, "parts"):
        line = [f"{_where((d, k, n))}, ε = {e:g}", str(parts("eugkm", n, e, d, k)), str(parts("rugnik", n, e, d, k))]
        for refinement in ("none", "mixture"):
            found = curve(results, sums, refinement, (d, k, n), e)
            best = min(found, key=lambda each: found[each].mean)
            at = found.get(parts("rugnik", n, e, d, k))
            line += [str(best), number(found[best].mean), "–" if at is None else number(at.mean)]
        rows.append(line)
    head = ["", "parts, EUGkM", "parts, RUGNIK", "best parts, as drawn", "there", "at RUGNIK's"]
    head += ["best parts, mixture", "there", "at RUGNIK's"]
    if not rows:
        return []
    return [
        "## Is the rule near the best size?",
        "Sums of squares over those without privacy, on grids of 2 to 16 parts per axis. The best size is the best on "
        "these same runs, which is a little too kind to it. A dash: that size was not among those tried.",
        table_of(head, rows),
    ]


def _over_rows(results: Results, sums: Sums) -> list[str]:
    rows = []
    for (d, k, n), e in swept(results, "rows"):
        line = [f"{_where((d, k, n))}, ε = {e:g}", str(parts("eugkm", n, e, d, k)), str(parts("rugnik", n, e, d, k))]
        line += [_with_interval(sums.ratio(m, "no privacy", (d, k, n), e, "rows")) for m in ("eugkm", "rugnik", "ours")]
        rows.append(line)
    if not rows:
        return []
    return [
        "## More rows than were tried",
        "With many rows EUGkM's grid is the finer one. Sums of squares over those without privacy.",
        table_of(["", "parts, EUGkM", "parts, RUGNIK", "EUGkM", "RUGNIK", "`PrivateKMeans`, N paid for"], rows),
    ]


def swept(results: Results, part: str) -> list[tuple[tuple[int, int, int], float]]:
    """Return the d, K, N and ε that a part of the results holds, in order."""
    held = {
        ((int(s["d"]), int(s["k"]), int(s["n"])), float(s["epsilon"])) for s, _ in results.rows if s["part"] == part
    }
    return sorted(held, key=lambda found: (found[0], found[1]))


def curve(
    results: Results, sums: Sums, refinement: str, cell: tuple[int, int, int], epsilon: float
) -> dict[int, Estimate]:
    """Return, by parts per axis, sums of squares over those without privacy."""
    names = {m for s, numbers in results.rows if s["part"] == "parts" for m in numbers if m.startswith(refinement)}
    sizes = sorted(int(name.split()[1]) for name in names)
    base = sums.runs("no privacy", cell, 0.0)
    if not base:
        return {}
    mean = sum(base.values()) / len(base)
    found = {}
    for each in sizes:
        runs = sums.runs(f"{refinement} {each}", cell, epsilon, "parts")
        if runs:
            found[each] = Estimate.of(value / mean for value in runs.values())
    return found


def _where(cell: tuple[int, int, int]) -> str:
    return f"d = {cell[0]}, K = {cell[1]}, N = {cell[2]}"


def _with_interval(estimate: Estimate) -> str:
    if not estimate.runs:
        return "–"
    if math.isinf(estimate.low):
        return number(estimate.mean)
    return f"{number(estimate.mean)} ({number(estimate.low)} to {number(estimate.high)})"


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
