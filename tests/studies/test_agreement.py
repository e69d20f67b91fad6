"""Agreement of clusterings, worked out by hand or from pairs of records; distances of moved records."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet_studies.measured.agreement import clustering_agreement, perturbation_distance

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


def test_the_perturbation_distance_is_the_mean_length_of_the_noise():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 3))
    Z = dc.metric.NDLaplace(2.0, 1.0, (0, 1), scaling="none", random_state=0).transform(X)
    assert perturbation_distance(X, Z) == pytest.approx(3 / 2.0, rel=0.02)
    assert perturbation_distance([[0.0], [np.nan]], [[1.0], [0.0]]) == 1.0
    assert np.isnan(perturbation_distance(np.empty((0, 2)), np.empty((0, 2))))
    with pytest.raises(InvalidArgument, match="Z"):
        perturbation_distance([[0.0]], [[1.0], [2.0]])


def test_agreement_over_draws_has_students_interval_and_skips_undefined_figures():
    points = np.array([[0.0], [0.1], [1.0], [1.1]])
    runs = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]
    found = clustering_agreement([1, 1, 0, 0], runs, points)
    assert found.ari.mean == pytest.approx((1 - 0.5 + 0) / 3)
    half = 4.302652729911275 * np.std([1, -0.5, 0], ddof=1) / 3**0.5  # t with 2 degrees of freedom
    assert found.ari.high - found.ari.mean == pytest.approx(half)
    assert found.silhouette.runs == found.calinski_harabasz.runs == 2  # one cluster has neither
    alone = clustering_agreement([1, 1, 0, 0], [0, 0, 0, 0], points)
    assert np.isnan(alone.silhouette.mean)
    assert np.isnan(alone.calinski_harabasz.mean)
    assert alone.ari.mean == 0.0


def test_agreement_of_one_run_is_bootstrapped_over_records():
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=100)
    labels = np.where(rng.random(100) < 0.2, rng.integers(3, size=100), truth)
    points = truth[:, None] + 0.1 * rng.standard_normal((100, 2))
    found = clustering_agreement(truth, labels, points, resamples=20)
    for figure in (found.ari, found.ami, found.silhouette, found.calinski_harabasz):
        assert figure.low < figure.mean < figure.high
    wider = clustering_agreement(truth, labels, confidence=0.99, resamples=60).ari
    narrow = clustering_agreement(truth, labels, confidence=0.5, resamples=60).ari
    assert wider.high - wider.low > narrow.high - narrow.low
    assert found.to_dict()["ari"]["mean"] == found.ari.mean


def test_agreement_names_wrong_shapes():
    with pytest.raises(InvalidArgument, match="labels"):
        clustering_agreement([0, 1], [0, 1, 2])
    with pytest.raises(InvalidArgument, match="points"):
        clustering_agreement([0, 1], [0, 1], [0.0, 1.0])
