"""Find the published cells of one release: from the root down, a node is split only if each child is empty or keeps the
rules *in this release*. The result is the finest set of cells that keep the rules.

The rules are closed under union, so merging from the leaves upwards would end with the same cells.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.distances import Limits, is_ok, rows_by_class, tallied
from discreet.anonymity.risk.persons import measure_people, people_ok, persons_by_node
from discreet.anonymity.risk.rules import Rules, stacked
from discreet.core import AnyArray, BoolArray, IntArray, jit, quickly
from discreet.errors import InvalidArgument


@dataclass(frozen=True)
class EnforcedCells:
    """The published node of each row (-1 if suppressed), and the numbers of merged leaves and suppressed rows."""

    node: IntArray
    merged: int
    suppressed: int

    def cells(self, tree: Tree) -> Cells:
        nodes = np.flatnonzero(np.bincount(self.node[self.node >= 0], minlength=tree.n_nodes))
        place = np.full(tree.n_nodes + 1, -1, np.int64)  # the last entry is for node -1
        place[nodes] = np.arange(len(nodes))
        of = place[self.node]
        first, last = tree.cells
        return Cells(tree.grids, first[nodes], last[nodes], of)


def enforce(
    tree: Tree, leaf: IntArray, rules: Rules, sensitive: Sequence[CodedColumn], *, suppress: float = 0.0,
    persons: IntArray | None = None, rows: IntArray | None = None,
) -> EnforcedCells:  # fmt: skip
    """Find the cells of a release; ``leaf`` is the leaf of each row in the frozen tree.

    ``suppress`` is the share of rows that may be left out where others get a smaller cell (`in_the_way`). That changes
    the distributions, so everything is checked again until nothing changes. With ``persons`` k counts persons. ``rows``
    is the number of equal rows that each entry stands for.
    """
    codes = stacked(sensitive, len(leaf))

    def check(kept: BoolArray) -> tuple[BoolArray, IntArray]:
        limits = rules.limits(sensitive, kept, rows, persons)
        picked = [None if given is None else given[kept] for given in (persons, rows)]
        return _fine_nodes(tree, leaf[kept], codes[:, kept], limits, *picked, weigh=rules.per_person)

    kept, fine, counts = settle(tree, leaf, _size(np.ones(len(leaf), bool), rows), suppress, check)
    refuse_root(rules, sensitive, kept, bool(fine[0]) and counts[0] > 0, persons, rows)
    shown = shown_nodes(tree, fine)
    occupied = (tree.column < 0) & (counts > 0)
    node = np.where(kept, shown[leaf], -1).astype(np.int64)
    return EnforcedCells(node, int((shown[occupied] != np.flatnonzero(occupied)).sum()), _size(~kept, rows))


def settle(
    tree: Tree, leaf: AnyArray, n: int, suppress: float, check: Callable[[BoolArray], tuple[BoolArray, IntArray]]
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Suppress what is in the way, at most a share of n rows, until nothing changes.

    ``check`` returns which nodes are empty or keep the rules, and their rows, given which of the entries are kept;
    ``leaf`` is the leaf of each entry. Returns the entries that are kept, and what it says of them.
    """
    kept, allowed = np.ones(len(leaf), bool), math.floor(suppress * n + 1e-9)
    while True:
        fine, counts = check(kept)
        doomed = in_the_way(tree, fine, counts, allowed - n + int(counts[0]))
        if not len(doomed):
            return kept, fine, counts
        edge = np.zeros(tree.n_nodes + 1, np.int64)
        edge[doomed] += 1
        np.subtract.at(edge, tree.ends[doomed], 1)
        kept &= np.cumsum(edge)[leaf] == 0


def _size(chosen: BoolArray, rows: IntArray | None) -> int:
    return int(chosen.sum() if rows is None else rows[chosen].sum())


def refuse_root(
    rules: Rules, sensitive: Sequence[CodedColumn], kept: BoolArray, good: bool, persons: IntArray | None = None,
    rows: IntArray | None = None,
) -> None:  # fmt: skip
    """Refuse a table that breaks the rules as a whole: no partition can keep them."""
    if good:
        return
    n = _size(kept, rows) if persons is None else len(np.unique(persons[kept]))
    if n < rules.k:
        what = "records" if persons is None else "persons"
        fix = f"k={min(n, 10)}" if n >= 2 else f"a table of at least two {what}"
        raise InvalidArgument("k", rules.k, f"at most the number of {what} in the release ({n})", fix)
    whole = rules.measure(np.where(kept, 0, -1), sensitive, persons, rows)
    assert rules.l_diversity is not None  # of the whole table t is 0 and k is known to hold: only l can be broken
    recursive = rules.l_kind == "recursive"
    name, value = max(whole.l.items(), key=lambda x: x[1] if recursive else -x[1])
    measured = f"the largest frequency is {value:.4g} times the tail" if recursive else f"it is {value:.4g}"
    fix = f"l_diversity={int(value)}" if rules.l_kind == "distinct" else "a smaller l_diversity"
    if not recursive and value < 2:
        fix = f"'discreet schema check', which shows whether {name!r} can be read, or another sensitive column"
    expected = f"within the {rules.l_kind} diversity of column {name!r} in the whole table ({measured})"
    raise InvalidArgument("l_diversity", rules.l_diversity, expected, fix)


