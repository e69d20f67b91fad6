"""A temporary file of small records that are read many times and do not fit into memory.

Where the system allows, the file has no name, so no one else can open it and it disappears with the process. Elsewhere
only its owner can read it, and it is deleted. It is in the temporary folder (``TMPDIR``) and as sensitive as the rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import AnyArray, Meter
from discreet.errors import DataSourceError

#: Rows read at a time.
BLOCK = 1 << 18
#: Files that rows are divided among: a process may open about a thousand.
MOST_FILES = 256


class RowFile:
    """Records of one structured type, appended and read back in blocks."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self.kind = np.dtype(kind)
        self._rows = 0
        with _room():
            self._file = tempfile.TemporaryFile(prefix="discreet-", buffering=0)  # noqa: SIM115

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._rows

    def add(self, **fields: Any) -> None:
        """Write some rows, given field by field."""
        record = np.empty(len(next(iter(fields.values()))), self.kind)
        for name, values in fields.items():
            record[name] = values
        self.write(record)

    def write(self, records: AnyArray) -> None:
        with _room():
            left = memoryview(np.ascontiguousarray(records).tobytes())
            while left:
                left = left[self._file.write(left) :]
        self._rows += len(records)

    def blocks(self, size: int = BLOCK) -> Iterator[AnyArray]:
        """Yield all records, some at a time, in the order in which they were written."""
        with _room(), Meter(self._rows) as meter:
            self._file.seek(0)
            for start in range(0, self._rows, size):
                block = np.empty(min(size, self._rows - start), self.kind)
                left = block.view(np.uint8).data
                while left:
                    got = self._file.readinto(left)
                    if not got:
                        raise OSError("the file is shorter than what was written")
                    left = left[got:]
                yield block
                meter.advance(len(block))


def divided(rows: Iterator[tuple[AnyArray, AnyArray]], kind: np.dtype[Any], parts: int) -> Sequence[RowFile]:
    """Write blocks of records to files, by the file number of each record (-1: none). The caller closes the files."""
    with ExitStack() as unfinished:
        files = [unfinished.enter_context(RowFile(kind)) for _ in range(parts)]
        for records, part in rows:
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(parts + 1))
            moved = records[order]
            for file, start, end in zip(files, ends[:-1], ends[1:], strict=True):
                file.write(moved[start:end])
        unfinished.pop_all()  # all are written: they stay open
    return files


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f" ({error.strerror})" if error.strerror else ""
        raise DataSourceError(
            f"the folder for temporary files, {tempfile.gettempdir()!r}, cannot take the rows{reason}; name one with "
            "more room in the environment variable TMPDIR"
        ) from None
