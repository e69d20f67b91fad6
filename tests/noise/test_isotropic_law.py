"""The law of isotropic noise: drawn exactly, private on the lattice, uniform in direction."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from discreet.metric import IsotropicLaw
from discreet.noise import generator
from discreet.noise.stream.row_words import row_words, settle
from discreet.noise.vector.isotropic import (
    IsotropicNoise,
    add_rows,
    exact_offsets,
    isotropic_laplace,
    offsets,
    rounded,
    words_of,
)

DIMENSIONS = (1, 2, 3, 7, 50)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_doubles_are_within_their_bound_of_the_exact_value(n):
    scale = Fraction(16_384)
    source = IsotropicNoise.draw(n, scale, rng=n)
    for row in range(30 if n < 50 else 5):
        words = row_words(source._key, source._words, row, 1)
        direction, wobble, found, bound = (np.empty(n) for _ in range(4))
        assert offsets(words, 0, float(scale), direction, wobble, found, bound)
        exact, _ = exact_offsets([int(w) for w in words], 64, n, scale)
        error = np.array([abs(float(x - Decimal(y))) for x, y in zip(exact, found, strict=True)])
        assert (error <= bound).all()
        assert bound.max() < 1e-5, "then one row in thousands would need decimals"


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_slow_way_rounds_as_the_fast_one(n):
    source = IsotropicNoise.draw(n, Fraction(5000), rng=3)
    places = np.zeros((40, n), np.int64)
    source.add(places)
    slow = [
        rounded([int(w) for w in row_words(source._key, source._words, row, 1)], 64, n, Fraction(5000))
        for row in range(40)
    ]
    assert places.tolist() == [s.tolist() for s in slow]


def test_undecided_rows_are_left_alone_and_settled_with_more_digits():
    n, scale = 2, Fraction(5000)
    words = np.zeros(words_of(n), np.uint64)  # logarithms of which nothing is known
    places, open_rows = np.array([[7, 9]]), np.zeros(1, bool)
    add_rows(words, float(scale), places, open_rows)
    assert open_rows[0]
    assert places.tolist() == [[7, 9]]
    source = IsotropicNoise.draw(n, scale, rng=1)
    assert rounded([0] * len(words), 64, n, scale) is None
    settled = settle(source._key, np.zeros(len(words), np.uint64), 0, source._rounded)
    # A radius of about -2 ln(2^-64) = 89 scales: the digits that were drawn on top decide the rest.
    assert 80 < np.linalg.norm(settled) / 5000 < 110


def test_a_coordinate_on_a_rounding_boundary_is_not_decided_by_doubles():
    source = IsotropicNoise.draw(1, Fraction(1000), rng=5)
    words = row_words(source._key, source._words, 0, 1)
    exact, _ = exact_offsets([int(w) for w in words], 64, 1, Fraction(1000))
    # A scale that puts the value within 1e-13 of one half.
    scale = Fraction(abs(1000 / exact[0])) * Fraction(1, 2)
    places, open_rows = np.zeros((1, 1), np.int64), np.zeros(1, bool)
    add_rows(words, float(scale), places, open_rows)
    assert open_rows[0]
    IsotropicNoise(1, scale, source._key).add(places)  # decimals settle it, one way or the other
    assert abs(places[0, 0]) in (0, 1)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_isotropy_and_radius(n):
    rows, scale = 60_000 if n < 50 else 12_000, 2**14
    drawn = isotropic_laplace(rows, n, Fraction(scale), rng=11) / scale
    length = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(length, stats.gamma(n).cdf).pvalue > 1e-3
    direction = drawn / np.maximum(length, 1 / scale)[:, None]  # in one dimension the noise may be 0
    error = 4.5 / np.sqrt(rows)
    assert np.abs(direction.mean(axis=0)).max() < error / np.sqrt(n)
    second = direction.T @ direction / rows
    assert np.abs(np.diag(second) - 1 / n).max() < 2 * error / n + 1e-12
    assert np.abs(second - np.diag(np.diag(second))).max(initial=0) < 2 * error / n
    assert np.abs((drawn > 0).mean(axis=0) - 0.5).max() < error / 2 + 1e-4
    assert np.abs(drawn.std(axis=0) / np.sqrt(n + 1) - 1).max() < 3 * error
    # Length and direction are independent.
    assert abs(np.corrcoef(length, direction[:, 0])[0, 1]) < error


def test_published_samplers_would_fail_the_test_of_isotropy():
    """A unit vector's coordinates taken for angles: coordinate 1 is always shifted upwards."""
    rng = np.random.default_rng(0)
    g = rng.normal(size=(20_000, 7))
    angles = g / np.linalg.norm(g, axis=1)[:, None]
    wrong = rng.gamma(7, size=20_000) * np.cos(angles[:, 0])
    assert wrong.mean() > 6.0