def _fine_nodes(
    tree: Tree, leaf: IntArray, codes: IntArray, limits: Limits, persons: IntArray | None = None,
    rows: IntArray | None = None, *, weigh: bool = False,
) -> tuple[BoolArray, IntArray]:  # fmt: skip
    """Return which nodes are empty or keep the rules, and their records; with ``weigh`` l and t count persons."""
    own = np.bincount(leaf, minlength=tree.n_nodes)
    held = tree.totals(own)
    counts = held if rows is None else tree.totals(np.bincount(leaf, rows, minlength=tree.n_nodes).astype(np.int64))
    people = counts if persons is None else persons_by_node(tree.parent, tree.levels, leaf, persons)
    fine = (counts == 0) | (people >= limits.k)
    if limits.l_on or limits.t_on:
        if weigh and persons is not None:
            # Leaves are numbered in the order of the subtrees: every node's records lie one behind the other.
            starts = np.concatenate([[0], np.cumsum(own)])
            alike = np.ones(len(leaf), np.int64) if rows is None else rows
            asked, out = np.where(fine, held, 0), np.full((2, tree.n_nodes, len(codes)), np.nan)
            measure_people(starts[:-1], asked, rows_by_class(leaf, starts), codes, persons, alike, limits, out)
            people_ok(out, asked, limits, fine)
        else:
            tables = tallied(tree.leaves_before[leaf], tree.n_leaves, codes, rows, len(limits.share))
            check_nodes(tree, tables, limits, counts, fine)
    return fine, counts


def check_nodes(
    tree: Tree, tables: Iterable[tuple[int, AnyArray]], limits: Limits, rows: IntArray, fine: BoolArray
) -> None:
    """Take back what is fine where a node with rows breaks l or t.

    ``tables`` are the counts of sensitive values by leaf, for some leaves at a time (`tallied`).
    """
    before = tree.leaves_before
    first, last = before[:-1], before[tree.ends]
    asked = np.flatnonzero(fine & (rows > 0))
    starts = first[asked]
    # Nodes whose last leaf is still to come, and the counts of all leaves before their first.
    waiting, since = asked[:0], np.zeros((0, len(limits.share)), np.int64)
    so_far = np.zeros((1, len(limits.share)), np.int64)
    for begin, counts in tables:
        end = begin + len(counts)
        up_to = np.cumsum(np.concatenate([so_far, counts]), axis=0)
        own = asked[slice(*np.searchsorted(starts, [begin, end]))]
        nodes, since = np.concatenate([waiting, own]), np.concatenate([since, up_to[first[own] - begin]])
        done = last[nodes] <= end
        now = nodes[done]
        fine[now] = is_ok(up_to[last[now] - begin] - since[done], rows[now], limits)
        waiting, since, so_far = nodes[~done], since[~done], up_to[-1:]


def in_the_way(tree: Tree, fine: BoolArray, counts: IntArray, allowed: int) -> IntArray:
    """Return nodes whose records prevent a split: the other child keeps the rules and holds more records.

    The cheapest come first, by records left out per record that gets a smaller cell, as many as are allowed.
    """
    if allowed <= 0:
        return np.empty(0, np.int64)
    shown = np.unique(shown_nodes(tree, fine))
    shown = shown[(tree.column[shown] >= 0) & fine[shown]]
    left, right = shown + 1, tree.right[shown]
    bad, good = np.where(fine[right], left, right), np.where(fine[right], right, left)
    use = ~fine[bad] & fine[good] & (counts[bad] < counts[good])
    bad, good = bad[use], good[use]
    cheapest: IntArray = bad[np.argsort(counts[bad] / counts[good], kind="stable")]
    return cheapest[np.cumsum(counts[cheapest]) <= allowed]


def shown_nodes(tree: Tree, fine: BoolArray) -> AnyArray:
    """Return the published node of each node below it."""
    shown = np.empty(tree.n_nodes, np.int32)
    quickly(_show, tree.n_nodes)(tree.column, tree.right, tree.ends, fine, shown)
    return shown


@jit
def _show(column: Any, right: Any, ends: Any, fine: Any, shown: Any) -> None:
    hidden, above = 0, 0  # nodes before ``hidden`` are part of ``above``
    for i in range(column.size):
        if i >= hidden:
            above = i
            hidden = i + 1 if column[i] >= 0 and fine[i + 1] and fine[right[i]] else ends[i]
        shown[i] = above
