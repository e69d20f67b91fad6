"""The results of the nD-Laplace study beside the published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from discreet_studies.harness.study import CORRECTED, NOT, REPRODUCED, Estimate, Finding, Results
from discreet_studies.nd_laplace import published

#: Added to the range of single draws: other starts of k-means move labels by as much.
_SLACK = 0.01
_POINTS = "Fifty points in the plane, columns in [-1, 1]"
_FIGURES = {
    f"{_POINTS} (figure 5.3): agreement with the run on raw records": {"ari": "ARI", "ami": "AMI"},
    f"{_POINTS} (figure 5.4): how clusters of noisy points look": {"silhouette": "silhouette", "ch": "CH"},
}
_WAYS = {"k-means": "k-means", "affinity": "affinity propagation", "dbscan": "DBSCAN"}


def within_draws(value: float, runs: Mapping[str, float]) -> bool:
    """Whether a single draw may have given a figure: it lies where 95 % of further draws would.

    Examples
    --------
    >>> runs = {"0": 0.50, "1": 0.55, "2": 0.60, "3": 0.65}
    >>> within_draws(0.70, runs), within_draws(0.95, runs)
    (True, False)
    """
    found = np.array(list(runs.values()))
    n = len(found)
    half = float(stdtrit(n - 1, 0.975)) * float(found.std(ddof=1)) * math.sqrt(1 + 1 / n) if n > 1 else math.inf
    return abs(value - float(found.mean())) <= half + _SLACK


def exact(value: float) -> Estimate:
    """Return a number that no draw has a part in."""
    return Estimate(value, value, value, 1)


def findings(results: Results) -> list[Finding]:
    """Set the published figures, and what the thesis claims, beside what was measured."""
    return [*_points(results), *_seeds(results), *_heart(results), *_shapes(results), *_noise(results),
            *_claims(results), *_piecewise(results), *_forests(results), *_choices(results)]  # fmt: skip


def _points(results: Results) -> Iterator[Finding]:
    asked = [
        (section, f"{kind} {way}", f"{name}, {words}")
        for section, kinds in _FIGURES.items()
        for kind, name in kinds.items()
        for way, words in _WAYS.items()
    ]
    for section, measure, name in [*asked, (f"{_POINTS} (figure 5.6)", "distance", "mean distance")]:
        for epsilon, figures in published.POINTS.items():
            where = {"part": "points", "units": "box", "epsilon": epsilon}
            yield from _one_draw(results, section, f"{name}, ε = {epsilon:g}", figures[measure], measure, where)


def _one_draw(
    results: Results,
    section: str,
    figure: str,
    value: float,
    measure: str,
    where: Mapping[str, Any],
    best: Estimate | None = None,
    reason: str = "outside the range of our draws of noise",
) -> Iterator[Finding]:
    """Yield a row for a figure that comes from one draw of noise, if it was measured."""
    runs = results.values(measure, where)
    if not runs:
        return
    good = within_draws(value, runs)
    estimate = Estimate.of(runs.values())
    best = best if best is not None and best.runs else None
    yield Finding(figure, value, estimate, best, REPRODUCED if good else NOT, "" if good else reason, section)


def column_where(name: str, file: str, sampler: str, columns: int, epsilon: float) -> dict[str, Any]:
    """Return the settings of a run over columns in the table's own units, but for seed and algorithms."""
    own = {"part": "columns", "set": name, "file": file, "sampler": sampler, "units": "raw"}
    return {**own, "columns": columns, "epsilon": epsilon}


