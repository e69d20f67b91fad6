"""Every path spends exactly what was given, whatever the rule; thresholds follow the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.core.budget.prices import Epsilon, Rho
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.tree.budgets import BUDGETS, LevelBudgets, auto_threshold, level_fractions
from gates import split_chance


@pytest.mark.parametrize(
    ("fan_out", "levels", "golden"),
    [
        (2, 4, [0.1710, 0.2155, 0.2715, 0.3420]),
        (2, 8, [0.0486, 0.0612, 0.0771, 0.0972, 0.1224, 0.1543, 0.1943, 0.2449]),
        (4, 4, [0.1098, 0.1743, 0.2767, 0.4392]),
    ],
)
def test_geometric_levels_have_the_published_fractions(fan_out, levels, golden):
    assert level_fractions("geometric", levels, fan_out) == pytest.approx(golden, abs=5e-5)


def test_linear_and_uniform_levels():
    assert level_fractions("linear", 3, 2) == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert level_fractions("uniform", 4, 2) == [0.25] * 4


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("paid", [True, False])
@pytest.mark.parametrize("first", [0, 3, 6])
@pytest.mark.parametrize("unit", [Epsilon, Rho])
@pytest.mark.parametrize("amount", [Fraction(1, 10), Fraction(97, 100), Fraction(7)])
def test_every_path_spends_exactly_all_of_it(kind, paid, first, unit, amount):
    whole = unit(amount)
    plan = LevelBudgets.make(
        whole, depth=6, first_test=first, shares=(0.15, 0.25, 0.6), kind=kind, fan_out=4, paid_splits=paid
    )
    for end in range(plan.depth + 1):
        for tested in (False, True) if end < plan.depth else (False,):
            here = [plan.tests[end]] if tested else []
            left = plan.left(end, tested=tested)
            assert sum([*plan.tests[:end], *plan.splits[:end], *here], left) == whole
            assert left
    assert not any(plan.tests[:first])
    assert all((t.amount / (amount / 2**32)).denominator == 1 for t in plan.tests + plan.splits)


def test_shares_are_moved_by_less_than_the_rounding():
    plan = LevelBudgets.make(
        Epsilon(1) / 10, depth=8, first_test=0, shares=(0.15, 0.25, 0.6), kind="geometric", fan_out=2
    )
    assert abs(plan.left(8).shown - 0.06) < 3e-9


def test_a_share_without_use_goes_to_the_others_in_proportion():
    plan = LevelBudgets.make(
        Epsilon(1), depth=4, first_test=0, shares=(0.15, 0.25, 0.6), kind="uniform", fan_out=2, paid_splits=False
    )
    assert sum(t.shown for t in plan.tests) == pytest.approx(0.2, abs=1e-8)
    assert not any(plan.splits)
    untested = LevelBudgets.make(Epsilon(1), depth=4, first_test=4, shares=(0.15, 0.25, 0.6), kind="uniform", fan_out=2)
    assert sum(t.shown for t in untested.splits) == pytest.approx(0.25 / 0.85, abs=1e-8)
    endless = Epsilon(math.inf)
    assert (
        LevelBudgets.make(endless, depth=2, first_test=0, shares=(1, 1, 1), kind="uniform", fan_out=2).left(2)
        == endless
    )


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.5, 0), (-0.1, 0.5, 0.5), "abc"])
def test_shares_that_leave_nothing_to_publish_are_refused(shares):
    with pytest.raises(InvalidArgument, match="shares"):
        LevelBudgets.make(Epsilon(1), depth=8, first_test=0, shares=shares, kind="uniform", fan_out=2)


def test_thresholds_are_the_smallest_that_bound_growth_from_nothing():
    table = {Fraction(1, 18): (12, 25), Fraction(1, 10): (7, 14), Fraction(1, 2): (1, 3), Fraction(2): (0, 0)}
    for epsilon, expected in table.items():
        price = Epsilon(epsilon)
        assert (auto_threshold(price, 2), auto_threshold(price, 4)) == expected
        for fan_out, limit in zip((2, 4), expected, strict=True):
            assert split_chance(0, limit, price) <= 1 / (2 * fan_out)
            assert limit == 0 or split_chance(0, limit - 1, price) > 1 / (2 * fan_out)
    assert auto_threshold(Epsilon(math.inf), 2) == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(4)])
def test_an_empty_node_and_one_with_a_row_are_cut_with_like_chances(epsilon):
    for limit in (-3, 0, 5, 40):
        for n in range(50):
            one, other = (split_chance(rows, limit, Epsilon(epsilon)) for rows in (n, n + 1))
            assert abs(math.log(other / one)) <= epsilon + 1e-12
            assert 1 - one <= (1 - other) * math.exp(epsilon) + 1e-13
