"""Figures that any plain tree must hit, on real tables. NOT private: bounds are read off the data, without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans

from discreet import Domain, datasets
from discreet.synopses.boxes.tree.estimator import TreeSynopsis
from discreet_studies.as_published.axes import InTurn


def plain_tree(name, partitioner, **settings):
    if name not in datasets.available():
        pytest.skip(f"{name} is not here: the data folder ../shared/data is not part of the repository")
    X = datasets.load(name).X
    domain = Domain.box(X.min(axis=0), X.max(axis=0))
    return X, TreeSynopsis(math.inf, domain, InTurn.of(partitioner), random_state=0, **settings).fit(X).synopsis_


def excess(X, centres, baseline):
    nearest = np.min([((X - c) ** 2).sum(axis=1) for c in centres], axis=0)
    return 100 * (nearest.mean() / baseline - 1)


@pytest.mark.parametrize(
    ("name", "baseline", "median", "halves"),
    [
        ("s1", 1.783523e9, 1633.38, 1626.34),
        ("s2", 2.655822e9, 1037.61, 1014.24),
        ("s3", 3.377940e9, 688.26, 655.16),
    ],
)
def test_two_levels_on_the_s_sets(name, baseline, median, halves):
    for partitioner, expected in (("median", median), ("binary", halves)):
        X, s = plain_tree(name, partitioner=partitioner, max_depth=2)
        assert s.n_leaves == 4
        assert excess(X, s.points, baseline) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("depth", "expected"), [(4, 15.24), (6, 0.76), (8, 1.57)])
def test_halves_of_skin(depth, expected):
    X, s = plain_tree("skin", partitioner="binary", max_depth=depth)
    k_means = KMeans(2, n_init=20, random_state=0).fit(s.points, sample_weight=s.weights)
    assert excess(X, k_means.cluster_centers_, 5396.09) == pytest.approx(expected, abs=0.01)
