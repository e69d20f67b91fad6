"""Weak places that a review found, each with the test that would have shown it."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, FormatError, InvalidArgument
from discreet.noise.integer.exceedances import _STRIDE, _walk
from discreet.synopses import refine


def counts(X: Any, domain: Any, rule: Any = 2) -> list[float]:
    return dc.GridSynopsis(math.inf, domain, rule, random_state=0).fit(X).synopsis_.weights.tolist()


def test_one_row_of_a_list_does_not_change_how_the_others_are_read() -> None:
    """NumPy would turn the large whole numbers into floats for the sake of one fraction."""
    domain = {"c": [2**60, 2**60 + 1]}
    assert counts([[2**60 + 1]] * 100, domain, (2,)) == [0, 100]
    assert counts([[2**60 + 1]] * 100 + [[0.5]], domain, (2,)) == [0, 100]


@pytest.mark.parametrize(
    "odd", [[0.3], [0.1, 0.2, 0.3], 7, None, [1j, 0.2], [[1], 0.2], [b"\xc3\xa4", "m"], [10**400, 0.5], "ab"], ids=repr
)
def test_no_row_of_a_list_makes_a_fit_fail(odd: Any) -> None:
    domain = dc.Domain.box([0, 0], 1)
    for model in (dc.GridSynopsis(1.0, domain, 2), dc.TreeSynopsis(1.0, domain), dc.PrivateKMeans(2, 1.0, domain)):
        model.fit([[0.1, 0.2], odd])
        model.fit([])


def test_consistency_is_reached_once() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    domain = dc.Domain.box([0, 0], 1)
    for model in (
        dc.GridSynopsis(1.0, domain, 4, random_state=0),
        dc.TreeSynopsis(1.0, domain, max_depth=4, test_from=0, random_state=0),
    ):
        once = refine.consistent(model.fit(X).synopsis_)
        twice = refine.consistent(once)
        assert np.array_equal(once.weights, twice.weights)
        assert np.array_equal(once.variances, twice.variances)
        assert once.total_variance == twice.total_variance


def test_an_adaptive_grid_keeps_its_total_when_made_consistent() -> None:
    """Its counts are reconciled already, and correlated: their variances do not add up to that of the total."""
    X = np.random.default_rng(0).random((5000, 2))
    release = dc.GridSynopsis(1.0, dc.Domain.box([0, 0], 1), "adaptive", random_state=0).fit(X).synopsis_
    after = refine.consistent(release)
    assert (after.total, after.total_variance) == (release.total, release.total_variance)


def test_the_uniform_tree_notes_the_count_that_really_decided() -> None:
    """The correction for having been found large needs the true limit."""
    X = np.random.default_rng(0).random((700, 2))
    for seed in range(20):
        tree = dc.TreeSynopsis(0.1, dc.Domain.box([0, 0], 1), "uniform", random_state=seed).fit(X).synopsis_.tree
        tested = np.isfinite(tree.estimate)
        split = tested & (tree.axis >= 0)
        assert (tree.estimate[split] > tree.threshold[split]).all()
        assert (tree.threshold[tested] >= 100).all()


def test_a_gap_of_a_stride_says_nothing_about_what_lies_beyond() -> None:
    hits, position = _walk(np.array([_STRIDE + 5]), 0, _STRIDE + 3)
    assert hits.size == 0
    assert position == _STRIDE


@pytest.mark.parametrize(
    "settings",
    [
        {"partitioner": "median", "shares": (0.5, 0, 0.5)},
        {"partitioner": "density", "shares": (0.5, 0, 0.5)},
        {"partitioner": "quantile", "shares": (0, 0, 1)},
        {"partitioner": "binary", "axis": "spread", "shares": (0.5, 0, 0.5)},
    ],
)
def test_cuts_without_a_budget_are_refused_before_rows_are_read(settings: dict[str, Any]) -> None:
    class Trap:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            raise AssertionError("the data were read")

    domain = dc.Domain.box([0, 0], 1)
    with pytest.raises(InvalidArgument, match="shares"):
        dc.TreeSynopsis(1.0, domain, **settings).fit(Trap())
    with pytest.raises(InvalidArgument, match="shares"):
        dc.PrivateKMeans(3, 1.0, domain, synopsis=dc.TreeSynopsis(**settings)).fit(Trap())


def test_a_changed_pickle_is_noticed() -> None:
    release = dc.GridSynopsis(1.0, (0, 1), 4, random_state=0).fit(np.full((50, 1), 0.3)).synopsis_
    text = pickle.dumps(release)
    weights = release.weights.tobytes()
    assert weights in text
    changed = text.replace(weights, (release.weights + 1).tobytes())
    with pytest.raises((FormatError, DiscreetError)):
        pickle.loads(changed)
    assert pickle.loads(text) == release
