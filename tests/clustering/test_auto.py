"""The automatic choice for private k-means: on public and noisy numbers only, paid for, and sensible."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import engines
from discreet.clustering.central import auto
from discreet.core import checks
from discreet.core.budget.prices import Epsilon
from gates import gate_of

PLANE = dc.Domain.box([0, 0], 1)


@pytest.mark.parametrize(
    ("n_rows", "d", "k", "epsilon", "tight", "method", "refine"),
    [
        (500, 2, 15, 0.1, False, "grid", ("project",)),  # clusters drown in noise
        (5000, 2, 15, 0.1, False, "grid", ("checked",)),
        (5000, 2, 15, math.inf, False, "grid", ("mixture",)),
        (100_000, 2, 100, 0.1, True, "grid", ("threshold",)),  # tight clusters
        (10_000_000, 2, 100, 1.0, False, "grid", ("threshold",)),  # too large for a mixture
        (5000, 24, 5, 0.1, False, "grid", ("means", "project")),  # many axes, and few rows for the mean of a cluster
        (5000, 4, 50, 0.1, False, "grid", ("means", "project")),
        (-20, 8, 5, 0.1, False, "grid", ("means", "project")),  # a noisy number of rows may be anything
        (500_000, 11, 5, 0.1, False, "tree", ("means", "threshold")),
        (50_000, 4, 10, 1.0, False, "tree", ("means", "threshold")),
        (5000, 24, 5, math.inf, False, "tree", ("threshold",)),
    ],
)
def test_the_choice_follows_public_numbers(
    n_rows: float, d: int, k: int, epsilon: float, tight: bool, method: str, refine: tuple[str]
) -> None:
    choice = auto.choose(n_rows, dc.Domain.box([0] * d, 1), k, Epsilon(checks.budget("epsilon", epsilon)), tight)
    assert (choice.method, choice.refine) == (method, refine)
    assert bool(choice.settings.get("leaf_means")) == (tight or d > auto.FEW_AXES)


def test_tight_clusters_get_a_finer_grid_with_means() -> None:
    wide = auto.choose(100_000, PLANE, 100, Epsilon(1) / 2).settings
    tight = auto.choose(100_000, PLANE, 100, Epsilon(1) / 2, tight=True).settings
    assert tight["leaf_means"]
    assert tight["rule"] == pytest.approx(auto.TIGHT_FACTOR * wide["rule"], abs=1)
    assert tight["rule"] > wide["rule"]


def test_categories_are_left_to_the_grid_rule() -> None:
    domain = dc.Domain({"a": (0, 1), "b": ["x", "y"]})
    assert auto.choose(1000, domain, 3, Epsilon(1)).settings["rule"] == "rugnik"
    assert not auto.wants_probe(1e9, domain, 3, 1.0)


@pytest.mark.parametrize(("n", "cells"), [(100, 1), (1000, 2.5), (2000, 10), (5000, 25)])
def test_with_many_axes_a_grid_has_no_more_cells_than_have_rows_for_a_mean(n: int, cells: float) -> None:
    """With few of them, x = 5, no more than 4 x²/d. With fewer axes there are always eight per cluster."""
    wide, few = (
        auto.boxes(n * auto.rows_for_a_mean(d) / 200, dc.Domain.box([0] * d, 1), 5, 1.0).settings["rule"]
        for d in (40, 8)
    )
    assert cells / 1.5 <= math.prod(wide) <= 1.5 * cells
    assert math.prod(few) >= 32


@pytest.mark.parametrize(("where", "factor"), [("narrow", 0.1), ("near zero", 0.5), ("around middle", 1.0)])
def test_a_tree_needs_fewer_rows_where_a_grid_has_most_of_them_in_few_cells(where: str, factor: float) -> None:
    edge = factor * auto.RICH * auto.rows_for_a_mean(7) * 5 / 0.1
    domain = dc.Domain.box([0] * 7, 1)
    assert auto.choose(0.99 * edge, domain, 5, Epsilon(1) / 10, where=where).method == "grid"
    assert auto.choose(1.01 * edge, domain, 5, Epsilon(1) / 10, where=where).method == "tree"


def test_near_zero_a_tree_replaces_the_grid_in_a_few_dozen_columns() -> None:
    for d, method in ((12, "tree"), (34, "tree"), (35, "grid")):
        rows = 1.1 * auto.TREE_FROM * auto.rows_for_a_mean(d)
        assert auto.choose(rows, dc.Domain.box([0] * d, 1), 20, Epsilon(1), where="near zero").method == method
        assert auto.choose(rows, dc.Domain.box([0] * d, 1), 20, Epsilon(1)).method == "grid"


@pytest.mark.parametrize("where", auto.LIFT_WHERE)
def test_a_projection_needs_fewer_rows_where_they_fill_a_smaller_ball(where: str) -> None:
    d = 40
    edge = auto.LIFT_WHERE[where] * (auto.LIFT_AXES / d) * auto.rows_for_a_mean(d) * 5 / 0.1
    domain = dc.Domain.box([0] * d, 1)
    assert auto.choose(0.99 * edge, domain, 5, Epsilon(1) / 10, where=where).method == "grid"
    assert auto.choose(1.01 * edge, domain, 5, Epsilon(1) / 10, where=where).method == "lift"
    assert auto.choose(1.01 * edge, domain, 5, Epsilon(1) / 10).method == "grid"


@pytest.mark.parametrize("d", [4, 7, 11])
def test_with_many_axes_a_tree_is_grown_where_a_cluster_has_rows_for_several_means(d: int) -> None:
    edge = auto.RICH * auto.rows_for_a_mean(d) * 5 / 0.1
    domain = dc.Domain.box([0] * d, 1)
    assert auto.choose(0.99 * edge, domain, 5, Epsilon(1) / 10).method == "grid"
    assert auto.choose(1.01 * edge, domain, 5, Epsilon(1) / 10).method == "tree"


def test_where_trees_begin_is_not_beaten_in_its_committed_tuning() -> None:
    held = json.loads((Path(__file__).parents[2] / "benchmarks/results/tune_rich.json").read_text("utf-8"))
    mean, half = held["log of a value over one found on other tables"][f"{auto.RICH:g}"]
    assert mean <= half
    assert held["in use"] == auto.RICH


def test_on_the_axes_of_a_projection_grids_stay_longer() -> None:
    domain, rows = dc.Domain.box([0] * 8, 1), 9 * auto.rows_for_a_mean(8) * 5 / 0.5
    assert auto.on_axes(rows, domain, 5, Epsilon(1) / 2)[0].method == "grid"
    assert auto.choose(rows, domain, 5, Epsilon(1) / 2).method == "tree"


@pytest.mark.parametrize(("d", "method"), [(4, "grid"), (5, "grid"), (9, "tree"), (11, "tree")])
def test_large_tables_are_read_few_times_and_have_few_leaves(
    d: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of rows is declared, so a small table behaves as one of 10^8 rows: its reads are counted."""
    reads = []
    for name in ("run", "batches"):
        whole = getattr(engines.Source, name)

        def counted(self: engines.Source, *args: Any, _whole: Any = whole, **kwargs: Any) -> Any:
            reads.append(_whole)
            return _whole(self, *args, **kwargs)

        monkeypatch.setattr(engines.Source, name, counted)
    monkeypatch.setattr(engines.Source, "_known_rows", property(lambda self: 10**8))  # too many to be kept
    X = np.repeat(np.random.default_rng(1).random((3, d)), 50_000, axis=0)  # repeated values, on which a tree goes deep
    domain = dc.Domain.box([0] * d, 1)
    assert auto.choose(1e8, domain, 3, Epsilon(1)).method == method
    model = dc.PrivateKMeans(3, 1.0, domain=domain, n_rows=1e8, random_state=0, refine="project").fit(X)
    assert len(reads) <= 2 * 3  # a pass over one table in memory asks for its batches once
    assert model.synopsis_.n_leaves <= auto.BROAD_CELLS


