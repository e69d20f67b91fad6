"""Tables in random order that do not fit into memory: every row gets a random number, and rows are sorted by it.

Rows go to one of many files by the first bits of their number; then one file after the other is sorted. The order is
that of sorting all rows at once. The files hold rows of the release, lie in a folder that only its owner can read, and
are deleted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.errors import DataSourceError

#: Bits of the random numbers: two rows hardly ever have the same.
BITS = 62
#: Rows that a file holds on average, and the most files there are.
_ROWS, _MOST_FILES = 1 << 17, 256
_NUMBER = "#"


class Shuffler:
    """Takes in tables of one schema, and gives them back in random order.

    Parameters
    ----------
    folder : Path
        Where the files lie meanwhile.
    rows : int
        How many there will be: sets the number of files, nothing else.
    stream : Generator
        Where the numbers come from.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as place, Shuffler(Path(place), 4, noise.generator(1)) as rows:
    ...     rows.add(pa.table({"age": [31, 32, 33, 34]}))
    ...     [table["age"].to_pylist() for table in rows.tables()]
    [[33, 31, 32, 34]]
    """

    def __init__(self, folder: Path, rows: int, stream: noise.Generator) -> None:
        files = min(_MOST_FILES, max(1, rows // _ROWS))
        self._bits = max(files - 1, 0).bit_length()
        self._stream = stream
        with _writing(folder):
            self._folder = tempfile.TemporaryDirectory(prefix=".shuffled-", dir=folder)
        self._beside = folder
        self._writers: dict[int, Any] = {}
        self._none: pa.Table | None = None

    def __enter__(self) -> Shuffler:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):  # what is left of files that are thrown away
            self._close()
        self._folder.cleanup()

    def add(self, table: pa.Table) -> None:
        """Take in some rows."""
        numbers = np.asarray(noise.below(1 << BITS, size=table.num_rows, rng=self._stream))
        self._none = table.slice(0, 0)
        numbered = table.append_column(_NUMBER, pa.array(numbers))
        file = numbers >> (BITS - self._bits)
        order = np.argsort(file, kind="stable")
        numbered, ends = numbered.take(pa.array(order)), np.cumsum(np.bincount(file, minlength=1 << self._bits))
        for i, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            if end > start:
                with _writing(self._beside):
                    if i not in self._writers:
                        self._writers[i] = pa.ipc.new_stream(str(self._place(i)), numbered.schema)
                    self._writers[i].write_table(numbered.slice(start, end - start))

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows in the order of their numbers, those of one file at a time."""
        with _writing(self._beside):
            self._close()
        if not self._writers and self._none is not None:
            yield self._none
        for i in sorted(self._writers):
            with pa.OSFile(str(self._place(i))) as file:
                table = pa.ipc.open_stream(file).read_all()
            last = table.num_columns - 1  # by place: a column of the release may have any name
            numbers = table.column(last).to_numpy()
            yield table.remove_column(last).take(pa.array(np.argsort(numbers, kind="stable")))

    def _place(self, file: int) -> Path:
        return Path(self._folder.name) / f"{file}.arrow"

    def _close(self) -> None:
        for writer in self._writers.values():
            writer.close()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f" ({error.strerror})" if error.strerror else ""
        raise DataSourceError(
            f"output: cannot write to folder {str(folder)!r}{reason}; check the folder and its room"
        ) from None
