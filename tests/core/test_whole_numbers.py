"""Columns of whole numbers: no cell ends inside a number, and what comes out is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, InvalidArgument, InvalidType, SchemaError

AGES = dc.Domain({"age": dc.Integer(0, 120)})


def table(n: int = 3000, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    ages = np.clip(np.rint(draw.normal(40, 15, n)), 0, 99).astype(np.int64)
    return pa.table({"age": ages, "children": draw.integers(0, 5, n), "income": draw.uniform(0, 9e4, n)})


DOMAIN = dc.Domain({"age": dc.Integer(0, 120), "children": dc.Integer(0, 9), "income": (0, 1e5)})


def test_a_declaration_survives_the_schema_file_and_copies() -> None:
    again = dc.Domain.from_toml(DOMAIN.to_toml())
    assert again == DOMAIN
    assert again.column("age").to_dict()["bounds"] == [0, 120]
    assert DOMAIN.select(["age"]).with_unit("row").column("age") == again.column("age")
    assert repr(AGES) == "Domain({'age': Integer(0, 120)})"
    written = dc.Domain.from_toml('[columns]\nage = {kind = "integer", bounds = [0, 120]}\nold = {kind = "boolean"}\n')
    assert written.column("age") == dc.Integer(0, 120, name="age")
    assert written.column("old").to_dict()["categories"] == [False, True]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: dc.Integer(3, 3), InvalidArgument),
        (lambda: dc.Integer(5, 1), InvalidArgument),
        (lambda: dc.Integer(0, 1.25), InvalidArgument),
        (lambda: dc.Integer("a", 1), InvalidType),
        (lambda: dc.Integer(0, float("inf")), DiscreetError),
        (lambda: dc.Domain({"a": {"kind": "integer", "categories": ["x"]}}), SchemaError),
        (lambda: dc.Domain({"a": {"kind": "date", "bounds": [0, 1]}}), SchemaError),
    ],
)
def test_wrong_declarations_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_values_are_the_nearest_declared_whole_number() -> None:
    source = dc.engines.open(pa.table({"age": [34.4, 34.6, -7.0, 500.0, None, float("inf")]}), AGES)
    found = np.concatenate([batch[0] for batch in source.batches(AGES)])
    assert found[:4].tolist() == [34.0, 35.0, 0.0, 120.0]
    assert np.isnan(found[4])
    assert found[5] == 120.0


@settings(max_examples=150, deadline=None)
@given(st.integers(-1000, 1000), st.integers(1, 400), st.integers(1, 500))
def test_cells_of_a_grid_hold_the_numbers_between_their_ends(low: int, width: int, parts: int) -> None:
    domain = dc.Domain({"x": dc.Integer(low, low + width)})
    grid = dc.engines.GridMap(domain, parts)
    numbers = np.arange(low, low + width + 1)
    cells = grid.ids([numbers.astype(np.float64)])
    lower, upper = grid.boxes(np.arange(grid.n_cells))
    assert grid.n_cells == min(parts, width + 1)
    assert np.array_equal(np.unique(cells), np.arange(grid.n_cells))  # no cell without a number
    assert ((lower[cells, 0] < numbers) & (numbers < upper[cells, 0])).all()
    assert np.all((lower + 0.5) % 1 == 0)
    assert np.array_equal(lower[1:], upper[:-1])


@pytest.mark.parametrize(
    "model",
    [
        dc.GridSynopsis(epsilon=5.0, domain=DOMAIN, rule=16, random_state=1),
        dc.GridSynopsis(epsilon=5.0, domain=DOMAIN, rule="adaptive", random_state=1),
        dc.TreeSynopsis(epsilon=5.0, domain=DOMAIN, partitioner="quantile", random_state=1),
        dc.TreeSynopsis(epsilon=5.0, domain=DOMAIN, partitioner="privtree", random_state=1),
        dc.TreeSynopsis(epsilon=5.0, domain=DOMAIN, partitioner="median", random_state=1),
    ],
    ids=["grid", "adaptive", "quantile", "privtree", "median"],
)
def test_leaves_end_between_numbers_and_samples_are_whole(model: Any) -> None:
    made = model.fit(table()).synopsis_
    for axis in (0, 1):
        assert np.all((made.lower[:, axis] + 0.5) % 1 == 0)
        assert np.all(made.upper[:, axis] - made.lower[:, axis] >= 1)
    sample = made.sample(2000, rng=1)
    assert sample["age"].type == pa.int64()
    assert 0 <= min(sample["age"].to_pylist()) <= max(sample["age"].to_pylist()) <= 120
    assert abs(np.mean(sample["age"].to_pylist()) - 40) < 6


@pytest.mark.parametrize("high", [10**7, 2**40])
def test_trees_of_more_numbers_than_cells_end_between_numbers_too(high: int) -> None:
    domain = dc.Domain({"x": dc.Integer(0, high)})
    rows = pa.table({"x": np.random.default_rng(1).integers(0, high, 2000)})
    made = dc.TreeSynopsis(epsilon=float("inf"), domain=domain, partitioner="binary", max_depth=8).fit(rows).synopsis_
    assert np.all((made.lower[:, 0] + 0.5) % 1 == 0)
    for number in rows["x"].to_pylist()[:50]:
        inside = (made.lower[:, 0] < number) & (number < made.upper[:, 0])
        assert inside.sum() == 1
        assert made.weights[inside][0] > 0


def test_large_whole_numbers_are_printed_to_the_last_digit() -> None:
    start = 2**50
    domain = dc.Domain({"x": dc.Integer(start, start + 100, role="quasi-identifier")})
    rows = pa.table({"x": np.repeat(np.arange(start, start + 100), 3)})
    shown = dc.anonymity.Mondrian(k=5, domain=domain).fit(rows).transform(rows, order="input", random_state=1).table
    for text, value in zip(shown["x"].to_pylist(), rows["x"].to_pylist(), strict=True):
        ends = [int(e) for e in text.strip("[]").split(",")]
        assert ends[0] <= value <= ends[-1]


def test_questions_count_both_ends() -> None:
    made = (
        dc.TreeSynopsis(epsilon=float("inf"), domain=AGES, partitioner="binary", max_depth=12, random_state=1)
        .fit(table().select(["age"]))
        .synopsis_
    )
    ages = np.asarray(table()["age"])
    assert made.count(age=(30, 39)).value == pytest.approx(((ages >= 30) & (ages <= 39)).sum())
    assert made.count(age=40).value == pytest.approx((ages == 40).sum())
    assert made.count(age=(0, 120)).value == pytest.approx(len(ages))
    marginal = made.marginal("age", [0, 18, 65, 121])
    assert marginal.counts == pytest.approx([(ages < 18).sum(), ((ages >= 18) & (ages < 65)).sum(), (ages >= 65).sum()])


def test_an_answer_needs_no_evenness_where_leaves_are_numbers() -> None:
    made = dc.GridSynopsis(epsilon=1.0, domain=AGES, rule=121, random_state=1).fit(table().select(["age"])).synopsis_
    assert made.n_leaves == 121
    assert made.points[:, 0].tolist() == list(range(121))


def test_the_digest_does_not_depend_on_where_the_table_is(tmp_path: Path) -> None:
    rows = table()
    path = tmp_path / "t.csv"
    lines = [f"{r['age']},{r['children']},{r['income']!r}" for r in rows.to_pylist()]
    path.write_text("\n".join(["age,children,income", *lines]) + "\n")
    model = dc.TreeSynopsis(epsilon=1.0, domain=DOMAIN, random_state=5)
    digests = {model.fit(data).synopsis_.digest for data in (rows, rows.to_pandas(), str(path))}
    assert len(digests) == 1
    loaded = tmp_path / "s.parquet"
    model.synopsis_.save(loaded)
    assert dc.Synopsis.load(loaded).digest == model.synopsis_.digest


def test_clusters_have_means_of_whole_numbers_without_a_shift() -> None:
    ages = np.repeat([20, 60], 4000)
    domain = dc.Domain({"age": dc.Integer(0, 120)})
    found = dc.PrivateKMeans(n_clusters=2, epsilon=50.0, domain=domain, random_state=1).fit(pa.table({"age": ages}))
    assert sorted(found.cluster_centers_[:, 0]) == pytest.approx([20, 60], abs=1)


@pytest.mark.parametrize("output", ["interval", "center", "sample"])
def test_anonymous_tables_print_whole_numbers(output: str) -> None:
    domain = dc.Domain(
        {"age": dc.Integer(0, 120, role="quasi-identifier"), "children": dc.Integer(0, 9, role="quasi-identifier")}
    )
    model = dc.anonymity.DensityTree(k=20, domain=domain).fit(table())
    shown = model.transform(table().select(["age", "children"]), output=output, random_state=1).table
    values = shown["age"].to_pylist()
    if output == "interval":
        assert not any("." in v or ")" in v for v in values)
        ends = [[int(x) for x in v.strip("[]").split(",")] for v in values]
        assert all(0 <= e[0] <= e[-1] <= 120 for e in ends)
    elif output == "sample":
        assert shown["age"].type == pa.int64()
    else:
        assert all((2 * v).is_integer() for v in values)


def test_perturbed_whole_numbers_are_whole() -> None:
    noisy = dc.metric.NDLaplace(epsilon=1.0, radius=5.0, domain=AGES, random_state=1).transform(table().select(["age"]))
    assert noisy["age"].type == pa.int64()
