"""A curve of utility and risk over k says what releases of these k have, and each rule takes the largest good k."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, datasets
from discreet.anonymity import DensityTree, Generalization, Mondrian, k_curve, risk
from discreet.anonymity.methods.partitioner import Partitioner
from discreet.errors import InvalidArgument, InvalidType

PEOPLE = datasets.people(600)
QUASI = [c.name for c in PEOPLE.domain if c.role == "quasi-identifier"]
KS = [4, 8, 16, 40]


@pytest.mark.parametrize("method", [DensityTree, Mondrian])
def test_the_curve_is_that_of_the_releases(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = method(7, l_diversity=2, domain=PEOPLE.domain)
    reads = []
    read = Partitioner._read
    monkeypatch.setattr(Partitioner, "_read", lambda *given: reads.append(1) or read(*given))
    curve = k_curve(model, PEOPLE.table, KS)
    assert len(reads) == 1
    assert curve.k is None
    assert curve.n == 600
    assert (model.k, hasattr(model, "tree_")) == (7, False)
    for k, point in zip(KS, curve.points, strict=True):
        release = method(k, l_diversity=2, domain=PEOPLE.domain).fit_transform(PEOPLE.table)
        measured = risk(release.table, QUASI, ["illness"])
        assert (point.k, point.cells, point.smallest) == (k, release.cells.n_cells, measured.k)
        assert point.risk == pytest.approx(1 / measured.k)
        assert point.mean_risk == pytest.approx(release.cells.n_cells / 600)
        sizes = np.array(release.cells.counts())
        assert point.class_size == pytest.approx((sizes**2).sum() / 600)
        spans = [
            (release.cells.last[:, j] - release.cells.first[:, j]) / (g.n_bins - 1)
            for j, g in enumerate(release.cells.grids)
        ]
        assert point.width == pytest.approx(np.average(np.mean(spans, axis=0), weights=sizes))
        assert point.homogeneous == 0.0  # l = 2
        assert point.kept
    assert curve.to_arrow().column_names[:3] == ["k", "cells", "smallest"]
    assert "accuracy" not in curve.to_arrow().column_names
    without = k_curve(method(domain=PEOPLE.domain), PEOPLE.table, [4])
    values = method(4, domain=PEOPLE.domain).fit_transform(PEOPLE.table)
    groups = values.table.group_by(QUASI).aggregate([("illness", "count_distinct"), ("illness", "count")]).to_pylist()
    alike = sum(g["illness_count"] for g in groups if g["illness_count_distinct"] == 1)
    assert without.points[0].homogeneous == pytest.approx(alike / 600)
    assert alike


def test_each_rule_takes_the_largest_good_k() -> None:
    model = DensityTree(domain=PEOPLE.domain)
    widths = {p.k: p.width for p in k_curve(model, PEOPLE.table, KS).points}
    for k in KS:
        assert k_curve(model, PEOPLE.table, KS[::-1], width=widths[k]).k == k
    none = k_curve(model, PEOPLE.table, KS, width=0.01)
    assert none.k is None
    assert "the smallest width tried" in none.text
    chosen = k_curve(model, PEOPLE.table, KS, width=0.4)
    assert "reveals something about them" in chosen.text
    assert chosen.to_dict()["k"] == chosen.k


@pytest.mark.parametrize(("cells", "k"), [(3, 200), (7, 85), (300, 2)])
def test_the_rule_of_cells_is_n_over_h(cells: int, k: int) -> None:
    curve = k_curve(DensityTree(domain=PEOPLE.domain), PEOPLE.table, [50], bins=cells)
    assert curve.k == k
    point = next(p for p in curve.points if p.k == k)
    assert point.cells <= cells
    assert f"it gave {point.cells:,}" in curve.text


def test_persons_are_counted_where_k_counts_them() -> None:
    domain = Domain(
        {"who": {"bounds": [0, 999], "role": "person"}, "x": {"bounds": [0, 1], "role": "quasi-identifier"}}
    )
    table = pa.table({"who": np.arange(400) // 4, "x": np.random.default_rng(0).random(400)})
    curve = k_curve(DensityTree(domain=domain), table, bins=10)
    assert curve.n == 100
    assert curve.k == 10
    assert [p.k for p in curve.points] == [5, 10, 20, 50]
    assert all(p.smallest >= p.k and p.risk >= p.mean_risk > 0 for p in curve.points)


def labelled(n: int = 900) -> tuple[pa.Table, Domain]:
    """A label that is in bands, which cells of more than about 90 records blur."""
    x = np.random.default_rng(1).random(n)
    domain = Domain(
        {"x": {"bounds": [0, 1], "role": "quasi-identifier"}, "y": {"categories": ["0", "1"], "role": "target"}}
    )
    return pa.table({"x": x, "y": [str(int(v * 10) % 2) for v in x]}), domain


def test_the_rule_of_loss_follows_held_out_labels() -> None:
    table, domain = labelled()
    curve = k_curve(DensityTree(domain=domain), table, [5, 20, 60, 300], loss=0.15)
    accuracy = [p.accuracy or 0.0 for p in curve.points]
    assert accuracy[0] > 0.9
    assert accuracy[-1] < 0.65
    assert curve.k == max(p.k for p in curve.points if (p.accuracy or 0) >= max(accuracy) - 0.15)
    assert curve.k < 300
    assert all(0 < (p.accuracy_error or 0) < 0.02 for p in curve.points)
    # Labels that chance gave cannot be foretold: held out, they show it.
    noise = table.set_column(1, "y", pa.array(np.random.default_rng(2).integers(0, 2, 900).astype(str)))
    assert k_curve(DensityTree(domain=domain), noise, [5], loss=0.1).points[0].accuracy == pytest.approx(0.5, abs=0.06)


def test_a_k_at_which_blind_cells_fail_is_not_taken() -> None:
    model = DensityTree(l_diversity=3, domain=PEOPLE.domain, blind=True)
    curve = k_curve(model, PEOPLE.table, [4, 100], width=1.0)
    assert [p.kept for p in curve.points] == [False, True]
    assert curve.k == 100
    assert k_curve(model, PEOPLE.table, [4], width=1.0).k is None


def test_the_curve_can_be_drawn() -> None:
    pytest.importorskip("plotly")
    table, domain = labelled(200)
    figure = k_curve(DensityTree(domain=domain), table, [5, 20], bins=4).plot()
    assert {line.name for line in figure.data} == {
        "width of the cells", "held-out accuracy", "risk in the worst cell", "mean risk",
    }  # fmt: skip
    assert list(figure.data[0].x) == [5, 20, 50]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"bins": 3, "width": 0.2}, "width must be left out where bins is given"),
        ({"bins": 301}, "at most half the number of records"),
        ({"bins": 0}, "bins"),
        ({"width": 2.0}, "width"),
        ({"loss": 0.1}, "target"),
        ({"candidates": []}, "at least one k"),
        ({"candidates": [1]}, "candidates"),
        ({"candidates": [5, 601]}, r"at most the number of records \(600\)"),
    ],
)
def test_bad_questions_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        k_curve(DensityTree(domain=PEOPLE.domain), PEOPLE.table, **{"candidates": [5], **given})


def test_methods_without_a_tree_are_refused() -> None:
    for method in (Generalization(5, domain=PEOPLE.domain), 5):
        with pytest.raises(InvalidType, match="method"):
            k_curve(method, PEOPLE.table)  # type: ignore[arg-type]
    with pytest.raises(InvalidType, match="candidates"):
        k_curve(DensityTree(domain=PEOPLE.domain), PEOPLE.table, 5)  # type: ignore[arg-type]