def _seeds(results: Results) -> Iterator[Finding]:
    section = "Seeds, two to seven columns, as published (best: right noise, right file)"
    for epsilon, figures in published.SEEDS.items():
        for n, value in enumerate(figures, start=2):
            where = column_where("seeds", "lost", "published", n, epsilon)
            best = results.estimate("ami k-means", **column_where("seeds", "right", "right", n, epsilon))
            figure = f"AMI, k-means, {n} columns, ε = {epsilon:g}"
            yield from _one_draw(results, section, figure, value, "ami k-means", where, best)
    for way, table in (("hierarchical", published.SEEDS_HIERARCHICAL), ("optics", published.SEEDS_OPTICS)):
        for epsilon, value in table.items():
            where = column_where("seeds", "lost", "published", 7, epsilon)
            best = results.estimate(f"ami {way}", **column_where("seeds", "right", "right", 7, epsilon))
            name = "OPTICS" if way == "optics" else "hierarchical"
            yield from _one_draw(
                results, section, f"AMI, {name}, 7 columns, ε = {epsilon:g}", value, f"ami {way}", where, best
            )
    for epsilon, figures in published.SEEDS_DISTANCE.items():
        where = column_where("seeds", "lost", "published", 7, epsilon)
        best = results.estimate("distance", **column_where("seeds", "right", "right", 7, epsilon))
        figure = f"mean distance, 7 columns, ε = {epsilon:g}"
        yield from _one_draw(results, section, figure, figures[-1], "distance", where, best)


def _heart(results: Results) -> Iterator[Finding]:
    section = "Cardiotocography, two to nine columns, as published (best: right noise)"
    for epsilon, figures in published.HEART.items():
        for n, value in enumerate(figures, start=2):
            where = column_where("heart", "right", "published", n, epsilon)
            best = results.estimate("ami k-means", **column_where("heart", "right", "right", n, epsilon))
            figure = f"AMI, k-means, {n} columns, ε = {epsilon:g}"
            yield from _one_draw(results, section, figure, value, "ami k-means", where, best)


def _shapes(results: Results) -> Iterator[Finding]:
    section = "Shapes, two columns"
    reason = "the published run took two of three columns of another file"
    for name, table in published.SHAPES.items():
        for epsilon, value in table.items():
            where = column_where(name, "right", "right", 2, epsilon)
            figure = f"{name}: AMI, k-means, ε = {epsilon:g}"
            yield from _one_draw(results, section, figure, value, "ami k-means", where, None, reason)
        for way, others in (("hierarchical", published.SHAPES_HIERARCHICAL), ("optics", published.SHAPES_OPTICS)):
            where = column_where(name, "right", "right", 2, 9.0)
            figure = f"{name}: AMI, {'OPTICS' if way == 'optics' else way}, ε = 9"
            yield from _one_draw(results, section, figure, others[name], f"ami {way}", where, None, reason)


def _noise(results: Results) -> Iterator[Finding]:
    """The moments of the noise that was published on Seeds, and of the code in three columns."""
    section = "The published noise (best: right noise)"
    shift, spreads = published.SEEDS_NOISE
    names = {"mean 1": ("mean of column 1", shift)}
    names |= {f"deviation {j}": (f"deviation of column {j}", value) for j, value in enumerate(spreads, start=1)}
    own = {"part": "sampler", "sampler": "published", "columns": 7}
    for measure, (words, value) in names.items():
        measured = results.estimate(measure, **own)
        if not measured.runs:
            return
        low, high = (results.estimate(f"{measure}, {end}", **own).mean for end in ("low", "high"))
        rounding = 0.5 * 10.0 ** -_decimals(value)
        good = low - rounding <= value <= high + rounding
        best = results.estimate(measure, **{**own, "sampler": "right"})
        reason = f"95 % of such tables lie between {low:.3f} and {high:.3f}"
        yield Finding(f"Seeds, ε = 1: {words}", value, measured, best, _said(good), "" if good else reason, section)
    for j, value in enumerate(published.THREE_COLUMNS, start=1):
        measured = results.estimate(f"deviation {j}", **{**own, "columns": 3})
        best = results.estimate(f"deviation {j}", **{**own, "sampler": "right", "columns": 3})
        good = abs(value - measured.mean) <= 0.02 * value
        figure = f"three columns, ε = 1: deviation of column {j}"
        yield Finding(figure, value, measured, best, _said(good), "" if good else "more than 2 % away", section)


def _decimals(value: float) -> int:
    """Return with how many decimals a figure was printed."""
    return len(f"{value:g}".partition(".")[2])


def _said(good: bool) -> str:
    return REPRODUCED if good else NOT


