"""A domain is declared, checked, stored, and does the same thing to every row."""

from __future__ import annotations

import dataclasses
import datetime
import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.core.domain import as_domain
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, InvalidType, SchemaError

SCHEMA = """
[columns.age]
bounds = [0, 120]
role = "quasi-identifier"
missing = "own"

[columns."net income, €"]
bounds = [-1.5e3, 1e6]

[columns.sex]
categories = ["f", "m", 3, true]
role = "sensitive"
"""


def test_a_schema_file_round_trips(tmp_path: Path) -> None:
    domain = dc.Domain.from_toml(SCHEMA)
    assert domain.names == ("age", "net income, €", "sex")
    assert domain.column("age").role == "quasi-identifier"
    assert domain.column("age").missing == "own"
    assert domain.low.tolist() == [0, -1500, 0]
    assert domain.high.tolist() == [120, 1e6, 4]
    path = tmp_path / "schema.toml"
    domain.to_toml(path)
    assert dc.Domain.from_toml(path) == domain
    assert dc.Domain.from_toml(str(path)) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain


names = st.text(min_size=1, max_size=8).filter(lambda s: s == s.strip() and s)
bounds = st.tuples(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100)).filter(lambda p: p[1] - p[0] >= 1e-100)
categories = st.lists(st.text(max_size=6).map(str.strip) | st.integers(), min_size=1, max_size=4, unique_by=str).map(
    lambda c: {"categories": c}
)


@given(st.dictionaries(names, bounds | categories, min_size=1, max_size=5))
def test_any_declaration_survives_the_schema_file(declared: dict) -> None:
    domain = dc.Domain(declared)
    assert dc.Domain.from_toml("\n" + domain.to_toml()) == domain


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=20))
def test_every_row_is_treated_by_itself_and_none_fails(rows: list[tuple[float, float]]) -> None:
    domain = dc.Domain({"a": (-2, 3), "b": (0, 1e-3)})
    X = np.array(rows, dtype=float).reshape(-1, 2)
    clamped, unit = domain.clamp(X), domain.to_unit(X)
    for i in range(len(X)):
        assert np.array_equal(domain.clamp(X[i : i + 1])[0], clamped[i], equal_nan=True)
    inside = ~np.isnan(X)
    assert (clamped[inside] >= np.broadcast_to(domain.low, X.shape)[inside]).all()
    assert (clamped[inside] <= np.broadcast_to(domain.high, X.shape)[inside]).all()
    assert ((unit[inside] >= 0) & (unit[inside] <= 1)).all()
    assert np.isnan(clamped[~inside]).all()
    assert np.allclose(domain.from_unit(unit)[inside], clamped[inside], atol=1e-12)


def test_boxes() -> None:
    box = dc.Domain.box([0, -1], [2, 1]).bounds
    assert box == dc.Box([0, -1], [2, 1])
    assert hash(box) == hash(dc.Box([0, -1], [2, 1]))
    assert (box.center.tolist(), box.widths.tolist(), box.volume) == ([1, 0], [2, 2], 4)
    assert repr(box) == "Box([0.0, -1.0], [2.0, 1.0])"


def test_select_and_positions() -> None:
    domain = dc.Domain({"a": (0, 1), "b": (0, 2), "c": ["x"]})
    assert domain.select(["c", "a"]).names == ("c", "a")
    assert domain.position("b") == 1
    assert [c.name for c in domain] == ["a", "b", "c"]
    assert dc.Domain.box(0, 1).named is False
    assert repr(dc.Domain.box(0, [1] * 8)).endswith(", and 2 more})")


def test_scalar_bounds_hold_for_all_columns() -> None:
    assert as_domain((0, 1), ["a", "b"]).names == ("a", "b")
    assert as_domain({"a": (0, 1)}, ["a"]).names == ("a",)
    domain = dc.Domain.box(0, 1, names=["z"])
    assert as_domain(domain, ["a"]) is domain


