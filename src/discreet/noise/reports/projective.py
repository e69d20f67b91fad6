"""Random points of a projective geometry: on the hyperplane of a value with an exact probability, else off it.

Points are the *canonical* vectors of F_q^t, q prime: those whose first non-zero coordinate is 1. They are numbered as a
tree: (0, ..., 0, 1) is 0, and appending the digit δ to the vector number a gives number q·a + 1 + δ. (With L digits
after the leading 1 that is (q^L - 1)/(q - 1) plus the number that the digits spell in base q.)

A point u is on the hyperplane of x if <u, x> = 0. To draw one, take all coordinates uniform but one where x is 1, and
solve for that one; the zero vector is drawn again. Every point has q - 1 multiples, all equally likely, so dividing by
the leading coordinate leaves it uniform. To draw one off the hyperplane, solve for <u, x> = 1: exactly one multiple of
each satisfies it.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, inlined, jit
from discreet.noise.stream.draw import byte_width, draw
from discreet.noise.stream.kernels import FINISHED, MORE_BYTES, _below_one, _toss, _why
from discreet.noise.stream.thresholds import Chance, digit_table


def projective_response(values: IntArray, *, order: int, length: int, chance: Chance, rng: object = None) -> IntArray:
    """Draw a point for every value: on its hyperplane with the given probability, else off it, uniform in both cases.

    ``values`` are numbers of points, ``0 .. (q^t - 1)/(q - 1) - 1``; ``order`` is the prime q, below 2^31; ``length``
    is the number of coordinates t, at least 2.
    """
    width, mask = byte_width(order)
    room = np.empty((2, length), np.int64)

    def kernel(precision: int, *state: Any) -> tuple[int, int, int]:
        return _respond(digit_table((chance,), precision), values, order, width, mask, room, *state)

    each = 1.01 + length * width * (mask + 1) / order
    out: IntArray = draw(kernel, (len(values),), rng, bytes_each=each)
    return out


@jit
def _respond(
    table: Any,
    values: Any,
    order: int,
    width: int,
    mask: int,
    room: Any,
    buffer: Any,
    position: int,
    out: Any,
    done: int,
) -> tuple[int, int, int]:  # pragma: no cover
    value, point = room[0], room[1]
    length = len(point)
    for i in range(done, out.shape[0]):
        start = position
        side, position = _toss(table, 0, buffer, position)
        if side < 0:
            return start, i, _why(side)
        lead = write_digits(values[i], order, value)
        first = length
        while first == length:
            rest = 1 - side  # the inner product: 0 on the hyperplane, 1 off it
            for k in range(length):
                if k == lead:
                    continue
                digit, position = _below_one(order, width, mask, buffer, position)
                if digit < 0:
                    return start, i, MORE_BYTES
                point[k] = digit
                rest -= digit * value[k] % order
            point[lead] = rest % order  # the value has a 1 there
            first = 0
            while first < length and point[first] == 0:
                first += 1
        factor = inverse(point[first], order)
        number = 0
        for k in range(first + 1, length):
            number = number * order + 1 + point[k] * factor % order
        out[i] = number
    return position, out.shape[0], FINISHED


@inlined
def write_digits(number: int, order: int, out: Any) -> int:  # pragma: no cover
    """Write the coordinates of a numbered point and return the place of its leading 1."""
    place = len(out) - 1
    while number > 0:
        number -= 1
        out[place] = number % order
        number //= order
        place -= 1
    out[place] = 1
    for k in range(place):
        out[k] = 0
    return place


@inlined
def inverse(a: int, order: int) -> int:  # pragma: no cover
    """Return 1/a modulo a prime: extended Euclid."""
    old, new, x, y = a, order, 1, 0
    while new:
        quotient = old // new
        old, new = new, old - quotient * new
        x, y = y, x - quotient * y
    return x % order
