"""Projective-geometry response: points and numbers, the exact law, the sums over hyperplanes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
import local_laws as laws
from discreet.local.oracles import _projective_kernels as kernels
from discreet.local.oracles.projective import (
    Geometry,
    ProjectiveGeometry,
    all_hyperplanes,
    hyperplane_sums,
    is_prime,
    next_prime,
    primes_near,
)
from discreet.noise.reports.projective import projective_response
from discreet.noise.stream.thresholds import Chance

EPSILONS = [0.5, 1, 3, 5]
SETTINGS = [(2, 3), (2, 5), (3, 3), (3, 4), (5, 3), (5, 4), (7, 3)]


def points(q: int, t: int) -> Any:
    """All canonical vectors in the order of their numbers, by the formula of the spec's C.10.3."""

    def number(vector: tuple[int, ...]) -> int:
        rest = vector[vector.index(1) + 1 :]
        return (q ** len(rest) - 1) // (q - 1) + sum(x * q**i for i, x in enumerate(reversed(rest)))

    canonical = [v for v in itertools.product(range(q), repeat=t) if next((x for x in v if x), 0) == 1]
    canonical.sort(key=number)
    assert [number(v) for v in canonical] == list(range(len(canonical)))
    return np.array(canonical)


def incidence(q: int, t: int) -> Any:
    every = points(q, t)
    return every @ every.T % q == 0


