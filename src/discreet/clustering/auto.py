"""Which synopsis and which refinement for private k-means: a choice on public and noisy quantities only.

Public are the domain, the number of clusters and the budget; noisy, and paid for, are the number of rows and how much
of the domain is occupied. Nothing here sees the data, and nothing is tried out on them: a choice by result would be
one more release to pay for.

What decides is x = N ε / k, the rows of a cluster in units of the noise, and the number of axes.

- **Few axes**: a grid, sized by the RUGNIK rule (`synopses.grid_rules`), counts only, refined by a mixture fit. That
  rule takes clusters to fill the domain. When x is large enough, a coarse noisy histogram is bought to see whether they
  are tight instead: whether cells that stand out of the noise hold nearly all rows on a small share ρ of the domain.
  Then the rule's argument for the occupied part asks for the cells of K/ρ clusters, ρ^(-2/(4+d)) as many parts per
  axis, and noisy means of the cells are worth their price.
- **Many axes**: a grid that halves every axis has too many cells. PrivTree cuts where the rows are; with leaf means,
  few leaves do, so its structure gets a small share.

Where the constants come from: FAINT, the choice between counts and means, and the shares of the trees from generated
mixtures (``benchmarks/tune_auto.py``). PROBE_FROM, TIGHT_ROWS, TIGHT_DOMAIN and FINEST were set with the invented
patients and the public sets Birch2, Unbalance, S1, A1 and A3 in view, and have no script yet.
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
from discreet.noise import Generator
from discreet.synopses._publish import noise_scale
from discreet.synopses.grid_rules import least_parts, rugnik_root

#: Up to so many axes a grid resolves the clusters.
FEW_AXES = 3
#: Below this x noise outweighs the clusters: coarser cells by this factor, and no model to fit.
FAINT, FAINT_FACTOR = 10.0, 0.7
#: From this x on, a share of the budget buys a histogram of so many cells or fewer.
PROBE_FROM, PROBE_SHARE, PROBE_CELLS = 90.0, Fraction(1, 20), 144
#: Clusters are tight if cells above the noise hold at least this share of the rows on at most this share of the domain.
TIGHT_ROWS, TIGHT_DOMAIN = 0.95, 0.15
#: The most that tight clusters may refine the grid: parts per axis, times.
FINEST = 1.6
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
        The small share of the domain that tight clusters occupy, if they do; see `tight_share`.

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
    factor, tight = FAINT_FACTOR if x < FAINT else 1.0, occupied is not None
    if occupied is not None:
        factor = min(FINEST, occupied ** (-2 / (4 + d)))
    parts = round(factor * rugnik_root(n_rows, epsilon, d, n_clusters))
    parts = max(least_parts(n_clusters, d), min(parts, int((2**20) ** (1 / d))))
    settings = {"rule": parts, "n_clusters": n_clusters, **({"leaf_means": True} if tight else {})}
    if x < FAINT:
        return Choice("grid", settings, ("project",))
    if tight or parts**d * n_clusters > MIXTURE_WORK:
        return Choice("grid", settings, ("threshold",))
    return Choice("grid", settings, ("mixture",))


def wants_probe(n_rows: float, domain: Domain, n_clusters: int, epsilon: float) -> bool:
    """Tell whether it is worth its price to look for tight clusters."""
    plain = not any(isinstance(c, Categorical) for c in domain)
    return plain and len(domain) <= FEW_AXES and PROBE_FROM <= n_rows * epsilon / n_clusters < math.inf


def tight_share(source: Source, domain: Domain, n_rows: float, ledger: Ledger, stream: Generator) -> float | None:
    """Buy the answer to: do the rows sit on a small share of the domain, and how small? None if they do not.

    Privacy
    -------
    Neighbours: add or remove one row. A row is in one cell; discrete Laplace noise of scale 1/ε_p on every count of a
    coarse histogram costs ε_p = `PROBE_SHARE` of what the ledger has left (parallel over the cells). The answer is a
    function of the noisy counts.
    """
    price = ledger.spend("looking for tight clusters", ledger.remaining.exact * PROBE_SHARE, "parallel")
    parts = int(PROBE_CELLS ** (1 / len(domain)) + 1e-9)
    counts = source.count(GridMap(domain, parts)).dense()
    scale = noise_scale(1, price)
    noisy = counts + noise.discrete_laplace(scale, size=len(counts), rng=stream)
    seen = noisy > math.log(len(noisy)) * float(scale)  # about one empty cell in the whole histogram gets as far
    share = float(seen.mean())
    tight = noisy[seen].sum() >= TIGHT_ROWS * n_rows and 0 < share <= TIGHT_DOMAIN
    return share if tight else None
