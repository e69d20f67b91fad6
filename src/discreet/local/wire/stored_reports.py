"""Reports that are stored in a table: one packed report per row, in a column of bytes, on disk or on Spark.

Every row group, file or partition gives its own counts, which are added up. Rows that are not reports are rejected.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.engines import gather, units_of
from discreet.engines.tables import BATCH_SIZE, Encoder, Part
from discreet.errors import SchemaError
from discreet.local.wire.bits import Rows
from discreet.local.wire.counts import Counts
from discreet.local.wire.parameters import mechanism_from_dict

#: The column of reports, where a table has others.
COLUMN = "report"


def holds_table(reports: Any) -> bool:
    """Return whether reports are given as a path or a table."""
    return isinstance(reports, (str, Path, pa.Table, pa.RecordBatch, engines.Source)) or hasattr(reports, "columns")


def count_stored(mechanism: Any, data: Any) -> Counts:
    """Count the reports in a table."""
    source = engines.open(data)
    places = [[_place(part)] for part in source.parts]
    if not source.remote:
        units = units_of(source.parts, places)
        counted: Counts = gather(lambda: _Counting(mechanism.empty()), units, batch_size=BATCH_SIZE)
        return counted
    total: Counts = mechanism.empty()
    facts = mechanism.to_dict()
    for state in source.states(lambda batches: _partition(facts, batches), places[0]):
        total += Counts.from_bytes(state)
    return total


class _Counting:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def add(self, part: Part, pieces: list[Any]) -> None:
        add_column(self._counts, pieces[0])

    def result(self) -> Counts:
        return self._counts


def _partition(facts: dict[str, Any], batches: Iterator[pa.RecordBatch]) -> bytes:
    """Count the reports of one partition, on an executor."""
    counts = mechanism_from_dict(facts).empty()
    for batch in batches:
        add_column(counts, batch.column(0))
    return counts.to_bytes()


def add_column(counts: Counts, column: Any) -> None:
    """Count a column of bytes; nulls and entries of another length than a report are rejected."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = pa.array([v if isinstance(v, bytes) else None for v in column], pa.large_binary())
    values = column.cast(pa.large_binary())
    rows, odd = _rows(values, counts.mechanism.layout.size)
    counts.add(rows)
    counts.rejected += odd


def _rows(values: pa.LargeBinaryArray, size: int) -> tuple[Rows, int]:
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1] if len(values) else None
    if ends is None:
        return np.empty((0, size), np.uint8), 0
    good = (np.diff(ends) == size) & ~values.is_null().to_numpy(zero_copy_only=False)
    if not good.all():
        kept = values.filter(pa.array(good))
        return _rows(kept, size)[0], int(len(values) - good.sum())
    body = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return body[ends[0] : ends[-1]].reshape(len(values), size), 0


def _place(part: Part) -> int:
    names = part.names
    if len(names) > 1 and names.count(COLUMN) != 1:
        raise SchemaError(f"{part.label} has {len(names)} columns; keep the one of reports, or call it {COLUMN!r}")
    place = names.index(COLUMN) if COLUMN in names else 0
    part.check(place, _Bytes())
    return place


class _Bytes(Encoder):
    """The encoder of a column of reports."""

    def __init__(self) -> None:
        pass

    def check(self, kind: str, shown: object, where: str) -> None:
        if kind not in ("text", "null"):
            raise SchemaError(f"the column of reports of {where} has type {shown}; packed reports are bytes")