def gain(results: Results, file: str, sampler: str, epsilon: float) -> Estimate:
    """Return by how much the AMI on Seeds is larger in seven columns than in two, run by run."""
    last, first = (column_where("seeds", file, sampler, n, epsilon) for n in (7, 2))
    # What was run besides k-means differs between the two; the seeds are the same.
    seeds = results.seen("seed")
    pairs = [
        (results.estimate("ami k-means", **last, seed=s), results.estimate("ami k-means", **first, seed=s))
        for s in seeds
    ]
    return Estimate.of(a.mean - b.mean for a, b in pairs if a.runs and b.runs)


def _claims(results: Results) -> Iterator[Finding]:
    section = "Claims (measured: right noise)"
    for epsilon in (0.5, 3.0):
        row = published.SEEDS[epsilon]
        right, faulty = gain(results, "right", "right", epsilon), gain(results, "lost", "published", epsilon)
        if right.runs:
            good = right.low > 0
            note = f"the published sampler gives {faulty.mean:+.3f}: it leaves the later columns nearly clear"
            figure = f"Seeds, ε = {epsilon:g}: AMI gained from 2 to 7 columns"
            yield Finding(figure, row[5] - row[0], right, None, _said(good), "" if good else note, section)
    growth = [results.estimate("deviation 1", part="sampler", sampler="right", columns=n) for n in (10, 2)]
    if all(e.runs for e in growth):
        ratio = exact(growth[0].mean / growth[1].mean)
        note = "claimed to shrink; it is √((n+1)/3) by the law, 1.915"
        yield Finding("noise of a column, 10 columns over 2", None, ratio, None, _said(ratio.mean < 1), note, section)
    for epsilon in (1.0, 9.0):
        factor = results.estimate("factor", part="resampling", epsilon=epsilon)
        if factor.runs:
            note = "drawing again looks at the raw point; charge twice the ε, or clip"
            figure = f"ε multiplied by drawing again in [-1, 1]², ε = {epsilon:g}"
            yield Finding(figure, 1.0, exact(factor.mean), exact(1.0), _said(factor.mean <= 1), note, section)
    for grid, name in ((0, "records"), (10, "records and a 10 × 10 grid")):
        share = results.estimate("anybody's", part="records", grid=grid, epsilon=2.0)
        if share.runs:
            note = "raw records are published verbatim; no ε holds. Move to public places only"
            figure = f"share of outputs that are a raw record, moved to {name}, ε = 2"
            yield Finding(figure, 0.0, share, exact(0.0), _said(share.high <= 0), note, section)
    yield from _hypotheses(results, section)


def _hypotheses(results: Results, section: str) -> Iterator[Finding]:
    law = [results.estimate("best", part="law", level=1.0, columns=n) for n in (10, 2)]
    if all(e.runs for e in law):
        change = exact(law[0].mean - law[1].mean)
        note = "at equal ε times distance two records are harder to distinguish in more columns"
        figure = "H1, leakage grows with columns: best advantage at level 1, 10 columns less 2"
        yield Finding(figure, None, change, None, _said(change.mean > 0), note, section)
    for by, size in (("rate", 9.0), ("rate", 27.0), ("total", 40.0), ("total", 160.0)):
        own = {"part": "attack", "set": "crowd", "by": by, "size": size}
        change = results.difference("advantage", {**own, "columns": 9}, {**own, "columns": 2})
        if change.runs:
            good = change.low > 0
            words = f"equal ε = {size:g}" if by == "rate" else f"equal ε times diameter = {size:g}"
            note = "records lie farther apart in more columns" if good and by == "rate" else "" if good else "no growth"
            figure = f"H1: membership advantage, 9 columns less 2, {words}"
            yield Finding(figure, None, change, None, _said(good), note, section)
    one, other = ({"part": part, "epsilon": "none"} for part in ("boundary", "forest"))
    change = results.difference("advantage", one, other)
    if change.runs:
        good = change.low > 0
        note = "" if good else "the boundary of a forest on cluster labels reveals nothing"
        figure = "H2, boundary attacks beat shadow models: advantage without noise, boundary less shadows"
        yield Finding(figure, None, change, None, _said(good), note, section)
    yield from _remapping(results, section)