@pytest.mark.parametrize("d", [12, 24, 100, 784])
def test_with_still_more_axes_rows_are_projected_where_a_cluster_has_rows_for_a_mean(d: int) -> None:
    edge = max(auto.LIFT_FROM, auto.LIFT_AXES / d) * auto.rows_for_a_mean(d) * 5 / 0.1
    domain = dc.Domain.box([0] * d, 1)
    assert auto.choose(0.99 * edge, domain, 5, Epsilon(1) / 10).method in ("grid", "tree")
    assert auto.choose(1.01 * edge, domain, 5, Epsilon(1) / 10).method == "lift"
    own = dc.Domain({f"x{j}": {"bounds": (0, 1), "missing": "own"} for j in range(d)})
    assert auto.choose(1.01 * edge, own, 5, Epsilon(1) / 10).method == "tree"  # a missing value has no place to project


@pytest.mark.parametrize("seed", [0, 6])
def test_noise_that_looks_like_very_many_rows_leaves_a_tree_that_can_be_drawn(seed: int) -> None:
    model = dc.PrivateKMeans(1, epsilon=2e-9, domain=dc.Domain.box([0] * 5, 1), random_state=seed)
    with warnings.catch_warnings():  # some of these tables look empty
        warnings.simplefilter("ignore", dc.errors.DiscreetWarning)
        model.fit(np.zeros((10, 5)))
    assert model.guarantee_.parameters["method"] == "tree"
    assert model.guarantee_.epsilon == 2e-9
    gaps = dc.Domain({f"x{i}": dc.Numeric(f"x{i}", 0, 1, missing="own") for i in range(6)})
    for n in (1e9, 1e12, 1e15):
        settings = auto.choose(n, gaps, 1, Epsilon(1) / 10**9).settings
        assert settings["shares"][0] == auto.TREE_SHARE
        assert auto.choose(n, gaps, 1, Epsilon(1)).settings["shares"][0] < auto.TREE_SHARE


