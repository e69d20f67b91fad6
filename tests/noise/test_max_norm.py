"""Geometric and max-norm noise: exact laws, checked by enumeration and by samples. False alarms: below 1e-4 a test."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.errors import InvalidArgument
from discreet.noise.integer.exceedances import KeepChance, rate
from discreet.noise.integer.laplace import draw_geometric
from discreet.noise.integer.max_norm import max_norm_variance


def _radius_law(scale: float, dimension: int, n: int) -> np.ndarray:
    """Radii as the sampler makes them: a sum of D + 1 geometric variables, kept with its rational probability."""
    a = math.exp(-1 / scale)
    raw = [math.comb(k + dimension, dimension) * a**k for k in range(n)]
    kept = [math.prod((2 * k + 1) / (2 * k + 2 * i) for i in range(1, dimension + 1)) for k in range(n)]
    law = np.array(raw) * np.array(kept)
    return law / law.sum()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_construction_gives_the_lattice_law_exactly(dimension):
    scale = 2.5
    law = _radius_law(scale, dimension, 400)
    sides = 2 * np.arange(400) + 1.0
    at = np.array([(law[r:] / sides[r:] ** dimension).sum() for r in range(30)])
    np.testing.assert_allclose(at / at[0], np.exp(-np.arange(30) / scale), rtol=1e-12)


@pytest.mark.parametrize(("dimension", "scale"), [(1, 1.5), (2, 0.7), (2, 3.0), (3, 1.0)])
def test_samples_follow_the_lattice_law(dimension, scale):
    n, reach = 200_000, 2
    z = noise.max_norm_laplace(scale, dimension, n, rng=dimension)
    points = list(itertools.product(range(-reach, reach + 1), repeat=dimension))
    law = _radius_law(scale, dimension, 2000)
    sides = 2 * np.arange(2000) + 1.0
    at = [(law[r:] / sides[r:] ** dimension).sum() for r in range(reach + 1)]
    expected = np.array([at[max(map(abs, p))] for p in points]) * n
    found = np.array([(z == p).all(axis=1).sum() for p in points])
    rest = n - found.sum(), n - expected.sum()
    assert stats.chisquare([*found, rest[0]], [*expected, rest[1]]).pvalue > 1e-4


@pytest.mark.parametrize("d", [1, 2, 3, 9, 24])
def test_variance_in_units_of_a_row(d):
    epsilon, steps = 0.5, 1024
    z = noise.max_norm_laplace(steps / epsilon, d + 1, 400_000 // (d + 1), rng=d) / steps
    wanted = (d + 2) * (d + 3) / (3 * epsilon**2)
    assert max_norm_variance(steps / epsilon, d + 1) / steps**2 == pytest.approx(wanted, rel=1e-5)
    # Entries of a vector share its radius; the first alone is a fair sample of 20,000 and more.
    assert z.var() == pytest.approx(wanted, rel=0.01)


def test_variance_at_small_scales_is_that_of_the_law():
    for dimension, scale in [(1, 0.5), (2, 1.0), (3, 2.0), (3, 63.0)]:
        law = _radius_law(scale, dimension, 4000)
        k = np.arange(4000)
        assert max_norm_variance(scale, dimension) == pytest.approx((law * k * (k + 1) / 3).sum(), rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_row_changes_log_probabilities_by_epsilon_and_no_more(dimension):
    epsilon, steps = 0.8, 4
    law = _radius_law(steps / epsilon, dimension, 4000)
    sides = 2 * np.arange(4000) + 1.0
    log_at = np.log([(law[r:] / sides[r:] ** dimension).sum() for r in range(40)])
    worst = 0.0
    for shift in itertools.product((-steps, 0, steps), repeat=dimension):
        for z in itertools.product(range(-9, 10, 3), repeat=dimension):
            other = [a + b for a, b in zip(z, shift, strict=True)]
            worst = max(worst, abs(log_at[max(map(abs, z))] - log_at[max(map(abs, other))]))
    assert worst == pytest.approx(epsilon, abs=1e-9)


def test_geometric_law_and_portions():
    draws = draw_geometric(Fraction(3), (200_000,), 1)
    ratio = math.exp(-1 / 3)
    found = np.bincount(np.minimum(draws, 12), minlength=13)
    expected = np.array([(1 - ratio) * ratio**g for g in range(12)] + [ratio**12]) * len(draws)
    assert stats.chisquare(found, expected).pvalue > 1e-4
    stream = noise.generator(1)
    assert [draw_geometric(Fraction(3), None, stream) for _ in range(50)] == draws[:50].tolist()
    together, stream = noise.max_norm_laplace(20, 3, 20, rng=5), noise.generator(5)
    apart = [noise.max_norm_laplace(20, 3, 1, rng=stream)[0] for _ in range(20)]
    np.testing.assert_array_equal(together, apart)


def test_exceedances_are_the_large_values_of_plain_noise():
    scale, cutoff, n = 2.0, 3, 400_000
    law = noise.DiscreteLaplace(scale)
    places, values = noise.exceedances(scale, cutoff, n, rng=2)
    plain = noise.discrete_laplace(scale, n, rng=3)
    share = float(law.sf(cutoff + 1))
    assert abs(len(places) - n * share) < 4 * math.sqrt(n * share)
    assert (np.diff(places) > 0).all()
    assert places[0] >= 0
    assert places[-1] < n
    assert stats.kstest(places / n, "uniform").pvalue > 1e-4
    table = [np.bincount(np.minimum(v - cutoff - 1, 10), minlength=11) for v in (values, plain[plain > cutoff])]
    assert stats.chi2_contingency(table).pvalue > 1e-4
    gaps = np.bincount(np.minimum(np.diff(places) - 1, 30), minlength=31)
    expected = np.array([share * (1 - share) ** g for g in range(30)] + [(1 - share) ** 30]) * gaps.sum()
    assert stats.chisquare(gaps, expected).pvalue > 1e-4


def test_rare_exceedances_have_their_exact_chance():
    """The walk hits a little too often and a coin corrects it: hit chance times coin is p, to every digit computed."""
    from decimal import Context, Decimal
    from fractions import Fraction

    c = Context(prec=120)
    for epsilon, cutoff in [(Fraction(1), 0), (Fraction(1, 10), 223), (Fraction(1, 10), 500), (Fraction(3), 27)]:
        x = rate(epsilon, cutoff)
        step = c.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
        down = step.copy_negate()
        p = c.divide(c.exp(c.multiply(down, Decimal(cutoff + 1))), c.add(Decimal(1), c.exp(down)))
        q = c.subtract(Decimal(1), c.exp(c.divide(Decimal(-x.numerator), Decimal(x.denominator))))
        coin = Fraction(int.from_bytes(KeepChance(epsilon, cutoff, x).digits(24), "big"), 256**24)
        assert abs(Fraction(q) * coin / Fraction(p) - 1) < Fraction(1, 2**120)
        assert q >= p


def test_exceedances_of_immense_grids():
    places, values = noise.exceedances(10.0, 300, 2**63 - 1, rng=1)
    mean = 2**63 * float(noise.DiscreteLaplace(10).sf(301))
    assert abs(len(places) - mean) < 5 * math.sqrt(mean)
    assert stats.kstest(places / 2.0**63, "uniform").pvalue > 1e-4
    assert values.min() > 300
    assert len(noise.exceedances(1.0, 10**9, 2**63 - 1, rng=1)[0]) == 0
    assert len(noise.exceedances(1.0, 5, 0, rng=1)[0]) == 0
    assert len(noise.exceedances(0, 0, 10**9)[0]) == 0


def test_no_noise_and_bad_arguments():
    assert not noise.max_norm_laplace(0, 3, 5).any()
    with pytest.raises(InvalidArgument, match=r"scale must be 0 \(no noise\) or at least 3\.125 for dimension 25"):
        noise.max_norm_laplace(1.0, 25, 1)
    with pytest.raises(InvalidArgument, match="dimension"):
        noise.max_norm_laplace(1.0, 0, 1)
    with pytest.raises(InvalidArgument, match="cutoff"):
        noise.exceedances(1.0, -1, 10)
