"""Leaves are published with the noise, the bounds and the variances stated of them, and every cell has its own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.budget.prices import Epsilon
from discreet.engines import CellCounts
from discreet.noise.integer.max_norm import smallest_scale
from discreet.synopses.boxes.tree.budgets import auto_threshold
from discreet.synopses.publishing import FIXED_POINT, publish
from gates import gate_of, hold_of, split_chance


@pytest.mark.unmetered
def test_means_stay_in_their_box_whatever_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    far = np.array([[0, 10**9, -(10**9)]])
    monkeypatch.setattr(noise, "max_norm_laplace", lambda scale, dimension, size, rng: far.copy())
    out = publish(hold_of(Epsilon(1)), np.array([5]), np.array([[0, 0]]))
    assert out.offsets is not None
    assert out.offsets.tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize(("times", "finer"), [(Fraction(1), 1), (Fraction(11, 10), 1), (Fraction(9, 10), 2)])
@pytest.mark.unmetered
def test_the_lattice_is_made_finer_only_where_the_sampler_needs_it(
    monkeypatch: pytest.MonkeyPatch, times: Fraction, finer: int
) -> None:
    """At the smallest scale the lattice is as coarse as stated; below it, finer, and the noise with it."""
    asked: list[Fraction] = []

    def scripted(scale: Any, dimension: int, size: int, rng: object) -> Any:
        asked.append(Fraction(scale))
        return np.zeros((size, dimension), np.int64)

    monkeypatch.setattr(noise, "max_norm_laplace", scripted)
    epsilon = FIXED_POINT / (smallest_scale(2) * times)
    publish(hold_of(Epsilon(epsilon)), np.array([5]), np.array([[0]]))
    assert asked == [finer * FIXED_POINT / epsilon]


def test_empty_cells_that_are_listed_have_counts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.array([2, 5, 8]), np.array([11, 14, 12])
    monkeypatch.setattr(noise, "exceedances", lambda scale, cutoff, n, rng: drawn)
    counts = CellCounts(10, [5], [0])
    cells, weights, _ = gate_of(Epsilon(1)).sparse_counts("cells", counts, Epsilon(1), 10)
    assert dict(zip(cells.tolist(), weights.tolist(), strict=True)) == {2: 11, 8: 12}


def test_cells_of_a_large_grid_state_the_variance_of_their_noise() -> None:
    X = np.full((1000, 2), 0.5)
    made = dc.GridSynopsis(1, (0, 1), rule=3000, n_rows=1000, random_state=0).fit(X).synopsis_
    assert made.hidden is not None
    assert set(made.variances.tolist()) == {noise.DiscreteLaplace(Fraction(1)).variance}


@pytest.mark.unmetered
def test_occupied_cells_of_a_large_grid_get_noise_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, rng: np.array([3, 1, 2]))
    monkeypatch.setattr(noise, "exceedances", lambda scale, cutoff, n, rng: (np.empty(0, int), np.empty(0, int)))
    counts = CellCounts(10, [1, 4, 6], [20, 20, 20])
    cells, weights, _ = gate_of(Epsilon(1)).sparse_counts("cells", counts, Epsilon(1), 10)
    assert (cells.tolist(), weights.tolist()) == ([1, 4, 6], [23, 21, 22])


@pytest.mark.parametrize(("epsilon", "fan_out"), [(Fraction(1, 18), 2), (Fraction(1, 18), 4), (Fraction(1, 5), 2)])
def test_an_empty_node_is_cut_as_rarely_as_stated(epsilon: Fraction, fan_out: int) -> None:
    """Pr[Z > T] = α^(T + 1)/(1 + α): at most 1/(2F), and not for a smaller T; so for every count."""
    price = Epsilon(epsilon)
    alpha, least = math.exp(-float(epsilon)), auto_threshold(price, fan_out)
    chances = [alpha ** (t + 1) / (1 + alpha) for t in (least, least - 1)]
    assert chances[0] <= 1 / (2 * fan_out) < chances[1]
    assert split_chance(0, least, price) == pytest.approx(chances[0], rel=1e-12)
    assert split_chance(3, least + 3, price) == pytest.approx(chances[0], rel=1e-12)


def test_every_node_is_cut_at_its_own_quantiles() -> None:
    X = np.linspace(0, 1, 4000)[:, np.newaxis] ** 3
    tree = dc.TreeSynopsis(math.inf, (0, 1), "quantile", n_quantiles=1, max_depth=2, random_state=0).fit(X).synopsis_
    assert np.abs(np.asarray(tree.weights) - 1000).max() < 100
