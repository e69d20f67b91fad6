"""Errors of estimated counts: matched by value, with the usual definitions, and ties that cost nothing."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import mean_absolute_error, mean_squared_error

from discreet.errors import InvalidArgument, InvalidType
from discreet_studies.measured.estimates import correlation, mean_error, precision_at, recall_at, rmse

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 1000, 40).astype(float)
FOUND = TRUTH + RNG.normal(0, 50, 40)


def test_the_usual_definitions() -> None:
    assert mean_error(TRUTH, FOUND) == pytest.approx(mean_absolute_error(TRUTH, FOUND))
    assert rmse(TRUTH, FOUND) == pytest.approx(math.sqrt(mean_squared_error(TRUTH, FOUND)))
    # The range is a divisor of the root, not of what is under it.
    assert rmse(TRUTH, FOUND, normalised=True) == pytest.approx(rmse(TRUTH, FOUND) / (TRUTH.max() - TRUTH.min()))
    assert correlation(TRUTH, FOUND) == pytest.approx(pearsonr(TRUTH, FOUND).statistic)


@pytest.mark.parametrize("measure", [mean_error, rmse, correlation])
def test_mappings_are_matched_by_value_whatever_their_order(measure: Any) -> None:
    truth = {f"v{i}": t for i, t in enumerate(TRUTH)}
    found = {f"v{i}": FOUND[i] for i in RNG.permutation(40)}
    assert measure(truth, found) == pytest.approx(measure(TRUTH, FOUND))
    del found["v3"]
    assert measure(truth, found) == pytest.approx(measure(TRUTH, np.where(np.arange(40) == 3, 0, FOUND)))


def test_what_was_found_among_the_most_frequent() -> None:
    truth = {"a": 50, "b": 40, "c": 30, "d": 30, "e": 1}
    assert recall_at(truth, truth, 3) == precision_at(truth, truth, 3) == 1
    # "d" is as frequent as the third.
    assert recall_at(truth, {"a": 9, "b": 8, "d": 7, "c": 6}, 3) == 1
    assert recall_at(truth, {"a": 9, "x": 8, "e": 7}, 3) == precision_at(truth, {"a": 9, "x": 8, "e": 7}, 3) == 1 / 3
    # Few were found, all rightly; what is estimated at zero or below was not found.
    assert recall_at(truth, {"a": 9, "b": 8, "c": 0, "d": -3}, 4) == 2 / 4
    assert precision_at(truth, {"a": 9, "b": 8, "c": 0, "d": -3}, 4) == 1
    assert recall_at(truth, {"x": 1}, 10) == 0
    assert math.isnan(precision_at(truth, {"x": 0}, 2))
    assert recall_at({"a": 1, "b": 2}, {"a": 1, "b": 2}, 10) == 1


def test_what_does_not_vary_has_no_correlation_and_no_range() -> None:
    assert math.isnan(correlation([1, 1], [1, 2]))
    assert math.isnan(rmse([1, 1], [1, 2], normalised=True))


@pytest.mark.parametrize(
    ("call", "name", "kind"),
    [
        (lambda: mean_error([1, 2], [1]), "estimate", InvalidArgument),
        (lambda: mean_error({"a": 1}, [1]), "estimate", InvalidArgument),
        (lambda: rmse([], []), "truth", InvalidArgument),
        (lambda: rmse(["a"], [1]), "truth", InvalidType),
        (lambda: correlation([1, math.nan], [1, 2]), "truth", InvalidArgument),
        (lambda: recall_at([1, 2], [1, 2], 0), "n", InvalidArgument),
    ],
)
def test_bad_arguments_are_named(call: Any, name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"^{name} must be"):
        call()


def test_equal_estimates_count_by_the_mean_over_their_orders() -> None:
    """By all orders of the values, those of equal estimates being taken as they come."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        truth, found, n = rng.integers(0, 4, 6), rng.integers(-1, 3, 6), int(rng.integers(1, 6))
        if not truth.max() > 0 or not found.max() > 0:
            continue
        there, taken = min(n, int((truth > 0).sum())), min(n, int((found > 0).sum()))
        right = truth >= np.sort(truth)[-there]
        hits = []
        for order in itertools.permutations(range(6)):
            top = sorted((i for i in order if found[i] > 0), key=lambda i: -found[i])[:taken]
            hits.append(min(int(right[top].sum()), there))
        assert recall_at(truth, found, n) == pytest.approx(np.mean(hits) / there)
        assert precision_at(truth, found, n) == pytest.approx(np.mean(hits) / taken)
    assert recall_at([5, 4, 1, 1], [1, 1, 1, 1], 2) == recall_at([1, 1, 4, 5], [1, 1, 1, 1], 2) == 0.5


def test_a_correlation_is_one_at_most_and_not_a_number_where_nothing_varies() -> None:
    assert math.isnan(correlation([0.1] * 3, [1, 2, 3]))
    assert math.isnan(correlation([1, 2, 3], [0.1] * 3))
    assert correlation([1e200, 2e200, 3e200], [1, 2, 3]) == pytest.approx(1)
    values = [np.random.default_rng(seed).random(5) for seed in range(100)]
    assert max(correlation(x, 3 * x) for x in values) <= 1
