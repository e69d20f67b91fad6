"""Tree synopses: a table parted by a private tree, one noisy count per leaf.

One engine grows all of them, level by level (`levels.py`); partitioners differ in how a node is split
(`partitioners.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.core import Declared, Domain, Estimator, IntArray, option
from discreet.core import options as shared
from discreet.core.budget import Epsilon, Price, Rho
from discreet.engines.readers import RowCells
from discreet.mechanisms import Gate
from discreet.synopses.boxes.synopsis import BoxSynopsis
from discreet.synopses.boxes.tree.budgets import BUDGETS, OwnBudget
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.levels import Leaves, grow, grow_privtree, publish_leaves
from discreet.synopses.boxes.tree.own import OwnCuts, OwnPartitioner
from discreet.synopses.boxes.tree.partitioners import (
    Density,
    Grids,
    Midpoints,
    Mixed,
    Quantiles,
    SpreadMidpoints,
    TreePartitioner,
)
from discreet.synopses.boxes.tree.settings import PARTITIONERS, TreeSettings
from discreet.synopses.opening import OpenRelease, check_release, method_options, note_columns, open_for
from discreet.synopses.publishing import count_variance


class TreeSynopsis(Declared, Estimator):
    """A private tree over a table, published as boxes with noisy counts.

    Attributes
    ----------
    synopsis_ : BoxSynopsis
        The artifact.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. Along the path of one row every test, axis and cut is paid from ε, and the leaf
    is published with what is left; nodes off the path do not change. So ε on every path, exactly. Cells, boxes,
    candidate cuts, thresholds and budgets are functions of public values and of what was already released.
    The nodes of a level are disjoint, so a row changes one count of a level by 1: a count that is paid with a part ε'
    of ε gets discrete Laplace noise of scale 1/ε'. The exponential mechanism chooses axes, by scores that a row moves
    within an interval of width 1, and cuts, by ranks. Levels overlap, so their prices add up along a path;
    the number of rows costs ``size_share`` ε, or is declared. With ``leaf_means``, a row adds 1 to a leaf's count and
    at most 1 (in half widths) to each of its d sums: the joint vector moves by 1 in maximum norm, √(d + 1) in
    Euclidean norm, and one draw of noise for that replaces the one for the count, at the same price. Which leaves get
    means is decided by noisy values. In ρ the same is said of a path's share of ρ: counts get discrete Gaussian noise
    with σ² >= 1/(2ρ), and axes and cuts are chosen for ε = √(2ρ), which is ρ-zCDP.
    If the domain declares a person as the unit, neighbours differ in all rows of one person. At most ``unit.rows`` of
    them are used, and all noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> import discreet as dc
    >>> patients = dc.datasets.patients(2000, random_state=0)
    >>> tree = TreeSynopsis(1.0, domain=patients.domain, max_depth=6, random_state=0).fit(patients.X)
    >>> tree.synopsis_.guarantee.epsilon
    1.0
    """

    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    partitioner: str | Sequence[str] | OwnPartitioner = option(
        default="binary",
        choices=PARTITIONERS,
        takes=("text", "names"),
        objects=True,
        example="binary",
        help="Rule that splits a node, or a list with one rule per level.",
        details=(
            '"binary" splits in the middle; "median" and "quantile" at private quantiles; "uniform" by a grid sized '
            'by a noisy count; "privtree" in the middle, stopped by PrivTree\'s rule; "density" where density changes. '
            "In a list, the last rule holds for all deeper levels. An `OwnPartitioner` is a rule of your own."
        ),
    )
    max_depth: int | str = option(
        default=8,
        choices=("auto",),
        low=0,
        high=62,
        example="auto",
        help="Maximum depth of the tree.",
        details='"auto" derives it from ε and the noisy number of rows.',
    )
    threshold: str | float = option(
        default="auto",
        choices=("auto",),
        example="auto",
        help="A node whose noisy count is lower is not split.",
        details='"auto" ties it to the noise, so that an empty region grows at most two nodes in expectation.',
    )
    budget: str | OwnBudget = option(
        default="geometric",
        choices=BUDGETS,
        objects=True,
        help="How the budget is divided between levels.",
        details="An `OwnBudget` is a rule of your own.",
    )
    shares: Sequence[float] | None = option(
        default=None,
        low=0,
        example=[0.15, 0.25, 0.6],
        help="Shares of the budget for tests, splits and counts.",
        details="A share without use goes to the others.",
    )
    n_quantiles: int = option(default=3, low=1, high=31, help='Splits of a node with "quantile".')
    test_from: str | int = option(
        default="auto",
        choices=("auto",),
        low=0,
        example="auto",
        help="Depth from which nodes are tested before they are split.",
        details="Nodes above it are always split.",
    )
    leaf_means: bool = option(default=False, example=True, help="Publish the mean of each large leaf too.")
    n_rows: float | None = shared.N_ROWS
    size_share: float = shared.SIZE_SHARE
    bits: int = option(default=20, low=1, high=30, help="Numeric axes have 2**bits positions for splits.")
    n_clusters: int | None = option(
        default=None, low=1, example=8, help="Clusters to be found later, a hint for the size of leaves."
    )
    axis: str = option(
        default="auto",
        choices=("auto", "spread", "widest"),
        help="How the axis of a split is chosen.",
        details='"spread" selects it privately, "widest" takes the widest declared range.',
    )
    max_memory: float = shared.MAX_MEMORY
    random_state: Any = shared.RANDOM_STATE
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER

    def fit(self, X: Any, y: Any = None) -> TreeSynopsis:
        """Grow the tree and publish it. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        settings = self.settings()
        opening = open_for(self, X, check=self._fits(settings), gaussian=gaussian_tree(settings))
        self.synopsis_: BoxSynopsis = opening.weighed(build(opening, settings))
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        settings = self.settings()
        check_release(self, self._fits(settings), gaussian=gaussian_tree(settings))

    def _fits(self, settings: TreeSettings) -> Callable[[Domain, Any], None]:
        return lambda domain, epsilon: settings.check_fit(len(domain), epsilon, self.n_rows, self.size_share)

    def settings(self) -> TreeSettings:
        """Check the options and return them in the form that the method uses."""
        return TreeSettings.read(method_options(self))


