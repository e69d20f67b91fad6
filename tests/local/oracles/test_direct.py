"""Direct response, and through it the parts that all local mechanisms share."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from discreet.errors import InvalidArgument
from discreet.local import Counts, DirectResponse, HadamardSketch, Reports

EPSILONS = [0.5, 1, 3, 5]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_law(epsilon: float) -> None:
    m = DirectResponse(epsilon, 5)
    laws.check_ratio(m, range(5))
    laws.check_unbiased_exactly(m, range(5))
    laws.check_sampler(m, 3)
    assert m.total_variation() == pytest.approx((math.exp(epsilon) - 1) / (math.exp(epsilon) + 4), rel=1e-12)


def test_state() -> None:
    laws.check_state(DirectResponse(1, ["a", "b", "c"]), ["a", "c", "zebra", None] * 25)


def test_published_variance() -> None:
    wanted = {0.5: 2432.4, 1: 347.07, 3: 2.8608, 5: 0.05386}
    for epsilon, constant in wanted.items():
        assert DirectResponse(epsilon, 1024).variance(1, 0) == pytest.approx(constant, rel=5e-4)


def test_unknown_values_are_spread_evenly() -> None:
    m = DirectResponse(20, 4)
    seen = m.aggregate(m.encode([9] * 40_000, rng=5)).counters["reports"]
    assert np.all(np.abs(seen - 10_000) < 500)


def test_impossible_reports_are_counted_and_left_out() -> None:
    m = DirectResponse(1, 5)
    counts = m.aggregate(np.array([[0], [4], [5], [7], [8], [255]], np.uint8))
    assert (counts.n, counts.rejected) == (2, 4)
    assert counts.counters["reports"].tolist() == [1, 0, 0, 0, 1]


def test_a_foreign_message_leaves_the_state_as_it_was() -> None:
    m, other = DirectResponse(1, 5), DirectResponse(1, 6)
    counts = m.aggregate(m.encode([1, 2], rng=1))
    before = counts.to_bytes()
    for wrong in (other.encode([1], rng=1), other.encode([1], rng=1).to_bytes(), b"", "text", None):
        with pytest.raises(dc.errors.DiscreetError):
            counts.add(wrong)
    with pytest.raises(dc.errors.InvalidArgument, match="domain"):
        counts + other.empty()
    assert counts.to_bytes() == before


def test_fuzzed_messages_are_refused_and_change_nothing() -> None:
    m = DirectResponse(1, 5)
    counts = m.aggregate(m.encode([1, 2, 3], rng=1))
    before = counts.to_bytes()
    rng = np.random.default_rng(0)
    for message, read in ((m.encode(range(5), rng=2).to_bytes(), counts.add), (before, Counts.from_bytes)):
        for _ in range(5000):
            bad = bytearray(message)
            for _ in range(rng.integers(1, 4)):
                bad[rng.integers(len(bad))] ^= rng.integers(1, 256)
            bad = bad[: rng.integers(len(bad))] if rng.random() < 0.3 else bad
            if bytes(bad) == message:
                continue
            with pytest.raises(dc.errors.FormatError):
                read(bytes(bad))
    assert counts.to_bytes() == before


def test_intervals_cover() -> None:
    m = DirectResponse(1, 8)
    values = [0] * 500 + [1] * 300 + [2] * 200
    hits = total = 0
    for seed in range(400):
        found = m.estimate(m.aggregate(m.encode(values, rng=seed)))
        low, high = found.interval(0.95)
        truth = np.array([500, 300, 200, 0, 0, 0, 0, 0])
        hits += int(((low <= truth) & (truth <= high)).sum())
        total += len(truth)
    assert 0.93 < hits / total < 0.97


def test_consistent_estimates() -> None:
    m = DirectResponse(0.5, 20)
    raw = m.estimate(m.aggregate(m.encode([0] * 500 + [1] * 500, rng=1)))
    for how in ("simplex", "norm-cut"):
        tidy = m.estimate(m.aggregate(m.encode([0] * 500 + [1] * 500, rng=1)), consistency=how)
        assert tidy.count.min() >= 0
        assert tidy.count.sum() == pytest.approx(1000)
        assert tidy.consistency == how
    assert raw.consistent("base-cut").count.min() >= 0
    with pytest.raises(dc.errors.InvalidArgument, match="raw"):
        raw.consistent("simplex").consistent("simplex")


def test_the_projection_is_the_nearest_point() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        raw = rng.normal(0, 50, 6)
        near = dc.local.consistent(raw, 40)
        assert near.min() >= 0
        assert near.sum() == pytest.approx(40)
        for _ in range(50):
            point = rng.dirichlet(np.full(6, 0.5)) * 40
            assert ((raw - near) ** 2).sum() <= ((raw - point) ** 2).sum() + 1e-9


def test_reports_add_and_slice() -> None:
    m = DirectResponse(1, 300)
    reports = m.encode(range(300), rng=1)
    assert reports[:100] + reports[100:] == reports
    assert isinstance(reports[3], Reports)
    assert len(reports[3]) == 1
    with pytest.raises(dc.errors.InvalidArgument, match="name must be one of value"):
        reports.field("row")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": -1}, "epsilon must be a positive number"),
        ({"epsilon": 201}, "at most 200"),
        ({"epsilon": "1"}, "epsilon"),
        ({"domain": 1}, "domain"),
        ({"domain": ["a"]}, "two values"),
        ({"domain": "ab"}, "domain"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        DirectResponse(**{"epsilon": 1, "domain": 5, **arguments})


def test_unknown_candidates_are_named() -> None:
    m = DirectResponse(1, ["cat", "dog"])
    with pytest.raises(dc.errors.InvalidArgument, match="emu"):
        m.estimate(m.empty(), ["cat", "emu"])
    assert m.estimate(m.empty(), []).count.shape == (0,)


def test_the_plot_shows_the_promise() -> None:
    m = DirectResponse(1, ["cat", "dog"])
    figure = m.estimate(m.aggregate(m.encode(["cat"] * 50, rng=1))).plot()
    assert "ε = 1" in figure.layout.title.text
    assert "seeded" in figure.layout.title.text


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 9e-7, 0, -1, 201, float("inf")])
def test_budgets_too_small_to_estimate_with(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be a positive number, at least 1e-06 and at most 200"):
        DirectResponse(epsilon, 3)


def test_a_mismatch_names_the_mechanism_first() -> None:
    with pytest.raises(InvalidArgument, match="mechanism=direct-response"):
        HadamardSketch(1, 4, 16, key=1).aggregate(DirectResponse(1, 3).encode([1]))
