"""Intervals of the quantiles of a square wave: in order, absent where noise hides the tail, and covering elsewhere."""

import numpy as np
import pytest

import discreet as dc
from discreet.jobs.work import estimate_figures

WAVE = dc.local.SquareWave(epsilon=2, low=1, high=60_000, scale="log")
LEVELS = [0.05, 0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999]


def latencies(seed: int, n: int = 10_000) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(np.log(120), 0.9, size=n))


def test_intervals_cover_and_are_ordered_where_they_are_given() -> None:
    """20 runs: at 95 %, five misses of one level have probability 0.0026 (0.016 for the six levels)."""
    hits = np.zeros(len(LEVELS))
    for seed in range(20):
        values = latencies(seed)
        found = WAVE.estimate(WAVE.aggregate(WAVE.encode(values, rng=seed)))
        low, high = found.interval(0.95, of="quantile", q=LEVELS, replicates=50, rng=seed)
        assert found.seen(LEVELS).tolist() == [True] * 6 + [False] * 2
        assert np.isnan([low[6:], high[6:]]).all()
        for ends in (low[:6], high[:6]):
            assert (np.diff(ends) >= 0).all()
        truth = np.quantile(values, LEVELS)
        hits += (low <= truth) & (truth <= high)
    assert hits[:6].min() >= 16


def test_whether_a_quantile_has_an_interval_depends_on_public_numbers_alone() -> None:
    """The error of a share is that of simulated reports of one value far from the tail, within a quarter."""
    one, other = (WAVE.estimate(WAVE.aggregate(WAVE.encode(x, rng=1))) for x in (latencies(1), np.full(10_000, 2.0)))
    assert one.share_error == other.share_error
    law, far = WAVE.law, np.full(10_000, 2.0)
    counted = [WAVE.aggregate(WAVE.encode(far, rng=seed)).counters["reports"] for seed in range(200)]
    top = np.array([reports[law.size - law.width :].sum() for reports in counted]) / 10_000
    spread = top.std() / ((law.near - law.far) * law.width)
    assert spread == pytest.approx(one.share_error, rel=0.25)
    more = WAVE.estimate(WAVE.aggregate(WAVE.encode(latencies(3, 40_000), rng=3)))
    assert more.share_error == pytest.approx(one.share_error / 2)


def test_a_missing_interval_is_explained() -> None:
    found = WAVE.estimate(WAVE.aggregate(WAVE.encode(latencies(4), rng=4)))
    figures = estimate_figures(found, None, quantiles=[0.5, 0.999], replicates=20)
    assert [one["lower"] is None for one in figures["quantiles"]] == [False, True]
    assert "No interval for 99.9 %" in figures["caveats"][-1]
    assert "0.52 %" in figures["caveats"][-1]
