"""From text to numbers, correctly rounded, in one look at every byte.

A library fails at the first text that is not a number, or knows one decimal mark only. Long decimals are rounded as by
D. Lemire, "Number parsing at a gigabyte per second" (Software: Practice and Experience 51, 2021): the digits are
multiplied with a 128-bit power of five; if that leaves the rounding open, the standard library decides.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import AnyArray, FloatArray, IntArray, inlined, jit
from discreet.core.schema import BLANKS, Dialect, lowered
from discreet.engines.tables.plain_text import plain_numbers
from discreet.engines.tables.text_bits import byte_at, upper_product, word_at, zeros_above, zeros_below

#: Numbers as programs write them.
PLAIN_NUMBERS = Dialect()

_SPACE, _PLUS, _MINUS, _ZERO, _NINE, _E = 32, 43, 45, 48, 57, 101
#: Powers of ten that are exact in double precision.
_TEN = 10.0 ** np.arange(23)
#: The powers of five whose 128 leading bits are kept; numbers with other exponents are rare, and left to others.
_LEAST, _MOST = -80, 80
_WORDS = (
    np.frombuffer(b"nan", np.uint8),
    np.frombuffer(b"inf", np.uint8),
    np.frombuffer(b"infinity", np.uint8),
    np.frombuffer(b"true", np.uint8),
    np.frombuffer(b"false", np.uint8),
)
#: What a text turned out to be: no number, one of at most 19 digits, one of more, or one of the words.
_NOTHING, _EXACT, _LONG, _NAMED = 0, 1, 2, 3
_WORD_VALUES = np.array([np.nan, np.inf, np.inf, 1.0, 0.0])


def _powers() -> Any:
    """Return the 128 leading bits of the powers of five: cut off, but rounded up where that keeps them exact enough."""
    found = np.empty((_MOST - _LEAST + 1, 2), np.uint64)
    for row, q in enumerate(range(_LEAST, _MOST + 1)):
        five = 5 ** abs(q)
        inverse = (1 << (five - 1).bit_length() + 127) // five + (q >= -27)
        bits = five << 128 >> five.bit_length() if q >= 0 else inverse
        found[row] = bits >> 64, bits & (1 << 64) - 1
    return found


_FIVES = _powers()
_ONE, _BIT = np.uint64(1), np.uint64(1 << 63)
_LAST_NINE, _NINE_BITS, _FRACTION, _THREE = np.uint64(0x1FF), np.uint64(9), np.uint64(52), np.uint64(3)
_EACH, _TOPS, _ZEROS, _BEYOND = (np.uint64(b * 0x0101010101010101) for b in (0x01, 0x80, 0x30, 0x76))
_POWERS, _NONE = np.array([10**k for k in range(20)], np.uint64), np.uint64(0)
_ALL, _HIDDEN = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1 << 52)


@jit
def _rounded(digits: Any, power: int) -> Any:
    """Return the bits of the double nearest to ``digits * 10**power`` (digits > 0); all ones if this cannot decide."""
    if power < _LEAST or power > _MOST:
        return _ALL
    shift = zeros_above(digits)
    digits = digits << np.uint64(shift)
    high, low = upper_product(digits, _FIVES[power - _LEAST, 0]), digits * _FIVES[power - _LEAST, 0]
    if high & _LAST_NINE == _LAST_NINE:  # too close to call with 64 bits of the power
        more = upper_product(digits, _FIVES[power - _LEAST, 1])
        low = low + more
        if low < more:
            high = high + _ONE
    if low == _ALL and (power < -27 or power > 55):
        return _ALL
    top = high >> np.uint64(63)
    mantissa = high >> (top + _NINE_BITS)
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - shift + 1023
    if exponent <= 0 or exponent >= 2046:
        return _ALL
    half = low <= _ONE and -4 <= power <= 23 and mantissa & _THREE == _ONE
    if half and mantissa << (top + _NINE_BITS) == high:  # in the middle between two doubles: the even one
        mantissa = mantissa & ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _HIDDEN << _ONE:
        mantissa = _HIDDEN
        exponent += 1
    return (mantissa & ~_HIDDEN) | (np.uint64(exponent) << _FRACTION)


@inlined
def _eight(digits: Any) -> Any:
    """Return the number that eight digits are, the first in the lowest byte: pairs, then fours, then all."""
    digits = digits * np.uint64(2561) >> np.uint64(8)
    digits = (digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601) >> np.uint64(16)
    return (digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001) >> np.uint64(32)


@inlined
def _short(home: Any, i: Any, end: Any, decimal: int) -> tuple[Any, int]:
    """Read ``digits [. digits]``, eight bytes at a time. Return the digits and the number of them after the point.

    The second result is -1 for other or longer texts. Up to eight bytes after the text are read and shifted out.
    """
    size = end - i
    word = word_at(home, i)
    other = word ^ np.uint64(decimal) * _EACH
    whole = min(zeros_below((other - _EACH) & ~other & _TOPS) >> 3, size)  # up to the first byte that is the mark
    if whole < 1 or size > 20 or (whole == 8 and size > 8):  # with a mark, 20 bytes are 19 digits
        return word, -1
    behind = size - whole - (whole < size)
    word = (word ^ _ZEROS) << np.uint64(64 - 8 * whole)
    strange, mantissa = word | (word + _BEYOND), _eight(word)  # the top bit of a byte that is more than nine
    if behind > 0:
        i += whole + 1
        part = ((behind - 1) & 7) + 1  # and the others are full
        word = (word_at(home, i) ^ _ZEROS) << np.uint64(64 - 8 * part)
        strange, fraction = strange | word | (word + _BEYOND), _eight(word)
        i += part
        while i < end:
            word = word_at(home, i) ^ _ZEROS
            strange, fraction = strange | word | (word + _BEYOND), fraction * _POWERS[8] + _eight(word)
            i += 8
        mantissa = mantissa * _POWERS[behind] + fraction
    return mantissa, behind if strange & _TOPS == _NONE else -1


@jit
def parse_numbers(
    data: Any, starts: Any, ends: Any, decimal: int, thousands: int, hard: IntArray
) -> tuple[FloatArray, int]:
    """Read each text as a number, without surrounding blanks; NaN for other texts.

    A number is ``[sign] digits [. digits] [e [sign] digits]`` with a digit before or after the point, or inf, infinity,
    nan, true (1) or false (0) in any case. Rows with more than 19 digits or an unusual power of ten are noted in
    ``hard`` for the caller; the second result is their number.

    ``decimal`` and ``thousands`` are the bytes of the marks; -1: no thousands mark. That mark comes before the decimal
    mark, follows a digit, is followed by two or more digits, and three digits follow the last one.
    """
    out = np.full(starts.size, np.nan)
    bits = out.view(np.uint64)
    home, n_hard = np.int64(data.ctypes.data), 0
    for row in range(starts.size):
        i, end = np.int64(starts[row]), np.int64(ends[row])
        negative = i < end and byte_at(home, i) == _MINUS
        mantissa, behind = _NONE, -1
        if end + 8 <= data.size:
            mantissa, behind = _short(home, i + negative, end, decimal)
        power, kind = -behind, _EXACT
        if behind < 0:
            mantissa, power, negative, kind = _written(home, i, end, decimal, thousands)
        if kind == _NOTHING:
            continue
        if kind >= _NAMED:
            out[row] = -_WORD_VALUES[kind - _NAMED] if negative else _WORD_VALUES[kind - _NAMED]
        elif mantissa == _NONE:
            out[row] = -0.0 if negative else 0.0
        elif kind == _EXACT and mantissa < _POWERS[15] and -22 <= power <= 22:
            # Both are exact doubles, so one multiplication or division rounds correctly.
            value = float(mantissa)
            value = value * _TEN[power] if power >= 0 else value / _TEN[-power]
            out[row] = -value if negative else value
        else:
            found = _rounded(mantissa, power) if kind == _EXACT else _ALL
            if found == _ALL:
                hard[n_hard] = row
                n_hard += 1
            else:
                bits[row] = found | _BIT if negative else found
    return out, n_hard


@jit
def _written(home: Any, i: Any, end: Any, decimal: int, thousands: int) -> tuple[Any, int, bool, int]:
    """Read a text byte by byte: its digits, the power of ten they are multiplied with, its sign, and what it is."""
    while i < end and (byte_at(home, i) == _SPACE or 9 <= byte_at(home, i) <= 13):
        i += 1
    while end > i and (byte_at(home, end - 1) == _SPACE or 9 <= byte_at(home, end - 1) <= 13):
        end -= 1
    mantissa, power, kind = _NONE, 0, _EXACT
    negative, first = False, i
    if i < end and (byte_at(home, i) == _PLUS or byte_at(home, i) == _MINUS):
        negative = byte_at(home, i) == _MINUS
        i += 1
    if i == end:
        return mantissa, power, negative, _NOTHING
    if byte_at(home, i) > _NINE:
        word = _word(home, i, end)
        named = word >= 0 and (word < 3 or i == first)
        return mantissa, power, negative, _NAMED + word if named else _NOTHING
    digits, before, group = 0, 0, -1  # digits before the decimal mark, and since the last mark between groups
    point = False
    while i < end:
        c = np.int64(byte_at(home, i))
        if _ZERO <= c <= _NINE:
            digits += 1
            if mantissa < np.uint64(10**18):
                mantissa = mantissa * np.uint64(10) + np.uint64(c - _ZERO)
            else:
                kind = _LONG
        elif c == decimal and not point:
            point, before = True, digits
        elif c == thousands and not point and digits > 0 and (group < 0 or digits - group >= 2):
            group = digits
        else:
            break
        i += 1
    if not point:
        before = digits
    if digits == 0 or (group >= 0 and before - group != 3):
        return mantissa, power, negative, _NOTHING
    power = before - digits
    if i < end:
        if (byte_at(home, i) | 32) != _E:
            return mantissa, power, negative, _NOTHING
        i += 1
        down = i < end and byte_at(home, i) == _MINUS
        if i < end and (byte_at(home, i) == _PLUS or byte_at(home, i) == _MINUS):
            i += 1
        if i == end:
            return mantissa, power, negative, _NOTHING
        size: Any = 0
        while i < end and _ZERO <= byte_at(home, i) <= _NINE:
            size = min(size * 10 + (np.int64(byte_at(home, i)) - _ZERO), 1 << 20)
            i += 1
        if i < end:
            return mantissa, power, negative, _NOTHING
        power += -size if down else size
    return mantissa, power, negative, kind


@jit
def _word(home: Any, start: Any, end: Any) -> int:
    """Return the number of the word at this position, in any case, or -1."""
    for k in range(len(_WORDS)):
        word = _WORDS[k]
        if word.size == end - start:
            same = True
            for j in range(word.size):
                same = same and (byte_at(home, start + j) | 32) == word[j]
            if same:
                return k
    return -1


def numbers_of_text(values: pa.LargeBinaryArray, dialect: Dialect = PLAIN_NUMBERS) -> FloatArray:
    """Read texts as numbers, NaN for other texts."""
    if not len(values):
        return np.empty(0)
    values = _bare(values.fill_null(b""), dialect)
    plain = plain_numbers(values, dialect)
    out = _by_kernel(values, dialect) if plain is None else plain
    if dialect.true or dialect.false:
        words = pc.utf8_lower(readable(trim(values)))
        for number, spelled in ((1.0, dialect.true), (0.0, dialect.false)):
            named = pc.is_in(words, value_set=pa.array(lowered(spelled), pa.large_string()))
            out[named.to_numpy(zero_copy_only=False)] = number
    return out


def _by_kernel(values: pa.LargeBinaryArray, dialect: Dialect) -> FloatArray:
    """Read numbers that are written in any way."""
    _, offsets, data = values.buffers()
    places = _readonly(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    out, hard = numbers_at(_readonly(data, np.uint8), places[:-1], places[1:], dialect)
    if len(hard):
        texts = trim(values.take(pa.array(hard))).view(pa.large_string())
        if dialect.thousands:
            texts = pc.replace_substring(texts, dialect.thousands, "")
        if dialect.decimal != ".":
            texts = pc.replace_substring(texts, dialect.decimal, ".")
        # Both ways round correctly, so which one is taken does not change the result.
        try:
            out[hard] = texts.cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:  # some versions of Arrow refuse numbers beyond the range of doubles
            out[hard] = [float(t) for t in texts.to_pylist()]
    return out


def numbers_of_decimals(values: pa.Array) -> FloatArray:
    """Read decimals as the nearest doubles, as from a text file; NaN for missing ones. Arrow would round twice."""
    return numbers_of_text(values.cast(pa.large_string()).cast(pa.large_binary()))


def numbers_at(data: AnyArray, starts: AnyArray, ends: AnyArray, dialect: Dialect) -> tuple[FloatArray, IntArray]:
    """Read numbers where they lie; also return the rows that the kernel leaves to others."""
    hard = np.empty(len(starts), dtype=np.int64)
    thousands = ord(dialect.thousands) if dialect.thousands else -1
    out, n_hard = parse_numbers(data, starts, ends, ord(dialect.decimal), thousands, hard)
    return out, hard[:n_hard]


def has_words(dialect: Dialect) -> bool:
    """Return whether numbers may have something about them that the kernel does not know."""
    return bool(dialect.marks or dialect.true or dialect.false or dialect.thousands in (" ", "'"))


def _bare(values: pa.LargeBinaryArray, dialect: Dialect) -> pa.LargeBinaryArray:
    """Take away what may stand around numbers, and write all blanks between digits alike."""
    if not dialect.marks and dialect.thousands not in (" ", "'"):
        return values
    texts = readable(values)
    if dialect.thousands == " ":
        for blank in BLANKS[1:]:
            texts = pc.replace_substring(texts, blank, " ")
    if dialect.thousands == "'":
        texts = pc.replace_substring(texts, "\u2019", "'")
    texts = pc.utf8_trim_whitespace(texts)
    for mark in dialect.marks:
        behind = pc.if_else(pc.ends_with(texts, mark), pc.utf8_slice_codeunits(texts, 0, -len(mark)), texts)
        before = pc.utf8_slice_codeunits(behind, len(mark))
        texts = pc.utf8_trim_whitespace(pc.if_else(pc.starts_with(behind, mark), before, behind))
    return texts.cast(pa.large_binary())


def readable(column: pa.LargeBinaryArray) -> pa.LargeStringArray:
    """Read bytes as text; where they are no UTF-8, with marks in place of what cannot be read."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if v is None else v.decode("utf-8", "replace") for v in column.to_pylist()], pa.large_string()
        )


def trim(values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    # The view does not check the encoding, and the function looks at bytes only.
    return pc.ascii_trim_whitespace(values.view(pa.large_string())).view(pa.large_binary())


def _readonly(buffer: pa.Buffer | None, kind: npt.DTypeLike) -> AnyArray:
    """View a buffer as an array, always read-only: one type of argument, one compiled kernel."""
    array = np.frombuffer(buffer if buffer is not None and buffer.size else b"", dtype=kind)
    array.flags.writeable = False
    return array
