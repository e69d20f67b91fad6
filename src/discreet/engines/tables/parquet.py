"""Parquet files, read out of core: only the needed columns, only one batch at a time, several row groups at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.tables.part import Batch, Part
from discreet.errors import DataSourceError

#: Bytes of a column chunk fetched at a time; otherwise a chunk, which may be the whole file, is read at once.
_BUFFER = 1 << 20
#: Least rows of a unit; smaller row groups are joined. A thread reads a unit in one go.
_UNIT_ROWS = 1 << 18


class ParquetTable(Part):
    """One Parquet file. It is not slow: Arrow decodes with threads of its own."""

    def __init__(self, path: Path) -> None:
        self.label = f"file {str(path)!r}"
        self.path = path
        with self._open() as file:
            self._schema = file.schema_arrow
            rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self.names = tuple(self._schema.names)
        self._groups = _joined(rows)
        self.units = tuple(sum(rows[group] for group in groups) for groups in self._groups)

    def size(self) -> int:
        return sum(self.units)

    def kind(self, position: int) -> pa.DataType:
        return self._schema.field(position).type

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        return self._read(positions, batch_size, None)

    def read_unit(self, unit: int, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        return self._read(positions, batch_size, self._groups[unit])

    def _read(self, positions: Sequence[int], batch_size: int, groups: list[int] | None) -> Iterator[Batch]:
        wanted = [self.names[p] for p in positions]
        with self._open() as file:
            try:
                # A unit is already read in one of several threads.
                for batch in file.iter_batches(
                    batch_size, row_groups=groups, columns=wanted, use_threads=groups is None
                ):
                    yield [batch.column(name) for name in wanted], batch.num_rows
            except (pa.ArrowException, OSError):
                raise self._damaged() from None

    def _open(self) -> pq.ParquetFile:
        try:
            # An open file: of a path Arrow would first find out which file system it belongs to.
            return pq.ParquetFile(pa.OSFile(str(self.path)), buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise self._damaged() from None

    def _damaged(self) -> DataSourceError:
        return DataSourceError(f"data: {self.label} cannot be read as Parquet; check the file and its permissions")


def _joined(rows: Sequence[int]) -> list[list[int]]:
    """Join neighbouring row groups to units of some size: their numbers."""
    units: list[list[int]] = []
    size = _UNIT_ROWS
    for group, n in enumerate(rows):
        if size >= _UNIT_ROWS:
            units.append([])
            size = 0
        units[-1].append(group)
        size += n
    return units
