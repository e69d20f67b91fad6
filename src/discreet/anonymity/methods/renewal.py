"""A tree that takes new records: the records it has seen, and how its leaves are merged and split further.

Only leaves change. New records go to their leaves. Leaves that no longer keep the rules are merged upwards until they
do; then leaves that can be split are split. New cells therefore lie inside old ones or inside merged old ones, and a
release that is checked with earlier ones has few cells to merge. The cells of a new tree would cut across the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.growth.frontier import refuse_root
from discreet.anonymity.growth.grid import Bins
from discreet.anonymity.growth.grow import grow_on
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.record import as_text
from discreet.anonymity.release.table import Table, TablePlan
from discreet.anonymity.risk.coded import CodedColumn, code_column
from discreet.anonymity.risk.distances import Limits
from discreet.anonymity.risk.rules import Rules, stacked
from discreet.core import IntArray
from discreet.engines.tables import key_codes, same_key


@dataclass(frozen=True)
class SeenRecords:
    """All records that a tree has taken, with the leaf of each. Raw data: it stays in memory.

    ``persons`` are places in ``names``, the distinct keys of the persons; the rest is as in `Table`.
    """

    bins: Bins
    leaf: IntArray
    sensitive: tuple[CodedColumn, ...]
    persons: IntArray | None
    names: pa.Array

    @classmethod
    def none(cls, plan: TablePlan) -> SeenRecords:
        none, text = np.empty(0, np.int64), pa.array([], pa.large_string())
        columns = tuple(code_column(plan.domain, name, text) for name in plan.sensitive)
        empty = np.empty((len(plan.quasi), 0), np.uint16)
        return cls(empty, none, columns, None if plan.person is None else none, text)

    def with_new(self, table: Table, leaf: IntArray) -> SeenRecords:
        """Return these records and new ones; known values and persons keep their meaning."""
        plan = table.plan
        coded = tuple(_appended(old, plan, table.others[old.name]) for old in self.sensitive)
        persons, names = self.persons, self.names
        if plan.person is not None and persons is not None:
            keys = same_key(table.identifiers[plan.person], plan.domain.column(plan.person)).cast(pa.large_string())
            whole = pa.concat_arrays([names, keys])
            codes = key_codes(whole)
            persons = np.concatenate([codes[: len(names)][persons], codes[len(names) :]])
            names = whole.take(pa.array(np.unique(codes, return_index=True)[1]))
        bins = np.concatenate([self.bins, table.bins], axis=1)
        return SeenRecords(bins, np.concatenate([self.leaf, leaf]), coded, persons, names)


def _appended(old: CodedColumn, plan: TablePlan, values: Any) -> CodedColumn:
    """Return a column with more values behind it, numbered as if all had come together."""
    known = pa.array(old.labels, pa.large_string())
    both = code_column(plan.domain, old.name, pa.concat_arrays([known, as_text(values)]))
    return replace(both, codes=np.concatenate([both.codes[: len(known)][old.codes], both.codes[len(known) :]]))


def renew(
    tree: Tree, seen: SeenRecords, rules: Rules, n_new: int, settings: Mapping[str, Any]
) -> tuple[Tree, SeenRecords]:
    """Merge leaves that no longer keep the rules and split those that can be split; the last ``n_new`` rows are new.

    ``seen`` holds all records with their leaves in this tree. ``settings`` are criterion, min_share, max_depth and
    tiers of `grow_tree`.
    """
    n = len(seen.leaf)
    whole = rules.measure(np.zeros(n, np.int64), seen.sensitive, seen.persons)
    refuse_root(rules, seen.sensitive, np.ones(n, bool), whole.ok, seen.persons)
    limits = rules.limits(seen.sensitive, persons=seen.persons)
    # With t, records that came in elsewhere can make a leaf too far from the table, or a cut possible.
    touched = np.unique(seen.leaf if rules.t_on else seen.leaf[n - n_new :])
    tree, leaf, touched = _merge_broken(tree, seen, touched, rules, limits)
    codes = stacked(seen.sensitive, n)
    found = []
    for k in _growth_sizes(rules.k, seen):
        grown, own = grow_on(tree, seen.bins, leaf, touched, limits._replace(k=k), sensitive=codes, **settings)
        if seen.persons is not None:
            # Growth counts rows. What was cut and does not hold k persons is merged again, at most to the leaf it was.
            there = np.zeros(tree.n_nodes, bool)
            there[touched] = True
            cut = np.unique(own[there[leaf]])
            grown, own, _ = _merge_broken(grown, replace(seen, leaf=own), cut, rules, limits)
        found.append((grown, own))
    tree, leaf = max(found, key=lambda one: one[0].n_leaves)
    return tree, replace(seen, leaf=leaf)


def _growth_sizes(k: int, seen: SeenRecords) -> list[int]:
    """Return the sizes to grow leaves to: k rows, and the average number of rows of k persons."""
    if seen.persons is None:
        return [k]
    rows = -(-k * len(seen.leaf) // max(len(seen.names), 1))
    return [k, rows] if rows > k else [k]


def _merge_broken(
    tree: Tree, seen: SeenRecords, leaves: IntArray, rules: Rules, limits: Limits
) -> tuple[Tree, IntArray, IntArray]:
    """Merge leaves that break the rules with their neighbours until all keep them.

    The rules are closed under union, so only nodes above a broken leaf are checked. Returns the tree, the leaf of each
    row, and the new numbers of the given leaves.
    """
    node, check = seen.leaf, leaves
    while len(check):
        asked = np.zeros(tree.n_nodes, bool)
        asked[check] = True
        rows = np.flatnonzero(asked[node])
        own = np.searchsorted(check, node[rows])
        columns = tuple(column.take(rows) for column in seen.sensitive)
        persons = None if seen.persons is None else seen.persons[rows]
        broken = check[~rules.kept(own, columns, persons, limits=limits)]
        above = np.unique(tree.parent[broken])
        node = tree.merged(node, above) if len(above) else node
        leaves = np.unique(tree.merged(leaves, above)) if len(above) else leaves
        check = np.intersect1d(leaves, above)
    if node is seen.leaf:
        return tree, node, leaves
    smaller, place = tree.collapsed(node)
    return smaller, place[node], place[leaves]
