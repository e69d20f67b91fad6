"""The exponential mechanism: its law, its precision for outcomes that hardly ever happen, its loss."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from choice_law import chance_of, law
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.choice import _scaled_kernels as _scaled
from discreet.noise.choice.exponential import ETA, exponential, pick, rate, uniforms, weigh
from discreet.noise.stream.generator import Generator, generator


def scaled(value: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """A number of (0, 1) as a uniform number for one level of the tree."""
    power = 0
    while value * 2**-power < 1:
        power -= 1
    exponent = (power + 256) // 512
    return np.array([math.ldexp(float(value / Fraction(2) ** power), power - 512 * exponent)]), np.array([exponent])


def test_law_is_proportional_to_count_times_exponential_of_score():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 40))
        losses, counts = rng.uniform(0, 60, n), rng.integers(1, 1000, n)
        losses -= losses.min()
        weights = counts * np.exp(-1.5 * losses)
        assert law(weigh(losses, counts, 1.5)) == pytest.approx(weights / math.fsum(weights), rel=1e-12)


def test_every_outcome_keeps_a_chance_however_far_behind():
    chances = law(weigh(np.array([0.0, 600.0, 1e18, np.inf]), np.array([1, 1, 1, 2**40]), 1.0))
    assert chances[1] == pytest.approx(math.exp(-600), rel=1e-12)
    assert chances[2] == pytest.approx(math.exp(-700), rel=1e-12)
    assert chances[3] == pytest.approx(2**40 * math.exp(-700), rel=1e-12)


def test_smallest_of_many_weights_keeps_its_relative_precision():
    rng = np.random.default_rng(1)
    losses = np.concatenate([[0.0, 600.0], rng.uniform(0, 600, 100_000)])
    sums = weigh(losses, np.ones(len(losses)), 1.0)
    expected = math.exp(-600) / math.fsum(np.exp(-losses))
    assert chance_of(*sums, 1) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("loss", [1.0, 30.0, 300.0, 600.0])
def test_draw_takes_the_unlikely_outcome_exactly_below_its_chance(loss):
    sums = weigh(np.array([0.0, loss]), np.ones(2), 1.0)
    chance = Fraction(law(sums)[1])
    just_below, just_above = chance * (1 - Fraction(1, 2**52)), chance * (1 + Fraction(1, 2**52))
    assert _scaled.descend(*sums, *scaled(just_below)) == 1
    assert _scaled.descend(*sums, *scaled(just_above)) == 0


def test_weights_beyond_the_range_of_doubles_are_drawn_too():
    rare = (4.0, -30)  # 2^-15358
    sums = np.array([0.0, 1.0, 1.0, rare[0]]), np.array([0, 0, 0, rare[1]])
    _scaled.sum_up(*sums)
    below, above = (np.array([3.9]), np.array([-30])), (np.array([4.1]), np.array([-30]))
    assert (_scaled.descend(*sums, *below), _scaled.descend(*sums, *above)) == (1, 0)


def test_uniform_numbers_have_full_precision_at_every_scale():
    script = np.array([1 << 63, 0, 1, 2**64 - 1, 0, 1 << 12, 0, 1 << 62], "<u8").view(np.uint8)
    source = Generator(lambda n: np.resize(script, n), seeded=True)
    mantissas, exponents = uniforms(3, source)
    values = [Fraction(m) * Fraction(2) ** (512 * int(e)) for m, e in zip(mantissas, exponents, strict=True)]
    assert values[0] == Fraction(1, 2)
    assert values[1] == Fraction(2**53 - 1, 2**52) / 2**64
    assert values[2] == (1 + Fraction(1, 2**52)) / 2**130  # 64 zeros, 64 more, then one zero before the first one


def test_uniform_numbers_are_uniform():
    mantissas, exponents = uniforms(20_000, generator(5))
    assert not exponents.any()
    assert stats.kstest(mantissas, "uniform").pvalue > 1e-6  # false alarm: one seed in a million


def test_choices_follow_the_law():
    scores, counts = [0, 3, 1, 2, 2.5], [5, 1, 1, 2, 3]
    source = generator(11)
    drawn = [exponential(scores, epsilon=1.0, span=1.0, counts=counts, rng=source) for _ in range(5000)]
    expected = law(weigh(3 - np.array(scores), np.array(counts), rate(Fraction(1), Fraction(1))))
    observed = np.bincount(drawn, minlength=5)
    assert stats.chisquare(observed, expected * 5000).pvalue > 1e-6  # false alarm: one seed in a million


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_loss_never_exceeds_epsilon(epsilon):
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(3000):
        n, spread = int(rng.integers(2, 12)), 10.0 ** rng.integers(0, 5)
        scores = rng.uniform(0, spread, n)
        changed = scores + rng.uniform(-3, 3) + 2.0 * rng.integers(0, 2, n)  # an interval of width 2, anywhere
        factor, counts = rate(Fraction(epsilon), Fraction(2)), rng.integers(1, 100, n)
        p, q = (law(weigh(s.max() - s, counts, factor)) for s in (scores, changed))
        worst = max(worst, float(np.abs(np.log(p / q)).max()))
    assert 0.95 * epsilon < worst <= epsilon


def test_rounding_is_paid_from_the_budget():
    assert rate(Fraction(1), Fraction(1)) <= 1 - 4 * ETA
    with pytest.raises(InvalidArgument, match=r"epsilon must be larger than .* try epsilon="):
        exponential([1.0, 2.0], epsilon=1e-13, span=1.0)


def test_infinite_budget_is_uniform_among_the_best():
    source = generator(3)
    drawn = [exponential([5, 1, 5], epsilon=math.inf, span=1, counts=[1, 9, 3], rng=source) for _ in range(2000)]
    assert stats.chisquare(np.bincount(drawn, minlength=3)[[0, 2]], [500, 1500]).pvalue > 1e-6
    assert 1 not in drawn


def test_entries_that_stand_for_no_outcome_are_never_chosen():
    assert {exponential([9e9, 0, 1], epsilon=1, span=1, counts=[0, 0, 4], rng=s) for s in range(20)} == {2}


@pytest.mark.parametrize("scores", [[0.0], [4.0] * 9, [0.0, 1e308, -1e308], [np.nan] * 3, [np.inf, -np.inf, np.nan]])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6, 10**30, math.inf])
def test_scores_never_cause_an_error(scores, epsilon):
    assert 0 <= exponential(scores, epsilon=epsilon, span=1.0, rng=0) < len(scores)


def test_same_seed_same_choice():
    scores = np.random.default_rng(0).normal(size=100)
    assert len({exponential(scores, epsilon=1.0, span=1.0, rng=4) for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (InvalidArgument, {"epsilon": 0}),
        (InvalidArgument, {"span": -1.0}),
        (InvalidType, {"span": "1"}),
        (InvalidArgument, {"scores": []}),
        (InvalidArgument, {"scores": [[1.0]]}),
        (InvalidType, {"scores": "12"}),
        (InvalidArgument, {"counts": [1]}),
        (InvalidArgument, {"counts": [0, -1]}),
        (InvalidType, {"rng": "seed"}),
    ],
)
def test_bad_arguments_are_named(kind, changes):
    arguments = {"scores": [1.0, 2.0], "epsilon": 1.0, "span": 1.0} | changes
    with pytest.raises(kind, match=rf"^{next(iter(changes))} must be .*; try "):
        exponential(**arguments)


def test_pick_of_one_is_that_one():
    assert pick(weigh(np.zeros(1), np.ones(1), 1.0), generator(0)) == 0


@pytest.mark.parametrize(
    "scores",
    [
        lambda extra: np.array([2**60 + 128 + extra, 2**60 + 128]),
        lambda extra: np.array([np.int64(2**60 + 128 + extra), np.int64(2**60 + 128)], dtype=object),
        lambda extra: np.array([-(2**63) + extra, -(2**63)]),
        lambda extra: [2**63 + 1024 + extra, 2**63 + 1024, -1],
        lambda extra: [10**400 + extra, 10**400, np.int8(3)],
    ],
)
def test_large_whole_scores_are_subtracted_exactly(scores):
    """As doubles, 2**60 + 128 and 2**60 + 129 would differ by 256 or by nothing."""
    picks = [[exponential(scores(extra), epsilon=1, span=1, rng=i) for i in range(400)] for extra in (0, 1)]
    assert 150 < np.sum(picks[0]) < 250  # even odds
    assert 70 < np.sum(picks[1]) < 150  # odds e to 1
