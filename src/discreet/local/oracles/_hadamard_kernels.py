"""The compiled loops of the Hadamard response: parities on the client, products of signs at the collector."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.jit import inlined, jit
from discreet.local.wire.bits import read_bits
from discreet.noise.reports.bases import reduce_vector


@inlined
def _odd(word: int) -> int:  # pragma: no cover
    """Return 1 if an odd number of bits is set (of 32), else 0."""
    word ^= word >> 16
    word ^= word >> 8
    word ^= word >> 4
    word ^= word >> 2
    word ^= word >> 1
    return word & 1


@jit
def parities(codes: Any, vectors: Any, out: Any) -> None:  # pragma: no cover
    """Write bit i of ``out`` as the parity of (vector i AND code), for every report."""
    for row in range(len(codes)):
        word = 0
        for i in range(vectors.shape[1]):
            word |= _odd(vectors[row, i] & codes[row]) << i
        out[row] = word


@jit
def add_products(rows: Any, bits: int, count: int, spectrum: Any) -> int:  # pragma: no cover
    """Add, for every subset of a report's vectors, the product of their signs to the entry of their sum.

    Subsets come in the order of a Gray code: each differs from the one before in one vector. A report whose vectors are
    dependent is left out.
    """
    vectors, reduced = np.empty(count, np.int64), np.empty(count, np.int64)
    accepted = 0
    for row in range(rows.shape[0]):
        possible = True
        for i in range(count):
            vectors[i] = read_bits(rows, row, i * bits, bits)
            reduced[i] = reduce_vector(vectors[i], reduced, i)
            possible &= reduced[i] != 0
        if not possible:
            continue
        accepted += 1
        signs = read_bits(rows, row, count * bits, count)
        place, odd = 0, 0
        spectrum[0] += 1
        for step in range(1, 1 << count):
            turned = 0
            while not (step >> turned) & 1:
                turned += 1
            place ^= vectors[turned]
            odd ^= (signs >> turned) & 1
            spectrum[place] += 1 - 2 * odd
    return accepted
