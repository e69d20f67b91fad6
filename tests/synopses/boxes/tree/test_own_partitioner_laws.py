"""Counts that a custom partitioner asks for have the noise it pays for, and boxes are answered one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import Domain, engines, noise
from discreet.core.arrays import IntArray
from discreet.core.budget.prices import Epsilon
from discreet.engines.readers import RowCells
from discreet.synopses import OwnPartitioner, TreeSynopsis
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.own import Offers, OwnCuts
from gates import gate_of
from scripted_noise import worst_loss

DOMAIN = Domain({"x": (0, 8), "y": (0, 8)})
#: Halves of the box x < 4 are in the cells y = 0 and y = 2, those of the box x >= 4 in y = 5 and y = 7.
ROWS = np.array([[1.0, 0.5]] * 4 + [[1.0, 2.5]] * 4 + [[6.0, 5.5]] * 3 + [[6.0, 7.5]] * 3)
BUDGET = Fraction(3, 2)


def offered(budget: Fraction = BUDGET) -> tuple[Offers, IntArray]:
    tree = GrowingTree(DOMAIN, 3)
    nodes = tree.cut(np.array([0]), np.array([0]), np.array([4]), np.array([1]))
    cuts = OwnCuts(tree, RowCells(engines.open(ROWS, DOMAIN), DOMAIN, 3), OwnPartitioner())
    cuts._nodes = nodes
    return Offers(cuts, nodes, gate_of(Epsilon(budget))), np.ones(2, np.int64)


class Stops(OwnPartitioner):
    """Ends growth in the right half at an untested level, and below by the noisy count, not by the threshold."""

    def cut(self, boxes: Any, offers: Any) -> Any:
        return offers.middles(np.zeros_like(boxes.depth))

    def keep(self, boxes: Any, passed: Any) -> Any:
        return np.where(boxes.depth < 2, (boxes.lower[:, 0] == 0) | (boxes.depth < 1), boxes.estimate > 1)


@pytest.mark.parametrize("row", [0.1, pytest.param(0.9, marks=pytest.mark.slow)])
def test_a_tree_with_a_stop_rule_of_its_own_loses_epsilon_and_no_more(row: float) -> None:
    """All outcomes of all draws on two neighbouring tables."""

    def fit(X: Any) -> str:
        tree = TreeSynopsis(2, (0, 1), Stops(), max_depth=3, test_from=2, bits=3, n_rows=4, threshold=9, random_state=0)
        made = tree.fit(X).synopsis_
        return f"{made.weights.tolist()} {made.tree.lower.tolist()}"

    worst = worst_loss(fit, [[0.3]], [row], numbers=lambda draw: (-1, 2) if draw < 1 else (0,))
    assert 1.99 < worst <= 2 + 1e-9


@pytest.mark.unmetered
def test_every_count_has_noise_of_its_own_for_the_price_that_was_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def drawn(scale: Any, size: Any, rng: Any) -> IntArray:
        asked.append((Fraction(scale), int(np.prod(size))))
        return 100 * np.arange(asked[-1][1]).reshape(size)

    monkeypatch.setattr(noise, "discrete_laplace", drawn)
    offers, along_y = offered()
    counts = offers.counts(along_y, 2, Fraction(2, 3))
    assert asked == [(Fraction(3, 2), 4)]
    assert counts.tolist() == [[8, 100], [200, 306]]
    assert offers.epsilon == BUDGET - Fraction(2, 3)


def test_boxes_have_quantiles_of_their_own() -> None:
    """At ε = 1,000 a median is missed by one row with a chance below e^-100."""
    offers, along_y = offered(Fraction(1000))
    cuts = offers.quantiles(along_y, 1, Fraction(1000))
    assert cuts.numbers.tolist() == [1, 1]
    assert cuts.places[0] in (1, 2)
    assert cuts.places[1] in (6, 7)


def test_quantiles_cost_what_was_paid() -> None:
    offers, along_y = offered()
    offers.quantiles(along_y, 1, Fraction(1, 3))
    assert offers.epsilon == BUDGET - Fraction(1, 3)
