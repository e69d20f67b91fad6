"""The jitted loops under the discrete samplers. They compare bytes and add integers; no floating point.

Every kernel reads the byte buffer from ``position`` and fills ``out`` from ``done`` on. It returns the new position,
the number of finished draws and a state. For an unfinished draw, the position is the one before its first byte.
"""

from typing import Any

import numpy as np

from discreet.core import inlined, jit

#: All draws are made; more random bytes are needed; more digits of a chance are needed.
FINISHED, MORE_BYTES, MORE_DIGITS = 0, 1, 2

_HEADS, _TAILS, _OUT_OF_BYTES, _TIED = 1, 0, -1, -2
#: A row; helpers are compiled once more for each literal they are given.
_FIRST: Any = np.int64(0)
#: Magnitudes stop here rather than wrap around; reached with probability below e^-1000 for every scale allowed.
_LARGEST = 2**61


@inlined
def _toss(table: Any, row: int, buffer: Any, position: int) -> tuple[int, int]:  # pragma: no cover
    """Compare the next random digits with those of the chance in a row: heads iff they are smaller."""
    for j in range(table.shape[1]):
        if position >= buffer.shape[0]:
            return _OUT_OF_BYTES, position
        byte = buffer[position]
        position += 1
        if byte < table[row, j]:
            return _HEADS, position
        if byte > table[row, j]:
            return _TAILS, position
    return _TIED, position


@inlined
def _why(state: int) -> int:  # pragma: no cover
    return MORE_BYTES if state == _OUT_OF_BYTES else MORE_DIGITS


@inlined
def _geometric_one(table: Any, first: int, buffer: Any, position: int) -> tuple[int, int, int]:  # pragma: no cover
    """One geometric draw from the rows of a table from ``first`` on: its low digits, then the coin of its high part."""
    bits = table.shape[0] - first - 1
    value, settled = 0, position + bits <= buffer.shape[0]
    if settled:
        # The common case without a branch per coin: a first digit each, and no tie among them.
        for k in range(bits):
            byte = buffer[position + k]
            value |= (byte < table[first + k, 0]) << k
            settled &= byte != table[first + k, 0]
    if settled:
        position += bits
    else:
        value = 0
        for k in range(bits):
            side, position = _toss(table, first + k, buffer, position)
            if side < 0:
                return side, 0, position
            value |= side << k
    while True:
        side, position = _toss(table, first + bits, buffer, position)
        if side < 0:
            return side, 0, position
        if side == _TAILS or value >= _LARGEST:
            return _HEADS, value, position
        value += 1 << bits


@inlined
def _laplace_one(table: Any, buffer: Any, position: int) -> tuple[int, int, int]:  # pragma: no cover
    """One two-sided geometric draw: is it zero, then magnitude and sign; see `laplace.py` for the table."""
    side, position = _toss(table, _FIRST, buffer, position)
    if side <= 0:
        return side, 0, position
    side, magnitude, position = _geometric_one(table, _FIRST + 1, buffer, position)
    if side < 0:
        return side, 0, position
    if position >= buffer.shape[0]:
        return _OUT_OF_BYTES, 0, position
    sign = 1 - 2 * (buffer[position] & 1)
    return _HEADS, sign * (magnitude + 1), position + 1


@jit
def laplace(table: Any, buffer: Any, position: int, out: Any, done: int) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        side, value, after = _laplace_one(table, buffer, position)
        if side < 0:
            return position, i, _why(side)
        out[i] = value
        position = after
    return position, out.shape[0], FINISHED


@jit
def geometric(table: Any, buffer: Any, position: int, out: Any, done: int) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        side, value, after = _geometric_one(table, _FIRST, buffer, position)
        if side < 0:
            return position, i, _why(side)
        out[i] = value
        position = after
    return position, out.shape[0], FINISHED


@inlined
def _square(m: int) -> tuple[Any, Any]:  # pragma: no cover
    """Return m (m + 1) as two 64-bit halves, m < 2^62."""
    a, b = np.uint64(m), np.uint64(m + 1)
    mask = np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> np.uint64(32), a & mask, b >> np.uint64(32), b & mask
    low = a0 * b0
    cross = a1 * b0 + (low >> np.uint64(32))
    middle = a0 * b1 + (cross & mask)
    return a1 * b1 + (cross >> np.uint64(32)) + (middle >> np.uint64(32)), (middle << np.uint64(32)) | (low & mask)


