"""The kernels that read text: split a CSV file into fields, and a field into a number.

They are written out, rather than left to a CSV library, because rows must never cause an error (design rule 3).
A library gives up on a row that is too long or a quote that is never closed, and then one row decides whether
the call fails. Here every sequence of bytes has a reading, and it does not depend on where blocks end.
"""

from typing import Any

import numpy as np

from discreet.core.arrays import ByteArray, FloatArray, IntArray
from discreet.core.jit import jit

#: A record longer than this many bytes is no row. Without a limit one unclosed quote would fill the memory.
RECORD_LIMIT = 1 << 20

# Where the splitter stands within a field.
START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3
# How a field was written: as it is, in quotes, in quotes with quotes or more text inside.
BARE, SIMPLE, MIXED = 0, 1, 2

_COMMA, _QUOTE, _LF, _CR, _SPACE = 44, 34, 10, 13, 32
_PLUS, _MINUS, _DOT, _ZERO, _NINE, _E = 43, 45, 46, 48, 57, 101

# Powers of ten that are exact in double precision.
_TEN = 10.0 ** np.arange(23)
_WORDS = (
    np.frombuffer(b"nan", np.uint8),
    np.frombuffer(b"inf", np.uint8),
    np.frombuffer(b"infinity", np.uint8),
    np.frombuffer(b"true", np.uint8),
    np.frombuffer(b"false", np.uint8),
)
_WORD_VALUES = np.array([np.nan, np.inf, np.inf, 1.0, 0.0])


@jit
def split_records(
    block: ByteArray,
    position: int,
    final: bool,
    state: int,
    dead: bool,
    slots: IntArray,
    n_fields: int,
    starts: IntArray,
    ends: IntArray,
    styles: ByteArray,
) -> tuple[int, int, int, int, bool]:
    """Split a block into records and note where the wanted fields lie.

    A record ends at a line break outside quotes. A record with another number of fields than ``n_fields``
    (0: any), an empty line and a record beyond `RECORD_LIMIT` are no rows and are passed over.

    Parameters
    ----------
    block, position : array, int
        The bytes, and where to begin.
    final : bool
        Whether the file ends with this block.
    state, dead : int, bool
        Where the last call stood within a record that is too long; ``START, False`` otherwise.
    slots : array
        For every field of a record, the line of ``starts`` to note it in, or -1.
    starts, ends, styles : array, one line a wanted field, one column a row
        Where the fields begin and end, and how they are written.

    Returns
    -------
    rows, fields, position, state, dead
        Rows noted, the fields of the last one, and the values to go on with. Bytes from ``position`` on belong
        to a record that is not complete yet.
    """
    capacity = starts.shape[1]
    rows = fields = field = 0
    record = begin = i = position
    style = BARE
    while i < block.size or (final and (record < block.size or dead)):
        c = block[i] if i < block.size else _LF
        if i == block.size or (state != QUOTED and (c == _COMMA or c == _LF or c == _CR)):  # noqa: SIM109
            if field < slots.size and slots[field] >= 0 and not dead:
                k = slots[field]
                starts[k, rows] = begin
                ends[k, rows] = i - 1 if style == SIMPLE and state == CLOSED else i
                styles[k, rows] = style if style != SIMPLE or state == CLOSED else MIXED
            field += 1
            state, style, begin = START, BARE, i + 1
            if c != _COMMA or i == block.size:
                complete = not dead and i > record and i - record <= RECORD_LIMIT
                if complete and (field == n_fields or n_fields == 0):
                    rows += 1
                    fields = field
                record, field, dead = i + 1, 0, False
                if rows == capacity:
                    return rows, fields, min(record, block.size), START, False
        elif state == START:
            if c == _QUOTE:
                state, style, begin = QUOTED, SIMPLE, i + 1
            else:
                state = PLAIN
        elif state == QUOTED:
            if c == _QUOTE:
                state = CLOSED
        elif state == CLOSED:
            # A doubled quote stands for one; other text after a closing quote is kept as it is.
            state = QUOTED if c == _QUOTE else PLAIN
            style = MIXED
        i += 1
        # Most bytes are digits and letters: no byte above the comma ends a plain field.
        while state == PLAIN and i < block.size and block[i] > _COMMA:
            i += 1
    if dead or block.size - record > RECORD_LIMIT:
        return rows, fields, block.size, state, True
    return rows, fields, min(record, block.size), START, False


