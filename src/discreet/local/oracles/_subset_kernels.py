"""The compiled loops of subset selection: lay out sorted subsets, and count what subsets of reports hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.jit import jit


@jit
def write_lists(subsets: Any, bits: int, rows: Any) -> None:  # pragma: no cover
    """Write every number of a subset in ``bits`` bits, one after the other."""
    for i in range(subsets.shape[0]):
        place, held, word = 0, 0, 0
        for k in range(subsets.shape[1]):
            word |= subsets[i, k] << held
            held += bits
            while held >= 8:
                rows[i, place] = np.uint8(word & 255)
                word >>= 8
                held -= 8
                place += 1
        if held:
            rows[i, place] = np.uint8(word & 255)


@jit
def write_marks(subsets: Any, rows: Any) -> None:  # pragma: no cover
    """Set the bit of every number of a subset."""
    for i in range(subsets.shape[0]):
        for k in range(subsets.shape[1]):
            rows[i, subsets[i, k] >> 3] |= np.uint8(1 << (subsets[i, k] & 7))


@jit
def count_lists(rows: Any, bits: int, size: int, out: Any) -> int:  # pragma: no cover
    """Count the numbers that the reports hold. One whose numbers do not rise, or are out of range, is left out."""
    line, mask = np.empty(size, np.int64), (1 << bits) - 1
    accepted = 0
    for i in range(rows.shape[0]):
        last, possible = -1, True
        place, held, word = 0, 0, 0
        for k in range(size):
            while held < bits:
                word |= int(rows[i, place]) << held
                held += 8
                place += 1
            number = word & mask
            word >>= bits
            held -= bits
            possible &= number > last
            last = number
            line[k] = number
        if possible and last < len(out):
            accepted += 1
            for k in range(size):
                out[line[k]] += 1
    return accepted
