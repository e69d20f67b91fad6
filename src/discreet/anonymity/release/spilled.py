"""Build records that do not fit into memory: their bins on the public grids, in a temporary file.

The table is read once, and the file again for each level of the upper part of the tree (`growth/outside.py`). It holds
bins, and the numbers of sensitive values and persons if a rule needs them. It is as sensitive as the table, private,
and deleted when growth ends (`discreet.engines.writing.spill`).
"""

import math
import os
import queue
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet import engines
from discreet.anonymity.growth.criteria import moments
from discreet.anonymity.growth.grid import Bins, Grid
from discreet.anonymity.growth.node_counts import CountJob, NodeCounts, TopTree
from discreet.anonymity.growth.outside import BucketGrower
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.rows import FrozenPartition, batches
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.release.tabled import Counter
from discreet.anonymity.risk.counted import Values
from discreet.anonymity.risk.rules import Rules
from discreet.core import WORKERS, AnyArray, IntArray, Meter, WordArray, in_order
from discreet.engines import RowFile, divided
from discreet.engines.tables import is_divided, is_remote

#: Bytes that build records may take in memory; larger tables are grown from a file. Only time depends on it.
MEMORY = 1 << 30
#: Bytes of a row while a tree is grown in memory: its number, leaf and place, and for every column of bins or values.
_ROW, _BINS, _VALUE = 40, 8, 40
#: Files open at a time (systems allow 256 or 1024); tables with more buckets are divided in rounds.
FILES = 128
#: The field of the bins; those of sensitive columns and of the person are called by their number.
_QUASI = "bins"
#: Bytes of a field of a text file, its separator included.
_FIELD = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)


def is_large(source: engines.Source, plan: TablePlan, memory: float) -> bool:
    """Return whether the build records may need more than ``memory`` bytes, as far as known before they are read."""
    other = len({*plan.sensitive, *plan.identifiers, *plan.keep, *([plan.target] if plan.target else [])})
    return known_rows(source) * (_ROW + _BINS * len(plan.quasi) + _VALUE * other) > memory


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinite if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def known_rows(source: engines.Source) -> float:
    """Return the possible number of rows: 0 for rows in memory or on Spark, infinite for a stream."""
    total = 0.0
    for part in source.parts:
        if is_remote(part):
            continue
        if is_divided(part):
            total += sum(part.units)
        elif hasattr(part, "path"):
            total += part.size() / (1 if hasattr(part, "kind") else _FIELD * len(part.names))
        elif not part.size():
            return math.inf
    return total


@dataclass(frozen=True)
class OutsideTable:
    """Build records outside memory; ``entries`` are the rows by sensitive values and person, ``_held`` those by bin."""

    plan: TablePlan
    entries: PlaceCounts
    dropped: int
    unnamed: int
    memory: int
    _held: tuple[IntArray, ...]
    _values: dict[str, Values]
    _names: tuple[str, ...]

    @property
    def n(self) -> int:
        return int(self.entries.rows.sum())

    def bin_counts(self, j: int) -> IntArray:
        return self._held[j]

    def reordered(self, grids: Sequence[Grid], places: Mapping[int, AnyArray]) -> Self:
        """Return the same rows on grids whose categories are in another order; ``places`` says where each bin goes."""
        held = list(self._held)
        for j, new in places.items():
            held[j] = np.zeros_like(held[j])
            held[j][new] = self._held[j]
        return replace(self, plan=replace(self.plan, grids=tuple(grids)), _held=tuple(held))


