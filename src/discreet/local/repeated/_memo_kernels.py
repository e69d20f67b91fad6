"""Compiled loops over the reports of the memoised mechanisms."""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.local.wire.bits import read_bits


@jit
def count_cohorts(rows: Any, n_bits: int, cohort_bits: int, reports: Any, ones: Any) -> int:
    """Add reports of (bits, cohort) to the counters of their cohort; leave out impossible cohorts."""
    accepted = 0
    for row in range(rows.shape[0]):
        cohort = read_bits(rows, row, n_bits, cohort_bits)
        if cohort >= reports.shape[0]:
            continue
        accepted += 1
        reports[cohort] += 1
        for place in range(n_bits):
            ones[cohort, place] += (rows[row, place >> 3] >> (place & 7)) & 1
    return accepted


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
def count_pairs(rows: Any, n_taken: int, index_bits: int, asked: Any, ones: Any) -> int:
    """Add reports to the counters of the indices they speak of; leave out those whose indices do not ascend."""
    accepted, size = 0, asked.shape[0]
    found = np.arange(n_taken)
    for row in range(rows.shape[0]):
        if index_bits > 0:
            last, possible = -1, True
            for taken in range(n_taken):
                found[taken] = read_bits(rows, row, taken * index_bits, index_bits)
                possible = possible and last < found[taken] < size
                last = found[taken]
            if not possible:
                continue
        accepted += 1
        first = n_taken * index_bits
        for taken in range(n_taken):
            asked[found[taken]] += 1
            ones[found[taken]] += (rows[row, (first + taken) >> 3] >> ((first + taken) & 7)) & 1
    return accepted
