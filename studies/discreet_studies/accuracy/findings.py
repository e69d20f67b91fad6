"""The results of the accuracy study: ours and the best peer for every table and ε, a summary, and curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from discreet_studies.harness.chart import Chart, Line, Panel, measured, plain, printed
from discreet_studies.harness.report import table_of
from discreet_studies.harness.study import Estimate, Finding, Results

#: What is measured; the rest of a row is its setting.
AGREEMENT = {
    "ari": "adjusted Rand",
    "nmi": "mutual information",
    "fowlkes_mallows": "Fowlkes-Mallows",
    "davies_bouldin": "Davies-Bouldin, over non-private",
    "center_error": "error of matched centres",
    "missed": "clusters missed",
}
NUMBERS = ("n", "d", "k", "ratio", "half_width", "seeds", "baseline_nicv", "seconds", *AGREEMENT)
OURS, PEERS = "auto", ("EUGkM as published", "RUGNIK as published", "diffprivlib")
_NAMES = {OURS: "ours: PrivateKMeans", "DPLloyd": "ours: DPLloyd"}
#: The budgets for which agreement is shown.
_SHOWN_EPSILONS = (0.1, 1.0)
Cell = tuple[str, float]


#: Explanations, after a look at the rows, for tables where ours is not or was not the best.
_UNDERSTOOD = """
**MAGIC at ε = 0.05** ({magic}; DPLloyd {magic_lloyd}). The two clusters differ along one column of ten. A tree
halves columns in a public order, and three of them have bounds centred on a dense core: the first splits go through
it, separate no clusters, and leave rows for a few means only. Many fits end near the cost of one centre at the mean
of all rows. DPLloyd splits nothing. One cause was general and is fixed: a tree with many leaves published no means at
all, because rows shared evenly among its leaves seemed too few, though most are in a quarter of them.

**Skin at 0.1** ({skin}; DPLloyd {skin_lloyd}). Two clusters and very many rows. With so little noise a mixture
bent the counts to its own shape; from 1,000 rows times ε per cluster on, counts are now used as they are.

**S4 at large ε** ({s4} at 2; EUGkM {s4_grid}). The same cause: clusters that overlap and are not Gaussians along
the axes. At ε = 2 there are fewer than 1,000 rows times ε per cluster, and the mixture stays: generated tables
cannot distinguish the two there.

**Shuttle** ({shuttle} at 0.05 to {shuttle_last} at 2). Rows fill a sliver of the declared bounds, so the middle of
a wide box is far from its rows, and noisy means of leaves were shrunk to it. They are now shrunk towards where rows
are likely, which is most of the gain, and the cost falls with ε.