@dataclass(frozen=True)
class SpilledTable(OutsideTable):
    """Build records in a file."""

    file: RowFile
    _place: AnyArray | None = None

    def reordered(self, grids: Sequence[Grid], places: Mapping[int, AnyArray]) -> Self:
        place = np.tile(np.arange(max(g.n_bins for g in grids), dtype=np.uint16), (len(grids), 1))
        for j, new in places.items():
            place[j, : len(new)] = new
        return replace(super().reordered(grids, places), _place=place if places else None)

    def placed(self, tree: Tree | FrozenPartition, _: Any = None) -> PlaceCounts:
        """Count the rows by leaf of a tree, or place of a partition, sensitive values and person."""
        counter = Counter(self.plan, self._values, self._names)
        for block in self.file.blocks():
            counter.add_codes(tree.route(self._bins(block)), [block[str(i)] for i in range(len(self._names))])
        return counter.result()

    def rows(self, block: AnyArray) -> AnyArray:
        bins = block[_QUASI]
        rows = np.zeros((len(bins), -(-bins.shape[1] * bins.itemsize // 8) * 8 // bins.itemsize), bins.dtype)
        for j in range(bins.shape[1]):
            rows[:, j] = bins[:, j] if self._place is None else self._place[j][bins[:, j]]
        return rows

    def _bins(self, block: AnyArray) -> Bins:
        return np.ascontiguousarray(self.rows(block)[:, : len(self.plan.grids)].T, np.uint16)

    def _codes(self, block: AnyArray) -> IntArray:
        found = [numbers[block[str(i)]] for i, numbers in enumerate(self._numbers)]
        return np.array(found, np.int64).reshape(len(found), len(block))

    @cached_property
    def _numbers(self) -> list[IntArray]:
        return label_numbers(self.plan, self.entries, self._values)

    def few(self, groups: Sequence[IntArray], k: int) -> int:
        """Return the rows in classes with fewer than k rows, or fewer of them; see `class_hashes`."""
        counts = np.zeros(1 << max(10, (self.memory // 8).bit_length() - 1), np.int64)
        for block in self.file.blocks():
            np.add.at(counts, class_hashes(self.rows(block), groups) & np.uint64(len(counts) - 1), 1)
        return int(counts[counts < k].sum())

    def count(self, job: CountJob) -> NodeCounts:
        """Count all rows by node, column and bin."""
        idle: queue.SimpleQueue[NodeCounts] = queue.SimpleQueue()
        parts = [job.start() for _ in range(WORKERS)]
        for counts in parts:
            idle.put(counts)
        coded = bool(job.shape.values)

        def work(block: AnyArray) -> None:
            counts = idle.get()
            counts.add(self.rows(block), self._codes(block) if coded else np.empty((0, 0), np.int64))
            idle.put(counts)

        for _ in in_order(work, self.file.blocks()):
            pass
        for counts in parts[1:]:
            parts[0].merge(counts)
        return parts[0]

    def moments(self, places: IntArray) -> Any:
        """Add up places and products of places, column by column."""
        return sum(in_order(lambda block: moments(self._bins(block).T.copy(), places), self.file.blocks()))

    def grown(self, top: TopTree, bucket: IntArray, grow: BucketGrower) -> Iterator[list[IntArray]]:
        """Grow one bucket after the other; see `discreet.anonymity.growth.outside.DistantRows`."""
        buckets = enumerate(self._buckets(top, bucket))
        return in_order(lambda found: grow(found[0], *found[1]), buckets)

    def _buckets(self, top: TopTree, bucket: IntArray) -> Iterator[tuple[Bins, IntArray]]:
        for start in range(0, int(bucket.max()) + 1, FILES):
            own = bucket - start
            yield from self._some_buckets(top, np.where((own >= 0) & (own < FILES), own, -1))

    def _some_buckets(self, top: TopTree, bucket: IntArray) -> Iterator[tuple[Bins, IntArray]]:
        blocks = ((block, bucket[top.route(self.rows(block))]) for block in self.file.blocks())
        files = divided(blocks, self.file.kind, int(bucket.max()) + 1)
        try:
            with Meter(sum(map(len, files)), None) as meter:
                for file in files:
                    with file:
                        (whole,) = file.blocks(len(file))
                    yield self._bins(whole), self._codes(whole)
                    meter.advance(len(whole))
        finally:
            for file in files:
                file.__exit__()


def label_numbers(plan: TablePlan, entries: PlaceCounts, values: Mapping[str, Values]) -> list[IntArray]:
    """Return by sensitive column the place of its values among all labels; the last is for missing values."""
    found, start = [], 0
    for column in entries.sensitive:
        own = values[column.name]
        codes = np.append(np.arange(len(own)), [-1] * (None in column.labels)).astype(np.int64)
        found.append(start + own.coded(plan.domain, column.name, codes).codes.astype(np.int64))
        start += len(column.labels)
    return found


def class_hashes(rows: AnyArray, groups: Sequence[IntArray]) -> WordArray:
    """Hash the class of each row, given the group of each bin by column.

    Classes that share a hash look like one larger class, so too few rows may be found in small classes, never too many.
    """
    found = np.zeros(len(rows), np.uint64)
    for j, group in enumerate(groups):
        found = (found ^ group[rows[:, j]].astype(np.uint64)) * _ODD
        found ^= found >> np.uint64(32)
    return found


def counter_of(plan: TablePlan, rules: Rules) -> Counter:
    """Return what counts rows by all that growth by these rules looks at."""
    asked = plan.sensitive if rules.l_on or rules.t_on else ()
    return Counter(plan, asked=(*asked, *([plan.person] if plan.person else [])))


@contextmanager
def spilled(source: engines.Source, plan: TablePlan, rules: Rules, memory: int) -> Iterator[SpilledTable]:
    """Read a table into a file; the file is gone when the context ends."""
    counter = counter_of(plan, rules)
    small = all(grid.n_bins <= 256 for grid in plan.grids)
    bins = (_QUASI, np.uint8 if small else np.uint16, (len(plan.quasi),))
    found = [np.zeros(grid.n_bins, np.int64) for grid in plan.grids]
    gone = np.zeros(2, np.int64)
    fields = list(map(str, range(len(counter.names))))
    with RowFile(np.dtype([bins, *((name, np.int32) for name in fields)])) as file:
        for columns, left_out, raw in batches(source, plan, counter.names):
            gone += left_out
            codes = [counter.values[name].codes(raw[name]) for name in counter.names]
            counter.add_codes(np.zeros(columns.shape[1], np.int64), codes)
            for j, own in enumerate(columns):
                found[j] += np.bincount(own, minlength=len(found[j]))
            file.add(**{_QUASI: columns.T, **dict(zip(fields, codes, strict=True))})
        names = tuple(counter.names)
        entries, (dropped, unnamed) = counter.result(), gone.tolist()
        yield SpilledTable(plan, entries, dropped, unnamed, memory, tuple(found), counter.values, names, file)
