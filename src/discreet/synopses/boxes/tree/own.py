"""Partitioners of your own: the values they see, and the private answers they may pay for.

A partitioner of your own sees no rows. It gets `Boxes`, which hold public and released values, and `Offers`, which
gives private answers about the rows in them and raises `BudgetExceeded` beyond the level's share. So the promise of the
tree holds, provided that the class decides only by these and public constants.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import BoolArray, Exact, FloatArray, IntArray, checks
from discreet.core.budget import Epsilon
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType
from discreet.mechanisms import Gate
from discreet.synopses.boxes.tree.partitioners import Quantiles, TreePartitioner

if TYPE_CHECKING:
    from discreet.engines.readers import RowCells
    from discreet.synopses.boxes.tree.growth import GrowingTree


#: Parts of a box that are counted at once, at most.
_MOST_PARTS = 1 << 16


@dataclass(frozen=True)
class Boxes:
    """The nodes of a level that are to be cut; one entry per node. All of it is public or released.

    Attributes
    ----------
    names, cells : tuple of str, array of int
        The columns, and the cells of every axis of the public grid.
    lower, upper : array of int, nodes by axes
        The boxes, in cells: from ``lower`` to ``upper``, which is not part of them.
    depth, estimate : array of int, array of float
        Depths (the root has 0), and the noisy count of the node's test (NaN where it was not tested).

    Examples
    --------
    >>> boxes = Boxes(("x", "y"), np.array([8, 8]), np.array([[0, 0]]), np.array([[4, 8]]), np.array([1]), np.ones(1))
    >>> boxes.widths.tolist()
    [[4, 8]]
    """

    names: tuple[str, ...]
    cells: IntArray
    lower: IntArray
    upper: IntArray
    depth: IntArray
    estimate: FloatArray

    @property
    def widths(self) -> IntArray:
        """Widths in cells; an axis of one cell cannot be cut."""
        return np.asarray(self.upper - self.lower)


@dataclass(frozen=True)
class Cuts:
    """The cuts of boxes, each along one ``axis``.

    ``places`` are the cells before which a box is cut, ascending within a box, all boxes one after the other;
    ``numbers`` says how many each box has, at least one.

    Examples
    --------
    >>> Cuts(np.array([0]), np.array([2, 5]), np.array([2])).numbers.tolist()
    [2]
    """

    axis: IntArray
    places: IntArray
    numbers: IntArray


class OwnPartitioner:
    """A rule of your own that cuts nodes: derive from it, write `cut` (and `keep`), pass it to `TreeSynopsis`.

    Attributes
    ----------
    fan_out : int
        Children of a node at most; thresholds, budgets and memory are reckoned with it.
    paid : bool
        Whether cuts cost budget. If not, their share goes to the tests and leaves.

    Privacy
    -------
    Neighbours: add or remove one row. A level's price is charged in parallel over its disjoint nodes before `cut` is
    called, and `Offers` spends no more than it. All that `cut` sees is public, released, or paid for there. `keep` sees
    public and released values alone: where growth ends costs nothing, and a leaf is published with the rest of ε.

    Examples
    --------
    >>> import discreet as dc
    >>> class InTurn(OwnPartitioner):
    ...     def cut(self, boxes, offers):
    ...         return offers.middles(boxes.depth % len(boxes.names))
    >>> rows = dc.datasets.s_like(1, random_state=0)
    >>> tree = dc.TreeSynopsis(1.0, rows.domain, InTurn(), max_depth=4, test_from=4, random_state=0).fit(rows.X)
    >>> tree.synopsis_.n_leaves, tree.guarantee_.epsilon, tree.guarantee_.parameters["partitioner"]
    (16, 1.0, 'InTurn')
    """

    fan_out: int = 2
    paid: bool = False

    def cut(self, boxes: Boxes, offers: Offers) -> Cuts:
        """Return where to cut these boxes, by what they show and by private answers."""
        raise NotImplementedError

    def keep(self, boxes: Boxes, passed: BoolArray) -> BoolArray:
        """Return which boxes to cut, by depth, box and noisy count; the others become leaves.

        ``passed`` says whose noisy count is above the threshold: all, at a level that is not tested.
        """
        return passed


class Offers:
    """Private answers about the rows of the boxes. Every answer is charged before rows are read.

    `OwnPartitioner.cut` gets one per level; there is no other way to make one.

    Examples
    --------
    >>> import discreet as dc
    >>> class Medians(OwnPartitioner):
    ...     paid = True
    ...
    ...     def cut(self, boxes, offers):
    ...         return offers.quantiles(boxes.depth % 2, 1, offers.epsilon)
    >>> rows = dc.datasets.s_like(1, random_state=0)
    >>> dc.TreeSynopsis(1.0, rows.domain, Medians(), max_depth=4, random_state=0).fit(rows.X).guarantee_.epsilon
    1.0
    """

    def __init__(self, own: OwnCuts, nodes: IntArray, gate: Gate | None) -> None:
        self._own, self._nodes, self._gate, self._step = own, nodes, gate, 0

    @property
    def epsilon(self) -> Exact:
        """The rest of the level's share of the budget, which falls with every answer; 0 if ``paid`` is False."""
        return 0 if self._gate is None else self._gate.left.amount

    def middles(self, axis: Any) -> Cuts:
        """Cut every box in the middle of an axis. Free: boxes are public.

        Parameters
        ----------
        axis : int or array of int
            The place of a column: one per box, or one for all.
        """
        axis, tree = self._axes(axis), self._own.tree
        places = tree.lower[self._nodes, axis] + tree.width(self._nodes, axis) // 2
        return Cuts(axis, places, np.ones_like(self._nodes))

    def quantiles(self, axis: Any, n_cuts: int, epsilon: Any) -> Cuts:
        """Return private quantiles (``n_cuts`` of them) of the rows of every box along an axis, for ε in total.

        Privacy: the exponential mechanism on ranks, in parallel over disjoint boxes; see `discreet.noise.quantiles`.

        Parameters
        ----------
        axis : int or array of int
            The place of a column: one per box, or one for all.
        n_cuts : int
            Cuts per box, at most ``fan_out - 1``.
        epsilon : float
            The price, at most `Offers.epsilon`.
        """
        axis, n_cuts = self._axes(axis), checks.whole("n_cuts", n_cuts, low=1, high=self._own.fan_out - 1)
        gate, label = self._next("quantiles")
        price = Epsilon(checks.budget("epsilon", epsilon))
        gate.check_price(label, price)
        return self._own.quantiles(self._nodes, axis, n_cuts, gate, label, price)

    def counts(self, axis: Any, parts: int, epsilon: Any) -> IntArray:
        """Return the noisy numbers of rows in equal parts of every box along an axis: an array, boxes by parts.

        Privacy: a row is in one part of one box, so one count changes by 1: discrete Laplace noise of scale 1/ε. A box
        of fewer cells has fewer parts; the others hold noise alone.

        Parameters
        ----------
        axis : int or array of int
            The place of a column: one per box, or one for all.
        parts : int
            Parts per box.
        epsilon : float
            The price, at most `Offers.epsilon`.
        """
        axis, parts = self._axes(axis), checks.whole("parts", parts, low=1, high=_MOST_PARTS)
        gate, label = self._next("counts")
        price = Epsilon(checks.budget("epsilon", epsilon))
        read = functools.partial(self._own.raw_counts, self._nodes, axis, parts)
        return np.asarray(gate.counts(label, read, price).values.reshape(len(self._nodes), parts))

    def _axes(self, axis: Any) -> IntArray:
        """Check axes, before anything is charged: one per box, or one for all of them."""
        found, last = np.asarray(axis), len(self._own.tree.domain.names) - 1
        if found.dtype.kind not in "iu" or found.shape not in ((), self._nodes.shape):
            raise InvalidArgument(
                "axis", axis, f"a whole number for each of {len(self._nodes)} boxes", "boxes.depth * 0"
            )
        if found.size and not (found.min() >= 0 and found.max() <= last):
            raise InvalidArgument("axis", axis, f"a column's place, 0 to {last}", "boxes.depth * 0")
        return np.broadcast_to(found, self._nodes.shape).astype(np.int64)

    def _next(self, label: str) -> tuple[Gate, str]:
        if self._gate is None:
            raise BudgetExceeded(
                f"{label!r} is asked by a partitioner with paid = False, which has no budget; set paid = True"
            )
        self._step += 1
        return self._gate, f"{label} {self._step}"


