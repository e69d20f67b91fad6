"""Tables in random order that do not fit into memory: every row has a random number, and rows are sorted by it.

Rows go to one of 64 files by the first bits of their number; then each file is sorted, or divided by the next bits if
it is too large. The result is that of sorting all rows at once, so the order is uniform (`discreet.noise.RowOrder`).
The files hold rows of the release only, in a folder that only its owner can read, and are deleted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core import writing

if TYPE_CHECKING:
    from discreet.noise import RowOrder

#: Rows that are held until they go to files, and rows of the tables that come back.
_ROWS = 1 << 17
#: Bytes that are held until they go to files, and the most of a file that is sorted in memory.
_BYTES = 1 << 26
#: Bits of the number that choose a file.
_FILE_BITS = 6
_NUMBER = "#"


class Shuffler:
    """Takes in tables of one schema and returns their rows in random order. Temporary files go to ``folder``."""

    def __init__(self, folder: Path, order: RowOrder) -> None:
        self._order = order
        with writing(folder):
            self._folder = tempfile.TemporaryDirectory(prefix=".shuffled-", dir=folder)
        self._beside = folder
        self._waiting: list[pa.Table] = []
        self._rows = self._bytes = 0
        self._files = _Files(Path(self._folder.name), order.bits - _FILE_BITS)
        self._none: pa.Table | None = None

    def __enter__(self) -> Shuffler:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what is left of files that are thrown away
            self._files.close()
        self._folder.cleanup()

    def add(self, table: pa.Table) -> None:
        numbers = self._order.numbers(table.num_rows)
        self._none = table.slice(0, 0)
        self._waiting.append(table.append_column(_NUMBER, pa.array(numbers, pa.int64())))
        self._rows += table.num_rows
        self._bytes += self._waiting[-1].nbytes
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            with writing(self._beside):
                self._files.add(pa.concat_tables(self._waiting))
            self._waiting, self._rows, self._bytes = [], 0, 0

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows in the order of their numbers; no rows at all are one empty table."""
        yield from even_tables(self._sorted(), self._none)

    def _sorted(self) -> Iterator[pa.Table]:
        if not self._files.writers:
            if self._waiting:
                yield self._in_order(pa.concat_tables(self._waiting))
            return
        with writing(self._beside):
            if self._waiting:
                self._files.add(pa.concat_tables(self._waiting))
            self._waiting = []
            self._files.close()
        yield from self._sorted_files(self._files)

    def _sorted_files(self, files: _Files) -> Iterator[pa.Table]:
        """Yield the rows of one file after the other."""
        for i in sorted(files.writers):
            place = files.place(i)
            if place.stat().st_size > _BYTES and files.shift >= _FILE_BITS:
                deeper = _Files(place.with_suffix(""), files.shift - _FILE_BITS)
                with writing(self._beside):
                    deeper.folder.mkdir()
                    try:
                        with pa.OSFile(str(place)) as file:
                            pieces = (pa.Table.from_batches([batch]) for batch in pa.ipc.open_stream(file))
                            for table in even_tables(pieces):  # a batch is a few rows for each of these files
                                deeper.add(table)
                    finally:
                        deeper.close()
                    place.unlink()
                yield from self._sorted_files(deeper)
                continue
            with pa.OSFile(str(place)) as file:
                table = pa.ipc.open_stream(file).read_all()
            place.unlink()
            yield self._in_order(table)

    def _in_order(self, table: pa.Table) -> pa.Table:
        last = table.num_columns - 1  # by place: a column of the release may have any name
        table = table.combine_chunks()
        return table.remove_column(last).take(pa.array(self._order.sort(table.column(last).to_numpy())))


class _Files:
    """Rows by some bits of their number, in a file for each value of the bits."""

    def __init__(self, folder: Path, shift: int) -> None:
        self.folder = folder
        self.shift = shift
        self.writers: dict[int, Any] = {}

    def place(self, file: int) -> Path:
        return self.folder / f"{file}.arrow"

    def add(self, table: pa.Table) -> None:
        numbers = table.column(table.num_columns - 1).to_numpy()
        file = (numbers >> self.shift) & ((1 << _FILE_BITS) - 1)
        table = table.combine_chunks().take(pa.array(np.argsort(file, kind="stable")))
        ends = np.cumsum(np.bincount(file, minlength=1 << _FILE_BITS)).tolist()
        for i, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if end > start:
                if i not in self.writers:
                    self.writers[i] = pa.ipc.new_stream(str(self.place(i)), table.schema)
                self.writers[i].write_table(table.slice(start, end - start))

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()


def even_tables(tables: Iterable[pa.Table], none: pa.Table | None = None, size: int = 0) -> Iterator[pa.Table]:
    """Yield the same rows in tables of one size, the last a shorter one."""
    size = size or _ROWS
    held: list[pa.Table] = [] if none is None else [none]
    rows, shown = 0, False
    for table in tables:
        held.append(table)
        rows += table.num_rows
        if rows >= size:
            joined = pa.concat_tables(held)
            full = rows - rows % size
            for start in range(0, full, size):
                yield joined.slice(start, size).combine_chunks()
            held, rows, shown = [joined.slice(full)], rows - full, True
    if held and (rows or not shown):
        yield pa.concat_tables(held).combine_chunks()
