"""The jitted loops under the reports of a number. They compare bytes and add integers; see `kernels.py`."""

from typing import Any

from discreet.core import inlined, jit
from discreet.noise.stream.kernels import FINISHED, _below_one, _toss, _why

#: A place on the public grid is a whole number from 0 to 2 HALF; it stands for t = place/HALF - 1.
HALF_BITS = 30
HALF = 1 << HALF_BITS

#: What a report of a number is: a sign, a point, or either.
SIGNS, POINTS, EITHER = 0, 1, 2

_HEADS, _OUT_OF_BYTES = 1, -1


@inlined
def _window_one(
    table: Any, row: int, start: int, width: int, others: int, sizes: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """One point of a window of ``width`` points from ``start`` on heads, else one of the ``others`` round it."""
    side, position = _toss(table, row, buffer, position)
    if side < 0:
        return side, 0, position
    if side == _HEADS:
        point, position = _below_one(width, sizes[0], sizes[1], buffer, position)
        found = start + point
    else:
        point, position = _below_one(others, sizes[2], sizes[3], buffer, position)
        found = point + width * (point >= start)
    if point < 0:
        return _OUT_OF_BYTES, 0, position
    return _HEADS, found, position


@inlined
def _sign_one(table: Any, row: int, place: int, buffer: Any, position: int) -> tuple[int, int, int]:  # pragma: no cover
    """One sign: on heads 1 with chance place/(2 HALF), else a fair coin."""
    side, position = _toss(table, row, buffer, position)
    if side < 0:
        return side, 0, position
    ticket, position = _below_one(2 * HALF, 4, 2 * HALF - 1, buffer, position)
    if ticket < 0:
        return _OUT_OF_BYTES, 0, position
    return _HEADS, int(ticket < (place if side == _HEADS else HALF)), position


@inlined
def _point_one(
    table: Any, row: int, place: int, reach: int, width: int, others: int, sizes: Any, buffer: Any, position: int
) -> tuple[int, int, int]:  # pragma: no cover
    """One point of the integer piecewise law: the window's start is rounded up or down at random, exact in the mean."""
    # The centre (M - w) t and the start, M - w above it, scaled by HALF: (M - w)(place - HALF) + (M - w) HALF.
    scaled = reach * place
    ticket, position = _below_one(HALF, 4, HALF - 1, buffer, position)
    if ticket < 0:
        return _OUT_OF_BYTES, 0, position
    start = (scaled >> HALF_BITS) + int(ticket < (scaled & (HALF - 1)))
    return _window_one(table, row, start, width, others, sizes, buffer, position)


@jit
def windows(
    table: Any, starts: Any, width: int, others: int, sizes: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    for i in range(done, out.shape[0]):
        side, found, after = _window_one(table, 0, starts[i], width, others, sizes, buffer, position)
        if side < 0:
            return position, i, _why(side)
        out[i] = found
        position = after
    return position, out.shape[0], FINISHED


@jit
def numbers(
    kind: int, table: Any, places: Any, reach: int, width: int, others: int, sizes: Any, buffer: Any, position: int,
    out: Any, done: int,
) -> tuple[int, int, int]:  # fmt: skip  # pragma: no cover
    """Signs, points, or either by a first coin: a point on heads, else a sign, which is numbered after all points."""
    for i in range(done, out.shape[0]):
        pointed, row, before, after = kind == POINTS, 0, 0, position
        if kind == EITHER:
            side, after = _toss(table, 0, buffer, position)
            if side < 0:
                return position, i, _why(side)
            pointed, row, before = side == _HEADS, 1 if side == _HEADS else 2, width + others
        if pointed:
            side, found, after = _point_one(table, row, places[i], reach, width, others, sizes, buffer, after)
        else:
            side, found, after = _sign_one(table, row, places[i], buffer, after)
            found += before
        if side < 0:
            return position, i, _why(side)
        out[i] = found
        position = after
    return position, out.shape[0], FINISHED
