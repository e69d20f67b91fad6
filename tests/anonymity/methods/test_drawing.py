"""Drawings of a tree: they show what the partition holds, and no cut that fewer than k are on one side of."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import discreet as dc
from discreet.anonymity import DensityTree
from discreet.anonymity.methods.drawing import shown_nodes
from discreet.anonymity.release.table import read_table
from discreet.errors import InvalidArgument, MissingExtra
from past_releases import Past

DOMAIN = dc.Domain({
    "who": {"bounds": [0, 10**6], "role": "person"},
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "job": {"categories": ["cook", "clerk", "smith"], "role": "quasi-identifier"},
    "ill": {"categories": ["no", "yes"], "role": "sensitive"},
})  # fmt: skip


def people(n: int, seed: int, *, rows: int = 1) -> pa.Table:
    """Return people with so many equal rows each."""
    rng = np.random.default_rng(seed)
    table = {
        "who": np.arange(n),
        "age": rng.integers(0, 100, n),
        "job": rng.choice(["cook", "clerk", "smith"], n),
        "ill": rng.choice(["no", "yes"], n),
    }
    return pa.table({name: np.repeat(values, rows) for name, values in table.items()})


def test_the_leaves_that_are_drawn_are_the_groups_of_the_release() -> None:
    data = people(400, 1)
    model = DensityTree(k=10, domain=DOMAIN)
    release = model.fit_transform(data)
    groups = Counter(zip(release.table["age"].to_pylist(), release.table["job"].to_pylist(), strict=True))
    figure = model.plot(depth=60).data[0]
    above = set(figure.parents)
    leaves = [n for i, n in zip(figure.ids, figure.values, strict=True) if i not in above]
    assert sorted(leaves) == sorted(groups.values())
    lines = model.draw(depth=60).splitlines()
    assert lines[0] == f"k = 10, {len(groups)} cells; rows of the build records, for internal use"
    assert lines[1].split() == ["all", "400"]
    assert len(lines) - 1 == len(figure.ids) == 2 * len(groups) - 1
    cells = {part for line in lines[2:] for part in [line.lstrip("│├└─ ").rsplit("  ", 1)[0].split(" ", 1)[1].strip()]}
    assert {text for group in groups for text in group} - {"*"} <= cells  # a cell is printed as in the release


def test_depth_cuts_the_drawing_and_says_how_many_cells_are_below() -> None:
    model = DensityTree(k=10, domain=DOMAIN).fit(people(400, 1))
    assert model.draw(depth=0).splitlines()[1] == f"all  400  … {model.tree_.n_leaves} cells"
    for depth in range(4):
        nodes = shown_nodes(model, depth)
        assert max(int(model.tree_.levels[node.number]) for node in nodes) == depth
        ends = set(range(len(nodes))) - {node.parent for node in nodes}
        assert sum(nodes[n].more or 1 for n in ends) == model.tree_.n_leaves
    figure = model.plot(depth=3).data[0]
    rows = dict(zip(figure.ids, figure.values, strict=True))
    for parent in set(figure.parents) - {""}:
        children = [rows[i] for i, p in zip(figure.ids, figure.parents, strict=True) if p == parent]
        assert sum(children) == rows[parent]
    assert figure.marker.colors[0] == 0  # all rows over all cells are as dense as an even spread


@pytest.mark.parametrize("rows", [1, 3])
def test_no_cut_is_drawn_with_fewer_than_k_on_a_side(rows: int) -> None:
    """A tree goes on from the cuts of an earlier release, and most people have left."""
    first = DensityTree(k=5, domain=DOMAIN).fit_transform(people(600, 1, rows=rows))
    data = people(200, 2, rows=rows)
    model: Any = DensityTree(k=5, domain=DOMAIN, on_conflict="suppress")
    model._fit(data, Past(first))
    leaf = model.tree_.route(read_table(data, model.plan_).bins)
    who = data["who"].to_numpy()
    held = [len(set(who[(leaf >= i) & (leaf < model.tree_.ends[i])])) for i in range(model.tree_.n_nodes)]
    assert min(held[i] for i in model.tree_.leaves) < 5
    nodes = shown_nodes(model, 60)
    assert len(nodes) > 3
    assert min(held[node.number] for node in nodes) >= 5


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for way in ("draw", "plot"):
        with pytest.raises(NotFittedError):
            getattr(DensityTree(k=5, domain=DOMAIN), way)()
    model = DensityTree(k=5, domain=DOMAIN).fit(people(50, 1))
    with pytest.raises(InvalidArgument, match=r"^depth must be"):
        model.draw(depth=-1)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"drawing a tree.*discreet\[plot\]"):
        model.plot()
