"""Tree maps and the cells of rows: the same whole numbers as by hand, however rows are read."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from discreet import Domain, engines
from discreet.core.budget.prices import Epsilon
from discreet.engines.passes.trees import SPREAD_UNITS, TreeMap
from discreet.engines.readers import RowCells
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.levels import _test
from gates import hold_of, split_chance

DOMAIN = Domain({"x": (0, 1), "kind": [0, 1, 2], "y": {"bounds": (-1, 1), "missing": "own"}})
BITS = 5


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(0.5, 0.4, n), rng.integers(0, 4, n), rng.normal(0, 0.5, n)])
    X[rng.random(n) < 0.05, 2] = np.nan
    X[rng.random(n) < 0.05, 0] = np.nan
    return X


def by_hand(X):
    """Cells of the rows that are not dropped."""
    x = np.clip(np.floor(X[:, 0] * 32), 0, 31)
    kind = np.where(X[:, 1] <= 2, X[:, 1], np.nan)
    y = np.where(np.isnan(X[:, 2]), 32, np.clip(np.floor((X[:, 2] + 1) * 16), 0, 31))
    cells = np.column_stack([x, kind, y])
    return cells[~np.isnan(cells).any(axis=1)].astype(int)


def grown():
    """A tree of uneven cuts: two levels, one of them in several parts."""
    tree = GrowingTree(DOMAIN, BITS)
    children = tree.cut(np.array([0]), np.array([0]), np.array([5, 6, 20]), np.array([3]))
    tree.cut(children[[0, 2]], np.array([1, 2]), np.array([1, 7]), np.array([1, 1]))
    return tree


def test_rows_end_in_the_leaf_whose_box_holds_their_cells():
    X, tree = table(), grown()
    leaves = tree.leaves()
    tree_map = pickle.loads(pickle.dumps(tree.map(leaves)))
    counted = engines.open(X, DOMAIN).count(tree_map).dense()
    cells = by_hand(X)
    for leaf, rows in zip(leaves, counted, strict=True):
        assert rows == ((cells >= tree.lower[leaf]) & (cells < tree.upper[leaf])).all(axis=1).sum()
    assert counted.sum() == len(cells)
    again = RowCells(engines.open(X, DOMAIN), DOMAIN, BITS)
    assert np.array_equal(again.count(tree.map(leaves)).dense(), counted)


@pytest.mark.parametrize("memory", [0, 2**30])
def test_passes_agree_with_sums_by_hand(memory):
    X, tree = table(), grown()
    rows, cells = RowCells(engines.open(X, DOMAIN), DOMAIN, BITS, memory=memory), by_hand(X)
    nodes = np.array([1, 3])
    histograms = rows.histograms(tree.map(nodes), 4)
    counts, sums = rows.spreads(tree.map(nodes))
    lines = rows.count(tree.map(nodes, np.array([2, 2]), 8)).dense().reshape(2, 8)
    for slot, node in enumerate(nodes):
        low, high = tree.lower[node], tree.upper[node]
        inside = cells[((cells >= low) & (cells < high)).all(axis=1)]
        assert counts[slot] == len(inside) == histograms[slot, 0].sum()
        for j, (a, b) in enumerate(zip(low, high, strict=True)):
            parts = min(4, b - a)
            edges = a + np.arange(parts + 1) * (b - a) // parts
            assert histograms[slot, j, :parts].tolist() == np.histogram(inside[:, j], edges - 0.5)[0].tolist()
            far = np.abs(2 * inside[:, j] + 1 - a - b) * SPREAD_UNITS // (b - a)
            assert abs(sums[slot, j] - far.sum()) <= len(inside) * 0.01  # single precision may round a row up
        edges = low[2] + np.arange(9) * (high[2] - low[2]) // 8
        assert lines[slot].tolist() == np.histogram(inside[:, 2], edges - 0.5)[0].tolist()


def test_counting_ahead_leaves_rows_where_they_are():
    X, tree = table(), grown()
    rows = RowCells(engines.open(X, DOMAIN), DOMAIN, BITS)
    ahead = rows.count(tree.map(tree.leaves()), ahead=True).dense().sum()
    root = rows.count(TreeMap.root(DOMAIN, BITS)).dense()
    assert root.tolist() == [ahead] == [len(by_hand(X))]


def test_grids_hide_the_nodes_between():
    tree = GrowingTree(DOMAIN, BITS)
    children = tree.grid(np.array([0]), np.array([[2, 5, 3]]), np.array([2, 0, 1]))
    assert len(children) == 2 * 3 * 3  # three categories cannot be parted in five
    shown = tree.table()
    assert shown.n_nodes == 19
    assert (shown.parent[1:] == 0).all()
    assert np.array_equal(tree.leaves(), np.sort(children))
    volumes = np.prod(tree.widths(children), axis=1)
    assert volumes.sum() == 32 * 3 * 33


@pytest.mark.parametrize("rows", [0, 1, 6])
def test_tests_pass_as_often_as_their_law_says(rows):
    # A share of 32,768 trials; five standard deviations, so a false alarm once in a million seeds.
    tree = GrowingTree(Domain({"x": (0, 1)}), 15)
    nodes = tree.grid(np.array([0]), np.array([[2**15]]), np.array([0]))
    price = Epsilon(1) / 2
    kept = _test(tree, nodes, np.full(len(nodes), rows), hold_of(price, rows), 2, None, -np.inf)
    chance = split_chance(rows, 1, price)
    assert abs(kept.mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / len(nodes))
    assert np.array_equal(kept, tree.estimate[nodes] > tree.threshold[nodes])
