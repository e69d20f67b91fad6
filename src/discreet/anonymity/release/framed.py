"""Build records of a Spark frame: binned, counted and grown on by the executors.

The frame is read twice: for the counts of bins, sensitive values and persons, and for the bins of all rows, which Spark
keeps in blocks of bytes until growth ends. Executors count the blocks for every level of the upper part of a tree, and
grow the rows of the nodes that are left (`discreet.anonymity.growth.outside`). The driver gets counts and nodes, never
rows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.anonymity.growth.criteria import moments
from discreet.anonymity.growth.grid import Bins
from discreet.anonymity.growth.node_counts import CountJob, NodeCounts, TopTree
from discreet.anonymity.growth.outside import BucketGrower
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.on_executors import ExecutorRows, RowsHere, bin_label, left_out
from discreet.anonymity.release.rows import FrozenPartition
from discreet.anonymity.release.spilled import OutsideTable, class_hashes, counter_of, label_numbers
from discreet.anonymity.release.streamed import LeavesOf
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.release.tabled import Counter
from discreet.anonymity.risk.counted import Values
from discreet.anonymity.risk.rules import Rules
from discreet.core import AnyArray, IntArray
from discreet.engines.spark import brought, collected

#: Bytes that counts may take, and so many the rows that a task grows at a time. Only time depends on it.
MEMORY = 1 << 27
#: Rows of a block.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class FramedTable(OutsideTable):
    """Build records on Spark: counted by executors, never brought to the driver."""

    _source: engines.Source
    _rules: Rules
    _kept: list[Any] = field(default_factory=list)

    def placed(self, tree: Tree | FrozenPartition, _: Any = None) -> PlaceCounts:
        counter = Counter(self.plan, asked=self._names)
        by = LeavesOf(tree, self._rules, 0.0, {}) if isinstance(tree, Tree) else tree
        for found in ExecutorRows(self._source, self.plan, by, self._names).placed():
            counter.add(found.place, found.raw, found.rows)
        return counter.result()

    def few(self, groups: Sequence[IntArray], k: int) -> int:
        read = self._read
        made = self._blocks().mapInArrow(lambda pieces: _hashed(pieces, read, groups), "h bigint, n bigint")
        sizes = made.groupBy("h").agg({"n": "sum"}).toDF("h", "n")
        return int(sizes.where(f"n < {k}").agg({"n": "sum"}).collect()[0][0] or 0)

    def count(self, job: CountJob) -> NodeCounts:
        read, total = self._read, job.start()
        made = self._blocks().mapInArrow(lambda pieces: _counted(pieces, read, job), "key bigint, v bigint")
        found = collected(made.groupBy("key").agg({"v": "sum"}).selectExpr("key", "`sum(v)`"))
        key, added = (np.asarray(column, np.int64) for column in found.columns)
        for array, start in _arrays(total):
            own = (key >= start) & (key < start + array.size)
            array.reshape(-1)[key[own] - start] = added[own]
        return total

    def moments(self, places: IntArray) -> Any:
        read = self._read

        def work(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = [json.dumps(moments(rows, places).tolist()) for rows, _ in read(pieces)]
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], ["m"])

        made = self._blocks().mapInArrow(work, "m string").toLocalIterator()
        return sum(np.array(json.loads(row[0]), object) for row in made)

    def grown(self, top: TopTree, bucket: IntArray, grow: BucketGrower) -> Iterator[list[IntArray]]:
        buckets, read = int(bucket.max()) + 1, self._read
        if not buckets:
            return
        apart = self._blocks().mapInArrow(lambda pieces: _apart(pieces, read, top, bucket), "b int, block binary")
        together = apart.repartition(buckets, "b").sortWithinPartitions("b")
        nodes = together.mapInArrow(lambda pieces: _grown(pieces, read, grow), "b int, nodes binary").persist()
        try:
            nodes.count()  # on all executors at once, before one partition after the other is brought
            found: dict[int, list[IntArray]] = {}
            for batch in brought(nodes):
                for number, written in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                    with np.load(io.BytesIO(written), allow_pickle=False) as pieces:
                        found[number] = [pieces[name] for name in pieces.files]
        finally:
            nodes.unpersist()
        yield from (found[number] for number in range(buckets))

    @property
    def _read(self) -> _Blocks:
        return _Blocks(len(self.plan.grids), len(self.entries.sensitive))

    def _blocks(self) -> Any:
        """Return the frame of all rows in blocks, which Spark keeps; the plan does not change any more."""
        if not self._kept:
            rows = ExecutorRows(self._source, self.plan, _uncut(self.plan, self._rules), self._names)
            here, values = rows.worker(self._asked), self._values
            numbers = label_numbers(self.plan, self.entries, values)
            asked = {name: (values[name], own) for name, own in zip(self._asked, numbers, strict=True)}
            columns = rows.table.frame_of(here.positions)
            packed = columns.mapInArrow(lambda pieces: _packed(pieces, here, asked), "block binary")
            self._kept.append(packed.persist())
        return self._kept[0]

    @property
    def _asked(self) -> list[str]:
        return [column.name for column in self.entries.sensitive]


@contextmanager
def framed(source: engines.Source, plan: TablePlan, rules: Rules) -> Iterator[FramedTable]:
    """Count a frame by bin, sensitive values and person; what Spark keeps of it is freed when the context ends."""
    counter = counter_of(plan, rules)
    bins = [np.zeros(grid.n_bins, np.int64) for grid in plan.grids]
    gone = np.zeros(2, np.int64)
    for labels, raw, rows in ExecutorRows(source, plan, _uncut(plan, rules), counter.names).entries(by_bin=True):
        own = labels.fill_null(1).to_numpy(zero_copy_only=False)
        gone += left_out(own > 0, raw.get(str(plan.person)), rows)
        for j, held in enumerate(bins):
            every = bin_label(j, np.arange(len(held)))  # falling
            here = (own <= every[0]) & (own >= every[-1])
            held[every[0] - own[here]] += rows[here]
        here = own == 0
        chosen = pa.array(here)
        counter.add(own[here], {name: column.filter(chosen) for name, column in raw.items()}, rows[here])
    names = tuple(counter.names)
    (dropped, unnamed), found = gone.tolist(), tuple(bins)
    table = FramedTable(plan, counter.result(), dropped, unnamed, MEMORY, found, counter.values, names, source, rules)
    try:
        yield table
    finally:
        for frame in table._kept:
            frame.unpersist()


def _uncut(plan: TablePlan, rules: Rules) -> LeavesOf:
    return LeavesOf(Tree(plan.grids, *np.full((4, 1), -1)), rules, 0.0, {})


@dataclass(frozen=True)
class _Blocks:
    """Reads blocks of rows: bins side by side, then sensitive values column by column."""

    d: int
    q: int

    def __call__(self, pieces: Iterator[pa.RecordBatch]) -> Iterator[tuple[Bins, IntArray]]:
        for batch in pieces:
            for written in batch.column(batch.num_columns - 1):
                yield self.read(written.as_buffer())

    def read(self, written: Any) -> tuple[Bins, IntArray]:
        n = len(written) // (2 * self.d + 4 * self.q)
        rows = np.frombuffer(written, np.uint16, n * self.d).reshape(n, self.d)
        codes = np.frombuffer(written, np.int32, n * self.q, 2 * n * self.d).reshape(self.q, n)
        return rows, codes.astype(np.int64)

    def write(self, rows: AnyArray, codes: AnyArray) -> bytes:
        return np.ascontiguousarray(rows, np.uint16).tobytes() + np.ascontiguousarray(codes, np.int32).tobytes()


def _packed(
    pieces: Iterator[pa.RecordBatch], here: RowsHere, asked: dict[str, tuple[Values, IntArray]]
) -> Iterator[pa.RecordBatch]:
    form = _Blocks(len(here.plan.grids), len(asked))
    for bins, _, raw in here(pieces):
        own = [numbers[values.codes(raw[name], add=False)] for name, (values, numbers) in asked.items()]
        codes = np.array(own, np.int32).reshape(len(asked), bins.shape[1])
        for start in range(0, bins.shape[1], _BLOCK):
            rows = slice(start, start + _BLOCK)
            block = form.write(bins[:, rows].T, codes[:, rows])
            yield pa.RecordBatch.from_arrays([pa.array([block], pa.binary())], ["block"])


def _arrays(counts: NodeCounts) -> list[tuple[IntArray, int]]:
    """Return what is counted, and from which key on: three kinds of sums."""
    starts = np.cumsum([0, *(array.size for array in counts.arrays)])
    return list(zip(counts.arrays, starts[:-1].tolist(), strict=True))


def _counted(pieces: Iterator[pa.RecordBatch], read: _Blocks, job: CountJob) -> Iterator[pa.RecordBatch]:
    """Count the blocks of a partition; only counts above 0 are passed on."""
    counts = job.start()
    for rows, codes in read(pieces):
        counts.add(rows, codes)
    for array, start in _arrays(counts):
        flat = array.reshape(-1)
        keys = np.flatnonzero(flat)
        yield pa.RecordBatch.from_arrays([pa.array(start + keys), pa.array(flat[keys])], ["key", "v"])


def _hashed(pieces: Iterator[pa.RecordBatch], read: _Blocks, groups: Sequence[IntArray]) -> Iterator[pa.RecordBatch]:
    for rows, _ in read(pieces):
        found, counts = np.unique(class_hashes(rows, groups).view(np.int64), return_counts=True)
        yield pa.RecordBatch.from_arrays([pa.array(found), pa.array(counts.astype(np.int64))], ["h", "n"])


def _apart(pieces: Iterator[pa.RecordBatch], read: _Blocks, top: TopTree, bucket: IntArray) -> Iterator[pa.RecordBatch]:
    for rows, codes in read(pieces):
        own = bucket[top.route(rows)]
        order = np.argsort(own, kind="stable")
        numbers, starts = np.unique(own[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        found = [(b, order[a:z]) for b, a, z in zip(numbers.tolist(), starts, ends, strict=True) if b >= 0]
        blocks = [read.write(rows[chosen], codes[:, chosen]) for _, chosen in found]
        columns = [pa.array([b for b, _ in found], pa.int32()), pa.array(blocks, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["b", "block"])


def _grown(pieces: Iterator[pa.RecordBatch], read: _Blocks, grow: BucketGrower) -> Iterator[pa.RecordBatch]:
    """Grow one bucket after the other; the blocks of each follow one another."""

    def made(number: int, held: list[tuple[Bins, IntArray]]) -> pa.RecordBatch:
        bins = np.ascontiguousarray(np.concatenate([rows for rows, _ in held]).T)
        nodes, out = grow(number, bins, np.concatenate([codes for _, codes in held], axis=1)), io.BytesIO()
        np.savez(out, *nodes)
        columns = [pa.array([number], pa.int32()), pa.array([out.getvalue()], pa.binary())]
        return pa.RecordBatch.from_arrays(columns, ["b", "nodes"])

    held: list[tuple[Bins, IntArray]] = []
    current = -1
    for batch in pieces:
        for number, block in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            if number != current and held:
                yield made(current, held)
                held = []
            current = number
            held.append(read.read(block.as_py()))
    if held:
        yield made(current, held)
