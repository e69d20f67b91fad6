"""The level-synchronous engine: test the nodes of a level, split those that go on, publish the leaves.

Accounting. Nodes of one level hold disjoint rows, so a level costs its price once; levels add up. A leaf is published
with what its path has left, so every path spends exactly ε, or ρ (a Rényi filter; Feldman and Zrnic 2021).

Memory. A level whose children would make more nodes than fit is not cut. How many nodes there are and how many passed
their test is part of what is published, so this decides on released values.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from discreet.core import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.budget import Epsilon, Price
from discreet.engines import Source
from discreet.mechanisms import Gate, Hold, PrivTreeTests
from discreet.synopses.boxes.tree.budgets import LevelBudgets, auto_threshold
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.partitioners import TreePartitioner
from discreet.synopses.publishing import TYPICAL_OFFSET, means_law, publish

#: A tree that keeps no count on its way has most of its rows in about one in so many of its leaves
#: (``benchmarks/tuning/places.py --trees``).
CROWDED = 4.0


@dataclass
class Leaves:
    """Groups of leaves with the line that each is published with, in the order in which they ended."""

    groups: list[tuple[IntArray, Hold]] = field(default_factory=list)
    #: The depth at which growth ended because memory was full, if it did.
    stopped_at: int | None = None

    def add(self, gate: Gate, nodes: IntArray, depth: int, price: Price, *, last: bool) -> Gate:
        """Take in leaves and charge their publication; return where deeper nodes are charged."""
        if not len(nodes):
            return gate
        ends = gate if last else gate.parallel(f"leaves at depth {depth}, and deeper nodes")
        self.groups.append((nodes, ends.hold(f"counts of the leaves at depth {depth}", price)))
        return gate if last else ends.sequential("deeper nodes")


def grow(
    partitioner: TreePartitioner,
    plan: LevelBudgets,
    threshold: float | None,
    gate: Gate,
    most_nodes: int,
    deeper: Callable[[Leaves, Gate, IntArray], None] | None = None,
) -> Leaves:
    """Grow a tree with noisy stop tests. ``threshold`` None is tied to the noise.

    ``deeper`` grows on from the nodes of the last level, with what their paths have left.
    """
    tree, leaves, nodes = partitioner.tree, Leaves(), np.array([0])
    for level in range(plan.depth):
        wide = (tree.widths(nodes) > 1).any(axis=1)
        gate = leaves.add(gate, nodes[~wide], level, plan.left(level), last=not wide.any())
        nodes = nodes[wide]
        if not len(nodes):
            return leaves
        price = plan.tests[level]
        line = gate.hold(f"tests at depth {level}", price) if price else None
        counts = partitioner.look(nodes)
        kept = np.ones(len(nodes), bool)
        if line is not None:
            kept = _test(tree, nodes, counts, line, partitioner.fan_out, threshold, partitioner.least_count())
        kept = partitioner.keep(nodes, kept)
        if len(tree.axis) + partitioner.most_children(int(kept.sum())) > most_nodes:
            leaves.stopped_at, kept = level, np.zeros_like(kept)
        gate = leaves.add(gate, nodes[~kept], level, plan.left(level, tested=True), last=not kept.any())
        if not kept.any():
            return leaves
        nodes = partitioner.split(kept, gate, f"splits at depth {level}", plan.splits[level].pure())
    if deeper is None:
        leaves.add(gate, nodes, plan.depth, plan.left(plan.depth), last=True)
    else:
        deeper(leaves, gate, nodes)
    return leaves


def _test(
    tree: GrowingTree,
    nodes: IntArray,
    counts: IntArray,
    line: Hold,
    fan_out: int,
    threshold: float | None,
    least: float,
) -> BoolArray:
    """Publish the stop counts of a level and note them in the tree; return who goes on: count + Z > T."""
    limit = max(auto_threshold(line.price, fan_out) if threshold is None else threshold, least - 1)
    noisy = line.numbers(counts)
    tree.estimate[nodes], tree.variance[nodes], tree.threshold[nodes] = noisy.values, noisy.variance, limit
    return np.asarray(noisy.values > limit)


def grow_privtree(
    partitioner: TreePartitioner,
    max_depth: int,
    structure: Epsilon,
    rest: Epsilon,
    gate: Gate,
    most_nodes: int,
    roots: IntArray | None = None,
) -> Leaves:
    """Grow a PrivTree: two lines in the ledger, whatever the depth. Its tests do not estimate counts.

    With ``roots`` one below each of these nodes of one depth: their rows are disjoint, so together they cost what one
    does.
    """
    tests = PrivTreeTests(gate, "structure of the tree", structure, 2)
    tree, nodes, ends = partitioner.tree, np.array([0]) if roots is None else roots, []
    stopped_at: int | None = None
    first = int(tree.depth[nodes[0]])
    for depth in range(first, max_depth):
        wide = (tree.widths(nodes) > 1).any(axis=1)
        ends.append(nodes[~wide])
        nodes = nodes[wide]
        if not len(nodes):
            break
        kept = tests.keep(partitioner.look(nodes), depth - first)
        if len(tree.axis) + partitioner.most_children(int(kept.sum())) > most_nodes:
            stopped_at, kept = depth, np.zeros_like(kept)
        ends.append(nodes[~kept])
        nodes = partitioner.split(kept, gate, "free", Epsilon(math.inf)) if kept.any() else nodes[:0]
    line = gate.hold("counts of the leaves", rest)
    return Leaves([(np.sort(np.concatenate([*ends, nodes])), line)], stopped_at)


def publish_leaves(
    source: Source, partitioner: TreePartitioner, leaves: Leaves, *, means: bool, n_rows: float
) -> tuple[AnyArray, FloatArray, FloatArray | None]:
    """Return weights, variances and offsets (in half widths) of all leaves, in the order of the tree.

    Which leaves get means is decided by noisy values alone (`_expected_rows`), before their noise is drawn. A mean pays
    if that number of rows is worth sqrt((d + 2)(d + 3)/3) / (β ε), and if its noise can be drawn.
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
    for nodes, line in leaves.groups:
        places = np.sort(rank[nodes])
        enough = math.sqrt((d + 2) * (d + 3) / 3) / (TYPICAL_OFFSET * line.price.like_epsilon().shown)
        rich = (expected[places] >= enough) & means & means_law(line.price, d)[1].drawable
        for chosen, vectors in ((places[~rich], None), (places[rich], sums)):
            if not len(chosen):
                continue
            out = publish(line, counts[chosen], None if vectors is None else vectors[chosen])
            weights[chosen], variances[chosen] = out.weights, out.variances
            whole &= out.offsets is None
            if offsets is not None and out.offsets is not None:
                offsets[chosen] = out.offsets
    return weights.astype(np.int64) if whole else weights, variances, offsets


def _expected_rows(tree: GrowingTree, leaves: IntArray, n_rows: float) -> FloatArray:
    """Return the noisy rows of each leaf: its stop count, or its parent's shared among the children, or a share of all
    rows.
    """
    parent = tree.parent[leaves]
    siblings = np.bincount(tree.parent[~tree.hidden] + 1, minlength=len(tree.axis) + 1)[parent + 1]
    above = np.where(parent >= 0, tree.estimate[parent] / siblings, np.nan)
    known = np.where(np.isnan(tree.estimate[leaves]), above, tree.estimate[leaves])
    return np.where(np.isnan(known), CROWDED * n_rows / len(leaves), known)
