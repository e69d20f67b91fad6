"""Compiled loops of the sketches.

Numba turns a mix of signed and unsigned 64-bit integers into floats, so all numbers of a hash are unsigned here.
"""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.local.wire.bits import odd
from discreet.noise.hashing import bucket, coefficients, polynomial

_u64 = np.uint64
_EIGHT, _BYTE, _ONE = _u64(8), _u64(255), _u64(1)
#: Reports after which a counter of one byte is full.
_FULL = 255


@jit
def fill_terms(terms: Any, k0: Any, k1: Any) -> None:  # pragma: no cover
    """Derive the coefficients of every row's hash function from the key's halves, once for all reports."""
    for row in range(terms.shape[0]):
        coefficients(_u64(row), k0, k1, terms[row])


@jit
def sign_reports(
    points: Any, places: Any, flips: Any, terms: Any, width: Any, first: Any, row_bits: Any, rows: Any
) -> None:  # pragma: no cover
    """Write one-bit reports: the sign of Hadamard entry (index, bucket), flipped by its coin.

    ``places`` numbers (row, index) pairs, the index running fastest from ``first`` to ``width - 1``. Bit 0 of a report
    is 1 for the sign +1; then come the row and the index.
    """
    indices = width - first
    for i in range(rows.shape[0]):
        place = _u64(places[i])
        row = place // indices
        index = place - row * indices + first
        hashed = bucket(polynomial(terms[row], points[i]), width)
        flip = (_u64(flips[i >> 3]) >> _u64(i & 7)) & _ONE
        word = (odd(index & hashed) ^ flip ^ _ONE) | row << _ONE | index << (row_bits + _ONE)
        for j in range(rows.shape[1]):
            rows[i, j] = np.uint8(word & _BYTE)
            word >>= _EIGHT


@jit
def add_signs(rows: Any, row_bits: Any, sums: Any, reports: Any) -> None:  # pragma: no cover
    """Add every report's sign to its cell."""
    row_mask = (_ONE << row_bits) - _ONE
    for i in range(rows.shape[0]):
        word = _u64(0)
        for j in range(rows.shape[1]):
            word |= _u64(rows[i, j]) << _u64(8 * j)
        row = (word >> _ONE) & row_mask
        sums[row, word >> (row_bits + _ONE)] += 2 * np.int64(word & _ONE) - 1
        reports[row] += 1


@jit
def hash_rows(points: Any, rows: Any, terms: Any, width: Any, out: Any) -> None:  # pragma: no cover
    """Hash point i under the function of row i."""
    for i in range(len(out)):
        out[i] = bucket(polynomial(terms[rows[i]], points[i]), width)


@jit
def vector_reports(
    flips: Any, buckets: Any, drawn: Any, width: int, last_byte: int, rows: Any
) -> None:  # pragma: no cover
    """Write reports: the flips with the bit of the bucket turned, nothing of them after the end, then the row."""
    size = flips.shape[1]
    for i in range(rows.shape[0]):
        report, vector = rows[i], flips[i]
        for j in range(size):
            report[j] = vector[j]
        for j in range(size, rows.shape[1]):
            report[j] = 0
        report[size - 1] &= last_byte
        report[buckets[i] >> 3] ^= np.uint8(1 << (buckets[i] & 7))
        place, number = width >> 3, drawn[i] << (width & 7)
        while number:
            report[place] |= np.uint8(number & 255)
            place, number = place + 1, number >> 8


@jit
def add_vectors(
    reports: Any, drawn: Any, last_byte: int, spread: Any, ones: Any, row_reports: Any
) -> None:  # pragma: no cover
    """Add every report's vector to the counters of its row.

    Eight counters of one byte are kept in a word, so a byte of a report is one addition; a row's words are emptied into
    ``ones`` before a byte can overflow. ``spread[b]`` has bit i of b in its byte i.
    """
    n_rows, width = ones.shape
    n_words = (width + 7) >> 3
    words = np.zeros((n_rows, n_words), np.uint64)
    held = np.zeros(n_rows, np.int64)
    for i in range(reports.shape[0]):
        row = drawn[i]
        line = words[row]
        for j in range(n_words - 1):
            line[j] += spread[reports[i, j]]
        line[n_words - 1] += spread[reports[i, n_words - 1] & last_byte]
        held[row] += 1
        row_reports[row] += 1
        if held[row] == _FULL:
            held[row] = 0
            _empty(line, ones[row])
    for row in range(n_rows):
        if held[row]:
            _empty(words[row], ones[row])


@jit
def _empty(words: Any, counts: Any) -> None:  # pragma: no cover
    """Add the bytes of the words to the counts and clear them."""
    for j in range(len(words)):
        word = words[j]
        words[j] = 0
        for i in range(8 * j, min(8 * j + 8, len(counts))):
            counts[i] += np.int64(word & _BYTE)
            word >>= _EIGHT
