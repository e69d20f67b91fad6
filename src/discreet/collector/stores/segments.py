"""Reports as Parquet files in a folder that collectors share, to be counted with Spark.

Every collector writes reports to its own SQLite file, and moves its log to a new segment instead of counting it:
``<task>/<period>/<random>.parquet``. The content of a segment and the secret that names it are recorded first, so an
interrupted collector writes the same file again. Each row has the report, its key and its place under that key. If a
device sent to two collectors, its rows occur twice, and counting removes the duplicates.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.collector.stores.base import Held, Post
from discreet.core import NewFile, sync
from discreet.errors import DataSourceError, StoreUnavailable
from discreet.local import Counts, Task

_HEAD = np.dtype([("key", "V16"), ("n", "<u4")])
Logs = Mapping[tuple[int, int], Sequence[bytes]]


def heads(posts: Iterable[Post]) -> bytes:
    """Return keys and their numbers of reports as bytes."""
    return b"".join(post.key + post.n.to_bytes(4, "little") for post in posts)


def write(place: Path, secret: bytes, logs: Logs, found: Logs, held: Mapping[int, Held]) -> None:
    """Write logs as segments, one per task and period; the same secret gives the same files.

    Names reveal neither which segment came first, nor which segments of two tasks were written together.
    """
    for (number, period), reports in logs.items():
        task = held[number].task
        rows = table(task, b"".join(found[number, period]), b"".join(reports))
        begun = datetime.fromisoformat(task.opens).timestamp() + period * task.period
        name = sha256(secret + f"{task.digest}/{period}".encode()).hexdigest()[:32]
        _write_whole(place / task.digest / str(period) / f"{name}.parquet", rows, begun)


def table(task: Task, head: bytes, reports: bytes) -> pa.Table:
    """Return reports as a table, one row per report, in the order of their random keys."""
    posts = np.frombuffer(head, _HEAD)
    n, size = posts["n"].astype(np.int64), task.mechanism.layout.size
    places = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    keys = np.repeat(posts["key"], n).tobytes()
    columns: dict[str, Any] = {"place": places.astype(np.int32)}
    for name, width, data in (("key", 16, keys), ("report", size, reports)):
        rows = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(places), [None, pa.py_buffer(data)])
        columns = {name: rows.cast(pa.binary()), **columns}
    return pa.table(columns).sort_by([("key", "ascending"), ("place", "ascending")])


def _write_whole(path: Path, rows: pa.Table, begun: float) -> None:
    """Write a segment atomically and durably.

    The time of the file is the start of its period: the real one would reveal when reports came.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NewFile(path, durable=True) as out:
            pq.write_table(rows, out.file, compression="zstd")
            out.file.flush()
            os.utime(out.file.fileno(), (begun, begun))
            out.keep()
        for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
            sync(folder)
    except OSError as error:
        raise StoreUnavailable(f"cannot write the segment {str(path)!r}: {error.strerror}") from None


def count(
    task: Task, folder: str | Path, session: Any = None, *, log: Mapping[int, pa.Table] | None = None
) -> dict[int, Counts]:
    """Count the segments of a task, by period, on Spark if a session is given.

    A report that was sent to two collectors under one key is counted once, in the first of its periods. Without Spark,
    the keys of the task's window must fit into memory, and ``log`` may hold reports that are in no segment yet.
    """
    place, log = Path(folder).expanduser() / task.digest, log or {}
    if not place.is_dir() and not log:
        raise DataSourceError(f"segments: there are none of this task in {str(folder)!r}; check the folder")
    found: dict[int, Counts] = {}
    keys: dict[int, Any] = {}
    distinct = _on_spark if session is not None else _here
    # A device does not send again after the window; one more period allows for clocks that differ.
    reach = 1 + -(-task.key_window // task.period)
    written = {int(p.name) for p in place.glob("*") if p.name.lstrip("-").isdecimal()}
    for period in sorted(written | log.keys()):
        keys = {before: known for before, known in keys.items() if before >= period - reach}
        parts = [*([place / str(period)] if period in written else []), *([log[period]] if period in log else [])]
        rows, keys[period] = distinct(session, parts, list(keys.values()))
        found[period] = task.mechanism.aggregate(rows)
    return found


def _on_spark(session: Any, parts: list[Any], earlier: list[Any]) -> tuple[Any, Any]:
    rows = session.read.parquet(*map(str, parts))
    keys = rows.select("key").distinct()
    if earlier:
        rows = rows.join(reduce(lambda one, other: one.union(other), earlier), "key", "left_anti")
    return rows.dropDuplicates(["key", "place"]).select("report"), keys


def _here(_: Any, parts: list[Any], earlier: list[Any]) -> tuple[pa.Table, pa.Array]:
    rows = pa.concat_tables([pq.read_table(part) if isinstance(part, Path) else part for part in parts])
    keys = pc.unique(rows["key"])
    if earlier:
        rows = rows.filter(pc.invert(pc.is_in(rows["key"], value_set=pa.concat_arrays(earlier))))
    rows = rows.group_by(["key", "place"]).aggregate([("report", "min")])
    return pa.table({"report": rows["report_min"]}), keys
