"""Tree synopses: a table parted by a private tree, one noisy count per leaf.

>>> import discreet as dc
>>> from discreet.synopses.tree.estimator import TreeSynopsis
>>> rows = dc.datasets.s_like(1, random_state=0)
>>> tree = TreeSynopsis(epsilon=1.0, domain=rows.domain, partitioner="median", random_state=0).fit(rows.X)
>>> tree.guarantee_.epsilon
1.0

One engine grows them all, level by level (`levels.py`); partitioners differ in how a node is cut (`partitioners.py`).
The faults of the published recursive form (spec partition-synopsis 8: a branch on raw emptiness, medians that are data
points, boxes read off the data, counts paid twice, axes by column order) are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discreet.core import Domain, EstimatorHtml, IntArray
from discreet.core.budget import Epsilon, Rho
from discreet.engines.passes import RowCells
from discreet.mechanisms import Gate
from discreet.synopses.artifact.synopsis import Synopsis
from discreet.synopses.memory import MOST_MEMORY
from discreet.synopses.opening import OpenRelease, check_release, note_columns, open_for
from discreet.synopses.publishing import count_variance
from discreet.synopses.tree.budgets import OwnBudget
from discreet.synopses.tree.growth import GrowingTree
from discreet.synopses.tree.levels import Leaves, grow, grow_privtree, publish_leaves
from discreet.synopses.tree.own import OwnCuts, OwnPartitioner
from discreet.synopses.tree.partitioners import (
    Density,
    Grids,
    Midpoints,
    Mixed,
    Quantiles,
    SpreadMidpoints,
    TreePartitioner,
)
from discreet.synopses.tree.settings import TreeSettings

#: What an estimator passes on; found out once, because reading a signature costs as much as counting a small table.
_SETTINGS = tuple(signature(TreeSettings.read).parameters)


class TreeSynopsis(EstimatorHtml, BaseEstimator):  # type: ignore[misc]
    """A private tree over a table, published as boxes with noisy counts.

    Parameters
    ----------
    epsilon : float, default 1.0
        The whole budget. ``math.inf`` grows the plain tree, without privacy.
    domain : Domain, mapping or (low, high)
        The declared columns. Bounds are never read off the data.
    partitioner : {"binary", "median", "quantile", "uniform", "privtree", "density"}
        How a node is cut. "binary": in the middle. "median", "quantile": at one or ``n_quantiles`` private quantiles.
        "uniform": by a grid sized by a noisy count. "privtree": in the middle, stopped by PrivTree's rule. "density":
        where density changes most. Or an `OwnPartitioner`: a rule of your own. Or a list, one for each level, the last
        for all below: ``["median", "median", "privtree"]`` (not "uniform"; "privtree" last, as it grows to its end).
    max_depth : int or "auto", default 8
        Levels that may be cut. "auto": a few more than a grid for these data would have, from ε and the noisy number
        of rows.
    threshold : "auto" or float
        A node whose noisy count is not above this is a leaf. "auto" ties it to the noise, so that an empty region grows
        two nodes in expectation at most. ("privtree" has a rule of its own.)
    threshold_share : float, optional
        Instead of ``threshold``: a share of the number of rows, as it is given or bought.
    budget : {"geometric", "uniform", "linear", "fibonacci"}
        How shares are divided between levels. Or an `OwnBudget`: a rule of your own.
    shares : three numbers, optional
        Shares of the budget for tests, splits and publication. By default 0.15, 0.25 and 0.60; half for the structure
        with "privtree" and "density"; 0.35, 0.10, 0.55 for other levels above a "privtree", whose structure has the
        first. One without use goes to the others.
    n_quantiles : int, default 3
        Cuts of a node with "quantile".
    test_from : "auto" or int
        The first level that is tested; levels above are always cut. "auto" tests where a tree has more nodes than a
        grid for these data should have cells: testing the top of a tree costs much and stops it too early. ("uniform"
        tests all levels, as its tests also size its grids.)
    leaf_means : bool, default False
        Whether leaves with enough rows (by noisy values) publish their mean too, in one draw with the count.
    n_rows : float, optional
        A public number of rows. Without it ``size_share`` of the budget buys one.
    size_share : float, default 0.03
        See ``n_rows``.
    bits : int, default 20
        Numeric axes have ``2**bits`` cells, between which cuts lie.
    n_clusters : int, optional
        Clusters to be found in the synopsis. "auto" then compares with a grid for that many of them.
    axis : {"auto", "spread", "widest"}
        How the axis of a cut is chosen: bought by private spread, or the widest by declared range. "auto" buys it if
        there are too few levels to cut every axis twice. "privtree" always takes the widest; "uniform" and "density"
        have no use for it.
    max_memory : float, default 2.0
        GiB that the nodes may take. Levels that are cut without a test and would need more are refused before rows are
        read. A tree that its tests let grow beyond it is not cut further at that level, which is a function of the tree
        published; the guarantee's parameters then name the depth as ``stopped_at``.
    random_state : None, int or Generator
        None is secure; anything else marks the guarantee as seeded.
    rho, delta : float, optional
        With ``delta`` beside ``epsilon`` the release may be (ε, δ)-DP; with ``rho`` and ``delta`` in its place, ρ-zCDP,
        its ε stated at δ. Whether Gaussian noise is better is told by public values (`discreet.synopses.prices`).
    ledger : Ledger or Account, optional
        Charged with all of ε before the first row is read; fitting twice charges twice.

    Attributes
    ----------
    synopsis_ : Synopsis
        The artifact.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. Along the path of one row every test, axis and cut is paid from ε, and the leaf
    is published with what is left; nodes off the path do not change. So ε on every path, exactly. Cells, boxes,
    candidate cuts, thresholds and budgets are functions of public values and of what was already released. In ρ the
    same is said of a path's share of ρ: counts get discrete Gaussian noise with σ² >= 1/(2ρ), and axes and cuts are
    chosen for ε = √(2ρ), which is ρ-zCDP.

    Examples
    --------
    >>> import discreet as dc
    >>> patients = dc.datasets.patients(2000, random_state=0)
    >>> tree = TreeSynopsis(1.0, domain=patients.domain, max_depth=6, random_state=0).fit(patients.X)
    >>> tree.synopsis_.guarantee.epsilon
    1.0
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        domain: Any = None,
        partitioner: str | Sequence[str] | OwnPartitioner = "binary",
        max_depth: int | str = 8,
        threshold: str | float = "auto",
        budget: str | OwnBudget = "geometric",
        shares: Sequence[float] | None = None,
        n_quantiles: int = 3,
        test_from: str | int = "auto",
        leaf_means: bool = False,
        n_rows: float | None = None,
        size_share: float = 0.03,
        bits: int = 20,
        n_clusters: int | None = None,
        axis: str = "auto",
        max_memory: float = MOST_MEMORY,
        random_state: Any = None,
        rho: Any = None,
        delta: Any = None,
        ledger: Any = None,
        threshold_share: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.partitioner = partitioner
        self.max_depth = max_depth
        self.threshold = threshold
        self.budget = budget
        self.shares = shares
        self.n_quantiles = n_quantiles
        self.test_from = test_from
        self.leaf_means = leaf_means
        self.n_rows = n_rows
        self.size_share = size_share
        self.bits = bits
        self.n_clusters = n_clusters
        self.axis = axis
        self.max_memory = max_memory
        self.random_state = random_state
        self.rho = rho
        self.delta = delta
        self.ledger = ledger
        self.threshold_share = threshold_share

    def fit(self, X: Any, y: Any = None) -> TreeSynopsis:
        """Grow the tree and publish it. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        settings = self._settings()
        opening = open_for(self, X, check=self._fits(settings), gaussian=gaussian_tree(settings))
        self.synopsis_ = build(opening, settings)
        self.guarantee_ = opening.book(self.synopsis_.guarantee)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        check_release(self, self._fits(self._settings()))

    def _fits(self, settings: TreeSettings) -> Callable[[Domain, Any], None]:
        return lambda domain, epsilon: settings.check_fit(len(domain), epsilon, self.n_rows, self.size_share)

    def _settings(self) -> TreeSettings:
        return TreeSettings.read(**{name: getattr(self, name) for name in _SETTINGS})


def build(opening: OpenRelease, settings: TreeSettings) -> Synopsis:
    """Grow a tree with all that a ledger has left.

    Privacy
    -------
    As `TreeSynopsis`. Price: all that is left.
    """
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
    return Synopsis(
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
    threshold = settings.limit(opening.n_rows)
    partitioner: TreePartitioner
    if settings.roots_at is not None:
        return _grow_mixed(parts, opening, settings, most)
    plan = settings.plan(left, first_test, axis)
    if settings.own is not None:
        partitioner = OwnCuts(*parts[:2], settings.own)
    elif kind == "uniform":
        partitioner = Grids(*parts, plan.left(depth))
        threshold = 0.0 if threshold is None else threshold
    elif settings.levels:
        partitioner = Mixed([_of_kind(name, parts, settings, most) for name in settings.levels])
    else:
        partitioner = _of_kind(kind, parts, settings, most)
    return partitioner, grow(partitioner, plan, threshold, gate, most)


_Parts = tuple[GrowingTree, RowCells, str]


def _of_kind(kind: str, parts: _Parts, settings: TreeSettings, most: int) -> TreePartitioner:
    """Make one of the partitioners that can take turns."""
    axis = parts[2]
    if kind == "binary" and axis == "spread":
        return SpreadMidpoints(*parts)
    if kind in ("binary", "privtree"):
        return Midpoints(*parts, settings.max_depth, most)
    if kind == "density":
        return Density(*parts)
    return Quantiles(*parts, settings.n_quantiles if kind == "quantile" else 1)


def _grow_mixed(
    parts: _Parts, opening: OpenRelease, settings: TreeSettings, most: int
) -> tuple[TreePartitioner, Leaves]:
    """Cut the first levels without tests, then grow a PrivTree below each of their nodes.

    Privacy
    -------
    Along a path: its splits, then the structure of the PrivTree it enters, then its leaf with what is left. The
    PrivTrees hold disjoint rows and their roots were released before, so they cost what one does.
    """
    top, left, depth = settings.roots_at or 0, opening.gate.left.pure(), settings.max_depth
    partitioner = Mixed([_of_kind(name, parts, settings, most) for name in settings.levels])
    above = settings.above()
    plan = above.plan(left, top, parts[2])
    tests, splits, counts = settings.shares
    whole = tests + counts + (splits if above.pays_splits(parts[2]) else 0)
    structure = left * (tests / whole)
    rest = plan.left(top).pure() - structure

    def deeper(leaves: Leaves, gate: Gate, nodes: IntArray) -> None:
        below = grow_privtree(partitioner, depth, structure, rest, gate, most, nodes)
        leaves.groups += below.groups
        leaves.stopped_at = below.stopped_at

    return partitioner, grow(partitioner, plan, None, opening.gate, most, deeper)


def gaussian_tree(settings: TreeSettings) -> Callable[[Domain, Epsilon, Rho], bool]:
    """Return what tells by public values whether Gaussian noise is better for a tree: whether its leaves vary less.

    A leaf has the same share of either budget. Tests have smaller shares, for which Gaussian noise does even better:
    its variance goes with the inverse of a share, that of Laplace noise with the square.
    """

    def better(domain: Domain, pure: Epsilon, rho: Rho) -> bool:
        if settings.own is not None or settings.partitioner == "uniform" or settings.privtree:
            return False  # their rules are written for Laplace noise
        whole = settings.shares[2] + settings.shares[0] + settings.shares[1]
        share, d, means = settings.shares[2] / whole, len(domain), settings.leaf_means
        return count_variance(rho * share, d, means=means) < count_variance(pure * share, d, means=means)

    return better
