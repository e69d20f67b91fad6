"""The synopsis and the refinement for private k-means, chosen by public and noisy quantities only.

Public are the domain, the number of clusters and the budget. Noisy, and paid for, are the number of rows and how much
of the domain is occupied. What decides is the number of axes and x = N ε / k, the rows of a cluster in units of noise:
a RUGNIK grid refined by a mixture for few axes (with means, and finer, if a noisy histogram shows tight clusters); for
more axes cells with means on a coarse grid or, with more rows, a PrivTree; for a dozen or more a projection
(`lift.py`). The constants were chosen on generated tables (``benchmarks/tuning/auto.py`` and ``lift.py``; COARSE in the
study optimal-grid; TIGHT_FACTOR knowing the public set Birch2); some bound time and memory.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.clustering.leaves.columns import distance_units
from discreet.clustering.leaves.mixture import MIXTURE_WORK
from discreet.core import Categorical, Domain, FloatArray, IntArray, checks
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines import GridMap, Source
from discreet.engines.passes import NORM_CELLS, REACH, Groups, Lattice, NormMap, batch_rows
from discreet.mechanisms import Gate
from discreet.synopses import TYPICAL_OFFSET, Synopsis, rate_of
from discreet.synopses.boxes.grid import least_parts, rugnik_root
from discreet.synopses.boxes.tree import tie_order

#: Most axes on which a grid resolves the clusters.
FEW_AXES = 3
#: Below this x noise outweighs the clusters: no model to fit.
FAINT = 20.0
#: From this x on counts are clear, and the assumptions of a model do more harm than noise.
CLEAR = 1000.0
#: With fewer parts per axis the shape of a component is not visible, and a mixture does worse than the cells themselves
#: (study optimal-grid: two to five times with two or three parts; generated tables: up to 1.2 times).
COARSE = 5
#: From the first x on, this share of the budget pays for a histogram.
PROBE_FROM, PROBE_SHARE = 90.0, Fraction(1, 10)
#: Its cells; with enough rows per cell (times its price), more for each cluster.
PROBE_CELLS, PROBE_ROWS, PROBE_CELLS_PER_CLUSTER = 144, 1.0, 16
#: Clusters are tight if cells above the noise hold at least this share of the rows on at most this share of the domain.
TIGHT_ROWS, TIGHT_DOMAIN = 0.95, 0.15
#: Factor on the parts per axis for tight clusters. The argument for an occupied share ρ asks for ρ^(-2/(4+d)) as many
#: parts: 1.7 or more for ρ up to `TIGHT_DOMAIN` and three axes.
TIGHT_FACTOR = 1.6
#: With more axes: a coarse grid with means up to this z, with so many cells per cluster, and a tree from there on
#: (``benchmarks/tuning/rich.py``). On the axes of a projection both do equally well. From `MANY_AXES` on a grid has no
#: more cells than have rows for a mean of their own (times CELLS_PER_MEAN), nor than x²/d (times CELLS_FOR_ROWS), with
#: x the means that all rows have rows for: a cut shows one axis of d and adds noise to all. With a single cell the
#: release is one private mean (``tuning/few.py``).
RICH, RICH_ON_AXES, CELLS_PER_CLUSTER, CELLS_PER_MEAN, CELLS_FOR_ROWS = 6.0, 12.0, 8, 1.0, 4.0
#: Share of a tree's budget for its structure: with more axes means cost more, and leaves should be fewer.
SOME_AXES, SOME_AXES_SHARE, TREE_SHARE = 5, 0.12, 0.06
DEEPEST = 40
#: From `MANY_ROWS` on a tree takes too long, because it reads the rows for every few levels. A grid with means, read
#: twice, is as good with at least `BROAD` parts per axis and `ROWS_PER_CELL` times the rows that a mean needs in each
#: cell. Otherwise the tree has fewer levels, and the share for its structure falls as the number of rows grows.
#: It pays at least `LEAST_STRUCTURE`, or its noise could not be drawn: noise alone can look like very many rows.
MANY_ROWS, BROAD, ROWS_PER_CELL, BROAD_CELLS, LEAST_STRUCTURE = 4e6, 5, 3.0, 2**16, 1e-9
SHALLOW = 24
#: A projection (`lift.py`) from `MANY_AXES` on, if z is at least `LIFT_FROM`, or `LIFT_AXES` over the number of axes if
#: that is more; with Gaussian noise a smaller z is enough (by `like_pure`).
MANY_AXES, LIFT_FROM, LIFT_AXES, LIFT_FROM_GAUSSIAN = 12, 2.0, 256, 0.1
#: Where most rows are, by noisy counts (`parts_of`): within the first part of half the domain's diagonal from its
#: middle or from 0 (narrow), within the second from the middle, or nearer to 0 than to the middle. Then less z will do
#: for a projection, whose noise follows from a ball smaller than the domain, and for a tree, as a grid has most rows in
#: few cells. Near 0 a tree is also better with more axes, up to a number of them and from x on (``tuning/few.py``).
NARROW, AROUND = 0.3, 0.45
LIFT_WHERE = {"narrow": 0.2, "around middle": 0.15, "near zero": 0.5}
RICH_WHERE = {"narrow": 0.1, "near zero": 0.5}
TREE_AXES, TREE_FROM = 35, 5.0
#: Counts with fewer rows, times their price, do not show where rows are. 0 must be as far from the middle.
SEEN, FAR_ZERO = 3.0, 0.7
#: What they cost if the number of rows is public, and how many there are.
PARTS_SHARE, N_PARTS = Fraction(3, 100), 4


@dataclass(frozen=True)
class Choice:
    """A method with its settings, and the refinement that goes with it."""

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
    n_rows: float, domain: Domain, n_clusters: int, price: Price | float, tight: bool = False, *, where: str = ""
) -> Choice:
    """Choose a synopsis for k-means.

    ``n_rows`` is noisy or public; ``price`` is what is left for one row (a float is an ε). ``tight`` says that clusters
    occupy a small part of the domain (`finds_tight`), ``where`` in which part of it most rows are (`most_rows`).
    """
    price = price if isinstance(price, (Epsilon, Rho)) else Epsilon(checks.budget("epsilon", price))
    like = like_pure(price, len(domain))
    if may_lift(domain) and like < math.inf and has_rows_to_lift(n_rows, domain, n_clusters, price, where):
        return Choice("lift", {"n_clusters": n_clusters})
    return boxes(n_rows, domain, n_clusters, like, tight, where=where)


def boxes(
    n_rows: float, domain: Domain, n_clusters: int, epsilon: float, tight: bool = False, rich: float | None = None,
    where: str = "",
) -> Choice:  # fmt: skip
    """Choose a synopsis of boxes, as `choose` does for few axes or few rows; ``rich`` in the place of `RICH`."""
    d = len(domain)
    x = n_rows * epsilon / n_clusters
    plain = not any(isinstance(c, Categorical) for c in domain)
    if d > FEW_AXES:
        large = n_rows >= MANY_ROWS
        # A cell for missing values on every axis would multiply the cells.
        whole = is_whole(domain)
        if whole and not is_rich(x / rows_for_a_mean(d), d, n_clusters, rich, where):
            n_cells: float = CELLS_PER_CLUSTER * n_clusters
            if rich is None and d >= MANY_AXES:
                means = x / rows_for_a_mean(d) * n_clusters
                n_cells = min(n_cells, max(1.0, min(CELLS_PER_MEAN * means, CELLS_FOR_ROWS * means**2 / d)))
            parts = coarse_parts(domain, n_cells)
            steps = refinement(x, n_axes=d, parts=min(parts), work=math.prod(parts) * n_clusters, means=True)
            return Choice("grid", {"rule": parts, "n_clusters": n_clusters, "leaf_means": True}, steps)
        if whole and large and (each := broad_parts(n_rows, d, epsilon)) >= BROAD:
            steps = refinement(x, n_axes=d, parts=each, work=each**d * n_clusters, means=True)
            return Choice("grid", {"rule": each, "n_clusters": n_clusters, "leaf_means": True}, steps)
        share = SOME_AXES_SHARE if d <= SOME_AXES else TREE_SHARE
        share *= max(min(1.0, MANY_ROWS / max(n_rows, 1.0)), min(1.0, LEAST_STRUCTURE / epsilon))
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
    """Return whether every row that counts has a number on every axis."""
    return not any(isinstance(c, Categorical) or c.missing == "own" for c in domain)


def may_lift(domain: Domain) -> bool:
    """Return whether a table has so many axes that a projection is to be thought of."""
    return len(domain) >= MANY_AXES and is_whole(domain)


def is_rich(z: float, n_axes: int, n_clusters: int, rich: float | None, where: str) -> bool:
    """Return whether a tree is better than a coarse grid."""
    if rich is not None:
        return z >= rich
    if n_axes < MANY_AXES:
        return z >= RICH * RICH_WHERE.get(where, 1.0)
    return z >= RICH or (where == "near zero" and n_axes < TREE_AXES and z * n_clusters >= TREE_FROM)


def has_rows_to_lift(n_rows: float, domain: Domain, n_clusters: int, price: Price, where: str = "") -> bool:
    """Return whether a cluster has rows for a projection."""
    d = len(domain)
    z = n_rows * like_pure(price, d) / n_clusters / rows_for_a_mean(d)
    if isinstance(price, Rho):
        return z >= LIFT_FROM_GAUSSIAN
    return z >= max(LIFT_FROM, LIFT_AXES / d) * LIFT_WHERE.get(where, 1.0)


def parts_of(domain: Domain, scale: str) -> Callable[[Source], IntArray] | None:
    """Return what counts narrow rows, others around the middle, elsewhere and near 0; for more than `FEW_AXES` only."""
    if len(domain) <= FEW_AXES or not is_whole(domain):
        return None
    lattice = Lattice(domain, distance_units(domain, scale))
    zero = lattice.points(np.zeros((1, len(domain))))
    # In a domain about 0 it says nothing to be near it.
    far = np.linalg.norm(zero) >= FAR_ZERO * REACH
    places = np.concatenate([np.zeros_like(zero), zero]) if far else np.zeros_like(zero)
    norms = NormMap(Groups(lattice, places), by_group=True)
    near, around = (int(part * NORM_CELLS / 2) for part in (NARROW, AROUND))

    def read(source: Source) -> IntArray:
        found = source.count(norms, batch_size=batch_rows(len(domain)))
        group, length = found.cells // NORM_CELLS, found.cells % NORM_CELLS
        part = np.where(length < near, 0, np.where(group == 1, 3, np.where(length < around, 1, 2)))
        return np.bincount(part, found.counts, N_PARTS).astype(np.int64)

    return read


def most_rows(parts: FloatArray, n_rows: float, variance: float) -> str:
    """Return where most rows are by the noisy counts of `parts_of`; nothing if noise hides it. Post-processing."""
    if n_rows <= 0 or n_rows < SEEN * math.sqrt(variance / 2):
        return ""
    narrow, around, _, zero = parts / n_rows
    held = {"narrow": narrow, "around middle": narrow + around, "near zero": narrow + zero}
    return next((name for name, share in held.items() if share >= 0.5), "")


def on_axes(n_rows: float, domain: Domain, n_groups: int, price: Price) -> tuple[Choice, bool]:
    """Choose a synopsis for the axes of a projection, and return whether its noise is Gaussian.

    In ρ a grid has Gaussian noise, weighed at the ε whose noise on a mean is as strong; a tree has Laplace noise, at
    √(2ρ).
    """
    like = like_pure(price, len(domain))
    chosen = boxes(n_rows, domain, n_groups, like, rich=RICH_ON_AXES)
    # Axes of a projection have rows about their middle, and noisy bounds: the middles of boxes will do.
    chosen = replace(chosen, refine=tuple(step for step in chosen.refine if step != "means"))
    return chosen, chosen.method == "grid" and isinstance(price, Rho)


def like_pure(price: Price, n_axes: int) -> float:
    """Return the ε at which the noise of a mean is that of a price, at least the pure ε of the price.

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

    ``x`` is rows times ε per cluster, ``parts`` the fewest parts of an axis that was split, ``work`` leaves times
    clusters. ``means`` says that leaves publish means, ``tree`` that there are counts above the leaves.
    """
    if means:  # the place of a leaf is measured: a model of its shape has nothing to add
        first = ("means",) if n_axes > FEW_AXES and not math.isinf(x) else ()  # boxes are wide there
        return (*first, "project") if not tree and (n_axes > FEW_AXES or x < FAINT) else (*first, "threshold")
    first = ("consistent",) if tree else ()
    if math.isinf(x):
        return (*first, "mixture")  # which takes counts without noise as they are
    if x < FAINT or parts < COARSE:
        return (*first, "project")
    return (*first, "threshold" if work > MIXTURE_WORK or x >= CLEAR else "checked")


def refinement_for(synopsis: Synopsis, n_clusters: int) -> tuple[str, ...]:
    """Return the steps that suit a released synopsis, by what it says of itself."""
    if synopsis.hidden is not None or not synopsis.n_leaves:
        return ("threshold",)  # what is not listed can be neither fitted nor made to add up
    rate = rate_of(float(np.median(synopsis.variances)))
    # Both ends of a box as one complex number: pairs are sorted ten times faster than rows of two.
    cells = [
        len(np.unique(np.column_stack([a, b])[~np.isnan(a)].view(np.complex128)))
        for a, b in zip(synopsis.lower.T, synopsis.upper.T, strict=True)
    ]
    return refinement(
        synopsis.total * rate / n_clusters if synopsis.total > 0 else 0.0,
        n_axes=len(cells),
        parts=min((c for c in cells if c > 1), default=1),
        work=synopsis.n_leaves * n_clusters,
        means=synopsis.has_means,
        tree=synopsis.tree is not None,
    )


def rows_for_a_mean(n_axes: int) -> float:
    """Return how many rows, times ε, outweigh the noise of their mean: sqrt((d + 2)(d + 3)/3)/β ."""
    return math.sqrt((n_axes + 2) * (n_axes + 3) / 3) / TYPICAL_OFFSET


def coarse_parts(domain: Domain, n_cells: float) -> list[int]:
    """Return parts per axis of a grid of about ``n_cells``: axes are cut in two, then in three, the widest first.

    Equally wide ones come in the order of a public hash of their names.
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
    """Return into how many parts rows are enough to cut every axis, if each cell is to have so many for its mean."""
    cells = min(n_rows * epsilon / (rows_per_cell * rows_for_a_mean(n_axes)), BROAD_CELLS)
    return max(1, int(max(cells, 1.0) ** (1 / n_axes) + 1e-9))


def wants_probe(n_rows: float, domain: Domain, n_clusters: int, epsilon: float) -> bool:
    """Return whether it is worth its price to look for tight clusters."""
    plain = not any(isinstance(c, Categorical) for c in domain)
    return plain and len(domain) <= FEW_AXES and PROBE_FROM <= n_rows * epsilon / n_clusters < math.inf


def finds_tight(source: Source, domain: Domain, n_rows: float, n_clusters: int, gate: Gate) -> bool:
    """Publish the answer to: do nearly all rows sit on a small share of the domain?

    Privacy
    -------
    Neighbours: add or remove one row, which is in one cell. Noise of scale 1/ε_p on every count of a coarse histogram
    costs ε_p = `PROBE_SHARE` of what is left. Its size is a function of public and noisy values. Price: ε_p.
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
