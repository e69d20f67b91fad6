"""Growth on rows outside memory: the same tree as `grow_tree`, from counts and from a few rows at a time.

The upper part is grown level by level. One pass over the rows counts what the search needs for all nodes of a level
(`node_counts.py`), and the search of `growth_kernels` uses the counts. A node with few rows is grown in memory,
together with its neighbours. Which nodes those are does not change the tree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.anonymity.growth._count_kernels import SMALL
from discreet.anonymity.growth.grid import Bins, Grid
from discreet.anonymity.growth.grow import Grower, GrownTree, finish, make_grower, make_labels, pieces, slim, stitch
from discreet.anonymity.growth.growth_kernels import (
    BEGIN,
    COLUMN,
    CRITERION,
    CUT,
    DEPTH,
    END,
    LEAF,
    PENDING,
    RIGHT,
)
from discreet.anonymity.growth.node_counts import CountJob, CountShape, NodeCounts, TopTree
from discreet.anonymity.growth.plain import Groups, best_split
from discreet.anonymity.risk.distances import Limits
from discreet.core import WORKERS, IntArray
from discreet.engines import MOST_FILES
from discreet.errors import InvalidArgument

#: Bytes of a row that is grown in memory: its bins twice, its number and its place twice, its sensitive values.
_ROW = 64
#: Bytes that the counts of a single node may always take.
_ONE_NODE = 1 << 28

#: Grows the nodes of a bucket: its number, bins (columns by rows), sensitive values (columns by rows, stacked).
BucketGrower: TypeAlias = Callable[[int, Bins, IntArray], list[IntArray]]


class DistantRows(Protocol):
    """Build records that are counted where they are, and brought here by a few nodes at a time."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def count(self, job: CountJob) -> NodeCounts:
        """Count all rows by node, column and bin."""

    def moments(self, places: IntArray) -> Any:
        """Add up places and products of places, column by column."""

    def grown(self, top: TopTree, bucket: IntArray, grow: BucketGrower) -> Iterator[list[IntArray]]:
        """Bring the rows of one bucket after the other together, and yield what ``grow`` makes of each.

        ``bucket`` says for every node of ``top`` in which bucket its rows are; -1: in none. The order of the rows in a
        bucket does not matter.
        """


@dataclass
class _Node:
    """A node of the upper part."""

    rows: int
    level: int
    first: IntArray
    last: IntArray
    column: int = -1
    cut: int = -1
    criterion: int = LEAF
    left: int = -1
    right: int = -1