def test_without_noise_an_empty_table_has_most_rows_nowhere() -> None:
    assert auto.most_rows(np.zeros(4), 0.0, 0.0) == ""


def test_categories_among_many_axes_are_left_to_the_tree() -> None:
    domain = dc.Domain({"a": (0, 1), "b": ["x", "y"], "c": (0, 1), "d": (0, 1), "e": (0, 1)})
    assert auto.choose(1000, domain, 3, Epsilon(1) / 10).method == "tree"
    assert auto.choose(1000, dc.Domain(dict.fromkeys("abcde", (0, 1))), 3, Epsilon(1) / 10).method == "grid"


@pytest.mark.parametrize("d", [1, 2, 4, 10, 24])
@pytest.mark.parametrize("n_cells", [1, 2, 24, 1000])
def test_a_coarse_grid_has_about_the_cells_asked_for(d: int, n_cells: int) -> None:
    parts = auto.coarse_parts(dc.Domain.box([0] * d, 1), n_cells)
    assert max(parts) - min(parts) <= 1
    step = (min(parts) + 1) / min(parts)
    assert n_cells / math.sqrt(step) <= math.prod(parts) * (1 + 1e-9)
    assert math.prod(parts) <= n_cells * math.sqrt(step) * (1 + 1e-9)


def test_a_coarse_grid_cuts_the_widest_columns_whatever_their_order() -> None:
    columns = {"a": (0, 1), "b": (0, 9), "c": (-2, 2), "d": (0, 1), "e": (5, 6)}
    parts = dict(zip(columns, auto.coarse_parts(dc.Domain(columns), 8), strict=True))
    assert parts["b"] == parts["c"] == 2
    turned = dict(reversed(columns.items()))
    assert dict(zip(turned, auto.coarse_parts(dc.Domain(turned), 8), strict=True)) == parts


