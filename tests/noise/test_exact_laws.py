"""The integer noises follow their laws exactly: from the coins' own chances, not from samples."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.noise.integer.gaussian import proposal
from discreet.noise.integer.laplace import coin_chances
from discreet.noise.reports.coins import keep_chance, toss
from discreet.noise.stream import kernels
from discreet.noise.stream.generator import Generator
from discreet.noise.stream.thresholds import Chance, exponential_decay, logistic

DIGITS = 60
SLACK = Fraction(1, 10**100)
SCALES = [Fraction(1, 1000), Fraction(1, 3), Fraction(2), Fraction(700, 9), Fraction(10**9)]
rationals = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=10**6)


def value(chance: Chance) -> Fraction:
    """The chance as its first sixty digits give it."""
    return Fraction(int.from_bytes(chance.digits(DIGITS), "big"), 256**DIGITS)


def precise_exp(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 250
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def laplace_probability(z: int, scale: Fraction) -> Fraction:
    """Return the probability that the sampler's coins give Z = z."""
    not_zero, *digits, high = [value(c) for c in coin_chances(scale)]
    if z == 0:
        return 1 - not_zero
    g = abs(z) - 1
    chance = not_zero / 2
    for k, p in enumerate(digits):
        chance *= p if g >> k & 1 else 1 - p
    return chance * high ** (g >> len(digits)) * (1 - high)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_the_coins_multiply_to_the_two_sided_geometric_law(scale: Fraction) -> None:
    alpha = precise_exp(-1 / scale)
    for z in [0, 1, -1, 2, 5, -17, int(scale), 3 * int(scale) + 1]:
        wanted = (1 - alpha) / (1 + alpha) * alpha ** abs(z) if abs(z) < 1000 else None
        if wanted is not None:
            assert abs(laplace_probability(z, scale) / wanted - 1) < SLACK


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20)])
def test_neighbouring_counts_never_differ_by_more_than_e_to_the_epsilon(epsilon: Fraction) -> None:
    bound = precise_exp(epsilon) * (1 + SLACK)
    law = [laplace_probability(z, 1 / epsilon) for z in range(-30, 31)]
    ratios = [max(a / b, b / a) for a, b in pairwise(law)]
    assert max(ratios) <= bound
    assert max(ratios) >= bound * (1 - SLACK) ** 2  # and no budget is wasted


@given(rationals)
@settings(max_examples=200, deadline=None)
def test_digits_enclose_the_number_they_stand_for(x: Fraction) -> None:
    for chance, number in [
        (exponential_decay(x), precise_exp(-x)),
        (logistic(x), 1 / (1 + precise_exp(x))),
        (keep_chance(7, x), 1 / (1 + 6 * precise_exp(-x))),
    ]:
        short = Fraction(int.from_bytes(chance.digits(16), "big"), 256**16)
        assert 0 <= number - short < Fraction(1, 256**16)
        assert chance.digits(24)[:16] == chance.digits(16)


def scripted(data: bytes, rest: int = 0) -> Generator:
    """A generator that first gives these bytes, then the same byte for ever."""
    queue = [np.frombuffer(data, np.uint8)]

    def read(n: int) -> np.ndarray:
        return queue.pop() if queue else np.full(n, rest, np.uint8)

    return Generator(read, seeded=True)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 40, 100])
def test_a_tie_is_settled_by_later_digits_however_long_it_lasts(length: int) -> None:
    chance = exponential_decay(Fraction(1, 3))
    digits = chance.digits(length + 1)
    just_below = digits[:length] + bytes([digits[length] - 1])
    just_above = digits[:length] + bytes([digits[length] + 1])
    assert toss(chance, None, scripted(just_below, 255)) == 1
    assert toss(chance, None, scripted(just_above, 0)) == 0


