"""One row changes sums in many dimensions, and releases made from them, by no more than was paid for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.clustering.central import auto, lift
from discreet.core.budget.prices import Epsilon, Rho
from discreet.core.domain import Domain
from discreet.engines.passes import lattice as passes
from discreet.engines.passes.lattice import NORM_CELLS, REACH, BallPass, Groups, Lattice, NormMap
from discreet.mechanisms import Moves
from discreet.noise.vector import isotropic
from discreet.synopses.opening import OpenRelease
from gates import gate_of
from told_noise import told

# The sums


def share_of(row: np.ndarray, anchor: np.ndarray, radius: int) -> list[int]:
    """Return what a lattice point adds to its group: the count, then the clipped offset, as exact integers."""
    table = np.zeros((1, 1 + len(row)), np.int64)
    passes._add_clipped(row[np.newaxis], np.zeros(1, np.int64), anchor[np.newaxis], radius, table)
    return [int(x) for x in table[0]]


@pytest.mark.parametrize("d", [1, 2, 3, 17, 784])
@pytest.mark.parametrize("radius", [1, 2, 64, 99_991, REACH, 2 * REACH])
def test_an_offset_is_no_longer_than_the_radius_as_a_whole_number(d: int, radius: int) -> None:
    """At corners of the domain, just inside and outside the ball, along an axis and along diagonals."""
    rng = np.random.default_rng(d * radius)
    most = math.floor(REACH / math.sqrt(d))
    signs = rng.choice([-1.0, 1.0], (40, d))
    rows = [s * most for s in signs[:8]]
    rows += [np.rint(s * radius / math.sqrt(d)) + shift for s in signs[8:16] for shift in (-1.0, 0.0, 1.0)]
    rows += [np.eye(d)[0] * (radius + shift) for shift in (-1, 0, 1)]
    rows += [np.rint(rng.normal(size=d) * REACH / d) for _ in range(20)]
    anchors = [np.zeros(d), *(s * most for s in signs[16:20])]
    for row in rows:
        for anchor in anchors:
            count, *q = share_of(row, anchor, radius)
            assert count == 1
            assert sum(x * x for x in q) <= radius**2
            offset = row - anchor
            # Towards the anchor, and by less than a step where nothing is clipped.
            assert all(abs(x) <= abs(o) and x * o >= 0 for x, o in zip(q, offset, strict=True))
            if float(offset @ offset) <= radius**2:
                assert q == offset.tolist()


def test_rounding_to_nearest_would_be_too_long() -> None:
    """Why offsets are rounded towards the anchor: the corner of a ball of radius 2 in five dimensions."""
    row = np.full(5, 1000.0)
    nearest = np.rint(row * 2 / np.linalg.norm(row))
    assert float(nearest @ nearest) > 4
    assert sum(x * x for x in share_of(row, np.zeros(5), 2)[1:]) <= 4


def test_doubles_that_err_by_a_digit_are_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root that is too small lengthens offsets; the whole numbers say so, and are moved towards the anchor."""
    kernel = passes._add_clipped.py_func

    class Wrong:
        def __getattr__(self, name: str) -> Any:
            return (lambda x: np.sqrt(x) * 0.9) if name == "sqrt" else getattr(np, name)

    monkeypatch.setitem(kernel.__globals__, "np", Wrong())
    table = np.zeros((1, 4), np.int64)
    kernel(np.full((1, 3), 5e5), np.zeros(1, np.int64), np.zeros((1, 3)), 100_000, table)
    assert 0.9 * 100_000 < math.sqrt(sum(int(x) ** 2 for x in table[0, 1:])) <= 100_000


def test_a_row_changes_one_group_only() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 1.5, (200, 12))
    X[3, 4] = np.nan
    space = Lattice(Domain.box([0.0] * 12, 1.0))
    centers = space.points(rng.uniform(0, 1, (5, 12)))
    job = BallPass(Groups(space, centers), centers, 300_000)

    def table(rows: np.ndarray) -> np.ndarray:
        return dc.engines.open(rows).ball_sums(job)

    whole = table(X)
    assert whole[:, 0].sum() == 199
    for i in range(0, 200, 7):
        moved = whole - table(np.delete(X, i, axis=0))
        changed = np.flatnonzero(np.abs(moved).sum(axis=1))
        assert len(changed) == 1
        assert moved[changed[0], 0] == 1
        assert sum(int(x) ** 2 for x in moved[changed[0], 1:]) <= 300_000**2


# The whole release: the same transcript from a neighbouring table


