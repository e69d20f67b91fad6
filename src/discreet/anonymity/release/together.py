"""Several releases about the same people: an attacker who holds all of them learns no more than the rules allow.

*The attacker* holds every released table and knows the quasi-identifiers of everyone, so the cell of each person, who
was in which table, and who was suppressed. In the worst case they can follow every row from table to table, for example
by rare values. The finest groups of rows they can form are *histories*: for each table, the cell in which a row was
published or that it was not published there, and in which tables its sensitive values were the same.

*The condition*: each table, with its rows grouped by their whole history instead of its own cells, keeps the rules it
promised: k, l, and t with the distribution of that table. *It suffices*, because every set of rows that can be defined
by intersecting, subtracting or joining cells and tables is a union of histories, and each rule is closed under union.

*Absent and suppressed count as one state*, "not published". The attacker can tell apart an absent and a suppressed
person, but not their rows, because neither has a row there. Exchange the published values of two records with one
history: every table stays the same, row by row, and nothing that the attacker knows of people has changed. So a person
who left hides among the records of their history, also those that are suppressed now. The argument has three limits:

- A history without any published row has nothing to protect. Its records may be published later, with newcomers. Only
  if the table that suppressed them promised l or t, they are kept apart from people who were absent: being suppressed
  for l says something about their values.
- A record that was suppressed to hide someone who left is from now on in that person's history. It comes back only in
  a group that keeps the rules and leaves a group that keeps them, or stays out.
- k counts persons, so several rows of one person hide no one.

Under "merge", cells are merged until the condition holds; these are the finest such cells. Where merging does not
help, the release is refused. Under "suppress", cells are merged where that loses less than leaving rows out
(`_cheapest`). Groups that still break a rule are left out, and whoever is too few to leave a history takes others of it
along. These are drawn at random and not by their values; only with l or t, how many are drawn depends on values too, as
the merging of cells does. The last word always has the condition itself (`_broken`).

A record is a person while they have one row per table, even if its values change. Someone who has had several rows has
a record for each set of sensitive values; rows with equal values are matched by their quasi-identifiers on the public
grids, the rest in the order of these. A record of theirs that is gone and a new one, at one place or with a rare value
in common, may be a correction. Then the history of each is part of that of the other while both are published, so
neither fills the group of someone who left or came. Rows of a person that could be matched in several ways are matched
in one of them; an attacker who knows better may know more. Matching never looks ahead, so later tables do not change
earlier histories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.anonymity.growth.frontier import EnforcedCells, enforce
from discreet.anonymity.growth.tree import Tree, grid_shares
from discreet.anonymity.release.record import (
    ReleaseRecord,
    as_text,
    following_declaration,
    identities,
    places,
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
_UNPUBLISHED, _SUPPRESSED, _SHOWN = 0, 1, 2
#: What to do where a release would identify someone together with earlier ones.
CONFLICTS = ("suppress", "merge", "new", "refuse")
#: The loss of a row that is left out; one in a cell that is the whole domain loses 1 (see `_cheapest`).
_LEFT_OUT = 2.0


@dataclass(frozen=True)
class PublishedRows:
    """The published rows of a release: the record of each, values, persons, and the rules of the release."""

    record: IntArray
    sensitive: tuple[CodedColumn, ...]
    persons: IntArray | None
    rules: Rules
    label: str = ""

    def broken(self, history: IntArray) -> IntArray:
        found, own = np.unique(history[self.record], return_inverse=True)
        broken: IntArray = found[~self.rules.kept(own.ravel(), self.sensitive, self.persons)]
        return broken


@dataclass(frozen=True)
class EarlierReleases:
    """The records of all releases before this one is decided; ``record`` is that of each row of this release.

    ``before`` numbers the histories up to now. ``changed`` says since when the values of a record are as they are in
    this release. ``shown``: it was published before. ``person`` is the key of each record. ``corrected`` names the
    records that a record may have been corrected from and to, or -1.
    """

    earlier: tuple[PublishedRows, ...]
    record: IntArray
    before: IntArray
    changed: IntArray
    shown: BoolArray
    person: IntArray
    corrected: tuple[IntArray, IntArray]

    def histories(self, node: IntArray) -> tuple[IntArray, IntArray]:
        """Return the state of every record in this release, and the number of its whole history."""
        state = np.full(len(self.before), _UNPUBLISHED, np.int64)
        state[self.record] = np.where(node >= 0, node + _SHOWN, _UNPUBLISHED)
        changed = np.where(state >= _SHOWN, self.changed, 0)  # values that are not published cannot be compared
        parts = [self.before, changed, state]
        own = join([(part, _levels(part)) for part in parts], len(state))
        shown = self.shown | (state >= _SHOWN)  # a correction is seen if both are
        parts = [own, *(np.where((other >= 0) & shown[other], own[other] + 1, 0) for other in self.corrected)]
        return state, join([(part, _levels(part)) for part in parts], len(state))

    def rows_of(self, bad: BoolArray) -> BoolArray:
        """Return which rows of this release are of some records, or of what these were corrected from or to."""
        partners = [other[self.record] for other in self.corrected]
        return np.asarray(bad[self.record] | np.any([(other >= 0) & bad[other] for other in partners], axis=0))


def read_past(records: Sequence[ReleaseRecord], table: Table) -> EarlierReleases:
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
    each = [c.codes.astype(np.int64) + 1 for c in coded]
    value = join([(codes, _levels(codes)) for codes in each], total)
    grid = _numbers([*(record.where for record in records), where(table)])
    k = max(2, *(record.rules.k for record in records))
    rare = [np.bincount(one)[one] <= k for one in (join([(c, _levels(c)), (release, len(sizes))], total) for c in each)]
    whose, corrected = _records(key, value, release, grid, list(zip(each, rare, strict=True)))
    several = len(np.unique(np.stack([key, release]), axis=1).T) < total
    if several and any(record.places != places(table) for record in records):
        raise ReleaseConflict(
            "the quasi-identifiers are declared otherwise than in an earlier release, and some people have several "
            "rows, so these rows cannot be followed. Use the same schema for all releases about these people."
        )
    starts = np.cumsum([0, *sizes])
    split, split_value = np.split(whose, starts[1:-1]), np.split(value, starts[1:-1])
    n = _levels(whose)
    shown = np.zeros(n, bool)
    for mine, record in zip(split, records, strict=False):
        shown[mine[record.cell >= 0]] = True
    states: list[tuple[IntArray, int]] = []
    seen: list[IntArray] = []
    earlier = []
    for j, record in enumerate(records):
        out = record.cell >= 0
        mine, there = split[j], np.flatnonzero(out)
        rows = starts[j] + there
        state = np.full(n, _UNPUBLISHED, np.int64)
        hidden = _SUPPRESSED if record.rules.l_on or record.rules.t_on else _UNPUBLISHED
        state[mine] = np.where(out, record.cell + _SHOWN, np.where(shown[mine], _UNPUBLISHED, hidden))
        seen.append(np.full(n, -1, np.int64))
        seen[j][mine[out]] = split_value[j][out]
        states += [(state, _levels(state)), (_first_alike(seen), j + 2)]
        values = tuple(column.take(rows).compact() for column in coded)
        persons = key[rows] if record.counts_persons else None
        earlier.append(PublishedRows(mine[there], values, persons, record.rules, record.label))
    seen.append(np.full(n, -1, np.int64))
    seen[-1][split[-1]] = split_value[-1]
    changed = np.where(shown, _first_alike(seen), 0)
    person = np.empty(n, np.int64)
    person[whose] = key
    return EarlierReleases(tuple(earlier), split[-1], join(states, n), changed, shown, person, corrected)


def enforce_together(
    tree: Tree, leaf: IntArray, rules: Rules, table: Table, past: EarlierReleases, way: str, stream: Any
) -> EnforcedCells:
    """Find cells that keep the rules, alone and together with the earlier releases.

    ``way`` is one of `CONFLICTS`; ``stream`` draws who is left out under "suppress" and "new".
    """
    if way == "refuse":
        node = enforce(tree, leaf, rules, table.sensitive, persons=table.persons).node
        refuse_broken(past, node, rules, table)
    elif way == "merge":
        node = _merged(tree, leaf, rules, table, past)
    else:
        cells = _cheapest(tree, wanted(past, leaf, way), rules, table, past)
        node = settle_together(past, cells, rules, table, stream)
    out = node < 0
    return EnforcedCells(node, len(np.setdiff1d(leaf[~out], node[~out])), int(out.sum()))


def wanted(past: EarlierReleases, place: IntArray, way: str) -> IntArray:
    """Return places; under "new" without those of people who were published before."""
    known = np.isin(past.person[past.record], past.person[past.shown])
    return np.where(known & (way == "new"), -1, place)


def facts_together(past: EarlierReleases, node: IntArray, rules: Rules, table: Table, way: str) -> dict[str, Any]:
    """Return what a release says of itself and the earlier ones: their number, the levels, and rows left out."""
    out, shown = node < 0, past.shown[past.record] | (wanted(past, past.record, way) < 0)
    final = np.where(out, -1, past.histories(node)[1][past.record])
    final[~out] = np.unique(final[~out], return_inverse=True)[1].ravel()
    return {
        "on_conflict": way,
        "earlier_releases": len(past.earlier),
        "reached_together": rules.measure(final, table.sensitive, table.persons).to_dict(),
        "left_out_published_before": int((out & shown).sum()),
        "left_out_never_published": int((out & ~shown).sum()),
    }


def broken_rows(past: EarlierReleases, node: IntArray, rules: Rules, table: Table) -> BoolArray:
    return np.asarray(past.rows_of(broken_records(past, node, rules, table)) & (node >= 0))


def broken_records(past: EarlierReleases, node: IntArray, rules: Rules, table: Table) -> BoolArray:
    _, history = past.histories(node)
    return np.isin(history, _broken(past, node, history, rules, table))


def refuse_broken(past: EarlierReleases, node: IntArray, rules: Rules, table: Table) -> None:
    if (bad := broken_records(past, node, rules, table)).any():
        _refuse(past, bad, past.histories(node)[1], rules)


def _merged(tree: Tree, leaf: IntArray, rules: Rules, table: Table, past: EarlierReleases) -> IntArray:
    """Merge cells until the condition holds; refuse if merging everything does not help."""
    node = leaf
    while True:
        bad = broken_records(past, node, rules, table)
        if not bad.any():
            return node
        rows = np.flatnonzero(past.rows_of(bad))
        if not len(rows) or (node[rows] == 0).any():
            refuse_broken(past, np.zeros_like(node), rules, table)
            return np.zeros_like(node)
        node = tree.merged(node, np.unique(tree.parent[node[rows]]))


def _cheapest(tree: Tree, leaf: IntArray, rules: Rules, table: Table, past: EarlierReleases) -> IntArray:
    """Return the node of each row (-1 if left out before) at the least loss, from the leaves upwards.

    A row in a cell loses the mean share of the columns' widths that the cell leaves open (NCP), a row that is left out
    `_LEFT_OUT`; if no one of its history has left yet, the others that must be left out with it count too. A node is a
    cell if that loses no more than its children do. This looks at each node by itself, so `settle_together` has to
    check what the cells do together.
    """
    here = np.isin(np.arange(len(past.before)), past.record)
    own = past.before[past.record]
    first_gone = past.shown[past.record] & ~np.isin(own, past.before[past.shown & ~here])
    first, last = tree.cells
    points = [grid_shares(grid) for grid in tree.grids]
    width = np.mean([p[last[:, j] + 1] - p[first[:, j]] for j, p in enumerate(points)], axis=0)
    inner, best = tree.column >= 0, np.zeros(tree.n_nodes)
    at, found = leaf.copy(), leaf.copy()
    for level in range(int(tree.levels.max(initial=0)), -1, -1):
        at = np.where((at >= 0) & (tree.levels[at] > level), tree.parent[at], at)
        bad, rows = broken_rows(past, at, rules, table), at >= 0
        group = past.histories(at)[1][past.record]
        company = np.where(first_gone, np.maximum(1, rules.k / np.bincount(group)[group]), 1)
        loss = np.bincount(at[rows], np.where(bad, _LEFT_OUT * company, width[at])[rows], minlength=tree.n_nodes)
        nodes = np.flatnonzero(tree.levels == level)
        left = np.where(inner[nodes], nodes + 1, nodes)
        split = np.where(inner[nodes], best[left] + best[tree.right[nodes]], np.inf)
        one = np.zeros(tree.n_nodes, bool)
        one[nodes] = loss[nodes] <= split
        best[nodes] = np.minimum(loss[nodes], split)
        found = np.where(rows & one[at], at, found)
    return found


def settle_together(past: EarlierReleases, place: IntArray, rules: Rules, table: Table, stream: Any) -> IntArray:
    """Leave out rows until the condition holds; refuse if none are left.

    Groups that break a rule are left out first. If someone who is not published any more is still among too few, others
    of the same history are left out with them. Both only take rows away, so it ends.
    """
    node, k = place.copy(), max(rules.k, *(p.rules.k for p in past.earlier))
    while True:
        _, history = past.histories(node)
        bad = np.isin(history, _broken(past, node, history, rules, table))
        if not (node >= 0).any():
            _refuse(past, np.ones(len(history), bool), history, rules, final=True)
        if not bad.any():
            return node
        rows = past.rows_of(bad) & (node >= 0)
        if rows.any():
            node[rows] = -1
            continue
        gone = np.unique(np.stack([past.before[bad], past.person[bad]]), axis=1)[0]
        own = past.before[past.record]
        others = np.flatnonzero(np.isin(own, gone) & (node >= 0))
        if not len(others):
            _refuse(past, bad, history, rules, final=True)
        others = others[np.argsort(own[others], kind="stable")]
        for mates in np.split(others, np.flatnonzero(np.diff(own[others])) + 1):
            lack = k - int(np.diff(np.searchsorted(gone, [own[mates[0]], own[mates[0]] + 1]))[0])
            part = np.unique(history[past.record[mates]], return_inverse=True)[1].ravel()
            node[_company(mates, part, past.person[past.record[mates]], lack if lack > 0 else k, k, stream)] = -1


def _company(rows: IntArray, part: IntArray, person: IntArray, need: int, k: int, stream: Any) -> IntArray:
    """Return rows to leave out for those who left: some persons of the largest part, or the smallest parts whole."""
    pairs = np.unique(np.stack([part, person]), axis=1)
    size = np.bincount(pairs[0])
    largest = int(np.argmax(size))
    if size[largest] >= need + k:
        people = pairs[1][pairs[0] == largest]
        drawn = people[noise.permutation(len(people), rng=stream)[:need]]
        chosen = (part == largest) & np.isin(person, drawn)
    else:
        order = np.argsort(size, kind="stable")
        chosen = np.isin(part, order[: 1 + int(np.searchsorted(np.cumsum(size[order]), need))])
    return np.asarray(rows[chosen])


def _broken(past: EarlierReleases, node: IntArray, history: IntArray, rules: Rules, table: Table) -> IntArray:
    there = np.flatnonzero(node >= 0)
    coded = tuple(c.take(there) for c in table.sensitive)
    persons = None if table.persons is None else table.persons[there]
    found = [PublishedRows(past.record[there], coded, persons, rules).broken(history)]
    return np.unique(np.concatenate([*found, *(p.broken(history) for p in past.earlier)]))


def _refuse(past: EarlierReleases, bad: BoolArray, history: IntArray, rules: Rules, final: bool = False) -> None:
    """Say which rows could be identified, how many must come together, and what helps; nothing does if ``final``."""
    if any(len(p.broken(past.before)) for p in past.earlier):
        raise ReleaseConflict(
            f"people can already be identified by comparing the {len(past.earlier)} earlier releases, which were not "
            "checked with each other. A published table cannot be taken back, so nothing more about these people can "
            "be released. Use one release history from the first release on."
        )
    here = np.isin(np.arange(len(bad)), past.record)
    kinds = {"removed": past.shown & ~here, "earlier": past.shown & here, "added": ~past.shown & here}
    found = {name: int((bad & rows).sum()) for name, rows in kinds.items()}
    listed = " and ".join(counted(n, f"{name} record") for name, n in found.items() if n)
    last, others = past.earlier[-1].label, len(past.earlier) - 1
    compared = f"{last} and {counted(others, 'release')} before it" if others else last
    k = max(rules.k, *(p.rules.k for p in past.earlier))
    said = f"{listed} could be identified by comparing this release with {compared}. "
    if found["removed"] or found["earlier"]:
        whose = np.unique(np.stack([history[bad], past.person[bad]]), axis=1)[0]
        lack = k - np.unique(whose, return_counts=True)[1]
        few, many = max(1, int(lack.min())), max(1, int(lack.max()))
        said += f"People of one group must leave or change together, at least {k} at a time; here "
        said += f"{few if few == many else f'{few} to {many}'} more per group are needed. "
    if found["added"]:
        said += f"New people are published when at least {k} of them are in a group. "
    if final:
        raise ReleaseConflict(f"{said}Leaving out more rows does not help: wait until more records have changed")
    new = len(np.setdiff1d(past.person[here], past.person[past.shown]))
    more = f", or with 'new' only the {new:,} people who were never published" if new >= k else ""
    raise ReleaseConflict(f"{said}Wait for them, or release fewer rows{more}", on_conflict="suppress")


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
    encoded = pc.dictionary_encode(pa.concat_arrays(pieces))
    rank = np.argsort(np.asarray(pc.sort_indices(encoded.dictionary), np.int64))
    return rank[np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)]


def _records(
    key: IntArray, value: IntArray, release: IntArray, where: IntArray, columns: Sequence[tuple[IntArray, BoolArray]]
) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """Number the records: by key, and by sensitive values too from when someone first has several rows in a release.

    Among equal rows, those at the same place of the public grids as before are the same; the rest are matched in the
    order of their places. A new record of someone may be one that is gone, corrected: at the same place, or with a rare
    value in common (``columns``: the codes of a sensitive column, and where they are rare). Also returns from and to
    which record each was perhaps corrected. Only earlier releases are looked at, so a later one never changes who was
    who.
    """
    n = len(key)
    several = np.zeros(_levels(key), bool)
    record = np.full(n, -1, np.int64)
    last = np.empty(0, np.int64)  # by record: the row in which it was last seen
    source = np.empty(0, np.int64)  # by record: that which it was corrected from
    anywhere, every = np.zeros(n, np.int64), np.ones(n, bool)
    shared = [(join([(key, len(several)), (codes, _levels(codes))], n), rare) for codes, rare in columns]
    passes = [*((own, where, every) for own, _ in shared), (key, where, every)]
    passes += [(own, anywhere, rare) for own, rare in shared]
    for j in range(_levels(release)):
        rows = np.flatnonzero(release == j)
        several |= np.bincount(key[rows], minlength=len(several)) > 1
        group = join([(key, len(several)), (np.where(several[key], value + 1, 0), _levels(value) + 1)], n)
        free = np.ones(len(last), bool)
        for near in (where, anywhere):
            left, waiting = rows[record[rows] < 0], np.flatnonzero(free)
            old, new = _alike(group, near, where, last[waiting], left)
            record[left[new]] = waiting[old]
            free[waiting[old]] = False
        came = rows[record[rows] < 0]
        record[came] = len(last) + np.arange(len(came))
        source = np.append(source, np.full(len(came), -1))
        earlier = np.flatnonzero(release < j)
        earlier = earlier[value[earlier] != value[last[record[earlier]]]]
        old, new = _alike(group, anywhere, where, earlier, came)  # a row is back that another one had replaced
        source[record[came[new]]] = record[earlier[old]]
        free[record[earlier[old]]] = False
        for alike, near, usable in passes:
            left, waiting = came[(source[record[came]] < 0) & usable[came]], np.flatnonzero(free)
            waiting = waiting[usable[last[waiting]]]
            old, new = _alike(alike, near, where, last[waiting], left)
            source[record[left[new]]] = waiting[old]
            free[waiting[old]] = False
        last = np.append(last, came)
        last[record[rows]] = rows
    target = np.full(len(last), -1, np.int64)
    target[source[source >= 0]] = np.flatnonzero(source >= 0)
    return record, (source, target)


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
