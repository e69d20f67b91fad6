"""RUGNIK's argument for two levels: the bound bounds, its optimum is the one written down, and a release follows it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize, minimize_scalar

import discreet as dc
from discreet.synopses.grid.nested_rules import nested_bound, nested_first, nested_noise, nested_parts, nested_root
from discreet.synopses.grid.rules import as_continuous, rugnik, rugnik_bound, rugnik_root

SETTINGS = list(itertools.product((2, 3, 4), (2, 8), ((2e3, 1.0), (1e5, 0.1), (1e6, 1.0))))


def spread(epsilon: float) -> float:
    """The standard deviation of discrete noise, from its own law."""
    return math.sqrt(dc.noise.DiscreteLaplace(1 / epsilon).variance)


@pytest.mark.parametrize(("d", "k", "table"), SETTINGS)
def test_the_root_is_the_minimum_of_the_bound(d: int, k: int, table: tuple[float, float]) -> None:
    n, epsilon = table
    first, share = 6, 2 / (d + 2)
    root = nested_root(n, first, share, epsilon, d, k)
    found = minimize_scalar(
        lambda log: nested_bound(math.exp(log), first, share, n, epsilon, d, k), bounds=(0, 8), method="bounded"
    )
    assert math.log(root) == pytest.approx(found.x, abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
def test_first_level_and_its_share_are_the_optimum(d: int) -> None:
    """Of continuous noise and the leading term of φ: m1^(d+2) = 32 κ² m^d/(3 d⁴) and α = 2/(d+2), whatever m."""
    side, m = 8 ** (1 / d), 60.0

    def noise(v: np.ndarray) -> float:
        first, share = math.exp(v[0]), 1 / (1 + math.exp(-v[1]))
        inner = m**d * 4 / (3 * d * first**2 * side**2) / (1 - share) ** 2
        return math.log(inner + first**d / side**4 / share**2)

    found = minimize(noise, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    first = (32 * side**2 * m**d / (3 * d**4)) ** (1 / (d + 2))
    assert math.exp(found.x[0]) == pytest.approx(first, rel=1e-5)
    assert 1 / (1 + math.exp(-found.x[1])) == pytest.approx(2 / (d + 2), rel=1e-5)
    assert math.exp(found.fun / 2) == pytest.approx((1 + d / 2) ** 1.5 * first ** (d / 2) / side**2, rel=1e-6)


@pytest.mark.parametrize(("d", "k", "table"), SETTINGS)
def test_whole_sizes_are_nearly_as_good_as_the_best_real_ones(d: int, k: int, table: tuple[float, float]) -> None:
    """With discrete noise and all of φ: within 3 % of the least bound over m, m1 and α."""
    n, epsilon = table
    first, share = nested_first(n, epsilon, d, k), 2 / (d + 2)

    def bound(v: np.ndarray) -> float:
        other = 1 / (1 + math.exp(-v[2]))
        return nested_bound(math.exp(v[0]), max(1.0, math.exp(v[1])), other, n, epsilon, d, k)

    least = min(minimize(bound, [3.0, s, 0.0], method="Nelder-Mead").fun for s in (0.5, 1.5, 2.5))
    one = rugnik_bound(rugnik_root(n, as_continuous(epsilon), d, k), n, as_continuous(epsilon), d, k)
    if first == 1:
        assert one < 1.03 * least
    else:
        ours = nested_bound(nested_root(n, first, share, epsilon, d, k), first, share, n, epsilon, d, k)
        assert ours < 1.03 * least
        assert ours < one


def test_parts_of_cells_minimise_the_bound_over_all_of_them() -> None:
    d, k, epsilon, first = 2, 4, 1.0, 3
    rows = np.array([9000.0, 4000, 2500, 1200, 800, 300, 200, 90, 40])
    share, side = 2 / (d + 2), k ** (1 / d)
    phi = min(side**-4, 4 / (3 * d * first**2 * side**2) + 4 / (45 * d * first**4))
    own, rest = spread(share * epsilon), spread((1 - share) * epsilon)

    def bound(logs: np.ndarray) -> float:
        parts = np.exp(logs)
        moved = (rows / (3 * first**2 * parts**2)).sum()
        return math.sqrt(rest**2 * phi * (parts**d).sum() + own**2 * first**d / side**4) + 2 / side * moved**0.5 + moved

    best = minimize(bound, np.full(9, 1.0), method="BFGS", options={"gtol": 1e-9})
    real = np.exp(best.x)
    np.testing.assert_allclose(real ** (d + 2) / rows, (real ** (d + 2) / rows)[0], rtol=2e-3)  # the law of quantisers
    ours = nested_parts(rows, first, epsilon, d, k, 2**20)
    assert np.abs(ours - real).max() < 1
    nearest = [bound(np.log(ours + step)) for step in np.eye(9, dtype=int)] + [
        bound(np.log(ours - step)) for step in np.eye(9, dtype=int)[ours > 1]
    ]
    assert bound(np.log(ours)) <= min(nearest) * (1 + 1e-4)


@pytest.mark.parametrize(("d", "first"), [(2, 4), (2, 6), (3, 4)])
def test_noise_of_reconciled_counts_stays_below_its_part_of_the_bound(d: int, first: int) -> None:
    """Exactly: the variance of Σ a_j e_j over all leaves of clusters that tile the box, at least a hundredth of it."""
    side, parts, epsilon = 2, 3, 0.7
    share, k = 2 / (d + 2), side**d
    own, rest = spread(share * epsilon) ** 2, spread((1 - share) * epsilon) ** 2
    middles = (np.arange(first * parts) + 0.5) / (first * parts) * 2 - 1
    each = np.stack(np.meshgrid(*[middles] * d, indexing="ij"), -1).reshape(-1, d)
    centres = (np.arange(side) + 0.5) / side * 2 - 1
    gaps = ((each[:, :, None] - centres) ** 2).min(axis=2).sum(axis=1)
    index = np.floor((each + 1) * first / 2).astype(int)
    cell = index @ first ** np.arange(d)
    size = parts**d
    mean = np.bincount(cell, gaps) / size
    sums = 1 / (1 / own + 1 / (size * rest))
    variance = rest * ((gaps - mean[cell]) ** 2).sum() + sums * (mean**2).sum()
    inner, outer = nested_noise(first, first**d, share, epsilon, d, k ** (1 / d))
    bound = d * d * (inner * (first * parts) ** d + outer)
    assert 0.01 * bound < variance < bound


@pytest.mark.parametrize(("n", "epsilon"), [(20_000, 0.5), (60_000, 1.0)])
def test_measured_change_of_the_objective_is_within_the_bound_and_not_far_below(n: int, epsilon: float) -> None:
    """|J of noisy cells - J of rows|, at the true centres, over twenty releases: at most F, at least F/8."""
    d, side = 2, 2
    k = side**d
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    centres = np.array(list(itertools.product((-0.5, 0.5), repeat=d)))

    def objective(places: np.ndarray, weights: np.ndarray) -> float:
        return float((weights * ((places[:, None] - centres) ** 2).sum(axis=2).min(axis=1)).sum())

    true, found = objective(X, np.ones(n)), []
    for seed in range(20):
        model = dc.GridSynopsis(epsilon, (-1, 1), "rugnik-adaptive", n_clusters=k, n_rows=n, random_state=seed).fit(X)
        found.append(abs(objective(model.synopsis_.points, model.synopsis_.weights) - true))
    first, share = nested_first(n, epsilon, d, k), 2 / (d + 2)
    bound = d * nested_bound(nested_root(n, first, share, epsilon, d, k), first, share, n, epsilon, d, k)
    assert first > 1
    assert bound / 8 < np.mean(found) < bound


def test_a_release_takes_its_sizes_and_its_share_and_all_of_the_budget() -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0.2, 0.03, (30_000, 3)), rng.random((3000, 3))])
    model = dc.GridSynopsis(1, (0, 1), "rugnik-adaptive", n_clusters=5, n_rows=33_000, random_state=0).fit(X)
    lines = {line.label: float(line.amount) for line in model.guarantee_.ledger}
    assert lines == {"first level": pytest.approx(0.4), "second level": pytest.approx(0.6)}
    assert model.guarantee_.epsilon == 1
    assert model.guarantee_.parameters["parts"] == [nested_first(33_000, 1.0, 3, 5)] * 3
    s = model.synopsis_
    volume = (s.upper - s.lower).prod(axis=1)
    assert volume.sum() == pytest.approx(1.0)
    near = (np.abs(s.points - 0.2) < 0.06).all(axis=1)
    assert volume[near].mean() < volume[~near].mean() / 4


def test_few_rows_get_the_grid_of_one_level() -> None:
    X = np.random.default_rng(0).random((500, 2))
    two = dc.GridSynopsis(0.1, (0, 1), "rugnik-adaptive", n_rows=500, random_state=0).fit(X)
    one = dc.GridSynopsis(0.1, (0, 1), "rugnik", n_rows=500, random_state=0).fit(X)
    assert two.guarantee_.parameters["parts"] == one.guarantee_.parameters["parts"] == [rugnik(500, 0.1, 2, 8)] * 2
    np.testing.assert_array_equal(two.synopsis_.weights, one.synopsis_.weights)
    assert two.guarantee_.parameters["rule"] == "rugnik-adaptive"


@pytest.mark.parametrize(
    "columns",
    [
        {"sex": ["f", "m"], "age": dc.Integer(0, 90)},
        {"x": (0, 1), "sex": ["f", "m"]},
        {"x": (0, 1), "y": (0, 5), "age": dc.Integer(0, 90)},
    ],
    ids=["nothing to cut again", "with a category", "with whole numbers"],
)
def test_columns_that_are_not_cut_again_are_released_too(columns: dict) -> None:
    domain = dc.Domain(columns)
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.choice(list(c.categories), 4000) if isinstance(c, dc.Categorical) else rng.uniform(c.low, c.high, 4000)
         for c in domain]
    )  # fmt: skip
    frame = pd.DataFrame({c.name: X[:, i] for i, c in enumerate(domain)}).astype(
        {c.name: float for c in domain if not isinstance(c, dc.Categorical)}
    )
    s = dc.GridSynopsis(2.0, domain, "rugnik-adaptive", n_clusters=3, random_state=0).fit(frame).synopsis_
    assert s.total == pytest.approx(4000, abs=60)


def test_cells_stay_within_their_limit() -> None:
    X = np.random.default_rng(0).normal(0.5, 0.01, (50_000, 4))
    s = dc.GridSynopsis(5.0, (0, 1), "rugnik-adaptive", max_cells=3000, random_state=0).fit(X).synopsis_
    assert s.n_leaves <= 3000
