"""Compiled loops over the reports of the memoised mechanisms."""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.local.wire.bits import read_bits


@jit
def count_cohorts(rows: Any, cohorts: Any, reports: Any, ones: Any) -> None:
    """Add reports of (bits, cohort) to the counters of their cohort."""
    for row in range(rows.shape[0]):
        cohort = cohorts[row]
        reports[cohort] += 1
        for place in range(ones.shape[1]):
            ones[cohort, place] += (rows[row, place >> 3] >> (place & 7)) & 1


@jit
def write_pairs(indices: Any, index_bits: int, answers: Any, rows: Any) -> None:
    """Lay out reports: the indices, ``index_bits`` each, then one bit each. Without index bits, the bits alone."""
    n_taken = indices.shape[1]
    for row in range(rows.shape[0]):
        place = 0
        if index_bits > 0:
            for taken in range(n_taken):
                for bit in range(index_bits):
                    if (indices[row, taken] >> bit) & 1:
                        rows[row, place >> 3] |= np.uint8(1 << (place & 7))
                    place += 1
        for taken in range(n_taken):
            if (answers[row, taken >> 3] >> (taken & 7)) & 1:
                rows[row, place >> 3] |= np.uint8(1 << (place & 7))
            place += 1


@jit
def count_pairs(rows: Any, n_taken: int, index_bits: int, asked: Any, ones: Any) -> None:
    """Add reports to the counters of the indices they speak of."""
    first = n_taken * index_bits
    for row in range(rows.shape[0]):
        for taken in range(n_taken):
            index = read_bits(rows, row, taken * index_bits, index_bits) if index_bits > 0 else taken
            asked[index] += 1
            ones[index] += (rows[row, (first + taken) >> 3] >> ((first + taken) & 7)) & 1
