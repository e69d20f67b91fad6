"""Text files of records and fields, plain or compressed, read in blocks with every value as bytes.

The format is declared (`Dialect`). The first line names the columns, or is a row, and fixes the number of fields. No
line causes an error: a line with another number of fields, an empty line and a line of more than a megabyte are not
rows. One thread finds the ends of records; several threads find and convert the fields.
"""

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from discreet.core import ByteArray, FloatArray, IntArray, in_order
from discreet.core.schema import ENCODINGS, Dialect
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.escapes import unescaped_field
from discreet.engines.tables.part import BATCH_SIZE, Batch, Part, distinct_names
from discreet.engines.tables.plain_text import SMALL_FILE, is_plain, plain_ends, split_plain
from discreet.engines.tables.text_kernels import (
    BARE,
    PLAIN,
    QUOTED,
    RECORD_LIMIT,
    START,
    Field,
    record_ends,
    split_records,
)
from discreet.errors import DataSourceError

#: Bytes read at a time for batches of the usual size.
_BLOCK = 1 << 21
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class CsvTable(Part):
    """One text file of records; ``.gz`` and ``.zst`` are compressed.

    ``escaped``: it is one of our releases, in which texts like formulas have an apostrophe before them; it is removed.
    """

    slow = True

    def __init__(self, path: Path, dialect: Dialect | None = None, escaped: bool = False) -> None:
        self.label = f"file {str(path)!r}"
        self.dialect = dialect or Dialect()
        self.path = path
        self._escaped = escaped
        self._delimiter = ord(self.dialect.delimiter)
        self._quote = ord(self.dialect.quote) if self.dialect.quote else -1
        with self._open() as (_, stream):
            head = _first(stream, RECORD_LIMIT + 1)
            self._size = path.stat().st_size
        self._small = self._size <= SMALL_FILE
        begin = len(_BOM) if head.startswith(_BOM) else 0
        for _ in range(self.dialect.skip):
            begin = _behind_line(head, begin)
        if self.dialect.header:
            if head.startswith(_WIDE_BOMS) and self.dialect.encoding == "utf-8":
                raise DataSourceError(
                    f'data: {self.label} is written in UTF-16, not UTF-8; declare encoding = "utf-16" under [source] '
                    "of a schema (--schema), or save it as UTF-8"
                )
            found, body = self._header(head[begin:])
            self.names, self._body = self._named(found), begin + body
        else:  # all lines are rows, and none of them has a say in how the others are read
            found, self._body = [], begin
            self.names = self.dialect.names or self._places(head[begin:])
        self._n_fields = len(found) or len(self.names)
        self.unnamed = not self.dialect.header and not self.dialect.names
        #: Whether the names were read from a first line, which may be a row after all: then no error quotes them.
        self.headed = self.dialect.header and not self.dialect.names

    def size(self) -> int:
        return self._size

    def encode(self, piece: Field, encoder: Encoder) -> FloatArray:
        return encoder.field(piece)

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        """Yield the asked columns; ``batch_size`` says how many bytes are read at a time, 16 per row."""
        # A field has one slot; a column that is requested twice is read once.
        different = list(dict.fromkeys(positions))
        slots = np.full(self._n_fields, -1)
        slots[different] = np.arange(len(different))
        order = slots[list(positions)].tolist()

        def split(chunk: tuple[ByteArray, int, int]) -> Batch:
            block, most, amount = chunk
            found = self._fields(block, most, slots, len(different))
            return [found[slot] for slot in order], amount

        yield from in_order(split, self._chunks(max(_BLOCK * batch_size // BATCH_SIZE, 1 << 10)))

    def _fields(self, block: ByteArray, most: int, slots: IntArray, width: int) -> list[Field]:
        """Find the fields of some whole records, which have no more than ``most`` rows."""
        plain = self._small and is_plain(block, self._quote)
        if plain:
            every, stops, first = split_plain(block, self._delimiter, len(slots), RECORD_LIMIT)
            places = first + np.argsort(slots)[len(slots) - width :, np.newaxis]
            starts, ends, rows = every[places].astype(np.int32), stops[places].astype(np.int32), len(first)
            styles = np.full((width, rows), BARE, np.uint8)
        else:
            starts, ends = np.empty((width, most), np.int32), np.empty((width, most), np.int32)
            styles = np.empty((width, most), np.uint8)
            rows, _, _ = split_records(block, self._delimiter, self._quote, slots, len(slots), starts, ends, styles)
        found = [
            Field(block, starts[k, :rows], ends[k, :rows], styles[k, :rows], self._quote, plain) for k in range(width)
        ]
        return list(map(unescaped_field, found)) if self._escaped else found

    def _chunks(self, size: int) -> Iterator[tuple[ByteArray, int, int]]:
        """Yield whole records, some at a time, how many rows they have at most, and how much of the file they are."""
        with self._open() as (raw, stream):
            _first(stream, self._body)
            kept, state, dead, done, final = np.empty(0, np.uint8), START, False, 0, False
            while not final:
                room = max(size, len(kept))  # a long record is looked at again and again, but not often
                block = np.empty(len(kept) + room, np.uint8)
                block[: len(kept)] = kept
                got = _fill(stream, block[len(kept) :])
                block, final = block[: len(kept) + got], got < room
                first, last, ending, lines = self._ends(block, state)
                if final:
                    last = len(block)
                if dead:  # in a record that is too long: the next one begins behind its end
                    begin = first if first >= 0 else len(block)
                    dead = first < 0
                else:
                    begin = 0
                last = max(last, begin)
                # More rows than line ends there are not, and one that the file may end with.
                yield block[begin:last], lines + 1, raw.tell() - done
                done = raw.tell()
                kept, state = block[last:], START
                if dead or len(kept) > RECORD_LIMIT:
                    kept, state, dead = block[:0], ending, True

    def _ends(self, block: ByteArray, state: int) -> tuple[int, int, int, int]:
        """Return the ends of the first and last record, the state of the splitter at the end, and the line breaks."""
        if self._small and state != QUOTED and is_plain(block, self._quote):
            first, last, inside, lines = plain_ends(block, self._delimiter)
            return first, last, (PLAIN if inside else START) if len(block) else state, lines
        return record_ends(block, state, self._delimiter, self._quote)

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], Any]]:
        """Open the file: the bytes on disk, whose position shows progress, and the bytes to read, in UTF-8."""
        with self._opened(self.path) as (raw, stream):
            plain = self.dialect.encoding == "utf-8"
            yield raw, stream if plain else _Translated(stream, self.dialect.encoding)

    @staticmethod
    @contextmanager
    def _opened(path: Path) -> Iterator[tuple[IO[bytes], Any]]:
        """Open a file, decompressed."""
        try:
            with path.open("rb") as raw:
                name = path.name.lower()
                stream: Any = raw
                if name.endswith(".gz"):
                    stream = gzip.GzipFile(fileobj=raw)
                elif name.endswith(".zst"):
                    stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
                yield raw, stream
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            if isinstance(error, DataSourceError):
                raise
            raise DataSourceError(
                f"data: file {str(path)!r} cannot be read as CSV; check the file and its permissions"
            ) from None

    def _header(self, head: bytes) -> tuple[list[bytes], int]:
        """Read the first line: its fields, and where the rows begin."""
        fields, body = self._first_record(head)
        if not fields:
            raise DataSourceError(f"data: {self.label} has no header; give the columns names in its first line")
        if any(b"\n" in f or b"\r" in f for f in fields):
            raise DataSourceError(f"data: {self.label} has no proper header: a quotation mark in it is not closed")
        return fields, body

    def _places(self, head: bytes) -> tuple[str, ...]:
        """Name columns by position, as many as the first row has. Only a draft may do this."""
        return tuple(f"column_{i}" for i in range(1, len(self._first_record(head)[0]) + 1))

    def _first_record(self, head: bytes) -> tuple[list[bytes], int]:
        """Return the fields of the first record, none if there is none, and where it ends."""
        line = re.search(rb"[^\r\n]+", head)
        quoted = line is not None and bool(self.dialect.quote) and self.dialect.quote.encode() in line[0]
        if line and not quoted and len(line[0]) <= RECORD_LIMIT:
            return line[0].split(self.dialect.delimiter.encode()), min(line.end() + 1, len(head))
        block = np.frombuffer(head, dtype=np.uint8).copy()
        slots = np.arange(head.count(self.dialect.delimiter.encode()) + 1)
        shape = (len(slots), 1)
        starts, ends, styles = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, np.uint8)
        rows, n, body = split_records(block, self._delimiter, self._quote, slots, 0, starts, ends, styles)
        if not rows:
            return [], body
        fields = Field(block, starts[:n, 0].copy(), ends[:n, 0].copy(), styles[:n, 0].copy(), self._quote)
        return fields.text().to_pylist(), body

    def _named(self, found: list[bytes]) -> tuple[str, ...]:
        if self.dialect.names:
            if len(self.dialect.names) != len(found):
                raise DataSourceError(
                    f"data: {self.label} has {len(found)} columns, but {len(self.dialect.names)} names are declared "
                    "under [source]; name every column, also those that are not used"
                )
            return self.dialect.names
        names = tuple(f.decode("utf-8", "replace").strip() for f in found)
        if any("\ufffd" in name for name in names):
            raise DataSourceError(
                f"data: the first line of {self.label} is not written in {self.dialect.encoding}; declare the encoding "
                'under [source] of a schema (--schema), such as encoding = "windows-1252", or save the file as UTF-8'
            )
        self.repeats = distinct_names(names) != names
        return distinct_names(names)


