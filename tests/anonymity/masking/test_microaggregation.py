"""Groups of k at any size of table, by groups of columns, column by column, and along a principal component."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from anonymity_checker import classes_of
from discreet.anonymity import Microaggregation
from discreet.anonymity.masking import grouping
from discreet.anonymity.masking._mdav_kernels import best_path
from discreet.anonymity.masking.grouping import Points, make_blocks, mdav_groups, path_groups
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.evaluation import recount
from discreet.reporting.words import for_experts, for_lawyers

UNIT = dc.Domain({"x": (0, 1), "y": (0, 1)})
THREE = dc.Domain({"x": (0, 1), "y": (0, 1), "g": ["a", "b", "c"]})


def crowds(n: int, seed: int, numbers: int = 3, codes: int = 1) -> Points:
    rng = np.random.default_rng(seed)
    centres = rng.random((6, numbers))
    rows = np.clip(centres[rng.integers(6, size=n)] + rng.normal(0, 0.06, (n, numbers)), 0, 1)
    return Points(rows, rng.integers(0, 3, (n, codes)))


def corners(points: Points) -> np.ndarray:
    """The rows as plain vectors: a code is the corner of a simplex with edge 1."""
    codes = [np.eye(int(c.max(initial=0)) + 1)[c] / np.sqrt(2) for c in points.codes.T]
    return np.concatenate([points.numbers, *codes], axis=1)


def loss(points: Points, groups: Any) -> float:
    rows, held = corners(points), np.bincount(groups)
    return float(sum((x**2).sum() - (np.bincount(groups, x) ** 2 / held).sum() for x in rows.T))


@pytest.mark.parametrize(("k", "block"), [(2, 4), (3, 50), (10, 20), (10, 300), (40, 500)])
def test_every_group_in_blocks_has_k_to_2k_rows(k: int, block: int) -> None:
    points = crowds(2000, k)
    groups = mdav_groups(points, k, block)
    sizes = np.bincount(groups)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    blocks = make_blocks(points, k, block)
    assert sorted(np.concatenate(blocks)) == list(range(2000))
    assert all(k <= len(rows) <= block for rows in blocks)
    assert set(groups) == set(range(len(sizes)))


def test_equal_rows_and_columns_without_values_to_cut_at_are_halved() -> None:
    equal = Points(np.full((1000, 2), 0.25), np.zeros((1000, 1), np.int64))
    assert [len(rows) for rows in make_blocks(equal, 5, 300)] == [250] * 4
    assert np.bincount(mdav_groups(equal, 5, 300)).tolist() == [5] * 200
    lone = Points(np.where(np.arange(1000) == 3, 1.0, 0.0)[:, None], np.empty((1000, 0), np.int64))
    assert all(len(rows) == 250 for rows in make_blocks(lone, 5, 300))


@pytest.mark.parametrize("seed", range(6))
def test_a_block_is_cut_where_most_squares_go(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = Points(rng.integers(0, 9, (60, 2)) / 8, rng.integers(0, 4, (60, 2)))
    none, nothing = np.empty((60, 0)), np.empty((60, 0), np.int64)
    columns = [Points(v[:, None], nothing) for v in points.numbers.T] + [
        Points(none, v[:, None]) for v in points.codes.T
    ]
    gains = []
    for column in columns:
        values = column.numbers[:, 0] if column.numbers.size else column.codes[:, 0]
        whole = loss(column, np.zeros(60, np.int64))
        cuts = [below for below in (values <= at for at in np.unique(values)[:-1]) if 6 <= below.sum() <= 54]
        gains += [(whole - loss(column, below.astype(np.int64)), below.tolist()) for below in cuts]
    assert grouping._cut(points, 6).tolist() == max(gains)[1]


def test_rows_that_are_rare_in_every_block_meet_again() -> None:
    rng = np.random.default_rng(0)
    rare = np.zeros(4000)
    rare[rng.choice(4000, 20, replace=False)] = 1.0
    points = Points(np.stack([rng.random(4000), rare], axis=1), np.empty((4000, 0), np.int64))
    groups = mdav_groups(points, 5, 500)
    assert all(set(rare[groups == g]) in ({0.0}, {1.0}) for g in set(groups))
    apart = np.empty(4000, np.int64)
    for i, rows in enumerate(make_blocks(points, 5, 500)):
        apart[rows] = 1000 * i + mdav_groups(points.take(rows), 5, None)
    assert loss(points, groups) < 0.1 * loss(points, np.unique(apart, return_inverse=True)[1])


@pytest.mark.parametrize("seed", range(3))
def test_another_round_never_adds_to_the_loss(seed: int) -> None:
    points = crowds(600, seed)
    groups = np.arange(600) // 6
    better = grouping._again(points, groups, 6, 200)
    assert loss(points, better) <= loss(points, groups)
    assert 6 <= np.bincount(better).min() <= np.bincount(better).max() <= 11
    best = mdav_groups(points, 6, None)
    assert (grouping._again(points, best, 6, 5) == best).all()  # no group fits
    found = grouping.losses(points, groups)
    rows = corners(points)
    wanted = [((rows[groups == g] - rows[groups == g].mean(axis=0)) ** 2).sum() for g in range(100)]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_blocks_lose_little_and_repeat_themselves() -> None:
    points = crowds(6000, 1)
    plain, blocked = mdav_groups(points, 5, None), mdav_groups(points, 5, 1500)
    assert loss(points, blocked) < 1.1 * loss(points, plain)
    assert (mdav_groups(points, 5, 1500) == blocked).all()
    assert (mdav_groups(points, 5, 6000) == plain).all()


def test_large_tables_are_blocked_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).random((3000, 2))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})

    def facts(**settings: Any) -> Any:
        release = Microaggregation(5, domain=UNIT, grid=200, **settings).fit_transform(table)
        assert recount(release.table, release.guarantee).failures == ()
        return release.guarantee.parameters

    assert "block_rows" not in facts()
    monkeypatch.setattr("discreet.anonymity.masking.grouping.EXACT_ROWS", 1000)
    monkeypatch.setattr("discreet.anonymity.masking.grouping.BLOCK_ROWS", 700)
    assert facts()["block_rows"] == 5 * grouping.BLOCK_GROUPS
    assert facts(block_rows=100)["block_rows"] == 100
    assert "block_rows" not in facts(block_rows=None)
    assert "block_rows" not in facts(block_rows=3000)


@pytest.mark.slow
def test_a_million_rows_are_grouped_in_minutes_and_lose_little() -> None:
    points = crowds(1_000_000, 2, numbers=5, codes=0)
    start = time.process_time()
    groups = mdav_groups(points, 10, grouping.BLOCK_ROWS)
    assert time.process_time() - start < 120
    assert np.bincount(groups).min() >= 10
    part = points.take(np.arange(100_000))
    blocked, plain = (loss(part, mdav_groups(part, 10, rows)) for rows in (grouping.BLOCK_ROWS, None))
    assert blocked < 1.05 * plain


def partitions(rows: list[int], k: int) -> Any:
    """All partitions into groups of at least k."""
    if not rows:
        yield []
    for size in range(k, len(rows) + 1):
        for others in itertools.combinations(rows[1:], size - 1):
            taken = {rows[0], *others}
            for rest in partitions([r for r in rows if r not in taken], k):
                yield [taken, *rest]


@pytest.mark.parametrize(("n", "k"), [(7, 2), (8, 3), (9, 3), (6, 3), (5, 3), (8, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_no_groups_of_a_column_are_better(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 30, n) / 8
    points = Points(values[:, None], np.empty((n, 0), np.int64))
    groups = path_groups(points, k)
    assert np.bincount(groups).min() >= k
    least = min(
        sum(float(((values[list(g)] - values[list(g)].mean()) ** 2).sum()) for g in p)
        for p in partitions(list(range(n)), k)
    )
    assert loss(points, groups) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(9, 2), (13, 3), (4, 4), (7, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_no_runs_along_a_line_are_better(n: int, k: int, seed: int) -> None:
    points = crowds(n, seed, numbers=2, codes=2)
    groups = best_path(points.numbers, points.codes, 3, k)
    assert (np.diff(groups) >= 0).all()

    def runs(left: int) -> Any:
        if left == 0:
            yield []
        for size in range(k, left + 1):
            for rest in runs(left - size):
                yield [size, *rest]

    least = min(loss(points, np.repeat(np.arange(len(r)), r)) for r in runs(n))
    assert loss(points, groups) == pytest.approx(least, abs=1e-12)


def test_groups_follow_the_first_component() -> None:
    rng = np.random.default_rng(4)
    along = rng.permutation(60)
    points = Points(np.stack([along / 100 + 0.001 * rng.random(60), along / 50], axis=1), np.empty((60, 0), np.int64))
    groups = path_groups(points, 4)
    assert (np.diff(groups[np.argsort(along)]) >= 0).all()
    assert loss(points, groups) <= loss(points, mdav_groups(points, 4, None))


def three(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table({"x": rng.random(n), "y": rng.random(n) ** 2, "g": rng.choice(["a", "b", "c"], n)})


def smallest(table: pa.Table, columns: list[str]) -> int:
    return min(len(c) for c in classes_of(list(zip(*(table[c].to_pylist() for c in columns), strict=True))))


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"grouping": "univariate"}, [["x"], ["y"], ["g"]]),
        ({"columns": [["y", "x"], ["g"]]}, [["y", "x"], ["g"]]),
        ({"columns": {"x": 1, "g": "b", "y": "b"}}, [["x"], ["g", "y"]]),
        ({"columns": [["x", "y"], ["g"]], "grouping": "pca"}, [["x", "y"], ["g"]]),
    ],
)
def test_groups_of_columns_keep_k_each_and_promise_no_more(settings: dict[str, Any], parts: list[list[str]]) -> None:
    release = Microaggregation(4, domain=THREE, grid=100, **settings).fit_transform(three())
    facts = release.guarantee.parameters
    assert facts["required"] == {"k": None, "k_by_columns": {"least": 4, "columns": parts}}
    reached = facts["reached"]
    assert reached["k"] is None
    assert reached["k_by_columns"]["least"] == min(smallest(release.table, part) for part in parts) >= 4
    assert reached["k_of_rows"] == smallest(release.table, ["x", "y", "g"]) < 4
    assert "no k" in repr(release)
    said = str(release.guarantee)
    assert "k = 4 in each of these groups of columns by itself, and not in whole rows" in said
    assert "a whole row can be unique" in said
    assert "In each of these groups of columns, taken separately" in " ".join(for_lawyers(release.guarantee))
    assert "each group of columns G" in for_experts(release.guarantee)[0]
    assert recount(release.table, release.guarantee).failures == ()
    broken = release.table.set_column(0, "x", pa.array(np.arange(200) / 200))
    assert "k of" in recount(broken, release.guarantee).failures[0]


def test_labels_of_groups_of_columns_are_explained() -> None:
    tree = dc.anonymity.Hierarchy({"vowel": ["a"], "other": ["b", "c"]})
    table = pa.table({"x": [0.1, 0.2, 0.3, 0.4], "y": [0.5] * 4, "g": ["b", "c", "a", "a"]})
    release = Microaggregation(2, domain=THREE, hierarchies={"g": tree}, grouping="univariate").fit_transform(table)
    assert sorted(release.table["g"].to_pylist()) == ["a", "a", "other", "other"]
    assert release.guarantee.parameters["labels"] == {"g": {"other": ["b", "c"]}}


def test_all_columns_in_one_group_promise_k_for_whole_rows() -> None:
    table = three().drop_columns("g")
    for settings in ({"grouping": "pca"}, {"columns": [["y", "x"]]}, {"columns": [("x", "y")], "grouping": "pca"}):
        release = Microaggregation(4, domain=UNIT, grid=100, **settings).fit_transform(table)
        assert release.guarantee.parameters["required"] == {"k": 4}
        assert release.guarantee.parameters["reached"]["k"] == smallest(release.table, ["x", "y"]) >= 4
        assert recount(release.table, release.guarantee).failures == ()


def test_missing_values_of_a_column_make_groups_of_their_own() -> None:
    domain = dc.Domain({"x": {"bounds": [0, 10], "missing": "own"}})
    table = pa.table({"x": [1, None, 2, None, None, 9, 8, 3]})
    release = Microaggregation(2, domain=domain, grid=100, grouping="univariate").fit_transform(table, order="input")
    assert release.table["x"].to_pylist() == [2, None, 2, None, None, 8.5, 8.5, 2]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grouping": "kmeans"}, "grouping must be"),
        ({"grouping": "pca"}, "categories"),
        ({"grouping": "univariate", "columns": [["x"], ["y"], ["g"]]}, "columns must be left out"),
        ({"columns": [["x"], ["y"]]}, "every quasi-identifier into one group, but 'g' is in none"),
        ({"columns": [["x", "x"], ["y", "g"]]}, "'x' is in 2 of them"),
        ({"columns": [["x", "z"], ["y", "g"]]}, "'z' is not one"),
        ({"columns": ["x", "y", "g"]}, "a list of lists"),
        ({"columns": []}, "a list of lists"),
        ({"columns": [[], ["x", "y", "g"]]}, "a list of lists"),
        ({"block_rows": 7}, "block_rows must be"),
        ({"block_rows": "many"}, "block_rows must be"),
        ({"block_rows": 100, "grouping": "univariate"}, "only MDAV needs blocks"),
    ],
)
def test_what_cannot_be_grouped_is_refused_before_rows_are_read(settings: dict[str, Any], words: str) -> None:
    method = Microaggregation(4, domain=THREE, **settings)
    for refused in (method.check, lambda: method.fit(three())):
        with pytest.raises((InvalidArgument, InvalidType, SchemaError), match=words):
            refused()


def test_a_pair_of_bounds_with_columns_is_checked_when_the_table_is_there() -> None:
    table = three().drop_columns("g")
    Microaggregation(4, domain=(0, 1), columns=[["x"], ["y"]]).check()
    Microaggregation(4, domain=(0, 1), columns=[["x"], ["y"]]).fit(table)
    with pytest.raises(SchemaError, match="'y' is in none"):
        Microaggregation(4, domain=(0, 1), columns=[["x"]]).fit(table)