def test_declared_bounds_cannot_be_changed_from_outside() -> None:
    domain = dc.Domain.box([0, 0], [1, 1])
    domain.low[0] = -99
    assert domain.low.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("declared", "error", "words"),
    [
        ({}, InvalidArgument, "at least one column"),
        ([("a", (0, 1))], InvalidType, "mapping"),
        ({"a": (1, 0)}, InvalidArgument, "low < high"),
        ({"a": (1, 1)}, InvalidArgument, "low < high"),
        ({"a": (math.nan, 1)}, InvalidArgument, "low bound of column 'a'"),
        ({"a": (0, math.inf)}, InvalidArgument, "high bound of column 'a'"),
        ({"a": (-1e308, 1e308)}, InvalidArgument, r"from -1e\+100 to 1e\+100"),
        ({"a": (0, 2.5e307)}, InvalidArgument, r"from -1e\+100 to 1e\+100"),
        ({"a": (0, 5e-320)}, InvalidArgument, "at least 1e-100 apart"),
        ({"a": (0, 10**400)}, InvalidArgument, "finite"),
        ({"a": (0, "1")}, InvalidType, "high bound of column 'a'"),
        ({"a": (0, True)}, InvalidType, "high bound"),
        ({"a": (0, 1, 2)}, InvalidArgument, "pair"),
        ({"a": (0,)}, InvalidArgument, r"try \(0, 1\)$"),
        ({"a": {"bounds": (120,)}}, InvalidArgument, r'try "bounds": \[0, 120\]$'),
        ({"a": "0..1"}, InvalidType, "low, high"),
        ({"a": None}, InvalidType, "low, high"),
        ({"a": []}, InvalidArgument, "at least one category"),
        ({"a": ["x", "x"]}, InvalidArgument, "without repeats"),
        ({"a": ["x ", "y"]}, InvalidArgument, r"got .x .; try \['x', 'y'\]"),
        ({"a": ["x", "x ", "y"]}, InvalidArgument, r"column .a. must be texts without surrounding blanks"),
        ({"a": [1, "1"]}, InvalidArgument, "without repeats"),
        ({"a": [1.5]}, InvalidType, "text, whole numbers"),
        ({"a": [None]}, InvalidType, "text, whole numbers"),
        ({"a": {"bounds": (0, 1), "categories": ["x"]}}, SchemaError, "either"),
        ({"a": {"role": "target"}}, SchemaError, "either"),
        ({"a": {"bounds": (0, 1), "colour": 1}}, SchemaError, "colour"),
        ({"a": {"bounds": (0, 1), "role": "king"}}, InvalidArgument, "role of column 'a'"),
        ({"a": {"bounds": (0, 1), "missing": 3}}, InvalidType, "missing of column 'a'"),
        ({"a": {"bounds": 3}}, InvalidArgument, "pair"),
        ({"a": {"categories": "xy"}}, InvalidType, "list of categories"),
        ({"": (0, 1)}, InvalidArgument, "column name"),
        ({" a": (0, 1)}, InvalidArgument, "column name"),
        ({1: (0, 1)}, InvalidType, "column name"),
        ({"a": dc.Numeric("b", 0, 1)}, InvalidArgument, "own name"),
    ],
)
def test_bad_declarations_name_column_value_and_fix(declared: object, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        dc.Domain(declared)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda: dc.Domain.box([0, 0], [1, 1, 1]),
        lambda: dc.Domain.box([], []),
        lambda: dc.Domain.box("a", 1),
        lambda: dc.Domain.box([[0]], [[1]]),
        lambda: dc.Domain.box(0, 1, names=["a", "a"]),
        lambda: dc.Domain.box(0, 1, names="ab"),
        lambda: dc.Domain.box(0, 1, names=3),
        lambda: dc.Domain.box(0, 1, names=[]),
        lambda: dc.Domain.box(0, 1, names=[1]),
        lambda: dc.Domain.box(0, 0),
        lambda: dc.Domain.box(0, math.nan),
        lambda: dc.Box([1], [0]),
        lambda: dc.Box([0, 0], [1]),
        lambda: dc.Box(math.nan, 1),
        lambda: dc.Box("a", "b"),
        lambda: as_domain(None, ["a"]),
        lambda: as_domain(3, ["a"]),
        lambda: dc.Domain.box(0, 1).clamp([1, 2]),
        lambda: dc.Domain.box(0, 1).clamp([[1, 2]]),
        lambda: dc.Domain.box(0, 1).clamp("rows"),
        lambda: dc.Domain.box(0, 1).select("x0"),
        lambda: dc.Domain.box(0, 1).select(["x0", "x0"]),
        lambda: dc.Domain.box(0, 1).select(["nope"]),
        lambda: dc.Domain.box(0, 1).position(["x0"]),  # type: ignore[arg-type]
        lambda: dc.Domain.from_toml("[columns]\n"),
        lambda: dc.Domain.from_toml("columns = 3\n"),
        lambda: dc.Domain.from_toml("[other]\nx = 1\n"),
        lambda: dc.Domain.from_toml("not toml\n"),
        lambda: dc.Domain.from_toml("[columns]\na = 3\n"),
    ],
)
def test_bad_calls_are_refused(call: object) -> None:
    with pytest.raises(DiscreetError):
        call()  # type: ignore[operator]


def test_a_missing_schema_file_is_named() -> None:
    with pytest.raises(DataSourceError, match="nowhere"):
        dc.Domain.from_toml("nowhere.toml")


DATES = dc.Domain({"born": ("1920-01-01", "2010-12-31")})
DAYS = [-1.0, 31.0, math.nan]  # of 1969-12-31, 1970-02-01 and nothing


def days(data: object) -> list[float]:
    pieces = [batch[0] for batch in dc.engines.open(data, DATES).batches(DATES)]
    return np.concatenate(pieces).tolist()


