"""Kernels that split a text file into fields, and one field of some records.

A CSV library gives up at a row that is too long or a quote that is never closed; then one row decides whether the call
fails. Here every sequence of bytes has a reading, wherever blocks end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import ByteArray, IntArray, SmallIntArray, inlined, jit
from discreet.engines.tables.plain_text import gather_plain
from discreet.engines.tables.text_bits import byte_at, found_at, ones_in, zeros_below

#: Most bytes of a record; longer ones are not rows. Without a limit, one unclosed quote would fill the memory.
RECORD_LIMIT = 1 << 20

# Where the splitter stands within a field.
START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3
# How a field was written: as it is, in quotes, in quotes with quotes or more text inside.
BARE, SIMPLE, MIXED = 0, 1, 2

_LF, _CR, _ONE = 10, 13, np.uint64(1)


@inlined
def _events(home: Any, left: int, delimiter: int, quote: int) -> tuple[Any, Any]:
    """Return which of the next 64 bytes may change the state, and which are line breaks: a bit each."""
    if left >= 64:
        breaks = found_at(home, 0, _LF) | found_at(home, 0, _CR)
        marks = breaks | found_at(home, 0, delimiter)
        return (marks | found_at(home, 0, quote) if quote >= 0 else marks), breaks
    breaks = marks = np.uint64(0)
    for i in range(left):
        c = byte_at(home, i)
        bit = _ONE << np.uint64(i)
        if c == _LF or c == _CR:  # noqa: SIM109
            breaks |= bit
        elif c == delimiter or c == quote:  # noqa: SIM109
            marks |= bit
    return marks | breaks, breaks


@jit
def record_ends(block: ByteArray, state: int, delimiter: int, quote: int) -> tuple[int, int, int, int]:
    """Return the ends of the first and last record of a block, the state at its end, and its number of line breaks.

    A record ends after its line break; -1 means none. ``state`` is the splitter's state at the beginning.
    """
    first = last = -1
    home, before, lines = np.int64(block.ctypes.data), -1, 0
    for place in range(0, block.size, 64):
        marks, breaks = _events(home + place, block.size - place, delimiter, quote)
        lines += ones_in(breaks)
        while marks:
            i = place + zeros_below(marks)
            marks &= marks - _ONE
            if i != before + 1 and state != QUOTED:
                state = PLAIN
            before = i
            c = block[i]
            if state == QUOTED:
                if c == quote:
                    state = CLOSED
            elif c == delimiter:
                state = START
            elif c == _LF or c == _CR:  # noqa: SIM109
                state, last = START, i + 1
                if first < 0:
                    first = last
            elif state != PLAIN:
                state = QUOTED
    if block.size != before + 1 and state != QUOTED:
        state = PLAIN
    return first, last, state, lines


@jit
def split_records(
    block: ByteArray,
    delimiter: int,
    quote: int,
    slots: IntArray,
    n_fields: int,
    starts: SmallIntArray,
    ends: SmallIntArray,
    styles: ByteArray,
) -> tuple[int, int, int]:
    """Split a block of whole records and note the positions of the wanted fields.

    A record ends at a line break outside quotes, or with the block. Records with another number of fields than
    ``n_fields`` (0: any), empty lines and records beyond `RECORD_LIMIT` are skipped. ``slots`` holds, for every field,
    its line in ``starts``, ``ends`` and ``styles``, or -1; they have a column per row. Return the rows found, the
    fields of the last one, and where it ended.
    """
    rows = fields = field = record = begin = 0
    home, state, style, before = np.int64(block.ctypes.data), START, BARE, -1
    for place in range(0, block.size + 1, 64):  # the end of the block is looked at as one more byte
        marks, _ = _events(home + place, block.size - place, delimiter, quote)
        if block.size < place + 64:
            marks |= _ONE << np.uint64(block.size - place)
        while marks:
            i = place + zeros_below(marks)
            marks &= marks - _ONE
            over = i == block.size
            if over and record >= block.size:
                break
            if i != before + 1 and state != QUOTED:  # bytes that mean nothing by themselves stand between
                state = PLAIN
            before = i
            c = _LF if over else block[i]
            if state == QUOTED and not over:
                if c == quote:
                    state = CLOSED
            elif c == quote and not over:
                if state == START:
                    state, style, begin = QUOTED, SIMPLE, i + 1
                elif state == CLOSED:  # a doubled quote stands for one
                    state, style = QUOTED, MIXED
            else:
                if field < slots.size and slots[field] >= 0:
                    k = slots[field]
                    starts[k, rows] = begin
                    ends[k, rows] = i - 1 if style == SIMPLE and state == CLOSED else i
                    styles[k, rows] = style if style != SIMPLE or state == CLOSED else MIXED
                field += 1
                state, style, begin = START, BARE, i + 1
                if c != delimiter:
                    if i > record and i - record <= RECORD_LIMIT and (field == n_fields or n_fields == 0):
                        rows += 1
                        fields = field
                    record, field = i + 1, 0
                    if rows == starts.shape[1]:
                        return rows, fields, min(record, block.size)
    return rows, fields, min(record, block.size)


@jit
def gather(
    block: ByteArray, starts: SmallIntArray, ends: SmallIntArray, styles: ByteArray, quote: int
) -> tuple[IntArray, ByteArray]:
    """Copy the fields of one column side by side: offsets and bytes, as Arrow lays out text."""
    offsets = np.zeros(starts.size + 1, np.int64)
    data = np.empty(max(1, (ends - starts).astype(np.int64).sum()), np.uint8)
    size = 0
    for row in range(starts.size):
        if styles[row] == MIXED:
            state = QUOTED
            for i in range(starts[row], ends[row]):
                found = block[i] == quote
                if state == QUOTED and found:
                    state = CLOSED
                    continue
                if state == CLOSED:
                    state = QUOTED if found else PLAIN
                data[size] = block[i]
                size += 1
        else:
            for i in range(starts[row], ends[row]):
                data[size] = block[i]
                size += 1
        offsets[row + 1] = size
    return offsets, data


@dataclass(frozen=True)
class Field:
    """One field of some records: the positions of its texts in a block of the file."""

    block: ByteArray
    starts: SmallIntArray
    ends: SmallIntArray
    styles: ByteArray
    quote: int
    #: The file is small and without quotation marks; see `plain_text`.
    plain: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    def text(self) -> pa.LargeBinaryArray:
        """Collect the texts in an Arrow array."""
        if self.plain:
            offsets, data = gather_plain(self.block, self.starts, self.ends)
        else:
            offsets, data = gather(self.block, self.starts, self.ends, self.styles, self.quote)
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )

    def take(self, rows: IntArray) -> "Field":
        """Return the field of some of the records."""
        return Field(self.block, self.starts[rows], self.ends[rows], self.styles[rows], self.quote, self.plain)
