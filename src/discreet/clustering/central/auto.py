"""Which synopsis and which refinement for private k-means: a choice on public and noisy quantities only.

Public are the domain, the number of clusters and the budget; noisy, and paid for, are the number of rows and how much
of the domain is occupied. Nothing here sees the data, and nothing is tried out on them: a choice by result would be
one more release to pay for.

What decides is the number of axes and x = N ε / k, the rows of a cluster in units of the noise.

- **Few axes**: a grid, sized by the RUGNIK rule (`synopses.grid_rules`), counts only, refined by a mixture fit. That
  rule takes clusters to fill the domain. When x is large enough, a coarse noisy histogram is bought to see whether they
  are tight instead: whether cells that stand out of the noise hold nearly all rows on a small share of the domain.
  Then noisy means of the cells are worth their price, and the rule's argument for the occupied part asks for finer
  cells.
- **Many axes**: a grid that halves every axis has too many cells, and the middle of a cell says little of the rows in
  it: what counts is means. A mean pays from sqrt((d + 2)(d + 3)/3)/β rows times ε on (`rows_for_a_mean`); z is x over
  that. While z is small, structure is not worth its price: a few axes are halved, so that there are some cells for each
  cluster, and every cell publishes its mean. Beyond, PrivTree cuts where the rows are; with leaf means few leaves do,
  so its structure gets a small share. A tree is read for level after level, so that of a **large** table stays shallow,
  or is a grid with means where rows suffice for a fine one.
- **Still more axes**: no box sees anything. Rows are projected to few axes, at random, groups are found there, and
  means of the groups are bought in all dimensions (`lift.py`), where a cluster has rows for them. With fewer it is
  bought how far rows lie from the middle of the domain: if they fill much of it, boxes as above do less harm, and if
  not, more, as their noise is that of the domain. With a δ x is that of the pure ε whose noise on a mean is as strong.

The constants were chosen on generated tables by ``benchmarks/tuning/auto.py`` (those of projections by
``benchmarks/tuning/lift.py``), which prints what they rest on. One was
not settled by it: TIGHT_FACTOR, where the generated tables cannot tell 0.7 to 1.6 apart. The argument above asks for
more than 1.6, and that 1.6 does well on the public set Birch2 was known when it was taken. COARSE comes from the study
optimal-grid. MIXTURE_WORK, PROBE_CELLS, MANY_ROWS, BROAD_CELLS and DEEPEST bound time and memory.

The refinement follows one rule, `refinement`, whether the synopsis is about to be made (`choose`) or is there already,
made by whomever (`refinement_for`).
"""

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Categorical, Domain, checks
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines import GridMap, Source
from discreet.mechanisms import Gate
from discreet.synopses import TYPICAL_OFFSET, Synopsis, rate_of
from discreet.synopses.grid import least_parts, rugnik_root
from discreet.synopses.tree import tie_order

