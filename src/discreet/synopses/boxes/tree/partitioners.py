"""Rules that cut a node: midpoints, private quantiles, private density, or a grid sized by a noisy count.

A partitioner `look`s at the nodes of a level (raw numbers that go no further), the tree tests them, and the partitioner
`split`s those that go on. It never asks whether a node is empty, chooses among functions of the node's public box, and
publishes through the gate what it chooses by rows.
"""

import copy
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core import BoolArray, Domain, FloatArray, IntArray
from discreet.core.budget import Epsilon, Rho
from discreet.engines.passes import SPREAD_UNITS
from discreet.engines.readers import RowCells
from discreet.mechanisms import Gate, ManyRuns
from discreet.synopses.boxes.tree.growth import GrowingTree

#: Candidate cuts of all nodes of a level together, at most; but each node has `FEWEST_LINES` (if it is so wide).
MOST_LINES, FEWEST_LINES = 2**18, 64
#: Nodes counted at once ahead of a tree whose cuts are public.
MOST_AHEAD = 2**16
#: Or this many for each node, where that is more: a pass over a large table should serve some levels.
AHEAD_EACH = 8
#: Children of all splits of a level together, at most, where one split has many.
MOST_CHILDREN = 2**15
#: Parts of a box in which a density tree looks for a cut.
DENSITY_PARTS = 16
#: Ratios of widths, and their squares, are rounded down to multiples of 1/RATIOS: scores are then whole numbers.
RATIOS = 2**16
_SCORE_UNIT = RATIOS * 4 * SPREAD_UNITS
#: The key of the hash that breaks ties between axes. Public and fixed, so that everyone gets the same tree.
_TIE_KEY = 0x64697363726565742D74696573
#: Rows times budget for each part of a grid (EUGkM's θ).
ROWS_PER_PART = 10


class TreePartitioner:
    """Base of all partitioners: the tree, the rows and the rule for the axis."""

    fan_out = 2

    def __init__(self, tree: GrowingTree, rows: RowCells, axis: str) -> None:
        self.tree, self.rows, self.axis = tree, rows, axis
        self._order = tie_order(tree.domain)
        self._nodes = np.empty(0, np.int64)

    def look(self, nodes: IntArray) -> IntArray:
        """Read the rows of nodes; return how many there are in each."""
        self._nodes = nodes
        return self.counts(nodes)

    def least_count(self) -> float:
        """Return the smallest noisy count that is worth a cut, besides the threshold of the tests."""
        return -np.inf

    def keep(self, nodes: IntArray, passed: BoolArray) -> BoolArray:
        """Return which nodes are cut, by released values; as a rule those that passed their test."""
        return passed

    def most_children(self, n_nodes: int) -> int:
        """Return the most nodes that cutting ``n_nodes`` may add to the tree."""
        return self.fan_out * n_nodes

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        """Cut those of the nodes looked at that are kept, for a price if that takes rows; return their children."""
        raise NotImplementedError

    def counts(self, nodes: IntArray) -> IntArray:
        """Return the raw number of rows in each node."""
        return self.rows.count(self.tree.map(nodes)).dense()

    def public_axis(self, tree: GrowingTree, nodes: IntArray) -> IntArray:
        """Return the axis along which to cut each node, by its box alone."""
        return widest_axis(tree.widths(nodes), tree.cells, self._order)