def grow_outside(
    rows: DistantRows, grids: Sequence[Grid], limits: Limits, *, criterion: str, min_share: float = 0.02,
    max_depth: int = 64, tiers: Mapping[int, IntArray] | None = None, memory: int = 1 << 29,
) -> GrownTree:  # fmt: skip
    """Grow the tree that `grow_tree` grows on the same rows; the leaves of the rows are not kept.

    Counts may take ``memory`` bytes, and as many the rows that are grown at a time.
    """
    grower = make_grower(grids, limits, criterion, min_share, max_depth, tiers, rows.moments)
    of_row = WORKERS * (_ROW + 8 * len(grids) + 8 * len(limits.t_kind))
    hand_over = max(SMALL, memory // of_row, 2 * rows.n // MOST_FILES)  # two neighbouring nodes have more
    values = len(limits.share) if limits.l_on or limits.t_on else 0
    summed = len(grids) if grower.summed else 0
    shape = CountShape(len(grids), grower.space.places.shape[1], values, summed, grower.space.even)
    room = WORKERS * shape.nbytes
    if values and rows.n > hand_over and room > max(memory, _ONE_NODE):  # fewer rows are not counted here
        most = max(memory, _ONE_NODE) // (room // values)
        raise InvalidArgument(
            "sensitive", f"{values} different values", f"at most {most} different values in a table of {rows.n:,} rows",
            "fit(some_of_the_rows) and transform_file(all_rows, target)",
        )  # fmt: skip
    nodes = _grow_top(rows, grower, shape, hand_over, max(1, memory // room))
    top, places = _depth_first(nodes)
    waiting = np.flatnonzero(top[:, CRITERION] == PENDING)
    held = top[waiting, END] - top[waiting, BEGIN]
    bucket = _together(held, hand_over)
    of_node = np.full(len(nodes), -1, np.int64)
    of_node[places[waiting]] = bucket
    routed = _routed(nodes)

    def work(number: int, bins: Bins, codes: IntArray) -> list[IntArray]:
        return _grow_bucket(grower, [nodes[i] for i in places[waiting[bucket == number]]], bins, codes)

    grown = [piece for found in rows.grown(routed, of_node, work) for piece in found]
    return finish(grids, stitch(slim(top), waiting, grown)[0])


def _grow_top(rows: DistantRows, grower: Grower, shape: CountShape, hand_over: int, at_once: int) -> list[_Node]:
    """Grow level by level what has more than ``hand_over`` rows; count ``at_once`` nodes per pass."""
    nodes = [_Node(rows.n, 0, grower.low, grower.high)]
    level = [0]
    while level:
        opened = [i for i in level if _opens(nodes[i], grower, hand_over)]
        level = []
        for start in range(0, len(opened), at_once):
            chosen = opened[start : start + at_once]
            slot = np.full(len(nodes), -1, np.int64)
            slot[chosen] = np.arange(len(chosen))
            counts = rows.count(CountJob(_routed(nodes), slot, len(chosen), shape, grower.space.places))
            for number, i in enumerate(chosen):
                level += _cut(nodes, i, counts, number, grower)
    return nodes


def _opens(node: _Node, grower: Grower, hand_over: int) -> bool:
    """Return whether a node is split here; mark one that is grown in memory."""
    if node.rows < 2 * grower.limits.k or node.level >= grower.settings.max_depth:
        return False
    if node.rows <= hand_over:
        node.criterion = PENDING
    return node.rows > hand_over


def _cut(nodes: list[_Node], i: int, counts: NodeCounts, number: int, grower: Grower) -> list[int]:
    """Cut a node where the search says, and return the numbers of its children; none if there is no cut."""
    node = nodes[i]

    def groups(j: int) -> Groups:
        held = counts.counts[number, j]
        bins = np.flatnonzero(held)
        sums = np.cumsum(counts.sums[number, j, bins], axis=0).T
        return Groups(bins, np.cumsum(held[bins]), sums, lambda: np.cumsum(counts.values[number, j, bins], axis=0))

    column, cut = best_split(grower, node.first, node.last, groups)
    if column < 0:
        return []
    node.column, node.cut, node.criterion = column, cut, grower.settings.criterion
    below, above = node.last.copy(), node.first.copy()
    below[column], above[column] = cut - 1, cut
    left = int(counts.counts[number, column, :cut].sum())
    node.left, node.right = len(nodes), len(nodes) + 1
    nodes.append(_Node(left, node.level + 1, node.first, below))
    nodes.append(_Node(node.rows - left, node.level + 1, above, node.last))
    return [node.left, node.right]


def _routed(nodes: list[_Node]) -> TopTree:
    children = [[n.left, n.right] if n.column >= 0 else [i, i] for i, n in enumerate(nodes)]
    column = np.array([max(n.column, 0) for n in nodes], np.int64)
    return TopTree(
        column, np.array([n.cut for n in nodes], np.int64), np.array(children, np.int64), max(n.level for n in nodes)
    )


def _depth_first(nodes: list[_Node]) -> tuple[IntArray, IntArray]:
    """Return the table of nodes as `grow` has it, and the number here of each."""
    top = np.empty((len(nodes), 7), np.int64)
    places = np.empty(len(nodes), np.int64)
    stack, begin = [(0, -1)], 0
    for at in range(len(nodes)):
        i, above = stack.pop()
        node = nodes[i]
        places[at] = i
        if above >= 0:
            top[above, RIGHT] = at
        top[at, [COLUMN, CUT, RIGHT, CRITERION, DEPTH]] = node.column, node.cut, -1, node.criterion, node.level
        top[at, BEGIN], top[at, END] = begin, begin + node.rows
        if node.column >= 0:
            stack += [(node.right, at), (node.left, -1)]
        else:
            begin += node.rows
    return top, places


def _together(held: IntArray, most: int) -> IntArray:
    """Return the bucket of every node: neighbours share one as long as they have no more rows than ``most``."""
    found, number, full = np.empty(len(held), np.int64), -1, most
    for i, rows in enumerate(held.tolist()):
        if full + rows > most:
            number, full = number + 1, 0
        found[i] = number
        full += rows
    return found


def _grow_bucket(grower: Grower, nodes: list[_Node], bins: Bins, codes: IntArray) -> list[IntArray]:
    if len(nodes) > 1:  # the rows of a node, one behind the other
        own = np.zeros(bins.shape[1], np.int64)
        for number, node in enumerate(nodes):
            inside = np.ones(len(own), bool)
            for m in range(len(bins)):
                inside &= (bins[m] >= node.first[m]) & (bins[m] <= node.last[m])
            own[inside] = number
        order = np.argsort(own, kind="stable")
        bins, codes = np.ascontiguousarray(bins[:, order]), np.ascontiguousarray(codes[:, order])
    run, _, _ = grower.on(bins, codes, make_labels(len(codes)))
    ends = np.cumsum([node.rows for node in nodes])
    roots = np.stack([ends - [node.rows for node in nodes], ends, [node.level for node in nodes]], 1)
    return pieces(run(roots, np.array([[node.first, node.last] for node in nodes]), 0), roots)
