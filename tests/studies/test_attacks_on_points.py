"""Distinguishing two records, and averaging repeated reports. All seeded."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dc
from attack_crowds import crowd, noisy
from discreet.errors import InvalidArgument, InvalidType
from discreet_studies.measured.points import (
    advantage_bound,
    averaging_attack,
    best_advantage,
    distinguishing_attack,
    geometric_medians,
)

#: Total variation between isotropic Laplace laws, by Monte Carlo with 4e5 draws: level, then n = 1, 2, 3, 5, 7, 10.
ADVANTAGES = [
    (0.1, 0.049, 0.032, 0.025, 0.019, 0.016, 0.013),
    (0.5, 0.221, 0.156, 0.124, 0.093, 0.078, 0.065),
    (1, 0.394, 0.296, 0.243, 0.186, 0.155, 0.129),
    (2, 0.632, 0.522, 0.448, 0.356, 0.302, 0.253),
    (3, 0.778, 0.684, 0.611, 0.505, 0.437, 0.370),
    (5, 0.918, 0.866, 0.815, 0.726, 0.653, 0.574),
    (10, 0.993, 0.986, 0.976, 0.951, 0.921, 0.873),
    (20, 1.000, 1.000, 1.000, 0.999, 0.998, 0.994),
]
DIMENSIONS = (1, 2, 3, 5, 7, 10)


@pytest.mark.parametrize("row", ADVANTAGES)
def test_the_best_advantage_is_the_total_variation(row: tuple[float, ...]) -> None:
    for n, wanted in zip(DIMENSIONS, row[1:], strict=True):
        assert best_advantage(row[0], n) == pytest.approx(wanted, abs=0.0025)
        assert best_advantage(row[0], n) <= advantage_bound(row[0])
    assert best_advantage(row[0], 1) == pytest.approx(1 - math.exp(-row[0] / 2))


def test_a_tiny_level_gives_a_tiny_advantage() -> None:
    """To first order it is level/2 times the density of one coordinate at 0, in any dimension."""
    for n in DIMENSIONS:
        assert best_advantage(1e-5, n) / best_advantage(1e-3, n) == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize("n", DIMENSIONS)
@pytest.mark.parametrize("level", [0.5, 2.0, 10.0])
def test_the_attack_reaches_the_table(n: int, level: float) -> None:
    """Interval at 1 - 1e-5: 18 runs raise a false alarm once in 5,000."""
    first = np.full(n, 0.3)
    second = first + 0.1 * np.eye(n)[0]
    found = distinguishing_attack(
        first=first, second=second, rate=level / 0.1, trials=20_000, confidence=0.99999, random_state=n
    )
    low, high = found.advantage_interval
    assert low < found.facts["best"] < high
    assert low < found.facts["bound"]
    assert found.facts["level"] == pytest.approx(level)


def test_the_mechanism_of_this_package_allows_what_its_law_allows() -> None:
    domain = dc.Domain({"x": (0, 10), "y": (-5, 5)})
    mechanism = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, random_state=1)
    found = distinguishing_attack(mechanism, first=[3, 0], second=[4, 0], confidence=0.9999, random_state=1)
    assert found.facts["level"] == pytest.approx(2.0, rel=1e-4)  # a tenth of the width, at rate 20 less the lattice
    assert found.advantage == pytest.approx(0.522, abs=0.02)


def test_a_mechanism_that_breaks_its_promise_is_caught() -> None:
    """Noise that is three times too small."""
    broken = distinguishing_attack(
        lambda rows: noisy(rows, 60.0, 1), first=[0.5, 0.5], second=[0.55, 0.5], rate=20, random_state=1
    )
    assert broken.advantage_interval[0] > broken.facts["bound"]


def test_repeats_wear_the_noise_down_and_a_repeated_answer_does_not() -> None:
    people = crowd(300, 2, 1)
    domain = dc.Domain.box([0, 0], [1, 1])
    fresh = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, random_state=dc.noise.generator(1))
    found = averaging_attack(fresh, people, repeats=(1, 4, 16, 64), random_state=1)
    assert found.likely_errors[0] == pytest.approx(found.expected_noise, rel=0.1)
    assert (np.diff(found.likely_errors) < 0).all()
    # 1/sqrt(m), and the likeliest point beats the mean: information rate²/2 against variance 3/rate² a coordinate.
    assert found.likely_errors[3] == pytest.approx(math.sqrt(math.pi / 2) * math.sqrt(2 / 64) / 20, rel=0.12)
    assert (found.likely_errors[2:] < found.mean_errors[2:]).all()
    assert (np.diff(found.shares) > 0).all()
    assert found.advantage > found.baseline
    assert found.to_dict()["repeats"] == [1, 4, 16, 64]
    stubborn = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, random_state=1)
    same = averaging_attack(stubborn, people, repeats=(1, 16), random_state=1)
    assert same.likely_errors[0] == pytest.approx(same.likely_errors[1])
    assert "the same" in str(same)


def test_a_median_is_where_most_reports_are() -> None:
    assert geometric_medians(np.array([[[0.0, 0], [0, 0], [0, 0], [9, 9]]]))[0] == pytest.approx([0, 0], abs=1e-6)


def test_bad_arguments_are_named() -> None:
    rows = np.zeros((10, 2))
    with pytest.raises(InvalidType, match="repeats must be a list"):
        averaging_attack(None, rows, rate=1, repeats="12")
    with pytest.raises(InvalidArgument, match="originals must be a table of finite numbers"):
        averaging_attack(None, rows * np.nan, rate=1)
    with pytest.raises(InvalidArgument, match="level must be a positive"):
        advantage_bound(-1)
