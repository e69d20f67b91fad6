"""The rules of anonymous tables at their limits: what is at it keeps them or not as stated, what is beyond does not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain
from discreet.anonymity import DensityTree, Generalization, Microaggregation, Mondrian
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.masking.masker import on_grid
from discreet.anonymity.masking.microaggregation import _means
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.rules import Rules
from discreet.core.columns.kinds import Categorical, Integer
from discreet.errors import InvalidArgument
from support.classes import keeps
from support.trees import bins_of

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
    found = rules._kept(np.full(3, 9), np.array([[2.9], [3.0], [3.2]]), np.zeros((3, 1)))
    assert found.tolist() == [True, False, False]


def test_a_category_beyond_the_declared_ones_goes_to_the_last_bin() -> None:
    grid = make_grid(Categorical("job", ["cook", "smith", "nurse"]))
    assert bins_of(grid, np.array([-1.0, 0.0, 2.0, 3.0, 99.0])).tolist() == [0, 0, 2, 2, 2]


TABLE = [0, 0, 0, 1, 1, 2, 2]


def by_definition(rules: Rules, values: list[int]) -> bool:
    """k, l and t of one class, worked out in fractions."""
    counts = [values.count(v) for v in range(3)]
    good = len(values) >= rules.k
    if rules.l_diversity is not None:
        least = int(rules.l_diversity)
        if rules.l_kind == "distinct":
            good &= sum(n > 0 for n in counts) >= least
        elif rules.l_kind == "entropy":  # entropy >= ln l: Π n^n l^size <= size^size, in whole numbers
            good &= math.prod(n**n for n in counts) * least ** len(values) <= len(values) ** len(values)
        else:
            falling = sorted(counts, reverse=True)
            good &= Fraction(falling[0]) < Fraction(rules.c) * sum(falling[least - 1 :])
    if rules.t_closeness is not None:
        gaps = [Fraction(n, len(values)) - Fraction(TABLE.count(v), len(TABLE)) for v, n in enumerate(counts)]
        runs = [abs(sum(gaps[: i + 1])) for i in range(2)]
        far = sum(map(abs, gaps)) / 2 if rules.t_kind == "equal" else sum(runs) / 2
        good &= far <= Fraction(rules.t_closeness).limit_denominator(1000)
    return bool(good)


@pytest.mark.parametrize(
    "asked",
    [
        *({"k": k} for k in (2, 3, 5)),
        *({"k": 2, "l_diversity": least} for least in (1, 2, 3)),
        *({"k": 2, "l_diversity": least, "l_kind": "entropy"} for least in (2, 3)),
        *({"k": 2, "l_diversity": 2, "l_kind": "recursive", "c": c} for c in (1.0, 1.5, 2.0, 3.0)),
        *({"k": 2, "t_closeness": t, "t_kind": kind} for kind in ("equal", "ordered") for t in (1 / 7, 5 / 21, 0.6)),
    ],
)
def test_every_class_of_a_small_table_keeps_the_rules_if_it_does_by_definition(asked: dict[str, Any]) -> None:
    """All 127 classes of seven rows, once as a class that a tree may cut off and once as a class of a release."""
    rules, sensitive = Rules(**asked), disease(*TABLE)
    for subset in range(1, 128):
        inside = [i for i in range(7) if subset >> i & 1]
        expected = by_definition(rules, [TABLE[i] for i in inside])
        assert keeps(rules, inside, sensitive) is expected
        assert rules.kept([0 if i in inside else 1 for i in range(7)], sensitive)[0] == expected


def test_generalised_classes_are_diverse_and_close_from_the_limit_on() -> None:
    distinct, close = Rules(2, l_diversity=3), Rules(2, t_closeness=0.2)
    assert distinct._kept(np.full(3, 9), np.array([[2.0], [3.0], [4.0]]), np.zeros((3, 1))).tolist() == [
        False,
        True,
        True,
    ]
    assert close._kept(np.full(3, 9), np.ones((3, 1)), np.array([[0.2], [0.21], [0.6]])).tolist() == [
        True,
        False,
        False,
    ]


def test_suppressed_rows_count_for_no_one() -> None:
    """Of the class 0 person 7 has two rows of three; the suppressed rows of person 9 are in no class."""
    found = Rules(2).measure([0, 0, 0, -1, -1, 1, 1], [], np.array([7, 7, 8, 9, 9, 7, 8]))
    assert (found.k, found.ok, found.largest_share) == (2, True, pytest.approx(2 / 3))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("method", [DensityTree, partial(DensityTree, criterion="cell"), Mondrian])
def test_no_cell_that_is_grown_or_published_has_fewer_than_k_rows(method: Any, k: int) -> None:
    """Forty small tables, each grown on by itself, then published in the cells of another."""
    rng = np.random.default_rng(k)
    tables = [pa.table({"x": rng.integers(0, 9, n), "y": rng.integers(0, 9, n)}) for n in rng.integers(2 * k, 40, 41)]
    domain = Domain({"x": (0, 8), "y": (0, 8)})
    for own, other in pairwise(tables):
        model = method(k, domain=domain).fit(own)
        assert model.leaf_counts_.min() >= k
        release = model.transform(other)
        assert release.cells.counts().min() >= k
        assert len(release) == other.num_rows


@pytest.mark.parametrize("method", [DensityTree, Mondrian, Microaggregation, Generalization])
def test_fewer_than_k_rows_are_refused(method: Any) -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    model = method(5, domain=Domain({"x": (0, 8)})).fit(table)
    assert len(model.transform(table)) == 5
    for refused in (lambda: model.transform(table.slice(1)), lambda: method(6, domain=model.domain).fit(table)):
        with pytest.raises(InvalidArgument, match=r"k must be at most the number of records in the release \([45]\)"):
            refused()


def test_a_mean_is_published_from_k_values_on() -> None:
    values, groups = np.array([1.0, 2.0, 3.0, 5.0, 7.0, np.nan]), np.array([0, 0, 0, 1, 1, 1])
    assert _means(values, groups, 2, 3).tolist() == [2.0, pytest.approx(np.nan, nan_ok=True)]


@pytest.mark.parametrize(
    ("least", "kind", "ok"), [(2, "distinct", True), (3, "distinct", False), (2.1, "entropy", False)]
)
def test_no_more_diversity_is_asked_for_than_there_are_declared_values(least: float, kind: str, ok: bool) -> None:
    secret = {"categories": ["a", "b"], "role": "sensitive"}
    model = DensityTree(3, least, domain=Domain({"x": (0, 8), "s": secret}), l_kind=kind)
    if ok:
        model.check()
    else:
        with pytest.raises(InvalidArgument, match=r"declared values of .* \(2\)"):
            model.check()


def test_a_masked_whole_number_is_the_nearest_that_is_declared() -> None:
    grid = make_grid(Integer(0, 9, name="children"))
    assert on_grid(grid, np.array([-3.0, -0.5, 2.4, 2.5, 2.6, 9.5, 99.0])).tolist() == [0, 0, 2, 2, 3, 9, 9]