@jit
def gaussian(
    table: Any, accept: Any, c: int, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Rejection from the two-sided geometric law; row 16 j + v of ``accept`` is the coin for digit v at place j."""
    for i in range(done, out.shape[0]):
        start = position
        while True:
            side, value, position = _laplace_one(table, buffer, position)
            if side < 0:
                return start, i, _why(side)
            m = abs(value) - c
            high, low = _square(m if m >= 0 else -m - 1)  # m (m + 1), also for negative m
            verdict = _HEADS
            for j in range(accept.shape[0] // 16 - 1, -1, -1):
                half = high if j >= 16 else low
                v = int((half >> np.uint64(4 * (j & 15))) & np.uint64(15))
                if v:
                    verdict, position = _toss(accept, 16 * j + v, buffer, position)
                    if verdict != _HEADS:
                        break
            if verdict < 0:
                return start, i, _why(verdict)
            if verdict == _HEADS:
                break
        out[i] = value
    return position, out.shape[0], FINISHED


@jit
def coins(table: Any, buffer: Any, position: int, out: Any, done: int) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        side, after = _toss(table, _FIRST, buffer, position)
        if side < 0:
            return position, i, _why(side)
        out[i] = side
        position = after
    return position, out.shape[0], FINISHED


@inlined
def _below_one(bound: int, width: int, mask: int, buffer: Any, position: int) -> tuple[int, int]:  # pragma: no cover
    """One uniform integer below ``bound``: masked bytes, drawn again while too large. -1: out of bytes."""
    while True:
        if position + width > buffer.shape[0]:
            return -1, position
        value = 0
        for _ in range(width):
            value = (value << 8) | buffer[position]
            position += 1
        value &= mask
        if value < bound:
            return value, position


@jit
def below(
    bound: int, width: int, mask: int, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        value, after = _below_one(bound, width, mask, buffer, position)
        if value < 0:
            return position, i, MORE_BYTES
        out[i] = value
        position = after
    return position, out.shape[0], FINISHED


@jit
def respond(
    table: Any, values: Any, others: int, width: int, mask: int, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Keep a value on heads, otherwise name one of the ``others`` values uniformly."""
    for i in range(done, out.shape[0]):
        side, after = _toss(table, _FIRST, buffer, position)
        if side < 0:
            return position, i, _why(side)
        value = values[i]
        if side == _TAILS:
            other, after = _below_one(others, width, mask, buffer, after)
            if other < 0:
                return position, i, MORE_BYTES
            value = other + (other >= value)
        out[i] = value
        position = after
    return position, out.shape[0], FINISHED


@inlined
def _below_any(bound: int, buffer: Any, position: int) -> tuple[int, int]:  # pragma: no cover
    """One uniform integer below a bound that changes from draw to draw. -1: out of bytes."""
    bits = 1
    while (bound - 1) >> bits:
        bits += 1
    return _below_one(bound, (bits + 7) // 8, (1 << bits) - 1, buffer, position)


@jit
def max_norm(
    table: Any, dimension: int, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    """Vectors, ``dimension`` entries each: a radius by rejection, then a uniform point; see `max_norm.py`."""
    for i in range(done, out.shape[0], dimension):
        start = position
        while True:
            radius = 0
            for _ in range(dimension + 1):
                side, value, position = _geometric_one(table, _FIRST, buffer, position)
                if side < 0:
                    return start, i, _why(side)
                radius += value
            accepted = True
            for j in range(1, dimension + 1):
                ticket, position = _below_any(2 * radius + 2 * j, buffer, position)
                if ticket < 0:
                    return start, i, MORE_BYTES
                if ticket > 2 * radius:
                    accepted = False
                    break
            if accepted:
                break
        for j in range(dimension):
            value, position = _below_any(2 * radius + 1, buffer, position)
            if value < 0:
                return start, i, MORE_BYTES
            out[i + j] = value - radius
    return position, out.shape[0], FINISHED
