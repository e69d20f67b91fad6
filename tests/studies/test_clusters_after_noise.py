"""Common clustering algorithms after metric privacy, with parameters that follow public rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation
from sklearn.metrics import adjusted_rand_score

from discreet.errors import InvalidArgument, InvalidType
from discreet_studies.nd_laplace.clusters import cluster_after_noise
from noisy_clusters import four_clusters, laplace


@pytest.mark.parametrize("algorithm", ["k-means", "noise-aware", "affinity", "dbscan", "optics", "hierarchical"])
def test_every_algorithm_finds_clusters_under_little_noise(algorithm):
    rng = np.random.default_rng(8)
    _, labels, X = four_clusters(200, 2, rng, spread=0.03)
    Z = X + laplace(rng, 200, 2, 200)
    found = cluster_after_noise(Z, algorithm, n_clusters=4, law=200.0, domain=(0, 1))
    agreement = adjusted_rand_score(labels, found.labels)
    # Affinity propagation splits clusters, density methods leave their rims out.
    assert agreement > {"affinity": 0.3, "dbscan": 0.75, "optics": 0.3}.get(algorithm, 0.95)
    assert found.centers.shape[1] == 2
    assert ((found.centers > -0.1) & (found.centers < 1.1)).all()


def test_the_radius_of_dbscan_follows_public_rules():
    rng = np.random.default_rng(9)
    _, _, X = four_clusters(200, 3, rng)
    Z = X + laplace(rng, 200, 3, 60)
    by_noise = cluster_after_noise(Z, "dbscan", law=60.0, radius="noise").parameters
    assert by_noise == {"radius": 3 / 60, "min_points": 6}
    # The elbow scales with the points unless they are standardised.
    plain, wide = (cluster_after_noise(z, "dbscan", standardize=False).parameters["radius"] for z in (Z, 10 * Z))
    assert wide == pytest.approx(10 * plain)
    assert cluster_after_noise(10 * Z, "dbscan").parameters["radius"] == pytest.approx(
        cluster_after_noise(Z, "dbscan").parameters["radius"]
    )


def test_the_preference_of_affinity_propagation_is_passed_on():
    rng = np.random.default_rng(8)
    _, labels, X = four_clusters(120, 2, rng, spread=0.03)
    Z = X + laplace(rng, 120, 2, 200)
    own = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    plain = AffinityPropagation(damping=0.5, max_iter=500, random_state=0).fit(own)
    usual = cluster_after_noise(Z, "affinity")
    assert np.array_equal(usual.labels, plain.labels_)  # the median is what scikit-learn takes by default
    few, some, many = (cluster_after_noise(Z, "affinity", preference=p) for p in ("minimum", -2.0, -0.01))
    # At damping 0.5 this one oscillates to its last step, and then has 67 clusters.
    assert few.parameters["damping"] > 0.5
    assert adjusted_rand_score(labels, few.labels) == 1.0
    assert len(few.centers) == 4 <= len(usual.centers) < len(many.centers)
    given = AffinityPropagation(damping=0.5, max_iter=500, preference=-2.0, random_state=0).fit(own)
    assert some.parameters == {"damping": 0.5, "preference": -2.0}
    assert np.array_equal(some.labels, given.labels_)
    # In the columns' own units similarities are smaller, and so is the rule's preference.
    raw = cluster_after_noise(Z, "affinity", standardize=False).parameters["preference"]
    assert raw == pytest.approx(usual.parameters["preference"] * float(Z.std(axis=0).mean()) ** 2, rel=0.1)


@pytest.mark.parametrize("wrong", ["mean", math.nan, math.inf, None, True])
def test_a_preference_that_is_none_is_refused(wrong):
    with pytest.raises((InvalidArgument, InvalidType), match=r"preference.*median"):
        cluster_after_noise(np.zeros((5, 2)), "affinity", preference=wrong)


def test_missing_arguments_of_algorithms_are_named():
    Z = np.zeros((5, 2))
    with pytest.raises(InvalidArgument, match="n_clusters"):
        cluster_after_noise(Z, "k-means")
    with pytest.raises(InvalidArgument, match="law"):
        cluster_after_noise(Z, "noise-aware", n_clusters=2)
    with pytest.raises(InvalidArgument, match="algorithm"):
        cluster_after_noise(Z, "magic")
    with pytest.raises(InvalidArgument, match="Z"):
        cluster_after_noise([[np.nan, 1.0], [1.0, 1.0]], "dbscan")
