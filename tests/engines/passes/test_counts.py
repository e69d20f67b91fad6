"""The same rows give the same counts, whatever they are stored in; and rows never make a call fail."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import engines
from discreet.core import Meter
from discreet.engines import CellCounts, GridMap
from discreet.engines.passes.tally import CellTally
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument, InvalidType, SchemaError

LABELS = ["a", "b,c", 'say "x"', "two\nlines", "é"]
DOMAIN = dc.Domain(
    {
        "x": {"bounds": [-1, 2], "missing": "own"},
        "label": {"categories": LABELS, "missing": "own"},
        "code": {"categories": [3, 7, -1], "missing": "own"},
        "y": (0, 1e6),
    }
)
GRID = GridMap(DOMAIN, [6, None, None, 5])

reals = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.floats(-1.5, 2.5)
rows = st.fixed_dictionaries(
    {
        "x": reals,
        "label": st.none() | st.sampled_from([*LABELS, " a\t", "A", "unknown"]),
        "code": st.none() | st.integers(-2, 8),
        "y": reals | st.floats(-1e5, 1.2e6),
    }
)
tables = st.lists(rows, max_size=25)
relaxed = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def reference(table, grid=GRID):
    """Count by the words of the specification, one row at a time, in plain Python."""
    counts = Counter()
    for row in table:
        cell = 0
        for column, parts, size in zip(grid.domain, grid.parts, grid.shape, strict=True):
            value = row[column.name]
            if isinstance(column, dc.Categorical):
                value = value.strip(" \t") if isinstance(value, str) else value
                digit = column.categories.index(value) if value in column.categories else None
            elif value is None or math.isnan(value):
                digit = None
            else:
                share = (value - column.low) / (column.high - column.low) * parts
                digit = min(max(math.floor(min(max(share, -1.0), parts)), 0), parts - 1)
            if digit is None and column.missing == "drop":
                break
            cell = cell * size + (parts if digit is None else digit)
        else:
            counts[cell] += 1
    cells = sorted(counts)
    return CellCounts(grid.n_cells, cells, [counts[c] for c in cells])


def arrow(table):
    kinds = {"x": pa.float64(), "label": pa.string(), "code": pa.int64(), "y": pa.float64()}
    return pa.table({name: pa.array([row[name] for row in table], kind) for name, kind in kinds.items()})


def forms(table, folder: Path):
    """Yield the table in every form the engine knows, with its name."""
    base = arrow(table)
    yield "arrow", base
    yield "arrow, columns in another order", base.select(["y", "code", "x", "label"])
    yield "arrow, in pieces", pa.concat_tables([base.slice(i, 3) for i in range(0, base.num_rows, 3)] or [base])
    yield "record batch", base.combine_chunks().to_batches()[0] if base.num_rows else base
    yield "dictionary", base.set_column(1, "label", base["label"].dictionary_encode())
    for text in (pa.large_string(), pa.binary(), pa.string_view()):
        yield f"text as {text}", base.set_column(1, "label", base["label"].cast(text))
    frame = pd.DataFrame({name: base[name].to_pylist() for name in base.column_names}, dtype=object)
    yield "pandas objects", frame
    plain = frame.astype({"x": "float64", "y": "float64"})
    yield "pandas", plain.astype({"label": "str", "code": "Int64"})
    yield "pandas, codes as floats", plain.astype({"code": "float64"})
    yield "pandas categories", plain.astype({"label": "category", "code": "category"})
    yield "pandas on arrow", base.to_pandas(types_mapper=pd.ArrowDtype)
    polars = pl.from_arrow(base)
    yield "polars", polars
    yield "polars categories", polars.with_columns(pl.col("label").cast(pl.Categorical))
    yield (
        "polars enum",
        polars.with_columns(pl.col("label").cast(pl.Enum(polars["label"].drop_nulls().unique().to_list()))),
    )
    plain.to_csv(folder / "pandas.csv", index=False)
    yield "csv by pandas", folder / "pandas.csv"
    plain.to_csv(folder / "pandas.csv.gz", index=False)
    yield "csv.gz", str(folder / "pandas.csv.gz")
    polars.write_csv(folder / "polars.csv")
    yield "csv by polars", folder / "polars.csv"
    pa.csv.write_csv(base, folder / "arrow.csv")
    yield "csv by arrow", folder / "arrow.csv"
    pq.write_table(base, folder / "one.parquet")
    yield "parquet", folder / "one.parquet"
    pq.write_table(base, folder / "groups.parquet", row_group_size=4)
    yield "parquet, many row groups", folder / "groups.parquet"
    split = folder / "split"
    split.mkdir(exist_ok=True)
    for old in split.iterdir():
        old.unlink()
    for i in range(3):
        pq.write_table(
            base.slice(i * base.num_rows // 3, (i + 1) * base.num_rows // 3 - i * base.num_rows // 3),
            split / f"{i}.parquet",
        )
    yield "parquet directory", split
    yield "parquet glob", str(split / "*.parquet")
    yield "list of paths", [split / "1.parquet", split / "0.parquet", str(split / "2.parquet")]


@relaxed
@given(table=tables, batch_size=st.integers(1, 30))
def test_every_form_of_a_table_gives_the_counts_of_the_specification(table, batch_size, tmp_path):
    expected = reference(table)
    for name, data in forms(table, tmp_path):
        assert engines.open(data).count(GRID, batch_size=batch_size) == expected, name


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.lists(st.floats(width=32) | st.floats(-3, 3, width=32), min_size=2, max_size=2), max_size=30),
    batch_size=st.integers(1, 40),
    parts=st.integers(1, 2**31 - 1),
)
def test_arrays_of_any_order_and_dtype_agree_with_the_specification(values, batch_size, parts):
    domain = dc.Domain.box([-1, 0], [2, 3])
    grid = GridMap(domain, parts)
    X = np.array(values, dtype=np.float64).reshape(-1, 2)
    expected = reference([{"x0": a, "x1": b} for a, b in values], grid)
    wide = np.zeros((len(X), 5))
    wide[:, 1::2] = X
    for data in (
        X,
        np.asfortranarray(X),
        wide[:, 1::2],
        X.astype(">f8"),
        X.astype("f4"),
        X.astype("g"),
        X.astype(object),
    ):
        assert engines.open(data).count(grid, batch_size=batch_size) == expected


def test_integers_booleans_and_decimals_are_numbers():
    grid = GridMap(dc.Domain({"x": (0, 4)}), 4)
    for column in (
        pa.array([0, 1, 3], pa.int8()),
        pa.array([0, 1, 3], pa.uint64()),
        pa.array([0.5, 1.5, 3.5], pa.float16()),
        pa.array([Decimal("0.5"), Decimal("1.5"), Decimal("3.9")]),
        pa.array(["0", " 1.5e0\n", "+3.5"]),
        pa.array([b"0", b"1", b"3"], pa.binary(1)),
    ):
        assert engines.open(pa.table({"x": column})).count(grid).dense().tolist() == [1, 1, 0, 1]
    flags = GridMap(dc.Domain({"x": (0, 2)}), 2)
    for data in (
        pa.table({"x": [True, False, True]}),
        pd.DataFrame({"x": [True, False, True]}),
        np.array([True, False, True]),
    ):
        assert engines.open(data).count(flags).dense().tolist() == [1, 2]


@pytest.mark.parametrize("categories", [[False, True], [0, 1], ["0", "1"]])
@pytest.mark.parametrize("kind", ["bool", "int64", "float64", "Int64", "boolean", object])
def test_a_category_is_found_by_its_number_or_truth_value(categories, kind, tmp_path):
    domain = dc.Domain({"flag": {"categories": categories}})
    frame = pd.DataFrame({"flag": pd.Series([0, 1, 1]).astype(kind)})
    assert engines.open(frame).count(GridMap(domain, 2)).dense().tolist() == [1, 2]
    if categories[0] == "0" and kind in ("bool", "boolean", "float64"):
        return  # a file has no types left: "True" and "1.0" are other texts than "1"
    frame.to_csv(tmp_path / "flags.csv", index=False)
    assert engines.open(tmp_path / "flags.csv").count(GridMap(domain, 2)).dense().tolist() == [1, 2]


def test_large_integer_categories_are_distinguished():
    grid = GridMap(dc.Domain({"id": {"categories": [2**60, 2**60 + 1]}}), 2)
    for column in (pa.array([2**60 + 1]), pa.array([str(2**60 + 1)]), pa.array([2**60 + 1], pa.uint64())):
        assert engines.open(pa.table({"id": column})).count(grid).dense().tolist() == [0, 1]


def test_text_of_leading_zeros_is_not_a_number():
    grid = GridMap(dc.Domain({"zip": ["01234", "1234"]}), 2)
    assert engines.open(pa.table({"zip": ["01234", "01234", "1234", "1234.0"]})).count(grid).dense().tolist() == [2, 1]


def test_missing_values_drop_the_row_or_have_a_cell_of_their_own():
    data = np.array([[0.1], [np.nan], [0.9], [np.nan]])
    drop = GridMap(dc.Domain({"x": {"bounds": [0, 1], "missing": "drop"}}), 2)
    own = GridMap(dc.Domain({"x": {"bounds": [0, 1], "missing": "own"}}), 2)
    assert engines.open(data).count(drop).dense().tolist() == [1, 1]
    assert engines.open(data).count(own).dense().tolist() == [1, 1, 2]
    lower, upper = own.boxes([0, 1, 2])
    np.testing.assert_array_equal(lower, [[0.0], [0.5], [np.nan]])
    np.testing.assert_array_equal(upper, [[0.5], [1.0], [np.nan]])


def test_zero_rows_are_a_table_like_any_other(tmp_path):
    (tmp_path / "empty.csv").write_text("x,label,code,y\n")
    (tmp_path / "bare.csv").write_text("x,label,code,y")
    pq.write_table(arrow([]), tmp_path / "empty.parquet")
    for data in (arrow([]), pl.from_arrow(arrow([])), pd.DataFrame(columns=["x", "label", "code", "y"])):
        assert engines.open(data).count(GRID) == CellCounts(GRID.n_cells, [], [])
    for file in sorted(tmp_path.iterdir()):
        assert engines.open(file).count(GRID) == CellCounts(GRID.n_cells, [], [])
    assert engines.open(np.empty((0, 1))).count(GridMap(dc.Domain.box(0, 1), 2**40)).cells.size == 0


def test_objects_of_any_kind_in_a_column_are_values_or_missing():
    class Odd:
        def __str__(self):
            raise RuntimeError("must not be asked")

    junk = [Odd(), [1], {"a": 1}, None, pd.NA, pd.NaT, float("nan"), "1_0", "0x1", "\ud800", b"\xff", Decimal("sNaN")]
    numbers = [1, 1.0, "1", b"1", np.float32(1), np.int8(1), True, Decimal("1"), 10**5000, -(10**5000), "inf"]
    frame = pd.DataFrame({"x": pd.Series(junk + numbers, dtype=object)})
    grid = GridMap(dc.Domain({"x": {"bounds": [0, 4], "missing": "own"}}), 4)
    expected = [1, 8, 0, 2, len(junk)]
    assert engines.open(frame).count(grid).dense().tolist() == expected
    assert engines.open(frame.to_numpy()).count(grid).dense().tolist() == expected
    assert engines.open(frame).count(GridMap(dc.Domain({"x": ["a", "b"]}), 2)).cells.size == 0


def test_a_pandas_category_that_few_rows_have_is_read_like_any_other():
    frame = pd.DataFrame(
        {"x": pd.Categorical(["1.0", "b", None, "c"], categories=["c", "b", "1.0", *map(str, range(50))])}
    )
    numbers = pd.DataFrame({"x": pd.Categorical([1.0, 2.5, None], categories=[2.5, 1.0, 7.0])})
    for batch_size in (1, 2, 100):
        counts = engines.open(frame).count(GridMap(dc.Domain({"x": ["b", "1.0"]}), 2), batch_size=batch_size)
        assert counts.dense().tolist() == [1, 1]
        counts = engines.open(numbers).count(GridMap(dc.Domain({"x": ["2.5", "1.0"]}), 2), batch_size=batch_size)
        assert counts.dense().tolist() == [1, 1]


def test_counts_do_not_depend_on_how_they_are_kept(monkeypatch):
    rng = np.random.default_rng(1)
    ids = rng.integers(-1, 5000, 40_000)
    dense = CellTally(5000)
    dense.add(ids)
    monkeypatch.setattr("discreet.engines.passes.tally.DENSE_CELLS", 10)
    monkeypatch.setattr("discreet.engines.passes.tally.SORT_ROWS", 1000)
    sparse = CellTally(5000)
    for batch in np.array_split(ids, 97):
        sparse.add(batch)
    assert sparse.result() == dense.result()


def test_a_fine_grid_keeps_occupied_cells_only():
    X = np.random.default_rng(2).random((50_000, 2))
    grid = GridMap(dc.Domain.box(0, [1, 1]), 2**31)
    counts = engines.open(X).count(grid)
    cells = np.floor(X * 2**31).astype(np.int64)
    expected, times = np.unique(cells[:, 0] * 2**31 + cells[:, 1], return_counts=True)
    np.testing.assert_array_equal(counts.cells, expected)
    np.testing.assert_array_equal(counts.counts, times)
    with pytest.raises(InvalidArgument, match="fewer parts"):
        counts.dense()


def test_merging_parts_equals_counting_the_whole():
    X = np.random.default_rng(3).normal(size=(1000, 2))
    grid = GridMap(dc.Domain.box(-2, [2, 2]), 30)
    halves = engines.open(X[:300]).count(grid) + engines.open(X[300:]).count(grid)
    assert halves == engines.open(X).count(grid)
    with pytest.raises(InvalidArgument, match="same"):
        halves + CellCounts(4, [], [])
    with pytest.raises(TypeError):
        halves + 1


def test_neither_counts_nor_sources_show_what_they_hold():
    X = np.full((4321, 1), 0.5)
    source = engines.open(X)
    counts = source.count(GridMap(dc.Domain.box(0, 1), 10))
    assert "4321" not in repr(counts) + str(counts) + repr(source)
    assert not [name for name in dir(source) if "row" in name and not name.startswith("_")]


def test_a_grid_map_is_a_value():
    grid = pickle.loads(pickle.dumps(GRID))
    assert grid == GRID
    assert hash(grid) == hash(GRID)
    assert len(pickle.dumps(GRID)) < 2000
    assert grid.shape == (7, 6, 4, 5)
    assert grid.n_cells == 7 * 6 * 4 * 5
    assert grid.names == ("x", "label", "code", "y")


@settings(max_examples=50, deadline=None)
@given(parts=st.lists(st.integers(1, 50), min_size=1, max_size=4), data=st.data())
def test_the_middle_of_a_cells_box_lies_in_that_cell(parts, data):
    domain = dc.Domain.box(data.draw(st.floats(-1e3, 1e3)), 2e3, names=[f"c{i}" for i in range(len(parts))])
    grid = GridMap(domain, parts)
    cells = data.draw(st.lists(st.integers(0, grid.n_cells - 1), max_size=20))
    lower, upper = grid.boxes(cells)
    middle = (lower + upper) / 2
    assert grid.ids([middle[:, i].copy() for i in range(len(parts))]).tolist() == cells
    np.testing.assert_array_equal(
        np.unravel_index(np.array(cells, dtype=int), grid.shape)[0],
        np.round((lower[:, 0] - domain.low[0]) / (domain.high[0] - domain.low[0]) * parts[0]),
    )


def test_values_on_a_grid_line_belong_to_the_cell_above():
    grid = GridMap(dc.Domain({"x": (0, 1)}), 4)
    assert grid.ids([np.array([0.25, np.nextafter(0.25, 0), 1.0, -0.0, -1e-300])]).tolist() == [1, 0, 3, 0, 0]


def test_a_named_domain_matches_frames_by_name_and_arrays_by_position():
    frame = pd.DataFrame({"b": [0.9], "extra": ["?"], "a": [0.1]})
    domain = dc.Domain({"a": (0, 1), "b": (0, 1)})
    grid = GridMap(domain, 2)
    assert engines.open(frame).count(grid).cells.tolist() == [1]
    assert engines.open(frame[["a", "b"]].to_numpy()).count(grid).cells.tolist() == [1]
    unnamed = GridMap(dc.Domain.box(0, [1, 1]), 2)
    assert engines.open(frame[["b", "a"]]).count(unnamed).cells.tolist() == [2]


def test_a_source_bound_to_a_domain_counts_some_of_its_columns():
    domain = dc.Domain.box(0, [1, 1, 1])
    data = np.array([[0.1, 0.9, 0.1], [0.1, 0.9, 0.9]])
    for table in (data, pd.DataFrame(data, columns=["u", "v", "w"])):
        source = engines.open(table, domain)
        assert source.names == ("x0", "x1", "x2")
        assert source.count(GridMap(domain.select(["x1"]), 2)).dense().tolist() == [0, 2]
        assert source.count(GridMap(domain.select(["x2", "x1"]), 2)).cells.tolist() == [1, 3]
    with pytest.raises(SchemaError):
        engines.open(data, dc.Domain.box(0, [1, 1]))
    with pytest.raises(SchemaError, match="'other' is not declared"):
        engines.open(data, domain).count(GridMap(dc.Domain({"other": (0, 1)}), 2))


def test_opening_a_source_again_gives_the_same_table():
    source = engines.open(np.zeros((2, 1)))
    assert engines.open(source) is source
    domain = dc.Domain({"age": (0, 1)})
    assert engines.open(source, domain).names == ("age",)
    assert engines.open(engines.open(source, domain)).names == ("age",)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.zeros((2, 2, 2)), InvalidArgument, "rows by columns"),
        (np.zeros((2, 0)), InvalidArgument, "rows by columns"),
        (np.zeros(2, dtype=[("a", float)]), InvalidType, "structured"),
        (np.ma.masked_invalid(np.zeros((2, 1))), InvalidType, "filled"),
        ([[1.0, 2.0]], InvalidType, "NumPy array"),
        (object(), InvalidType, "NumPy array"),
        (None, InvalidType, "path"),
        ("nowhere/*.csv", DataSourceError, "no file matches"),
    ],
)
def test_what_is_no_table_is_refused(data, error, words):
    with pytest.raises(error, match=words):
        engines.open(data)


def test_a_refused_object_is_named_by_type_and_not_shown():
    with pytest.raises(InvalidType) as caught:
        engines.open({"Mallory"})
    assert "Mallory" not in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    for name, content, words in [
        ("table.docx", b"?", "must end in"),
        ("empty.csv", b"", "no header"),
        ("blank.csv", b"\n\n", "no header"),
        ("broken.parquet", b"PAR1", "as Parquet"),
        ("broken.csv.gz", b"\x1f\x8bxx", "as CSV"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataSourceError, match=words) as caught:
            engines.open(tmp_path / name)
        assert name in str(caught.value)
    (tmp_path / "none").mkdir()
    with pytest.raises(DataSourceError, match="no file matches"):
        engines.open(tmp_path / "none")


def test_columns_that_do_not_fit_are_named(tmp_path):
    grid = GridMap(dc.Domain({"age": (0, 1), "pay": (0, 1)}), 2)
    with pytest.raises(SchemaError, match=r"no column 'pay'; it has 'age', 'sex'"):
        engines.open(pd.DataFrame({"age": [1], "sex": ["f"]})).count(grid)
    with pytest.raises(SchemaError, match="more than one column 'pay'"):
        engines.open(pd.DataFrame([[1, 2, 3]], columns=["age", "pay", "pay"])).count(grid)
    with pytest.raises(SchemaError, match="more than one column 'pay'"):
        engines.open(pd.DataFrame([[1, 2]], columns=["pay", "pay"])).count(GridMap(dc.Domain.box(0, [1, 1]), 2))
    with pytest.raises(SchemaError, match="match by position"):
        engines.open(np.zeros((3, 3))).count(grid)
    (tmp_path / "1.csv").write_text("age,pay\n")
    (tmp_path / "2.csv").write_text("age\n")
    with pytest.raises(SchemaError, match=r"2\.csv"):
        engines.open(tmp_path).count(grid)


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"x": pa.array([1], pa.date32())}),
        pa.table({"x": [[1]]}),
        pa.table({"x": [{"a": 1}]}),
        pa.table({"x": pa.array([1], pa.timestamp("s")).dictionary_encode()}),
        pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"x": pd.interval_range(0, 1)}),
        pd.DataFrame({"x": pd.period_range("2020", periods=1)}),
        pd.DataFrame({"x": pd.Categorical(pd.to_datetime(["2020-01-01"]))}),
        pd.DataFrame({"x": [1j]}),
        pl.DataFrame({"x": [[1]]}),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
)
@pytest.mark.parametrize("declared", [(0, 1), ["a", "b"]])
def test_a_type_that_holds_no_number_or_text_is_refused_by_the_schema(data, declared):
    with pytest.raises(SchemaError, match=r"column 'x' of the .* has type .* convert it"):
        engines.open(data).count(GridMap(dc.Domain({"x": declared}), 2))


def test_numbers_for_categories_of_text_are_missing_not_an_error():
    """pandas gives a text column without any text the type float: whether a call fails must not hang on that."""
    grid = GridMap(dc.Domain({"sex": ["f", "m"]}), 2)
    for data in (np.zeros((3, 1)), pd.DataFrame({"sex": [np.nan] * 3}), pd.DataFrame({"sex": [True] * 3})):
        assert engines.open(data).count(grid).dense().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (0, InvalidArgument),
        (2.5, InvalidType),
        ([1], InvalidArgument),
        ([1, 2, 3, 0], InvalidArgument),
        ([2, 4, 3, 5], InvalidArgument),
        ("4", InvalidType),
    ],
)
def test_bad_grids_are_refused(parts, error):
    with pytest.raises(error, match="parts"):
        GridMap(DOMAIN, parts)


def test_grids_and_counts_check_their_arguments():
    with pytest.raises(InvalidArgument, match="fewer parts per axis"):
        GridMap(dc.Domain.box(0, [1, 1, 1]), 2**21)
    assert GridMap(dc.Domain.box(0, [1, 1, 1]), 2**20).n_cells == 2**60
    with pytest.raises(InvalidType):
        GridMap({"x": (0, 1)}, 2)
    grid = GridMap(dc.Domain.box(0, 1), 2)
    with pytest.raises(InvalidArgument):
        grid.boxes([2])
    with pytest.raises(InvalidType):
        grid.boxes([0.5])
    with pytest.raises(SchemaError):
        grid.ids([])
    source = engines.open(np.zeros((1, 1)))
    for arguments in ({"batch_size": 0}, {"batch_size": 1.5}):
        with pytest.raises(DiscreetError, match=next(iter(arguments))):
            source.count(grid, **arguments)
    with pytest.raises(InvalidType, match="cell_map"):
        source.count("grid")
    with pytest.raises(InvalidType, match="domain"):
        engines.open(np.zeros((1, 1)), domain=(0, 1))


def test_a_bar_tells_no_number_of_rows(capsys):
    with Meter(777, progress=True) as meter:
        meter.advance(100)
    shown = capsys.readouterr()
    assert "777" not in shown.err + shown.out
    assert shown.out == ""
    source = engines.open(np.zeros((777, 1)))
    source.count(GridMap(dc.Domain.box(0, 1), 2))
    assert capsys.readouterr() == ("", "")


def test_an_own_map_needs_three_things_only():
    class Halves:
        domain = dc.Domain({"x": (0, 1)})
        n_cells = 2

        def ids(self, columns):
            return (columns[0] >= 0.5).astype(np.int64)

    assert engines.open(pd.DataFrame({"x": [0.1, 0.6, 0.7]})).count(Halves()).dense().tolist() == [1, 2]


def test_a_failing_map_is_not_swallowed_by_the_reading_thread(tmp_path):
    class Broken:
        domain = dc.Domain({"x": (0, 1)})
        n_cells = 2

        def ids(self, columns):
            raise ZeroDivisionError

    (tmp_path / "x.csv").write_text("x\n" + "0.1\n" * 10)
    with pytest.raises(ZeroDivisionError):
        engines.open(tmp_path / "x.csv").count(Broken(), batch_size=2)


def counts(X: Any, domain: Any, rule: Any = 2) -> list[float]:
    return dc.GridSynopsis(math.inf, domain, rule, random_state=0).fit(X).synopsis_.weights.tolist()


def test_one_row_of_a_list_does_not_change_how_the_others_are_read() -> None:
    """NumPy would turn the large whole numbers into floats for the sake of one fraction."""
    domain = {"c": {"categories": [2**60, 2**60 + 1]}}
    assert counts([[2**60 + 1]] * 100, domain, (2,)) == [0, 100]
    assert counts([[2**60 + 1]] * 100 + [[0.5]], domain, (2,)) == [0, 100]


@pytest.mark.parametrize(
    "odd", [[0.3], [0.1, 0.2, 0.3], 7, None, [1j, 0.2], [[1], 0.2], [b"\xc3\xa4", "m"], [10**400, 0.5], "ab"], ids=repr
)
def test_no_row_of_a_list_makes_a_fit_fail(odd: Any) -> None:
    domain = dc.Domain.box([0, 0], 1)
    for model in (dc.GridSynopsis(1.0, domain, 2), dc.TreeSynopsis(1.0, domain), dc.PrivateKMeans(2, 1.0, domain)):
        model.fit([[0.1, 0.2], odd])
        model.fit([])
