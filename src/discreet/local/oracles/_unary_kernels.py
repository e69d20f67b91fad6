"""The compiled loops of unary encoding: count the ones of every place of packed bit vectors."""

from typing import Any

import numpy as np

from discreet.core import jit

#: Reports after which a counter of one byte is full.
_FULL = 255


@jit
def count_ones(rows: Any, out: Any) -> None:  # pragma: no cover
    """Add to ``out[i]`` how many rows have bit ``i mod 8`` of byte ``i div 8`` set.

    Counters of one byte, a line of them per bit of a byte, make the inner loop vector code; they are emptied before one
    can overflow.
    """
    n_bytes = rows.shape[1]
    small = np.zeros((8, n_bytes), np.uint8)
    for start in range(0, rows.shape[0], _FULL):
        stop = min(start + _FULL, rows.shape[0])
        for i in range(start, stop):
            row = rows[i]
            for bit in range(8):
                line, mask = small[bit], np.uint8(1 << bit)
                for j in range(n_bytes):
                    line[j] += np.uint8((row[j] & mask) != 0)
        for place in range(len(out)):
            out[place] += small[place & 7, place >> 3]
        small[:] = 0


@jit
def write_own(rows: Any, codes: Any, kept: Any) -> None:  # pragma: no cover
    """Write the bit of the held value over the noise."""
    for i in range(rows.shape[0]):
        place, mask = codes[i] >> 3, np.uint8(1 << (codes[i] & 7))
        if kept[i]:
            rows[i, place] |= mask
        else:
            rows[i, place] &= ~mask
