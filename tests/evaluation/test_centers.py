"""Measures of centres: examples that can be checked by hand, matching, bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidArgument
from discreet.evaluation import center_errors, centroid_index, compare_centers, nicv, nicv_ratio


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


def test_centres_are_matched_so_that_all_together_are_near():
    # The nearest reference of both is the first one: each may be taken once.
    found = center_errors([[0.0, 0.0], [1.0, 0.0]], [[0.2, 0.0], [6.2, 0.0]])
    assert found.reference[np.argsort(found.centers)].tolist() == [0, 1]
    np.testing.assert_allclose(np.sort(found.relative), [0.2 / 6, 5.2 / 6])
    assert found.mean_relative == pytest.approx(5.4 / 12)


def test_centres_that_are_too_many_or_too_few_are_counted():
    assert center_errors([[0.0]], [[0.0], [1.0], [2.0]]).unmatched == 2
    assert center_errors([[0.0], [1.0], [2.0]], [[0.0]]).distances.tolist() == [0.0]
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
