"""Published values of leaves: counts, means in one joint draw, and the raw sums they are made of."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, engines, noise
from discreet.core.budget.prices import Epsilon
from discreet.engines import GridMap
from discreet.engines.passes.cells import NestedMap
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType
from discreet.synopses.opening import open_release
from discreet.synopses.publishing import publish
from gates import hold_of

DOMAIN = Domain({"x": (0, 10), "y": {"bounds": [-1, 1], "missing": "own"}, "sex": ["f", "m"]})


def _rows(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(5, 4, n), rng.uniform(-1.2, 1.2, n)
    x[::50], y[::7], x[1], y[3] = np.nan, np.nan, np.inf, -np.inf
    return pa.table({"x": x, "y": y, "sex": pa.array(rng.choice(["f", "m", "?"], n))})


def _sums_by_hand(cell_map, table, scale=1024):
    columns = [table["x"].to_numpy(), table["y"].to_numpy()]
    sex = {"f": 0.5, "m": 1.5}
    columns.append(np.array([sex.get(s, np.nan) for s in table["sex"].to_pylist()]))
    found = {}
    for row, cell in zip(zip(*columns, strict=True), cell_map.ids(columns), strict=True):
        if cell < 0:
            continue
        lower, upper = (b[0] for b in cell_map.boxes([cell]))
        q = [0 if math.isnan(x) or math.isnan(a) else scale * max(-1.0, min(1.0, (2 * x - a - b) / (b - a)))
             for x, a, b in zip(row, lower, upper, strict=True)]  # fmt: skip
        entry = found.setdefault(int(cell), np.zeros(4))
        entry += [1, *q]
    return found


@pytest.mark.parametrize("nested", [False, True])
def test_sums_add_up_the_places_of_rows_in_their_own_cells(nested):
    table = _rows()
    cells = GridMap(DOMAIN, [3, 4, None])
    if nested:
        cells = NestedMap(cells, np.arange(cells.n_cells) % 3 + 1)
    sums = engines.open(table).sums(cells)
    wanted = _sums_by_hand(cells, table)
    assert sums.cells.tolist() == sorted(wanted)
    by_hand = np.array([wanted[c] for c in sums.cells.tolist()])
    np.testing.assert_array_equal(sums.counts, by_hand[:, 0])
    # Each row is rounded to a whole step by itself.
    assert (np.abs(sums.sums - by_hand[:, 1:]) <= 0.5 * sums.counts[:, None] + 1e-6).all()
    assert (np.abs(sums.sums) <= 1024 * sums.counts[:, None]).all()
    counts = engines.open(table).count(cells)
    np.testing.assert_array_equal(sums.dense()[0], counts.dense())
    assert repr(sums) == f"CellSums(n_cells={cells.n_cells})"


@pytest.mark.parametrize("parts", [2, 400_000])
def test_sums_are_the_same_from_every_engine_and_batch(tmp_path, parts):
    table = _rows()
    pq.write_table(table, tmp_path / "t.parquet")
    cells = GridMap(DOMAIN, [parts, parts, None])
    wanted = engines.open(table).sums(cells)
    for data, size in [(table, 7), (table, 1000), (tmp_path / "t.parquet", 64), (table.to_pandas(), 4096)]:
        found = engines.open(data).sums(cells, batch_size=size)
        for name in ("cells", "counts", "sums"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_nested_cells_tile_the_cells_around_them():
    cells = GridMap(DOMAIN, [3, 2, None])
    nested = NestedMap(cells, np.arange(cells.n_cells) % 4 + 1)
    lower, upper = nested.boxes(np.arange(nested.n_cells))
    outer = nested.outer(np.arange(nested.n_cells))
    around = cells.boxes(np.arange(cells.n_cells))
    volume = np.nan_to_num(upper - lower, nan=1.0).prod(axis=1)
    whole = np.nan_to_num(around[1] - around[0], nan=1.0).prod(axis=1)
    np.testing.assert_allclose(np.bincount(outer, volume), whole)
    inside = np.isfinite(lower).all(axis=1)
    middle = (lower + (upper - lower) / 2)[inside]
    np.testing.assert_array_equal(nested.ids(list(middle.T)), np.flatnonzero(inside))


def test_bad_arguments_of_sums():
    source = engines.open(np.zeros((2, 1)))
    with pytest.raises(InvalidType, match="cell_map"):
        source.sums(3)
    with pytest.raises(InvalidArgument, match="scale"):
        source.sums(GridMap(Domain.box(0, 1), 2), scale=0)


def test_counts_alone_are_plain_discrete_laplace():
    counts = np.arange(50)
    out = publish(hold_of(Epsilon(Fraction(1, 2)), 4), counts)
    np.testing.assert_array_equal(out.weights - counts, noise.discrete_laplace(2, 50, rng=4))
    assert out.weights.dtype == np.int64
    assert out.offsets is None
    assert set(out.variances) == {noise.DiscreteLaplace(2).variance}


def test_means_come_with_their_count_in_one_draw():
    counts, price = np.full(4000, 300), Epsilon(Fraction(1, 2))
    sums = np.tile([300 * 512, -300 * 256], (4000, 1))
    out = publish(hold_of(price, 4), counts, sums)
    variance = 4 * 5 / (3 * 0.25)
    assert out.variances[0] == pytest.approx(variance, rel=1e-5)
    assert out.weights.mean() == pytest.approx(300, abs=4 * math.sqrt(variance / 4000))
    assert out.weights.var() == pytest.approx(variance, rel=0.12)
    shrink = 0.0625 / (0.0625 + variance / 300**2)
    np.testing.assert_allclose(out.offsets.mean(axis=0), [0.5 * shrink, -0.25 * shrink], atol=0.003)
    empty = publish(hold_of(price, 5), np.zeros(5000, np.int64), np.zeros((5000, 2), np.int64))
    assert (np.abs(empty.offsets) <= 1).all()
    assert np.abs(empty.offsets).mean() < 0.05  # shrunk to the centre: noise says nothing about a mean


@pytest.mark.parametrize("epsilon", [Fraction(10**5), math.inf])
def test_immense_budgets_give_the_mean_itself(epsilon):
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 50, 20)
    sums = rng.integers(-1024, 1025, (20, 24)) * counts[:, None]
    out = publish(hold_of(Epsilon(epsilon)), counts, sums)
    np.testing.assert_allclose(out.weights, counts, atol=0.02)
    np.testing.assert_allclose(out.offsets, sums / counts[:, None] / 1024, atol=0.02)


def test_the_number_of_rows_is_bought_or_declared():
    X = np.random.default_rng(0).random((500, 2))
    X[:20, 1] = np.nan
    bought = open_release(X, (0, 1), 1.0, 3)
    assert bought.n_rows == 480 + noise.discrete_laplace(Fraction(100, 3), rng=3)
    (line,) = bought.promise({}).ledger
    assert (line.label, line.amount) == ("number of rows", Fraction(3, 100))
    assert [(draw.law, draw.scale, draw.number) for draw in line.draws] == [("laplace", Fraction(100, 3), 1)]
    assert bought.gate.left == Epsilon(Fraction(97, 100))
    assert bought.n_rows_variance == noise.DiscreteLaplace(Fraction(100, 3)).variance
    given = open_release(X, (0, 1), 1.0, 3, n_rows=1000)
    assert (given.n_rows, given.n_rows_variance, given.gate.left) == (1000.0, None, Epsilon(1))
    assert "the number of rows, N, was given as public" in given.assumptions
    assert open_release(X, (0, 1), math.inf, None).n_rows == 480
    assert not open_release(X, (0, 1), 1.0, None).gate.seeded


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"domain": None}, "domain"),
        ({"n_rows": -2}, "n_rows"),
        ({"n_rows": "many"}, "n_rows"),
        ({"size_share": 1}, "size_share"),
        ({"random_state": "x"}, "random_state"),
        ({"X": np.zeros(3)}, "Reshape your data"),
        ({"X": np.zeros((3, 1), complex)}, "Complex data not supported"),
        ({"X": np.zeros((3, 0))}, "0 feature"),
    ],
)
def test_bad_openings_are_named(changes, named):
    arguments = {"X": np.zeros((3, 1)), "domain": (0, 1), "epsilon": 1.0, "random_state": None, **changes}
    with pytest.raises(ValueError, match=named):
        open_release(**arguments)


def test_overspending_comes_before_the_rows_are_read():
    opening = open_release(np.zeros((3, 1)), (0, 1), 1.0, None)

    def read() -> int:
        raise AssertionError("rows are read")

    with pytest.raises(BudgetExceeded):
        opening.gate.counts("more", read, Epsilon(1))
    opening.gate.counts("all", np.zeros(1, np.int64), opening.gate.left)
    with pytest.raises(BudgetExceeded, match="budget is used up"):
        opening.gate.counts("more", read, opening.gate.left)
