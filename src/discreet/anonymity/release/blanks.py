"""Local suppression: rows that would be left out stay in the table, with single values blanked.

A row that would be left out is printed in a *wider* group instead, if enough such rows share it: some of its values are
blank (`Generalization`), or it is printed with a larger cell of the tree. A blank is printed as any cell that covers a
whole column, ``*`` or ``[0, 120]``, with ``or missing`` where values may be missing. So it covers a missing value too,
and does not show which of them it hides.

*Why k, l and t hold.* Rows are grouped by what is printed, blanks included. Every wider group keeps the rules by
itself, and other groups lose no row. An attacker who knows the groups of everyone, and so who is blanked, finds k
people or more in each. Only the distribution for t changes with the rows that come back, so all groups are checked
again.

*Together with earlier releases*, a wider group is one more cell. A person who is blanked in one table and shown in
another has a history of their own, and the condition of `together` is checked with all of them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release import together
from discreet.anonymity.release.table import PlaceCounts, Table
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.rules import Rules
from discreet.core import BoolArray, IntArray

#: Yields first and last bin, by column, of the wider groups of some places; the narrowest come first.
Wider = Callable[[IntArray], Iterable[tuple[IntArray, IntArray]]]
#: Sets of columns to blank that are tried.
MOST_SETS = 256


def larger_cells(tree: Tree, leaves: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the cells around leaves, level by level up to the root."""
    first, last = tree.cells
    for level in range(int(tree.levels[leaves].max(initial=0)), -1, -1):
        leaves = np.where(tree.levels[leaves] > level, tree.parent[leaves], leaves)
        yield first[leaves].astype(np.int64), last[leaves].astype(np.int64)


def blanked_boxes(first: IntArray, last: IntArray, groups: Sequence[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield boxes with more and more columns blank, given the group of each bin; those that lose least come first."""
    sizes = {j: int(group[-1]) for j, group in enumerate(groups) if group[-1] > 0}
    loss = {j: n / (n + 1) for j, n in sizes.items()}
    every = (chosen for n in range(1, len(sizes) + 1) for chosen in itertools.combinations(sizes, n))
    few = sorted(itertools.islice(every, MOST_SETS), key=lambda chosen: sum(loss[j] for j in chosen))
    nested = sorted(sizes, key=lambda j: -sizes[j])
    rest = (tuple(nested[:n]) for n in range(1, len(nested) + 1) if 2 ** len(sizes) > MOST_SETS)
    whole = np.array([len(group) - 1 for group in groups])
    for chosen in map(list, (*few, *rest)):
        wide_first, wide_last = first.copy(), last.copy()
        wide_first[:, chosen], wide_last[:, chosen] = 0, whole[chosen]
        yield wide_first, wide_last


def fill_in(cells: Cells, counts: PlaceCounts, rules: Rules, wider: Wider) -> Cells:
    """Return cells with entries that are in none put into wider ones that keep the rules.

    All entries of a place go together. If t breaks elsewhere with the rows that come back, nothing is changed.
    """
    out, rows, persons = np.flatnonzero(cells.of < 0), counts.rows, counts.persons
    sensitive = counts.sensitive if rules.l_on or rules.t_on else ()
    limits = rules.limits(sensitive, None, rows, persons)

    def keep(pool: IntArray, own: IntArray) -> BoolArray:
        at = out[pool]
        values = [column.take(at) for column in sensitive]
        return rules.kept(own, values, None if persons is None else persons[at], rows[at], limits)[own]

    found = _widened(cells, out, counts.place[out], wider, keep, True)
    while (found.of >= 0).any():
        good = np.append(rules.kept(found.of, sensitive, persons, rows), True)[found.of]  # the last is for none
        if good.all():
            break
        if not good[cells.of >= 0].all():
            return cells
        found = replace(found, of=np.where(good, found.of, -1))
    used = np.unique(found.of[found.of >= 0])
    of = np.where(found.of >= 0, np.searchsorted(used, found.of), -1)
    return Cells(found.grids, found.first[used], found.last[used], of)


def fill_in_together(
    cells: Cells, place: IntArray, past: together.EarlierReleases, rules: Rules, table: Table, wider: Wider, way: str
) -> Cells:
    """Return cells with rows that are left out put into wider ones, where all tables keep their rules.

    People who left a history hide among those of it that are left out, so these stay out.
    """
    here = np.isin(np.arange(len(past.before)), past.record)
    own = past.before[past.record]
    hides = past.shown[past.record] & np.isin(own, past.before[past.shown & ~here])
    out = np.flatnonzero((cells.of < 0) & ~hides & (together.wanted(past, place, way) >= 0))
    node = cells.of.copy()

    def keep(pool: IntArray, group: IntArray) -> BoolArray:
        at, trial = out[pool], node.copy()
        trial[at] = max(cells.n_cells, int(node.max(initial=0)) + 1) + group
        while (bad := together.broken_records(past, trial, rules, table)).any():
            # Groups that break a rule stay out; then all who share a history with those who would be too few outside.
            lost = past.rows_of(bad)[at] & (trial[at] >= 0)
            lost = lost if lost.any() else np.isin(own[at], past.before[bad & past.shown]) & (trial[at] >= 0)
            if not lost.any():
                return np.zeros(len(pool), bool)
            trial[at[lost]] = -1
        node[:] = trial
        return np.asarray(trial[at] >= 0)

    return _widened(cells, out, place[out], wider, keep, False)


def _widened(
    cells: Cells, out: IntArray, place: IntArray, wider: Wider, keep: Callable[..., BoolArray], again: bool
) -> Cells:
    """Put entries into the first wider boxes that ``keep`` accepts, given entries and the number of their box.

    With ``again``, entries that are left may join a box that was accepted.
    """
    places, own = np.unique(place, return_inverse=True)
    chosen = np.full(len(out), -1, np.int64)
    first, last = (np.zeros((len(out), cells.first.shape[1]), np.int64) for _ in range(2))
    for joining in (False, True) if again else (False,):
        for step, (low, high) in enumerate(wider(places) if (chosen < 0).any() else ()):
            pool = np.flatnonzero((chosen < 0) | (joining & (chosen == step)))
            if (chosen[pool] < 0).any() and (not joining or (chosen[pool] == step).any()):
                good = pool[keep(pool, _numbered(low, high)[own[pool]])]
                chosen[good], first[good], last[good] = step, low[own[good]], high[own[good]]
    filled = np.flatnonzero(chosen >= 0)
    first, last = np.concatenate([cells.first, first[filled]]), np.concatenate([cells.last, last[filled]])
    number = _numbered(first, last)
    one = np.unique(number, return_index=True)[1]
    of = np.where(cells.of >= 0, number[np.maximum(cells.of, 0)], -1) if cells.n_cells else cells.of.copy()
    of[out[filled]] = number[cells.n_cells :]
    return Cells(cells.grids, first[one], last[one], of)


def _numbered(first: IntArray, last: IntArray) -> IntArray:
    columns = [*first.T.astype(np.int64), *last.T.astype(np.int64)]
    return join([(column, int(column.max(initial=0)) + 1) for column in columns], len(first))
