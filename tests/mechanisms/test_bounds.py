"""Bounds bought with budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType
from discreet.mechanisms.bounds import magnitude_counts, magnitude_edges, private_bounds, threshold

EVERYTHING = (-(2.0**32), 2.0**32)


@pytest.mark.parametrize(("epsilon", "tau"), [(Fraction(1, 10), 88), (Fraction(1, 100), 876), (math.inf, 0)])
def test_threshold(epsilon, tau):
    assert threshold(128, epsilon, 0.01) == tau


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
def test_empty_bins_pass_with_probability_beta_at_most(epsilon):
    tau, alpha = threshold(128, Fraction(epsilon), 0.01), math.exp(-epsilon)
    assert 128 * alpha ** (tau + 1) / (1 + alpha) <= 0.01 < 128 * alpha**tau / (1 + alpha)


def test_every_row_falls_in_the_bin_that_holds_it():
    rng = np.random.default_rng(0)
    values = rng.choice([-1, 1], 2000) * 2.0 ** rng.uniform(-31.9, 31.9, 2000)
    edges = magnitude_edges(-32, 32)
    expected, _ = np.histogram(values, edges)
    assert magnitude_counts(values, -32, 32).tolist() == expected.tolist()
    assert (len(edges), edges[0], edges[-1]) == (129, *EVERYTHING)


def test_odd_values_follow_the_rule():
    odd = [0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan, 2.0**32, 2.0**-40]
    counts = magnitude_counts(np.array(odd), -32, 32)
    assert {int(i): int(counts[i]) for i in np.flatnonzero(counts)} == {0: 2, 63: 1, 64: 4, 127: 3}


def test_exact_bounds_without_privacy():
    assert private_bounds([3.0, -0.75, 100.0], epsilon=math.inf) == (-1.0, 128.0)
    assert private_bounds([5.0], epsilon=math.inf) == (4.0, 8.0)
    assert private_bounds([-5.0], epsilon=math.inf) == (-8.0, -4.0)


def test_bounds_hold_most_rows_and_are_far_smaller_than_the_public_range():
    values = np.random.default_rng(1).normal(40, 12, 10_000)
    for seed in range(20):
        low, high = private_bounds(values, epsilon=0.1, rng=seed)
        assert EVERYTHING[0] < low < high < 1024
        assert ((values >= low) & (values <= high)).mean() > 0.95


@pytest.mark.parametrize("values", [[], [np.nan] * 50, [1.0, 2.0]])
def test_without_enough_rows_the_public_range(values):
    answers = [private_bounds(values, epsilon=0.1, rng=seed) for seed in range(50)]
    assert answers.count(EVERYTHING) >= 48  # beta = 0.01; three of fifty: false alarm below 0.002, and seeded
    assert all(low < high for low, high in answers)


def test_same_seed_same_bounds():
    values = np.random.default_rng(2).normal(size=1000)
    assert private_bounds(values, epsilon=0.3, rng=5) == private_bounds(values[::-1], epsilon=0.3, rng=5)


def test_ledger_is_charged_before_the_data_are_touched():
    ledger = dc.Ledger(epsilon=1.0)
    private_bounds([1.0], epsilon=0.25, ledger=ledger)
    assert ledger.remaining == Fraction(3, 4)
    with pytest.raises(BudgetExceeded):
        private_bounds([1.0], epsilon=0.8, ledger=ledger)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (InvalidArgument, {"epsilon": 0}),
        (InvalidArgument, {"epsilon": 1e-15}),
        (InvalidArgument, {"beta": 1.0}),
        (InvalidType, {"exponents": 5}),
        (InvalidArgument, {"exponents": (3, 3)}),
        (InvalidType, {"exponents": (0.5, 3)}),
        (InvalidType, {"values": "text"}),
    ],
)
def test_bad_arguments_are_named(kind, changes):
    arguments = {"values": [1.0], "epsilon": 1.0} | changes
    ledger = dc.Ledger(epsilon=10.0)
    with pytest.raises(kind, match=rf"^{next(iter(changes))}.* must be .*; try "):
        private_bounds(ledger=ledger, **arguments)
    assert ledger.remaining == 10