class Replay:
    """Runs a release once, then on a neighbour with the noise that leads to the same noisy values.

    What follows must then be the same, to the last bit, or something else of the rows was looked at. The log of the
    ratio of both chances is added up: of discrete Laplace noise on counts, of isotropic noise on sums.
    """

    def __init__(self, patch: pytest.MonkeyPatch, radius: float) -> None:
        self.kept: list[Any] = []
        self.place, self.loss, self.again = 0, 0.0, False
        draw_vectors, draw_numbers = isotropic.isotropic_laplace, noise.discrete_laplace

        def vectors(rows: int, dimension: int, scale: Any, stream: Any) -> Any:
            drawn = draw_vectors(rows, dimension, scale, stream)

            def answer(raw: Any) -> Any:
                noisy = self._step(raw + drawn)
                before, after = noisy - self._last(raw), noisy - raw
                longer = np.linalg.norm(after, axis=1) - np.linalg.norm(before, axis=1)
                self.loss += float(longer.sum()) / float(scale)
                return noisy

            return told(drawn.shape, answer)

        def numbers(scale: Any, size: Any, stream: Any) -> Any:
            drawn = draw_numbers(scale, size, stream)

            def answer(raw: Any) -> Any:
                noisy = self._step(raw + drawn)
                before, after = noisy - self._last(raw), noisy - raw
                self.loss += float(np.abs(after).sum() - np.abs(before).sum()) / float(scale)
                return noisy

            return told(drawn.shape, answer)

        patch.setattr(isotropic, "isotropic_laplace", vectors)
        patch.setattr(noise, "discrete_laplace", numbers)
        # Quantiles are laws of their own (tests/noise/test_quantiles.py): here they are as they are, whatever the rows.
        patch.setattr(noise, "quantiles_from_counts", lambda *_, **__: np.array([math.log(radius)]))

    def _step(self, made: Any) -> Any:
        if not self.again:
            self.kept.append(made)
            return made
        self.place += 1
        return self.kept[self.place - 1]

    def _last(self, raw: Any) -> Any:
        if not self.again:
            self.raws = [*getattr(self, "raws", []), np.array(raw)]
            return raw
        return self.raws[self.place - 1]


def worst_loss(
    monkeypatch: pytest.MonkeyPatch, rows: Any, row: Any, radius: float, *, seeds: int, noise_of_lift: float
) -> tuple[float, float]:
    """Return the largest loss seen of sums and counts, and what they cost."""
    worst = paid = 0.0
    monkeypatch.setattr(lift, "LIFT_NOISE", noise_of_lift)
    for seed in range(seeds):
        with monkeypatch.context() as patch:
            replay = Replay(patch, radius)
            digests = []
            for X in (rows, np.vstack([row, rows])):
                domain = Domain.box([0.0] * rows.shape[1], 1.0)
                made = dc.PrivateKMeans(2, 1.0, domain, "lift", n_rows=10, n_init=1, random_state=seed).fit(X)
                digests.append(made.synopsis_.digest)
                replay.again = True
            assert replay.place == len(replay.kept)
            assert digests[0] == digests[1]
            worst = max(worst, abs(replay.loss))
            lines = {line.label: float(line.amount) for line in made.guarantee_.ledger}
            paid = sum(amount for label, amount in lines.items() if not label.startswith("radius"))
            assert sum(lines.values()) == pytest.approx(1.0)
    return worst, paid


