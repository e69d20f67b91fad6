"""Draws from a table of laws: one law per input over the same outcomes, as whole numbers that add up to 2^62.

The chances *are* these whole numbers over 2^62: a uniform word of 62 bits is compared with their running sums, without
rounding. So a claim about the table can be checked on the numbers that are drawn from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, jit
from discreet.noise.stream.generator import generator

#: The sum of the chances of every input.
WHOLE = 1 << 62
#: The least chance in units of 1/WHOLE: rounding to a whole number then changes none by more than one part in 2^18.
LEAST = 1 << 17


class ChanceTable:
    """Exact laws over common outcomes, made from chances of shape (inputs, outcomes), none below `LEAST` / `WHOLE`.

    For each input, ``rest`` is the outcome that gets what rounding leaves over: a likely one, whose chance hardly
    changes.

    Privacy
    -------
    None by itself: ratios of chances between inputs are those of the table, which `counts` gives exactly. Each is that
    of ``chances`` up to a factor e^(±2^-17): rounding changes a number of at least 2^17 by ½ at most.
    """

    def __init__(self, chances: FloatArray, rest: IntArray) -> None:
        rows = np.arange(len(chances))
        ends = np.rint(np.multiply(chances, float(WHOLE))).astype(np.int64)
        ends[rows, rest] = 0
        ends[rows, rest] = WHOLE - ends.sum(axis=1)
        if (ends < LEAST).any():
            raise ValueError(f"chances must be at least {LEAST / WHOLE:.3g}")  # a fault of the caller, not of a user
        np.cumsum(ends, axis=1, out=ends)
        self._ends = ends

    def counts(self, row: int) -> IntArray:
        """Return the exact chances of an input, in units of 1/`WHOLE`."""
        return np.asarray(np.diff(self._ends[row], prepend=0), np.int64)

    def chances(self, rows: Any = slice(None)) -> FloatArray:
        """Return the chances of some inputs as doubles."""
        return np.asarray(np.diff(self._ends[rows], axis=1, prepend=0) / float(WHOLE))

    def draw(self, inputs: IntArray, rng: object = None) -> IntArray:
        """Draw one outcome for each input. ``rng``: see `discreet.noise.generator`."""
        words = generator(rng).bytes(8 * len(inputs)).view("<u8")
        found = np.empty(len(inputs), np.int64)
        _find((words >> np.uint64(2)).astype(np.int64), inputs, self._ends, found)
        return found


@jit
def _find(words: Any, inputs: Any, ends: Any, found: Any) -> None:  # pragma: no cover
    for i in range(len(words)):
        row = ends[inputs[i]]
        low, high = 0, len(row) - 1
        while low < high:
            middle = (low + high) // 2
            if row[middle] > words[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = low
