"""A number that is a number is taken by its value, in whatever type it comes; only texts follow the marks of a file."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.anonymity.risk.printed import as_numbers
from discreet.core.schema.dialect import Dialect
from discreet.engines.readers import column_batches, read_columns
from discreet.engines.tables.encode import Encoder

GERMAN = Dialect(decimal=",", thousands=".", missing=["-999"])


def decimals(precision: int, scale: int, n: int = 2000) -> list[Decimal]:
    draw = random.Random(precision * 100 + scale)
    whole = (draw.randrange(-(10 ** draw.randint(1, precision)), 10 ** draw.randint(1, precision)) for _ in range(n))
    return [Decimal(f"{w}e-{scale}") for w in whole]


@pytest.mark.parametrize("as_object", [float, np.float64, lambda v: Decimal(str(v))], ids=["float", "numpy", "decimal"])
def test_marks_of_a_file_are_not_looked_for_in_numbers(as_object: Any) -> None:
    values = [1.234, 1.5, 1234.0, 1e-7, -999.0]
    encoder = Encoder(dc.Numeric("x", -2000, 2000), GERMAN)
    expected = encoder.numbers(np.array(values))
    np.testing.assert_array_equal(encoder.objects([as_object(v) for v in values]), expected)
    mixed = encoder.objects([as_object(1.234), "1.234", None, "1,5", True, -999, "-999"])
    np.testing.assert_array_equal(mixed, [1.234, 1234.0, np.nan, 1.5, 1.0, np.nan, np.nan])


def test_a_category_is_found_by_the_value_of_a_number() -> None:
    encoder = Encoder(dc.Categorical("x", [7, 1234]), GERMAN)
    found = encoder.objects([Decimal("7.0"), 7.0, 1.234, Decimal("1.234"), "1.234", "7,0", "7.0"])
    np.testing.assert_array_equal(found, [0.5, 0.5, np.nan, np.nan, 1.5, 0.5, np.nan])


@pytest.mark.parametrize("text", ["NaN", "sNaN", "-Infinity", "1e400", "-0", "1E+3"])
def test_odd_decimals_are_read_like_floats(text: str) -> None:
    encoder = Encoder(dc.Numeric("x", 0, 1), GERMAN)
    expected = float(text.replace("s", ""))
    np.testing.assert_array_equal(encoder.objects([Decimal(text)]), [expected])


@pytest.mark.parametrize(("precision", "scale"), [(20, 5), (18, 6), (38, 2), (38, 20), (38, 37), (76, 40), (9, 0)])
def test_a_decimal_is_rounded_to_the_nearest_double(precision: int, scale: int) -> None:
    values = decimals(precision, scale)
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    column = pa.array([*values, None], kind)
    expected = np.array([float(v) for v in values] + [np.nan])
    np.testing.assert_array_equal(Encoder(dc.Numeric("x", 0, 1)).arrow(column), expected)
    np.testing.assert_array_equal(Encoder(dc.Numeric("x", 0, 1), GERMAN).arrow(column.slice(3)), expected[3:])
    np.testing.assert_array_equal(as_numbers(pa.chunked_array([column, column])), [*expected, *expected])


def test_one_table_of_decimals_has_the_same_rows_everywhere(tmp_path: Path) -> None:
    values = decimals(20, 5)
    table = pa.table({"x": pa.array(values, pa.decimal128(20, 5))})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{v}\n" for v in values))
    floats = pd.DataFrame({"x": [float(v) for v in values]})
    found = set()
    for form in (table, tmp_path / "t.parquet", tmp_path / "t.csv", table.to_pandas(), floats):
        batches = column_batches(dc.engines.open(form), [], dc.Domain({"x": (-1e6, 1e6)}))
        found.add(np.concatenate([coordinates[0] for coordinates, _ in batches]).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("made", [np.array, pa.array, pd.Series], ids=["numpy", "arrow", "pandas"])
def test_a_mark_with_a_fraction_is_found_in_columns_that_have_rounded_it(kind: Any, made: Any) -> None:
    values = made(np.array([-9.9, 1.5, -9.0, 99.99], kind))
    dialect = Dialect(missing=["-9.9", "99.99"])
    table = pa.table({"x": values}) if isinstance(values, pa.Array) else pd.DataFrame({"x": values})
    source = dc.engines.open(table, dialect=dialect)
    grid = dc.engines.GridMap(dc.Domain({"x": dc.Numeric("x", -10, 100, missing="own")}), 1)
    assert source.count(grid).dense().tolist() == [2, 2]
    ((_, found),) = column_batches(source, ["x"])
    assert found["x"].to_pylist() == [None, 1.5, -9.0, None]


def test_a_mark_is_rounded_as_the_column_is_and_no_further() -> None:
    near = np.float32(-9.9)  # not what -9.9 is in double precision
    encoder = Encoder(dc.Numeric("x", -10, 100), Dialect(missing=["-9.9"]))
    np.testing.assert_array_equal(encoder.numbers(np.array([float(near), -9.9])), [float(near), np.nan])


def everywhere(tmp_path: Path, values: list[Any], texts: list[str], **typed: pa.Array) -> dict[str, Any]:
    """One column as a text file, a database, a workbook, objects, and in types of Arrow."""
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{t}\n" for t in texts))
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as base, base:
        base.execute("create table t (x)")
        base.executemany("insert into t values (?)", [(v,) for v in values])
    objects = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    forms = {"csv": tmp_path / "t.csv", "sqlite": f"sqlite:///{tmp_path / 't.db'}?table=t", "objects": objects}
    return forms | {name: pa.table({"x": column}) for name, column in typed.items()}


def read_as(form: Any, column: Any) -> list[float]:
    source = dc.engines.open(form)
    domain = dc.Domain({"x": {"categories": column} if isinstance(column, list) else column})
    return np.concatenate([c[0] for c, _ in column_batches(source, [], domain)]).tolist()


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i8", "u8"])
def test_whole_categories_are_found_in_columns_of_any_width(kind: str) -> None:
    ends = np.iinfo(kind)
    values = np.array([ends.min, ends.max, 0, 1, 3, 4, 5, 100], kind)
    for categories in ([3, 5, 0], [0, 1, 127], [3, 100_000], [ends.min, ends.max, 4]):
        by_text = [str(c) for c in categories]
        expected = [by_text.index(str(v)) + 0.5 if str(v) in by_text else np.nan for v in values]
        np.testing.assert_array_equal(Encoder(dc.Categorical("x", categories)).numbers(values), expected)


def test_large_whole_categories_are_distinguished_by_their_digits_everywhere(tmp_path: Path) -> None:
    values = [2**53 + 1, 2**53 + 3, 2**53, 7]
    decimal = pa.array(list(map(Decimal, values)), pa.decimal128(20, 0))
    for name, form in everywhere(
        tmp_path, values, list(map(str, values)), int=pa.array(values), decimal=decimal
    ).items():
        found = read_as(form, [2**53 + 1, 2**53 + 3, 7])
        np.testing.assert_array_equal(found, [0.5, 1.5, np.nan, 2.5], err_msg=name)
    german = Encoder(dc.Categorical("x", [1234]), GERMAN)  # no marks of a file are looked for in the digits
    assert np.isnan(german.arrow(pa.array([Decimal("1.234")], pa.decimal128(9, 3)))).all()


@pytest.mark.parametrize(
    "categories", [["0", "1"], [0, 1], ["False", "True"], ["FALSE", "true"], [False, True]], ids=str
)
def test_booleans_are_the_same_category_everywhere(categories: list[Any], tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for value in ("x", True, False, True):
        book.active.append([value])
    book.save(tmp_path / "t.xlsx")
    values = [True, False, True]
    forms = everywhere(tmp_path, ["true", "False", "TRUE"], ["True", "False", "true"], bool=pa.array(values))
    forms |= {"workbook": tmp_path / "t.xlsx", "objects": pd.DataFrame({"x": pd.Series(values, dtype=object)})}
    for name, form in forms.items():
        assert read_as(form, categories) == [1.5, 0.5, 1.5], name


def test_a_part_of_a_second_before_1970_is_of_its_own_day(tmp_path: Path) -> None:
    values = [np.datetime64("1969-12-31T23:59:59.500"), np.datetime64("1970-01-01T00:00:00.500")]
    stamps = [pa.array(values).cast(pa.timestamp(unit)) for unit in ("ms", "us", "ns")]
    zoned = [stamp.cast(pa.timestamp(stamp.type.unit, "UTC")) for stamp in stamps]
    for column in (*stamps, *zoned):
        assert Encoder(dc.Date("x", "1960-01-01", "1980-01-01")).arrow(column).tolist() == [-1.0, 0.0]
    # Moments in a type of days: written so by programs that know no other dates.
    odd = pa.Array.from_buffers(pa.date64(), 2, [None, pa.py_buffer(np.array([-500, 1500], np.int64))])
    assert read_as(pa.table({"x": odd}), dc.Time()) == [86399.0, 1.0]
    assert read_as(pa.table({"x": odd}), dc.Date("x", "1960-01-01", "1980-01-01")) == [-1.0, 0.0]
    assert read_as(pa.table({"x": pa.array([1, None], pa.date32())}), dc.Time())[0] == 0.0


@pytest.mark.parametrize("column", [(0, 9), dc.Integer(0, 9), dc.Time(), ["3", "x"]], ids=lambda c: type(c).__name__)
def test_a_duration_among_objects_is_missing_and_no_error(column: Any) -> None:
    objects = pd.DataFrame({"x": pd.Series([np.timedelta64(3, "s"), np.timedelta64("NaT")], dtype=object)})
    assert np.isnan(read_as(objects, column)).all()
    assert read_columns(dc.engines.open(objects), ["x"])["x"].to_pylist() == [None, None]
