"""Intervals of values that were found because their estimates were large."""

from __future__ import annotations

import numpy as np

from discreet.local.strings.candidates import selected_interval


def test_intervals_of_selected_values_cover_and_usual_ones_do_not() -> None:
    """Counts from nothing to far above the limit, 20,000 draws each; a false alarm below 1e-6 at a true 95 %."""
    rng, n, error, limit = np.random.default_rng(1), 10**6, 100.0, 490.0
    for held in (300, 400, 490, 600, 900):
        drawn = rng.normal(held, error, 400_000)
        found = drawn[drawn > limit][:20_000]
        ones = np.ones(len(found))
        low, high = selected_interval(found, error * ones, limit * ones, n)(0.95)
        assert np.all(low <= high)
        assert np.all(low >= 0)
        assert abs(np.mean((low <= held) & (held <= high)) - 0.95) < 5 * np.sqrt(0.95 * 0.05 / len(found)) + 1e-3
        if held <= 300:
            assert np.mean(np.abs(found - held) <= 1.96 * error) < 0.6


def test_far_above_the_limit_an_interval_is_the_usual_one() -> None:
    low, high = selected_interval(np.array([5000.0]), np.array([100.0]), np.array([490.0]), 10**6)(0.95)
    assert np.allclose([low[0], high[0]], [5000 - 195.9964, 5000 + 195.9964], atol=1e-3)
    strict, wide = (
        selected_interval(np.array([500.0]), np.array([100.0]), np.array([490.0]), 10**6)(x) for x in (0.9, 0.99)
    )
    assert wide[0][0] <= strict[0][0]
    assert wide[1][0] > strict[1][0]
