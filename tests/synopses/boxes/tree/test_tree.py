"""Tree synopses as a user meets them: any partitioner, any storage, any table, one guarantee that adds up."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet import Domain, datasets, engines
from discreet.core.budget.guarantee import add_up
from discreet.core.budget.prices import Epsilon
from discreet.engines.passes import trees
from discreet.engines.readers import RowCells
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.tree.estimator import TreeSynopsis, build
from discreet.synopses.opening import OpenRelease
from gates import gate_of

PARTITIONERS = ["binary", "median", "quantile", "uniform", "privtree", "density"]
MIXED = ["median", "uniform"]
SMALL = datasets.s_like(1, n=1200, random_state=3)


def fitted(X=SMALL.X, domain=SMALL.domain, **settings):
    settings = {"max_depth": 4, "random_state": 7, **settings}
    return TreeSynopsis(domain=domain, **settings).fit(X).synopsis_


def same(a, b):
    return a.digest == b.digest and a.tree == b.tree and np.array_equal(a.weights, b.weights)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("budget", ["geometric", "uniform", "linear"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_ledger_adds_up_to_epsilon_on_every_path(partitioner, budget, epsilon):
    for n_rows, test_from in ((None, "auto"), (1200, 1)):
        s = fitted(partitioner=partitioner, budget=budget, epsilon=epsilon, n_rows=n_rows, test_from=test_from)
        assert add_up(s.guarantee.ledger) == Fraction(str(epsilon))
        for path in paths(s.guarantee.ledger):
            assert sum(path, Fraction(0)) == Fraction(str(epsilon))
        assert s.guarantee.seeded
        assert s.weights.dtype == np.int64


def paths(lines):
    """All ways through a ledger: a step is taken, of a parallel group one member."""
    ways = [[]]
    for line in lines:
        if not line.parts:
            options = [[line.amount]]
        elif line.kind == "parallel":
            options = [way for part in line.parts for way in paths([part])]
        else:
            options = paths(line.parts)
        ways = [way + option for way in ways for option in options]
    return ways


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_leaves_part_the_domain_and_the_tree_names_them(partitioner):
    s = fitted(partitioner=partitioner)
    volume = np.prod(s.upper - s.lower, axis=1)
    assert volume.min() > 0
    assert volume.sum() == pytest.approx(SMALL.domain.bounds.volume)
    tree = s.tree
    assert (np.sort(tree.leaf[tree.leaf >= 0]) == np.arange(s.n_leaves)).all()
    inner = tree.leaf < 0
    assert set(tree.parent[1:].tolist()) == set(np.flatnonzero(inner).tolist())
    children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    widths = np.prod(tree.upper - tree.lower, axis=1)
    below = np.bincount(tree.parent[1:], weights=widths[1:], minlength=tree.n_nodes)
    assert np.allclose(below[children > 0], widths[children > 0])
    assert np.isinf(tree.variance[np.isnan(tree.estimate)]).all()
    assert (partitioner == "privtree") <= np.isnan(tree.estimate).all()


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("axis", ["widest", "spread"])
def test_same_seed_same_synopsis_from_every_storage_and_batch(partitioner, axis, tmp_path, monkeypatch):
    if partitioner == "privtree":
        axis = "widest"
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({n: SMALL.X[:, i] for i, n in enumerate(SMALL.domain.names)}), path, row_group_size=100)
    settings = {"partitioner": partitioner, "axis": axis, "test_from": 1, "epsilon": 0.5}
    first = fitted(**settings)
    assert same(first, fitted(X=path, **settings))
    assert same(first, fitted(X=SMALL.X[::-1].copy(), **settings))
    monkeypatch.setattr(trees, "CHUNK", 37)
    assert same(first, fitted(X=np.asfortranarray(SMALL.X), **settings))
    monkeypatch.setattr(RowCells.__init__, "__kwdefaults__", {"memory": 0})
    monkeypatch.setattr(engines.Source.batches, "__defaults__", (101,))
    assert same(first, fitted(**settings))
    assert not same(first, fitted(**settings, random_state=8))


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("n", [0, 1, 40])
def test_no_rows_one_row_and_equal_rows_are_tables_like_any_other(partitioner, n):
    s = fitted(X=np.full((n, 2), 1e5), partitioner=partitioner, leaf_means=True)
    assert s.n_leaves >= 1
    assert s.guarantee.epsilon == 1.0
    assert abs(s.total - n) < 60 * math.sqrt(s.total_variance + 1)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_without_noise_leaves_hold_the_true_counts(partitioner):
    depth = 2 if partitioner == "uniform" else 4
    s = fitted(epsilon=math.inf, partitioner=partitioner, max_depth=depth)
    assert s.total == len(SMALL.X)
    for leaf in np.random.default_rng(0).integers(s.n_leaves, size=20):
        inside = ((s.lower[leaf] <= SMALL.X) & (s.upper[leaf] > SMALL.X)).all(axis=1).sum()
        assert abs(inside - s.weights[leaf]) <= 2  # rows on the upper face of the domain belong to the last leaf
    assert s.guarantee.epsilon == math.inf


def test_many_axes_and_few_levels_say_what_was_never_cut():
    rng = np.random.default_rng(0)
    X = np.full((3000, 24), 2.5)
    X[:, [20, 23]] = rng.choice([0.1, 4.9], (3000, 2))
    domain = Domain.box(0, 5, names=[f"c{i}" for i in range(24)])
    s = fitted(X, domain, max_depth=8, epsilon=2.0)
    assert s.guarantee.parameters["axis"] == "spread"
    cut = set(s.tree.axis[s.tree.axis >= 0].tolist())
    assert {20, 23} <= cut  # where rows spread, not where columns come first
    assert set(s.uncut) == {f"c{i}" for i in range(24) if i not in cut}
    assert (s.lower[:, [i for i in range(24) if i not in cut]] == 0).all()
    for partitioner in PARTITIONERS:
        assert fitted(X, domain, max_depth=8, partitioner=partitioner, epsilon=2.0).guarantee.epsilon == 2.0


@pytest.mark.parametrize("partitioner", ["binary", "median", "quantile", "privtree", "uniform"])
def test_the_order_of_columns_does_not_matter(partitioner):
    rng = np.random.default_rng(1)
    X, order = rng.random((500, 4)) ** 2, [2, 0, 3, 1]
    names = np.array(["a", "b", "c", "d"])
    settings = {"partitioner": partitioner, "axis": "widest", "max_depth": 5, "test_from": 2}
    one = fitted(X, Domain.box(0, [1] * 4, names=names.tolist()), **settings)
    other = fitted(X[:, order], Domain.box(0, [1] * 4, names=names[order].tolist()), **settings)
    assert np.array_equal(one.lower[:, order], other.lower)
    assert np.array_equal(one.weights, other.weights)


def test_tests_begin_where_a_grid_would_end():
    few, many = (fitted(epsilon=e, max_depth=9).guarantee.parameters["test_from"] for e in (0.1, 5.0))
    assert few < many <= 9
    s = fitted(epsilon=0.1, max_depth=9, test_from=0)
    assert (s.tree.threshold[0], np.isfinite(s.tree.variance[0])) != (math.nan, False)
    tested = ~np.isnan(s.tree.threshold)
    assert (s.tree.estimate[tested & (s.tree.leaf < 0)] > s.tree.threshold[tested & (s.tree.leaf < 0)]).all()
    assert (s.tree.estimate[tested & (s.tree.leaf >= 0)] <= s.tree.threshold[tested & (s.tree.leaf >= 0)]).all()


def test_categories_and_missing_values_have_cells():
    domain = Domain(
        {"sex": {"categories": ["f", "m", "x"], "missing": "own"}, "age": {"bounds": (0, 100), "missing": "drop"}}
    )
    table = pa.table({"sex": ["f", "m", None, "x", "f"] * 200, "age": [10.0, 20.0, 30.0, None, 90.0] * 200})
    s = TreeSynopsis(math.inf, domain, max_depth=6, test_from=6).fit(table).synopsis_
    assert s.total == 800  # rows without an age are dropped by its rule
    missing = np.isnan(s.lower[:, 0])
    assert missing.any()
    assert s.weights[missing].sum() == 200
    assert set((s.upper - s.lower)[~missing, 0].tolist()) == {1.0}
    for partitioner in PARTITIONERS:
        assert fitted(table, domain, partitioner=partitioner, leaf_means=True).guarantee.epsilon == 1.0


def test_leaf_means_move_points_into_their_boxes():
    X = np.full((4000, 2), 0.9)
    plain, means = (fitted(X, (0, 1), max_depth=2, leaf_means=m, epsilon=2.0) for m in (False, True))
    assert np.allclose(plain.points, (plain.lower + plain.upper) / 2)
    assert ((means.points >= means.lower) & (means.points <= means.upper)).all()
    full = np.argmax(means.weights)
    assert np.abs(means.points[full] - 0.9).max() < 0.02
    assert means.guarantee.epsilon == plain.guarantee.epsilon


def test_a_builder_spends_all_that_is_left():
    gate = gate_of(Epsilon(1))
    gate.counts("something else", np.zeros(1, np.int64), gate.left / 4)
    source = engines.open(SMALL.X, SMALL.domain)
    opening = OpenRelease(source, SMALL.domain, SMALL.domain, gate, n_rows=1200.0)
    s = build(opening, TreeSynopsis(partitioner="median").settings())
    assert not gate.left
    assert s.guarantee.epsilon == 1.0


def test_estimators_follow_the_contract():
    estimator = TreeSynopsis(0.5, domain=(0, 1), partitioner="density", max_depth=3, shares=(0, 0.3, 0.7))
    assert clone(estimator).get_params() == estimator.get_params()
    estimator.fit(pa.table({"a": [0.5], "b": [0.1]}).to_pandas())
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert not estimator.guarantee_.seeded
    assert estimator.guarantee_.parameters["partitioner"] == "density"
    public = fitted(n_rows=1000).guarantee
    assert any("number of rows" in a for a in public.assumptions)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_no_fault_but_that_rows_never_raise():
    results = check_estimator(TreeSynopsis(domain=(-10, 10), max_depth=3), on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    # These want an error for what rows hold: objects that are no numbers, no rows at all, NaN and infinity.
    assert failed <= {"check_dtype_object", "check_estimators_empty_data_messages", "check_estimators_nan_inf"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"partitioner": "octree"},
        {"max_depth": -1},
        {"threshold": "high"},
        {"budget": "even"},
        {"shares": (1, 2)},
        {"n_quantiles": 0, "partitioner": "quantile"},
        {"test_from": 9},
        {"bits": 31},
        {"axis": "random"},
        {"axis": "spread", "partitioner": "privtree"},
        {"max_depth": 40, "threshold": 10},
        {"max_depth": 30, "partitioner": "density"},
        {"shares": (0, 0, 1), "partitioner": "privtree"},
        {"leaf_means": "yes"},
    ],
)
def test_wrong_settings_are_refused_before_rows_are_read(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        TreeSynopsis(domain=(0, 1), **wrong).fit(object())


def test_deep_trees_are_bounded_by_their_tests():
    s = fitted(partitioner="privtree", max_depth=40)
    assert s.tree.height < 40
    assert fitted(max_depth=30, test_from=2, epsilon=0.5).n_leaves < 3000
    assert fitted(max_depth=0).n_leaves == 1


def test_the_uniform_tree_notes_the_count_that_really_decided() -> None:
    """The correction for having been found large needs the true limit."""
    X = np.random.default_rng(0).random((700, 2))
    for seed in range(20):
        tree = dc.TreeSynopsis(0.1, dc.Domain.box([0, 0], 1), "uniform", random_state=seed).fit(X).synopsis_.tree
        tested = np.isfinite(tree.estimate)
        split = tested & (tree.axis >= 0)
        assert (tree.estimate[split] > tree.threshold[split]).all()
        assert (tree.threshold[tested] >= 100).all()


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


def test_noise_of_a_test_may_be_as_wide_as_can_be_drawn_and_no_wider():
    settings = TreeSynopsis(axis="widest", max_depth=1, test_from=0, shares=(1, 0, 1)).settings()
    settings.check_prices(2, Epsilon(Fraction(21, 10**13)))  # half of it for the test: scale 0.95e12
    with pytest.raises(InvalidArgument, match="epsilon"):
        settings.check_prices(2, Epsilon(Fraction(19, 10**13)))  # 1.05e12


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"partitioner": ["median", "binary"], "max_depth": 1}, "max_depth must be at least 2.*try max_depth=2"),
        ({"partitioner": ["privtree", "binary"]}, "in which privtree is last"),
        ({"partitioner": ["median", "grid"]}, "must be one of .* or a list of names"),
        ({"partitioner": ["binary", "uniform"], "shares": (0.5, 0, 0.5)}, "something for the cuts"),
        ({"partitioner": []}, r"a list of 1 to 62"),
        ({"partitioner": ["median"] * 63, "max_depth": "auto"}, r"a list of 1 to 62"),
        (
            {"max_depth": "deep"},
            r"from 0 to 62, got .deep.; try max_depth=.auto.",
        ),
        ({"partitioner": ["median", "privtree"], "shares": (0, 0, 1)}, "shares"),
        ({"partitioner": ["uniform", "privtree"], "shares": (0, 0.4, 0.6)}, "shares"),  # tests pay for its structure
        ({"partitioner": ["binary", "median"], "shares": (0.5, 0, 0.5)}, "something for the cuts"),
    ],
)
def test_mixed_levels_and_automatic_depths_are_refused_with_a_way_out(given, error):
    with pytest.raises(dc.errors.DiscreetError, match=error):
        dc.TreeSynopsis(1.0, (0, 1), **given).fit(np.zeros((5, 2)))


def test_an_automatic_depth_follows_rows_and_budget_and_can_always_be_paid():
    def depth(n, epsilon, partitioner="binary"):
        tree = dc.TreeSynopsis(
            epsilon, dc.Domain.box([0, 0], 1), partitioner, max_depth="auto", n_rows=n, random_state=0
        )
        return tree.fit(np.random.default_rng(0).random((100, 2))).guarantee_.parameters["max_depth"]

    found = [depth(n, 1.0) for n in (10, 1_000, 100_000)]
    assert found == sorted(set(found))
    assert depth(10_000, 0.1) < depth(10_000, 1.0)
    for partitioner in (
        "median",
        "quantile",
        "density",
        "privtree",
        ["median", "binary"],
        ["density", "privtree"],
        MIXED,
    ):
        for epsilon in (1e-6, 0.01):
            assert depth(1e5, epsilon, partitioner) >= 1


def test_crowded_leaves_get_means_though_most_leaves_are_empty():
    """Rows shared evenly among all leaves of a PrivTree would not do for means; where they lie they do."""
    rng = np.random.default_rng(4)
    rows = np.clip(rng.normal(0.3, 0.02, (18_000, 8)), 0, 1)
    for seed in range(6):
        tree = TreeSynopsis(
            0.05, dc.Domain.box([0] * 8, 1), "privtree", 40, shares=(0.06, 0, 0.94), leaf_means=True, random_state=seed
        )
        made = tree.fit(rows).synopsis_
        middles = made.lower + (made.upper - made.lower) / 2
        assert not np.array_equal(made.points, middles), made.n_leaves


def test_a_privtree_of_no_levels_is_released_with_the_noise_its_rule_is_written_for():
    """All of rho went as epsilon into a tree of one leaf: a fifth of what was paid for was used."""
    tree = dc.TreeSynopsis(None, (0, 1), "privtree", max_depth=0, rho=0.1, delta=1e-6, random_state=0)
    promise = tree.fit(np.zeros((5, 1))).guarantee_
    assert (promise.accounting, promise.delta) == ("epsilon", 0)
    assert promise.epsilon == pytest.approx(np.sqrt(0.2), rel=1e-9)


def test_shares_above_a_privtree_are_those_of_their_committed_tuning():
    held = json.loads((Path(__file__).parents[4] / "benchmarks/results/tune_mixed_trees.json").read_text("utf-8"))
    X = np.random.default_rng(0).random((2000, 2))
    made = TreeSynopsis(1.0, (0, 1), ["median", "median", "privtree"], 5, random_state=0).fit(X)
    shares = made.guarantee_.parameters["shares"]
    assert sum(shares) == pytest.approx(1)
    label = f"median, median, privtree; quantile, privtree: {shares[0]:g} {shares[1]:g}"
    better, no_worse = held["summary"][label]["cost"], held["summary"][label]["boxes"]
    assert better[2] < 1  # than 0.35, 0.15, 0.50, by more than its interval
    assert no_worse[0] <= 1


def test_grids_of_nodes_follow_the_nodes_also_where_some_are_too_narrow() -> None:
    """A category of three is one cell wide in some nodes, which keep their numbers among new ones."""
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.random(40_000), "y": rng.random(40_000), "c": rng.choice(["a", "b", "d"], 40_000)})
    domain = dc.Domain({"x": (0, 1), "y": (0, 1), "c": ["a", "b", "d"]})
    for seed in range(3):
        tree = dc.TreeSynopsis(100.0, domain, "uniform", random_state=seed).fit(rows)
        assert tree.synopsis_.total == pytest.approx(40_000, rel=0.05)
