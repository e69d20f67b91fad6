"""A tree in the making: nodes as flat arrays, boxes in cells of the public grid, children appended level by level.

Nothing here looks at rows or draws noise. A cut along several axes at once is made axis by axis; the nodes between are
hidden: rows are routed through them, but the published tree does not show them.
"""

import numpy as np

from discreet.core import AnyArray, BoolArray, Domain, FloatArray, IntArray
from discreet.engines.passes import Cells, TreeMap, grid_cells, real_bounds
from discreet.synopses.boxes.tables import TreeTable


class GrowingTree:
    """Nodes of a growing tree; node 0 is the root. Arrays have one entry per node."""

    def __init__(self, domain: Domain, bits: int) -> None:
        self.domain, self.bits = domain, bits
        self.upper: Cells = grid_cells(domain, bits).astype(np.int32)[np.newaxis]
        self.lower: Cells = np.zeros_like(self.upper)
        self.cuts: IntArray = np.empty(0, np.int64)
        self.depth: IntArray
        self.parent: IntArray
        self.hidden: BoolArray
        self.axis: IntArray
        self.first: IntArray
        self.cut_at: IntArray
        self.n_cuts: IntArray
        self.estimate: FloatArray
        self.variance: FloatArray
        self.threshold: FloatArray
        for name, value in self._blank(np.array([-1]), np.array([0])).items():
            setattr(self, name, value)

    @staticmethod
    def _blank(parent: IntArray, depth: IntArray) -> dict[str, AnyArray]:
        n = len(parent)
        none, zero = np.full(n, -1), np.zeros(n, np.int64)
        return {
            "parent": parent,
            "depth": depth,
            "hidden": zero > 0,
            "axis": none,
            "first": none.copy(),
            "cut_at": zero,
            "n_cuts": zero.copy(),
            "estimate": np.full(n, np.nan),
            "variance": np.full(n, np.inf),
            "threshold": np.full(n, np.nan),
        }

    @property
    def cells(self) -> IntArray:
        """Cells of each axis."""
        return np.asarray(self.upper[0], np.int64)

    def widths(self, nodes: IntArray) -> IntArray:
        """Return the widths of boxes, in cells."""
        return np.asarray(np.subtract(self.upper[nodes], self.lower[nodes], dtype=np.int64))

    def width(self, nodes: IntArray, axis: IntArray | int) -> IntArray:
        """Return the widths of boxes along one axis, or one each."""
        return np.asarray(np.subtract(self.upper[nodes, axis], self.lower[nodes, axis], dtype=np.int64))

    def cut(
        self, nodes: IntArray, axis: IntArray, cuts: IntArray, n_cuts: IntArray, owner: IntArray | None = None
    ) -> IntArray:
        """Cut nodes, each along one axis; return the children, in order of nodes and cuts.

        ``cuts`` are places, ascending within a node, all nodes one after the other; ``n_cuts`` of them belong to each
        node. ``owner`` names the parents to publish, if the nodes themselves are hidden.
        """
        n = len(self.axis)
        n_children = n_cuts + 1
        starts = np.cumsum(n_children) - n_children
        begins = np.cumsum(n_cuts) - n_cuts
        self.axis[nodes], self.first[nodes] = axis, n + starts
        self.cut_at[nodes], self.n_cuts[nodes] = len(self.cuts) + begins, n_cuts
        self.cuts = np.concatenate([self.cuts, cuts])
        which = np.repeat(np.arange(len(nodes)), n_children)
        # A child's box is its parent's but for the cut axis; the first child keeps the lower end, the last the upper.
        for name, kept in (("lower", starts), ("upper", starts + n_cuts)):
            box = getattr(self, name)
            grown = np.concatenate([box, box[nodes[which]]])
            inner = np.ones(len(which), bool)
            inner[kept] = False
            grown[n + np.flatnonzero(inner), axis[which[inner]]] = cuts
            setattr(self, name, grown)
        parents = (nodes if owner is None else owner)[which]
        for name, value in self._blank(parents, self.depth[parents] + 1).items():
            setattr(self, name, np.concatenate([getattr(self, name), value]))
        return np.arange(n, n + len(which))

    def grid(self, nodes: IntArray, parts: IntArray, order: IntArray) -> IntArray:
        """Cut nodes into ``parts`` (one row per node, one column per axis) along all axes, one by one in this order."""
        owner, children = nodes, nodes
        place = np.zeros(int(nodes.max(initial=0)) + 1, np.int64)
        place[nodes] = np.arange(len(nodes))  # nodes need not ascend: one that is too narrow to cut keeps its number
        for j in order.tolist():
            index = place[owner]
            n_cuts = np.minimum(parts[index, j], self.width(children, j)) - 1
            wide = n_cuts > 0
            if not wide.any():
                continue
            cut, n_cuts = children[wide], n_cuts[wide]
            self.hidden[cut[cut != owner[wide]]] = True
            made = self.cut(cut, np.full(len(cut), j), self._even(cut, j, n_cuts), n_cuts, owner[wide])
            # Nodes that are one cell wide here go on as they are, in their places.
            repeats = np.ones(len(children), np.int64)
            repeats[wide] += n_cuts
            owner, fresh = np.repeat(owner, repeats), np.repeat(wide, repeats)
            children = np.repeat(children, repeats)
            children[fresh] = made
        return children

    def _even(self, nodes: IntArray, axis: int, n_cuts: IntArray) -> IntArray:
        """Return the cuts of equal parts: A + floor(p w / parts)."""
        which = np.repeat(np.arange(len(nodes)), n_cuts)
        number = np.arange(len(which)) - np.repeat(np.cumsum(n_cuts) - n_cuts, n_cuts) + 1
        starts, widths = self.lower[nodes, axis], self.width(nodes, axis)
        return np.asarray(starts[which] + number * widths[which] // (n_cuts + 1)[which])

    def map(self, nodes: IntArray, key_axis: IntArray | None = None, lines: int = 1) -> TreeMap:
        """Return the cell map that counts the rows of some nodes, or of lines across them."""
        slot = np.full(len(self.axis), -1)
        slot[nodes] = np.arange(len(nodes))
        axis = self.axis.copy()
        axis[nodes] = -1  # rows stop here, also where the node was cut since
        key = np.full(len(nodes), -1) if key_axis is None else key_axis
        boxes = self.lower[nodes], self.upper[nodes]
        return TreeMap(
            self.domain, self.bits, axis, self.first, self.cut_at, self.n_cuts, self.cuts, slot, *boxes, key, lines
        )

    def leaves(self) -> IntArray:
        """Return the nodes that were not cut, in order."""
        return np.flatnonzero(self.axis < 0)

    def uncut(self) -> tuple[str, ...]:
        """Return the names of the columns along which no node was cut."""
        used = set(self.axis[self.axis >= 0].tolist())
        return tuple(name for j, name in enumerate(self.domain.names) if j not in used)

    def table(self) -> TreeTable:
        """Return the published form: hidden nodes left out, real bounds, leaves numbered in order."""
        shown = np.flatnonzero(~self.hidden)
        number = np.full(len(self.axis) + 1, -1)  # the last entry stands for "no parent"
        number[shown] = np.arange(len(shown))
        leaf = np.full(len(self.axis), -1)
        leaves = self.leaves()
        leaf[leaves] = np.arange(len(leaves))
        lower, upper = real_bounds(self.domain, self.bits, self.lower[shown], self.upper[shown])
        fields = {name: getattr(self, name)[shown] for name in ("depth", "axis", "estimate", "variance", "threshold")}
        return TreeTable(parent=number[self.parent[shown]], leaf=leaf[shown], lower=lower, upper=upper, **fields)
