"""Compiled loops of stored randomness: coins and uniform numbers that a key decides, the same ones every time.

A row's key is 16 bytes that only its owner knows. Word c of the row is SipHash-2-4 of (c as 8 bytes, the byte 4)
under that key: 64 bits that look random without the key.
"""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.noise.hashing.hash_kernels import _siphash_word
from discreet.noise.reports.subsets import _insert

_u64 = np.uint64
_ZERO, _ONE = _u64(0), _u64(1)
#: The last block of a message of 9 bytes: its length on top, the tag of stored randomness below.
_TAIL = (_u64(9) << _u64(56)) | _u64(4)


@jit
def stored_coins(keys: Any, threshold: Any, n_bits: int, rows: Any) -> None:
    """Flip bit c of a row, in place, where its word c is below the threshold: a chance of threshold/2^64 each."""
    for row in range(len(keys)):
        k0, k1 = keys[row, 0], keys[row, 1]
        for place in range(n_bits):
            if _siphash_word(k0, k1, _u64(place), _TAIL) < threshold:
                rows[row, place >> 3] ^= np.uint8(1 << (place & 7))


@jit
def stored_below(keys: Any, bounds: Any, out: Any) -> None:
    """Fill column c of ``out`` with uniform numbers below ``bounds[c]``: words that would favour some are skipped.

    Of the 2^64 words the first (2^64 mod bound) are skipped; the others hold every remainder equally often.
    """
    for row in range(len(keys)):
        k0, k1, counter = keys[row, 0], keys[row, 1], _ZERO
        for column in range(len(bounds)):
            bound = bounds[column]
            skipped = (_ZERO - bound) % bound
            word = _siphash_word(k0, k1, counter, _TAIL)
            counter += _ONE
            while word < skipped:
                word = _siphash_word(k0, k1, counter, _TAIL)
                counter += _ONE
            out[row, column] = np.int64(word % bound)


@jit
def subsets(draws: Any, size: int, out: Any) -> None:
    """Turn draws into uniform subsets of 0..size-1, ascending (Floyd's algorithm).

    Draw c of a row is uniform below size - d + c + 1, d the number of draws. It joins the set, or, if it is a member
    already, the largest number it could have been does: that one is new, as no earlier draw could reach it.
    """
    n_taken = draws.shape[1]
    for row in range(len(draws)):
        for taken in range(n_taken):
            _insert(out[row], taken, draws[row, taken], size - n_taken + taken)