@jit
def gather(block: ByteArray, starts: IntArray, ends: IntArray, styles: ByteArray) -> tuple[IntArray, ByteArray]:
    """Copy the fields of one column side by side: offsets and bytes, as Arrow lays out text."""
    offsets = np.zeros(starts.size + 1, np.int64)
    data = np.empty(max(1, (ends - starts).sum()), np.uint8)
    size = 0
    for row in range(starts.size):
        if styles[row] == MIXED:
            state = QUOTED
            for i in range(starts[row], ends[row]):
                quote = block[i] == _QUOTE
                if state == QUOTED and quote:
                    state = CLOSED
                    continue
                if state == CLOSED:
                    state = QUOTED if quote else PLAIN
                data[size] = block[i]
                size += 1
        else:
            for i in range(starts[row], ends[row]):
                data[size] = block[i]
                size += 1
        offsets[row + 1] = size
    return offsets, data


@jit
def parse_numbers(data: Any, offsets: Any, hard: IntArray) -> tuple[FloatArray, int]:
    """Read each text as a number: blanks around it are ignored, what is not a number is NaN.

    A number is ``[sign] digits [. digits] [e [sign] digits]`` with a digit before or after the point, or one of
    the words inf, infinity, nan, true (1), false (0) in any case. Up to 2**53 and with a power of ten that is
    exact, one multiplication or division rounds correctly. The rows of longer numbers are noted in ``hard``, the
    second result says how many, and the caller converts them.
    """
    out = np.full(offsets.size - 1, np.nan)
    n_hard = 0
    for row in range(offsets.size - 1):
        i, end = offsets[row], offsets[row + 1]
        while i < end and (data[i] == _SPACE or 9 <= data[i] <= 13):
            i += 1
        while end > i and (data[end - 1] == _SPACE or 9 <= data[end - 1] <= 13):
            end -= 1
        sign, first = 1.0, i
        if i < end and (data[i] == _PLUS or data[i] == _MINUS):
            sign = -1.0 if data[i] == _MINUS else 1.0
            i += 1
        if i == end:
            continue
        if data[i] > _NINE:
            word = _word(data, i, end)
            if word >= 0 and (word < 3 or i == first):
                out[row] = sign * _WORD_VALUES[word]
            continue
        mantissa, digits, shift, exact = np.uint64(0), 0, 0, True
        point = False
        while i < end and (_ZERO <= data[i] <= _NINE or (data[i] == _DOT and not point)):
            if data[i] == _DOT:
                point = True
            else:
                digits += 1
                shift -= 1 if point else 0
                if mantissa < np.uint64(10**18):
                    mantissa = mantissa * np.uint64(10) + np.uint64(data[i] - _ZERO)
                else:
                    exact = False
            i += 1
        if digits == 0:
            continue
        if i < end:
            if (data[i] | 32) != _E:
                continue
            i += 1
            down = i < end and data[i] == _MINUS
            if i < end and (data[i] == _PLUS or data[i] == _MINUS):
                i += 1
            if i == end:
                continue
            power = 0
            while i < end and _ZERO <= data[i] <= _NINE:
                power = min(power * 10 + (data[i] - _ZERO), 1 << 20)
                i += 1
            if i < end:
                continue
            shift += -power if down else power
        if exact and mantissa <= np.uint64(1 << 53) and -22 <= shift <= 22:
            value = float(mantissa)
            out[row] = sign * (value * _TEN[shift] if shift >= 0 else value / _TEN[-shift])
        else:
            hard[n_hard] = row
            n_hard += 1
    return out, n_hard


@jit
def _word(data: Any, start: int, end: int) -> int:
    """Return which of the words stands here, in any case, or -1."""
    for k in range(len(_WORDS)):
        word = _WORDS[k]
        if word.size == end - start:
            same = True
            for j in range(word.size):
                same = same and (data[start + j] | 32) == word[j]
            if same:
                return k
    return -1
