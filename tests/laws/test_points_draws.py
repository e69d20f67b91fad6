"""Users who move get draws of their own, missing answers are drawn, and what is out of bounds counts as at them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.core.columns import Categorical
from discreet.core.domain import Box
from discreet.metric import NDLaplace, Trajectory
from discreet.metric.perturber import _respond
from discreet.metric.points.scaling import declared_scaling
from discreet.metric.users.trajectory import _Run


def start(users: int) -> _Run:
    plan = Trajectory(NDLaplace(epsilon=1, radius=0.1, domain=(0, 1)), threshold=0.3, test_epsilon=2, budget=100)
    numbers, price = plan._drawing(dc.Domain.box(0, [1, 1]))
    return _Run(plan, numbers, price, users)


def test_a_place_at_the_threshold_is_not_far(monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(2)
    run.draws[:], run.last[:] = 1, 0.5
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size, rng: np.zeros(size, np.int64))
    monkeypatch.setattr(_Run, "_far_counts", lambda self, rows, last: np.array([run._threshold, run._threshold + 1]))
    drawn, _ = run.step(np.full((2, 2), 0.5), np.arange(2), noise.generator(1))
    assert drawn.tolist() == [False, True]


def test_users_at_one_place_report_places_of_their_own() -> None:
    run = start(8)
    run.step(np.full((8, 2), 0.5), np.arange(8), noise.generator(1))
    assert len(np.unique(run.last, axis=0)) > 1


def test_a_missing_category_is_answered_with_any() -> None:
    column = Categorical("job", ["cook", "smith", "nurse"])
    answers = _respond(np.full(64, np.nan), column, Fraction(50), noise.generator(1))
    assert set(answers) == {"cook", "smith", "nurse"}


def test_rows_out_of_bounds_are_scaled_as_if_at_them() -> None:
    scaling = declared_scaling("box", Box([0], [10]))
    far, near = (scaling.forward(np.array(rows)) for rows in ([[99.0], [-5.0]], [[10.0], [0.0]]))
    assert far.tolist() == near.tolist()
