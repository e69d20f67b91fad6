"""Whatever hands over streams of Arrow is a table: asked again where it can be, else kept in a private file."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet import engines
from discreet.engines.readers import read_columns
from discreet.errors import DataSourceError, InvalidType, SchemaError
from written_tables import DOMAIN, arrow_table, digest


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(arrow_table())


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


class Foreign:
    """A table of a library that no one has heard of: its stream is available once."""

    def __init__(self, table: pa.Table) -> None:
        self._reader: Any = table.to_reader()

    def __eq__(self, other: object) -> bool:  # so it has no hash, like most data frames
        return False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader, self._reader = self._reader, None
        return reader.__arrow_c_stream__(requested_schema)


def test_every_stream_gives_the_digest_of_the_table_in_memory(expected: str, spools: Path) -> None:
    rows = arrow_table()
    streams: dict[str, Any] = {
        "duckdb": duckdb.sql("select * from rows"),
        "lazy": pl.from_arrow(rows).lazy(),  # type: ignore[union-attr]
        "reader": rows.to_reader(max_chunksize=17),
        "foreign": Foreign(rows),
    }
    assert {name: digest(data) for name, data in streams.items()} == dict.fromkeys(streams, expected)
    grid = engines.GridMap(DOMAIN, [4, 4, 4, 3, 2])
    whole = engines.open(rows).count(grid).dense()
    for data in streams.values():  # a second time
        np.testing.assert_array_equal(engines.open(data).count(grid, batch_size=10).dense(), whole)


def test_what_is_kept_of_a_stream_is_private_and_deleted(spools: Path) -> None:
    reader = arrow_table().to_reader()
    source = engines.open(reader)
    assert source.names == DOMAIN.names
    assert not list(spools.iterdir())  # no row was read yet
    assert read_columns(source, ["TOWN", "AGE"]).column_names == ["TOWN", "AGE"]
    (kept,) = spools.iterdir()
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    del source
    gc.collect()
    again = read_columns(engines.open(reader), ["AGE"])["AGE"].to_pylist()
    assert again == arrow_table()["AGE"].to_pylist()
    del reader
    gc.collect()
    assert not list(spools.iterdir())


def test_methods_that_read_twice_take_streams(spools: Path) -> None:
    rows = arrow_table()
    declared = {
        "AGE": {"bounds": [0, 120], "role": "quasi-identifier"},
        "TOWN": {"categories": ["Ulm", "Bonn", "Trier"], "missing": "own", "role": "quasi-identifier"},
        "INCOME": {"bounds": [0, 1000]},
    }
    model = dc.anonymity.DensityTree(k=5, domain=dc.Domain(declared), keep=["INCOME"], random_state=3)
    expected = model.fit_transform(rows).table.num_rows
    for data in (rows.to_reader(), duckdb.sql("select * from rows")):
        assert model.fit_transform(data).table.num_rows == expected
        assert read_columns(engines.open(data), ["AGE"])["AGE"].to_pylist() == rows["AGE"].to_pylist()


def test_a_stream_that_breaks_off_is_said_so(spools: Path) -> None:
    table = arrow_table()

    def torn() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()
        raise OSError("the row of Jane Doe")

    reader = pa.RecordBatchReader.from_batches(table.schema, torn())
    for _ in range(2):
        with pytest.raises(DataSourceError, match="the stream broke off before its end") as caught:
            engines.open(reader).count(engines.GridMap(DOMAIN, [4, 4, 4, 3, 2]))
        assert "Jane" not in str(caught.value)


def test_what_fails_in_a_row_of_another_library_is_not_quoted() -> None:
    relation = duckdb.sql("select x::int as x from (values ('1'), ('Jane Doe')) t(x)")
    frame = pl.LazyFrame({"x": ["1", "Jane Doe"]}).select(pl.col("x").cast(pl.Int64))
    for data in (relation, frame):
        with pytest.raises(DataSourceError, match="the stream broke off") as caught:
            engines.open(data).count(engines.GridMap(dc.Domain({"x": (0, 2)}), 2))
        assert "Jane" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_types_are_refused_before_a_row_is_read(spools: Path) -> None:
    reader = pa.table({"a": pa.array([[1]]), "b": [1]}).to_reader()
    with pytest.raises(SchemaError, match="column 'a' of the stream has type list"):
        engines.open(reader, dc.Domain({"a": (0, 1)}))
    assert (
        engines.open(reader, dc.Domain({"b": (0, 2)})).count(engines.GridMap(dc.Domain({"b": (0, 2)}), 2)).dense().sum()
    )
    with pytest.raises(InvalidType, match="a table of named columns"):
        engines.open(pa.chunked_array([[1, 2]]))


def test_names_are_quoted_for_the_database() -> None:
    relation = duckdb.sql('select 1 as "a ""b", 2 as "select"')
    assert read_columns(engines.open(relation), ["select", 'a "b']).to_pydict() == {"select": [2], 'a "b': [1]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "reader", "lazy"])
def test_a_large_stream_needs_little_memory(kind: str) -> None:
    script = f"""
        import resource
        import duckdb, polars as pl, pyarrow as pa, numpy as np
        import discreet as dc
        n, size = 40_000_000, 1_000_000
        domain = dc.Domain({{"x": (0, 1), "y": (0, 1)}})
        grid = dc.engines.GridMap(domain, 8)
        dc.engines.open(pa.table({{"x": [0.5], "y": [0.5]}})).count(grid)
        def batches():
            x = np.linspace(0, 1, size)
            for _ in range(n // size):
                yield pa.record_batch({{"x": x, "y": x[::-1].copy()}})
        if {kind!r} == "duckdb":
            data = duckdb.sql(f"select i / {{n}} as x, 1 - i / {{n}} as y from range({{n}}) t(i)")
        elif {kind!r} == "reader":
            data = pa.RecordBatchReader.from_batches(next(batches()).schema, batches())
        else:
            i = pl.col("i")
            data = pl.select(i=pl.int_range(n), eager=False).select(x=i / n, y=1 - i / n)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert dc.engines.open(data).count(grid).counts.sum() == n
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400  # the table alone is 640 MB


def test_a_stream_is_never_found_empty_by_a_second_call() -> None:
    class Bare:
        __slots__ = ("reader",)

        def __init__(self) -> None:
            self.reader = pa.RecordBatchReader.from_batches(arrow_table().schema, arrow_table().to_batches())

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.reader.__arrow_c_stream__()

    with pytest.raises(InvalidType, match=r"gives its rows once.*try pa\.RecordBatchReader\.from_stream"):
        dc.engines.open(Bare())
    stream = pa.RecordBatchReader.from_stream(Bare())
    assert digest(stream) == digest(stream) == digest(arrow_table())
