"""Random linearly independent vectors over the field of two elements: the public part of a Hadamard report."""

from typing import Any

import numpy as np

from discreet.core import IntArray, checks, inlined, jit
from discreet.noise.stream.draw import draw
from discreet.noise.stream.kernels import FINISHED, MORE_BYTES


def independent_vectors(n: int, *, bits: int, count: int, rng: object = None) -> IntArray:
    """Draw ``n`` lists of ``count`` linearly independent vectors of ``bits`` bits (up to 62), each list equally likely.

    A vector that depends on the earlier ones is drawn again: it is then uniform outside their span.
    """
    bits = checks.whole("bits", bits, low=1, high=62)
    count = checks.whole("count", count, low=1, high=bits)

    def kernel(_: int, *state: Any) -> tuple[int, int, int]:
        return _vectors(bits, count, np.empty(count, np.int64), *state)

    out: IntArray = draw(kernel, (n, count), rng, bytes_each=(bits + 7) // 8 * 1.3)
    return out


@jit
def _vectors(
    bits: int, count: int, reduced: Any, buffer: Any, position: int, out: Any, done: int
) -> tuple[int, int, int]:  # pragma: no cover
    width, mask = (bits + 7) >> 3, (1 << bits) - 1
    for i in range(done, out.shape[0], count):
        start, found = position, 0
        while found < count:
            if position + width > buffer.shape[0]:
                return start, i, MORE_BYTES
            vector = 0
            for _ in range(width):
                vector = (vector << 8) | buffer[position]
                position += 1
            vector &= mask
            rest = reduce_vector(vector, reduced, found)
            if rest:
                out[i + found], reduced[found] = vector, rest
                found += 1
    return position, out.shape[0], FINISHED


@inlined
def reduce_vector(vector: int, reduced: Any, found: int) -> int:  # pragma: no cover
    """Clear in a vector the leading bits of the earlier ones; 0 if it depends on them.

    Each was reduced by the ones before it, so it does not set their leading bits again.
    """
    for k in range(found):
        vector = min(vector, vector ^ reduced[k])
    return vector