**Unbalance** ({unbalance} at 0.05, {unbalance_one} at 1). Five of eight clusters have a hundred rows of 6,500, far
from the others: at ε = 0.05 that is five rows times ε, inside the noise of a cell. Centres that find no cluster
split a large one. Nothing in the release distinguishes such cells from noise.
"""


def cells(results: Results) -> dict[Cell, dict[str, Estimate]]:
    """Return the ratio of every method for every table and ε."""
    found: dict[Cell, dict[str, Estimate]] = {}
    for setting, r in results.rows:
        cell = (str(setting["data"]), float(setting["epsilon"]))
        ends = r["ratio"] - r["half_width"], r["ratio"] + r["half_width"]
        found.setdefault(cell, {})[str(setting["method"])] = Estimate(r["ratio"], *ends, int(r["seeds"]))
    return found


def findings(results: Results) -> list[Finding]:
    """Return a row for every table and ε: the best peer, and ours."""
    titles = {
        str(s["data"]): f"{s['data']}: {r['n']:,.0f} rows, {r['d']:.0f} columns, k = {r['k']:.0f}"
        for s, r in results.rows
    }
    found = []
    for (data, epsilon), by in cells(results).items():
        if OURS in by and (peer := min((m for m in PEERS if m in by), key=lambda m: by[m].mean, default=None)):
            note = f"best peer: {peer}"
            found.append(Finding(f"ε = {epsilon:g}", None, by[peer], by[OURS], "", note, titles[data]))
    return found


def notes(results: Results) -> list[str]:
    """Return the summary, and all methods side by side."""
    held = {cell: by for cell, by in cells(results).items() if OURS in by and len(by) > 1}
    if not held:
        return []
    means = {cell: {m: e.mean for m, e in by.items()} for cell, by in held.items()}
    behind = [f"{data} at ε = {e:g}" for (data, e), by in means.items() if by[OURS] > 1.1 * min(by.values())]
    against = [by[OURS] / min(v for m, v in by.items() if m in PEERS) for by in means.values() if set(by) & set(PEERS)]
    share = 1 - len(behind) / len(held)
    words = (
        f"In {100 * share:.0f} % of {len(held)} settings `PrivateKMeans` is within 10 % of the best of all methods "
        f"measured, itself included; its error is {_geometric(against):.3f} times that of the best peer (geometric "
        f"mean). Where it is not: {', '.join(behind) or 'nowhere'}."
    )
    methods = list(dict.fromkeys(m for by in held.values() for m in by))
    rows = [
        [f"{data}, ε = {e:g}", *(_shown(by[m]) if m in by else "–" for m in methods)] for (data, e), by in held.items()
    ]
    every = table_of(["data", *(_NAMES.get(m, m) for m in methods)], rows)
    return ["## Summary", words, *_why(means), "## Every method", every, *_agreement(results)]


def _why(means: Mapping[Cell, Mapping[str, float]]) -> list[str]:
    """Return what was understood of the tables where ours is not, or was not, the best; figures from the results."""

    def at(data: str, epsilon: float, method: str = OURS) -> str:
        return f"{means[data, epsilon][method]:.3f}"

    wanted = [("magic", 0.05), ("skin", 0.1), ("s4", 2.0), ("shuttle", 0.05), ("shuttle", 2.0), ("unbalance", 0.05)]
    wanted += [("unbalance", 1.0)]
    if not all({OURS, "DPLloyd", "EUGkM as published"} <= set(means.get(cell, ())) for cell in wanted):
        return []  # of a run on other tables
    figures = {
        "magic": at("magic", 0.05),
        "magic_lloyd": at("magic", 0.05, "DPLloyd"),
        "skin": at("skin", 0.1),
        "skin_lloyd": at("skin", 0.1, "DPLloyd"),
        "s4": at("s4", 2.0),
        "s4_grid": at("s4", 2.0, "EUGkM as published"),
        "shuttle": at("shuttle", 0.05),
        "shuttle_last": at("shuttle", 2.0),
        "unbalance": at("unbalance", 0.05),
        "unbalance_one": at("unbalance", 1.0),
    }
    told = [" ".join(part.split()) for part in _UNDERSTOOD.format(**figures).split("\n\n")]
    return ["## Where it is not the best, and why", *told]


def _agreement(results: Results) -> list[str]:
    """Return how alike the clusters of ours are to those of non-private k-means, where that was measured."""
    rows = [
        [f"{s['data']}, ε = {s['epsilon']:g}", *(f"{r[name]:.2f}" if name in r else "–" for name in AGREEMENT)]
        for s, r in results.rows
        if s["method"] == OURS and s["epsilon"] in _SHOWN_EPSILONS and "ari" in r
    ]
    if not rows:
        return []
    words = (
        "Labels of 4,000 rows by the centres of `PrivateKMeans` against labels by those of the best non-private "
        "k-means found, means over seeds: 1 is the same, 0 of the adjusted Rand index is chance (the next two are not "
        "adjusted). Davies and Bouldin's index is over that of the non-private labels: 1 is as compact and as far "
        "apart. Centres are matched one to one; their error is in distances to the next centre. Clusters missed are "
        "the centroid index."
    )
    return ["## The same clusters?", words, table_of(["data", *AGREEMENT.values()], rows)]


def pictures(results: Results) -> dict[str, Chart]:
    """Return the error over ε: all tables together, and each by itself."""
    held = cells(results)
    if not held:
        return {}
    methods = list(dict.fromkeys(m for by in held.values() for m in by))
    epsilons = sorted({e for _, e in held})
    axis: dict[str, Any] = {"log_x": True, "log_y": True, "across": plain(epsilons)}
    words = "error over that of non-private k-means"
    together = []
    for look, method in enumerate(methods):
        at = [(e, [by[method].mean for (_, own), by in held.items() if own == e and method in by]) for e in epsilons]
        together.append(Line(_NAMES.get(method, method), printed((e, _geometric(v)) for e, v in at if v), look))
    panels = []
    for data in dict.fromkeys(data for data, _ in held):
        own = {e: held[data, e] for e in epsilons if (data, e) in held}
        lines = [
            Line(_NAMES.get(m, m), measured((e, by[m]) for e, by in own.items() if m in by), look)
            for look, m in enumerate(methods)
        ]
        panels.append(Panel("ε", words, [line for line in lines if line.marks], data, **axis))
    title = "Geometric mean over all tables (1 means no loss)"
    return {
        "mean": Chart(title, [Panel("ε", words, together, **axis)]),
        "tables": Chart("Squared error of private k-means over that of non-private k-means", panels),
    }


def _geometric(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _shown(e: Estimate) -> str:
    digits = 0 if e.mean >= 100 else 3
    return f"{e.mean:.{digits}f} ± {e.high - e.mean:.{digits}f}"