def build(opening: OpenRelease, settings: TreeSettings) -> BoxSynopsis:
    """Grow a tree with all that a ledger has left: see `TreeSynopsis`."""
    source, domain, left = opening.source, opening.domain, opening.gate.left
    settings = settings.deepened(left.pure(), opening.n_rows, len(domain))
    settings.check_size(len(domain))
    settings.check_prices(len(domain), left.pure())
    tree = GrowingTree(domain, settings.bits)
    rule = settings.axis_rule(len(domain))
    first_test = settings.first_test(left.like_epsilon(), opening.n_rows, len(domain), rule)
    partitioner, leaves = _grow(tree, opening, settings, rule, first_test)
    weights, variances, offsets = publish_leaves(
        source, partitioner, leaves, means=settings.leaf_means, n_rows=opening.n_rows
    )
    stopped = {} if leaves.stopped_at is None else {"stopped_at": leaves.stopped_at}
    del partitioner, leaves  # and with them the cells of all rows, half as large as the table
    table, uncut = tree.table(), tree.uncut()
    del tree
    chosen = np.flatnonzero(table.leaf >= 0)
    lower, upper = table.lower[chosen], table.upper[chosen]
    points = None if offsets is None else lower + (upper - lower) * (offsets + 1) / 2
    return BoxSynopsis(
        domain,
        lower=lower,
        upper=upper,
        weights=weights,
        variances=variances,
        points=points,
        guarantee=opening.promise({**settings.to_dict(), "axis": rule, "test_from": first_test, **stopped}),
        tree=table,
        uncut=uncut,
    )


