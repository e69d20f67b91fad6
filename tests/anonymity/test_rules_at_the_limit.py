"""The rules of anonymous tables at their limits: what is at it keeps them or not as stated, what is beyond does not."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.methods.generalization import _rules_kept
from discreet.anonymity.release.table import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.core.columns import Categorical

CLASSES = [0, 0, 0, 1, 1, 1]


def disease(*codes: int) -> list[CodedColumn]:
    return [CodedColumn("disease", np.array(codes, np.int32), ["flu", "cold", "gout"], False)]


@pytest.mark.parametrize(("t", "ok"), [(0.2, False), (0.49, False), (0.5, True)])
def test_closeness(t: float, ok: bool) -> None:
    """Two classes of one value each are half the table away from it."""
    assert Rules(2, t_closeness=t).measure(CLASSES, disease(0, 0, 0, 1, 1, 1)).ok is ok


@pytest.mark.parametrize(("c", "ok"), [(1.9, False), (2.0, False), (2.1, True)])
def test_recursive_diversity(c: float, ok: bool) -> None:
    """The most frequent value is twice as frequent as the rest: below c, and not at it."""
    assert Rules(2, l_diversity=2, l_kind="recursive", c=c).measure(CLASSES, disease(0, 0, 1, 1, 1, 2)).ok is ok


@pytest.mark.parametrize(("least", "ok"), [(2, True), (3, False)])
def test_distinct_diversity(least: int, ok: bool) -> None:
    assert Rules(2, l_diversity=least).measure(CLASSES, disease(0, 0, 1, 1, 1, 2)).ok is ok


@pytest.mark.parametrize(("k", "ok"), [(3, True), (4, False)])
def test_size(k: int, ok: bool) -> None:
    assert Rules(k).measure(CLASSES, disease(0, 0, 1, 1, 1, 2)).ok is ok


def test_generalised_classes_keep_recursive_diversity_below_c_alone() -> None:
    rules = Rules(2, l_diversity=2, l_kind="recursive", c=3.0)
    found = _rules_kept(rules, np.array([[2.9], [3.0], [3.2]]), np.zeros((3, 1)))
    assert found.tolist() == [True, False, False]


def test_a_category_beyond_the_declared_ones_goes_to_the_last_bin() -> None:
    grid = make_grid(Categorical("job", ["cook", "smith", "nurse"]))
    assert grid.bins(np.array([-1.0, 0.0, 2.0, 3.0, 99.0])).tolist() == [0, 0, 2, 2, 2]
