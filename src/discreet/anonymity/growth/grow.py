"""Growth: a table in, a partition out. The top is grown first, then the subtrees on all cores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth import criteria
from discreet.anonymity.growth._rule_kernels import rule_arrays
from discreet.anonymity.growth.grid import Bins, Grid
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
    grow,
)
from discreet.anonymity.growth.lookahead import grow_ahead
from discreet.anonymity.growth.plain import grow_plainly
from discreet.anonymity.growth.search_kernels import GridSpace, GrowthSettings, Labels, make_room
from discreet.anonymity.growth.tree import Tree, grid_shares
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.distances import Limits
from discreet.core import WORKERS, AnyArray, IntArray, in_order

#: Grows trees on nodes with rising rows, none in two: see `Grower.on`.
Run = Callable[[IntArray, IntArray, int], IntArray]

#: Tables with fewer rows are grown faster by one thread.
_THREADED = 1 << 14
#: Rows times columns, and leaves times columns, up to which a table is grown without kernels: a fifth of a second.
_SMALL, _SMALL_NODES = 1 << 16, 1 << 11
#: The same for all small tables of a process together: two seconds. Whoever grows more of them is served by kernels.
_MOST_PLAIN = 1 << 18
_plain_steps = [0]
#: Places on a grid of given points, in units.
_FINE = 1 << 24
#: A numeric target with more values than this is taken in classes of equal size.
_MOST_CLASSES, _CLASSES = 32, 10


#: The table of nodes that is kept: as `COLUMN` and the next three have it, and how many rows each has.
ROWS = 4


@dataclass(frozen=True)
class GrownTree:
    """A tree, the rows of each node, and the leaf (a node number) of each row that is in memory."""

    tree: Tree
    counts: IntArray
    leaf: IntArray = field(default_factory=lambda: np.empty(0, np.int64))


class Grower(NamedTuple):
    """The settings of growth apart from the rows: grids, rules, and the cell of the root."""

    space: GridSpace
    limits: Limits
    settings: GrowthSettings
    low: IntArray
    high: IntArray

    def root(self, n: int) -> tuple[IntArray, IntArray]:
        """Return the root of n rows, and its cell, as `on` has them."""
        return np.array([[0, n, 0]]), np.stack([self.low, self.high])[None]

    @property
    def summed(self) -> bool:
        """True if the criterion adds up places."""
        return self.settings.criterion in (criteria.SPREAD, criteria.LABEL, criteria.FACTOR)

    def on(self, bins: Bins, sensitive: IntArray, labels: Labels) -> tuple[Run, Any, Any]:
        """Return a function that grows on a copy of some rows, the copy, and the row numbers, which move with it.

        It takes nodes (first row, end, depth), their cells, and the size of nodes that are left to other calls. It
        returns the table of nodes (see `COLUMN`), all trees one behind the other.
        """
        ids = np.arange(bins.shape[1], dtype=np.int32 if bins.shape[1] < 2**31 else np.int64)
        # A copy, also of one column: the kernels move rows.
        rows = self.packed(bins, sensitive)

        def run(roots: IntArray, cells: IntArray, hand_over: int) -> IntArray:
            return self.grow(rows, ids, labels, roots, cells, hand_over)

        return run, rows, ids

    def grow(
        self, rows: Any, ids: Any, labels: Labels, roots: IntArray, root_cells: IntArray, hand_over: int
    ) -> IntArray:
        (k, d), (criterion, min_share, max_depth) = (self.limits.k, len(self.low)), self.settings
        held = roots[:, 1] - roots[:, 0]
        n, n_bins, words = int(held.max()), self.space.places.shape[1], rows.view(np.uint64)
        nodes = np.empty((2 * int((held // k).sum()) + len(roots), 7), np.int64)
        deep = len(roots) + min(max_depth, n // k) + 2
        stack, cells = np.full((deep, 5), -1, np.int64), np.empty((deep, 2, d), np.int64)
        stack[: len(roots), :3], cells[: len(roots)] = roots[::-1], root_cells[::-1]
        room = (nodes, stack, cells, np.empty((n, words.shape[1]), np.uint64), np.empty(n, ids.dtype))
        rules = rule_arrays(self.limits)
        values = len(self.limits.share) if rules[0] is not None else 0
        told = (labels.target, labels.worth) if criterion == criteria.LABEL else (None, None)
        lanes = words.shape[1] if self.space.even and rows.itemsize == 1 else 0
        given: tuple[Any, ...] = (
            rows, words, ids, len(roots), hand_over, criterion, k, min_share, max_depth, labels.n_sensitive,
            *self.space.arrays(criterion), *rules, *told,
            *make_room(n, n_bins, d, values, labels.n_classes, criterion, lanes, deep), *room,
        )  # fmt: skip
        found = grow(*given)
        return nodes[:found]

    def packed(self, bins: Bins, sensitive: IntArray) -> AnyArray:
        """Copy rows to whole words: their bins, then their sensitive values if a rule looks at them."""
        values = len(self.limits.share) if self.limits.l_on or self.limits.t_on else 0
        highest = max(int(self.high.max()), values - 1)
        kind: Any = np.uint8 if highest < 2**8 else np.uint16 if highest < 2**16 else np.uint32
        size, d = np.dtype(kind).itemsize, len(bins)
        width = d + (len(sensitive) if values else 0)
        rows = np.zeros((bins.shape[1], -(-width * size // 8) * 8 // size), kind)
        rows[:, :d] = bins.T
        if values:
            rows[:, d:width] = sensitive.T
        return rows


def make_grower(
    grids: Sequence[Grid], limits: Limits, criterion: str, min_share: float, max_depth: int,
    tiers: Mapping[int, IntArray] | None, moments: Callable[[IntArray], Any],
) -> Grower:  # fmt: skip
    """Prepare growth; ``moments`` returns those of all rows if the criterion needs them."""
    space = make_space(grids, tiers or {})
    if criterion in ("factor", "label"):
        space = space._replace(axes=criteria.common_axes(moments(space.places)))
    settings = GrowthSettings(criteria.NAMES.index(criterion), float(min_share), int(max_depth))
    high = np.array([g.n_bins - 1 for g in grids], np.int64)
    return Grower(space, limits, settings, np.zeros(len(grids), np.int64), high)


def grow_tree(
    bins: Bins, grids: Sequence[Grid], limits: Limits, *, criterion: str, sensitive: IntArray | None = None,
    target: CodedColumn | None = None, min_share: float = 0.02, max_depth: int = 64,
    tiers: Mapping[int, IntArray] | None = None, weight: float = 1.0, ahead: int = 0, threads: bool = True,
) -> GrownTree:  # fmt: skip
    """Grow a partition of the rows ``bins`` (columns by rows) in which each cell keeps the rules.

    The root must keep the rules (``limits``). ``criterion`` is one of `criteria.NAMES`; ``sensitive`` holds sensitive
    values as `rules.stacked` numbers them; ``tiers`` maps a column number to `Hierarchy.tiers`. For criterion "label",
    ``target`` is the label, ``weight`` the weight of its information gain against the common spread, and ``ahead`` the
    number of upper levels that are split by looking ahead. ``threads`` does not change the result.
    """
    n = bins.shape[1]
    grower = make_grower(grids, limits, criterion, min_share, max_depth, tiers, partial(_moments, bins))
    codes = np.empty((0, n), np.int64) if sensitive is None else sensitive
    small = n * len(bins) <= _SMALL and n // limits.k * len(bins) <= _SMALL_NODES
    if threads and criterion != "label" and small and _plain_steps[0] <= _MOST_PLAIN:
        _plain_steps[0] += n * len(bins)
        nodes, ids = grow_plainly(grower, bins, codes)
        return _with_leaves(grids, slim(nodes), ids)
    labels = make_labels(len(codes), target if criterion == "label" else None, weight)
    run, rows, ids = grower.on(bins, codes, labels)
    if ahead and criterion == "label":
        nodes = slim(grow_ahead(rows, ids, grower.low, grower.high, 0, ahead, grower, labels))
    elif not threads or WORKERS < 2 or n < _THREADED:
        nodes = slim(run(*grower.root(n), 0))
    else:
        nodes = _grow_on_all_cores(run, n, *grower.root(n))
    return _with_leaves(grids, nodes, ids)


def grow_on(
    tree: Tree, bins: Bins, leaf: IntArray, waiting: IntArray, limits: Limits, *, criterion: str, sensitive: IntArray,
    min_share: float, max_depth: int, tiers: Mapping[int, IntArray],
) -> tuple[Tree, IntArray]:  # fmt: skip
    """Split leaves further where the rules allow it; return the tree and the leaf of each row.

    A leaf becomes what growth on all records would make of its cell. ``bins``, ``leaf`` and ``sensitive`` are those of
    all rows, ``waiting`` the leaves to look at, in rising order. The other arguments are those of `grow_tree`.
    """
    held = np.bincount(leaf, minlength=tree.n_nodes)
    waiting = waiting[held[waiting] >= 2 * limits.k]
    if not len(waiting):
        return tree, leaf
    chosen = np.zeros(tree.n_nodes, bool)
    chosen[waiting] = True
    rows = np.flatnonzero(chosen[leaf])
    rows = rows[np.argsort(leaf[rows], kind="stable")]
    grower = make_grower(tree.grids, limits, criterion, min_share, max_depth, tiers, partial(_moments, bins))
    cells = np.stack(tree.cells_of(waiting), 1)
    own, codes = np.ascontiguousarray(bins[:, rows]), np.ascontiguousarray(sensitive[:, rows])
    ends = np.cumsum(held[waiting])
    roots = np.stack([ends - held[waiting], ends, tree.levels[waiting]], 1)
    run, _, ids = grower.on(own, codes, make_labels(len(sensitive)))
    grown = pieces(run(roots, cells, 0), roots)
    top = np.stack([tree.column, tree.cut, tree.right, tree.criterion, held], 1)
    whole, place = stitch(top, waiting, grown)
    moved, starts = place[leaf], place[waiting].tolist()
    last = [start + np.flatnonzero(piece[:, COLUMN] < 0) for start, piece in zip(starts, grown, strict=True)]
    at = np.concatenate(last)
    moved[rows[ids]] = np.repeat(at, whole[at, ROWS])  # leaves come in the order of their rows
    return finish(tree.grids, whole).tree, moved


def _moments(bins: Bins, places: IntArray) -> Any:
    return criteria.moments(np.array(bins.T, order="C"), places)


def _with_leaves(grids: Sequence[Grid], nodes: IntArray, ids: IntArray) -> GrownTree:
    """Make a tree of a table of nodes, with the leaf of each row; ``ids`` are the rows, leaf by leaf."""
    grown = finish(grids, nodes)
    leaf = np.empty(len(ids), np.int64)
    leaf[ids] = np.repeat(grown.tree.leaves, grown.counts[grown.tree.leaves])
    return GrownTree(grown.tree, grown.counts, leaf)


def finish(grids: Sequence[Grid], nodes: IntArray) -> GrownTree:
    column, cut, right, used, counts = nodes.T
    tree = Tree(tuple(grids), column, cut, right, np.where(used == LEAF, -1, used))
    return GrownTree(tree, counts.astype(np.int64))


def slim(nodes: IntArray) -> IntArray:
    """Return the columns of a table of nodes that are kept (see `ROWS`), in half the memory."""
    kept = nodes[:, [COLUMN, CUT, RIGHT, CRITERION, END]]
    kept[:, ROWS] -= nodes[:, BEGIN]
    return kept.astype(np.int32 if kept[:, ROWS].max() < 2**31 else np.int64)


def _grow_on_all_cores(run: Run, n: int, root: IntArray, cell: IntArray) -> IntArray:
    """Grow the top, hand the small nodes to threads, and put the pieces where the top left off."""
    top = run(root, cell, n // 16)
    cells = np.repeat(cell, len(top), axis=0)
    for i in np.flatnonzero(top[:, COLUMN] >= 0):
        column, cut, right = top[i, [COLUMN, CUT, RIGHT]]
        cells[i + 1], cells[right] = cells[i], cells[i]
        cells[i + 1, 1, column], cells[right, 0, column] = cut - 1, cut
    waiting = np.flatnonzero(top[:, CRITERION] == PENDING)
    roots = top[waiting][:, [BEGIN, END, DEPTH]]
    # Neighbours share a task, so that slivers do not cost a task each.
    task = np.cumsum(roots[:, 1] - roots[:, 0]) * 16 // n
    batches = [np.flatnonzero(task == t) for t in np.unique(task)]

    def work(batch: IntArray) -> list[IntArray]:
        return pieces(run(roots[batch], cells[waiting[batch]], 0), roots[batch])

    grown = [nodes for found in in_order(work, batches) for nodes in found]
    return stitch(slim(top), waiting, grown)[0]


def pieces(nodes: IntArray, roots: IntArray) -> list[IntArray]:
    """Return the trees of a table that several roots have grown, each with its own numbers."""
    starts, found = np.searchsorted(nodes[:, BEGIN], roots[:, 0]), slim(nodes)
    shift = np.repeat(starts, np.diff(starts, append=len(nodes)))
    found[:, RIGHT] -= np.where(found[:, RIGHT] >= 0, shift, 0)
    return np.split(found, starts[1:])


def stitch(top: IntArray, waiting: IntArray, grown: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Put each grown piece in the place of its node; nodes keep their depth-first order. Also return where they are."""
    sizes = np.ones(len(top), np.int64)
    sizes[waiting] = [len(nodes) for nodes in grown]
    place = np.cumsum(sizes) - sizes
    whole = np.empty((int(sizes.sum()), top.shape[1]), top.dtype)
    whole[place] = top
    whole[place, RIGHT] = np.where(top[:, RIGHT] >= 0, place[top[:, RIGHT]], -1)
    for start, piece in zip(place[waiting].tolist(), grown, strict=True):
        piece[piece[:, RIGHT] >= 0, RIGHT] += start
        whole[start : start + len(piece)] = piece
    return whole, place


