"""Columns whose type differs from file to file: what is equal in value is one value, one person, one row."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engines.readers import read_columns
from discreet.engines.tables import as_text

ROLES = {
    "age": {"bounds": [0, 100], "role": "quasi-identifier"},
    "#": {"bounds": [0, 1000], "role": "attribute"},
    "ill": {"categories": ["no", "flu"], "role": "sensitive"},
}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three persons (one of them nameless) by whole numbers here, as pandas writes a column with a gap there."""
    pq.write_table(pa.table({"q": ["a"] * 4, "who": [10**16, 10**16, None, 0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"q": ["a"] * 4, "who": [1e16, 1e16, np.nan, -0.0]}), tmp_path / "1.parquet")
    return tmp_path


def test_a_person_is_one_whatever_types_files_have(mixed: Path) -> None:
    report = dc.anonymity.risk(str(mixed), ["q"], person="who")
    assert (report.rows, report.k) == (8, 2)  # a row without a person is no further one
    assert dc.anonymity.risk(str(mixed), ["q"], ["who"]).sensitive["who"].distinct_l == 3


def test_a_zero_with_a_sign_is_no_other_person(tmp_path: Path) -> None:
    domain = dc.Domain({"age": ROLES["age"], "who": {"bounds": [0, 9], "role": "person"}})
    rows = pa.table({"age": [30] * 6, "who": [0.0, -0.0, 1.0, 2.0, 2.0, None]})
    model = dc.anonymity.DensityTree(k=2, domain=domain).fit(rows)
    found = [model.transform(rows).guarantee, model.transform_file(rows, tmp_path / "rows.csv").guarantee]
    assert [promise.parameters["reached"]["k"] for promise in found if promise is not None] == [3, 3]


def test_equal_numbers_are_written_alike() -> None:
    decimals = pa.array([Decimal("7.00"), Decimal("0.10"), None], pa.decimal128(9, 2))
    assert as_text(decimals).to_pylist() == ["7", "0.1", None]
    assert as_text(pa.array([0.1, 7], pa.float32())).to_pylist() == ["0.1", "7"]
    assert as_text(pa.array([np.inf, 7, 1e-9])).to_pylist()[:2] == ["inf", "7"]
    assert as_text(pa.array([7, None])).to_pylist() == ["7", None]


def test_a_population_of_another_type_is_matched_by_value(tmp_path: Path) -> None:
    pq.write_table(pa.table({"q": [1e16, 1e16, np.nan, np.nan]}), tmp_path / "all.parquet")
    report = dc.anonymity.risk(pa.table({"q": [10**16, None]}), ["q"], population=tmp_path / "all.parquet")
    assert report.k_map == 2


def test_a_file_with_an_empty_column_leaves_the_others_their_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.nulls(2)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"v": [3, None]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": pa.nulls(0)}), tmp_path / "2.parquet")
    found = read_columns(dc.engines.open(str(tmp_path)), ["v"])
    assert found["v"].type == pa.int64()
    assert found["v"].to_pylist() == [None, None, 3, None]


@pytest.mark.parametrize("kind", [pa.decimal128(5, 2), pa.bool_(), pa.date32(), pa.float16()])
def test_an_empty_column_takes_any_type(kind: pa.DataType, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.nulls(2)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"v": pa.nulls(1, kind)}), tmp_path / "1.parquet")
    assert read_columns(dc.engines.open(str(tmp_path)), ["v"])["v"].null_count == 3


@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_numbers_of_any_precision_are_counted_and_released(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 100, 200), rng.integers(0, 3, 200)])
    domain = dc.Domain({"age": ROLES["age"], "pay": {"bounds": [0, 9], "role": "sensitive"}})
    model = dc.anonymity.DensityTree(k=10, domain=domain, l_diversity=2).fit(rows.astype(float))
    expected = model.transform(rows.astype(float), random_state=1).table["pay"].to_pylist()
    written = model.transform_file(rows.astype(kind), tmp_path / "rows.parquet", random_state=1)
    assert pq.read_table(written.path)["pay"].to_pylist() == expected
    half = pa.table({"q": pa.array(np.array([1, 1, 2], np.float16))})
    assert dc.anonymity.risk(half, ["q"]).classes == 2