#: Up to this many axes a grid resolves the clusters.
FEW_AXES = 3
#: Below this x noise outweighs the clusters: no model to fit.
FAINT = 20.0
#: From this x on counts speak for themselves, and what a model assumes does more harm than noise.
CLEAR = 1000.0
#: With fewer parts to an axis a component's shape is not to be seen, and a mixture does worse than the cells themselves
#: (study optimal-grid: two to five times with two or three parts; generated tables: up to 1.2 times).
COARSE = 5
#: From this x on, a share of the budget buys a histogram, with this many cells or, if this many rows (times what it
#: cost) are left to a cell, up to this many for each cluster.
PROBE_FROM, PROBE_SHARE = 90.0, Fraction(1, 10)
PROBE_CELLS, PROBE_ROWS, PROBE_CELLS_PER_CLUSTER = 144, 1.0, 16
#: Clusters are tight if cells above the noise hold at least this share of the rows on at most this share of the domain.
TIGHT_ROWS, TIGHT_DOMAIN = 0.95, 0.15
#: For tight clusters: the parts per axis times this many. The argument for an occupied share ρ asks
#: for ρ^(-2/(4+d)) as many parts: 1.7 or more for ρ up to `TIGHT_DOMAIN` and three axes.
TIGHT_FACTOR = 1.6
#: Above this many cells times clusters a mixture takes too long to fit.
MIXTURE_WORK = 400_000
#: Many axes: up to this z a coarse grid with means, of this many cells for each cluster; a tree from there on
#: (``benchmarks/tuning/rich.py``). On the axes of a projection either will do (``lift.py`` there).
RICH, RICH_ON_AXES, CELLS_PER_CLUSTER = 6.0, 12.0, 8
#: Share of a tree's budget for its structure: with more axes means are dearer, and leaves should be fewer.
SOME_AXES, SOME_AXES_SHARE, TREE_SHARE = 5, 0.12, 0.06
DEEPEST = 40
#: From this many rows on a tree takes too long, as it reads them for every few levels. A grid with means, read once for
#: counts and once for sums, is as good if each axis has this many parts or more, each cell having (if evenly filled)
#: this many times the rows that a mean needs. If not, a tree of fewer levels, and of no more leaves than so many rows
#: have: the share for its structure falls as their number grows.
MANY_ROWS, BROAD, ROWS_PER_CELL, BROAD_CELLS = 4e6, 5, 3.0, 2**16
SHALLOW = 24
#: From this many axes on, a projection (`lift.py`), where z is this large; with few axes, this over their number; and
#: with Gaussian noise this (of z by `like_pure`).
MANY_AXES, LIFT_FROM, LIFT_AXES, LIFT_FROM_GAUSSIAN = 12, 2.0, 64, 0.1
#: With smaller z too, where rows are within this part of half the domain's diagonal, of its middle or of 0.
NARROW = 0.45


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

    def words(self, n_axes: int) -> str:
        """Say what it is."""
        if self.method == "lift":
            return "groups on the axes of a random projection, with their means in all columns"
        if self.method == "tree":
            return f"a {self.settings['partitioner']} tree with means of its leaves"
        rule = self.settings["rule"]
        if not isinstance(rule, int):
            return f"a coarse grid of {math.prod(rule):,} cells with their means"
        return f"a grid of {' x '.join([str(rule)] * n_axes) if n_axes <= FEW_AXES else f'{rule**n_axes:,}'} cells"


def choose(
    n_rows: float,
    domain: Domain,
    n_clusters: int,
    price: Price | float,
    tight: bool = False,
    *,
    narrow: bool = False,
) -> Choice:
    """Choose a synopsis for k-means.

    Parameters
    ----------
    n_rows : float
        Noisy or public number of rows.
    domain : Domain
        The declared columns.
    n_clusters : int
        Number of clusters.
    price : float, Epsilon or Rho
        What is left of the budget, per row; a float is an ε.
    tight : bool, default False
        Whether clusters are known to occupy a small part of the domain; see `finds_tight`.
    narrow : bool, default False
        Of many columns: whether rows are known to lie near the middle of the domain; see `NARROW`.

    Examples
    --------
    >>> choose(5000, Domain.box(0, [1, 1]), 15, Epsilon(1) / 10)
    Choice(method='grid', settings={'rule': 16, 'n_clusters': 15}, refine=('mixture',))
    >>> choose(2000, Domain.box([0] * 6, 1), 4, Epsilon(1) / 10).settings["rule"]
    [2, 2, 2, 1, 2, 2]
    >>> choose(50_000, Domain.box([0] * 11, 1), 5, Epsilon(1) / 10).settings["partitioner"]
    'privtree'
    >>> choose(1e8, Domain.box([0] * 4, 1), 8, Epsilon(1)).settings["rule"]  # two reads of the rows
    16
    >>> choose(50_000, Domain.box([0] * 100, 1), 5, Epsilon(1) / 10).method
    'lift'
    """
    price = price if isinstance(price, (Epsilon, Rho)) else Epsilon(checks.budget("epsilon", price))
    like = like_pure(price, len(domain))
    if may_lift(domain) and like < math.inf and (narrow or has_rows_to_lift(n_rows, domain, n_clusters, price)):
        return Choice("lift", {"n_clusters": n_clusters})
    return boxes(n_rows, domain, n_clusters, like, tight)