def of(epsilon: float, q: int, t: int) -> ProjectiveGeometry:
    return ProjectiveGeometry(epsilon, (q**t - 1) // (q - 1), order=q)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("q", "t"), [(2, 3), (3, 3), (5, 3), (3, 4)])
def test_laws_enumerated(q: int, t: int, epsilon: float) -> None:
    m, on = of(epsilon, q, t), incidence(q, t)
    size = len(on)
    assert (m.geometry.points, m.geometry.length) == (size, t)
    laws.check_ratio(m, range(size))
    chances = np.stack([m.report_law(x)[1] for x in range(size)])
    grown = math.exp(epsilon)
    whole = grown * m.geometry.on + size - m.geometry.on
    assert np.allclose(chances, np.where(on, grown / whole, 1 / whole), rtol=1e-12)
    support = chances @ on.T
    assert np.allclose(support, np.where(np.eye(size, dtype=bool), m.law.p, m.law.q), rtol=0, atol=1e-12)
    for x, y in itertools.combinations(range(0, size, 3), 2):
        assert abs(chances[x] - chances[y]).sum() / 2 == pytest.approx(m.total_variation(), abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_report_is_unbiased_with_the_stated_variance(epsilon: float) -> None:
    laws.check_unbiased_exactly(of(epsilon, 3, 3), range(13))
    laws.check_unbiased_exactly(ProjectiveGeometry(epsilon, 9, order=2), range(9))  # six of fifteen points unused


@pytest.mark.parametrize("m", [of(1, 2, 3), of(3, 3, 3), of(0.5, 5, 3), ProjectiveGeometry(1, 20, order=3)], ids=repr)
def test_samplers_follow_the_law(m: Any) -> None:
    for value in (0, 1, m.choices.size - 1):
        laws.check_sampler(m, value, draws=60_000)


@pytest.mark.parametrize(("q", "t"), SETTINGS)
def test_messages_are_uniform_on_and_off_the_hyperplane(q: int, t: int) -> None:
    on = incidence(q, t)
    for value in (0, 1, q, len(on) - 1):
        for chance, wanted in ((Chance(a=1), on[value]), (Chance(), ~on[value])):  # type: ignore[arg-type]
            drawn = projective_response(np.full(40_000, value), order=q, length=t, chance=chance, rng=value + 1)
            seen = np.bincount(drawn, minlength=len(on))
            assert np.all(seen[~wanted] == 0)
            assert stats.chisquare(seen[wanted]).pvalue > 1e-6


@pytest.mark.parametrize(("q", "t"), [*SETTINGS, (2, 2), (5, 2), (2, 8), (11, 3)])
def test_both_sums_equal_the_definition(q: int, t: int) -> None:
    on = incidence(q, t)
    g = Geometry.fitting(q, len(on))
    assert (g.on, g.both) == (on[0].sum(), (on[0] & on[1]).sum())
    messages = np.random.default_rng(q).integers(0, 1000, len(on))
    wanted = on @ messages
    assert np.array_equal(all_hyperplanes(g, messages), wanted)
    assert np.array_equal(all_hyperplanes(g, messages * 2**40), wanted * 2**40)
    out = np.empty(len(on), np.int64)
    sums = np.concatenate([[0], np.cumsum(messages)])
    kernels.direct_support(sums, np.arange(len(on)), q, t, out)
    assert np.array_equal(out, wanted)
    assert np.array_equal(hyperplane_sums(g, messages, np.array([len(on) - 1, 0])), wanted[[-1, 0]])


def test_the_published_setting() -> None:
    m = ProjectiveGeometry(4, 22_000)
    assert (m.order, m.geometry.length, m.geometry.points, m.report_bits) == (53, 4, 151_740, 18)
    assert m.variance(1000) == pytest.approx(76.05, abs=0.005)
    other = ProjectiveGeometry(4, 22_000, order=37)
    assert other.report_bits == 16
    assert other.variance(1000) == pytest.approx(79.3, abs=0.05)
    assert ProjectiveGeometry(1, 1024).report_bits == 11
    assert ProjectiveGeometry(3, 1024).report_bits == 14


def test_many_messages_over_the_large_geometry() -> None:
    m = ProjectiveGeometry(4, 22_000)
    values = np.repeat([3, 21_999], [60_000, 40_000])
    counts = m.aggregate(m.encode(values, rng=1))
    every, few = m.estimate(counts), m.estimate(counts, [3, 21_999, 5])
    assert every.count[[3, 21_999, 5]] == pytest.approx(few.count)
    off = (every.count - np.bincount(values, minlength=22_000)) / every.std_error
    assert np.abs(off).max() < 6
    assert (off**2).mean() == pytest.approx(1, abs=0.05)
    low, high = every.interval(0.95)
    truth = np.bincount(values, minlength=22_000)
    assert 0.945 < np.mean((low <= truth) & (truth <= high)) < 0.955


@pytest.mark.slow
def test_three_million_points() -> None:
    g = Geometry.fitting(149, 3_330_300)
    assert (g.length, g.points) == (4, 3_330_300)
    messages = np.random.default_rng(1).integers(0, 9, g.points)
    every = all_hyperplanes(g, messages)
    codes = np.array([0, 1, 150, 22_351, 1_234_567, g.points - 1])
    assert np.array_equal(hyperplane_sums(g, messages, codes), every[codes])
    assert every.sum() == g.on * messages.sum()


def test_states() -> None:
    laws.check_state(ProjectiveGeometry(1, ["a", "b", "c"]), ["a", "c", "zebra", None] * 25)
    laws.check_state(ProjectiveGeometry(3, 1024), range(100))


def test_a_line_of_points_is_direct_response() -> None:
    """At large ε two coordinates do, and one message supports a value; the order is then as large as the domain."""
    m = ProjectiveGeometry(15, 50_000)
    assert (m.geometry.length, m.geometry.on) == (2, 1)
    values = np.arange(50_000)
    found = m.estimate(m.aggregate(m.encode(values, rng=1)))
    assert (found.count.round() == 1).mean() > 0.97


def test_unused_points_are_messages_and_others_are_not() -> None:
    m = ProjectiveGeometry(1, 20, order=3)  # 40 points
    counts = m.aggregate(np.array([[19], [20], [39], [40], [63], [64]], np.uint8))
    assert (counts.n, counts.rejected) == (3, 3)
    assert counts.counters["messages"].nonzero()[0].tolist() == [19, 20, 39]
    sent = m.encode([1] * 2000, rng=1).field("point")
    assert sent.max() >= 20


@pytest.mark.slow
def test_the_order_with_the_smallest_error_is_taken() -> None:
    for epsilon, d in ((0.2, 50), (0.5, 1024), (2, 300), (4, 2000), (6, 700), (30, 40)):
        best = ProjectiveGeometry(epsilon, d)
        others = [ProjectiveGeometry(epsilon, d, order=q) for q in range(2, 2 * d) if is_prime(q)]
        assert best.variance(1) == pytest.approx(min(m.variance(1) for m in others), rel=1e-12), (epsilon, d)
    assert ProjectiveGeometry(0.3, 1024).order == 2
    assert ProjectiveGeometry(200, 2**20).geometry.length == 2


def test_primes() -> None:
    assert [q for q in range(40) if is_prime(q)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    assert next_prime(24) == 29
    assert sorted(primes_near(10, 3)) == [3, 5, 7, 11, 13, 17]
    inverses = np.zeros(101, np.int64)
    kernels.write_inverses(inverses)
    assert np.array_equal(inverses[1:] * np.arange(1, 101) % 101, np.ones(100))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"domain": 1}, "domain"),
        ({"domain": 2**30}, "domain must be of at most"),
        ({"order": 4}, "order must be a prime number, got 4; try order=5"),
        ({"order": 1}, "order must be a whole number"),
        ({"order": 1_000_003, "domain": 1_000_005}, "at most 1073741824 points"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        ProjectiveGeometry(**{"epsilon": 1, "domain": 5, **arguments})
    with pytest.raises(dc.errors.InvalidArgument, match="small enough to list"):
        ProjectiveGeometry(1, 2**21).report_law(0)
