"""Scores of clusterings: worked out by hand, or from pairs of records, and the matching of centres."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet.evaluation import center_errors, clustering_agreement, compare_centers, nicv

TRUTH = np.array([0, 0, 0, 1, 1, 1, 2, 2])
FOUND = np.array([5, 5, 7, 7, 7, 7, 9, 9])


def pairs(labels):
    return {p for p in itertools.combinations(range(len(labels)), 2) if labels[p[0]] == labels[p[1]]}


def test_fowlkes_and_mallows_count_pairs_that_stay_together():
    a, b = pairs(TRUTH), pairs(FOUND)
    by_hand = len(a & b) / np.sqrt(len(a) * len(b))
    assert clustering_agreement(TRUTH, FOUND, resamples=2).fowlkes_mallows.mean == pytest.approx(by_hand)


def test_normalised_information_is_shared_over_mean_entropy():
    joint = np.zeros((3, 3))
    for i, j in zip(np.unique(TRUTH, return_inverse=True)[1], np.unique(FOUND, return_inverse=True)[1], strict=True):
        joint[i, j] += 1 / len(TRUTH)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    shared = sum(p * np.log(p / (rows[i] * columns[j])) for (i, j), p in np.ndenumerate(joint) if p > 0)
    entropies = [-(p * np.log(p)).sum() for p in (rows, columns)]
    assert clustering_agreement(TRUTH, FOUND, resamples=2).nmi.mean == pytest.approx(shared / np.mean(entropies))


def test_davies_and_bouldin_compare_width_with_distance():
    points = np.array([[0.0], [2.0], [10.0], [14.0]])
    found = clustering_agreement([0, 0, 1, 1], [0, 0, 1, 1], points, resamples=2)
    assert found.davies_bouldin.mean == pytest.approx((1 + 2) / 11)  # mean widths 1 and 2, centres 1 and 12
    assert np.isnan(clustering_agreement([0, 0, 1, 1], [0, 0, 1, 1], resamples=2).davies_bouldin.mean)


def test_all_scores_have_intervals_over_runs_and_over_records():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 2)) + 6 * (np.arange(60) % 3)[:, None]
    truth = np.arange(60) % 3
    wrong = np.where(rng.random((2, 60)) < 0.2, 0, truth)
    for labels in (wrong, wrong[0]):
        told = clustering_agreement(truth, labels, points, resamples=20).to_dict()
        for name, spread in told.items():
            if name != "runs":
                assert spread["interval"][0] <= spread["mean"] <= spread["interval"][1], name


def test_centres_are_matched_so_that_all_together_are_near():
    # The nearest reference of both is the first one: each may be taken once.
    found = center_errors([[0.0, 0.0], [1.0, 0.0]], [[0.2, 0.0], [6.2, 0.0]])
    assert found.reference[np.argsort(found.centers)].tolist() == [0, 1]
    np.testing.assert_allclose(np.sort(found.relative), [0.2 / 6, 5.2 / 6])
    assert found.mean_relative == pytest.approx(5.4 / 12)


def test_centres_that_are_too_many_or_too_few_are_counted():
    assert center_errors([[0.0]], [[0.0], [1.0], [2.0]]).unmatched == 2
    assert center_errors([[0.0], [1.0], [2.0]], [[0.0]], unit=4).relative.tolist() == [0.0]
    assert np.isnan(center_errors([[1.0]], [[0.0]]).relative).all()  # no other centre to compare the distance with
    with pytest.raises(InvalidArgument, match="at least one centre"):
        center_errors(np.empty((0, 1)), [[0.0]])


def test_private_centres_are_compared_with_those_of_raw_rows():
    data = dc.datasets.mixture(3000, 2, 4, random_state=1)
    km = dc.PrivateKMeans(4, 2.0, data.domain, random_state=1).fit(data.X)
    found = compare_centers(data.X, km.cluster_centers_)
    assert found.centroid_index == 0
    assert found.ari > 0.98
    assert found.nicv == pytest.approx(nicv(data.X, km.cluster_centers_))
    assert 1 <= found.nicv_ratio < 1.2
    assert found.center_error < 0.1
    assert found.davies_bouldin == pytest.approx(found.davies_bouldin_raw, rel=0.1)
    # Two centres on one cluster: one is missed, and it shows.
    wrong = km.cluster_centers_.copy()
    wrong[0] = wrong[1] + 0.01
    worse = compare_centers(data.X, wrong)
    assert worse.centroid_index == 1
    assert worse.center_error > 5 * found.center_error
    assert compare_centers(data.X, [[0.5, 0.5]]).to_dict()["davies_bouldin"] is None
    with pytest.raises(InvalidArgument, match="as many different rows"):
        compare_centers([[0.0], [0.0]], [[0.0], [1.0]])
