"""Users who move get draws of their own and all pay, missing answers are drawn, out of bounds counts as at them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.columns.kinds import Categorical
from discreet.core.domain import Box
from discreet.metric import NDLaplace, Trajectory, UserLedger
from discreet.metric.geometry.lattice import reading_of
from discreet.metric.geometry.scaling import declared_scaling
from discreet.metric.perturber import _respond
from discreet.metric.points.priv_unit import DirectionReports
from discreet.metric.sphere import globe
from discreet.metric.trajectory import _FAR, _UsersSoFar
from discreet.noise.reports.laws import Response


def start(users: int) -> _UsersSoFar:
    plan = Trajectory(NDLaplace(epsilon=1, radius=0.1, domain=(0, 1)), threshold=0.3, test_epsilon=2, budget=100)
    numbers, price = plan._drawing(dc.Domain.box(0, [1, 1]))
    return _UsersSoFar(plan, numbers, price, users)


def test_a_place_at_the_threshold_is_not_far(monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(2)
    run.draws[:], run.last[:] = 1, 0.5
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, rng: np.zeros(size, np.int64))
    monkeypatch.setattr(
        _UsersSoFar, "_far_counts", lambda self, rows, last: np.array([run._threshold, run._threshold + 1])
    )
    drawn, _ = run.step(np.full((2, 2), 0.5), np.arange(2), noise.generator(1))
    assert drawn.tolist() == [False, True]


def test_users_at_one_place_report_places_of_their_own() -> None:
    run = start(8)
    run.step(np.full((8, 2), 0.5), np.arange(8), noise.generator(1))
    assert len(np.unique(run.last, axis=0)) > 1


@pytest.mark.parametrize("remap", ["none", "resample"])
def test_rows_at_one_point_are_moved_to_points_of_their_own(remap: str) -> None:
    moved = NDLaplace(1, 0.1, (0, 1), remap=remap, random_state=4).fit_transform(np.full((64, 2), 0.5))
    assert len(np.unique(moved, axis=0)) == 64


def test_a_missing_category_is_answered_with_any() -> None:
    column = Categorical("job", ["cook", "smith", "nurse"])
    answers = _respond(np.full(64, np.nan), column, Response(Fraction(50), len(column.categories)), noise.generator(1))
    assert set(answers) == {"cook", "smith", "nurse"}


def test_rows_out_of_bounds_are_scaled_as_if_at_them() -> None:
    scaling = declared_scaling("box", Box([0], [10]))
    far, near = (scaling.forward(np.array(rows)) for rows in ([[99.0], [-5.0]], [[10.0], [0.0]]))
    assert far.tolist() == near.tolist()


@pytest.mark.parametrize(("low", "high"), [(0, 1.7e18), (-1.7e18, 0), (1, 1.7e18), (-1.7e18, 1.6e18)])
def test_large_numbers_are_read_as_coarsely_as_the_larger_end_of_their_column(low: float, high: float) -> None:
    """Doubles near 1.7e18 are 256 apart; what is read of two values is taken to move by one such step each."""
    assert reading_of(declared_scaling("none", Box([low], [high]))) == 2 * 256


@pytest.mark.parametrize("scaling", ["box", [2.0, 5.0, 0.5], [[1.0, -2.0, 0.5], [0.0, 3.0, -1.0], [-4.0, 1.0, 1.0]]])
def test_scaled_corners_hold_the_scaled_box_and_no_more(scaling: object) -> None:
    box = Box([-1, 0, 2], [1, 10, 2.5])
    declared = declared_scaling(scaling, box)
    ends = declared.apply(np.array(list(itertools.product(*zip(box.lower, box.upper, strict=True)))))
    low, high = declared.corners
    assert np.allclose(low, ends.min(axis=0), rtol=1e-12, atol=1e-12)
    assert np.allclose(high, ends.max(axis=0), rtol=1e-12, atol=1e-12)


def test_noisy_points_are_moved_back_into_the_box_where_that_is_asked_for() -> None:
    X = np.random.default_rng(0).uniform(-3, 5, (400, 2))
    free, held = (NDLaplace(1, 1, (-3, 5), remap=remap, random_state=4).fit_transform(X) for remap in ("none", "clip"))
    assert (np.abs(free - 1) > 4).any()
    assert held.tolist() == np.clip(free, -3, 5).tolist()


@pytest.mark.parametrize("d", range(1, 40))
def test_corners_are_lifted_onto_the_sphere_in_spite_of_rounding(d: int) -> None:
    """The squares of d numbers 1/√d add up to more than 1 in doubles for some d: what is left is no root of less."""
    reports = DirectionReports(Fraction(1), Box([-1] * d, [1] * d), lifted=True)
    lifted = reports._lift(np.array([[1.0] * d, [-1.0] * d, [0.0] * d])) / 2**30
    assert np.abs(np.linalg.norm(lifted, axis=1) - 1).max() < 1e-7
    assert (lifted[:, d] >= 0).all()
    assert lifted[2, d] == 1


def test_no_lattice_place_lies_beyond_a_pole() -> None:
    rows = np.array([[90.0, 10.0], [90.4, 10.0], [-91.0, -7.0], [89.0, 180.0]])
    assert globe.to_places(rows, 90).tolist() == [[90, 0], [90, 0], [-90, 0], [89, -180]]


def test_noisy_places_are_rounded_to_the_grid_of_the_box_and_not_beyond_it() -> None:
    box = Box([40, 170], [50, 180])
    rows = np.array([[39.0, 176.0], [51.0, 160.0], [44.0, -170.0], [44.0, 177.4], [90.0, -179.9]])
    assert globe.to_grid(rows, box, 3).tolist() == [[40, 175], [50, 170], [45, 180], [45, 175], [50, 180]]


def test_users_are_reported_in_an_order_that_says_nothing() -> None:
    """Twenty users: in their own order with a chance of 1/20!, for a fixed seed never."""
    X = np.random.default_rng(0).random((20, 3, 2))
    plan = Trajectory(NDLaplace(1, 0.1, (0, 1), random_state=3), threshold=0.3, test_epsilon=2, budget=100)
    mixed, held = plan.report(X), plan.report(X, order="input")
    assert held.users.tolist() == list(range(20))
    assert mixed.users.tolist() != list(range(20))
    assert sorted(mixed.users.tolist()) == list(range(20))
    assert mixed.places.tolist() == held.places[mixed.users].tolist()


def test_a_distance_counts_no_further_than_far() -> None:
    run = start(3)
    last = np.array([[0.0, 0.0], [0.3, 0.4], [1e6, 0.0]])
    counts = run._far_counts(np.zeros((3, 2)), last)
    assert counts.tolist() == [0, int(0.5 / run._step), run._threshold + _FAR]


def test_every_row_that_is_written_is_charged(tmp_path: Path) -> None:
    X, users = np.random.default_rng(0).random((5, 2)), ["ann", "bob", "ann", "cy", "ann"]
    ledger, mechanism = UserLedger(lifetime=3), NDLaplace(1, 0.1, (0, 1))
    mechanism.transform_file(X, tmp_path / "noisy.csv", users=users, ledger=ledger)
    assert [ledger.exact(user) for user in ("ann", "bob", "cy")] == [3, 1, 1]
    with pytest.raises(dc.errors.BudgetExceeded):
        mechanism.transform_file(X, tmp_path / "again.csv", users=users, ledger=ledger)
    assert not list(tmp_path.glob("*again*"))
