"""Tables into the metric room and out of it: dates, lists, text and Arrow columns keep their kind; no row is quoted."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import InvalidArgument, SchemaError
from discreet.metric import NDLaplace, Piecewise, SphericalLaplace, Trajectory

DATED = dc.Domain({"a": (0, 1), "born": ("2020-01-01", "2021-01-01")})


def dated() -> pa.Table:
    return pa.table({"a": [0.5, 0.2], "born": [datetime.date(2020, 5, 5), None]})


def test_dates_count_in_every_figure() -> None:
    mechanism = NDLaplace(epsilon=1, radius=0.1, domain=DATED, random_state=1)
    promise = mechanism.fit().guarantee_
    assert promise.parameters["dimension"] == mechanism.law.dimension == 2
    assert mechanism.scale(dated()).shape == (2, 2)
    noisy = mechanism.transform(dated())
    assert abs(noisy["born"][0].as_py().toordinal() - 719_163 - 18387) < 366
    reports = Piecewise(epsilon=4, domain=DATED)
    assert reports.n_sent == reports.fit().guarantee_.parameters["reported"] == 2
    table = pa.table({"lat": [1.0], "lon": [2.0], "born": [datetime.date(2020, 5, 5)]})
    world = {"lat": (-90, 90), "lon": (-180, 180), "born": ("2020-01-01", "2021-01-01")}
    with pytest.raises(SchemaError, match="'born'"):
        SphericalLaplace(domain=world).transform(table)


@pytest.mark.parametrize("rows", [[[0.5], ["SECRET", 0.1]], [["SECRET"], None]])
def test_lists_are_refused_without_quoting_a_row(rows: Any) -> None:
    for report in (
        NDLaplace(domain={"x0": (0, 1)}).transform,
        Trajectory(NDLaplace(domain=(0, 1)), threshold=1, test_epsilon=0.1, budget=9).report,
    ):
        with pytest.raises(InvalidArgument, match="rows of one length") as caught:
            report(rows)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


def test_lists_may_hold_text() -> None:
    mechanism = NDLaplace(domain={"x0": (0, 1), "x1": ["a", "b"]}, category_epsilon=1, random_state=1)
    noisy = mechanism.transform([[0.5, "a"], [None, "b"], ["text", None]])
    assert noisy.shape == (3, 2)
    assert set(noisy[:, 1]) <= {"a", "b"}


def test_one_column_without_rows_or_in_one_dimension() -> None:
    mechanism = NDLaplace(domain={"x0": (0, 1)}, random_state=1)
    assert mechanism.transform([]).shape == (0, 1)
    assert mechanism.transform(np.array([0.1, 0.2])).tolist() == mechanism.transform([[0.1], [0.2]]).tolist()


def test_arrow_columns_keep_their_types() -> None:
    table = pa.table({"a": pa.array([], pa.float64()), "c": pa.array([], pa.string())})
    noisy = NDLaplace(domain={"a": (0, 1), "c": ["x", "y"]}, category_epsilon=1).transform(table)
    assert noisy.schema.types == [pa.float64(), pa.string()]
    mixed = NDLaplace(domain={"c": [1, "x"]}, category_epsilon=1).transform(pa.table({"c": ["1", "x", "x"]}))
    assert set(mixed["c"].to_pylist()) <= {"1", "x"}


def test_columns_that_name_people_are_left_out_and_dates_come_back_as_dates():
    import datetime

    import pandas as pd

    domain = dc.Domain(
        {
            "id": {"bounds": [0, 1000], "role": "identifier"},
            "born": (datetime.date(1950, 1, 1), datetime.date(2000, 1, 1)),
            "x": (0, 1),
        }
    )
    frame = pd.DataFrame({"id": [1, 2], "born": pd.to_datetime(["1970-05-01", "1980-06-01"]), "x": [0.2, 0.4]})
    found = dc.metric.NDLaplace(50, 0.01, domain, random_state=1).transform(frame)
    assert list(found.columns) == ["born", "x"]
    assert np.issubdtype(found["born"].dtype, np.datetime64)
    assert abs((found["born"] - frame["born"]).dt.days).max() < 200


@pytest.mark.parametrize("n", [1, 40])
def test_what_is_not_reported_is_missing_in_every_kind_of_table(n: int, tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl

    day, time = datetime.date(2024, 1, 1), datetime.time(12, 30)
    bounds = {"day": ("2020-01-01", "2025-01-01"), "x": (0, 1), "n": dc.Integer(0, 10)}
    domain = dc.Domain({**bounds, "at": {"kind": "time", "bounds": ["00:00", "23:59"]}})
    table = pa.table({"day": [day] * n, "x": [0.5] * n, "n": [3] * n, "at": [time] * n})
    sampled = Piecewise(1, domain, attributes="sample", method="square_wave", random_state=1)  # one value per row
    found = sampled.transform(table)
    assert found.schema.types == [pa.date32(), pa.float64(), pa.float64(), pa.string()]
    gaps = np.column_stack([column.is_null().to_numpy() for column in found.columns])
    assert (gaps.sum(axis=1) == 3).all()
    assert sampled.transform(pl.from_arrow(table)).null_count().row(0) == tuple(gaps.sum(axis=0))
    assert (sampled.transform(table.to_pandas()).isna().to_numpy() == gaps).all()
    assert np.abs(found["n"].drop_null().to_numpy()).max(initial=0) < 100
    files = [tmp_path / f"noisy.{ending}" for ending in ("parquet", "csv", "xlsx")]
    for file in files:
        sampled.transform_file(table, file, order="input")
    assert pq.read_table(files[0]).replace_schema_metadata().equals(found)
    fields = [line.split(",") for line in files[1].read_text("utf-8").splitlines()[1:]]
    assert ([[field == "" for field in row] for row in fields] == gaps).all()
    assert (pd.read_excel(files[2], engine="calamine").isna().to_numpy() == gaps).all()
    for file in files:
        read = [np.isnan(np.stack(rows, axis=1)) for rows in dc.engines.open(file, domain).batches(domain)]
        assert (np.concatenate(read) == gaps).all()