def make_space(grids: Sequence[Grid], tiers: Mapping[int, IntArray]) -> GridSpace:
    """Lay the grids out for the kernels. The bin of missing values is one step wide, behind the last."""
    d, most = len(grids), max(g.n_bins for g in grids)
    edges = np.zeros((d, most + 1))
    places = np.zeros((d, most), np.int64)
    units = np.empty(d)
    missing = np.full(d, -1, np.int64)
    tier = np.zeros((d, most + 1), np.int64)
    form = np.zeros(d, np.int64)
    for j, grid in enumerate(grids):
        points = grid_shares(grid)
        edges[j, : len(points)] = points
        edges[j, len(points) :] = points[-1]
        widths = np.diff(points[: grid.levels + 1])
        if np.ptp(widths) < 1e-9 * widths.mean():
            places[j, : grid.n_bins] = np.arange(grid.n_bins)
            units[j] = 1 / grid.levels
        else:
            middles = np.rint((points[:-1] + points[1:]) / 2 * _FINE).astype(np.int64)
            places[j, : grid.n_bins] = middles
            units[j], form[j] = 1 / _FINE, 1
        if grid.own_missing:
            missing[j] = grid.levels
        if j in tiers:
            tier[j, 1 : grid.levels] = tiers[j]
            form[j] = 3 if grid.numeric else 2
    even = all((places[j, : g.n_bins] == np.arange(g.n_bins)).all() for j, g in enumerate(grids))
    return GridSpace(edges, places, units, missing, tier, form, bool(even), np.zeros((0, d)))


def make_labels(n_sensitive: int, target: CodedColumn | None = None, weight: float = 1.0) -> Labels:
    """Return the number of sensitive columns, and the target, in the form that kernels read; see `grow_tree`."""
    if target is None:
        return Labels(n_sensitive, np.empty(0, np.int64), 0, np.zeros(2))
    codes, classes = label_codes(target)
    share = np.bincount(codes, minlength=1) / max(len(codes), 1)
    entropy = -float(share @ np.log(share, out=np.zeros(len(share)), where=share > 0))
    worth = np.array([weight / (len(codes) * entropy) if entropy > 0 else 0.0, 1.0 - weight])
    return Labels(n_sensitive, codes, classes, worth)


def label_codes(target: CodedColumn) -> tuple[IntArray, int]:
    """Return the classes of a target and their number: its values, or ten ranges with equal numbers of records."""
    codes, classes = target.codes.astype(np.int64), len(target.labels)
    if target.ordered and classes > _MOST_CLASSES:
        ahead = np.cumsum(np.bincount(codes, minlength=classes)) - 1
        codes = (ahead * _CLASSES // len(codes))[codes]
        classes = _CLASSES
    return codes, classes
