"""Clusters of leaves: shapes that k-means cannot find, weights that count, and no cluster where there is only noise."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import discreet as dc
from discreet.clustering import (
    DensityClusters,
    GaussianClusters,
    cluster_synopsis,
    suggest_k,
)
from discreet.clustering.leaves.hills import touching
from discreet.clustering.leaves.kmeans import nearest
from discreet.clustering.leaves.leaves import Leaves
from discreet.errors import InvalidArgument
from discreet.synopses import BoxSynopsis

ALL = [DensityClusters(), GaussianClusters(3)]
BOX = dc.Domain.box([0, 0], 1)


def unit(X):
    return 0.05 + 0.9 * (X - X.min(axis=0)) / np.ptp(X, axis=0)


def released(X, epsilon=1.0, parts=20, domain=BOX, seed=1):
    return dc.GridSynopsis(epsilon, domain, parts, random_state=seed).fit(X).synopsis_


@pytest.mark.parametrize("make", [lambda: make_moons(6000, noise=0.06, random_state=1),
                                  lambda: make_circles(6000, factor=0.4, noise=0.05, random_state=1)])  # fmt: skip
def test_moons_and_rings_are_distinguished(make):
    X, truth = make()
    X = unit(X)
    synopsis = released(X, 0.5)
    found = DensityClusters(outliers=False).fit(synopsis)
    assert found.n_clusters_ == 2
    assert adjusted_rand_score(truth, found.predict(X)) > 0.95
    assert adjusted_rand_score(truth, nearest(X, cluster_synopsis(synopsis, 2).centers)) < 0.7


def test_long_gaussians_are_found_with_their_covariances():
    rng = np.random.default_rng(4)
    turn = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    wide = turn @ np.diag([0.15, 0.02]) ** 2 @ turn.T
    truth = np.repeat([0, 1], 8000)
    X = rng.multivariate_normal([0, 0], wide, 16000) + np.array([[0.42, 0.58], [0.58, 0.42]])[truth]
    X = np.clip(X, 0, 1)
    synopsis = released(X, 1.0, 40)
    found = GaussianClusters(2).fit(synopsis)
    assert adjusted_rand_score(truth, found.predict(X)) > 0.97
    for covariance in found.covariances_:
        np.testing.assert_allclose(covariance, wide, atol=0.12 * wide.max())


@pytest.mark.parametrize("clusterer", ALL, ids=lambda c: type(c).__name__)
def test_all_speak_the_same_language(clusterer):
    data = dc.datasets.mixture(4000, 2, 3, random_state=2)
    synopsis = released(data.X, domain=data.domain)
    found = clone(clusterer).fit(synopsis)
    assert found.labels_.shape == (synopsis.n_leaves,)
    assert found.n_clusters_ == 3
    assert found.guarantee_ is synopsis.guarantee  # nothing was paid, nothing else is promised
    labels = found.predict(data.X)
    inside = labels >= 0
    assert inside.mean() > 0.9
    assert adjusted_rand_score(data.labels[inside], labels[inside]) > 0.97
    # Weights are those of the leaves of each cluster, the heaviest first.
    held = [synopsis.weights[found.labels_ == j].sum() for j in range(3)]
    np.testing.assert_allclose(found.clusters_.weights, held)
    assert held == sorted(held, reverse=True)
    assert found.predict(np.array([[np.nan, 0.5]])).tolist() == [-1]
    np.testing.assert_array_equal(clone(clusterer).fit(synopsis).labels_, found.labels_)


@pytest.mark.parametrize("clusterer", ALL, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_nothing_can_be_clustered(clusterer, rows):
    synopsis = dc.GridSynopsis(50.0, BOX, 6, random_state=3).fit(np.full((rows, 2), 0.3)).synopsis_
    found = clone(clusterer).fit(synopsis)
    assert found.n_clusters_ <= max(rows, 1)
    assert found.predict(np.array([[0.3, 0.3]])).shape == (1,)


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_rows_without_hills_are_one_cluster(epsilon):
    rng = np.random.default_rng(0)
    for X in (rng.random((5000, 2)), np.clip(rng.normal(0.5, 0.15, (5000, 2)), 0, 1)):
        assert DensityClusters().fit(released(X, epsilon, 14)).n_clusters_ == 1


def test_outliers_belong_to_no_hill_unless_they_are_to():
    data = dc.datasets.mixture(6000, 2, 3, separation=14, random_state=5)
    synopsis = released(data.X, domain=data.domain)
    far = np.array([[0.999, 0.001], [0.001, 0.999], [0.001, 0.001], [0.999, 0.999]])
    assert (DensityClusters().fit(synopsis).predict(far) == -1).any()
    assert (DensityClusters(outliers=False).fit(synopsis).predict(far) >= 0).all()


def test_touching_leaves_are_all_found():
    data = dc.datasets.mixture(3000, 2, 5, random_state=1)
    synopsis = dc.TreeSynopsis(2.0, data.domain, "median", random_state=1).fit(data.X).synopsis_
    leaves = Leaves.of(synopsis)
    low, high = synopsis.lower[leaves.which], synopsis.upper[leaves.which]
    gap = np.maximum(low[:, None] - high, low[None] - high[:, None]).max(axis=2)
    expected = {(i, j) for i, j in np.argwhere(gap <= 1e-12) if i < j}
    assert set(zip(*(part.tolist() for part in touching(leaves)), strict=True)) == expected


@pytest.mark.slow
def test_a_number_that_is_not_given_is_suggested():
    data = dc.datasets.mixture(5000, 2, 5, random_state=3)
    synopsis = released(data.X, domain=data.domain)
    found = GaussianClusters("auto").fit(synopsis)
    assert found.n_clusters_ == found.suggestion_.n_clusters == suggest_k(synopsis).n_clusters == 5
    assert found.clusters_.note.startswith("5 clusters")


def test_mixed_tables_are_clustered_on_numbers():
    import pyarrow as pa

    data = dc.datasets.mixture(5000, 2, 3, separation=12, random_state=3)
    domain = dc.Domain({"x": (0, 1), "sex": ["f", "m"], "y": (0, 1)})
    table = pa.table({"x": data.X[:, 0], "sex": np.where(np.arange(5000) % 2, "f", "m"), "y": data.X[:, 1]})
    synopsis = dc.GridSynopsis(1.0, domain, 12, random_state=1).fit(table).synopsis_
    found = GaussianClusters(3).fit(synopsis)
    assert found.clusters_.columns == ("x", "y")
    assert "sex took no part" in found.clusters_.note
    assert adjusted_rand_score(data.labels, found.predict(table)) > 0.97


def test_pictures_show_every_cluster():
    pytest.importorskip("plotly")
    data = dc.datasets.mixture(4000, 2, 3, random_state=2)
    found = GaussianClusters(3).fit(released(data.X, domain=data.domain))
    assert len(found.plot().data) == 4  # and the means
    with pytest.raises(InvalidArgument, match="two of x1, x2"):
        found.plot(("x1", "z"))


def boxes(low, high, weights, domain=None):
    domain = dc.Domain.box([0.0, 0.0], 1.0) if domain is None else domain
    settings = {"weights": weights, "variances": np.full(len(weights), 2.0), "guarantee": dc.Guarantee("central")}
    return BoxSynopsis(domain, lower=low, upper=high, **settings)


@pytest.mark.parametrize("clusterer", [DensityClusters(outliers=False), DensityClusters()])
def test_a_row_belongs_to_the_box_it_lies_in_however_large(clusterer):
    """The middle of the left half is farther from a row at its edge than those of many small boxes next to it."""
    strips = np.linspace(0.0, 1.0, 41)
    low = np.array([[0.0, 0.0]] + [[0.9, a] for a in strips[:-1]])
    high = np.array([[0.5, 1.0]] + [[1.0, b] for b in strips[1:]])
    found = clusterer.fit(boxes(low, high, np.array([9000.0] + [500.0] * 40)))
    inside, outside = np.array([[0.499, 0.01]]), np.array([[0.55, 0.01]])
    assert found.n_clusters_ == 2
    assert found.predict(inside)[0] == found.labels_[0]
    assert found.predict(outside)[0] == (-1 if clusterer.outliers else found.labels_[0])


@pytest.mark.parametrize("n_clusters", ["auto", 1, 3])
def test_leaves_in_one_place_or_on_a_line_make_flat_gaussians(n_clusters):
    one = boxes(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]]), np.array([500.0]))
    line = boxes(np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([[0.5, 1.0], [1.0, 1.0]]), np.array([500.0, 400.0]))
    for synopsis in (one, line):
        found = GaussianClusters(n_clusters).fit(synopsis)
        assert np.linalg.eigvalsh(found.covariances_).min() > 0
        assert found.predict([[0.5, 0.5]]).tolist() in ([0], [1])


def test_gaussians_far_from_zero_are_where_they_are():
    data = dc.datasets.mixture(5000, 2, 4, random_state=0)
    away, span = np.array([1e9, -1e9]), (data.domain.high - data.domain.low).max()
    domain = dc.Domain.box(data.domain.low + away, data.domain.high + away)
    made = [
        dc.GridSynopsis(2.0, d, 16, random_state=0).fit(x).synopsis_
        for d, x in ((data.domain, data.X), (domain, data.X + away))
    ]
    near, far = (GaussianClusters(4).fit(s).means_ for s in made)
    assert np.abs(np.sort(near[:, 0]) - np.sort(far[:, 0] - 1e9)).max() < 0.01 * span


def test_what_touches_is_not_told_by_groups_of_a_projection():
    X = np.random.default_rng(0).normal(np.repeat([[0.3], [0.7]], 500, axis=0), 0.05, (1000, 12))
    synopsis = dc.PrivateKMeans(2, 50.0, dc.Domain.box([0.0] * 12, 1.0), "lift", random_state=0).fit(X).synopsis_
    with pytest.raises(InvalidArgument, match=r"divides the columns.*GaussianClusters"):
        DensityClusters().fit(synopsis)
    assert GaussianClusters(2).fit(synopsis).n_clusters_ == 2
