"""Bought bounds follow from noisy counts alone, with noise of the price that was paid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms import bounds


def test_every_bin_gets_noise_of_its_own_and_the_bounds_follow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Fraction, int]] = []

    def scripted(scale: Any, size: int, rng: object = None) -> Any:
        asked.append((Fraction(scale), size))
        z = np.full(size, -(10**6))
        z[-1] = 10**6  # the rows say otherwise than the noise
        return z

    monkeypatch.setattr(bounds, "discrete_laplace", scripted)
    low, high = dc.private_bounds(np.full(1000, 1.5), epsilon=0.5, exponents=(-2, 2), rng=1)
    assert asked == [(Fraction(2), 8)]
    assert (low, high) == (2.0, 4.0)