def _remapping(results: Results, section: str) -> Iterator[Finding]:
    """H3 wants better centres and no more leakage."""
    public = "with a public prior, for all points; the thesis took the user's own records"
    for name, epsilon in (("blobs", 3.0), ("crowd-5", 3.0), ("circle", 5.0)):
        own = {"part": "remap", "set": name, "epsilon": epsilon}
        change = results.difference("cost", {**own, "remap": "bayes"}, {**own, "remap": "none"})
        if change.runs:
            good = change.high < 0
            note = public if good else "the mean of the possible origins is inside the ring, where there are no records"
            figure = f"H3, remapping helps: cost of the centres, Bayes less none, {name}, ε = {epsilon:g}"
            yield Finding(figure, None, change, None, CORRECTED if good else NOT, note, section)
        change = results.difference("advantage", {**own, "remap": "bayes"}, {**own, "remap": "none"})
        if change.runs:
            good = change.low <= 0
            note = public if good else "more than without"
            figure = f"H3, at no cost in privacy: membership advantage, Bayes less none, {name}, ε = {epsilon:g}"
            yield Finding(figure, None, change, None, CORRECTED if good else NOT, note, section)


def _piecewise(results: Results) -> Iterator[Finding]:
    section = "Piecewise mechanism on Seeds, seven columns (best: ε for the whole row)"
    for epsilon, value in published.PIECEWISE_SEEDS.items():
        own = {"part": "equal", "set": "seeds", "columns": 7, "total": epsilon}
        best = results.estimate("ami", **own, mechanism="piecewise")
        where = {**own, "mechanism": "whole ε on every column"}
        figure = f"AMI, k-means, ε = {epsilon:g} on each of seven columns"
        reason = "measured on the right file; the published one had lost decimal points"
        yield from _one_draw(results, section, figure, value, "ami", where, best, reason)


def _forests(results: Results) -> Iterator[Finding]:
    section = "The published attack: three shadow forests (best: likelihood ratio on the points)"
    for epsilon, value in published.FOREST.items():
        measured = results.estimate("advantage", part="forest", epsilon=epsilon)
        if measured.runs > 1:
            half = (measured.high - measured.low) / 2 + 1.96 * published.FOREST_DEVIATION / math.sqrt(20)
            good = abs(value - measured.mean) <= half
            reason = "shown as raw rows, as people have them, members cannot be told by this attack"
            best = results.estimate("advantage", part="attack", set="crowd", columns=2, by="rate", size=epsilon)
            best_or_none = best if best.runs else None
            figure = f"advantage, ε = {epsilon:g}"
            yield Finding(figure, value, measured, best_or_none, _said(good), "" if good else reason, section)
    plain = results.estimate("advantage", part="forest", epsilon="none")
    if plain.runs:
        yield Finding("advantage without any noise", None, plain, None, "", "the most this attack can show", section)


def _choices(results: Results) -> Iterator[Finding]:
    """What figures 7 and 8 were drawn for."""
    section = "Parameters read off plots (figures 7 and 8)"
    elbow = results.estimate("elbow", part="elbow", epsilon="none")
    if elbow.runs:
        good = elbow.mean == published.ELBOW
        figure = "figure 7: number of clusters at the elbow, raw points"
        note = "" if good else "the bend of the cost is elsewhere"
        yield Finding(figure, published.ELBOW, exact(elbow.mean), None, _said(good), note, section)
    own = {"part": "radius", "epsilon": "none", "radius": published.RADIUS}
    half = results.estimate("clusters", **{**own, "units": "box", "radius": 0.5})
    for units, name in (("own", "in their own units"), ("box", "standardised, as prescribed")):
        found = results.estimate("clusters", **own, units=units)
        if found.runs:
            good = found.mean == published.ELBOW
            note = (
                "" if good else "all points become one cluster; the author's repository ran 0.5, and so does this study"
            )
            figure = f"figure 8: clusters of DBSCAN with radius {published.RADIUS:g}, points {name}"
            best = exact(half.mean) if units == "box" and half.runs else None
            yield Finding(figure, published.ELBOW, exact(found.mean), best, _said(good), note, section)
