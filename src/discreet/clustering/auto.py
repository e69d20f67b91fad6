"""Which synopsis and which refinement for private k-means: a choice on public and noisy quantities only.

Public are the domain, the number of clusters and the budget; noisy, and paid for, are the number of rows and how much
of the domain is occupied. Nothing here sees the data, and nothing is tried out on them: a choice by result would be
one more release to pay for.

What decides is x = N ε / k, the rows of a cluster in units of the noise, and the number of axes.

- **Few axes**: a grid, sized by the RUGNIK rule (`synopses.grid_rules`). That rule takes clusters to fill the domain;
  where they occupy a share ρ of it, the same argument for the occupied part asks for the cells of K/ρ clusters,
  ρ^(-2/(4+d)) as many parts per axis. ρ is bought with a coarse histogram when x is large enough for it to be seen. On
  tight clusters, narrower than a cell, noisy means of the cells are worth their price; otherwise counts are better.
- **Many axes**: a grid that halves every axis has too many cells. PrivTree cuts where the rows are; with leaf means,
  few leaves do, so its structure gets a small share.

The constants were tuned on generated mixtures: ``benchmarks/tune_auto.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet import noise
from discreet.domain import Categorical, Domain
from discreet.engines import GridMap, Source
from discreet.guarantee import Ledger
from discreet.noise import DiscreteLaplace, Generator
from discreet.synopses._publish import noise_scale
from discreet.synopses.grid_rules import least_parts, rugnik_root

#: Up to so many axes a grid resolves the clusters.
FEW_AXES = 3
#: Below this x noise outweighs the clusters: coarser cells by this factor, and no model to fit.
FAINT, FAINT_FACTOR = 10.0, 0.7
#: From this x on, a share of the budget buys the occupied share of the domain, on a grid of so many cells or fewer.
PROBE_FROM, PROBE_SHARE, PROBE_CELLS = 90.0, Fraction(1, 20), 144
#: The most the occupied share may refine the grid: parts per axis, times.
FINEST = 2.2
#: Below this occupied share clusters are tight, and cells get means.
TIGHT = 0.15
#: Above so many cells times clusters a mixture takes too long to fit.
MIXTURE_WORK = 400_000
#: Share of a tree's budget for its structure: with many axes means are dear and leaves should be few; with some, more
#: leaves pay, the more the fewer rows each cluster has. (Up to so many axes: from this x on, this share.)
SOME_AXES = 5
TREE_SHARES = ((100.0, 0.12), (30.0, 0.25), (0.0, 0.5))
TREE_SHARE = 0.06
DEEPEST = 40


@dataclass(frozen=True)
class Choice:
    """A method with its settings, and the refinement that goes with it.

    Examples
    --------
    >>> Choice("grid", {"rule": "rugnik"}, ("mixture",)).method
    'grid'
    """

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    refine: Any = "auto"


def choose(n_rows: float, domain: Domain, n_clusters: int, epsilon: float, occupied: float | None = None) -> Choice:
    """Choose a synopsis for k-means.

    Parameters
    ----------
    n_rows : float
        Noisy or public number of rows.
    domain : Domain
        The declared columns.
    n_clusters : int
        Number of clusters.
    epsilon : float
        What is left of the budget.
    occupied : float, optional
        Noisy share of the domain that holds rows; see `occupied_share`.

    Examples
    --------
    >>> choose(5000, Domain.box(0, [1, 1]), 15, 0.1)
    Choice(method='grid', settings={'rule': 16, 'n_clusters': 15}, refine=('mixture',))
    >>> choose(5000, Domain.box([0] * 12, 1), 5, 0.1).settings["partitioner"]
    'privtree'
    """
    d = len(domain)
    x = n_rows * epsilon / n_clusters
    if d > FEW_AXES:
        share = TREE_SHARE if d > SOME_AXES else next(s for least, s in TREE_SHARES if x >= least or least == 0)
        shares = (share, 0, 1 - share)
        settings = {"partitioner": "privtree", "max_depth": DEEPEST, "leaf_means": True, "shares": shares}
        return Choice("tree", {**settings, "n_clusters": n_clusters}, ("threshold",))
    if math.isinf(epsilon) or any(isinstance(c, Categorical) for c in domain):
        return Choice("grid", {"rule": "rugnik", "n_clusters": n_clusters}, ("mixture",))
    factor = FAINT_FACTOR if x < FAINT else 1.0
    tight = False
    if occupied is not None:
        factor = min(FINEST, occupied ** (-2 / (4 + d)))
        tight = occupied < TIGHT
    parts = round(factor * rugnik_root(n_rows, epsilon, d, n_clusters))
    parts = max(least_parts(n_clusters, d), min(parts, int((2**20) ** (1 / d))))
    settings = {"rule": parts, "n_clusters": n_clusters, **({"leaf_means": True} if tight else {})}
    if x < FAINT:
        return Choice("grid", settings, ("project",))
    if tight or parts**d * n_clusters > MIXTURE_WORK:
        return Choice("grid", settings, ("threshold",))
    return Choice("grid", settings, ("mixture",))


def wants_probe(n_rows: float, domain: Domain, n_clusters: int, epsilon: float) -> bool:
    """Tell whether the occupied share of the domain is worth its price."""
    plain = not any(isinstance(c, Categorical) for c in domain)
    return plain and len(domain) <= FEW_AXES and PROBE_FROM <= n_rows * epsilon / n_clusters < math.inf


def occupied_share(source: Source, domain: Domain, ledger: Ledger, stream: Generator) -> float:
    """Buy an estimate of the share of the domain that holds rows.

    (Σ n)² / (cells Σ n²), the participation ratio of a coarse histogram: 1 if all cells hold the same, 1/cells if one
    holds everything. Sums are of noisy counts, the second less the variance of the noise.

    Privacy
    -------
    Neighbours: add or remove one row. A row is in one cell; discrete Laplace noise of scale 1/ε_p on every count
    costs ε_p = `PROBE_SHARE` of what the ledger has left (parallel over the cells).
    """
    price = ledger.spend("occupied share of the domain", ledger.remaining.exact * PROBE_SHARE, "parallel")
    parts = int(PROBE_CELLS ** (1 / len(domain)) + 1e-9)
    counts = source.count(GridMap(domain, parts)).dense()
    scale = noise_scale(1, price)
    noisy = counts + noise.discrete_laplace(scale, size=len(counts), rng=stream)
    squares = float((noisy.astype(float) ** 2).sum()) - len(noisy) * DiscreteLaplace(scale).variance
    total = float(noisy.sum())
    if total <= 0 or squares <= 0:
        return 1.0
    return min(1.0, max(1 / len(noisy), total**2 / (len(noisy) * squares)))
