"""Clustering: the search finds known optima, private k-means is close to plain, and nothing raw is kept."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet import datasets
from discreet.clustering import DPLloyd, PrivateKMeans, choose, cluster_synopsis, weighted_kmeans
from discreet.clustering.central.lloyd import iterations, one_iteration
from discreet.clustering.central.packing import pack
from discreet.core.budget.prices import Epsilon
from discreet.engines.passes.cells import NearestMap
from discreet.errors import InvalidArgument, SchemaError
from discreet.evaluation import centroid_index, nicv, nicv_ratio
from discreet.noise.public import PublicRandomness
from discreet.synopses import BoxSynopsis, GridSynopsis, TreeSynopsis

#: Checks that ask for what a private method must not do.
AGAINST_PRIVACY = {
    "check_estimators_nan_inf": "rows never cause an error: failing would tell about them",
    "check_estimators_empty_data_messages": "a table without rows gives a result like any other",
    "check_dtype_object": "an unreadable value is missing, and no error",
    "check_clustering": "wants the exact labels_ as an attribute, and errors for NaN",
}


# Weighted k-means


def test_whole_weights_are_duplicated_points():
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(60, 3)), rng.integers(1, 6, 60)
    ours = weighted_kmeans(points, weights, 5)
    many = np.repeat(points, weights, axis=0)
    theirs = KMeans(5, n_init=50, random_state=0).fit(many)
    assert ours.cost <= theirs.inertia_ * (1 + 1e-9)
    assert ours.cost == pytest.approx(nicv(many, ours.centers) * len(many))
    assert ours.weights.sum() == weights.sum()


@pytest.mark.parametrize(("name", "best"), [("s1", 1.783523e9), ("s2", 2.655822e9), ("s3", 3.377940e9)])
def test_the_search_reaches_the_best_known_optimum(name, best):
    if name not in datasets.available():
        pytest.skip("the data folder is not here")
    X = datasets.load(name).X
    found = weighted_kmeans(X, np.ones(len(X)), 15)
    assert found.cost / len(X) <= best * 1.0002


def test_fifty_clusters_are_all_found():
    data = datasets.mixture(5000, 2, 50, separation=8, random_state=3)
    means = np.array([data.X[data.labels == j].mean(axis=0) for j in range(50)])
    found = weighted_kmeans(data.X, np.ones(len(data.X)), 50, n_init=2)
    assert centroid_index(found.centers, means) == 0


def test_the_same_seed_gives_the_same_centres():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    first, second = (weighted_kmeans(X, np.ones(500), 7, seed=4) for _ in range(2))
    assert np.array_equal(first.centers, second.centers)


def test_points_without_weight_do_not_count():
    found = weighted_kmeans([[0.0], [1.0], [500.0], [-90.0]], [1, 3, 0, -7], 1)
    assert found.centers.tolist() == [[0.75]]
    assert len(weighted_kmeans(np.zeros((0, 2)), [], 3).centers) == 0


def test_equal_points_are_one_place():
    found = weighted_kmeans(np.ones((9, 2)), np.ones(9), 4)
    assert found.centers.tolist() == [[1.0, 1.0]]
    assert found.weights.tolist() == [9.0]


# Clusters of a synopsis


def line(weights, **more):
    n = len(weights)
    edges = np.linspace(0, n, n + 1)[:, None]
    return BoxSynopsis(
        dc.Domain.box(0, n),
        lower=edges[:-1],
        upper=edges[1:],
        weights=weights,
        variances=np.full(n, 2.0),
        guarantee=dc.Guarantee("central"),
        **more,
    )


def test_fewer_leaves_than_clusters_is_said_plainly():
    found = cluster_synopsis(line([40, -3, 60]), 5, refine="threshold")
    assert found.centers.tolist() == [[0.5], [2.5]]
    assert "fewer than 5" in found.note
    nothing = cluster_synopsis(line([-4, -3]), 2)
    assert nothing.centers.tolist() == [[1.0]]
    assert "no leaf" in nothing.note


@pytest.mark.parametrize("refine", ["auto", None, "project", ["consistent", "threshold"], lambda s: s])
def test_every_form_of_refinement_runs(refine):
    found = cluster_synopsis(line([90, 80, 2, -3, 70, 95, 1, 0]), 2, refine=refine)
    assert found.centers[0, 0] == pytest.approx(1, abs=0.3)
    assert found.centers[1, 0] == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize("refine", ["polish", 3, ["auto"], [None]])
def test_unknown_refinements_are_refused(refine):
    with pytest.raises(InvalidArgument):
        cluster_synopsis(line([1, 2]), 1, refine=refine)
    with pytest.raises(InvalidArgument):
        PrivateKMeans(2, domain=(0, 1), refine=refine).fit([[0.5]])


def test_leaves_of_missing_values_have_no_place_among_clusters():
    domain = dc.Domain({"x": {"bounds": (0, 4), "missing": "own"}})
    grid = GridSynopsis(math.inf, domain, rule=4).fit(np.array([[0.5], [3.5], [np.nan]]))
    found = cluster_synopsis(grid.synopsis_, 2)
    assert found.centers.tolist() == [[0.5], [3.5]]


def test_scale_decides_what_is_near():
    domain = dc.Domain.box([0, 0], [1, 1000])
    corners = np.array([[x, y] for x in (0.1, 0.9) for y in (400.0, 600.0)])
    s = BoxSynopsis(
        domain,
        lower=corners,
        upper=corners,
        weights=np.ones(4),
        variances=np.zeros(4),
        guarantee=dc.Guarantee("central"),
    )
    assert cluster_synopsis(s, 2, refine=None).centers[:, 1].tolist() == [400.0, 600.0]
    np.testing.assert_allclose(cluster_synopsis(s, 2, refine=None, scale="domain").centers[:, 1], 500.0)


# PrivateKMeans


@pytest.mark.parametrize(
    "data",
    [datasets.mixture(4000, 2, 5, random_state=1), datasets.s_like(1, random_state=2)],
    ids=["mixture", "s_like"],
)
def test_private_is_close_to_plain_at_epsilon_one(data):
    plain = weighted_kmeans(data.X, np.ones(len(data.X)), data.n_clusters).centers
    km = PrivateKMeans(data.n_clusters, 1.0, data.domain, random_state=3).fit(data.X)
    assert nicv_ratio(data.X, km.cluster_centers_, plain) < 1.05
    assert centroid_index(km.cluster_centers_, plain) == 0
    assert km.guarantee_.seeded


def test_without_noise_it_is_k_means_on_the_cells():
    data = datasets.mixture(3000, 2, 4, random_state=5)
    km = PrivateKMeans(4, math.inf, data.domain, synopsis=GridSynopsis(rule=64), refine=None).fit(data.X)
    plain = weighted_kmeans(data.X, np.ones(len(data.X)), 4)
    assert nicv_ratio(data.X, km.cluster_centers_, plain.centers) < 1.002


@pytest.mark.parametrize(
    "synopsis", ["auto", "grid", "tree", GridSynopsis(rule="eugkm"), TreeSynopsis(partitioner="median")]
)
@pytest.mark.parametrize("epsilon", [0.1, Fraction(1, 3)])
def test_the_ledger_adds_up_to_epsilon_exactly(synopsis, epsilon):
    data = datasets.mixture(500, 2, 3, random_state=0)
    km = PrivateKMeans(3, epsilon, data.domain, synopsis=synopsis, random_state=1).fit(data.X)
    assert km.guarantee_.spent.exact == Fraction(str(epsilon))
    assert km.synopsis_.guarantee == km.guarantee_


def test_a_public_number_of_rows_is_an_assumption_and_costs_nothing():
    data = datasets.mixture(500, 2, 3, random_state=0)
    km = PrivateKMeans(3, 1.0, data.domain, n_rows=500, random_state=1).fit(data.X)
    assert any("N, was given as public" in a for a in km.guarantee_.assumptions)
    assert not any(line.label == "number of rows" for line in km.guarantee_.ledger)


@pytest.mark.parametrize("make", [PrivateKMeans, DPLloyd])
@pytest.mark.parametrize("X", [np.empty((0, 2)), [[0.5, 0.5]], np.full((50, 2), 0.3), [[np.nan, 1.0], [np.inf, 0.2]]])
def test_odd_tables_give_a_result_like_any_other(make, X):
    km = make(3, 1.0, (0, 1), random_state=0).fit(X)
    assert 1 <= len(km.cluster_centers_) <= 3
    assert np.isfinite(km.cluster_centers_).all()
    assert km.guarantee_.epsilon == 1.0


@pytest.mark.parametrize("make", [PrivateKMeans, DPLloyd])
def test_nothing_raw_is_kept(make):
    """No attribute has one entry a row, no label, no objective; and no array equals the raw counts."""
    data = datasets.mixture(777, 2, 3, random_state=0)
    km = make(3, 1.0, data.domain, random_state=0).fit(data.X)
    raw = np.sort(np.bincount(km.predict(data.X), minlength=3))
    assert not {"labels_", "inertia_", "n_iter_"} & set(dir(km))

    def look(thing, depth=0):
        if isinstance(thing, np.ndarray):
            assert len(data.X) not in thing.shape
            assert thing.shape != raw.shape or not np.array_equal(np.sort(thing.ravel()), raw)
        elif isinstance(thing, (dict, list, tuple)):
            for part in thing.values() if isinstance(thing, dict) else thing:
                look(part, depth + 1)
        elif hasattr(thing, "__dict__") and depth < 4:
            look(vars(thing), depth + 1)
        else:
            assert thing != len(data.X)

    look(vars(km))


def test_the_same_seed_gives_the_same_centres_from_array_and_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = datasets.mixture(2000, 2, 3, random_state=0)
    pq.write_table(pa.table({n: data.X[:, i] for i, n in enumerate(data.domain.names)}), tmp_path / "x.parquet")
    for make in (PrivateKMeans, DPLloyd):
        a = make(3, 1.0, data.domain, random_state=9).fit(data.X)
        b = clone(a).fit(tmp_path / "x.parquet")
        assert np.array_equal(a.cluster_centers_, b.cluster_centers_)
        assert a.guarantee_.digest == b.guarantee_.digest


def test_labels_distances_and_score_are_those_of_the_centres():
    data = datasets.mixture(300, 2, 3, random_state=0)
    km = PrivateKMeans(3, 1.0, data.domain, random_state=0).fit(data.X)
    gaps = np.linalg.norm(data.X[:, None] - km.cluster_centers_, axis=2)
    np.testing.assert_allclose(km.transform(data.X), gaps)
    assert np.array_equal(km.predict(data.X), gaps.argmin(axis=1))
    assert not hasattr(km, "score")  # a search would choose by raw rows
    assert km.predict([[np.nan, 0.5]]).tolist() == [-1]
    assert np.array_equal(clone(km).fit_predict(data.X), km.predict(data.X))
    with pytest.raises(SchemaError, match="features"):
        km.predict(data.X[:, :1])


@pytest.mark.parametrize("estimator", [PrivateKMeans(3, domain=(-10, 10)), DPLloyd(3, domain=(-10, 10))])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator):
    for result in check_estimator(estimator, expected_failed_checks=AGAINST_PRIVACY, on_skip=None, on_fail="raise"):
        assert result["status"] in ("passed", "skipped", "xfail"), result["check_name"]


def test_the_chooser_looks_at_public_values_only():
    assert choose(5000.0, dc.Domain.box([0, 0], 1), 15, Epsilon(1) / 10).method == "grid"
    assert choose(-3.0, dc.Domain.box([0] * 24, 1), 5, Epsilon(1) / 10).method == "grid"
    assert choose(1e6, dc.Domain.box([0] * 11, 1), 5, Epsilon(1) / 10).method == "tree"
    assert choose(1e6, dc.Domain.box([0] * 24, 1), 5, Epsilon(1) / 10).method == "lift"


@pytest.mark.parametrize("d", [1, 2, 6, 24])
def test_auto_runs_in_any_dimension(d):
    data = datasets.mixture(1000, d, 3, random_state=0)
    km = PrivateKMeans(3, 1.0, data.domain, random_state=0).fit(data.X)
    assert km.cluster_centers_.shape[1] == d


# DPLloyd


def test_iterations_follow_the_noisy_or_public_number_of_rows():
    assert one_iteration(15, 2, 5000) == pytest.approx(
        math.sqrt(500 * 15**3 / 5000**2 * (2 + (8 * 0.225**2) ** (1 / 3)) ** 3)
    )
    data = datasets.mixture(4000, 2, 3, random_state=0)
    for claimed, expected in ((10, 2), (10**7, 7)):
        lloyd = DPLloyd(3, 1.0, data.domain, n_rows=claimed, random_state=0).fit(data.X)
        assert lloyd.guarantee_.parameters["iterations"] == expected
        assert expected == iterations(1.0, one_iteration(3, 2, claimed))


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), Fraction(22, 7), math.inf])
def test_dplloyd_spends_exactly_epsilon(epsilon):
    data = datasets.mixture(500, 2, 3, random_state=0)
    lloyd = DPLloyd(3, epsilon, data.domain, random_state=0).fit(data.X)
    spent = lloyd.guarantee_.spent.exact
    assert spent == (math.inf if epsilon == math.inf else Fraction(str(epsilon)))
    assert lloyd.guarantee_.verify(np.ascontiguousarray(lloyd.cluster_centers_).tobytes())


def test_dplloyd_without_noise_is_lloyd():
    data = datasets.mixture(2000, 2, 3, random_state=4)
    lloyd = DPLloyd(3, math.inf, data.domain, n_iter=4, random_state=1).fit(data.X)
    # The same stream again: at infinite ε no noise is drawn before the packing.
    centers = data.domain.from_unit(pack(3, 2, PublicRandomness(1)))
    for _ in range(4):
        labels = ((data.X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        for j in range(3):
            if (labels == j).any():
                centers[j] = data.X[labels == j].mean(axis=0)
    np.testing.assert_allclose(lloyd.cluster_centers_, centers, atol=2e-3)  # sums are in steps of 1/1024 half widths


def test_an_empty_cluster_draws_noise_like_any_other():
    """With no rows at all, the released centres vary: noise was drawn, and large noisy counts moved centres."""
    found = [
        DPLloyd(2, 1.0, (0, 1), n_rows=1000, n_iter=1, random_state=seed).fit(np.empty((0, 1))).cluster_centers_
        for seed in range(30)
    ]
    starts = [Fraction(0)] * 30
    moved = 0
    for seed, centers in enumerate(found):
        starts[seed] = pack(2, 1, PublicRandomness(seed))
        moved += not np.allclose(centers, starts[seed])
    assert 5 < moved < 30


def test_packed_spheres_keep_apart():
    for k, d in ((1, 1), (5, 2), (15, 2), (4, 10)):
        centers = pack(k, d, PublicRandomness(3))
        assert ((centers > 0) & (centers < 1)).all()
        gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
        assert k == 1 or gaps[~np.eye(k, dtype=bool)].min() > 0.01


def test_nearest_cells():
    cells = NearestMap(dc.Domain.box([0, 0], [1, 100]), [[0.0, 0.0], [1.0, 50.0]], units=[1.0, 100.0])
    rows = [np.array([0.4, 0.9, np.nan, -7.0]), np.array([0.0, 40.0, 1.0, -1e9])]
    assert cells.ids(rows).tolist() == [0, 1, -1, 0]
    assert np.isnan(cells.distances(rows)[2]).all()
    with pytest.raises(InvalidArgument):
        NearestMap(dc.Domain.box([0, 0], 1), np.empty((0, 2)))
