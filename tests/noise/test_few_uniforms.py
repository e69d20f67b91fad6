"""Few uniform integers are drawn without compiled code: from the same bytes, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.noise.stream import draw, kernels


@pytest.mark.parametrize("bound", [1, 2, 3, 129, 256, 257, 2**31 + 1, 2**61 + 3, 2**62])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 64, 1000])
def test_few_draws_are_those_of_the_kernel(bound: int, length: int) -> None:
    buffer = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8)
    width, mask = draw.byte_width(bound)
    for start in (0, min(5, length)):
        for size, done in ((0, 0), (1, 0), (40, 3), (2000, 0)):
            few, many = np.full(size, -7), np.full(size, -7)
            told = draw._few_below(bound, width, mask, buffer, start, few, done)
            assert told == kernels.below(bound, width, mask, buffer, start, many, done)
            assert np.array_equal(few, many)