@pytest.mark.parametrize(
    "bounds",
    [
        (datetime.date(1920, 1, 1), datetime.date(2010, 12, 31)),
        (datetime.datetime(1920, 1, 1, 23), "2010-12-31T12:00"),
        (np.datetime64("1920-01-01"), np.datetime64("2010-12-31T12:00")),
    ],
)
def test_dates_may_be_declared_in_several_ways(bounds: tuple[object, object]) -> None:
    domain = dc.Domain({"born": bounds}) if not isinstance(bounds[1], str) else dc.Domain({"born": {"bounds": bounds}})
    assert domain == DATES
    assert repr(domain) == "Domain({'born': ('1920-01-01', '2010-12-31')})"
    assert dc.Domain.from_toml(domain.to_toml() + "\n") == domain
    assert dc.Domain.from_toml("[columns.born]\nbounds = [1920-01-01, 2010-12-31]\n") == domain
    column = domain.column("born")
    assert dataclasses.replace(column, role="target").low == column.low == -18262 - 1


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (("1920-01-01", "never"), "high bound of column 'born'"),
        (("1920-02-30", "2010-12-31"), "low bound of column 'born'"),
        (("2010-12-31", "1920-01-01"), "a first and a later last day"),
        ((datetime.date(1920, 1, 1), 3), "high bound of column 'born'"),
        ((np.datetime64("NaT"), datetime.date(2010, 1, 1)), "low bound of column 'born'"),
    ],
)
def test_bad_dates_are_refused(bounds: tuple[object, object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        dc.Domain({"born": bounds})


def test_dates_are_read_from_tables_of_all_kinds(tmp_path: Path) -> None:
    moments = [datetime.datetime(1969, 12, 31, 23), datetime.datetime(1970, 2, 1), None]
    plain = [m and m.date() for m in moments]
    texts = ["1969-12-31", " 1970-02-01T00:00:01Z ", "1970-02-29"]
    frames = {"dates": plain, "moments": pd.to_datetime(pd.Series(moments)), "texts": texts, "objects": [*plain[:2], 7]}
    for values in frames.values():
        assert days(pd.DataFrame({"born": values})) == pytest.approx(DAYS, nan_ok=True)
        assert days(pd.DataFrame({"born": pd.Series(values).astype("category")})) == pytest.approx(DAYS, nan_ok=True)
    zoned = pd.DataFrame({"born": pd.to_datetime(pd.Series(moments)).dt.tz_localize("America/New_York")})
    assert days(zoned) == pytest.approx(DAYS, nan_ok=True)  # the day on that clock
    for kind in (pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("s")):
        values = pa.array(plain if pa.types.is_date(kind) else moments, kind)
        assert days(pa.table({"born": values})) == pytest.approx(DAYS, nan_ok=True)
        assert days(pa.table({"born": values.dictionary_encode()})) == pytest.approx(DAYS, nan_ok=True)
        assert days(pl.from_arrow(pa.table({"born": values}))) == pytest.approx(DAYS, nan_ok=True)
    pq.write_table(pa.table({"born": pa.array(plain)}), tmp_path / "a.parquet")
    assert days(tmp_path / "a.parquet") == pytest.approx(DAYS, nan_ok=True)
    (tmp_path / "a.csv").write_text("born\n" + "\n".join(texts), encoding="utf-8")
    assert days(tmp_path / "a.csv") == pytest.approx(DAYS, nan_ok=True)
    array = np.array(["1969-12-31T23", "1970-02-01", "NaT"], "datetime64[h]")
    box = dc.Domain._of(DATES.columns, named=False)
    assert next(iter(dc.engines.open(array, box).batches(box)))[0] == pytest.approx(DAYS, nan_ok=True)


def test_types_that_hold_no_dates_are_refused() -> None:
    with pytest.raises(SchemaError, match="declared with dates"):
        days(pd.DataFrame({"born": [1980, 1990]}))
    with pytest.raises(SchemaError, match="numbers as bounds"):
        dc.engines.open(pd.DataFrame({"born": pd.to_datetime(["1980-01-01"])}), dc.Domain({"born": (0, 1)}))
    assert np.isnan(days(pd.DataFrame({"born": [math.nan, math.nan]}))).all()  # a column of nothing is called float


def test_days_beyond_the_bounds_count_as_the_bound() -> None:
    assert DATES.clamp([[-1e9], [1e9]]).tolist() == [[-18263.0], [14974.0]]


def test_a_synopsis_counts_dates() -> None:
    born = np.datetime64("1950-01-01") + np.arange(2000)
    made = dc.GridSynopsis(domain=DATES, epsilon=math.inf, rule=64).fit(pd.DataFrame({"born": born})).synopsis_
    assert made.count(born=("1940-01-01", datetime.date(1990, 1, 1))).value == pytest.approx(2000, rel=0.01)
    with pytest.raises(InvalidType, match="born"):
        made.count(born=("then", "now"))
