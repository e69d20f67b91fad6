"""private bounds follow from noisy counts alone, with noise of the price that was paid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.noise.stream import watch


def test_every_bin_gets_noise_of_its_own_and_the_bounds_follow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Fraction, int]] = []

    def scripted(scale: Any, size: Any, rng: object = None) -> Any:
        watch.drew("laplace", Fraction(scale), size[0], rng)
        asked.append((Fraction(scale), size[0]))
        z = np.full(size, -(10**6))
        z[-1] = 10**6  # the rows say otherwise than the noise
        return z

    monkeypatch.setattr(noise, "discrete_laplace", scripted)
    low, high = dc.private_bounds(np.full(1000, 1.5), epsilon=0.5, exponents=(-2, 2), rng=1)
    assert asked == [(Fraction(2), 8)]
    assert (low, high) == (2.0, 4.0)
