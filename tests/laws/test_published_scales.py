"""Leaves are published with the noise, the bounds and the variances stated of them, and every cell has its own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.engines import CellCounts
from discreet.noise.integer.max_norm import smallest_scale
from discreet.synopses.grid import lazy
from discreet.synopses.publishing import FIXED_POINT, publish


def test_means_stay_in_their_box_whatever_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    far = np.array([[0, 10**9, -(10**9)]])
    monkeypatch.setattr(noise, "max_norm_laplace", lambda scale, dimension, size, rng: far.copy())
    out = publish(np.array([5]), np.array([[0, 0]]), epsilon=Fraction(1), stream=noise.generator(1))
    assert out.offsets is not None
    assert out.offsets.tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize(("times", "finer"), [(Fraction(1), 1), (Fraction(11, 10), 1), (Fraction(9, 10), 2)])
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
    publish(np.array([5]), np.array([[0]]), epsilon=epsilon, stream=noise.generator(1))
    assert asked == [finer * FIXED_POINT / epsilon]


def test_empty_cells_that_are_listed_have_counts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.array([2, 5, 8]), np.array([11, 14, 12])
    monkeypatch.setattr(noise, "exceedances", lambda scale, cutoff, n, rng: drawn)
    counts = CellCounts(10, [5], [0])
    cells, weights = lazy.survivors(counts, epsilon=Fraction(1), cutoff=10, stream=noise.generator(1))
    assert dict(zip(cells.tolist(), weights.tolist(), strict=True)) == {2: 11, 8: 12}


def test_cells_of_a_large_grid_state_the_variance_of_their_noise() -> None:
    X = np.full((1000, 2), 0.5)
    made = dc.GridSynopsis(1, (0, 1), rule=3000, n_rows=1000, random_state=0).fit(X).synopsis_
    assert made.hidden is not None
    assert set(made.variances.tolist()) == {noise.DiscreteLaplace(Fraction(1)).variance}