def test_with_many_axes_and_few_rows_the_coarse_grid_beats_the_tree() -> None:
    ratios = []
    for seed in range(4):
        table = dc.datasets.mixture(2500, 10, 5, separation=8, random_state=seed)
        chosen = dc.PrivateKMeans(5, epsilon=0.1, domain=table.domain, random_state=seed).fit(table.X)
        shares = (auto.TREE_SHARE, 0, 1 - auto.TREE_SHARE)
        tree = dc.TreeSynopsis(partitioner="privtree", max_depth=auto.DEEPEST, leaf_means=True, shares=shares)
        other = dc.PrivateKMeans(
            5, epsilon=0.1, domain=table.domain, synopsis=tree, refine="threshold", random_state=seed
        ).fit(table.X)
        assert chosen.guarantee_.spent.exact == Fraction(1, 10)
        errors = [dc.evaluation.nicv(table.X, model.cluster_centers_) for model in (chosen, other)]
        ratios.append(errors[0] / errors[1])
    assert np.exp(np.mean(np.log(ratios))) < 0.9


def test_columns_with_a_cell_for_missing_values_are_left_to_the_tree() -> None:
    """Twenty such columns make a million cells before any of them is cut."""
    domain = dc.Domain({f"c{i}": dc.Numeric(f"c{i}", 0, 1, missing="own") for i in range(20)})
    assert auto.choose(1000, domain, 3, Epsilon(1) / 10).method == "tree"


@pytest.mark.parametrize(("separation", "tight"), [(60, True), (4, False)])
def test_tight_clusters_are_recognised_from_noisy_counts(separation: float, tight: bool) -> None:
    data = dc.datasets.mixture(50_000, 2, 8, separation=separation, random_state=1)
    for seed in range(5):
        gate = gate_of(Epsilon(1), seed)
        found = auto.finds_tight(engines.open(data.X), data.domain, 50_000, 8, gate)
        assert found == tight
        assert gate.left == Epsilon(1 - auto.PROBE_SHARE)


@pytest.mark.parametrize("n", [0, 1, 40, 20_000])
def test_the_ledger_adds_up_exactly_with_and_without_the_histogram(n: int) -> None:
    data = dc.datasets.mixture(20_000, 2, 5, separation=30)
    model = dc.PrivateKMeans(5, epsilon=0.7, domain=data.domain, random_state=0).fit(data.X[:n])
    assert model.guarantee_.spent.exact == Fraction(7, 10)
    labels = [line.label for line in model.guarantee_.ledger]
    assert ("looking for tight clusters" in labels) == (n == 20_000)
    assert np.isfinite(model.cluster_centers_).all()


def test_overspending_the_histogram_is_impossible() -> None:
    gate = gate_of(Epsilon(1))
    gate.counts("all", np.zeros(1, np.int64), gate.left)
    with pytest.raises(dc.errors.BudgetExceeded):
        auto.finds_tight(engines.open(np.zeros((1, 2))), PLANE, 1, 2, gate)


def test_it_is_close_to_plain_k_means_on_unequal_clusters() -> None:
    """The patients: shares from 2 to 16 per cent, so a choice that drops small clusters would show."""
    table = dc.datasets.patients()
    from sklearn.cluster import KMeans

    best = dc.evaluation.nicv(table.X, KMeans(15, n_init=10, random_state=0).fit(table.X).cluster_centers_)
    ratios = [
        dc.evaluation.nicv(
            table.X,
            dc.PrivateKMeans(15, epsilon=0.5, domain=table.domain, random_state=s).fit(table.X).cluster_centers_,
        )
        / best
        for s in range(3)
    ]
    assert np.mean(ratios) < 1.05


def test_more_clusters_than_places_is_said_plainly() -> None:
    model = dc.PrivateKMeans(40, epsilon=math.inf, domain=(0, 1), random_state=0).fit(np.full((50, 2), 0.3))
    assert len(model.cluster_centers_) < 40
    assert "fewer than 40" in model.note_
