"""Local k-means: the same ε for every method, by exact ratios, and centres that are right where noise is small."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet import Domain
from discreet.metric import NDLaplace, PrivUnit
from discreet_studies.local_kmeans.methods import METHODS, costs
from discreet_studies.local_kmeans.pair_grids import PairGrids, encoded, pair_grid_kmeans
from discreet_studies.local_kmeans.tables import rows


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("numbers", "categories"), [(2, ()), (1, (3,)), (2, (2, 3)), (0, (2, 2, 5))])
def test_no_report_is_more_than_e_to_the_epsilon_times_as_likely(
    numbers: int, categories: tuple[int, ...], epsilon: float
) -> None:
    grids = PairGrids(epsilon, numbers, categories, 3)
    laws = []
    for row in product(*(range(size) for size in grids.sizes)):
        listed = grids.report_law(np.array(row))
        pairs = [(p, bytes(a), c) for p, law in enumerate(listed) for a, c in zip(*law, strict=True)]
        laws.append({(p, answer): chance for p, answer, chance in pairs})
    assert all(law.keys() == laws[0].keys() for law in laws)
    chances = np.array([[law[key] for key in laws[0]] for law in laws])
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    worst = (chances.max(axis=0) / chances.min(axis=0)).max()
    assert worst == pytest.approx(math.exp(epsilon), rel=1e-9)


def test_the_drawn_reports_follow_the_law_that_is_listed() -> None:
    grids = PairGrids(1.0, 1, (2,), 3)
    codes = np.tile([[2, 1]], (40_000, 1))
    shares, _ = grids.collect(codes, 3)
    expected = np.zeros((3, 2))
    expected[2, 1] = 1
    # Standard error of a share at most √(variance/n); six of them: a false alarm in 10^8.
    error = math.sqrt(float(grids.oracle((0, 1)).variance(1, 1)) / len(codes))
    assert np.abs(shares[:3, 3:] - expected).max() < 6 * error
    assert np.array_equal(shares, shares.T)


@pytest.mark.parametrize("epsilon", [1, 4, 16])
@pytest.mark.parametrize("columns", [2, 10])
def test_the_others_promise_the_same_between_the_two_farthest_rows(epsilon: int, columns: int) -> None:
    domain = Domain.box([0.0] * columns, [1.0] * columns)
    laplace = NDLaplace(epsilon, math.sqrt(columns), domain, random_state=0).fit()
    assert laplace.guarantee_.epsilon == epsilon
    assert laplace.guarantee_.parameters["epsilon_at_diameter"] == pytest.approx(epsilon, rel=1e-9)
    width = columns + 1
    law = PrivUnit(epsilon, Domain.box([-1.0] * width, [1.0] * width), inputs="directions").law
    coin = law.coins["inside"].chance
    odds = Fraction(law.chance) * (1 - law.least_share) / ((1 - Fraction(law.chance)) * law.least_share)
    assert coin == law.inside
    assert float(odds) == pytest.approx(math.exp(epsilon), rel=1e-6)


def test_a_mixed_row_is_charged_no_more_than_a_row_of_numbers() -> None:
    made = rows("mixed", 50, 0, 1)
    c = made.numbers.shape[1] + len(made.categories)
    columns: dict[str, object] = {f"x{j}": (0.0, 1.0) for j in range(3)}
    columns |= {f"c{j}": {"categories": list(range(size))} for j, size in enumerate(made.categories)}
    mechanism = NDLaplace(4.0 * 3 / c, math.sqrt(3), Domain(columns), category_epsilon=4.0 / c, random_state=1).fit()
    assert mechanism.guarantee_.epsilon == pytest.approx(4.0)


def test_numbers_beyond_the_bounds_count_as_the_nearest_bin() -> None:
    grids = PairGrids(1.0, 2, (), 4)
    assert grids.codes(np.array([[-3.0, 9.0], [0.0, 1.0]]), np.empty((2, 0), int)).tolist() == [[0, 3], [0, 3]]


def test_bins_follow_from_public_facts_and_grow_with_rows_and_epsilon() -> None:
    bins = [PairGrids.planned(e, 4, (), n).bins for e, n in ((0.5, 1000), (1.0, 10_000), (4.0, 10_000), (8.0, 10**6))]
    assert bins == sorted(bins)
    assert bins[0] < bins[-1]


def test_many_devices_find_mixed_clusters() -> None:
    own = np.arange(60_000) % 2
    X = np.where(own[:, None] == 0, [[0.25, 0.7]], [[0.75, 0.3]])
    labels = np.stack([own * 2, 1 - own], axis=1)
    centers = pair_grid_kmeans(X, labels, (3, 2), 2, 4.0, 5, 0.1)
    truth = encoded(X[:2], labels[:2], (3, 2), 0.1)
    order = np.linalg.norm(centers[:, None] - truth, axis=2).argmin(axis=1)
    assert sorted(order) == [0, 1]
    assert np.abs(centers - truth[order]).max() < 0.06


@pytest.mark.slow
def test_every_method_gives_centres_of_the_rows_it_was_given() -> None:
    for name in ("round", "mixed"):
        made = rows(name, 800, 2, 3)
        points = encoded(made.numbers, made.labels, made.categories, 0.1)
        reached = {}
        for arm, method in METHODS.items():
            centers = method(made, 4, 16.0, 3)
            assert centers.shape[1] == points.shape[1], (name, arm)
            assert np.isfinite(centers).all()
            reached[arm] = costs(points, centers)[0]
        assert all(cost <= reached["no data"] for cost in reached.values()), (name, reached)
