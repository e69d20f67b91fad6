"""Random subsets: one value is in with an exact probability, the rest is uniform among the *other* values.

The others are drawn by Floyd's method (Bentley and Floyd 1987). To choose w of 0..N-1, go through j = N-w .. N-1, draw
t uniformly from 0..j, and take t, or j if t is taken already: every w-subset has the same probability, with w uniform
draws.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, inlined, jit
from discreet.noise.stream.draw import byte_width, draw
from discreet.noise.stream.kernels import FINISHED, MORE_BYTES, _below_one, _toss, _why
from discreet.noise.stream.thresholds import Chance, digit_table

#: Subsets up to this size are kept as a sorted list while they grow, larger ones as marks.
_LARGEST_LIST = 32

_u64 = np.uint64
_ZERO, _ONE, _R58 = _u64(0), _u64(1), _u64(58)
#: Numbers the bits of a word: the top six bits of (2^k · this) are different for every k.
_DE_BRUIJN = _u64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
_PLACES[[((int(_DE_BRUIJN) << k) & (2**64 - 1)) >> 58 for k in range(64)]] = np.arange(64)


def subsets(values: IntArray, *, n_values: int, size: int, chance: Chance, rng: object = None) -> IntArray:
    """Draw one sorted subset of ``size`` of the numbers ``0 .. n_values - 1`` for every value, one per row.

    With the given probability it contains the value and ``size - 1`` of the others; else ``size`` of the others.
    """
    marks = np.zeros(0 if size <= _LARGEST_LIST else (n_values + 63) // 64, np.uint64)
    width, mask = byte_width(n_values - 1)

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return _subsets(digit_table((chance,), precision), values, n_values - 1, size, marks, *state)

    out: IntArray = draw(kernel, (len(values), size), rng, bytes_each=width * (mask + 1) / max(n_values - size, 1))
    return out


@jit
def _subsets(
    table: Any, values: Any, others: int, size: int, marks: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0], size):
        start = position
        held, position = _toss(table, 0, buffer, position)
        if held < 0:
            return start, i, _why(held)
        wanted = size - held
        line = out[i : i + size]
        bits = 1
        for j in range(others - wanted, others):
            while j >> bits:
                bits += 1
            ticket, position = _below_one(j + 1, (bits + 7) >> 3, (1 << bits) - 1, buffer, position)
            if ticket < 0:
                marks[:] = 0
                return start, i, MORE_BYTES
            if len(marks):
                _mark(marks, ticket, j)
            else:
                _insert(line, j - (others - wanted), ticket, j)
        if len(marks):
            _list_marks(marks, line)
        # Number the others round the value, then put it in its place.
        value, place = values[i // size], 0
        while place < wanted and line[place] < value:
            place += 1
        for k in range(wanted - 1, place - 1, -1):
            line[k + held] = line[k] + 1
        if held:
            line[place] = value
    return position, out.shape[0], FINISHED


@inlined
def _insert(line: Any, count: int, ticket: int, last: int) -> None:  # pragma: no cover
    """Add ``ticket`` to the sorted list, or ``last``, larger than all in it, if it is there already."""
    place = count
    while place > 0 and line[place - 1] > ticket:
        place -= 1
    if place > 0 and line[place - 1] == ticket:
        line[count] = last
    else:
        for k in range(count, place, -1):
            line[k] = line[k - 1]
        line[place] = ticket


@inlined
def _mark(marks: Any, ticket: int, last: int) -> None:  # pragma: no cover
    bit = _ONE << _u64(ticket & 63)
    if marks[ticket >> 6] & bit:
        marks[last >> 6] |= _ONE << _u64(last & 63)
    else:
        marks[ticket >> 6] |= bit


@inlined
def _list_marks(marks: Any, line: Any) -> None:  # pragma: no cover
    """Write the marked numbers in order and clear the marks."""
    count = 0
    for i in range(len(marks)):
        word = marks[i]
        marks[i] = _ZERO
        while word:
            rest = word & (word - _ONE)
            line[count] = 64 * i + _PLACES[((word ^ rest) * _DE_BRUIJN) >> _R58]
            count += 1
            word = rest
