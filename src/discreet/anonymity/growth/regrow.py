"""Growth that continues: leaves with new records are split by the search that grew the tree.

A leaf becomes what growth on all records would make of its cell, whatever the rest of the tree.
"""

from collections.abc import Mapping

import numpy as np

from discreet.anonymity.growth import criteria
from discreet.anonymity.growth.grid import Bins
from discreet.anonymity.growth.grow import make_grower, make_labels
from discreet.anonymity.growth.growth_kernels import BEGIN, COLUMN, CRITERION, CUT, END, LEAF, RIGHT
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.risk.distances import Limits
from discreet.core import IntArray


def grow_on(
    tree: Tree,
    bins: Bins,
    leaf: IntArray,
    waiting: IntArray,
    limits: Limits,
    *,
    criterion: str,
    sensitive: IntArray,
    min_share: float,
    max_depth: int,
    tiers: Mapping[int, IntArray],
) -> tuple[Tree, IntArray]:
    """Split leaves further where the rules allow it; return the tree and the leaf of each row.

    ``bins``, ``leaf`` and ``sensitive`` are those of all rows, ``waiting`` the leaves to look at, in rising order. The
    other arguments are those of `grow_tree`.
    """
    held = np.bincount(leaf, minlength=tree.n_nodes)
    waiting = waiting[held[waiting] >= 2 * limits.k]
    if not len(waiting):
        return tree, leaf
    chosen = np.zeros(tree.n_nodes, bool)
    chosen[waiting] = True
    rows = np.flatnonzero(chosen[leaf])
    rows = rows[np.argsort(leaf[rows], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(held[waiting])])

    def moments(places: IntArray) -> criteria.Moments:
        return criteria.moments(np.array(bins.T, order="C"), places)

    grower = make_grower(tree.grids, limits, criterion, min_share, max_depth, tiers, moments)
    first, last = tree.cells
    labels = make_labels(len(sensitive))
    own, codes = np.ascontiguousarray(bins[:, rows]), np.ascontiguousarray(sensitive[:, rows])
    run, _, ids = grower.on(own, codes, labels)
    roots = np.stack([starts[:-1], starts[1:], tree.levels[waiting]], 1)
    nodes = run(roots, np.stack([first[waiting], last[waiting]], 1), 0)
    if len(nodes) == len(waiting):
        return tree, leaf
    grafted, place, start = _graft(tree, waiting, nodes, starts)
    ends = np.flatnonzero(nodes[:, COLUMN] < 0)  # leaves come in the order of their rows
    moved = place[leaf]
    moved[rows[ids]] = np.repeat(start[ends] + ends, (nodes[:, END] - nodes[:, BEGIN])[ends])
    return grafted, moved


def _graft(tree: Tree, waiting: IntArray, nodes: IntArray, starts: IntArray) -> tuple[Tree, IntArray, IntArray]:
    """Put the grown pieces in the places of their leaves.

    Returns the tree, the new number of each old node, and the offset of the number of each grown node.
    """
    piece = np.searchsorted(starts, nodes[:, BEGIN], side="right") - 1
    sizes = np.ones(tree.n_nodes, np.int64)
    sizes[waiting] = np.bincount(piece, minlength=len(waiting))
    place = np.cumsum(sizes) - sizes
    shift = (place[waiting] - np.searchsorted(piece, np.arange(len(waiting))))[piece]
    at = np.arange(len(nodes)) + shift
    column, cut, right, criterion = (np.empty(int(sizes.sum()), np.int64) for _ in range(4))
    for new, old in ((column, tree.column), (cut, tree.cut), (criterion, tree.criterion)):
        new[place] = old
    right[place] = np.where(tree.right >= 0, place[tree.right], -1)
    used = nodes[:, CRITERION]
    column[at], cut[at], criterion[at] = nodes[:, COLUMN], nodes[:, CUT], np.where(used == LEAF, -1, used)
    right[at] = np.where(nodes[:, RIGHT] >= 0, nodes[:, RIGHT] + shift, -1)
    return Tree(tree.grids, column, cut, right, criterion), place, shift