def _midpoints(tree: GrowingTree, nodes: IntArray, axis: IntArray) -> IntArray:
    """Cut nodes in the middle: k = floor((A + B) / 2)."""
    return tree.cut(nodes, axis, tree.lower[nodes, axis] + tree.width(nodes, axis) // 2, np.ones_like(nodes))


class Midpoints(TreePartitioner):
    """Halves, along an axis chosen by a public rule. The tree does not depend on rows, so they are counted ahead.

    One pass counts the nodes of many levels: those that would come if every node were cut. Splits cost nothing.
    """

    def __init__(self, tree: GrowingTree, rows: RowCells, axis: str, max_depth: int, most_nodes: int) -> None:
        super().__init__(tree, rows, axis)
        self._max_depth, self._most_nodes = max_depth, most_nodes
        self._ahead, self._ahead_rows = tree, np.empty(0, np.int64)
        self._place = np.array([-1])  # of a node of the tree, in the tree ahead; -1 if it is not there
        self._rows = np.zeros(1, np.int64)

    def look(self, nodes: IntArray) -> IntArray:
        self._nodes = nodes
        others = len(self.tree.axis) - len(self._place)  # nodes that another partitioner made since
        self._place = np.pad(self._place, (0, others), constant_values=-1)
        self._rows = np.pad(self._rows, (0, others))
        if (self._place[nodes] < 0).any():
            self._count_ahead(nodes)
        return self._rows[nodes]

    def counts(self, nodes: IntArray) -> IntArray:
        return self._rows[nodes] if (self._place[nodes] >= 0).all() else super().counts(nodes)

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        nodes = self._nodes[kept]
        children = _midpoints(self.tree, nodes, self.public_axis(self.tree, nodes))
        first = self._ahead.first[self._place[nodes], np.newaxis]
        place = np.where(first < 0, -1, first + [0, 1]).ravel()
        self._place = np.concatenate([self._place, place])
        self._rows = np.concatenate([self._rows, np.where(place < 0, 0, self._ahead_rows[place])])
        return children

    def _count_ahead(self, nodes: IntArray) -> None:
        """Cut a copy of the tree below some nodes as far as may be, count its leaves, and add up towards the nodes."""
        tree = self._ahead = copy.deepcopy(self.tree)
        ends, front = [], nodes
        for _ in range(int(tree.depth[nodes[0]]), self._max_depth):
            if 2 * len(front) > min(max(MOST_AHEAD, AHEAD_EACH * len(nodes)), self._most_nodes // 4):
                break
            wide = (tree.widths(front) > 1).any(axis=1)
            ends.append(front[~wide])
            front = front[wide]
            front = _midpoints(tree, front, self.public_axis(tree, front))
        leaves = np.concatenate([*ends, front])
        rows = np.zeros(len(tree.axis), np.int64)
        rows[leaves] = self.rows.count(tree.map(leaves), ahead=True).dense()
        for depth in range(int(tree.depth[-1]), int(tree.depth[nodes[0]]), -1):
            level = np.flatnonzero(tree.depth == depth)
            np.add.at(rows, tree.parent[level], rows[level])
        self._ahead_rows = rows
        self._place[nodes], self._rows[nodes] = nodes, rows[nodes]


class Mixed(TreePartitioner):
    """Another partitioner at every level: the last one given goes on below."""

    def __init__(self, parts: Sequence[TreePartitioner]) -> None:
        first = parts[0]
        super().__init__(first.tree, first.rows, first.axis)
        self._parts, self._now = parts, first

    def look(self, nodes: IntArray) -> IntArray:
        self._now = self._parts[min(int(self.tree.depth[nodes[0]]), len(self._parts) - 1)]
        self.fan_out = self._now.fan_out
        return self._now.look(nodes)

    def most_children(self, n_nodes: int) -> int:
        return self._now.most_children(n_nodes)

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        return self._now.split(kept, gate, label, price)


class SpreadMidpoints(TreePartitioner):
    """Halves, along an axis selected privately by spread."""

    def look(self, nodes: IntArray) -> IntArray:
        self._nodes = nodes
        self._rows, self._sums = self.rows.spreads(self.tree.map(nodes))
        return self._rows

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        return _midpoints(self.tree, self._nodes[kept], self.spread(kept, gate, label, price))

    def spread(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        """Choose the axes privately.

        Privacy: a row adds (h_j/H)² (t - 1/4), t in [0, 1], to the score g_j: all changes lie in [-1/4, 3/4], an
        interval of width 1. Price: ε, parallel over disjoint boxes.
        """
        widths = self.tree.widths(self._nodes[kept])
        losses = spread_losses(self._rows[kept], self._sums[kept], widths, self.tree.cells)
        return gate.choose_each(label, losses, (widths > 1).astype(np.int64), price, Fraction(1))


class Quantiles(SpreadMidpoints):
    """Private quantiles along an axis chosen by the public rule, or privately with half of the split's budget.

    A cut is chosen among at most `MOST_LINES` lines in a level, all grid lines where there are not more: those that
    part a node's box evenly. With no more lines than cuts all lines become cuts and no row is asked.
    """

    def __init__(self, tree: GrowingTree, rows: RowCells, axis: str, n_cuts: int) -> None:
        super().__init__(tree, rows, axis)
        self.n_cuts, self.fan_out = n_cuts, n_cuts + 1

    def look(self, nodes: IntArray) -> IntArray:
        if self.axis == "spread":
            return super().look(nodes)
        self._nodes = nodes
        self._runs = self.read_runs(nodes, self.public_axis(self.tree, nodes), len(nodes))
        return self._runs.rows

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        nodes = self._nodes[kept]
        if self.axis == "spread":
            with gate.pure_share(label, price) as both:
                axis = self.spread(kept, both, "axes", price / 2)
                runs = self.read_runs(nodes, axis, len(nodes))
                lines, n_cuts = both.cuts("places", runs, self.n_cuts, price / 2)
        else:
            axis, runs = self.public_axis(self.tree, nodes), self._runs.only(kept)
            lines, n_cuts = gate.cuts(label, runs, self.n_cuts, price)
        return self.tree.cut(nodes, axis, self.places(nodes, axis, runs, lines, n_cuts), n_cuts)

    def places(self, nodes: IntArray, axis: IntArray, runs: ManyRuns, lines: IntArray, numbers: IntArray) -> IntArray:
        """Return the cells before which lines lie."""
        which = np.repeat(np.arange(len(nodes)), numbers)
        start, width = self.tree.lower[nodes, axis], self.tree.width(nodes, axis)
        return np.asarray(start[which] + lines * width[which] // runs.n_lines[which])

    def read_runs(self, nodes: IntArray, axis: IntArray, n_level: int) -> ManyRuns:
        """Count rows between the candidate lines; the more nodes a level has, the fewer lines each of them."""
        lines = max(FEWEST_LINES, most_lines(self.n_cuts) >> (n_level - 1).bit_length())
        counts = self.rows.count(self.tree.map(nodes, axis, lines))
        n_lines = np.minimum(lines, self.tree.width(nodes, axis))
        return ManyRuns.of_counts(counts.cells, counts.counts, n_lines=n_lines, stride=lines)


def most_lines(n_cuts: int) -> int:
    """Return how many candidate lines the cuts of one node may have."""
    # Several cuts in one draw take longer the more lines there are; their ranks need fewer of them.
    return MOST_LINES >> (n_cuts - 1).bit_length()


class Density(TreePartitioner):
    """A private density tree: the cut whose sides differ most in density, by |c_L - r c|."""

    def look(self, nodes: IntArray) -> IntArray:
        self._nodes = nodes
        self._histograms = self.rows.histograms(self.tree.map(nodes), DENSITY_PARTS)
        rows: IntArray = self._histograms[:, 0].sum(axis=1)
        return rows

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        nodes = self._nodes[kept]
        scores, sensitivities, can, offsets = density_scores(self._histograms[kept], self.tree.widths(nodes))
        best = np.where(can, scores, 0).max(axis=(1, 2), keepdims=True)
        losses = (np.where(can, best - scores, 0) / RATIOS).reshape(len(nodes), -1)
        # A score |c_L - r c| moves by Δ up or down: the changes of all scores lie in an interval of width 2Δ.
        spans = [Fraction(2 * s, RATIOS) for s in sensitivities.tolist()]
        chosen = gate.choose_each(label, losses, can.astype(np.int64).reshape(losses.shape), price, spans)
        axis, part = np.divmod(chosen, DENSITY_PARTS - 1)
        cuts = self.tree.lower[nodes, axis] + offsets[np.arange(len(nodes)), axis, part]
        return self.tree.cut(nodes, axis, cuts, np.ones_like(nodes))


def density_scores(histograms: IntArray, widths: IntArray) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    """Return for every candidate cut its score |c_L - r c| and for every node its sensitivity, in units of 1/RATIOS.

    r, the part of the box left of the cut, is rounded down. A new row changes c_L - r c by 1 - r or by -r, so the
    sensitivity is the largest of r and 1 - r. Also returned: which candidates exist, and how many cells lie left of
    each.
    """
    parts = histograms.shape[2]
    number = np.arange(1, parts)
    own = np.minimum(widths, parts)[:, :, np.newaxis]
    can = number < own
    offsets = number * widths[:, :, np.newaxis] // own
    ratios = offsets * RATIOS // widths[:, :, np.newaxis]
    left = np.cumsum(histograms, axis=2)[:, :, :-1]
    rows = histograms[:, 0].sum(axis=1)[:, np.newaxis, np.newaxis]
    scores = np.abs(RATIOS * left - ratios * rows)
    spans = np.where(can, np.maximum(ratios, RATIOS - ratios), 0).max(axis=(1, 2))
    return scores, spans, can, offsets


class Grids(TreePartitioner):
    """A grid in every node, sized by the noisy count that also decided whether to stop, or by one that it pays for.

    AD = floor((ε c / 10)^(2/(2+d))) parts per axis, ε the budget the leaves are published with (Su et al., 2016). If
    the grid had too many cells for the level, only the widest axes are cut; where AD is 1, the widest is halved.

    Privacy: the paid counts are those of disjoint nodes, so a row changes one by 1. Price: ε of the split, once.
    """

    def __init__(self, tree: GrowingTree, rows: RowCells, axis: str, publication: Epsilon | Rho) -> None:
        super().__init__(tree, rows, axis)
        self._publication = publication.shown

    def parts(self, noisy: FloatArray) -> IntArray:
        """Return AD for noisy counts; 1 means that a grid does not pay."""
        d = len(self.tree.domain)
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = (np.maximum(noisy, 0) * self._publication / ROWS_PER_PART) ** (2 / (2 + d))
        return np.maximum(1, np.nan_to_num(np.minimum(wanted, 2.0**20), nan=1.0).astype(np.int64))

    def least_count(self) -> float:
        d = len(self.tree.domain)
        with np.errstate(over="ignore", invalid="ignore"):  # of very many axes no count is worth a cut
            least = np.ceil(ROWS_PER_PART * np.exp2((2 + d) / 2) / self._publication)
        return float(np.nan_to_num(least, nan=np.inf, posinf=np.inf))

    def most_children(self, n_nodes: int) -> int:
        # Axis by axis, with hidden nodes between: no more in all than the last ones and half as many before each.
        return 2 * max(MOST_CHILDREN, 2 * n_nodes) if n_nodes else 0

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        nodes = self._nodes[kept]
        noisy = self.tree.estimate[nodes]
        if price:  # one of several partitioners: its level may be untested
            noisy = gate.counts(label, lambda: self.counts(nodes), price).values
        widths = self.tree.widths(nodes)
        most = max(2, MOST_CHILDREN // max(1, len(nodes)))
        parts = np.minimum(self.parts(noisy), most)
        single, parts = parts < 2, np.maximum(parts, 2)
        n_axes = np.floor(np.log(most) / np.log(parts) + 1e-9).astype(np.int64)
        n_axes[single] = 1
        relative = np.where(widths > 1, widths / self.tree.cells, 0.0)[:, self._order]
        rank = np.empty_like(widths)
        order = self._order[np.argsort(-relative, axis=1, kind="stable")]
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(widths.shape[1]), widths.shape), axis=1)
        wanted = np.where(rank < n_axes[:, np.newaxis], parts[:, np.newaxis], 1)
        return self.tree.grid(nodes, wanted, self._order)


def tie_order(domain: Domain) -> IntArray:
    """Return the columns in the order in which they win ties: by hash of the name, whatever their places."""
    marks = noise.fingerprint(list(domain.names), _TIE_KEY)
    return np.array(sorted(range(len(domain)), key=lambda j: (int(marks[j]), domain.names[j])))


def widest_axis(widths: IntArray, cells: IntArray, order: IntArray) -> IntArray:
    """Return the axis on which each box is widest, relative to the ``cells`` of the axis; one cell cannot be cut."""
    relative = np.where(widths > 1, widths / cells, 0.0)
    return np.asarray(order[np.argmax(relative[:, order], axis=1)])


def spread_scores(counts: IntArray, sums: IntArray, widths: IntArray, cells: IntArray) -> IntArray:
    """Return the score g_j of every axis in every box, in units of 1/(4 * 256 * 2^16); all whole numbers.

    g_j = (h_j/H)² Σ_rows (|x_j - middle_j|/h_j - 1/4): the fall of the squared quantisation error when the axis is
    halved, over H²; h_j is half the width on axis j in units of the declared range, H the largest that can be cut.
    """
    relative = np.where(widths > 1, widths / cells, 0.0)
    ratios = (relative / np.maximum(relative.max(axis=1, keepdims=True), 1e-300)) ** 2
    whole = np.minimum(np.floor(ratios * RATIOS), RATIOS).astype(np.int64)
    return np.asarray(whole * (4 * sums - SPREAD_UNITS * counts[:, np.newaxis]))


def spread_losses(counts: IntArray, sums: IntArray, widths: IntArray, cells: IntArray) -> FloatArray:
    """Return how far the score of every axis is below the best of its box; 0 for axes that cannot be cut.

    Every box needs an axis that can be cut.
    """
    scores, can = spread_scores(counts, sums, widths, cells), widths > 1
    best = np.where(can, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    return np.asarray(np.where(can, best - scores, 0) / _SCORE_UNIT)
