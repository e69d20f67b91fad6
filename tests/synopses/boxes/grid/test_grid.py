"""Grid synopses as a whole: promise, ledger, engines, estimator contract. Statistical tests: false alarm below 1e-4."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet import Domain, engines, noise
from discreet.core.budget.prices import Epsilon
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.grid import estimator as grids
from discreet.synopses.boxes.grid.estimator import GridSynopsis, build
from discreet.synopses.boxes.grid.rules import eugkm, rugnik
from discreet.synopses.opening import OpenRelease
from gates import gate_of

MIXED = Domain({"x": (0, 10), "y": {"bounds": [-1, 1], "missing": "own"}, "sex": ["f", "m"]})
RULES = ["rugnik", "eugkm", "adaptive", "dpkfm", 3, [5, 4, 2], [4000, 4000, None]]


def _mixed(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(5, 2, n), rng.uniform(-1.2, 1.2, n)
    x[::50], y[::7], x[1], y[3] = np.nan, np.nan, np.inf, -np.inf
    return pd.DataFrame({"x": x, "y": y, "sex": rng.choice(["f", "m", "?"], n)})


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("leaf_means", [False, True])
def test_one_seed_one_synopsis_from_every_table(tmp_path, monkeypatch, rule, leaf_means):
    frame = _mixed()
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    settings = {"epsilon": 0.7, "domain": MIXED, "rule": rule, "leaf_means": leaf_means, "random_state": 5}
    wanted = GridSynopsis(**settings).fit(frame).synopsis_
    for data in (table, tmp_path / "t.parquet", tmp_path / "t.csv", frame.sample(frac=1, random_state=0)):
        assert GridSynopsis(**settings).fit(data).synopsis_.digest == wanted.digest
    monkeypatch.setattr(engines.source.Source.batches, "__defaults__", (17,))
    monkeypatch.setitem(engines.source.Source.count.__kwdefaults__, "batch_size", 101)
    monkeypatch.setitem(engines.source.Source.sums.__kwdefaults__, "batch_size", 57)
    assert GridSynopsis(**settings).fit(table).synopsis_.digest == wanted.digest


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("n_rows", [None, 3000])
def test_the_ledger_adds_up_to_the_budget_exactly(rule, n_rows):
    s = GridSynopsis(0.1, MIXED, rule, n_rows=n_rows, size_share=0.07).fit(_mixed()).synopsis_
    assert s.guarantee.spent.exact == Fraction(1, 10)
    labels = [line.label for line in s.guarantee.ledger]
    assert (labels[0] == "number of rows") == (n_rows is None)
    assert ("the number of rows, N, was given as public" in s.guarantee.assumptions) == (n_rows is not None)
    assert not s.guarantee.seeded
    assert dc.Guarantee.from_json(s.guarantee.to_json()) == s.guarantee


def test_tiny_pipeline_by_enumeration():
    """All outputs of the whole pipeline on one axis (N̂, the grid it asks for, its counts): the worst loss is ε."""
    epsilon, share = 1.0, 0.25
    size, cells = noise.DiscreteLaplace(1 / (share * epsilon)), noise.DiscreteLaplace(1 / ((1 - share) * epsilon))
    reach = np.arange(-25, 26)
    worst = 0.0
    for rows, more in [([], [0.1]), ([0.9], [0.9, 0.1]), ([0.2] * 3, [0.2] * 4), ([0.1, 0.6], [0.1, 0.6, 0.99])]:
        for noisy in range(-20, 40):
            loss = float(size.logpmf(noisy - len(more)) - size.logpmf(noisy - len(rows)))
            m = eugkm(noisy, (1 - share) * epsilon, 1)
            a, b = (np.bincount(np.minimum((np.array(r) * m).astype(int), m - 1), minlength=m) for r in (rows, more))
            # Cells are independent: the extreme losses add up over cells.
            losses = [cells.logpmf(reach - y) - cells.logpmf(reach - x) for x, y in zip(a, b, strict=True)]
            worst = max(worst, loss + sum(map(np.max, losses)), -(loss + sum(map(np.min, losses))))
    assert worst == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("runs", [600, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_pipeline_has_the_enumerated_law(runs):
    """Grid size and first count of many runs against their exact joint law."""
    epsilon, share, rows = 2.0, 0.25, np.full((6, 1), 0.1)
    size, cells = noise.DiscreteLaplace(2), noise.DiscreteLaplace(Fraction(2, 3))
    law: dict = {}
    for noisy in range(-80, 90):
        m = min(eugkm(max(1, noisy), 1.5, 1), 3)
        for z in range(-6, 7):
            tail = float(cells.sf(6)) if z == 6 else 1 - float(cells.sf(-5)) if z == -6 else float(cells.pmf(z))
            law[m, z] = law.get((m, z), 0.0) + float(size.pmf(noisy - 6)) * tail
    stream, found = noise.generator(8), dict.fromkeys(law, 0)
    for _ in range(runs):
        s = (
            GridSynopsis(epsilon, (0, 1), "eugkm", n_clusters=1, size_share=share, random_state=stream)
            .fit(rows)
            .synopsis_
        )
        found[min(s.n_leaves, 3), int(np.clip(s.weights[0] - 6, -6, 6))] += 1
    common = [o for o in law if law[o] * runs >= 3]
    observed, expected = np.array([found[o] for o in common]), np.array([law[o] for o in common]) * runs
    rest = runs - observed.sum(), runs - expected.sum()
    assert len(common) > 6
    assert stats.chisquare(np.append(observed, rest[0]), np.append(expected, rest[1])).pvalue > 1e-4


def test_the_grid_follows_the_noisy_number_and_not_the_rows():
    """One row more or less never changes the law of the grid beyond the share paid: the size is a function of N̂."""
    X = np.random.default_rng(0).random((700, 2))
    for seed in range(5):
        s = GridSynopsis(0.5, (0, 1), n_clusters=6, random_state=seed).fit(X).synopsis_
        noisy = s.guarantee.parameters["n_rows"]
        assert noisy != 700
        m = rugnik(noisy, 0.5 * 0.97, 2, 6)
        assert s.guarantee.parameters["parts"] == [m, m]
        assert GridSynopsis(0.5, (0, 1), n_clusters=6, n_rows=noisy).fit(X[:3]).synopsis_.n_leaves == m * m


def test_empty_cells_get_the_same_noise_as_the_others():
    X = np.full((1000, 2), 0.1)
    s = GridSynopsis(1.0, (0, 1), 100, random_state=1).fit(X).synopsis_
    law = noise.DiscreteLaplace(Fraction(100, 97))
    empty = np.delete(s.weights, np.argmax(s.weights))
    found = np.bincount(np.clip(empty, -6, 6) + 6, minlength=13)
    expected = np.array([1 - law.sf(-5), *(law.pmf(z) for z in range(-5, 6)), law.sf(6)]) * len(empty)
    assert stats.chisquare(found, expected).pvalue > 1e-4
    assert (s.weights < 0).any()  # as drawn


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_without_noise_counts_are_exact(rule):
    frame = _mixed()
    s = GridSynopsis(math.inf, MIXED, rule, n_rows=3000).fit(frame).synopsis_
    kept = frame["x"].notna() & frame["sex"].isin(["f", "m"])
    assert s.weights.sum() == kept.sum()
    females = kept & (frame["sex"] == "f")
    assert s.weights[s.lower[:, 2] == 0].sum() == females.sum()
    assert s.guarantee.epsilon == math.inf
    assert (s.variances == 0).all()


@pytest.mark.parametrize("rule", ["rugnik", "eugkm", "adaptive", "dpkfm", 200_000])
@pytest.mark.parametrize("X", [np.empty((0, 2)), np.zeros((1, 2)), np.full((50, 2), np.nan), np.full((50, 2), 0.3)])
def test_degenerate_tables_are_tables_like_any_other(rule, X):
    for epsilon in (0.01, 1.0, math.inf):
        s = GridSynopsis(epsilon, (0, 1), rule, leaf_means="auto", max_cells=2**14).fit(X).synopsis_
        assert np.isfinite(s.total)
        assert s.guarantee.epsilon == epsilon


def test_total_combines_the_bought_number_with_the_sum():
    X = np.random.default_rng(0).random((5000, 2))
    totals, sums, variances = [], [], set()
    for seed in range(300):
        s = GridSynopsis(0.1, (0, 1), 16, random_state=seed).fit(X).synopsis_
        totals.append(s.total)
        sums.append(s.weights.sum())
        variances.add(s.total_variance)
    assert math.sqrt(variances.pop()) == pytest.approx(209, abs=1)  # 471 and 233 alone
    assert np.std(totals) == pytest.approx(209, rel=0.15)
    assert np.std(sums) == pytest.approx(233, rel=0.15)
    assert abs(np.mean(totals) - 5000) < 4 * 209 / math.sqrt(300)
    lazy = GridSynopsis(0.1, (0, 1), 5000, random_state=1).fit(X).synopsis_
    assert lazy.total == lazy.guarantee.parameters["n_rows"]


def test_means_are_decided_by_noisy_rows_per_cell():
    X = np.random.default_rng(0).beta(2, 8, (20_000, 2))
    coarse = GridSynopsis(1.0, (0, 1), 8, leaf_means="auto", random_state=1).fit(X).synopsis_
    fine = GridSynopsis(1.0, (0, 1), 100, leaf_means="auto", random_state=1).fit(X).synopsis_
    assert coarse.guarantee.parameters["leaf_means"] is True
    assert fine.guarantee.parameters["leaf_means"] is False
    middles = (coarse.lower + coarse.upper) / 2
    assert (coarse.points >= coarse.lower).all()
    assert (coarse.points <= coarse.upper).all()
    heavy = np.argsort(coarse.weights)[-10:]
    for cell in heavy:
        inside = ((coarse.lower[cell] <= X) & (coarse.upper[cell] > X)).all(axis=1)
        true = X[inside].mean(axis=0)
        assert np.abs(coarse.points[cell] - true).max() < np.abs(middles[cell] - true).max() + 0.005


def test_adaptive_grids_divide_where_the_rows_are():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.2, 0.02, (20_000, 2)), rng.random((2000, 2))])
    drawn = GridSynopsis(1.0, (0, 1), "dpkfm", random_state=1).fit(X).synopsis_
    agreed = GridSynopsis(1.0, (0, 1), "adaptive", random_state=1).fit(X).synopsis_
    assert drawn.n_leaves == agreed.n_leaves
    area = (drawn.upper - drawn.lower).prod(axis=1)
    assert area.sum() == pytest.approx(1.0)
    near = (np.abs(drawn.points - 0.2) < 0.05).all(axis=1)
    assert area[near].mean() < area[~near].mean() / 4
    # Step 3 of the published method, with the variances of integer noise, cell by cell.
    tree, parts = drawn.tree, drawn.guarantee.parameters["parts"]
    n = parts[0] * parts[1]
    v, spread = tree.estimate[1 : n + 1], tree.variance[1]
    outer = tree.parent[n + 1 :] - 1
    size, sums = np.bincount(outer), np.bincount(outer, drawn.weights)
    own = drawn.variances[0]
    better = (v / spread + sums / (size * own)) / (1 / spread + 1 / (size * own))
    np.testing.assert_allclose(agreed.weights, drawn.weights + ((better - sums) / size)[outer], atol=1e-9)
    np.testing.assert_allclose(np.bincount(outer, agreed.weights), better, atol=1e-9)
    assert np.isnan(agreed.tree.estimate).all()  # used up: no refinement may use it twice
    assert drawn.weights.dtype == np.int64
    assert agreed.total_variance == drawn.total_variance < size.sum() * own


@pytest.mark.slow
def test_adaptive_error_bars_are_honest():
    X = np.random.default_rng(0).random((3000, 1))
    errors, bars = [], []
    for seed in range(400):
        s = GridSynopsis(0.5, (0, 1), "adaptive", n_rows=3000, random_state=seed).fit(X).synopsis_
        true, _ = np.histogram(X, bins=np.append(s.lower[:, 0], 1.0))
        errors.append(((s.weights - true) ** 2).mean() / s.variances.mean())
        bars.append((s.total - 3000) ** 2 / s.total_variance)
    assert np.mean(errors) == pytest.approx(1, abs=0.1)
    assert np.mean(bars) == pytest.approx(1, abs=0.35)


def test_adaptive_grids_stay_within_the_limit_of_cells():
    X = np.random.default_rng(0).normal(0.5, 0.01, (50_000, 9))
    s = GridSynopsis(5.0, (0, 1), "adaptive", max_cells=30_000).fit(X).synopsis_
    assert s.n_leaves <= 30_000


def test_axes_never_cut_are_named():
    X = np.random.default_rng(0).random((5000, 24))
    s = GridSynopsis(1.0, (0, 1), "eugkm").fit(X).synopsis_
    cut = (s.upper - s.lower < 1).any(axis=0)
    assert 6 <= cut.sum() <= 9
    assert s.uncut == tuple(f"x{i}" for i in np.flatnonzero(~cut))


def test_build_spends_what_is_left_and_nothing_more():
    gate = gate_of(Epsilon(1))
    gate.counts("elsewhere", np.zeros(1, np.int64), gate.left * Fraction(2, 5))
    domain = Domain.box([0, 0], [1, 1])
    source = engines.open(np.zeros((5, 2)))
    s = build(OpenRelease(source, domain, domain, gate, n_rows=5.0), GridSynopsis(rule=2).settings())
    assert not gate.left
    assert s.guarantee.seeded
    assert s.variances[0] == noise.DiscreteLaplace(Fraction(5, 3)).variance


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rule", "square"),
        ("rule", 0),
        ("rule", 2.5),
        ("rule", [4, 0]),
        ("rule", [4]),
        ("n_clusters", 0),
        ("max_cells", 0),
        ("expected_survivors", 0),
        ("leaf_means", "maybe"),
        ("leaf_means", 3),
        ("epsilon", 0),
        ("size_share", 2),
        ("n_rows", -1),
        ("random_state", "seed"),
        ("domain", None),
    ],
)
def test_bad_settings_are_named(setting, value):
    named = {"rule": "rule|parts"}.get(setting, setting)
    with pytest.raises(InvalidArgument, match=named):
        GridSynopsis(**{"domain": (0, 1), setting: value}).fit(np.zeros((3, 2)))


def test_columns_are_remembered_as_scikit_learn_does():
    grid = GridSynopsis(1.0, MIXED)
    assert clone(grid).get_params() == grid.get_params()
    assert grid.fit(_mixed()).feature_names_in_.tolist() == ["x", "y", "sex"]
    grid.set_params(domain=(0, 1)).fit([[0.5, 0.5], [0.1, 0.2]])
    assert grid.n_features_in_ == 2
    assert not hasattr(grid, "feature_names_in_")
    assert set(vars(grid)) - set(grid.get_params()) == {"synopsis_", "guarantee_", "n_features_in_"}


#: Rows must never make a call fail, so that failing tells nothing about them.
_AGAINST_PRIVACY = {
    "check_estimators_empty_data_messages": "a table without rows is a table like any other",
    "check_dtype_object": "an unreadable value is a missing value, not an error",
}


@parametrize_with_checks(
    [GridSynopsis(domain=(-10, 10), random_state=0), GridSynopsis(domain=(-10, 10), rule="adaptive", random_state=0)],
    expected_failed_checks=lambda _: _AGAINST_PRIVACY,
)
def test_estimator_contract(estimator, check):
    check(estimator)


def test_the_module_offers_what_the_package_promises():
    assert grids.GridSynopsis is dc.synopses.GridSynopsis


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e30])
@pytest.mark.parametrize("options", [{"rule": "adaptive"}, {"rule": 3, "leaf_means": True}])
def test_immense_budgets_make_a_release(epsilon: float, options: dict[str, Any]) -> None:
    rows = np.random.default_rng(0).random((500, 2))
    made = dc.GridSynopsis(epsilon, (0, 1), **options, random_state=1).fit(rows).synopsis_
    assert made.total == pytest.approx(500, abs=1)