class OwnCuts(TreePartitioner):
    """The tree's side of a partitioner of one's own."""

    def __init__(self, tree: GrowingTree, rows: RowCells, own: OwnPartitioner) -> None:
        super().__init__(tree, rows, "own")
        self._own, self.fan_out = own, own.fan_out

    def split(self, kept: BoolArray, gate: Gate, label: str, price: Epsilon) -> IntArray:
        nodes, tree = self._nodes[kept], self.tree
        boxes = self._boxes(nodes)
        if price:
            with gate.pure_share(label, price) as part:
                cuts = self._own.cut(boxes, Offers(self, nodes, part))
        else:
            cuts = self._own.cut(boxes, Offers(self, nodes, None))
        checked = _checked(cuts, boxes, self.fan_out)
        return tree.cut(nodes, checked.axis, checked.places, checked.numbers)

    def keep(self, nodes: IntArray, passed: BoolArray) -> BoolArray:
        kept = np.asarray(self._own.keep(self._boxes(nodes), passed.copy()))
        if kept.shape != passed.shape or kept.dtype != np.bool_:
            raise InvalidArgument("keep", kept, f"True or False for each of {len(nodes)} boxes", "passed")
        return kept

    def _boxes(self, nodes: IntArray) -> Boxes:
        tree = self.tree
        lower, upper = tree.lower[nodes].astype(np.int64), tree.upper[nodes].astype(np.int64)
        return Boxes(tree.domain.names, tree.cells, lower, upper, tree.depth[nodes], tree.estimate[nodes].copy())

    def quantiles(self, nodes: IntArray, axis: IntArray, n_cuts: int, gate: Gate, label: str, price: Epsilon) -> Cuts:
        """Return private quantiles, among as many lines as the tree's own partitioner would have."""
        ours = Quantiles(self.tree, self.rows, "own", n_cuts)
        runs = ours.read_runs(nodes, axis, len(self._nodes))
        lines, numbers = gate.cuts(label, runs, n_cuts, price)
        return Cuts(axis, ours.places(nodes, axis, runs, lines, numbers), numbers)

    def raw_counts(self, nodes: IntArray, axis: IntArray, parts: int) -> IntArray:
        """Count the rows of parts of boxes."""
        found = self.rows.count(self.tree.map(nodes, axis, parts))
        counts = np.zeros(len(nodes) * parts, np.int64)
        counts[found.cells] = found.counts
        return counts


