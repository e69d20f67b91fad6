"""Streams of Arrow: DuckDB, lazy Polars frames, Ibis, readers of record batches.

If possible, every pass asks for a new stream with the needed columns. A stream that can be read once goes to a
temporary file in its first pass. Only its owner may read that file, and it is deleted with the stream.
"""

import os
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from discreet.core import FloatArray
from discreet.engines.tables.encode import Encoder, column_kind
from discreet.engines.tables.memory import PolarsTable
from discreet.engines.tables.part import Batch, Part
from discreet.errors import DataSourceError, InvalidType

#: Libraries whose tables give a new stream whenever they are asked.
_AGAIN = ("duckdb", "polars", "ibis", "pandas", "cudf", "pyarrow", "datafusion", "modin", "geopandas")


class StreamTable(Part):
    """A table that is a stream of record batches (``__arrow_c_stream__``), or a lazy frame of Polars."""

    slow = True

    def __init__(self, data: Any) -> None:
        self.label = "the stream"
        self._data = data
        kind = type(data)
        self._library = kind.__module__.partition(".")[0]
        self._lazy = self._library == "polars" and hasattr(kind, "collect_batches")
        self._relation = self._library == "duckdb" and hasattr(kind, "project")
        self._wrong: tuple[type[Exception], ...] = (pa.ArrowException, OSError)
        if self._relation:
            self._wrong += (sys.modules["duckdb"].Error,)
        elif self._lazy:
            self._wrong += (sys.modules["polars"].exceptions.PolarsError,)
        again = self._relation if self._library == "duckdb" else self._library in _AGAIN
        self._once = isinstance(data, pa.RecordBatchReader) or not again
        self._spool = _spool_of(data) if self._once else None
        #: A lazy frame without its rows: it knows the types that have no Arrow form, too.
        self._head = PolarsTable(data.head(0).collect()) if self._lazy else None
        if self._head is not None:
            self.names = self._head.names
            return
        self._schema = self._spool.schema if self._spool is not None else self._asked_schema()
        self.names = tuple(map(str, self._schema.names))

    def check(self, position: int, encoder: Encoder) -> None:
        if self._head is not None:
            self._head.check(position, encoder)
            return
        kind = self._schema.field(position).type
        encoder.check(column_kind(kind), kind, self.label)

    def encode(self, piece: Any, encoder: Encoder) -> FloatArray:
        return self._head.encode(piece, encoder) if self._head is not None else encoder.arrow(piece)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        try:
            if self._head is not None:
                names = [self.names[p] for p in positions or [0]]
                for frame in self._data.select(names).collect_batches(chunk_size=batch_size):
                    yield from PolarsTable(frame).read(range(len(positions)), batch_size)
                return
            for batch in self._batches(list(positions) or [0], batch_size):
                for start in range(0, batch.num_rows, batch_size):
                    some = batch.slice(start, batch_size)
                    yield some.columns[: len(positions)], some.num_rows
        except self._wrong as error:
            if isinstance(error, DataSourceError):
                raise
            raise DataSourceError(
                "data: the stream broke off before its end; check where it comes from (what it said is not shown here, "
                "because it may quote a row)"
            ) from None

    def _batches(self, positions: list[int], batch_size: int) -> Iterator[pa.RecordBatch]:
        if self._spool is not None:
            yield from self._spool.batches(positions)
        elif self._relation:
            wanted = ", ".join('"' + self.names[p].replace('"', '""') + '"' for p in positions)
            yield from _relation_reader(self._data.project(wanted), batch_size)
        else:
            for batch in _reader(self._data):
                yield batch.select(positions)

    def _asked_schema(self) -> pa.Schema:
        if self._relation:
            return _relation_reader(self._data.limit(0), 1).schema
        return _reader(self._data).schema


def _relation_reader(relation: Any, batch_size: int) -> pa.RecordBatchReader:
    """Stream a DuckDB relation; the method had another name before."""
    return (getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader)(batch_size)


def is_stream(data: Any) -> bool:
    """Return whether an object hands over streams of Arrow."""
    # Of the type: some frames take any name for a column.
    kind = type(data)
    return hasattr(kind, "__arrow_c_stream__") or (
        hasattr(kind, "collect_batches") and kind.__module__.startswith("polars")
    )


def _reader(data: Any) -> pa.RecordBatchReader:
    try:
        return data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowException, ValueError, TypeError):
        # A single column has the protocol too, but it is not a table.
        raise InvalidType("data", type(data), "a table of named columns", "a data frame") from None


class _Spool:
    """The rows of a stream that can be read once, kept in a temporary file from the first pass on."""

    def __init__(self, data: Any) -> None:
        self._reader: pa.RecordBatchReader | None = _reader(data)
        self.schema = self._reader.schema
        self._path = ""

    def batches(self, positions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        self._fill()
        # Fields come in the order of the file, whatever the order of the request.
        order = sorted(set(positions))
        options = pa.ipc.IpcReadOptions(included_fields=order)
        with pa.OSFile(self._path) as file, pa.ipc.open_stream(file, options=options) as reader:
            for batch in reader:
                yield batch.select([order.index(p) for p in positions])

    def _fill(self) -> None:
        if self._reader is None:
            if not self._path:
                raise DataSourceError("data: the stream broke off before its end; make it again")
            return
        reader, self._reader = self._reader, None
        handle, path = tempfile.mkstemp(prefix="discreet-", suffix=".arrows")  # readable by its owner only
        os.close(handle)
        weakref.finalize(self, Path(path).unlink, missing_ok=True)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, self.schema, options=options) as writer:
            for batch in reader:
                writer.write_batch(batch)
        self._path = path


#: What was read of streams that somebody still holds: they give their rows once, and are opened again in every call.
#: By identity, because many tables compare by value and have no hash.
_SPOOLS: dict[int, _Spool] = {}


def _spool_of(data: Any) -> _Spool:
    found = _SPOOLS.get(id(data))
    if found is None:
        found = _Spool(data)
        try:
            weakref.finalize(data, _SPOOLS.pop, id(data), None)
        except TypeError:  # its end cannot be observed, and the next call would find a stream without rows
            what = "a stream that Python can refer to weakly, because it gives its rows once"
            raise InvalidType("data", type(data), what, "pa.RecordBatchReader.from_stream(data)") from None
        _SPOOLS[id(data)] = found
    return found
