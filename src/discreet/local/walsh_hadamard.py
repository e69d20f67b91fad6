"""The fast Walsh-Hadamard transform: in place, on integers, m log m additions.

Entry (a, b) of the Hadamard matrix is (-1)^popcount(a AND b); the matrix is symmetric and its square is m times the
identity.
"""

from typing import Any

import numpy as np

from discreet.core import IntArray, jit

#: Entries that are worked on together: 32 KiB, so that the first rounds stay in the nearest cache.
_BLOCK = 4096


def walsh_hadamard(table: IntArray) -> IntArray:
    """Transform every row in place and return the table. The length of a row must be a power of two."""
    _transform_rows(table, min(_BLOCK, table.shape[1]))
    return table


@jit
def _transform_rows(table: Any, block: int) -> None:  # pragma: no cover
    for row in range(table.shape[0]):
        line = table[row]
        for start in range(0, line.shape[0], block):
            _rounds(line[start : start + block], np.int64(1))  # a literal would be compiled for itself
        _rounds(line, block)


@jit
def _rounds(line: Any, reach: Any) -> None:  # pragma: no cover
    """Add and subtract entries ``reach`` apart, then twice as far, up to the end: two rounds per pass over memory."""
    size = line.shape[0]
    while reach * 4 <= size:
        for start in range(0, size, 4 * reach):
            one, two = line[start : start + reach], line[start + reach : start + 2 * reach]
            three = line[start + 2 * reach : start + 3 * reach]
            four = line[start + 3 * reach : start + 4 * reach]
            for i in range(reach):
                a, b, c, d = one[i] + two[i], one[i] - two[i], three[i] + four[i], three[i] - four[i]
                one[i], two[i], three[i], four[i] = a + c, b + d, a - c, b - d
        reach *= 4
    if reach * 2 <= size:
        one, two = line[:reach], line[reach : 2 * reach]
        for i in range(reach):
            a, b = one[i], two[i]
            one[i], two[i] = a + b, a - b