@pytest.mark.parametrize("noise_of_lift", [0.0, math.inf])  # means of k groups at once; lift, merge and steps
@pytest.mark.parametrize("row", [[1.0, 1.0, 1.0], [0.0, 1.0, 0.5]])
@pytest.mark.parametrize("n", [0, 6])
def test_a_release_loses_what_its_ledger_says_and_looks_at_nothing_else(
    n: int, row: list[float], noise_of_lift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(1).uniform(0, 1, (n, 3))
    worst, paid = worst_loss(monkeypatch, rows, np.array([row]), 0.8 * REACH, seeds=12, noise_of_lift=noise_of_lift)
    assert worst <= paid + 1e-9
    assert worst > 0.5 * paid  # near what it may be: noise in three dimensions is seldom in line with the row


def broken_radius(kernel: Callable[..., None]) -> Callable[..., None]:
    def wrong(points: Any, groups: Any, anchors: Any, radius: int, table: Any) -> None:
        kernel(points, groups, anchors, 4 * radius, table)

    return wrong


def test_clipping_to_a_larger_ball_than_the_noise_is_for_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_add_clipped", broken_radius(passes._add_clipped))
    worst, paid = worst_loss(monkeypatch, np.zeros((0, 3)), np.ones((1, 3)), 0.2 * REACH, seeds=12, noise_of_lift=0.0)
    assert worst > 1.2 * paid


def test_a_centre_that_looks_at_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last radius, taken from raw sums instead of bought ones, gives the neighbour another release."""
    real = lift.OnLattice.means

    def peeking(self: Any, label: str, groups: Any, anchors: Any, radius: int, price: Any) -> Any:
        found = real(self, label, groups, anchors, radius, price)
        raw = self.source.ball_sums(BallPass(groups, anchors, radius))
        return lift.Means(found.counts + 1e-6 * raw[:, 0], found.sums, found.variance, found.count_variance)

    monkeypatch.setattr(lift.OnLattice, "means", peeking)
    with pytest.raises(AssertionError):
        worst_loss(monkeypatch, np.zeros((0, 3)), np.ones((1, 3)), 0.8 * REACH, seeds=1, noise_of_lift=0.0)


@pytest.mark.parametrize("radius", [64, 1000, REACH - 1, 2 * REACH])
@pytest.mark.parametrize("budget", [Epsilon(1), Rho(Fraction(1, 10))], ids=str)
@pytest.mark.unmetered
def test_noise_is_for_all_that_a_row_can_move(
    radius: int, budget: Epsilon | Rho, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vector that noise is added to, of no row and of one in a corner, in whole numbers."""
    space = Lattice(Domain.box([0.0] * 5, 1.0))
    zero = np.zeros((1, 5))
    seen: list[np.ndarray] = []
    asked: list[Fraction] = []

    def no_noise(scale: Any, size: Any) -> Any:
        asked.append(Fraction(scale))
        return told(size, lambda raw: seen.append(raw) or raw)

    monkeypatch.setattr(isotropic, "isotropic_laplace", lambda n, d, scale, stream: no_noise(scale, (n, d)))
    monkeypatch.setattr(noise, "discrete_gaussian", lambda sigma, size, stream: no_noise(sigma, size))
    stated = []
    for X in (np.empty((0, 5)), np.ones((1, 5))):
        gate = gate_of(budget)
        release = OpenRelease(dc.engines.open(X), space.domain, space.domain, gate, 1.0)
        lift.OnLattice(release, space).means("sums", Groups(space, zero), zero, radius, budget / 2)
        stated.append(gate.promise({}).ledger[0].draws[0].moves)
    moved = seen[1] - seen[0]
    length = sum(int(x) ** 2 for x in moved.ravel())
    assert length <= stated[0] == stated[1]
    if 64 < radius < REACH:
        assert length > 0.98 * stated[0]  # and for no more
    # The noise is as wide as that length asks for at this price: length/ε, or σ² = length²/(2ρ).
    wanted = length / (budget.amount / 2) ** 2 if isinstance(budget, Epsilon) else length / budget.amount
    assert all(scale**2 >= wanted for scale in asked)


# What is paid is what the noise is for


@pytest.mark.parametrize("dimension", [1, 4, 30])
@pytest.mark.parametrize("price", [Fraction(1, 20), Fraction(3)])
def test_noise_is_as_wide_as_its_price_asks_for(dimension: int, price: Fraction) -> None:
    """Mean length D Δ/ε of isotropic noise, and Δ/√(2ρ) of an entry: worked out here, within a few in a hundred."""
    square, rows = 10**10 + 7, 24_000 // dimension
    nothing, moves = np.zeros((rows, dimension), np.int64), Moves(l2_squared=square)
    pure = gate_of(Epsilon(price)).vectors("sums", nothing, Epsilon(price), moves)
    length = float(np.linalg.norm(pure.values.astype(float), axis=1).mean())
    assert length * float(price) == pytest.approx(dimension * math.sqrt(square), rel=0.03)
    assert pure.values.var() == pytest.approx(pure.variance, rel=0.08)
    gaussian = gate_of(Rho(price)).vectors("sums", nothing, Rho(price), moves)
    assert gaussian.values.std() * math.sqrt(2 * float(price)) == pytest.approx(math.sqrt(square), rel=0.03)
    assert gaussian.variance >= square / (2 * float(price)) * (1 - 1e-12)


@pytest.mark.parametrize("noise_of_lift", [0.0, math.inf])
@pytest.mark.parametrize("budget", [{"epsilon": 2.0}, {"epsilon": None, "rho": 0.3, "delta": 1e-6}])
def test_every_draw_gets_what_its_line_of_the_ledger_says(
    budget: dict[str, Any], noise_of_lift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ε of pure steps and ρ of Gaussian ones, in the order in which they are drawn: worked out from the scales.

    How far a row moves what is published is in the line; that it moves no further is the test above.
    """
    drawn: list[tuple[str, Fraction]] = []
    real_vectors, real_quantiles = isotropic.isotropic_laplace, noise.quantiles_from_counts
    real_laplace, real_max_norm, real_gaussian = noise.discrete_laplace, noise.max_norm_laplace, noise.discrete_gaussian

    def vectors(rows: int, dimension: int, scale: Any, stream: Any) -> Any:
        drawn.append(("isotropic", Fraction(scale)))
        return real_vectors(rows, dimension, scale, stream)

    def quantiles(*counts: Any, epsilon: Any, **more: Any) -> Any:
        drawn.append(("choice", 1 / Fraction(epsilon)))
        return real_quantiles(*counts, epsilon=epsilon, **more)

    def laplace(scale: Any, *size: Any) -> Any:
        drawn.append(("laplace", Fraction(scale)))
        return real_laplace(scale, *size)

    def max_norm(scale: Any, *size: Any) -> Any:
        drawn.append(("max-norm", Fraction(scale)))
        return real_max_norm(scale, *size)

    def gaussian(sigma: Any, *size: Any) -> Any:
        drawn.append(("gaussian", Fraction(sigma)))
        return real_gaussian(sigma, *size)

    monkeypatch.setattr(lift, "LIFT_NOISE", noise_of_lift)
    monkeypatch.setattr(isotropic, "isotropic_laplace", vectors)
    monkeypatch.setattr(noise, "quantiles_from_counts", quantiles)
    monkeypatch.setattr(noise, "discrete_laplace", laplace)
    monkeypatch.setattr(noise, "max_norm_laplace", max_norm)
    monkeypatch.setattr(noise, "discrete_gaussian", gaussian)
    X = np.random.default_rng(1).uniform(0, 1, (300, 12))
    domain = Domain.box([0.0] * 12, 1.0)
    made = dc.PrivateKMeans(2, domain=domain, synopsis="lift", n_rows=300, random_state=1, **budget).fit(X)
    lines = [line for top in made.guarantee_.ledger for _, line in top.walk() if not line.parts]
    assert [(draw.law, draw.scale) for line in lines for draw in line.draws] == drawn
    used = []
    for line, (law, scale) in zip(lines, drawn, strict=True):
        moves, wide = float(line.draws[0].moves), float(scale)
        if law == "gaussian":
            used.append(moves / (2 * wide**2))
        else:
            epsilon = (math.sqrt(moves) if law == "isotropic" else moves) / wide
            used.append(epsilon**2 / 2 if "rho" in budget else epsilon)
    assert used == pytest.approx([float(line.amount) for line in lines], rel=1e-9)
    assert sum(used) == pytest.approx(budget.get("rho", 2.0), rel=1e-6)


def test_a_pure_release_draws_no_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a share of the budget is rounded to as a double: a share of ε = 1 is, and many others are, above it."""
    domain = Domain.box([0.0] * 10, 1.0)
    prices = [Epsilon(Fraction(n, 3 * 2**20)) for n in range(1000, 2**21, 9999)]
    assert sum(float(p.amount) > p.amount for p in prices) > 50
    assert not any(auto.on_axes(50_000, domain, 25, price)[1] for price in prices)

    def refuse(*_: Any) -> Any:
        raise AssertionError("Gaussian noise in a pure release")

    monkeypatch.setattr(noise, "discrete_gaussian", refuse)
    X = np.random.default_rng(1).uniform(0, 1, (300, 12))
    box = Domain.box([0.0] * 12, 1.0)
    for epsilon in (0.3, 1.0):
        promise = dc.PrivateKMeans(2, epsilon, box, synopsis="lift", n_rows=300, random_state=1).fit(X).guarantee_
        laws = {draw.law for top in promise.ledger for _, line in top.walk() for draw in line.draws}
        assert laws <= {"laplace", "max-norm", "isotropic", "choice"}
        assert (promise.accounting, promise.epsilon, promise.delta) == ("epsilon", epsilon, 0)


def test_rows_outside_their_bounds_count_as_at_them() -> None:
    """Bounds are part of the promise's reading: beyond them nothing is distinguished, near or far."""
    rng = np.random.default_rng(3)
    X = rng.normal(0.5, 0.4, (400, 13))
    X[0], X[1] = 1e12, -1e12
    domain = dc.Domain.box([0.0] * 13, 1.0)
    kept, beyond = (
        dc.PrivateKMeans(2, 1.0, domain, synopsis="lift", random_state=0).fit(rows) for rows in (np.clip(X, 0, 1), X)
    )
    assert kept.synopsis_.digest == beyond.synopsis_.digest


def test_the_longest_distance_has_a_cell() -> None:
    """From corner to corner: a row that fell out of the last cell would be missing from what is counted."""
    lattice = Lattice(dc.Domain.box([0.0, 0.0], [2.0, 2.0]))
    corner, _ = lattice.rows([np.array([0.0]), np.array([0.0])])
    ids = NormMap(Groups(lattice, np.asarray(corner, float))).ids([np.array([2.0, 2.0, 0.0])] * 2)
    assert ids.tolist() == [NORM_CELLS - 1, NORM_CELLS - 1, 0]
