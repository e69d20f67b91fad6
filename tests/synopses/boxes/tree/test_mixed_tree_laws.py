"""Trees whose levels are cut in different ways: every path spends ε, and the whole law says so."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from choice_law import law
from discreet import noise
from discreet.core.budget.prices import Epsilon
from discreet.mechanisms import PrivTreeRule, gate
from discreet.noise.choice._scaled_kernels import sums_of
from scripted_noise import Script, law_of

SHAPE: dict[str, Any] = {"axis": "widest", "bits": 2, "n_rows": 4, "random_state": 0}


class Cuts(Script):
    """Noise and medians that take all values in turn."""

    def joint_cuts(self, runs: Any, n_cuts: int, epsilon: Any, stream: Any) -> Any:
        """Medians of boxes with more than one line; of others there is nothing to choose, and no one asks."""
        assert n_cuts == 1
        lines = []
        for box in range(len(runs.n_lines)):
            one = runs.only(np.arange(len(runs.n_lines)) == box)
            assert one.n_lines[0] > 2
            chances = law(sums_of(one.median_weights(epsilon)))
            runs_of_one = zip(one.first, one.size, chances, strict=True)
            each = {int(first + k): p / size for first, size, p in runs_of_one for k in range(size)}
            line = self._next(sorted(each))
            self.log_chance += math.log(each[line])
            lines.append([line])
        return np.array(lines, np.int64).reshape(-1, 1)


OTHERS = (
    pytest.param(levels, marks=pytest.mark.slow)
    for levels in (("binary", "median"), ("median", "median", "binary"), ("median", "uniform"))
)


@pytest.mark.parametrize("levels", [("median", "binary"), ("uniform", "binary"), *OTHERS])
def test_a_mixed_tree_loses_epsilon_and_no_more(monkeypatch: pytest.MonkeyPatch, levels: tuple[str, ...]) -> None:
    """All outcomes of all draws on two neighbouring tables, with cuts, stop counts and leaves."""

    def fit(X: Any) -> str:
        made = dc.TreeSynopsis(6, (0, 1), list(levels), max_depth=len(levels), test_from=1, **SHAPE).fit(X).synopsis_
        assert made.guarantee.epsilon == 6
        return f"{made.n_leaves} {made.digest} {made.tree.lower.tolist()}"

    some = (-2, 40) if "uniform" in levels else (-2, 3)  # so many rows are worth a grid of four

    def values(shifts: tuple[int, ...], sign: int) -> Any:
        return lambda kind, draw: sorted({sign * (v - m) for v in (some if draw < 1 else (0,)) for m in shifts})

    few, more = np.array([[0.3]]), np.array([[0.6], [0.3]])
    worst = 0.0
    for X, other, sign in ((few, more, 1), (more, few, -1)):
        laws = []
        for table, shifts in ((X, (0,)), (other, (0, 1))):
            script = Cuts(values(shifts, sign))
            with monkeypatch.context() as patch:
                patch.setattr(gate, "joint_cuts", script.joint_cuts)
                laws.append(law_of(fit, table, script))
        worst = max(worst, *(abs(p - laws[1].get(outcome, -math.inf)) for outcome, p in laws[0].items()))
    assert 5 < worst <= 6 + 1e-9


@pytest.mark.unmetered
def test_a_privtree_below_other_levels_starts_afresh_in_each_of_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its law is that of a PrivTree (`test_trees.py`) whose root is released: no bias there, and its share's scale."""
    drawn, depths = [], []

    def scripted(scale: Any, size: Any, rng: object = None) -> Any:
        drawn.append((Fraction(scale), int(np.prod(size))))
        return np.full(size, 10**6)

    def biased(self: Any, counts: Any, depth: int) -> Any:
        depths.append(depth)
        return np.asarray(counts)

    monkeypatch.setattr(noise, "discrete_laplace", scripted)
    monkeypatch.setattr(PrivTreeRule, "biased", biased)
    X = np.linspace(0, 1, 50)[:, np.newaxis]
    shares = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    shape = {**SHAPE, "bits": 6, "shares": [float(s) for s in shares]}
    made = dc.TreeSynopsis(4, (0, 1), ["median", "median", "privtree"], max_depth=4, **shape).fit(X).synopsis_
    assert depths == [0, 1]
    assert [size for _, size in drawn] == [4, 8, made.n_leaves]
    assert {scale for scale, _ in drawn[:2]} == {PrivTreeRule.for_budget(Epsilon(1), 2).scale}
    assert drawn[2][0] == pytest.approx(1 / 2, rel=1e-8)  # what is left: two of four, and what rounding left over
    lines = [(line.label, float(line.amount)) for line in made.guarantee.ledger]
    assert [name for name, _ in lines] == [
        "splits at depth 0", "splits at depth 1", "structure of the tree", "counts of the leaves"
    ]  # fmt: skip
    assert sum(price for _, price in lines) == pytest.approx(4, abs=1e-12)


