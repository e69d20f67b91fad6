"""Metrics: examples one can check by hand, and bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import discreet as dc
from discreet.core.domain import Box
from discreet.errors import InvalidArgument
from discreet.evaluation import (
    centroid_index,
    clustering_agreement,
    nicv,
    nicv_ratio,
    perturbation_distance,
    range_query_error,
)
from discreet.synopses import BoxSynopsis


def test_nicv_is_the_mean_squared_distance_to_the_nearest_centre():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [10.0, 0.0]])
    assert nicv(X, [[0.0, 0.0], [10.0, 1.0]]) == pytest.approx((0 + 25 + 1) / 3)
    assert nicv(X, X) == 0.0


def test_nicv_does_not_cancel_far_from_the_origin():
    X = np.array([[1e9], [1e9 + 1]])
    assert nicv(X, [[1e9]]) == 0.5


def test_nicv_leaves_out_rows_without_a_place():
    assert nicv([[0.0], [np.nan], [2.0]], [[0.0]]) == 2.0
    assert np.isnan(nicv(np.empty((0, 2)), [[0.0, 0.0]]))


def test_the_ratio_takes_centres_or_a_number():
    X = [[0.0], [2.0]]
    assert nicv_ratio(X, [[0.0]], [[1.0]]) == nicv_ratio(X, [[0.0]], 1.0) == 2.0


def test_the_centroid_index_looks_both_ways():
    # Two centres on one cluster: one reference is an orphan. In the other direction the far centre is one.
    assert centroid_index([[0.0], [0.1], [9.0]], [[0.0], [5.0], [9.0]]) == 1
    assert centroid_index([[0.0], [5.0]], [[5.0], [0.0]]) == 0
    one_way = centroid_index([[0.0], [1.0], [2.0]], [[0.0]])
    assert one_way == centroid_index([[0.0]], [[0.0], [1.0], [2.0]]) == 2


def test_range_errors():
    s = BoxSynopsis(
        dc.Domain.box([0, 0], 1),
        lower=[[0, 0], [0.5, 0]],
        upper=[[0.5, 1], [1, 1]],
        weights=[10, 30],
        variances=[1.0, 1.0],
        guarantee=dc.Guarantee("central"),
    )
    X = np.vstack([np.full((12, 2), 0.25), np.full((28, 2), 1.0), [[np.nan, 0.1]]])
    found = range_query_error(s, X, [Box([0, 0], [0.5, 1]), Box([0.5, 0], [1, 1])])
    assert found.truths.tolist() == [12.0, 28.0]  # the upper bound of the domain belongs to the last box
    assert found.mean_absolute == found.root_mean_square == 2.0
    assert found.mean_relative == pytest.approx((2 / 12 + 2 / 28) / 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nicv([[0.0]], np.empty((0, 1))),
        lambda: nicv([[0.0]], [[0.0, 1.0]]),
        lambda: nicv([0.0], [[0.0]]),
        lambda: centroid_index(np.empty((0, 1)), [[0.0]]),
        lambda: nicv([["a"]], [[0.0]]),
    ],
)
def test_wrong_arguments_are_refused(call):
    with pytest.raises(InvalidArgument):
        call()


def test_many_rows_need_bounded_memory():
    X = np.zeros((300_000, 2))
    tracemalloc.start()
    nicv(X, np.zeros((100, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # 240 MB if all distances were held at once


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
    found = clustering_agreement(truth, labels, points, resamples=50)
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