def boxes(
    n_rows: float, domain: Domain, n_clusters: int, epsilon: float, tight: bool = False, rich: float | None = None
) -> Choice:
    """Choose a synopsis of boxes, as `choose` does for few axes or few rows; ``rich`` in the place of `RICH`."""
    d = len(domain)
    x = n_rows * epsilon / n_clusters
    plain = not any(isinstance(c, Categorical) for c in domain)
    if d > FEW_AXES:
        large = n_rows >= MANY_ROWS
        # A cell for missing values on every axis would multiply the cells.
        whole = is_whole(domain)
        if whole and x < (RICH if rich is None else rich) * rows_for_a_mean(d):
            parts = coarse_parts(domain, CELLS_PER_CLUSTER * n_clusters)
            steps = refinement(x, n_axes=d, parts=min(parts), work=math.prod(parts) * n_clusters, means=True)
            return Choice("grid", {"rule": parts, "n_clusters": n_clusters, "leaf_means": True}, steps)
        if whole and large and (each := broad_parts(n_rows, d, epsilon)) >= BROAD:
            steps = refinement(x, n_axes=d, parts=each, work=each**d * n_clusters, means=True)
            return Choice("grid", {"rule": each, "n_clusters": n_clusters, "leaf_means": True}, steps)
        share = SOME_AXES_SHARE if d <= SOME_AXES else TREE_SHARE
        share *= min(1.0, MANY_ROWS / max(n_rows, 1.0))
        shares = (share, 0, 1 - share)
        depth = SHALLOW if large else DEEPEST
        settings = {"partitioner": "privtree", "max_depth": depth, "leaf_means": True, "shares": shares}
        # With means the rule needs no more than that it is a tree.
        steps = refinement(x, n_axes=d, parts=COARSE, work=0, means=True, tree=True)
        return Choice("tree", {**settings, "n_clusters": n_clusters}, steps)
    if math.isinf(epsilon) or not plain:
        by_result: Any = ("mixture",) if math.isinf(epsilon) else "auto"
        return Choice("grid", {"rule": "rugnik", "n_clusters": n_clusters}, by_result)
    wanted = round((TIGHT_FACTOR if tight else 1.0) * rugnik_root(n_rows, epsilon, d, n_clusters))
    each = max(least_parts(n_clusters, d), min(wanted, int((2**20) ** (1 / d))))
    settings = {"rule": each, "n_clusters": n_clusters, **({"leaf_means": True} if tight else {})}
    steps = refinement(x, n_axes=d, parts=each, work=each**d * n_clusters, means=tight)
    return Choice("grid", settings, steps)


def is_whole(domain: Domain) -> bool:
    """Tell whether every row that counts has a number on every axis."""
    return not any(isinstance(c, Categorical) or c.missing == "own" for c in domain)


def may_lift(domain: Domain) -> bool:
    """Tell whether a table has so many axes that a projection is to be thought of."""
    return len(domain) >= MANY_AXES and is_whole(domain)


def has_rows_to_lift(n_rows: float, domain: Domain, n_clusters: int, price: Price) -> bool:
    """Tell whether a cluster has rows for a projection, wherever they lie.

    Without, in ρ, there are so few that boxes are a coarse grid, never a tree, whose rule is written for pure ε.

    Examples
    --------
    >>> [has_rows_to_lift(n, Domain.box([0] * 40, 1), 8, Epsilon(1) / 2) for n in (600, 6000)]
    [False, True]
    """
    d = len(domain)
    z = n_rows * like_pure(price, d) / n_clusters / rows_for_a_mean(d)
    return z >= (LIFT_FROM_GAUSSIAN if isinstance(price, Rho) else max(LIFT_FROM, LIFT_AXES / d))