def test_grids_below_other_levels_pay_for_their_counts_and_follow_them() -> None:
    """Without noise the size is known: AD = floor((ε c / 10)^(2/3)) parts; where that is 1, a half."""
    X = np.concatenate([np.full(400, 0.2), np.full(3, 0.9)])[:, np.newaxis]
    shape = {**SHAPE, "bits": 8, "test_from": 2, "shares": (0, 1, 1)}
    made = dc.TreeSynopsis(2000, (0, 1), ["binary", "uniform"], max_depth=2, **shape).fit(X).synopsis_
    labels = {line.label: float(line.amount) for line in made.guarantee.ledger}
    assert labels["splits at depth 1"] == pytest.approx(1000)
    assert "splits at depth 0" not in labels  # halves are free
    left = int((made.upper[:, 0] <= 0.5).sum())
    assert left == min(128, int((1000 * 400 / 10) ** (2 / 3)))  # a half has 128 cells
    assert made.n_leaves - left == int((1000 * 3 / 10) ** (2 / 3))
    few = dc.TreeSynopsis(2, (0, 1), ["binary", "uniform"], max_depth=2, **shape).fit(X[-3:]).synopsis_
    assert few.n_leaves == 4
    assert few.guarantee.epsilon == 2


@pytest.mark.parametrize("levels", [["uniform", "binary"], ["quantile", "uniform", "privtree"], ["median", "uniform"]])
@pytest.mark.parametrize("budget", [{"epsilon": 0.7}, {"epsilon": None, "rho": 0.05, "delta": 1e-6}], ids=["ε", "ρ"])
def test_a_list_with_grids_spends_its_budget_and_tests_below_the_grid(
    levels: list[str], budget: dict[str, Any]
) -> None:
    X = np.random.default_rng(0).random((2000, 2)) ** 2
    for depth in (4, "auto"):
        model = dc.TreeSynopsis(domain=(0, 1), partitioner=levels, max_depth=depth, random_state=1, **budget).fit(X)
        made, told = model.synopsis_, model.guarantee_
        assert made.total == pytest.approx(2000, abs=400)
        assert told.parameters["partitioner"] == levels
        assert told.parameters["test_from"] == levels.index("uniform") + 1
        if budget["epsilon"]:
            assert told.epsilon == 0.7
            assert sum(line.amount for line in told.ledger) == Fraction(0.7).limit_denominator(10)


def test_a_grid_among_untested_levels_fits_the_memory() -> None:
    X = np.random.default_rng(0).random((2000, 3))
    shape: dict[str, Any] = {"max_depth": 6, "test_from": 6, "shares": (0, 1, 1), "max_memory": 0.001}
    made = dc.TreeSynopsis(1e6, (0, 1), ["uniform", "binary"], random_state=0, **shape).fit(X)
    assert made.guarantee_.parameters["stopped_at"] < 6
    assert made.synopsis_.n_leaves * 40 < 0.001 * 2**30


def test_uniform_noise_of_a_mixed_tree_is_that_of_its_own_levels() -> None:
    """One name in a list is that name; several of the same cut the same tree."""
    X = np.random.default_rng(0).random((300, 2))
    one = dc.TreeSynopsis(1, (0, 1), "median", max_depth=3, axis="widest", random_state=1).fit(X).synopsis_
    listed = dc.TreeSynopsis(1, (0, 1), ["median"], max_depth=3, axis="widest", random_state=1).fit(X).synopsis_
    thrice = dc.TreeSynopsis(1, (0, 1), ["median"] * 3, max_depth=3, axis="widest", random_state=1).fit(X).synopsis_
    assert one.digest == listed.digest
    assert np.array_equal(one.weights, thrice.weights)
    assert np.array_equal(one.lower, thrice.lower)