def _cells(scale: float, reach: int) -> dict[tuple[int, ...], float]:
    """Return the chances of the rounded noise in two dimensions, up to a factor, by quadrature over unit squares."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x, w = nodes / 2, weights / 2
    found = {}
    for a, b in itertools.product(range(reach + 1), repeat=2):
        u, v = a + x[:, None], b + x[None, :]
        mass = float((w[:, None] * w[None, :] * np.exp(-np.hypot(u, v) / scale)).sum())
        for s, t in itertools.product((1, -1), repeat=2):
            found[s * a, t * b] = mass
    return found


@pytest.mark.parametrize("scale", [0.5, 2.0, 5.0])
def test_no_ratio_on_the_lattice_exceeds_the_promise(scale):
    cells = _cells(scale, 6)
    places = np.array(list(cells))
    log_chance = np.log(np.array(list(cells.values())))
    loss = np.abs(log_chance[:, None] - log_chance[None, :])
    distance = np.linalg.norm(places[:, None, :] - places[None, :, :], axis=2)
    assert (loss <= distance / scale * (1 + 1e-9) + 1e-9).all()
    assert (loss[distance > 0] / (distance[distance > 0] / scale)).max() > 0.9, "and it is used up"


def test_the_drawn_law_is_the_integral_over_the_cell():
    scale, rows = 2.0, 400_000
    drawn = isotropic_laplace(rows, 2, Fraction(2), rng=8)
    cells = _cells(scale, 3)
    total = 2 * np.pi * scale**2
    seen, expected = [], []
    for place, mass in cells.items():
        seen.append(int((drawn == place).all(axis=1).sum()))
        expected.append(rows * mass / total)
    seen.append(rows - sum(seen))
    expected.append(rows - sum(expected))
    # Gauss's rule is only good to 1e-3 in the cell with the density's tip.
    tip = integrate.dblquad(lambda u, v: np.exp(-np.hypot(u, v) / scale), 0, 0.5, 0, 0.5)[0] * 4
    place = list(cells).index((0, 0))
    shift = rows * tip / total - expected[place]
    expected[place] += shift
    expected[-1] -= shift
    assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_one_dimension_is_the_laplace_law_rounded():
    drawn = isotropic_laplace(200_000, 1, Fraction(3), rng=4).ravel()
    inner = np.arange(-8, 9)
    cdf = stats.laplace(scale=3).cdf
    chances = cdf(inner + 0.5) - cdf(inner - 0.5)
    seen = np.array([(drawn == m).sum() for m in inner])
    rest = len(drawn) - seen.sum()
    expected = np.append(chances, 1 - chances.sum()) * len(drawn)
    assert stats.chisquare(np.append(seen, rest), expected).pvalue > 1e-3


def test_rows_may_come_in_any_pieces():
    source = IsotropicNoise.draw(3, Fraction(1000), rng=2)
    whole = np.zeros((5000, 3), np.int64)
    source.add(whole)
    pieces = np.zeros((5000, 3), np.int64)
    for a, b in ((4096, 5000), (0, 8), (8, 4096)):
        source.add(pieces[a:b], first=a)
    assert np.array_equal(whole, pieces)
    odd = np.zeros((3, 3), np.int64)
    source.add(odd, first=13)
    assert np.array_equal(odd, whole[13:16])


def test_secure_noise_differs_from_call_to_call_and_seeded_noise_does_not():
    assert not np.array_equal(isotropic_laplace(4, 2, Fraction(1000)), isotropic_laplace(4, 2, Fraction(1000)))
    again = [isotropic_laplace(4, 2, Fraction(1000), rng=generator(9)) for _ in range(2)]
    assert np.array_equal(*again)


@pytest.mark.parametrize(("n", "median", "far"), [(1, 0.69, 3.00), (2, 1.68, 4.74), (3, 2.67, 6.30), (7, 6.67, 11.84),
                                                  (10, 9.67, 15.71), (23, 22.67, 31.41)])  # fmt: skip
def test_published_quantiles_of_the_radius(n, median, far):
    law = IsotropicLaw(n, 1.0)
    assert law.accuracy_radius(0.5) == pytest.approx(median, abs=0.006)
    assert law.accuracy_radius(0.05) == pytest.approx(far, abs=0.006)


def test_lambert_form_of_the_planar_radius():
    p = np.array([0.05, 0.3, 0.9])
    lambert = -(special.lambertw((p - 1) / np.e, -1).real + 1)
    assert [IsotropicLaw(2, 1.0).accuracy_radius(1 - x) for x in p] == pytest.approx(lambert)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_density_integrates_to_one(n):
    law = IsotropicLaw(n, 3.0)
    surface = 2 * np.pi ** (n / 2) / special.gamma(n / 2)
    at = np.zeros((1, n))

    def ring(r: float) -> float:
        at[0, 0] = r
        return float(np.exp(law.log_density(at)[0]) * surface * r ** (n - 1))

    assert integrate.quad(ring, 0, 40)[0] == pytest.approx(1, abs=1e-6)
