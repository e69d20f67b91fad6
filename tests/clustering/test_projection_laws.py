"""Clusters in many dimensions, the whole release: outcomes of all its steps, with their exact chance for neighbours.

Each step draws from a known law. Here it does not draw: a script sets the outcome, one of a few values that do not
depend on the rows, and the log of the chance of that outcome is worked out from the raw numbers, by formulas of this
file. All combinations are gone through, on tables that differ by one row each. Given the same outcomes the release must
be the same to the last bit, whatever the table; and its chance for neighbours may differ by no more than e^ε. In ρ the
squared shifts over noise variances add up to no more than 2ρ.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.clustering.central import lift
from discreet.core.domain import Domain
from discreet.engines.passes import lattice as passes
from discreet.engines.passes.lattice import BallPass
from discreet.engines.source import Source
from discreet.noise.vector import isotropic
from told_noise import told as told_sum

BOX = Domain.box([-1.0, -1.0], [1.0, 1.0])  # its middle is 0: one place to begin at
#: Neighbours one after the other: a corner, where rows move sums the most, and a place between.
ROWS = np.array([[1.0, 1.0], [-1.0, 0.5]])
#: What comes out of a step: cells of a quantile, values for every noisy count, multiples of the radius for every sum.
CUTS, COUNTS, SUMS = (1500, 3900), (0, 3), (-0.4, 1.1)


class Told:
    """Makes every step come out as told; keeps the log of the chance of it, and the shifts it is told of."""

    def __init__(self, patch: pytest.MonkeyPatch, choices: tuple[int, ...]) -> None:
        self.choices, self.step, self.log_chance = choices, 0, 0.0
        self.moved: list[tuple[np.ndarray, float]] = []  # raw numbers and noise variance of Gaussian steps
        self.pure: list[float] = []  # ε of the other steps
        real_sums = Source.ball_sums

        def ball_sums(source: Source, job: BallPass) -> np.ndarray:
            self._radius = job.radius
            return real_sums(source, job)

        def isotropic_laplace(rows: int, dimension: int, scale: Any, stream: Any) -> Any:
            wanted = self._sums((rows, dimension))
            # What a row moves, worked out here: its offset, and its count times its weight.
            self.pure.append(math.hypot(self._radius, self._radius // 4) / float(scale))

            def answer(raw: Any) -> Any:
                lengths = np.linalg.norm((wanted - raw).astype(float), axis=1)
                self.log_chance -= float(lengths.sum()) / float(scale)
                return wanted

            return told_sum((rows, dimension), answer)

        def discrete_gaussian(sigma: Any, size: Any, stream: Any) -> Any:
            # Sums are on a lattice that is finer by as much as its ball is larger.
            wanted = lift.BALL // self._radius * self._sums(size) if len(size) == 2 else self._counts(size)

            def answer(raw: Any) -> Any:
                self.moved.append((np.asarray(raw, float), float(sigma) ** 2))
                return wanted

            return told_sum(size, answer)

        def discrete_laplace(scale: Any, size: Any, stream: Any) -> Any:
            wanted = self._counts(size)
            self.pure.append(1 / float(scale))

            def answer(raw: Any) -> Any:
                self.log_chance -= float(np.abs(wanted - raw).sum()) / float(scale)
                return wanted

            return told_sum(size, answer)

        def quantiles(counts: Any, qs: Any, *, epsilon: Any, low: float, high: float, **more: Any) -> np.ndarray:
            cells, n_cells = more["cells"], more["n_cells"]
            found, (q,) = np.zeros(n_cells), qs
            np.add.at(found, np.asarray(cells), np.asarray(counts))
            below = np.cumsum(found)[:-1]  # rows left of cut 1, 2, ...
            logs = -float(epsilon) * np.abs(below - q * found.sum()) / (2 * max(q, 1 - q))
            cut = CUTS[self._next()]
            self.log_chance += float(logs[cut - 1] - np.logaddexp.reduce(logs))
            self.pure.append(float(epsilon))
            return np.array([low + cut / n_cells * (high - low)])

        patch.setattr(Source, "ball_sums", ball_sums)
        patch.setattr(isotropic, "isotropic_laplace", isotropic_laplace)
        patch.setattr(noise, "discrete_gaussian", discrete_gaussian)
        patch.setattr(noise, "discrete_laplace", discrete_laplace)
        patch.setattr(noise, "quantiles_from_counts", quantiles)

    def _sums(self, shape: tuple[int, ...]) -> np.ndarray:
        wanted = SUMS[self._next()] * self._radius * (1 + np.arange(math.prod(shape)) % 3)
        return wanted.astype(np.int64).reshape(shape)

    def _counts(self, shape: tuple[int, ...]) -> np.ndarray:
        return (COUNTS[self._next()] * (1 + np.arange(math.prod(shape)) % 2)).reshape(shape)

    def _next(self) -> int:
        self.step += 1
        return self.choices[self.step - 1] if self.step <= len(self.choices) else 0


def outcome(choices: tuple[int, ...], n: int, budget: dict[str, Any]) -> tuple[Told, str]:
    with pytest.MonkeyPatch.context() as patch:
        told = Told(patch, choices)
        model = dc.PrivateKMeans(2, domain=BOX, synopsis="lift", n_rows=10, n_init=1, random_state=1, **budget)
        return told, str(model.fit(ROWS[:n]).synopsis_.digest)


def all_outcomes(budget: dict[str, Any]) -> list[list[Told]]:
    """Return what was told of every table, for every way in which the steps may come out."""
    steps = outcome((), 0, budget)[0].step
    found = []
    for choices in itertools.product((0, 1), repeat=steps):
        made = [outcome(choices, n, budget) for n in range(len(ROWS) + 1)]
        assert {told.step for told, _ in made} == {steps}
        assert len({digest for _, digest in made}) == 1  # the release is a function of what came out
        found.append([told for told, _ in made])
    return found


def worst(found: list[list[Told]]) -> float:
    return max(abs(a.log_chance - b.log_chance) for tables in found for a, b in itertools.pairwise(tables))


@pytest.mark.parametrize(
    "noise_of_lift", [0.0, pytest.param(math.inf, marks=pytest.mark.slow)]
)  # means of k groups at once: five steps; lift, merge and a last step: seven
@pytest.mark.unmetered
def test_no_outcome_is_more_than_e_to_the_epsilon_times_as_likely_for_a_neighbour(
    noise_of_lift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lift, "LIFT_NOISE", noise_of_lift)
    found = all_outcomes({"epsilon": 2.0})
    assert len(found) == 2 ** (5 if noise_of_lift == 0 else 7)
    assert all(sum(told.pure) == pytest.approx(2.0) for tables in found for told in tables)
    assert 0.4 * 2.0 < worst(found) <= 2.0


@pytest.mark.parametrize("noise_of_lift", [0.0, pytest.param(math.inf, marks=pytest.mark.slow)])
@pytest.mark.unmetered
def test_squared_shifts_over_variances_are_at_most_what_is_paid_in_rho(
    noise_of_lift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lift, "LIFT_NOISE", noise_of_lift)
    found = all_outcomes({"epsilon": None, "rho": 0.5, "delta": 1e-6})
    losses = [
        sum(float(((x - y) ** 2).sum()) / (2 * v) for (x, v), (y, _) in zip(a.moved, b.moved, strict=True))
        + sum(epsilon**2 / 2 for epsilon in a.pure)
        for tables in found
        for a, b in itertools.pairwise(tables)
    ]
    assert all(len(told.moved) >= 2 for tables in found for told in tables)
    assert 0.5 * 0.5 < max(losses) <= 0.5 * (1 + 1e-9)


@pytest.mark.unmetered
def test_sums_clipped_to_a_larger_ball_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lift, "LIFT_NOISE", 0.0)
    kernel = passes._add_clipped
    monkeypatch.setattr(passes, "_add_clipped", lambda p, g, a, r, t: kernel(p, g, a, 4 * r, t))
    assert worst(all_outcomes({"epsilon": 2.0})) > 2.0


@pytest.mark.unmetered
def test_a_radius_that_looks_at_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lift, "LIFT_NOISE", 0.0)
    real = lift.OnLattice.radius

    def peeking(self: Any, label: str, groups: Any, *more: Any, **by: Any) -> int:
        rows = self.source.ball_sums(BallPass(groups, groups.centers, 64))[:, 0].sum()
        return real(self, label, groups, *more, **by) + int(rows)

    monkeypatch.setattr(lift.OnLattice, "radius", peeking)
    with pytest.raises(AssertionError):
        all_outcomes({"epsilon": 2.0})
