"""Every door reads the forms in which people hold rows, or says what to do; none reads them as no rows in silence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataSourceError, InvalidArgument, InvalidType, SchemaError

pytestmark = pytest.mark.usefixtures("few_steps")

TWO = dc.Domain({"a": (0, 10), "b": (0, 10)})
ONE = dc.Domain({"a": (0, 10)})
ROWS = [(1.0, 2.0), (3.0, 4.0)] * 10


def _rows(estimator: Any, data: Any) -> float:
    return float(estimator.fit(data).synopsis_.weights.sum())


#: What each door says the number of rows is.
DOORS: dict[str, Callable[[Any, dc.Domain], float]] = {
    "grid": lambda X, domain: _rows(dc.GridSynopsis(math.inf, domain=domain, rule=2), X),
    "tree": lambda X, domain: _rows(dc.TreeSynopsis(math.inf, domain=domain), X),
    "marginals": lambda X, domain: _rows(dc.MarginalSynopsis(math.inf, domain=domain), X),
    "session": lambda X, domain: (
        dc.QuerySession(X, dc.Ledger(epsilon=99), domain=domain).mean("a", epsilon=99).value * 10
    ),
    "k-means": lambda X, domain: _rows(
        dc.PrivateKMeans(2, math.inf, domain=domain, synopsis=dc.GridSynopsis(rule=2), refine=None, n_init=1), X
    ),
    "metric": lambda X, domain: len(next(iter(_columns(dc.metric.NDLaplace(1, 1, domain).transform(X))))),
    "density tree": lambda X, domain: len(dc.anonymity.DensityTree(k=2, domain=domain).fit_transform(X)),
    "microaggregation": lambda X, domain: len(dc.anonymity.Microaggregation(k=2, domain=domain).fit_transform(X)),
    "risk": lambda X, domain: 2 * dc.anonymity.risk(X, list(domain.names)).k,
    "engines": lambda X, domain: dc.engines.open(X).count(dc.engines.GridMap(domain, 1)).dense()[0],
}


def _columns(table: Any) -> list[Any]:
    if isinstance(table, dict):
        return list(table.values())
    return [table]


NAMED: dict[str, Any] = {
    "records": [{"a": a, "b": b} for a, b in ROWS],
    "records in a tuple, in another order": tuple({"b": b, "a": a} for a, b in ROWS),
    "columns": {"a": [a for a, _ in ROWS], "b": [b for _, b in ROWS]},
    "arrays by name": {"b": np.array(ROWS)[:, 1], "a": np.array(ROWS)[:, 0]},
}
SERIES: dict[str, Any] = {
    "pandas": pd.Series([a for a, _ in ROWS], name="a"),
    "polars": pl.Series("a", [a for a, _ in ROWS]),
    "columns": {"a": pd.Series([a for a, _ in ROWS], name="a")},
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", NAMED)
def test_records_and_columns_by_name_are_read(door: str, form: str) -> None:
    assert DOORS[door](NAMED[form], TWO) == pytest.approx(20, abs=2)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", SERIES)
def test_a_series_is_a_table_of_one_column(door: str, form: str) -> None:
    assert DOORS[door](SERIES[form], ONE) == pytest.approx(20, abs=2)


@pytest.mark.parametrize("door", [name for name in DOORS if name != "risk"])
def test_a_series_without_a_name_is_known_by_its_place(door: str) -> None:
    assert DOORS[door](SERIES["pandas"].rename(None), ONE) == pytest.approx(20, abs=2)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        b"rows",
        "no such file",
        (row for row in ROWS),
        {1, 2},
        [1.0, 2.0, 3.0],
        [(1.0, 2.0, 3.0)] * 5,
        {"a": [1.0, 2.0], "b": [1.0]},
        {"a": 1.0, "b": 2.0},
        {},
    ],
)
def test_what_is_not_this_table_is_refused_before_it_costs_anything(door: str, data: Any) -> None:
    with pytest.raises((InvalidType, InvalidArgument, SchemaError, DataSourceError)):
        DOORS[door](data, TWO)


def test_nothing_is_spent_on_what_is_not_a_table() -> None:
    ledger = dc.Ledger(epsilon=1)
    for data in ([1.0, 2.0, 3.0], [(1.0, 2.0, 3.0)] * 5):
        with pytest.raises((InvalidArgument, SchemaError)):
            dc.GridSynopsis(0.5, domain=TWO, ledger=ledger).fit(data)
    assert ledger.spent == 0


def test_a_list_without_rows_is_a_table_without_rows() -> None:
    """It is the neighbour of a table of one row, so it must not fail where that does not."""
    assert dc.GridSynopsis(1.0, domain=TWO, rule=2, random_state=1).fit([]).synopsis_.n_leaves == 4


def test_perturbed_rows_come_back_in_the_form_they_had() -> None:
    noise = dc.metric.NDLaplace(1, 1, TWO, random_state=1)
    records, columns = noise.transform(NAMED["records"]), noise.transform(NAMED["columns"])
    assert [set(row) for row in records] == [{"a", "b"}] * 20
    assert {name: len(values) for name, values in columns.items()} == {"a": 20, "b": 20}
    shown = dc.metric.NDLaplace(1, 1, ONE, random_state=1).transform(SERIES["pandas"])
    assert list(shown.columns) == ["a"]


@pytest.mark.parametrize("bounds", [(-1e100, 1e100), (0.0, 1e-100)])
def test_bounds_at_their_limits_make_finite_releases(bounds: tuple[float, float]) -> None:
    low, high = bounds
    domain = dc.Domain({"x": bounds, "y": (0, 1)})
    part = np.random.default_rng(0).random((300, 2))
    rows = np.column_stack([low * (1 - part[:, 0]) + high * part[:, 0], part[:, 1]])
    session = dc.QuerySession(rows, dc.Ledger(epsilon=99), domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = [session.sum("x", epsilon=1).value, session.mean("x", epsilon=1).value]
        figures.append(session.quantile("x", epsilon=1).value)
        for made in (dc.TreeSynopsis(1.0, domain, random_state=1), dc.GridSynopsis(1.0, domain, random_state=1)):
            synopsis = made.fit(rows).synopsis_
            figures += [
                synopsis.mean("x").value,
                *synopsis.quantile("x", 0.5).interval(),
                *synopsis.sample(9)["x"].to_pylist(),
            ]
        for scale in ("none", "domain"):
            figures += (
                dc.PrivateKMeans(2, 1.0, domain, scale=scale, random_state=1).fit(rows).cluster_centers_[:, 0].tolist()
            )
            figures += dc.DPLloyd(2, 1.0, domain, scale=scale, random_state=1).fit(rows).cluster_centers_[:, 0].tolist()
        figures += dc.metric.NDLaplace(1, 0.1, domain, scaling="box", random_state=1).transform(rows)[:, 0].tolist()
    assert np.isfinite(figures).all()
