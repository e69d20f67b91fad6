"""Metrics: examples one can check by hand, and bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import discreet as dc
from discreet.domain import Box
from discreet.errors import InvalidArgument
from discreet.evaluation import centroid_index, nicv, nicv_ratio, range_query_error
from discreet.synopses import Synopsis


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
    s = Synopsis(
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


def test_a_million_rows_need_bounded_memory():
    X = np.zeros((1_000_000, 2))
    tracemalloc.start()
    nicv(X, np.zeros((100, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # 800 MB if all distances were held at once
