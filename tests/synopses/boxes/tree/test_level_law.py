"""Several nodes of one level of a tree get noise of their own: the law of two levels, by enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from scripted_noise import worst_loss


def fit(X: Any) -> str:
    shape = {"max_depth": 2, "test_from": 0, "threshold": 0, "axis": "widest", "bits": 2}
    made = dc.TreeSynopsis(6, (0, 1), "binary", n_rows=4, random_state=0, **shape).fit(X).synopsis_
    assert made.guarantee.epsilon == 6
    return f"{made.n_leaves} {made.digest}"


def test_both_halves_are_tested_with_noise_of_their_own() -> None:
    """The root is cut; each half is cut or not by its own noisy count: ε in all, and it is reached."""

    def numbers(draw: int) -> tuple[int, ...]:
        return (0, 1) if draw == 1 else (0,)

    loss = worst_loss(fit, [[0.1], [0.9]], [0.6], numbers=numbers)
    assert loss == pytest.approx(6.0, abs=1e-9)


@pytest.mark.parametrize(("rows", "leaves"), [(10, 1), (11, 2)])
@pytest.mark.unmetered
def test_a_noisy_count_at_the_threshold_is_a_leaf(monkeypatch: pytest.MonkeyPatch, rows: int, leaves: int) -> None:
    """Nodes above the threshold are split; the scripted noise is zero."""
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size=None, rng=None: np.zeros(size or (), np.int64))
    shape = {"max_depth": 1, "test_from": 0, "threshold": 10, "axis": "widest", "bits": 2}
    made = dc.TreeSynopsis(6, (0, 1), "binary", n_rows=10, random_state=0, **shape).fit([[0.1]] * rows).synopsis_
    assert made.n_leaves == leaves
