"""The number of clusters: the right one if it stands out, one if there are none, no guess if noise hides it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.clustering import cluster_synopsis, suggest_k
from discreet.errors import InvalidArgument

ROOT = Path(__file__).parents[2]


def released(data, epsilon=1.0, seed=0, **how):
    return dc.GridSynopsis(epsilon, data.domain, random_state=seed, **how).fit(data.X).synopsis_


@pytest.mark.parametrize(
    ("columns", "k"),
    [(1, 3), (2, 1), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((2, 9), (3, 5)))],
)
def test_clusters_that_stand_apart_are_counted(columns, k):
    data = dc.datasets.mixture(1500 * k, columns, k, separation=8 if k > 1 else 4, random_state=k)
    found = suggest_k(released(data, n_clusters=10), max_clusters=12)
    assert found.n_clusters == k, found
    assert set(found.votes) == {"elbow", "silhouette", "gap", "BIC"}


@pytest.mark.parametrize(("columns", "k"), [pytest.param(2, 6, marks=pytest.mark.slow), (5, 4)])
def test_private_k_means_counts_its_own_clusters(columns, k):
    data = dc.datasets.mixture(3000 * k, columns, k, random_state=k)
    km = dc.PrivateKMeans("auto", 0.5, data.domain, random_state=1).fit(data.X)
    assert km.suggestion_.n_clusters == len(km.cluster_centers_) == k
    assert f"{k} clusters" in km.note_
    assert km.guarantee_.epsilon == 0.5  # nothing was paid for the number


@pytest.mark.slow  # even rows at a small budget are tried below
def test_rows_without_clusters_are_one():
    even = np.random.default_rng(3).random((6000, 2))
    for how in ({"rule": 6}, {"rule": 25}):
        assert (
            suggest_k(
                dc.GridSynopsis(1.0, (0, 1), random_state=2, **how).fit(even).synopsis_, max_clusters=8
            ).n_clusters
            == 1
        )


def test_noise_asks_for_no_more_clusters():
    # Sixty-four cells of noise for every one that holds rows: without its share taken out they would be clusters.
    data = dc.datasets.mixture(6000, 2, 4, separation=12, random_state=5)
    told = {suggest_k(released(data, epsilon, rule=40), max_clusters=8).n_clusters for epsilon in (1.0, 0.3)}
    assert told == {4}


@pytest.mark.parametrize("rows", [0, 40])
def test_noise_alone_is_not_counted(rows):
    data = np.random.default_rng(1).random((rows, 2))
    km = dc.PrivateKMeans("auto", 0.1, dc.Domain.box([0, 0], 1), random_state=3).fit(data)
    assert km.suggestion_.n_clusters is None
    assert "noise" in km.suggestion_.reason
    assert len(km.cluster_centers_) == 1
    assert "cannot tell how many clusters" in km.note_


def test_clusters_that_noise_may_cover_are_not_called_one():
    data = dc.datasets.mixture(300, 2, 12, random_state=2)
    found = suggest_k(released(data, 0.5, n_clusters=10))
    assert found.n_clusters is None, found
    # Fewer could not hide: the same rows, asked whether there are up to two.
    assert found.largest < 12


def test_no_more_are_looked_for_than_asked():
    data = dc.datasets.mixture(9000, 2, 6, random_state=6)
    found = suggest_k(released(data, n_clusters=10), max_clusters=3)
    assert found.largest == len(found.gap) == 3
    assert found.n_clusters is None or found.n_clusters <= 3
    assert suggest_k(released(data), max_clusters=1).n_clusters == 1


def test_the_curves_are_plain_data_and_a_picture():
    pytest.importorskip("plotly")
    data = dc.datasets.mixture(4000, 2, 3, random_state=3)
    for synopsis in (released(data), released(data, 0.001)):
        found = suggest_k(synopsis, max_clusters=8)
        json.dumps(found.to_dict(), allow_nan=False)
        assert found.to_arrow().num_rows == found.largest
        picture = found.plot()
        assert len(picture.layout.annotations) >= 4
        assert picture.layout.title.text


def test_the_same_number_comes_with_the_clusters():
    data = dc.datasets.mixture(5000, 2, 4, random_state=4)
    synopsis = released(data)
    found = cluster_synopsis(synopsis, "auto")
    assert len(found.centers) == found.suggestion.n_clusters == 4
    assert found.note.startswith("4 clusters")
    assert cluster_synopsis(synopsis, 4).suggestion is None
    np.testing.assert_array_equal(cluster_synopsis(synopsis, 4).centers, found.centers)


def test_mixed_tables_survivors_and_trees_are_counted_too():
    data = dc.datasets.mixture(8000, 2, 4, separation=12, random_state=8)
    domain = dc.Domain({"x": (0, 1), "y": (0, 1), "sex": ["f", "m"]})
    table = {"x": data.X[:, 0], "y": data.X[:, 1], "sex": np.where(np.arange(8000) % 2, "f", "m")}
    import pyarrow as pa

    mixed = dc.GridSynopsis(1.0, domain, 14, random_state=1).fit(pa.table(table)).synopsis_
    assert suggest_k(mixed, max_clusters=8).n_clusters == 4
    survivors = dc.GridSynopsis(1.0, data.domain, 60, max_cells=100, random_state=1).fit(data.X).synopsis_
    found = suggest_k(survivors, max_clusters=8)
    assert survivors.hidden is not None
    assert found.n_clusters == 4
    assert "BIC" not in found.votes
    tree = dc.TreeSynopsis(1.0, data.domain, "median", random_state=1).fit(data.X).synopsis_
    assert suggest_k(tree, max_clusters=8).n_clusters == 4


def test_groups_of_a_wide_table_are_counted():
    rng = np.random.default_rng(0)
    X = np.clip(rng.uniform(0.2, 0.8, (6, 40))[rng.integers(6, size=20000)] + rng.normal(0, 0.1, (20000, 40)), 0, 1)
    km = dc.PrivateKMeans("auto", 1.0, dc.Domain.box([0] * 40, 1), delta=1e-6, random_state=1).fit(X)
    assert len(km.cluster_centers_) == km.suggestion_.n_clusters == 6
    assert "BIC" not in km.suggestion_.votes  # groups have no boxes to fit a mixture to
    assert "does not know where clusters are" not in km.note_


def test_a_word_that_is_not_auto_is_refused():
    with pytest.raises(InvalidArgument, match=r".auto. or a whole number"):
        dc.PrivateKMeans("five", domain=(0, 1)).fit(np.zeros((3, 1)))
    with pytest.raises(InvalidArgument, match="max_clusters"):
        dc.PrivateKMeans("auto", domain=(0, 1), max_clusters=0).check()


def drawn(shape, n=8000):
    """Rows of a shape that k-means does not see, or of one cluster, in the unit square; and how many clusters."""
    rng = np.random.default_rng(7)
    t, side, z = rng.uniform(0, np.pi, n), rng.integers(2, size=n), rng.normal(size=(n, 2))
    tilt = np.array([[2.5, 2.5], [-0.15, 0.15]])
    flip = np.where(side == 1, -1.0, 1.0)
    rows, k = {
        "moons": (np.c_[flip * np.cos(t) + side, flip * np.sin(t) + 0.5 * side] + 0.06 * z, 2),
        "rings": (np.c_[np.cos(2 * t), np.sin(2 * t)] * (1 - 0.5 * side)[:, None] + 0.04 * z, 2),
        "bars": (z * [3, 0.12] + np.c_[np.zeros(n), rng.integers(4, size=n)], 4),
        "tilted bars": (z @ tilt + np.c_[np.zeros(n), 2 * rng.integers(3, size=n)], 3),
        "overlapping": (z + np.array([[0, 0], [2.5, 0], [0, 2.5], [2.5, 2.5], [5, 1]])[rng.integers(5, size=n)], 5),
        "two that overlap": (z + np.c_[2.2 * side, np.zeros(n)], 2),
        "even": (rng.random((n, 2)), 1),
        "disc": (np.c_[np.cos(2 * t), np.sin(2 * t)] * np.sqrt(rng.random(n))[:, None], 1),
        "Gaussian": (z, 1),
        "tilted Gaussian": (z @ np.array([[2, 1.0], [0, 1.0]]), 1),
        "long tails": (z * np.sqrt(4 / rng.chisquare(4, n))[:, None], 1),
    }[shape]
    low, high = rows.min(axis=0), rows.max(axis=0)
    return 0.02 + 0.96 * (rows - low) / (high - low), k


def shapes(*names):
    """Return every shape at two budgets; all but the first two at the smaller one are slow."""
    quick = [(name, 0.2) for name in names[:2]]
    every = [(name, epsilon) for epsilon in (0.2, 1.0) for name in names]
    return [*quick, *(pytest.param(*case, marks=pytest.mark.slow) for case in every if case not in quick)]


def suggested(shape, epsilon):
    rows, k = drawn(shape)
    made = dc.GridSynopsis(epsilon, (0, 1), n_clusters=10, random_state=2).fit(rows).synopsis_
    return suggest_k(made, max_clusters=10), k


@pytest.mark.parametrize(
    ("shape", "epsilon"), shapes("bars", "two that overlap", "moons", "rings", "tilted bars", "overlapping")
)
def test_clusters_that_are_not_round_or_overlap_are_not_called_one(shape, epsilon):
    found, k = suggested(shape, epsilon)
    assert found.n_clusters is None or max(2, k - 1) <= found.n_clusters <= k + 1, found


@pytest.mark.parametrize(("shape", "epsilon"), shapes("even", "long tails", "disc", "Gaussian", "tilted Gaussian"))
def test_one_cluster_of_another_shape_is_still_one(shape, epsilon):
    told = suggested(shape, epsilon)[0].n_clusters
    assert told == 1 or (told is None and (shape, epsilon) == ("long tails", 1.0))  # tails that no profile quite has


def test_hills_of_the_density_are_told():
    found, _ = suggested("bars", 0.2)
    assert found.hills == found.to_dict()["hills"] == 4
    assert "4 hills" in found.reason


def test_groups_of_a_projection_do_not_say_one_where_noise_covers_more():
    rng = np.random.default_rng(3)
    X = np.clip(rng.uniform(0, 1, (10, 64))[rng.integers(10, size=5600)] + rng.normal(0, 0.3, (5600, 64)), 0, 1)
    km = dc.PrivateKMeans("auto", 1.0, dc.Domain.box([0] * 64, 1), "lift", random_state=1).fit(X)
    assert km.synopsis_.lifted is not None
    assert km.suggestion_.n_clusters is None, km.suggestion_


def test_a_model_of_pairs_does_not_say_that_there_are_no_clusters():
    rng = np.random.default_rng(5)
    X = np.clip(rng.uniform(0.2, 0.8, (5, 4))[rng.integers(5, size=3000)] + rng.normal(0, 0.1, (3000, 4)), 0, 1)
    model = dc.MarginalSynopsis(4.0, dc.Domain.box([0] * 4, 1), random_state=1).fit(X).synopsis_
    found = suggest_k(model, max_clusters=6)
    assert found.n_clusters != 1, found
    assert "BIC" not in found.votes  # rows of a model are not counts of their boxes
    assert found.hills is None


@pytest.mark.slow
def test_wide_models_are_counted_in_seconds():
    """400 rows of the model on 16 axes, whatever the table: 77 s before, 4 to 7 on a busy machine."""
    data = dc.datasets.load("optdigits")
    model = dc.MarginalSynopsis(100.0, data.domain, random_state=1).fit(data.X).synopsis_
    start = time.perf_counter()
    assert suggest_k(model).n_clusters is None
    assert time.perf_counter() - start < 30


@pytest.mark.slow
def test_nine_of_ten_generated_tables_are_within_one_of_the_truth(monkeypatch):
    """The first of the tables that ``benchmarks/results/how_many.json`` reports; of 60, 90 % ± 4 % by chance."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.tuning import how_many as script

    rows = [script.measure(("separable", script.REPORTED, i, False)) for i in range(60)]
    assert script.judged(rows, [r["suggested"] for r in rows])["within_one"] >= 0.9
    faint = [script.measure(("faint", script.REPORTED, i, False)) for i in range(60)]
    assert script.judged(faint, [r["suggested"] for r in faint])["wrong"] <= 0.1


@pytest.mark.slow
def test_a_slope_is_not_two_clusters() -> None:
    """Density grows along one column: k-means of two halves looks better than on even tables, but nothing is apart."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.sqrt(rng.random(20_000)), rng.random(20_000)])
    shown = suggest_k(dc.GridSynopsis(1.0, (0, 1), 46, random_state=1).fit(rows).synopsis_)
    assert shown.n_clusters in (None, 1), shown
