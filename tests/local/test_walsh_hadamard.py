"""The fast Walsh-Hadamard transform against the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard

from discreet.local.walsh_hadamard import walsh_hadamard


def test_the_transform_is_the_matrix() -> None:
    rng = np.random.default_rng(1)
    for bits in range(12):
        table = rng.integers(-1000, 1000, (3, 2**bits))
        assert np.array_equal(walsh_hadamard(table.copy()), table @ hadamard(2**bits))


@pytest.mark.parametrize("bits", [12, 13, 14, 15, 20])
def test_twice_the_transform_is_the_length(bits: int) -> None:
    table = np.random.default_rng(1).integers(-1000, 1000, (2, 2**bits))
    once = walsh_hadamard(table.copy())
    for a in (0, 1, 4095 % 2**bits, 2**bits - 1, 2 ** (bits - 1) + 5):
        signs = 1 - 2 * (np.bitwise_count(np.arange(2**bits) & a).astype(np.int64) & 1)
        assert np.array_equal(once[:, a], table @ signs)
    assert np.array_equal(walsh_hadamard(once), table << bits)
