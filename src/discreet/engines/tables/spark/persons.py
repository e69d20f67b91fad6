"""The rows of each person of a Spark frame, bounded where they are.

Executors turn rows into entries with the kernels of the other engines, Spark brings those of a person together and
sorts them (what a window would do), and executors keep the smallest of each person as they come by. Nothing is
collected. The bounded frame is kept by Spark until the release is done, or every pass would choose again.
"""

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import FloatArray, IntArray, WordArray
from discreet.core.domain import Domain
from discreet.core.schema.dialect import Dialect
from discreet.engines.persons.bounded import Choice, merged
from discreet.engines.persons.kernels import HEAD
from discreet.engines.tables.columns import _present
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.spark import SparkTable

#: Where the words of an entry lie before its coordinates: person (two), row, group.
_WORDS = ("p0", "p1", "r", "g")


class SparkPersons:
    """Entries of all rows of a frame; see `discreet.engines.persons.bounded.RowsOfPersons`."""

    def __init__(self, columns: Any, choice: Choice, dialect: Dialect) -> None:
        self._choice = choice
        names = [*_WORDS, *(f"x{i}" for i in range(len(choice.domain)))]
        self._schema = ", ".join(f"{name} {'bigint' if name in _WORDS else 'double'}" for name in names)
        self._entries = columns.mapInArrow(lambda batches: _entries(batches, choice, dialect), self._schema)

    def histogram(self, most: int) -> IntArray:
        """Return how many persons have 1, 2, ... rows, the last for ``most`` or more."""
        rows = self._entries.groupBy("p0", "p1").count().selectExpr(f"least(count, {most}) AS n").groupBy("n").count()
        found = np.zeros(most, np.int64)
        for n, count in rows.collect():
            found[n - 1] = count
        return found

    def bounded(self, limit: int, per_group: int | None, axes: Domain) -> SparkTable:
        """Return the frame of the rows that are kept, as coordinates."""
        kept = self._entries
        if per_group is not None:
            kept = self._keep(kept, per_group, by_group=True)
        kept = self._keep(kept, limit, by_group=False).select(*(f"x{i}" for i in range(len(axes))))
        return CoordinateFrame(kept.persist(), axes)

    def _keep(self, frame: Any, limit: int, *, by_group: bool) -> Any:
        """Keep that many rows of every person, or of every group of a person."""
        choice, second = self._choice, "g" if by_group else "p1"
        together = frame.repartition("p0").sortWithinPartitions("p0", second, "r")
        return together.mapInArrow(lambda batches: _smallest(batches, choice, limit, by_group), self._schema)


class CoordinateFrame(SparkTable):
    """A Spark frame of coordinates, clamped, in the order of a domain."""

    encoded = True
    label = "the bounded frame"

    def __init__(self, frame: Any, domain: Domain) -> None:
        super().__init__(frame)
        self.names = domain.names
        self._looked_at = True  # what it is made of was looked at
        weakref.finalize(self, _let_go, frame).atexit = False

    def check(self, position: int, encoder: Encoder) -> None:
        """Let every column pass: it is as declared."""

    def encode(self, piece: pa.Array, encoder: Encoder) -> FloatArray:
        return np.asarray(piece.to_numpy(zero_copy_only=False), np.float64)


def _let_go(frame: Any) -> None:
    """Free what Spark keeps of a frame; a session that has ended keeps nothing, and says so in many ways."""
    with contextlib.suppress(Exception):
        frame.unpersist()


def _entries(batches: Iterator[pa.RecordBatch], choice: Choice, dialect: Dialect) -> Iterator[pa.RecordBatch]:
    """Turn rows into entries, on an executor; the person is the last column."""
    encoders = [Encoder(column, dialect) for column in choice.domain]
    for batch in batches:
        columns = [encoder.arrow(piece) for encoder, piece in zip(encoders, batch.columns[:-1], strict=True)]
        entries, _ = choice.entries((columns, _present(batch.columns[-1], dialect)))
        yield _batch(entries, choice.group(entries) if choice.groups else entries[:, 0])


def _smallest(
    batches: Iterator[pa.RecordBatch], choice: Choice, limit: int, by_group: bool
) -> Iterator[pa.RecordBatch]:
    """Keep the smallest of each person, whose entries follow each other by row; the last one's wait for the next batch.

    Of those that wait no more are held than can be kept, and the last row, of which equal ones may follow.
    """
    held = np.empty((0, HEAD + len(choice.domain)), np.uint64)
    for batch in batches:
        words = [np.asarray(column, np.int64).view(np.uint64) for column in batch.columns[:3]]
        rows = [np.asarray(column, np.float64).view(np.uint64) for column in batch.columns[len(_WORDS) :]]
        new = np.column_stack([*words, np.ones(batch.num_rows, np.uint64), *rows])
        held = np.concatenate([held, new])
        if not len(held):
            continue
        second = choice.group(held) if by_group else held[:, 1]
        last = (held[:, 0] == held[-1, 0]) & (second == second[-1])
        done, held = choice.keep(held[~last], limit, by_group=by_group), held[last]
        yield _batch(done, done[:, 0])
        ends = held[:, 2] == held[-1, 2]
        held = np.concatenate([choice.keep(held[~ends], limit, by_group=by_group), merged(held[ends])])
    done = choice.keep(held, limit, by_group=by_group)
    yield _batch(done, done[:, 0])


def _batch(entries: WordArray, groups: WordArray) -> pa.RecordBatch:
    d = entries.shape[1] - HEAD
    words = [np.ascontiguousarray(c).view(np.int64) for c in (entries[:, 0], entries[:, 1], entries[:, 2], groups)]
    rows = [np.ascontiguousarray(entries[:, HEAD + i]).view(np.float64) for i in range(d)]
    return pa.RecordBatch.from_arrays([pa.array(c) for c in (*words, *rows)], [*_WORDS, *(f"x{i}" for i in range(d))])
