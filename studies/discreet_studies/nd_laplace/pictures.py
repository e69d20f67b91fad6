"""Pictures of the nD-Laplace study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet_studies.harness.chart import STAR, Chart, Line, Mark, Panel, measured, plain, printed
from discreet_studies.harness.study import Results
from discreet_studies.nd_laplace import published
from discreet_studies.nd_laplace.choosing import MOST, SHARES
from discreet_studies.nd_laplace.findings import column_where


def pictures(results: Results) -> dict[str, Chart]:
    """Return what can be drawn of the results."""
    made = {
        "artefact": _artefact(results),
        "noise": _noise(results),
        "last-column": _last_column(results),
        "agreement": _agreement(results),
        "looks": _looks(results),
        "shapes": _shapes(results),
        "attacks": _attacks(results),
        "rivals": _rivals(results),
        "remap": _remap(results),
        "elbow": _elbow(results),
        "k-distance": _k_distance(results),
    }
    return {name: chart for name, chart in made.items() if chart is not None}


def _marks(results: Results, measure: str, at: str, values: Sequence[float], **where: Any) -> list[Mark]:
    return measured((float(v), results.estimate(measure, **where, **{at: v})) for v in values)


def _lines(found: Mapping[str, Sequence[Mark]]) -> list[Line]:
    """Return a line for each name, with a look of its own, without those that were not run."""
    return [Line(name, marks, look) for look, (name, marks) in enumerate(found.items()) if marks]


def _published(name: str, xs: Sequence[float], ys: Sequence[float], look: int) -> Line:
    return Line(name, printed(zip(xs, ys, strict=True)), look, "none", STAR)


def _chart(title: str, x: str, y: str, lines: Sequence[Line], more: Sequence[Line] = (), **how: Any) -> Chart | None:
    return Chart(title, [Panel(x, y, [*lines, *more], **how)]) if lines else None


def _artefact(results: Results) -> Chart | None:
    names = {
        ("lost", "published"): "published sampler, published file",
        ("right", "published"): "published sampler, right file",
        ("right", "right"): "right noise, right file",
    }
    epsilon, columns = 0.5, range(2, 8)
    found = {
        name: measured(
            (n, results.estimate("ami k-means", **column_where("seeds", file, sampler, n, epsilon))) for n in columns
        )
        for (file, sampler), name in names.items()
    }
    y = "AMI of k-means after noise"
    if not any(found.values()):
        found = {}
        for sampler, name in (("published", "published sampler"), ("right", "right noise")):
            own = {"part": "columns", "set": "wine", "units": "box", "epsilon": 9.0, "sampler": sampler}
            found[name] = _marks(results, "ami k-means", "columns", (2, 4, 7, 10, 13), **own)
        return _chart("Wine, ε = 9: clusters that get better with every column", "columns", y, _lines(found))
    stars = _published("published figures (one draw each)", columns, published.SEEDS[epsilon], 4)
    title = "Seeds, ε = 0.5: clusters that get better with every column, and why"
    return _chart(title, "columns", y, _lines(found), [stars])


def _noise(results: Results) -> Chart | None:
    columns = range(1, 8)
    found = {
        name: measured(
            (j, results.estimate(f"deviation {j}", part="sampler", sampler=sampler, columns=7)) for j in columns
        )
        for sampler, name in (("published", "published sampler"), ("right", "right noise: √8 in every column"))
    }
    stars = _published("the published perturbed Seeds table", columns, published.SEEDS_NOISE[1], 4)
    title = "Seven columns, ε = 1: how much noise each column gets"
    y = "deviation of the noise (in units of the data)"
    return _chart(title, "column", y, _lines(found), [stars], log_y=True)


def _last_column(results: Results) -> Chart | None:
    counts = (2, 3, 4, 5, 7, 10)
    found = {
        "published sampler": _marks(results, "advantage", "columns", counts, part="pair", sampler="published"),
        "right noise": _marks(results, "advantage", "columns", counts, part="pair", sampler="right"),
    }
    title = "Two records 1 apart in the last column, ε = 1: advantage of a look at it"
    level = (math.tanh(0.5), "what ε = 1 allows")
    return _chart(title, "columns", "advantage", _lines(found), y_range=(0, 1.05), level=level)


_WAYS = {"k-means": "k-means", "affinity": "affinity propagation", "dbscan": "DBSCAN, radius 0.5"}


def _points(results: Results, title: str, kinds: Mapping[str, str], raw: bool = False) -> Chart | None:
    """Return one panel per measure of fifty points: lines for what was measured, stars for the published draw."""
    own: dict[str, Any] = {"part": "points", "units": "box"}
    panels: list[Panel] = []
    for kind, y in kinds.items():
        found = {
            words: _marks(results, f"{kind} {way}", "epsilon", published.BUDGETS, **own) for way, words in _WAYS.items()
        }
        if raw:
            marks = _marks(results, f"{kind} k-means", "epsilon", published.BUDGETS, **{**own, "units": "raw"})
            found["k-means, columns in their own units"] = marks
        if not any(found.values()):
            return None
        stars = [
            _published(f"published: {words}", list(published.POINTS),
                       [figures[f"{kind} {way}"] for figures in published.POINTS.values()], look)
            for look, (way, words) in enumerate(_WAYS.items())
        ]  # fmt: skip
        across = plain(published.BUDGETS)
        panels.append(Panel("ε per unit of distance", y, [*_lines(found), *stars], log_x=True, across=across))
    return Chart(title, panels)


def _agreement(results: Results) -> Chart | None:
    title = "Fifty points in the plane (figure 5.3): agreement, the published draw (stars) and ours"
    return _points(results, title, {"ari": "ARI against raw records", "ami": "AMI against raw records"}, raw=True)


def _looks(results: Results) -> Chart | None:
    title = "Fifty points in the plane (figure 5.4): how clusters of noisy points look, published (stars) and ours"
    return _points(results, title, {"silhouette": "silhouette", "ch": "Calinski-Harabasz index"})


def _shapes(results: Results) -> Chart | None:
    budgets = published.COLUMN_BUDGETS
    own = {"part": "columns", "sampler": "right", "columns": 2, "units": "raw"}

    def lines(names: Sequence[str]) -> list[Line]:
        found = [
            Line(f"{name}, {way}", marks, look, "dots" if way == "hierarchical" else "solid")
            for look, name in enumerate(names)
            for way in ("k-means", "hierarchical")
            if (marks := _marks(results, f"ami {way}", "epsilon", budgets, set=name, **own))
        ]
        return found

    shown = lines(("circle", "line", "skewed")) or lines(("ring-like", "band-like", "skew-like"))
    title = "Shapes of 1,000 points, two columns: two ways to cluster"
    how: dict[str, Any] = {"log_x": True, "across": plain(budgets)}
    return _chart(title, "ε per unit of distance", "AMI against raw records", shown, **how)


def _attacks(results: Results) -> Chart | None:
    own = {"part": "attack", "set": "crowd"}
    counts = (2, 3, 5, 9)
    lines: list[Line] = []
    for by, size in (("rate", 9.0), ("rate", 27.0), ("total", 40.0), ("total", 160.0)):
        words, dash = ("ε", "solid") if by == "rate" else ("ε times diameter", "dash")
        marks = _marks(results, "advantage", "columns", counts, **own, by=by, size=size)
        lines.append(Line(f"membership, {words} = {size:g}", marks, len(lines), dash))
    marks = _marks(results, "error", "columns", counts, **own, by="total", size=40.0)
    lines.append(Line("error of the best guess, ε times diameter = 40", marks, 4, "dots"))
    title = "Attacks on the right noise: does leakage grow with the columns?"
    y = "advantage; error as a share of a blind guess"
    return _chart(title, "columns", y, [line for line in lines if line.marks])


def _rivals(results: Results) -> Chart | None:
    name, n = ("seeds", 7) if "seeds" in results.seen("set") else ("wine", 13)
    totals = (5.0, 10.0, 20.0, 40.0)
    own = {"part": "equal", "set": name, "columns": n}
    labels = {
        "nd_laplace": "NDLaplace",
        "piecewise": "Piecewise",
        "column_laplace": "column Laplace",
        "priv_unit": "PrivUnit",
        "square_wave": "SquareWave",
        "whole ε on every column": "Piecewise, all of ε on every column",
    }
    found = {text: _marks(results, "ami", "total", totals, **own, mechanism=m) for m, text in labels.items()}
    title = f"{name.capitalize()}, {n} columns: rivals at equal total ε, and the published comparison"
    how: dict[str, Any] = {"log_x": True, "across": plain(totals)}
    return _chart(title, "ε between the two farthest rows", "AMI of k-means after noise", _lines(found), **how)


def _remap(results: Results) -> Chart | None:
    own = {"part": "remap", "set": "blobs"}
    names = {
        "none": "as drawn",
        "clip": "clipped",
        "grid": "grid of 12 × 12",
        "bayes": "Bayes, public prior",
        "resample": "drawn again (half the rate)",
        "noise-aware": "as drawn, DenoisingKMeans",
        "density": "server's own density",
    }
    budgets = (1.0, 3.0, 5.0, 9.0)
    found = {text: _marks(results, "cost", "epsilon", budgets, **own, remap=m) for m, text in names.items()}
    title = "Four clusters, 500 points in [-1, 1]²: what remapping does for the centres"
    y = "cost of the centres (1: as good as without noise)"
    how: dict[str, Any] = {"log_x": True, "log_y": True, "across": plain(budgets)}
    return _chart(title, "ε per unit of distance", y, _lines(found), **how)


_RAW: dict[str, Any] = {"epsilon": "none", "units": "box"}
_NOISY: list[tuple[dict[str, Any], str]] = [({"epsilon": e}, f"ε = {e:g}") for e in (9.0, 5.0, 1.0)]


def _elbow(results: Results) -> Chart | None:
    """Figure 7, before and after noise."""
    found = {}
    for where, name in [(_RAW, "raw points"), *_NOISY]:
        own = {"part": "elbow", **where}
        found[name] = measured((k, results.estimate(f"cost {k}", **own)) for k in range(1, MOST + 1))
    title = "Fifty points in the plane (figure 7): the elbow plot before and after noise"
    return _chart(title, "number of clusters", "cost of k-means (one cluster is 1)", _lines(found))


def _k_distance(results: Results) -> Chart | None:
    """Figure 8, before and after noise."""
    raw = [(_RAW, "raw points"), ({**_RAW, "units": "own"}, "raw points, own units")]
    found = {}
    for where, name in [*raw, *_NOISY]:
        found[name] = measured((s, results.estimate(f"at {s}", part="k-distance", **where)) for s in SHARES)
    title = "Fifty points in the plane (figure 8): the k-distance plot before and after noise"
    y = "distance to the third neighbour"
    return _chart(title, "share of the points, %", y, _lines(found), level=(published.RADIUS, "0.9, as printed"))
