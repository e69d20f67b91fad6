"""Tables below the findings of the nD-Laplace study: where the published rise came from, attacks, remaps, rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet_studies.as_published.laplace import uniform_polar_excess
from discreet_studies.harness.report import number, table_of
from discreet_studies.harness.study import Estimate, Results
from discreet_studies.nd_laplace import published
from discreet_studies.nd_laplace.findings import column_where


def notes(results: Results) -> list[str]:
    """Return the tables, each with a sentence on how to read it."""
    text = [
        "## How the verdicts come about",
        "Most published figures come from one draw of noise. They count as reproduced if they lie where 95 % of "
        "further draws would by ours (Student's interval for one more draw, plus 0.01). About one in twenty falls "
        "outside by chance alone. The shadow forests' figures are means of 20 runs; they count as reproduced within "
        "both intervals together. A claim counts as reproduced if its interval lies on the claimed side of zero.",
    ]
    for part in (
        _artefact,
        _sampler,
        _pairs,
        _law,
        _records,
        _silhouette,
        _attacks,
        _equal,
        _remap,
        _boundary,
        _choices,
    ):
        text += part(results)
    return text


def _cell(estimate: Estimate) -> str:
    """A mean with its interval, or a dash."""
    if not estimate.runs:
        return "–"
    if estimate.runs == 1:
        return number(estimate.mean)
    return f"{estimate.mean:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _artefact(results: Results) -> list[str]:
    """The published rise over columns, fault by fault."""
    rows = []
    ways = (("lost", "published"), ("right", "published"), ("right", "right"))
    for epsilon in published.COLUMN_BUDGETS:
        for n in range(2, 8):
            found = [results.estimate("ami k-means", **column_where("seeds", f, s, n, epsilon)) for f, s in ways]
            cells = [number(published.SEEDS[epsilon][n - 2]), *(_cell(e) for e in found)]
            rows += [[str(n), f"{epsilon:g}", *cells]] if found[2].runs else []
    text = []
    if rows:
        head = ["columns", "ε", "published", "its sampler, its file", "its sampler, right file", "right noise and file"]
        first, words = published.COLUMN_BUDGETS[0], "AMI of k-means (K = 2; 5 in three columns)"
        text = [
            "## The published artefact: clusters that get better with every column",
            f"Seeds, ε = {first:g}, {words}:",
            table_of(head, [row for row in rows if row[1] == f"{first:g}"]),
            "The same at every ε:",
            table_of(head, rows),
        ]
    rows = []
    for n in (2, 4, 7, 10, 13):
        row = [str(n)]
        for epsilon in (3.0, 9.0):
            own = {"part": "columns", "set": "wine", "units": "box", "columns": n, "epsilon": epsilon}
            row += [_cell(results.estimate("ami k-means", **own, sampler=s)) for s in ("published", "right")]
        rows.append(row)
    head = ["columns", "ε = 3: its sampler", "ε = 3: right noise", "ε = 9: its sampler", "ε = 9: right noise"]
    words = "The same on another table: wine (scikit-learn's), every column in [-1, 1], AMI of k-means (K = 3):"
    return [*text, words, table_of(head, rows)] if rows[0][1] != "–" else text


def _sampler(results: Results) -> list[str]:
    rows = []
    for n in (2, 3, 5, 7, 10):
        own = {"part": "sampler", "columns": n}
        right = results.estimate("deviation 1", **own, sampler="right")
        if not right.runs:
            return []
        faulty = [results.estimate(f"deviation {j + 1}", **own, sampler="published").mean for j in range(n)]
        mean, up = (results.estimate(m, **own, sampler="published").mean for m in ("mean 1", "upwards 1"))
        shown = ", ".join(f"{value:.3f}" for value in faulty)
        rows.append([str(n), f"{right.mean:.3f}", f"{mean:.3f}", f"{100 * up:.0f} %", shown])
    head = ["columns", "right: deviation of every column", "published: mean of column 1", "upwards", "deviations"]
    return [
        "## The noise itself, ε = 1",
        "The right noise has mean 0 and a deviation of √(n+1)/ε in every column. The published code is right in two. "
        "In three it swaps the angles. From four on it takes the coordinates of a unit vector for angles: column 1 is "
        "always shifted upwards, the last ones are released nearly in clear. Its mean *distance* is still about n/ε, "
        "which is why a mean distance says nothing about privacy. The formula of the thesis for three columns, a polar "
        f"angle that is uniform, makes directions near a pole too likely: {uniform_polar_excess(0.1):.1f} times at 0.1 "
        f"radian, {uniform_polar_excess(0.01):.1f} times at 0.01, without end.",
        table_of(head, rows),
    ]


def _pairs(results: Results) -> list[str]:
    rows = []
    for n in (2, 3, 4, 5, 7, 10):
        own = {"part": "pair", "columns": n}
        found = [results.estimate("advantage", **own, sampler=s) for s in ("published", "right")]
        limits = [results.estimate(m, **own, sampler="right").mean for m in ("best", "bound")]
        if found[1].runs:
            rows.append([str(n), *(_cell(e) for e in found), *(number(x) for x in limits)])
    head = ["columns", "published sampler", "right noise", "best attack on right noise", "what ε allows"]
    words = "Two records one unit apart in the last column, ε = 1: advantage of an attacker who looks at that column."
    return ["## What the published noise gives away", words, table_of(head, rows)] if rows else []


def _law(results: Results) -> list[str]:
    levels = [x for x in results.seen("level") if results.estimate("best", part="law", level=x, columns=1).runs]
    rows = []
    for level in levels:
        found = [results.estimate("best", part="law", level=level, columns=n).mean for n in (1, 2, 3, 5, 7, 10)]
        bound = results.estimate("bound", part="law", level=level, columns=1).mean
        rows.append([f"{level:g}", number(bound), *(number(x) for x in found)])
    head = ["ε times distance", "what ε allows", "1 column", *(f"{n} columns" for n in (2, 3, 5, 7, 10))]
    words = "Largest advantage of any attacker who must distinguish two records (true minus false positives), exactly:"
    return ["## How well two records can be told apart", words, table_of(head, rows)] if rows else []


def _records(results: Results) -> list[str]:
    rows = []
    for epsilon in (0.05, 0.5, 2.0, 9.0):
        row = [f"{epsilon:g}"]
        for grid in (0, 10):
            own = {"part": "records", "grid": grid, "epsilon": epsilon}
            row += [_cell(results.estimate(m, **own)) for m in ("anybody's", "own")]
        rows.append(row)
    head = ["ε", "records: anybody's", "records: one's own", "and a 10 × 10 grid: anybody's", "one's own"]
    words = (
        "Fifty points in [-1, 1]², noisy points outside the data's box moved to the nearest raw record, or to the "
        "nearer of a record and a grid point: the share of outputs that are a raw record, digit for digit."
    )
    return ["## Remapping to records publishes records", words, table_of(head, rows)] if rows[0][1] != "–" else []


def _silhouette(results: Results) -> list[str]:
    rows = []
    for epsilon, figures in published.POINTS.items():
        own = {"part": "points", "units": "box", "epsilon": epsilon}
        found = [results.estimate(m, **own) for m in ("silhouette k-means", "ari k-means")]
        raw = results.estimate("ari k-means", **{**own, "units": "raw"})
        if found[0].runs:
            level = f"{epsilon * math.sqrt(8):.2f}"
            rows.append(
                [f"{epsilon:g}", level, f"{figures['silhouette k-means']:.3f}", *(_cell(e) for e in found), _cell(raw)]
            )
    head = [
        "ε",
        "ε times diameter of [-1, 1]²",
        "published silhouette",
        "silhouette",
        "ARI, columns in [-1, 1]",
        "ARI, own units",
    ]
    words = (
        "Silhouette of noisy points says how well the *noise* clusters: it is high where no cluster is found. And ε "
        "means nothing without a unit: the same ε on the same fifty points in their own units gives other clusters."
    )
    return ["## Two measures that mislead", words, table_of(head, rows)] if rows else []


def _attacks(results: Results) -> list[str]:
    text = []
    for by, name in (("rate", "ε per unit"), ("total", "ε times diameter")):
        rows = []
        for size in [x for x in results.seen("size") if results.estimate("error", part="attack", by=by, size=x).runs]:
            row = [f"{size:g}"]
            own = {"part": "attack", "set": "crowd", "by": by, "size": size}
            row += [_cell(results.estimate("advantage", **own, columns=n)) for n in (2, 3, 5, 9)]
            row += [number(results.estimate("error", **own, columns=n).mean) for n in (2, 3, 5, 9)]
            rows.append(row)
        head = [name, *(f"membership, {n} columns" for n in (2, 3, 5, 9)), *(f"error, {n}" for n in (2, 3, 5, 9))]
        text += [table_of(head, rows)] if rows else []
    if not text:
        return []
    words = (
        "People in four clusters of [-1, 1]ⁿ, right noise. Membership: advantage by the likelihood ratio. Error: mean "
        "distance of the best guess of a record, as a share of that made without its point."
    )
    return ["## Attacks on the right noise", words, *text, *_shape_attacks(results)]


def _shape_attacks(results: Results) -> list[str]:
    rows = []
    names = [n for n in results.seen("set") if results.estimate("error", part="attack", set=n, by="rate").runs]
    for name in (n for n in names if n != "crowd"):
        own = {"part": "attack", "set": name, "by": "rate", "columns": 2}
        row = [name]
        for size in (1.0, 3.0, 9.0, 27.0):
            row.append(_cell(results.estimate("advantage", **own, size=size)))
            row.append(number(results.estimate("error", **own, size=size).mean))
        rows.append(row)
    head = ["shape", *(h for e in (1, 3, 9, 27) for h in (f"membership, ε = {e}", f"error, ε = {e}"))]
    return ["The same by shape of the data, two columns:", table_of(head, rows)] if rows else []


def _equal(results: Results) -> list[str]:
    text: list[str] = []
    methods = [m for m in results.seen("mechanism") if m]
    for name, counts in (("seeds", (2, 4, 7)), ("wine", (2, 7, 13))):
        rows = []
        totals = sorted({s["total"] for s, _ in results.rows if s["part"] == "equal" and s["mechanism"] == "priv_unit"})
        for n in counts:
            for total in totals:
                own = {"part": "equal", "set": name, "columns": n, "total": total}
                found = [results.estimate("ami", **own, mechanism=m) for m in methods]
                if found[0].runs:
                    rows.append([f"{n}", f"{total:g}", *(_cell(e) for e in found)])
        if rows:
            text += [f"{name}:", table_of(["columns", "total ε", *methods], rows)]
    if not text:
        return []
    words = (
        "AMI of k-means after noise, columns in [-1, 1]; ε between any two rows is the same for all but the last "
        "column, which is what was published: all of ε on every column, n times as much for a row."
    )
    return ["## Rivals at equal total ε", words, *text]


def _remap(results: Results) -> list[str]:
    text: list[str] = []
    methods = results.seen("remap")
    for name in ("blobs", "crowd-5", "circle"):
        rows = []
        for epsilon in (1.0, 3.0, 5.0, 9.0):
            for method in methods:
                own = {"part": "remap", "set": name, "epsilon": epsilon, "remap": method}
                found = [results.estimate(m, **own) for m in ("error", "ami", "ari centres", "cost", "advantage")]
                if found[0].runs:
                    rows.append([f"{epsilon:g}", method, *(_cell(e) for e in found)])
        if rows:
            rows = [[row[1], row[0], *row[2:]] for row in rows]
            head = ["remap", "ε", "error", "AMI of labels", "ARI of centres", "cost of centres", "membership"]
            text += [f"{name}:", table_of(head, rows)]
    if not text:
        return []
    words = (
        "Error: mean distance of what is released from the record. Cost: sum of squares of raw records about the "
        "private centres, over that of the best centres. `resample` has half the rate, so that it costs the same ε; "
        "`noise-aware` releases the plain points and clusters them with the law of the noise (`DenoisingKMeans`)."
    )
    return ["## What becomes of noisy points", words, *text]


def _boundary(results: Results) -> list[str]:
    rows: list[Sequence[str]] = []
    for budget, name in (("none", "no noise"), (9.0, "ε = 9")):
        found = [results.estimate("advantage", part=part, epsilon=budget) for part in ("boundary", "forest")]
        if found[0].runs:
            rows.append([name, *(_cell(e) for e in found)])
    if not rows:
        return []
    words = (
        "The second hypothesis of the thesis: an attack by the distance to the decision boundary beats shadow models. "
        "Both on forests trained on cluster labels, 250 members and 250 others:"
    )
    return ["## Boundary or shadows", words, table_of(["members' noise", "boundary", "shadow forests"], rows)]


def _choices(results: Results) -> list[str]:
    """The parameters that a server has to choose on noisy points."""
    rows = []
    for n, budgets in ((2, (5.0, 10.0, 20.0)), (5, (20.0, 40.0))):
        for epsilon in budgets:
            own = {"part": "choose k", "columns": n, "epsilon": epsilon}
            ways = ("elbow", "silhouette", "likelihood")
            found = [results.values(f"right {way}", own) for way in ways]
            means = [results.estimate(way, **own).mean for way in ways]
            cells = [f"{sum(f.values()):.0f} of {len(f)}; {m:.1f}" for f, m in zip(found, means, strict=True)]
            rows += [[str(n), f"{epsilon:g}", f"{math.sqrt(n + 1) / epsilon:.2f}", *cells]] if found[0] else []
    if not rows:
        return []
    text = [
        "## Choosing the number of clusters on noisy points",
        "Tables of two to six clusters of deviation 0.06 in the unit cube, 500 rows, centres at least 0.3 apart. How "
        "often each way finds the number, and the mean of what it says (4 would be right). Elbow and silhouette are of "
        "k-means on the noisy points. Likelihood: the least `bic_` of `DenoisingKMeans`, which knows the noise.",
        table_of(["columns", "ε per unit", "noise per column", "elbow", "silhouette", "likelihood"], rows),
    ]
    rows = []
    wheres: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": "none", "units": "own"}, "none, own units"),
        ({"epsilon": "none", "units": "box"}, "none, standardised"),
        *(({"epsilon": e}, f"ε = {e:g}, standardised") for e in (9.0, 5.0, 1.0)),
    ]
    for where, name in wheres:
        row = [name]
        for radius in (0.9, 0.5, "k-distance"):
            own = {"part": "radius", "radius": radius, **where}
            clusters, ari = (results.estimate(m, **own) for m in ("clusters", "ari"))
            at = f", at {results.estimate('radius', **own).mean:.2f}" if radius == "k-distance" else ""
            row.append(f"{clusters.mean:.1f}; {ari.mean:.2f}{at}" if clusters.runs else "–")
        rows.append(row)
    return [
        *text,
        "## Choosing the radius of DBSCAN",
        "Fifty points, four neighbours: clusters found, and ARI against the four clusters of the raw points. The "
        "thesis prints the radius 0.9, its author's repository ran 0.5. 0.9 is right in the points' own units; after "
        "the scaling that the thesis prescribes it joins all points. The last column reads the radius off the "
        "k-distance plot of the points at hand, by its elbow.",
        table_of(["noise", "0.9 (printed)", "0.5 (run)", "k-distance"], rows),
    ]