def _checked(cuts: Cuts, boxes: Boxes, fan_out: int) -> Cuts:
    """Refuse cuts outside their boxes. They are made of released values, so refusing reveals no more than they do."""
    n, fix = len(boxes.depth), "offers.middles(axis)"
    if not isinstance(cuts, Cuts):
        raise InvalidType("cut", type(cuts).__name__, "a method that returns Cuts", f"return {fix}")
    axis, places, numbers = (np.asarray(x, np.int64) for x in (cuts.axis, cuts.places, cuts.numbers))
    if axis.shape != (n,) or numbers.shape != (n,) or places.shape != (int(numbers.sum()),):
        raise InvalidArgument("cuts", cuts, f"one axis and number per box ({n}), and as many places as numbers", fix)
    if n and not (axis.min() >= 0 and axis.max() < len(boxes.names)):
        raise InvalidArgument("axis", axis, f"a column's place, 0 to {len(boxes.names) - 1}", fix)
    if n and not (numbers.min() >= 1 and numbers.max() < fan_out):
        raise InvalidArgument("numbers", numbers, f"from 1 to fan_out - 1 = {fan_out - 1} cuts per box", fix)
    which = np.repeat(np.arange(n), numbers)
    inside = (boxes.lower[which, axis[which]] < places) & (places < boxes.upper[which, axis[which]])
    rising = (np.diff(places) > 0) | (np.diff(which) > 0)
    if not (inside.all() and rising.all()):
        raise InvalidArgument("places", places, "inside their boxes, ascending within each", fix)
    return Cuts(axis, places, numbers)
