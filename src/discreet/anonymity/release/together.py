"""Several releases about the same people: an attacker who holds all of them learns no more than the rules allow.

*The attacker* holds every released table and knows the quasi-identifiers of everyone, so the cell of each person, who
was in which table, and who was suppressed. In the worst case they can follow every row from table to table, for example
by rare values. The finest groups they can form are *histories*: for each table, that a row was absent, suppressed, or
published in a certain cell, and in which tables its sensitive values were the same.

*The condition*: each table, with its rows grouped by their whole history instead of its own cells, keeps the rules it
promised: k, l, and t with the distribution of that table. *It suffices*, because every set of rows that can be defined
by intersecting, subtracting or joining cells and tables is a union of histories, and each rule is closed under union.

Cells are merged until the condition holds; these are the finest such cells. Rows that were never published may be
suppressed instead, as far as that is allowed. Where merging does not help, the release is refused, because a published
row cannot be taken back. Among several rows of a person, rows with equal sensitive values and equal quasi-identifiers
on the public grids are the same; others with equal sensitive values are matched in the order of their cells.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.growth.frontier import EnforcedCells, refuse_root
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.record import (
    ReleaseRecord,
    as_text,
    following_declaration,
    identities,
    sensitive_declarations,
    where,
)
from discreet.anonymity.release.table import Table
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.coded import CodedColumn, code_column
from discreet.anonymity.risk.rules import Rules
from discreet.core import BoolArray, IntArray, counted
from discreet.errors import ReleaseConflict

#: States of a record in a release; cells and nodes are counted from `_SHOWN` on.
_ABSENT, _SUPPRESSED, _SHOWN = 0, 1, 2


@dataclass(frozen=True)
class PublishedRows:
    """The published rows of a release: the record of each, values, persons, and the rules of the release."""

    record: IntArray
    sensitive: tuple[CodedColumn, ...]
    persons: IntArray | None
    rules: Rules
    label: str = ""

    def broken(self, history: IntArray) -> IntArray:
        """Return the histories by which this table would break its promise."""
        found, own = np.unique(history[self.record], return_inverse=True)
        broken: IntArray = found[~self.rules.kept(own.ravel(), self.sensitive, self.persons)]
        return broken


@dataclass(frozen=True)
class EarlierReleases:
    """The records of all releases before this one is decided; ``record`` is that of each row of this release.

    ``before`` numbers the earlier states of each record, ``known`` also says whether its values have changed since.
    ``shown`` and ``hidden``: it was ever published, ever suppressed.
    """

    earlier: tuple[PublishedRows, ...]
    record: IntArray
    before: IntArray
    known: IntArray
    shown: BoolArray
    hidden: BoolArray

    def histories(self, node: IntArray, n_nodes: int) -> tuple[IntArray, IntArray]:
        """Return the state of every record in this release, and the number of its whole history."""
        state = np.full(len(self.known), _ABSENT, np.int64)
        state[self.record] = np.where(node >= 0, node + _SHOWN, _SUPPRESSED)
        return state, join([(self.known, _levels(self.known)), (state, n_nodes + _SHOWN)], len(state))


def read_past(records: Sequence[ReleaseRecord], table: Table, leaf: IntArray) -> EarlierReleases:
    """Follow the records of a table through earlier releases; ``leaf`` orders several rows of one person."""
    plan = table.plan
    own = identities(table)
    declared = following_declaration(plan)
    for record in records:
        _check_same(record, declared, sensitive_declarations(plan), plan.person is not None)
    sizes = [record.n for record in records] + [table.n]
    release = np.repeat(np.arange(len(sizes)), sizes)
    total = len(release)
    key = _numbers([*(h.identifier for h in records), own])
    texts = {n: pa.chunked_array([*(h.values(n) for h in records), as_text(table.others[n])]) for n in plan.sensitive}
    coded = [code_column(plan.domain, n, column) for n, column in texts.items()]
    value = join([(c.codes.astype(np.int64), len(c.labels) + 1) for c in coded], total)
    place = np.concatenate([*(h.cell for h in records), leaf])
    grid = _numbers([*(record.where for record in records), where(table)])
    whose = _records(key, value, release, place, grid)
    starts = np.cumsum([0, *sizes])
    split, split_value = np.split(whose, starts[1:-1]), np.split(value, starts[1:-1])
    n = _levels(whose)
    shown, hidden = np.zeros(n, bool), np.zeros(n, bool)
    states: list[tuple[IntArray, int]] = []
    seen: list[IntArray] = []
    earlier = []
    for j, record in enumerate(records):
        out = record.cell >= 0
        mine, there = split[j], np.flatnonzero(out)
        rows = starts[j] + there
        state = np.full(n, _ABSENT, np.int64)
        state[mine] = np.where(out, record.cell + _SHOWN, _SUPPRESSED)
        shown[mine[out]], hidden[mine[~out]] = True, True
        seen.append(np.full(n, -1, np.int64))
        seen[j][mine[out]] = split_value[j][out]
        states += [(state, _levels(state)), (_first_alike(seen), j + 2)]
        values = tuple(column.take(rows).compact() for column in coded)
        persons = key[rows] if record.counts_persons else None
        earlier.append(PublishedRows(mine[there], values, persons, record.rules, record.label))
    before = join(states, n)
    seen.append(np.full(n, -1, np.int64))
    seen[-1][split[-1]] = split_value[-1]
    changed = np.where(shown, _first_alike(seen), 0)  # unpublished values cannot be compared
    known = join([(before, _levels(before)), (changed, len(sizes) + 1)], n)
    return EarlierReleases(tuple(earlier), split[-1], before, known, shown, hidden)


def enforce_together(
    tree: Tree, leaf: IntArray, rules: Rules, table: Table, past: EarlierReleases, *, suppress: float = 0.0
) -> tuple[EnforcedCells, dict[str, Any]]:
    """Find the finest cells that keep the rules, alone and together with the earlier releases.

    Also returns the levels that this table reaches with its rows grouped by their history in all releases.
    """
    whole = rules.measure(np.zeros(table.n, np.int64), table.sensitive, table.persons)
    refuse_root(rules, table.sensitive, np.ones(table.n, bool), whole.ok, table.persons)
    node = leaf.copy()
    shown = past.shown[past.record]
    allowed = math.floor(suppress * table.n + 1e-9)
    while True:
        if not (node >= 0).any():
            _refuse(past, {"added": table.n})
        state, history = past.histories(node, tree.n_nodes)
        broken = _broken(past, node, history, rules, table)
        if not len(broken):
            break
        bad = np.isin(history, broken)
        if (bad & (state == _ABSENT)).any():
            _refuse(past, {"removed": int((bad & (state == _ABSENT)).sum())})
        rows = np.flatnonzero(bad[past.record] & (node >= 0))  # what was published is never suppressed
        doomed = _in_the_way(tree, leaf, node, rows, shown, allowed - int((node < 0).sum()))
        if len(doomed):
            node[doomed] = -1
            continue
        stuck = rows[node[rows] == 0]
        if len(stuck):
            old, waited = shown[stuck], past.hidden[past.record[stuck]]
            kinds = {"unchanged": old, "previously suppressed": ~old & waited, "added": ~old & ~waited}
            _refuse(past, {name: int(rows.sum()) for name, rows in kinds.items()})
        node = tree.merged(node, np.unique(tree.parent[node[rows]]))
    final = np.where(node >= 0, history[past.record], -1)
    final[node >= 0] = np.unique(final[node >= 0], return_inverse=True)[1].ravel()
    occupied = np.unique(leaf[node >= 0])
    kept = node[node >= 0]
    merged = len(np.setdiff1d(occupied, kept))
    together = rules.measure(final, table.sensitive, table.persons).to_dict()
    return EnforcedCells(node, merged, int((node < 0).sum())), together


def _broken(past: EarlierReleases, node: IntArray, history: IntArray, rules: Rules, table: Table) -> IntArray:
    """Return the histories by which one of the tables would break its promise."""
    there = np.flatnonzero(node >= 0)
    coded = tuple(c.take(there) for c in table.sensitive)
    persons = None if table.persons is None else table.persons[there]
    found = [PublishedRows(past.record[there], coded, persons, rules).broken(history)]
    return np.unique(np.concatenate([*found, *(p.broken(history) for p in past.earlier)]))


def _in_the_way(tree: Tree, leaf: IntArray, node: IntArray, rows: IntArray, shown: BoolArray, allowed: int) -> IntArray:
    """Return rows to suppress instead of merging their cell: the fewest first, as many as allowed.

    Only rows that were never published; and only if the rest below the parent is in order and holds more rows, or in
    the root, where nothing can be merged.
    """
    if allowed <= 0:
        return np.empty(0, np.int64)
    left = node >= 0
    size = np.bincount(node[rows], minlength=tree.n_nodes)
    fixed = np.bincount(node[rows[shown[rows]]], minlength=tree.n_nodes)
    cell = np.flatnonzero((size > 0) & (fixed == 0))
    above = np.where(cell > 0, tree.parent[cell], 0)
    held, bad = (tree.totals(np.bincount(leaf[chosen], minlength=tree.n_nodes)) for chosen in (left, rows))
    fit = (bad[above] == size[cell]) & ((2 * size[cell] < held[above]) | (cell == 0))
    cell = cell[fit][np.argsort(size[cell[fit]], kind="stable")]
    cell = cell[np.cumsum(size[cell]) <= allowed]
    doomed: IntArray = rows[np.isin(node[rows], cell)]
    return doomed


def _refuse(past: EarlierReleases, found: dict[str, int]) -> None:
    """Say which rows could be identified."""
    last = past.earlier[-1].label
    if any(len(p.broken(past.before)) for p in past.earlier):
        raise ReleaseConflict(
            f"people can already be identified by comparing the {len(past.earlier)} earlier releases, which were not "
            "checked with each other. A published table cannot be taken back, so nothing more about these people can "
            "be released. Use one release history from the first release on."
        )
    listed = " and ".join(counted(n, f"{name} record") for name, n in found.items() if n)
    others = len(past.earlier) - 1
    compared = f"{last} and {counted(others, 'release')} before it" if others else last
    said = f"{listed} could be identified by comparing this release with {compared}. "
    wait = "or wait until more records have changed"
    if found.get("removed"):  # what was published cannot be left out: suppression does not help
        raise ReleaseConflict(
            f"{said}Keep records of people who left in the table, release only people who were never published, {wait}"
        )
    raise ReleaseConflict(f"{said}Leave out people who were never published, {wait}", suppress=0.05)


def _check_same(record: ReleaseRecord, declared: dict[str, Any], measured: dict[str, Any], persons: bool) -> None:
    """Refuse a record with other roles, or with another declaration of the people or of the sensitive values."""
    said = ""
    for what, theirs, ours in (
        ("identifiers", record.identifiers, (declared["name"],)),
        ("sensitive columns", record.sensitive, tuple(measured)),
    ):
        if set(theirs) != set(ours):
            said = said or f"{record.label} has the {what} {list(theirs)}, and this release {list(ours)}."
    if not said and record.counts_persons != persons:
        counts = "persons" if record.counts_persons else "rows"
        said = f"in {record.label}, k counts {counts}; in this release it does not."
    pairs = [(record.declared, declared, "The same people could then have different keys.")]
    why = "The diversity and distance of its values would then be measured differently."
    pairs += [(record.measured.get(name, {}), now, why) for name, now in measured.items()]
    for before, now, why in pairs:
        if not said and dict(before) != now:
            different = f"with {_said(before)}, and this release with {_said(now)}. {why}"
            said = f"{record.label} declares column {now['name']!r} {different}"
    if said:
        raise ReleaseConflict(f"{said} Use the same schema for all releases about these people.")


def _said(declared: Mapping[str, Any]) -> str:
    """Describe a declaration without the names of its categories, which may be names of people."""
    if "categories" in declared:
        return f"{len(declared['categories'])} categories"
    return f"bounds {declared.get('bounds')} ({declared.get('kind')})"


def _numbers(pieces: Sequence[pa.Array]) -> IntArray:
    """Number the texts of a column that comes in pieces."""
    encoded = pc.dictionary_encode(pa.concat_arrays(pieces))
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _records(key: IntArray, value: IntArray, release: IntArray, place: IntArray, where: IntArray) -> IntArray:
    """Number the records: by key, and by sensitive values too where someone has several rows in a release.

    Among equal rows, those at the same place of the public grids as before are the same; the rest are matched in the
    order of their cells.
    """
    n = len(key)
    pair = join([(key, _levels(key)), (release, _levels(release))], n)
    several = np.zeros(_levels(key), bool)
    several[key[np.bincount(pair)[pair] > 1]] = True
    group = join([(key, _levels(key)), (np.where(several[key], value + 1, 0), _levels(value) + 1)], n)
    record = np.full(n, -1, np.int64)
    last = np.empty(0, np.int64)  # by record: the row in which it was last seen
    for j in range(_levels(release)):
        rows = np.flatnonzero(release == j)
        free = np.ones(len(last), bool)
        for near in (where, np.zeros(n, np.int64)):
            left, waiting = rows[record[rows] < 0], np.flatnonzero(free)
            old, new = _alike(group, near, place, last[waiting], left)
            record[left[new]] = waiting[old]
            free[waiting[old]] = False
        came = rows[record[rows] < 0]
        record[came] = len(last) + np.arange(len(came))
        last = np.append(last, came)
        last[record[rows]] = rows
    return record


def _alike(group: IntArray, near: IntArray, place: IntArray, old: IntArray, new: IntArray) -> tuple[IntArray, IntArray]:
    """Pair rows of one group that are near, each with one: where there are several, in their order."""
    rows, side = np.append(old, new), np.repeat([0, 1], [len(old), len(new)])
    alike = join([(group[rows], _levels(group)), (near[rows], _levels(near))], len(rows))
    run = 2 * alike + side
    order = np.lexsort((place[rows], run))
    rank = np.empty(len(rows), np.int64)
    rank[order] = np.arange(len(rows)) - np.searchsorted(run[order], run[order])
    code = join([(alike, _levels(alike)), (rank, _levels(rank))], len(rows))
    _, first, second = np.intersect1d(code[: len(old)], code[len(old) :], assume_unique=True, return_indices=True)
    return first, second


def _first_alike(seen: Sequence[IntArray]) -> IntArray:
    """Return for the last of some releases in which of them each record first had the values it has; 0 without any."""
    last = seen[-1]
    found = np.full(len(last), len(seen), np.int64)
    for j in range(len(seen) - 1, -1, -1):
        found[seen[j] == last] = j + 1
    return np.where(last >= 0, found, 0)


def _levels(codes: IntArray) -> int:
    return int(codes.max(initial=-1)) + 1