def on_axes(n_rows: float, domain: Domain, n_groups: int, price: Price) -> tuple[Choice, bool]:
    """Choose a synopsis for the axes of a projection, and tell whether its noise is Gaussian.

    In ρ a grid has Gaussian noise, and is weighed at the ε whose noise on a mean would be as strong; a
    tree's rule is written for Laplace noise, at √(2ρ).

    Examples
    --------
    >>> [on_axes(50_000, Domain.box([0] * 10, 1), 25, price(Fraction(1, 500)))[1] for price in (Rho, Epsilon)]
    [True, False]
    """
    like = like_pure(price, len(domain))
    chosen = boxes(n_rows, domain, n_groups, like, rich=RICH_ON_AXES)
    # Axes of a projection have rows about their middle, and bounds that were bought: the middles of boxes will do.
    chosen = replace(chosen, refine=tuple(step for step in chosen.refine if step != "means"))
    return chosen, chosen.method == "grid" and isinstance(price, Rho)


def like_pure(price: Price, n_axes: int) -> float:
    """Return the ε at which the noise of a mean is that of a price, at least what the price buys of pure ε.

    (d + 2)(d + 3)/(3 ε²) for max-norm noise, (d + 1)/(2ρ) for Gaussian noise.
    """
    pure = price.pure().shown
    if isinstance(price, Epsilon):
        return pure
    return max(pure, math.sqrt((n_axes + 2) * (n_axes + 3) / 3 * 2 * price.shown / (n_axes + 1)))


def refinement(
    x: float, *, n_axes: int, parts: int, work: int, means: bool = False, tree: bool = False
) -> tuple[str, ...]:
    """Return the steps that suit a synopsis: the one rule for all of them.

    Parameters
    ----------
    x : float
        Rows times ε for each cluster.
    n_axes : int
        Number of axes to cluster on.
    parts : int
        The fewest parts into which one of them is cut; axes that are not cut do not count.
    work : int
        Leaves times clusters.
    means : bool, default False
        Whether leaves publish means.
    tree : bool, default False
        Whether there are counts above the leaves.

    Examples
    --------
    >>> refinement(400, n_axes=2, parts=16, work=4000), refinement(400, n_axes=2, parts=3, work=135)
    (('mixture',), ('project',))
    """
    if means:  # the place of a leaf is measured: a model of its shape has nothing to add
        first = ("means",) if n_axes > FEW_AXES and not math.isinf(x) else ()  # boxes are wide there
        return (*first, "project") if not tree and (n_axes > FEW_AXES or x < FAINT) else (*first, "threshold")
    first = ("consistent",) if tree else ()
    if math.isinf(x):
        return (*first, "mixture")  # which takes counts without noise as they are
    if x < FAINT or parts < COARSE:
        return (*first, "project")
    return (*first, "threshold" if work > MIXTURE_WORK or x >= CLEAR else "mixture")


def refinement_for(synopsis: Synopsis, n_clusters: int) -> tuple[str, ...]:
    """Return the steps that suit a released synopsis, by what it says of itself.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> made = [dc.GridSynopsis(1.0, data.domain, parts).fit(data.X).synopsis_ for parts in (3, 20)]
    >>> [refinement_for(synopsis, 3) for synopsis in made]
    [('project',), ('mixture',)]
    """
    if synopsis.hidden is not None or not synopsis.n_leaves:
        return ("threshold",)  # what is not listed can be neither fitted nor made to add up
    rate = rate_of(float(np.median(synopsis.variances)))
    # Both ends of a box as one complex number: pairs are sorted ten times faster than rows of two.
    cells = [
        len(np.unique(np.column_stack([a, b])[~np.isnan(a)].view(np.complex128)))
        for a, b in zip(synopsis.lower.T, synopsis.upper.T, strict=True)
    ]
    middles = (synopsis.upper - synopsis.lower) / 2 + synopsis.lower
    return refinement(
        synopsis.total * rate / n_clusters if synopsis.total > 0 else 0.0,
        n_axes=len(cells),
        parts=min((c for c in cells if c > 1), default=1),
        work=synopsis.n_leaves * n_clusters,
        means=not np.array_equal(synopsis.points, middles, equal_nan=True),
        tree=synopsis.tree is not None,
    )


