"""CSV files, plain or gzipped, read in blocks with every value as bytes.

The first line names the columns (or is a row, if the file has no header) and fixes how many fields a row has. No value
decides a type, and no line causes an error: a line with another number of fields, an empty one, one of more than a
megabyte is no row.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import ByteArray, FloatArray, IntArray
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.part import Batch
from discreet.engines.tables.text_kernels import RECORD_LIMIT, START, gather, split_records
from discreet.errors import DataSourceError

_BLOCK = 4 * RECORD_LIMIT
_BOM = b"\xef\xbb\xbf"


class CsvTable:
    """One CSV file, fields separated by commas, quoted with double quotes, text in UTF-8."""

    bare = False
    headed = True
    slow = True

    def __init__(self, path: Path, header: bool = True) -> None:
        self.label = f"file {str(path)!r}"
        self._path = path
        with self._open() as (_, stream):
            head = stream.read(RECORD_LIMIT + 1)
            self._size = path.stat().st_size
        self.names, self._body = self._header(head)
        if not header:
            self.names = tuple(f"column_{i}" for i in range(1, len(self.names) + 1))
            self._body = len(_BOM) if head.startswith(_BOM) else 0

    def size(self) -> int:
        return self._size

    def identity(self) -> tuple[object, ...]:
        facts = self._path.stat()
        return str(self._path), facts.st_size, facts.st_mtime_ns

    def check(self, position: int, encoder: Encoder) -> None:
        encoder.check("text", "text", self.label)

    def encode(self, piece: pa.LargeBinaryArray, encoder: Encoder) -> FloatArray:
        return encoder.arrow(piece)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        slots = np.full(len(self.names), -1)
        slots[list(positions)] = np.arange(len(positions))
        batch_size = min(batch_size, _BLOCK // 2)  # a block has no more rows than that
        shape = (len(positions), batch_size)
        starts, ends, styles = np.empty(shape, int), np.empty(shape, int), np.empty(shape, np.uint8)
        block = np.empty(_BLOCK, dtype=np.uint8)
        with self._open() as (raw, stream):
            stream.read(self._body)
            kept, state, dead, done, final = 0, START, False, 0, False
            while not final:
                got = _fill(stream, block[kept:])
                final = kept + got < _BLOCK
                filled, position = block[: kept + got], 0
                rows = batch_size
                while rows == batch_size:
                    rows, _, position, state, dead = split_records(
                        filled, position, final, state, dead, slots, len(slots), starts, ends, styles
                    )
                    columns = [
                        _text(filled, starts[k, :rows], ends[k, :rows], styles[k, :rows]) for k in range(len(positions))
                    ]
                    yield columns, raw.tell() - done
                    done = raw.tell()
                kept = len(filled) - position
                block[:kept] = filled[position:].copy()

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], Any]]:
        """Open the file: the bytes on disk, whose position shows progress, and the bytes to read."""
        try:
            with self._path.open("rb") as raw:
                if self._path.name.lower().endswith(".gz"):
                    with gzip.GzipFile(fileobj=raw) as stream:
                        yield raw, stream
                else:
                    yield raw, raw
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, DataSourceError):
                raise
            raise DataSourceError(
                f"data: {self.label} cannot be read as CSV; check the file and its permissions"
            ) from None

    def _header(self, head: bytes) -> tuple[tuple[str, ...], int]:
        """Read the first line: the names, and where the rows begin."""
        begin = len(_BOM) if head.startswith(_BOM) else 0
        block = np.frombuffer(head, dtype=np.uint8).copy()
        slots = np.arange(head.count(b",") + 1)
        starts, ends = np.empty((len(slots), 1), int), np.empty((len(slots), 1), int)
        styles = np.empty((len(slots), 1), np.uint8)
        final = len(head) <= RECORD_LIMIT
        rows, n, body, _, _ = split_records(block, begin, final, START, False, slots, 0, starts, ends, styles)
        if not rows:
            raise DataSourceError(f"data: {self.label} has no header; give the columns names in its first line")
        fields = _text(block, *(np.ascontiguousarray(a[:n, 0]) for a in (starts, ends, styles))).to_pylist()
        if any(b"\n" in f or b"\r" in f for f in fields):
            raise DataSourceError(f"data: {self.label} has no proper header: a quotation mark in it is not closed")
        return tuple(f.decode("utf-8", "replace").strip() for f in fields), body


def _fill(stream: Any, room: ByteArray) -> int:
    """Read until the room is full or the file ends."""
    filled = 0
    while filled < len(room):
        data = stream.readinto(room[filled:])
        if not data:
            break
        filled += data
    return filled


def _text(block: ByteArray, starts: IntArray, ends: IntArray, styles: ByteArray) -> pa.LargeBinaryArray:
    """Collect the fields of one column in an Arrow array."""
    offsets, data = gather(block, starts, ends, styles)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
