"""Parquet files, read out of core: only the needed columns, only one batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import FloatArray
from discreet.engines._encode import Encoder, column_kind
from discreet.engines.source import Batch
from discreet.errors import DataSourceError

#: Bytes of a column chunk fetched at a time; otherwise a chunk, which may be the whole file, is read at once.
_BUFFER = 1 << 20


class ParquetTable:
    """One Parquet file."""

    bare = False
    headed = False
    slow = False  # Arrow decodes with threads of its own

    def __init__(self, path: Path) -> None:
        self.label = f"file {str(path)!r}"
        self._path = path
        with self._open() as file:
            self._schema = file.schema_arrow
            self._n_rows: int = file.metadata.num_rows
        self.names = tuple(self._schema.names)

    def size(self) -> int:
        return self._n_rows

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._schema.field(position).type
        encoder.check(column_kind(kind), kind, self.label)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        wanted = [self.names[p] for p in positions]
        with self._open() as file:
            try:
                for batch in file.iter_batches(batch_size=batch_size, columns=wanted):
                    yield [batch.column(name) for name in wanted], batch.num_rows
            except (pa.ArrowException, OSError):
                raise self._damaged() from None

    def encode(self, piece: pa.Array, encoder: Encoder) -> FloatArray:
        return encoder.arrow(piece)

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._path, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError):
            raise self._damaged() from None

    def _damaged(self) -> DataSourceError:
        return DataSourceError(f"data: {self.label} cannot be read as Parquet; check the file and its permissions")
