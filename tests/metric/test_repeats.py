"""Repeated reports: the ledger of many users, and trajectories whose cost is what their transcript says."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import FormatError, InvalidArgument, InvalidType
from discreet.metric import NDLaplace, SphericalLaplace, Trajectory, UserLedger, great_circle
from discreet.metric.geometry.laws import AxesLatticeLaw
from discreet.metric.trajectory import _UsersSoFar

# ---- the ledger of many users


def test_repeats_add_up_exactly() -> None:
    ledger = UserLedger(lifetime=1)
    for _ in range(10):
        ledger.charge([1, 2], 0.1)
    assert ledger.exact(1) == 1
    with pytest.raises(dc.errors.BudgetExceeded, match="0 of 1 left for life"):
        ledger.charge([2, 3], 0.1)
    assert ledger.spent([1, 2, 3]).tolist() == [1, 1, 0]
    ledger.charge([3, 3], Fraction(1, 3))
    assert ledger.exact(3) == Fraction(2, 3)
    assert ledger.users.tolist() == [1, 2, 3]


def test_it_agrees_with_a_table_kept_by_hand() -> None:
    rng = np.random.default_rng(0)
    ledger, by_hand = UserLedger(lifetime=3), dict.fromkeys(range(50), Fraction(0))
    for _ in range(60):
        who, price = rng.integers(0, 50, 40), Fraction(int(rng.integers(1, 9)), int(rng.integers(7, 99)))
        fits = ledger.allowed(who, price)
        expected, now = [], by_hand.copy()
        for user in who.tolist():
            expected.append(now[user] + price <= 3)
            now[user] += price if expected[-1] else 0
        assert fits.tolist() == expected
        if not fits.all():
            with pytest.raises(dc.errors.BudgetExceeded):
                ledger.charge(who, price)
        if fits.any():
            ledger.charge(who[fits], price)
        by_hand = now
    assert all(ledger.exact(user) == spent for user, spent in by_hand.items())


def test_periods_have_limits_of_their_own() -> None:
    ledger = UserLedger(lifetime=3, per_period=1)
    ledger.charge(["a", "b"], 1, period="monday")
    with pytest.raises(dc.errors.BudgetExceeded, match="0 of 1 left in period 'monday'"):
        ledger.charge(["a"], 0.5, period="monday")
    ledger.charge(["a"], 1, period="tuesday")
    assert ledger.spent(["a", "b"], period="tuesday").tolist() == [1, 0]
    assert ledger.allowed(["a", "a", "b", "c"], 0.5, period="wednesday").tolist() == [True, True, True, True]
    with pytest.raises(dc.errors.InvalidType, match="period"):
        ledger.charge(["a"], 0.5)


@pytest.mark.parametrize("price", [0.5, Fraction(1, 3**50)])
def test_it_is_saved_and_read_back(tmp_path: Path, price: Any) -> None:
    ledger = UserLedger(lifetime=3, per_period=2)
    ledger.charge(["zoe", "ann", "zoe"], price, period="may", metric="metres")
    ledger.save(tmp_path / "ledger.json")
    again = UserLedger.load(tmp_path / "ledger.json")
    assert again.to_json() == ledger.to_json()
    assert again.exact("zoe") == 2 * Fraction(price)
    again.charge(["ann"], price, period="june")
    facts = json.loads(ledger.to_json())
    for change in (
        {"format": "x"},
        {"lifetime": "-1"},
        {"spent": {"": [["a"], []]}},
        {"spent": {"": [["b", "a"], "11"]}},
    ):
        with pytest.raises(dc.errors.FormatError):
            UserLedger.from_json(json.dumps({**facts, **change}))
    with pytest.raises(dc.errors.DataSourceError):
        UserLedger.load(tmp_path / "nothing.json")


def test_perturbers_charge_before_they_draw() -> None:
    table = pd.DataFrame({"x": [0.1, 0.2, 0.3], "y": [0.5, 0.5, 0.5], "c": ["u", "v", "u"]})
    domain = {"x": (0, 1), "y": (0, 1), "c": ["u", "v"]}
    stream = dc.noise.generator(5)
    mechanism = NDLaplace(1, 0.1, domain, category_epsilon=0.5, random_state=stream)
    ledger = UserLedger(lifetime=4)
    mechanism.transform(table, users=pd.Series([7, 7, 8]), ledger=ledger)
    assert ledger.spent([7, 8]).tolist() == [3, 1.5]
    assert any("at most 4 together" in a for a in mechanism.guarantee_.assumptions)
    position = stream.bytes(8).tolist()
    fresh = dc.noise.generator(5)
    NDLaplace(1, 0.1, domain, category_epsilon=0.5, random_state=fresh).transform(table)
    assert fresh.bytes(8).tolist() == position
    with pytest.raises(dc.errors.BudgetExceeded):
        mechanism.transform(table, users=[7, 8, 9], ledger=ledger)
    assert stream.bytes(8).tolist() == fresh.bytes(8).tolist()  # nothing was drawn
    assert ledger.spent([7, 8, 9]).tolist() == [3, 1.5, 0]


@pytest.mark.parametrize(
    ("users", "ledger", "message"),
    [
        ([1], UserLedger(5), "users must be one per row"),
        (None, UserLedger(5), "users must be"),
        ([1, 2], None, "ledger must be"),
        ([1.5, 2.0], UserLedger(5), "users must be"),
        ([None, "a"], UserLedger(5), "users must be"),
    ],
)
def test_what_is_wrong_is_named(users: Any, ledger: Any, message: str) -> None:
    with pytest.raises(dc.errors.InvalidArgument, match=message):
        NDLaplace(1, 0.1, (0, 1)).transform(np.zeros((2, 1)), users=users, ledger=ledger)


def test_one_ledger_has_one_metric() -> None:
    ledger, rows = UserLedger(lifetime=9), np.zeros((1, 2))
    NDLaplace(1, 0.1, (0, 1)).transform(rows, users=[1], ledger=ledger)
    NDLaplace(2, 0.1, (0, 1)).transform(rows, users=[1], ledger=ledger)
    for other in (NDLaplace(1, 0.2, (0, 1)), NDLaplace(1, 0.1, (0, 5)), SphericalLaplace(1, 0.1)):
        with pytest.raises(dc.errors.InvalidArgument, match="amounts at other distances"):
            other.transform(rows, users=[1], ledger=ledger)
    with pytest.raises(dc.errors.InvalidArgument, match="finite"):
        NDLaplace(math.inf, 0.1, (0, 1)).transform(rows, users=[1], ledger=ledger)
    assert ledger.exact(1) == 3


# ---- trajectories


def walk(users: int, times: int, seed: int = 0, move: float = 0.002) -> Any:
    rng = np.random.default_rng(seed)
    return np.clip(0.5 + np.cumsum(rng.normal(0, move, (users, times, 2)), axis=1), 0, 1)


def test_people_who_stay_pay_little() -> None:
    mechanism = NDLaplace(epsilon=1, radius=0.02, domain=(0, 1), random_state=1)
    report = Trajectory(mechanism, threshold=0.15, test_epsilon=Fraction(1, 2), budget=1000).report(walk(300, 40))
    assert report.places.shape == (300, 40, 2)
    assert report.fresh[:, 0].all()
    assert report.tested[:, 1:].all()
    assert not report.tested[:, 0].any()
    assert np.array_equal(report.draws, report.fresh.sum(axis=1))
    assert np.array_equal(report.tests, report.tested.sum(axis=1))
    assert report.exact(3) == Fraction(39, 2) + int(report.fresh[3].sum())
    assert report.spent.mean() < 0.75 * 40  # forty fresh places would cost 40
    same = report.places[:, 1:] == report.places[:, :-1]
    assert np.array_equal(~same.all(axis=2), report.fresh[:, 1:])


def test_the_budget_ends_by_a_public_rule() -> None:
    mechanism = NDLaplace(epsilon=1, radius=0.05, domain=(0, 1), random_state=2)
    plan = Trajectory(mechanism, threshold=0.05, test_epsilon=0.1, budget=5.3)
    report = plan.report(walk(200, 60, move=0.1))
    assert max(report.exact(i) for i in range(200)) <= Fraction("5.3")
    for i in range(200):
        spent, ended = Fraction(0), False
        for t in range(60):
            affordable = spent + Fraction(11, 10) <= Fraction("5.3")
            if t:
                assert report.tested[i, t] == affordable
                ended = ended or not affordable
            if ended:
                assert not report.fresh[i, t]
                assert (report.places[i, t] == report.places[i, t - 1]).all()
            spent += Fraction(1, 10) * int(report.tested[i, t]) + int(report.fresh[i, t])
        assert spent == report.exact(i)
    assert report.guarantee.epsilon == 5.3
    assert report.guarantee.unit == "one user's trajectory"


def test_the_test_says_yes_as_often_as_its_law() -> None:
    mechanism = NDLaplace(epsilon=1, radius=0.1, domain=(0, 1), random_state=4)
    plan = Trajectory(mechanism, threshold=0.3, test_epsilon=2, budget=100)
    numbers, price = plan._drawing(dc.Domain.box(0, [1, 1]))
    n = 40_000
    run = _UsersSoFar(plan, numbers, price, n)
    run.draws[:] = 1
    run.last[:] = 0.5
    for distance in (0.2, 0.3, 0.35, 0.45):
        rows = np.repeat([[0.5 + distance, 0.5]], n, axis=0)
        run.last[:] = 0.5
        drawn, tested = run.step(rows, np.arange(n), dc.noise.generator(7))
        assert tested.all()
        law = dc.noise.DiscreteLaplace(run._tests.scale)
        count = int(run._far_counts(rows[:1], np.array([[0.5, 0.5]]))[0])
        chance = law.sf(run._threshold - count)  # noise above what is left
        assert drawn.mean() == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / n) + 1e-9)


@pytest.mark.parametrize("kind", ["plane", "sphere"])
def test_the_test_is_as_sensitive_as_charged(kind: str) -> None:
    """The counts of two places D apart differ by at most D/g + 2, for random pairs and last reports."""
    rng = np.random.default_rng(3)
    if kind == "plane":
        mechanism: Any = NDLaplace(epsilon=1, radius=0.1, domain=(0, 1))
        domain, scale = dc.Domain.box(0, [1, 1]), 1.0
        a, last = rng.random((5000, 2)), rng.normal(0.5, 0.7, (5000, 2))
        b = np.clip(a + rng.normal(0, 0.05, a.shape), 0, 1)
        apart = np.linalg.norm(a - b, axis=1)
    else:
        mechanism = SphericalLaplace(epsilon=1, radius=200)
        domain, scale = dc.Domain.box([-90, -180], [90, 180]), 1000.0
        a = np.stack([rng.uniform(-89.9, 89.9, 5000), rng.uniform(-180, 180, 5000)], axis=1)
        b, last = (np.clip(a + rng.normal(0, s, a.shape), [-90, -180], [90, 180]) for s in (1e-3, 1e-2))
        apart = great_circle(a, b)
    plan = Trajectory(mechanism, threshold=scale, test_epsilon=1, budget=100)
    numbers, price = plan._drawing(domain)
    run = _UsersSoFar(plan, numbers, price, 1)
    difference = np.abs(run._far_counts(a, last) - run._far_counts(b, last))
    assert (difference <= apart / float(plan._step) + 2).all()
    assert difference.max() > 10
    assert run._tests.scale == (plan._radius / plan._step + 2) / plan.test_epsilon


def test_tables_with_users_of_many_lengths() -> None:
    who = np.array(["a", "b", "a", "c", "a", "b"])
    frame = pd.DataFrame({"lat": 50.0, "lon": np.linspace(4, 4.001, 6)}, index=[5, 6, 7, 8, 9, 10])
    mechanism = SphericalLaplace(1, 100, {"lat": (-90, 90), "lon": (-180, 180)}, random_state=3)
    ledger = UserLedger(lifetime=25)
    plan = Trajectory(mechanism, threshold=5000, test_epsilon=1, budget=20)
    report = plan.report(frame, who, ledger=ledger, order="input")
    assert report.users.tolist() == ["a", "b", "c"]
    assert report.fresh.tolist() == [True, True, False, True, False, False]
    assert report.tests.tolist() == [2, 1, 0]
    assert report.places.index.tolist() == list(range(6))  # the index was not declared
    assert report.places.iloc[2].tolist() == report.places.iloc[0].tolist()
    assert ledger.spent(["a", "b", "c"]).tolist() == [20, 20, 20]
    with pytest.raises(dc.errors.BudgetExceeded):
        plan.report(frame, who, ledger=ledger)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": 3}, "mechanism must be"),
        ({"threshold": 0}, "threshold must be"),
        ({"test_epsilon": -1}, "test_epsilon must be"),
        ({"budget": 0.5}, "budget must be at least what the first place costs, 1"),
        ({"mechanism": NDLaplace(math.inf, 1, (0, 1))}, "finite in a trajectory's mechanism"),
        ({"mechanism": NDLaplace(1, 1, {"x0": ["a", "b"], "x1": (0, 1)}, category_epsilon=1)}, "numeric columns only"),
    ],
)
def test_a_wrong_plan_is_named(change: dict[str, Any], message: str) -> None:
    settings = {"mechanism": NDLaplace(1, 0.1, (0, 1)), "threshold": 1, "test_epsilon": 1, "budget": 5, **change}
    with pytest.raises(dc.errors.DiscreetError, match=message):
        Trajectory(**settings).report(np.zeros((2, 2)))


def test_huge_denominators_stay_exact() -> None:
    point, test = Fraction(3**40 + 1, 3**40), Fraction(7**25 + 1, 7**26)
    mechanism = NDLaplace(epsilon=point, radius=0.1, domain=(0, 1), random_state=2)
    report = Trajectory(mechanism, threshold=0.1, test_epsilon=test, budget=4 * point + 3 * test).report(walk(5, 30))
    assert max(report.exact(i) for i in range(5)) <= 4 * point + 3 * test
    assert 4 * point + 3 * test - min(report.exact(i) for i in range(5)) < point + test


def test_a_user_ledger_refuses_what_it_cannot_count_and_reads_what_it_wrote() -> None:
    ledger = UserLedger(10)
    for price in (0, -1):
        with pytest.raises(dc.errors.InvalidArgument, match="epsilon"):
            ledger.charge(["ann"], price)
    with pytest.raises(dc.errors.InvalidType, match="whole numbers"):
        ledger.charge(np.array([2**63], np.uint64), 1)  # would be read as a negative number
    ledger.charge(np.array([2**63 - 1], np.uint64), 1)
    assert ledger.users.tolist() == [2**63 - 1]
    new = UserLedger.from_json(UserLedger(10).to_json())
    assert new.spent().tolist() == []


def test_a_user_ledger_has_names_of_one_kind() -> None:
    """Otherwise 7 and "7" would be two people, each with a budget."""
    ledger = UserLedger(10)
    ledger.charge([7, 8], 1)
    for ask in (lambda: ledger.charge(["7"], 1), lambda: ledger.allowed(["7"], 1), lambda: ledger.spent(["7"])):
        with pytest.raises(dc.errors.InvalidType, match="as before in this ledger"):
            ask()
    assert ledger.spent([7]).tolist() == [1.0]


def test_a_trajectory_states_the_level_of_the_whole() -> None:
    plan = Trajectory(NDLaplace(1, 0.1, (0, 1), random_state=1), threshold=1, test_epsilon=0.1, budget=8)
    facts = plan.report(np.full((3, 2), 0.5)).guarantee.parameters
    assert facts["epsilon_at_diameter"] == pytest.approx(8 * math.sqrt(2) / 0.1)
    assert facts["point_rate"] == 10
    assert "rate" not in facts


def test_trajectories_of_one_column_and_of_files() -> None:
    plan = Trajectory(NDLaplace(1, 0.1, {"x0": (0, 1)}, random_state=1), threshold=1, test_epsilon=0.1, budget=8)
    found = plan.report(np.zeros(4))
    assert found.places.shape == found.fresh.shape == (4,)
    with pytest.raises(InvalidType, match="X must be"):
        plan.report("people.csv")


def test_a_trajectory_needs_distances_that_doubles_can_tell() -> None:
    # Places at distance 1e-17 of each other are the same or 1e-16 apart, seen from the middle of the box.
    plan = Trajectory(NDLaplace(1e-6, 1e-17, (0, 1)), threshold=1e-16, test_epsilon=0.2, budget=6)
    with pytest.raises(InvalidArgument, match="radius must be larger"):
        plan.report(np.zeros((4, 2)))


def test_a_ledger_tells_radii_apart_that_look_alike() -> None:
    ledger = UserLedger(lifetime=10)
    NDLaplace(1, 0.1, (0, 1)).transform(np.zeros((1, 2)), users=["ann"], ledger=ledger)
    with pytest.raises(InvalidArgument, match="ledger"):
        NDLaplace(1, 0.1000000001, (0, 1)).transform(np.zeros((1, 2)), users=["ann"], ledger=ledger)


def test_a_ledger_reads_whole_units_only() -> None:
    ledger = UserLedger(lifetime=10)
    ledger.charge(["ann"], 0.5)
    text = ledger.to_json()
    for change in (text.replace('["1"]', '["1/2"]'), text.replace('"denominator": "2"', '"denominator": "1/2"')):
        assert change != text
        with pytest.raises(FormatError, match="whole number of units"):
            UserLedger.from_json(change)


@pytest.mark.parametrize("users", [None, [1, 2]])
def test_a_ledger_of_a_table_is_refused_where_users_are_charged(users: Any, tmp_path: Path) -> None:
    noise, rows = NDLaplace(1, 0.1, {"x": (0, 1), "y": (0, 1)}), np.zeros((2, 2))
    for call in (noise.transform, lambda X, **more: noise.transform_file(X, tmp_path / "noisy.csv", **more)):
        with pytest.raises(InvalidType, match="ledger must be a UserLedger, with users, got 'Ledger'"):
            call(rows, users=users, ledger=dc.Ledger(epsilon=5))


def test_the_noise_of_a_test_is_discrete_laplace_of_the_priced_scale_and_new_for_every_user() -> None:
    """Mean |x| of discrete Laplace noise of scale s is 1/sinh(1/s); 4.5 standard errors, once in 150,000 seeds."""
    law = AxesLatticeLaw(Fraction(1), Fraction(20), Fraction(20))
    drawn = law.draw(np.zeros((20_000, 1), np.int64), dc.noise.generator(1)).ravel()
    expected = 1 / math.sinh(1 / 20)
    assert abs(np.abs(drawn).mean() - expected) < 4.5 * np.abs(drawn).std() / math.sqrt(len(drawn))
    assert abs(np.abs(drawn).mean() - expected) < 0.1 * expected
    assert len(np.unique(drawn)) > 50
    assert law.price == 1
