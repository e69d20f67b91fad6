"""Rows counted by place, sensitive values and person, batch by batch.

`Counter` keeps combinations, at tens of bytes each. If places are known beforehand and one column has few values, a
table of counts takes a few bytes per place (`PlaceCounter`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.growth.frontier import check_nodes, refuse_root, settle, shown_nodes
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import Values, ValueTally
from discreet.anonymity.risk.distances import AT_ONCE
from discreet.anonymity.risk.rules import ReachedLevels, Rules
from discreet.core import AnyArray, BoolArray, IntArray, jit
from discreet.engines.tables import same_key

#: Different values, missing ones included, from which on combinations are smaller: 4 bytes a value against 24 to 48 a
#: combination.
MOST_VALUES = 32
#: Cells that are measured at a time.
_CELLS = 1 << 14


class CountTable:
    """Counts of rows by place, 0 to ``n - 1`` or -1, and number of a value: -1, missing, to ``MOST_VALUES - 2``."""

    def __init__(self, n: int) -> None:
        self.counts: AnyArray = np.zeros((n + 1, 1), np.uint32)  # the last row is for place -1
        self._total = 0

    def fits(self, codes: AnyArray) -> bool:
        return int(codes.max(initial=-1)) + 2 <= MOST_VALUES

    def add(self, place: AnyArray, codes: AnyArray, rows: IntArray | None = None) -> None:
        self._total += len(place) if rows is None else int(rows.sum())
        width, kind = int(codes.max(initial=-1)) + 2, self.counts.dtype
        if self._total > np.iinfo(kind).max:
            kind = np.dtype(np.int64)
        if width > self.counts.shape[1] or kind != self.counts.dtype:  # values come early, when hardly a page is used
            wider = np.zeros((len(self.counts), max(width, self.counts.shape[1])), kind)
            some = np.nonzero(self.counts)  # pages that nothing was written to take no memory
            wider[some] = self.counts[some]
            self.counts = wider
        _tally(self.counts, place, codes, np.ones(1, np.int64) if rows is None else rows, rows is None)

    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        place, slot = np.nonzero(self.counts)
        return np.where(place == len(self.counts) - 1, -1, place), slot - 1, self.counts[place, slot].astype(np.int64)


@dataclass(frozen=True)
class TabledCounts:
    """Rows by place and value: ``counts`` has a row for each of the rising ``places``, and a last one for no place.

    ``code`` is the number of each value among the labels of the sensitive column, -1 if it does not occur.
    """

    counts: AnyArray
    code: IntArray
    sensitive: tuple[CodedColumn, ...]
    places: AnyArray

    def held(self, chosen: AnyArray) -> IntArray:
        return np.asarray(_held(self.counts, chosen)[self.code >= 0])

    def tables(self, kept: AnyArray) -> Iterator[tuple[int, IntArray]]:
        """Yield the counts of the labels in the places that are kept, for some places at a time, as `tallied` does."""
        slots = np.flatnonzero(self.code >= 0)
        values = sum(len(column.labels) for column in self.sensitive)
        room = max(1, AT_ONCE // max(values, 1))
        for begin in range(0, len(kept), room):
            own = kept[begin : begin + room]
            found = np.zeros((len(own), values), np.int64)
            for slot in slots:  # of several spellings, one label
                found[:, self.code[slot]] += self.counts[begin : begin + len(own), slot] * own
            yield begin, found

    def figures(self, rules: Rules, of_place: AnyArray | None = None) -> tuple[ReachedLevels, int, int, int, IntArray]:
        """Measure cells, as `PlaceCounts.figures` does; cells rise with their places."""
        cell = np.append(self.places if of_place is None else of_place[self.places], np.int32(-1))
        shown = cell >= 0
        held = self.held(shown)
        limits = rules.limits(self.sensitive, None, held)
        n, at, pieces, rows, cells = int(cell.max(initial=-1)) + 1, 0, [], 0, 0
        slots = np.flatnonzero(self.code >= 0)
        for begin in range(0, max(n, 1), _CELLS):
            found = np.zeros((min(_CELLS, n - begin), self.counts.shape[1]), np.int64)
            at = _by_cell(self.counts, cell, at, begin, found)
            found = found[:, slots]
            own, value = np.nonzero(found)
            some = found[own, value]
            rows, cells = rows + int(some.sum()), cells + int(found.any(axis=1).sum())
            columns = [replace(column, codes=column.codes[value]) for column in self.sensitive]
            pieces.append(rules.measure(own, columns, None, some, limits))
        return _worst(pieces), rows, cells, int(_held(self.counts, ~shown).sum()), held


class Counter:
    """Count rows in batches; values keep their numbers from one pass to the next.

    ``values`` are those of an earlier pass, ``asked`` the columns to distinguish (by default sensitive ones and the
    person).
    """

    def __init__(
        self, plan: TablePlan, values: dict[str, Values] | None = None, asked: Sequence[str] | None = None
    ) -> None:
        self.names = list(asked) if asked is not None else [*plan.sensitive, *([plan.person] if plan.person else [])]
        self.values = values or {name: _values(plan, name) for name in self.names}
        self._plan = plan
        self._tally = ValueTally()

    def add(self, place: IntArray, raw: dict[str, pa.Array], rows: IntArray | None = None) -> None:
        self.add_codes(place, [self.values[name].codes(raw[name]) for name in self.names], rows)

    def add_codes(self, place: IntArray, codes: Sequence[AnyArray], rows: IntArray | None = None) -> None:
        """Count some rows whose values have their numbers already."""
        self._tally.add([place, *codes], rows)

    def counts(self) -> PlaceCounts | TabledCounts:
        return self.result()

    def result(self) -> PlaceCounts:
        found, rows = self._tally.result()
        codes = found.astype(np.int64) if len(rows) else np.empty((1 + len(self.names), 0), np.int64)
        return self.coded(codes[0], list(codes[1:]), rows)

    def coded(self, place: IntArray, codes: Sequence[IntArray], rows: IntArray) -> PlaceCounts:
        own = dict(zip(self.names, codes, strict=True))
        told = [n for n in self._plan.sensitive if n in own]
        coded = tuple(self.values[n].coded(self._plan.domain, n, own[n]) for n in told)
        persons = None
        if whose := self._plan.person:  # rows without a person were left out; declared texts like "nan" have no key
            persons = np.where(own[whose] < 0, len(self.values[whose]), own[whose])
        return PlaceCounts(place, coded, persons, rows)


def _values(plan: TablePlan, name: str) -> Values:
    return Values(partial(same_key, declared=plan.domain.column(name)) if name == plan.person else None)


class PlaceCounter(Counter):
    """A counter of rows without persons in ``n`` known places, with at most one sensitive column; see `CountTable`.

    ``before`` is the number of places before each number, if not all numbers are places.
    """

    def __init__(self, plan: TablePlan, n: int, before: AnyArray | None = None) -> None:
        super().__init__(plan)
        self._table: CountTable | None = CountTable(n)
        self._n, self._before = n, before

    def add_codes(self, place: IntArray, codes: Sequence[AnyArray], rows: IntArray | None = None) -> None:
        value = codes[0] if codes else np.full(len(place), -1, np.int32)
        if self._table is not None and not self._table.fits(value):
            own, known, held = self._table.entries()
            self._table = None
            super().add_codes(np.where(own < 0, -1, self._places()[own]), [known], held)
        if self._table is None:
            super().add_codes(place, codes, rows)
        else:
            self._table.add(place if self._before is None else self._before[place], value, rows)

    def counts(self) -> PlaceCounts | TabledCounts:
        if self._table is None:
            return self.result()
        counts = self._table.counts
        slots = np.arange(counts.shape[1]) - 1
        there = np.ones(len(slots), bool)  # all values that have a number occur
        there[0] = not self.names or counts[:, 0].any()
        columns = tuple(self.values[n].coded(self._plan.domain, n, slots[there]) for n in self.names)
        code = np.full(len(slots), -1, np.int64)
        code[there] = columns[0].codes if columns else 0
        return TabledCounts(counts, code, columns, self._places())

    def _places(self) -> AnyArray:
        if self._before is None:
            return np.arange(self._n, dtype=np.int32)
        return np.flatnonzero(np.diff(self._before)).astype(np.int32)


def enforce_table(tree: Tree, counts: TabledCounts, rules: Rules, suppress: float) -> tuple[AnyArray, IntArray, int]:
    """Find the cells of a release like `enforce`, for rows counted by leaf and value.

    Returns the cell of each leaf (-1 for none), the nodes of the cells, and the number of merged leaves.
    """
    before, leaves = tree.leaves_before, np.flatnonzero(tree.column < 0)

    def check(kept: BoolArray) -> tuple[BoolArray, IntArray]:
        limits = rules.limits(counts.sensitive, None, counts.held(kept))
        rows = np.empty(tree.n_nodes, np.int64)
        _count_rows(tree.column, tree.right, before, counts.counts, kept, rows)
        fine = (rows == 0) | (rows >= limits.k)
        if limits.l_on or limits.t_on:
            check_nodes(tree, counts.tables(kept), limits, rows, fine)
        return fine, rows

    n = int(counts.held(np.ones(len(leaves), bool)).sum())
    kept, fine, rows = settle(tree, leaves, n, suppress, check)
    held = counts.held(kept)
    refuse_root(rules, counts.sensitive, np.ones(len(held), bool), bool(fine[0]) and rows[0] > 0, None, held)
    shown = shown_nodes(tree, fine)
    cell = np.where(kept & (rows[leaves] > 0), shown[leaves], np.int32(-1))
    merged = int(((cell >= 0) & (cell != leaves)).sum())
    published = np.zeros(tree.n_nodes, bool)
    published[cell[cell >= 0]] = True
    number = np.cumsum(published, dtype=np.int32) - np.int32(1)
    return np.where(cell >= 0, number[cell], np.int32(-1)), np.flatnonzero(published), merged


def _worst(pieces: Sequence[ReachedLevels]) -> ReachedLevels:
    first = pieces[0]
    worst = max if first.l_kind == "recursive" else min
    return replace(
        first,
        k=min(p.k for p in pieces),
        l={name: worst(p.l[name] for p in pieces) for name in first.l},
        t={name: max(p.t[name] for p in pieces) for name in first.t},
        ok=all(p.ok for p in pieces),
    )


@jit
def _tally(counts: Any, place: Any, codes: Any, rows: Any, single: bool) -> None:
    for i in range(place.size):
        row = place[i] if place[i] >= 0 else counts.shape[0] - 1
        counts[row, codes[i] + 1] += rows[0 if single else i]


@jit
def _held(counts: Any, chosen: Any) -> Any:
    found = np.zeros(counts.shape[1], np.int64)
    for i in range(chosen.size):
        if chosen[i]:
            for c in range(counts.shape[1]):
                found[c] += np.int64(counts[i, c])
    return found


@jit
def _by_cell(counts: Any, cell: Any, at: int, begin: int, found: Any) -> int:
    """Add places up by cell from place ``at`` on, for as many cells as there is room; return where the next begin."""
    while at < cell.size and cell[at] < begin + found.shape[0]:
        if cell[at] >= 0:
            for c in range(counts.shape[1]):
                found[cell[at] - begin, c] += np.int64(counts[at, c])
        at += 1
    return at


@jit
def _count_rows(column: Any, right: Any, before: Any, table: Any, kept: Any, rows: Any) -> None:
    for node in range(column.size - 1, -1, -1):
        rows[node] = 0
        if column[node] >= 0:
            rows[node] = rows[node + 1] + rows[right[node]]
        elif kept[before[node]]:
            for c in range(table.shape[1]):
                rows[node] += np.int64(table[before[node], c])
