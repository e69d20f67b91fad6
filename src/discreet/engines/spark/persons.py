"""Bounded rows per person of a Spark frame.

Executors turn rows into entries with the kernels of the other engines, Spark groups and sorts them by person, and
executors keep the smallest of each person. Nothing is collected. Spark keeps the bounded frame until the release is
done.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import Domain, IntArray, WordArray
from discreet.core.schema import Dialect
from discreet.engines.persons.bounded import Choice, merged
from discreet.engines.persons.kernels import HEAD
from discreet.engines.tables.arrow import present
from discreet.engines.tables.encode import Encoder


@dataclass(frozen=True)
class _Layout:
    """The form of entries in Spark: the second word of persons, and that of groups, only if there is one."""

    wide: bool
    grouped: bool
    d: int

    def names(self, d: int | None = None) -> list[str]:
        """Return the columns; with ``d``, only so many coordinates."""
        words = ["p0", *(["p1"] * self.wide), "r", *(["g"] * self.grouped)] if d is None else []
        return [*words, *(f"x{i}" for i in range(self.d if d is None else d))]

    def schema(self, d: int | None = None) -> str:
        return ", ".join(f"{n} {'double' if n.startswith('x') else 'bigint'}" for n in self.names(d))

    def entries(self, batch: pa.RecordBatch) -> WordArray:
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        none = np.zeros(batch.num_rows, np.uint64)
        words = [np.asarray(found[n], np.int64).view(np.uint64) if n in found else none for n in ("p0", "p1", "r")]
        rows = [np.asarray(found[f"x{i}"], np.float64).view(np.uint64) for i in range(self.d)]
        return np.column_stack([*words, none + np.uint64(1), *rows])

    def batch(self, entries: WordArray, groups: WordArray | None = None, d: int | None = None) -> pa.RecordBatch:
        groups = entries[:, 0] if groups is None else groups
        words = {"p0": entries[:, 0], "p1": entries[:, 1], "r": entries[:, 2], "g": groups}
        arrays = []
        for name in self.names(d):
            column = words[name] if name in words else entries[:, HEAD + int(name[1:])]
            arrays.append(pa.array(np.ascontiguousarray(column).view(np.int64 if name in words else np.float64)))
        return pa.RecordBatch.from_arrays(arrays, self.names(d))


class SparkPersons:
    """Entries of all rows of a frame; see `discreet.engines.persons.bounded.RowsOfPersons`.

    Whole numbers (``wide`` is false) need only their first word.
    """

    def __init__(self, columns: Any, choice: Choice, dialect: Dialect, wide: bool) -> None:
        self._choice, self._layout = choice, (layout := _Layout(wide, bool(choice.groups), len(choice.domain)))
        self._entries = columns.mapInArrow(lambda batches: _entries(batches, choice, dialect, layout), layout.schema())

    def histogram(self, most: int) -> IntArray:
        """Return how many persons have 1, 2, ... rows, the last for ``most`` or more."""
        whose = ["p0", "p1"] if self._layout.wide else ["p0"]
        rows = self._entries.groupBy(*whose).count().selectExpr(f"least(count, {most}) AS n").groupBy("n").count()
        found = np.zeros(most, np.int64)
        for n, count in rows.collect():
            found[n - 1] = count
        return found

    def bounded(self, limit: int, per_group: int | None, axes: Domain) -> Any:
        """Return the table of the rows that are kept, as coordinates."""
        from discreet.engines.spark.table import CoordinateFrame  # which imports this file

        kept = self._entries if per_group is None else self._keep(self._entries, per_group, None)
        return CoordinateFrame(self._keep(kept, limit, len(axes)).persist(), axes)

    def _keep(self, frame: Any, limit: int, d: int | None) -> Any:
        """Keep ``limit`` rows of every group of a person; with ``d``, of every person, and only their coordinates."""
        choice, layout, by_group = self._choice, self._layout, d is None
        order = ["p0", *(["g"] if by_group else ["p1"] if layout.wide else []), "r"]
        together = frame.repartition("p0").sortWithinPartitions(*order)

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for entries in _smallest(map(layout.entries, batches), choice, limit, by_group):
                yield layout.batch(entries, None, d)

        return together.mapInArrow(work, layout.schema(d))


def _entries(
    batches: Iterator[pa.RecordBatch], choice: Choice, dialect: Dialect, layout: _Layout
) -> Iterator[pa.RecordBatch]:
    """Turn rows into entries, on an executor; the person is the last column."""
    encoders = [Encoder(column, dialect) for column in choice.domain]
    for batch in batches:
        columns = [encoder.arrow(piece) for encoder, piece in zip(encoders, batch.columns[:-1], strict=True)]
        entries, _ = choice.entries((columns, present(batch.columns[-1], dialect)))
        yield layout.batch(entries, choice.group(entries) if choice.groups else None)


def _smallest(batches: Iterator[WordArray], choice: Choice, limit: int, by_group: bool) -> Iterator[WordArray]:
    """Keep the smallest entries of each person. Entries come sorted; those of the last person wait for the next batch.

    No more are held than can be kept, plus the last row, because equal ones may follow.
    """
    held = np.empty((0, HEAD + len(choice.domain)), np.uint64)
    for new in batches:
        held = np.concatenate([held, new])
        if not len(held):
            continue
        second = choice.group(held) if by_group else held[:, 1]
        last = (held[:, 0] == held[-1, 0]) & (second == second[-1])
        yield choice.keep(held[~last], limit, by_group=by_group)
        held = held[last]
        ends = held[:, 2] == held[-1, 2]
        held = np.concatenate([choice.keep(held[~ends], limit, by_group=by_group), merged(held[ends])])
    yield choice.keep(held, limit, by_group=by_group)
