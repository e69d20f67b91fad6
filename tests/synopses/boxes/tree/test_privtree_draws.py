"""PrivTree draws the noise whose loss was computed, for every node its own, and tests by nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.budget.prices import Epsilon
from discreet.mechanisms import PrivTreeRule
from discreet.synopses.boxes.tree.settings import TreeSettings


@pytest.mark.parametrize("zeroth", [True, False], ids=["the first node goes on", "none goes on"])
@pytest.mark.unmetered
def test_every_node_is_tested_with_noise_of_its_own_and_of_the_stated_scale(
    monkeypatch: pytest.MonkeyPatch, zeroth: bool
) -> None:
    drawn: list[tuple[Fraction, int]] = []

    def scripted(scale: Any, size: Any, rng: object = None) -> Any:
        drawn.append((Fraction(scale), int(np.prod(size))))
        z = np.full(size, -(10**6))
        z[0] = 10**6 if zeroth else -(10**6)
        return z

    monkeypatch.setattr(noise, "discrete_laplace", scripted)
    X = np.full((1000, 1), 0.9)  # the rows say otherwise than the noise
    settings = {"max_depth": 4, "n_rows": 1000, "shares": (0.5, 0, 0.5), "bits": 6}
    made = dc.TreeSynopsis(2, (0, 1), "privtree", random_state=0, **settings).fit(X).synopsis_
    structure, (counts, n_leaves) = drawn[:-1], drawn[-1]
    assert {scale for scale, _ in structure} == {PrivTreeRule.for_budget(Epsilon(1), 2).scale}
    assert [size for _, size in structure] == ([1, 2, 2, 2] if zeroth else [1])
    assert counts == 1
    assert made.n_leaves == n_leaves == (5 if zeroth else 1)
    assert made.guarantee.epsilon == 2


@pytest.mark.unmetered
def test_a_biased_count_of_exactly_zero_is_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss was computed for cuts above zero."""
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, rng=None: np.zeros(size, dtype=np.int64))
    monkeypatch.setattr(PrivTreeRule, "biased", lambda self, counts, depth: np.zeros_like(counts))
    settings = {"max_depth": 4, "n_rows": 10, "bits": 6}
    made = dc.TreeSynopsis(2, (0, 1), "privtree", random_state=0, **settings).fit(np.full((10, 1), 0.9)).synopsis_
    assert made.n_leaves == 1


@pytest.mark.parametrize(("bits", "most", "leaves"), [(1, 1000, 2), (6, 3, 2), (6, 2, 1)])
@pytest.mark.unmetered
def test_growth_ends_at_single_cells_and_at_the_room_for_nodes(
    monkeypatch: pytest.MonkeyPatch, bits: int, most: int, leaves: int
) -> None:
    """A node of one cell is a leaf, however many rows it seems to hold; a level is cut if all of it fits, and then."""
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, rng=None: np.full(size, 10**6))
    monkeypatch.setattr(TreeSettings, "most_nodes", lambda self, n_axes: most)
    settings = {"max_depth": 4, "n_rows": 10, "bits": bits}
    made = dc.TreeSynopsis(2, (0, 1), "privtree", random_state=0, **settings).fit(np.full((10, 1), 0.9)).synopsis_
    assert made.n_leaves == leaves