def rows_for_a_mean(n_axes: int) -> float:
    """Return how many rows, times ε, outweigh the noise of their mean: sqrt((d + 2)(d + 3)/3)/β (spec 9.9).

    Examples
    --------
    >>> round(rows_for_a_mean(10), 1)
    28.8
    """
    return math.sqrt((n_axes + 2) * (n_axes + 3) / 3) / TYPICAL_OFFSET


def rich_depth(n_rows: float, n_axes: int, epsilon: float) -> int:
    """Return the depth of the deepest binary tree all of whose leaves have rows for a mean, if evenly filled.

    Examples
    --------
    >>> rich_depth(20_000, 10, 0.1)
    6
    """
    return max(1, math.floor(math.log2(max(n_rows * epsilon / rows_for_a_mean(n_axes), 1.0))))


def coarse_parts(domain: Domain, n_cells: int) -> list[int]:
    """Return parts per axis of a grid of about that many cells: axes are cut in two, then in three, the widest first.

    Equally wide ones come in the order of a public hash of their names. A last cut is made if it brings the number of
    cells nearer, in proportion.

    Examples
    --------
    >>> sorted(coarse_parts(Domain.box([0] * 5, 1), 8))
    [1, 1, 2, 2, 2]
    """
    widths = domain.high - domain.low
    order = sorted(tie_order(domain).tolist(), key=lambda j: -widths[j])
    parts = [1] * len(domain)
    for j in itertools.cycle(order):
        if math.prod(parts) * math.sqrt((parts[j] + 1) / parts[j]) > n_cells:
            return parts
        parts[j] += 1
    return parts


def broad_parts(n_rows: float, n_axes: int, epsilon: float, rows_per_cell: float = ROWS_PER_CELL) -> int:
    """Return into how many parts rows are enough to cut every axis, if each cell is to have so many for its mean.

    Examples
    --------
    >>> broad_parts(1e8, 4, 1.0), broad_parts(1e8, 8, 1.0)
    (16, 4)
    """
    cells = min(n_rows * epsilon / (rows_per_cell * rows_for_a_mean(n_axes)), BROAD_CELLS)
    return max(1, int(max(cells, 1.0) ** (1 / n_axes) + 1e-9))


def wants_probe(n_rows: float, domain: Domain, n_clusters: int, epsilon: float) -> bool:
    """Tell whether it is worth its price to look for tight clusters."""
    plain = not any(isinstance(c, Categorical) for c in domain)
    return plain and len(domain) <= FEW_AXES and PROBE_FROM <= n_rows * epsilon / n_clusters < math.inf


def finds_tight(source: Source, domain: Domain, n_rows: float, n_clusters: int, gate: Gate) -> bool:
    """Publish the answer to: do nearly all rows sit on a small share of the domain?

    Privacy
    -------
    Neighbours: add or remove one row. A row is in one cell; discrete Laplace noise of scale 1/ε_p on every count of a
    coarse histogram costs ε_p = `PROBE_SHARE` of what is left (parallel over the cells). Its size follows
    from ε_p, the noisy number of rows and the number of clusters; the answer is a function of the noisy counts.
    """
    price = gate.left.pure() * PROBE_SHARE
    wanted = min(PROBE_CELLS_PER_CLUSTER * n_clusters, n_rows * price.shown / PROBE_ROWS)
    parts = int(max(PROBE_CELLS, wanted) ** (1 / len(domain)) + 1e-9)
    counts = gate.counts("looking for tight clusters", lambda: source.count(GridMap(domain, parts)).dense(), price)
    noisy = counts.values
    seen = noisy > math.log(len(noisy)) * float(
        counts.law.scale
    )  # about one empty cell in the whole histogram gets as far
    return bool(noisy[seen].sum() >= TIGHT_ROWS * n_rows and 0 < seen.mean() <= TIGHT_DOMAIN)