def _grow(
    tree: GrowingTree, opening: OpenRelease, settings: TreeSettings, axis: str, first_test: int
) -> tuple[TreePartitioner, Leaves]:
    """Make the partitioner and its plan, and grow the tree."""
    gate, left = opening.gate, opening.gate.left
    kind, depth, shares = settings.partitioner, settings.max_depth, settings.shares
    parts = tree, RowCells(opening.source, tree.domain, tree.bits), axis
    most = settings.most_nodes(len(tree.domain))
    if settings.own is None and kind == "privtree":
        tree_of = Midpoints(*parts, depth, most)
        whole = left.pure()
        structure = whole * ((shares[0] + shares[1]) / sum(shares))
        return tree_of, grow_privtree(tree_of, depth, structure, whole - structure, gate, most)
    threshold = 0.0 if (settings.own, settings.threshold, kind) == (None, None, "uniform") else settings.threshold
    partitioner: TreePartitioner
    if settings.roots_at is not None:
        return _grow_mixed(parts, opening, settings, most)
    plan = settings.plan(left, first_test, axis)
    if settings.own is not None:
        partitioner = OwnCuts(*parts[:2], settings.own)
    else:
        each = [_of_kind(name, parts, settings, most, plan.left(depth)) for name in settings.levels or (kind,)]
        partitioner = Mixed(each) if settings.levels else each[0]
    return partitioner, grow(partitioner, plan, threshold, gate, most)


_Parts = tuple[GrowingTree, RowCells, str]


def _of_kind(kind: str, parts: _Parts, settings: TreeSettings, most: int, publication: Price) -> TreePartitioner:
    """Make a partitioner, which may take turns with others."""
    axis = parts[2]
    if kind == "binary" and axis == "spread":
        return SpreadMidpoints(*parts)
    if kind in ("binary", "privtree"):
        return Midpoints(*parts, settings.max_depth, most)
    if kind == "density":
        return Density(*parts)
    if kind == "uniform":
        return Grids(*parts, publication)
    return Quantiles(*parts, settings.n_quantiles if kind == "quantile" else 1)


def _grow_mixed(
    parts: _Parts, opening: OpenRelease, settings: TreeSettings, most: int
) -> tuple[TreePartitioner, Leaves]:
    """Cut the first levels without tests, then grow a PrivTree below each of their nodes.

    Privacy: a path pays its splits, the structure of the PrivTree it enters, and its leaf with what is left. PrivTrees
    of disjoint rows cost what one does.
    """
    top, left, depth = settings.roots_at or 0, opening.gate.left.pure(), settings.max_depth
    above = settings.above()
    plan = above.plan(left, top, parts[2])
    tests, splits, counts = settings.shares
    whole = tests + counts + (splits if above.pays_splits(parts[2]) else 0)
    structure = left * (tests / whole)
    rest = plan.left(top).pure() - structure
    partitioner = Mixed([_of_kind(name, parts, settings, most, rest) for name in settings.levels])

    def deeper(leaves: Leaves, gate: Gate, nodes: IntArray) -> None:
        below = grow_privtree(partitioner, depth, structure, rest, gate, most, nodes)
        leaves.groups += below.groups
        leaves.stopped_at = below.stopped_at

    return partitioner, grow(partitioner, plan, None, opening.gate, most, deeper)


def gaussian_tree(settings: TreeSettings) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return a rule that decides by public values whether Gaussian noise is better: leaves then vary less.

    Tests have smaller shares, for which Gaussian noise does even better.
    """

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        if settings.own is not None or {"uniform", "privtree"} & {settings.partitioner, *settings.levels}:
            return False  # their rules are written for Laplace noise
        whole = settings.shares[2] + settings.shares[0] + settings.shares[1]
        share, d, means = settings.shares[2] / whole, len(domain), settings.leaf_means
        return count_variance(rho * share, d, means=means) < count_variance(pure * share, d, means=means)

    return better