class _Translated:
    """A stream in another encoding, read as UTF-8. What the encoding does not know becomes U+FFFD."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream = stream
        self._encoding = ENCODINGS[encoding]
        self._decoder: Any = None
        self._left = b""
        self._ended = False

    def readinto(self, room: Any) -> int:
        view = memoryview(room).cast("B")
        while not self._left and not self._ended:
            data = self._stream.read(1 << 20)
            self._ended = not data
            if self._decoder is None:
                # Without a mark at its beginning such a file is mostly from Windows, whose bytes come lower half first.
                marked = self._encoding != "utf-16" or data.startswith(_WIDE_BOMS)
                known = self._encoding if marked else "utf-16-le"
                self._decoder = codecs.getincrementaldecoder(known)(errors="replace")
            self._left = self._decoder.decode(data, self._ended).encode("utf-8", "replace")
        given = min(len(view), len(self._left))
        view[:given] = self._left[:given]
        self._left = self._left[given:]
        return given


def decoded_head(path: Path, lines: int = 1) -> tuple[str, str, str]:
    """Return the first bytes of a file as text, the encoding its first lines seem to be in, and why; for a draft."""
    with CsvTable._opened(path) as (_, stream):
        head = _first(stream, RECORD_LIMIT + 1)
    if head.startswith(_WIDE_BOMS):
        return head.decode("utf-16", "replace"), "utf-16", "The file begins with the mark of UTF-16."
    try:
        b"\n".join(re.split(rb"\r\n|\r|\n", head, maxsplit=lines)[:lines]).decode("utf-8")
    except UnicodeDecodeError:
        why = "The first line is not UTF-8; Windows-1252 is what most such files are written in."
        return head.decode("cp1252", "replace"), "windows-1252", why
    return head.removeprefix(_BOM).decode("utf-8", "replace"), "utf-8", ""


def _fill(stream: Any, room: ByteArray) -> int:
    """Read until the room is full or the file ends."""
    filled = 0
    while filled < len(room):
        data = stream.readinto(room[filled:])
        if not data:
            break
        filled += data
    return filled


def _first(stream: Any, size: int) -> bytes:
    """Read the first bytes of a stream."""
    room = np.empty(size, np.uint8)
    return room[: _fill(stream, room)].tobytes()


def _behind_line(head: bytes, begin: int) -> int:
    """Return where the next line begins."""
    breaks = [i for i in (head.find(b"\n", begin), head.find(b"\r", begin)) if i >= 0]
    if not breaks:
        return len(head)
    return min(breaks) + (2 if head[min(breaks) : min(breaks) + 2] == b"\r\n" else 1)
