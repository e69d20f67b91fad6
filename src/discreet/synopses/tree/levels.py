"""The level-synchronous engine: test the nodes of a level, split those that go on, publish the leaves.

Accounting. Nodes of one level hold disjoint rows, so a level costs its price once; levels add up. A leaf is published
with what its path has left, so every path spends exactly ε. In the ledger a level at which paths end is a parallel
group: the leaves there, and the deeper nodes (spec partition-synopsis 9.5). The same in ρ: that every path, whichever
noisy values choose, spends at most ρ is enough for ρ-zCDP (a Rényi filter; Feldman and Zrnic 2021).

Memory. A level whose children would make more nodes than fit is not cut, and its nodes are leaves. How many nodes there
are and how many passed their test is part of what is published, so this decides on released values: given the tree so
far it is the same for neighbours, and a path that ends earlier spends what it has left on its leaf.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from discreet import noise
from discreet.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import Exact
from discreet.core.guarantee import Scope
from discreet.engines import Source
from discreet.synopses.prices import count_law, draw, like_epsilon, pay, pure_part
from discreet.synopses.publishing import TYPICAL_OFFSET, publish
from discreet.synopses.tree.budgets import LevelBudgets, auto_threshold
from discreet.synopses.tree.growth import GrowingTree
from discreet.synopses.tree.partitioners import TreePartitioner
from discreet.synopses.tree.privtree import PrivTreeRule

#: A tree that keeps no count on its way has most of its rows in about one in so many of its leaves
#: (``benchmarks/tuning/places.py --trees``).
CROWDED = 4.0


@dataclass
class Leaves:
    """Groups of leaves with the budget each is published with, in the order in which they ended."""

    groups: list[tuple[IntArray, Exact]] = field(default_factory=list)
    #: The depth at which growth ended for want of memory, if it did.
    stopped_at: int | None = None
    #: What prices are in: "epsilon" or "rho".
    unit: str = "epsilon"

    def add(self, scope: Scope, nodes: IntArray, depth: int, epsilon: Exact, *, last: bool) -> Scope:
        """Take in leaves and charge their publication; return where deeper nodes are charged."""
        if not len(nodes):
            return scope
        self.groups.append((nodes, epsilon))
        label = f"counts of the leaves at depth {depth}"
        if last:
            pay(scope, label, epsilon, self.unit)
            return scope
        ends = scope.parallel(f"leaves at depth {depth}, and deeper nodes")
        pay(ends, label, epsilon, self.unit)
        return ends.sequential("deeper nodes")


def grow(
    partitioner: TreePartitioner,
    plan: LevelBudgets,
    threshold: float | None,
    scope: Scope,
    stream: noise.Generator,
    most_nodes: int,
    unit: str = "epsilon",
    deeper: Callable[[Leaves, Scope, IntArray], None] | None = None,
) -> Leaves:
    """Grow a tree with noisy stop tests. ``threshold`` None is tied to the noise; prices of the plan are in a unit.

    ``deeper`` grows on from the nodes of the last level, with what their paths have left.
    """
    tree, leaves, nodes = partitioner.tree, Leaves(unit=unit), np.array([0])
    for level in range(plan.depth):
        wide = (tree.widths(nodes) > 1).any(axis=1)
        scope = leaves.add(scope, nodes[~wide], level, plan.left(level), last=not wide.any())
        nodes = nodes[wide]
        if not len(nodes):
            return leaves
        price = plan.tests[level]
        if price:
            pay(scope, f"tests at depth {level}", price, unit)
        counts = partitioner.look(nodes)
        kept = np.ones(len(nodes), bool)
        if price:
            least = partitioner.least_count()
            kept = _test(tree, nodes, counts, price, partitioner.fan_out, threshold, least, stream, unit)
            if len(tree.axis) + partitioner.most_children(int(kept.sum())) > most_nodes:
                leaves.stopped_at, kept = level, np.zeros_like(kept)
            scope = leaves.add(scope, nodes[~kept], level, plan.left(level, tested=True), last=not kept.any())
            if not kept.any():
                return leaves
        paid = pure_part(plan.splits[level], unit)
        if paid:
            scope.spend(f"splits at depth {level}", paid, "parallel")
        nodes = partitioner.split(kept, paid)
    if deeper is None:
        leaves.add(scope, nodes, plan.depth, plan.left(plan.depth), last=True)
    else:
        deeper(leaves, scope, nodes)
    return leaves


def _test(
    tree: GrowingTree,
    nodes: IntArray,
    counts: IntArray,
    price: Exact,
    fan_out: int,
    threshold: float | None,
    least: float,
    stream: noise.Generator,
    unit: str = "epsilon",
) -> BoolArray:
    """Draw the stop counts of a level and note them in the tree; return who goes on: count + Z > T."""
    law = count_law(price, unit)
    limit = max(auto_threshold(price, fan_out, unit) if threshold is None else threshold, least - 1)
    noisy = counts + draw(law, len(nodes), stream)
    tree.estimate[nodes], tree.variance[nodes], tree.threshold[nodes] = noisy, law.variance, limit
    return np.asarray(noisy > limit)


def grow_privtree(
    partitioner: TreePartitioner,
    rule: PrivTreeRule,
    max_depth: int,
    structure: Exact,
    rest: Exact,
    scope: Scope,
    stream: noise.Generator,
    most_nodes: int,
    roots: IntArray | None = None,
) -> Leaves:
    """Grow a PrivTree: two lines in the ledger, whatever the depth. Its tests do not estimate counts.

    With ``roots`` one below each of these nodes, which lie at one depth: their rows are disjoint, and the nodes were
    released before, so together they cost what one does.
    """
    scope.spend("structure of the tree", structure, "parallel")
    tree, nodes, ends = partitioner.tree, np.array([0]) if roots is None else roots, []
    stopped_at: int | None = None
    first = int(tree.depth[nodes[0]])
    for depth in range(first, max_depth):
        wide = (tree.widths(nodes) > 1).any(axis=1)
        ends.append(nodes[~wide])
        nodes = nodes[wide]
        if not len(nodes):
            break
        biased = rule.biased(partitioner.look(nodes), depth - first)
        kept = biased + noise.discrete_laplace(rule.scale, len(nodes), stream) > 0
        if len(tree.axis) + partitioner.most_children(int(kept.sum())) > most_nodes:
            stopped_at, kept = depth, np.zeros_like(kept)
        ends.append(nodes[~kept])
        nodes = partitioner.split(kept, math.inf) if kept.any() else nodes[:0]
    scope.spend("counts of the leaves", rest, "parallel")
    return Leaves([(np.sort(np.concatenate([*ends, nodes])), rest)], stopped_at)


def publish_leaves(
    source: Source,
    partitioner: TreePartitioner,
    leaves: Leaves,
    *,
    means: bool,
    n_rows: float,
    stream: noise.Generator,
    unit: str = "epsilon",
) -> tuple[AnyArray, FloatArray, FloatArray | None]:
    """Return weights, variances and offsets (in half widths) of all leaves, in the order of the tree.

    Which leaves get means is decided by noisy values alone, before their noise is drawn: by the leaf's stop count, its
    parent's shared among the children, or the number of rows shared among one in `CROWDED` of the leaves. A mean pays
    if that many rows are worth sqrt((d + 2)(d + 3)/3) / (β ε) (spec 9.9).
    """
    tree = partitioner.tree
    order = tree.leaves()
    rank = np.full(len(tree.axis), -1)
    rank[order] = np.arange(len(order))
    d = len(tree.domain)
    weights, variances = np.zeros(len(order)), np.zeros(len(order))
    offsets = np.zeros((len(order), d)) if means else None
    if means:
        gathered = source.sums(tree.map(order))
        counts, sums = np.zeros(len(order), np.int64), np.zeros((len(order), d), np.int64)
        counts[gathered.cells], sums[gathered.cells] = gathered.counts, gathered.sums
        expected = _expected_rows(tree, order, n_rows)
    else:
        counts, sums, expected = partitioner.counts(order), None, np.zeros(len(order))
    whole = True
    for nodes, epsilon in leaves.groups:
        places = np.sort(rank[nodes])
        enough = math.sqrt((d + 2) * (d + 3) / 3) / (TYPICAL_OFFSET * float(like_epsilon(epsilon, unit)))
        rich = (expected[places] >= enough) & means
        for chosen, vectors in ((places[~rich], None), (places[rich], sums)):
            if not len(chosen):
                continue
            held = None if vectors is None else vectors[chosen]
            out = publish(counts[chosen], held, epsilon=epsilon, stream=stream, unit=unit)
            weights[chosen], variances[chosen] = out.weights, out.variances
            whole &= out.offsets is None
            if offsets is not None and out.offsets is not None:
                offsets[chosen] = out.offsets
    return weights.astype(np.int64) if whole else weights, variances, offsets


def _expected_rows(tree: GrowingTree, leaves: IntArray, n_rows: float) -> FloatArray:
    """Return what is publicly known of the rows in each leaf."""
    parent = tree.parent[leaves]
    siblings = np.bincount(tree.parent[~tree.hidden] + 1, minlength=len(tree.axis) + 1)[parent + 1]
    above = np.where(parent >= 0, tree.estimate[parent] / siblings, np.nan)
    known = np.where(np.isnan(tree.estimate[leaves]), above, tree.estimate[leaves])
    return np.where(np.isnan(known), CROWDED * n_rows / len(leaves), known)