def test_a_tie_in_the_middle_of_a_laplace_draw_changes_nothing_but_the_bytes_read() -> None:
    chances = coin_chances(Fraction(2))
    # Not zero; then digit 0 ties for 20 bytes and comes up heads, the others tails; no high part; even: positive.
    tie = chances[1].digits(21)
    data = b"\x00" + tie[:20] + bytes([tie[20] - 1]) + b"\xff" * (len(chances) - 3) + b"\xff" + b"\x00"
    assert noise.discrete_laplace(2, rng=scripted(data)) == 2


@given(st.integers(0, 2**62 - 2))
@settings(max_examples=300, deadline=None)
def test_the_kernel_squares_in_two_words_like_python(m: int) -> None:
    high, low = kernels._square(m)
    assert (int(high) << 64) + int(low) == m * (m + 1)


@given(st.integers(-(10**9), 10**9), st.fractions(min_value=Fraction(1, 1000), max_value=10**9))
@settings(max_examples=300, deadline=None)
def test_the_gaussian_exponent_is_proposal_plus_acceptance(z: int, sigma: Fraction) -> None:
    c, scale = proposal(sigma)
    S = (abs(z) - c) * (abs(z) - c + 1)
    assert S >= 0
    constant = Fraction(c * (c - 1)) / (2 * sigma**2)
    assert Fraction(z * z) / (2 * sigma**2) == abs(z) / scale + S / (2 * sigma**2) - constant


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1), (3, Fraction(1, 10)), (10, 4), (1000, 12)])
def test_randomized_response_spends_exactly_epsilon(k: int, epsilon: Fraction | int) -> None:
    keep = value(keep_chance(k, Fraction(epsilon)))
    other = (1 - keep) / (k - 1)
    assert abs(keep / other / precise_exp(Fraction(epsilon)) - 1) < SLACK


def test_laws_agree_with_direct_summation() -> None:
    """The check of spec 9.0: closed forms against sums, for ε from 0.05 to 3."""
    for epsilon in [0.05, 0.3, 1.0, 3.0]:
        law = noise.DiscreteLaplace(1 / Fraction(repr(epsilon)))
        z = np.arange(-4000, 4001)
        p = law.pmf(z)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert (p * z**2).sum() == pytest.approx(law.variance, rel=1e-8)
        for k in [-7, -1, 0, 1, 2, 9]:
            tail = z >= k
            assert p[tail].sum() == pytest.approx(law.sf(k), rel=1e-10)
            assert (p * z)[tail].sum() / p[tail].sum() == pytest.approx(law.mean_above(k), rel=1e-7, abs=1e-9)
        for share in [0.4, 0.01, 1e-6]:
            tau = law.threshold(share)
            assert law.sf(tau + 1) <= share * (1 + 1e-12)
            assert tau == 0 or law.sf(tau) > share


def test_thresholds_of_the_specification() -> None:
    law = noise.DiscreteLaplace
    assert [law(1).threshold(1 / M) for M in (10**6, 10**12)] == [13, 27]
    assert law(10).threshold(100 / 10**12) == 223
    assert [law(10).threshold(0.01 / 128), law(100).threshold(0.01 / 128)] == [88, 876]


@pytest.mark.parametrize("sigma", [0.05, 0.4, 0.9, 1.0, 2.5, 40.0])
def test_gaussian_law_agrees_with_direct_summation(sigma: float) -> None:
    law = noise.DiscreteGaussian(sigma)
    z = np.arange(-2000, 2001)
    p = law.pmf(z)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * z**2).sum() == pytest.approx(law.variance, rel=1e-9)


def test_no_noise_is_a_law_too() -> None:
    assert noise.discrete_laplace(0, size=3).tolist() == [0, 0, 0]
    assert noise.discrete_gaussian(0) == 0
    law = noise.DiscreteLaplace(0)
    assert (law.pmf(0), law.pmf(1), law.variance, law.sf(1), law.threshold(0.1)) == (1.0, 0.0, 0.0, 0.0, 0)
    assert law.mean_above(0) == 0.0
    assert noise.DiscreteGaussian(0).variance == 0
    assert noise.randomized_response([0, 1, 2], n_values=3, epsilon=math.inf).tolist() == [0, 1, 2]
