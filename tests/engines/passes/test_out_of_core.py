"""Files larger than memory: read from several places at once, and taken up again where a job was killed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.output.progress import Meter
from discreet.engines.passes.cells import NearestMap, NestedMap
from discreet.engines.passes.trees import TreeMap
from discreet.engines.readers import RowCells
from discreet.engines.source import Source
from discreet.engines.tables import parquet
from discreet.engines.tables.parquet import ParquetTable
from discreet.errors import DataSourceError

DOMAIN = dc.Domain({"x": (0, 1), "y": (0, 1)})
N, GROUP = 4000, 100


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_UNIT_ROWS", 2 * GROUP)


@pytest.fixture
def rows() -> pa.Table:
    x = np.random.default_rng(1).random((N, 2))
    x[::40, 0] = np.nan
    return pa.table({"x": x[:, 0], "y": x[:, 1]})


@pytest.fixture
def folder(rows: pa.Table, tmp_path: Path) -> Path:
    place = tmp_path / "rows"
    place.mkdir()
    for i, start in enumerate(range(0, N, N // 2)):
        pq.write_table(rows.slice(start, N // 2), place / f"{i}.parquet", row_group_size=GROUP)
    return place


def test_row_groups_are_joined_to_units_that_hold_every_row_once(folder: Path, rows: pa.Table) -> None:
    table = ParquetTable(folder / "0.parquet")
    assert len(table.units) == N // 2 // GROUP // 2
    read = [piece for unit in range(len(table.units)) for (_, piece), _ in table.read_unit(unit, [0, 1], 64)]
    assert pa.chunked_array(read).combine_chunks().equals(rows["y"].slice(0, N // 2).combine_chunks())


@pytest.mark.parametrize("batch_size", [3, 77, 2**17])
def test_every_pass_is_the_same_from_files_and_from_memory(folder: Path, rows: pa.Table, batch_size: int) -> None:
    if batch_size == 3:
        rows, folder = rows.slice(0, N // 2), folder / "0.parquet"
    grid = dc.engines.GridMap(DOMAIN, 7)
    fine = dc.engines.GridMap(DOMAIN, 2**14)  # more cells than are kept one by one
    near = NearestMap(DOMAIN, [[0.2, 0.2], [0.8, 0.5]])
    near_sums = [dc.engines.open(data).sums(near, batch_size=batch_size) for data in (rows, str(folder))]
    assert np.array_equal(near_sums[0].sums, near_sums[1].sums)
    for cells in (grid, fine, NestedMap(grid, np.arange(49) % 3 + 1)):
        found = [dc.engines.open(data).count(cells, batch_size=batch_size) for data in (rows, str(folder))]
        assert found[0] == found[1]
        sums = [dc.engines.open(data).sums(cells, batch_size=batch_size) for data in (rows, str(folder))]
        assert np.array_equal(sums[0].cells, sums[1].cells)
        assert np.array_equal(sums[0].counts, sums[1].counts)
        assert np.array_equal(sums[0].sums, sums[1].sums)


def test_the_passes_of_a_tree_are_the_same_where_cells_are_not_kept(folder: Path, rows: pa.Table) -> None:
    root = TreeMap.root(DOMAIN, bits=6)
    lines = replace(root, key_axis=np.array([1]), lines=16)
    kept, read = RowCells(dc.engines.open(rows), DOMAIN, 6), RowCells(dc.engines.open(str(folder)), DOMAIN, 6, memory=1)
    for _ in range(2):
        assert read.count(lines) == kept.count(lines)
        assert np.array_equal(read.histograms(root, 8), kept.histograms(root, 8))
        for one, two in zip(read.spreads(root), kept.spreads(root), strict=True):
            assert np.array_equal(one, two)
    assert read._kept is None


def test_a_bar_follows_the_rows_of_all_threads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(Meter, "_start", lambda self: (shown.append(self) or _Bar(), 0))
    monkeypatch.setattr("discreet.core.output.progress.PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: True))
    dc.engines.open(str(folder)).count(dc.engines.GridMap(DOMAIN, 3))
    assert len(shown) == 1
    assert shown[0]._done == shown[0]._total == N


class _Bar:
    def update(self, task: int, completed: int) -> None:
        pass

    def stop(self) -> None:
        pass


def test_a_file_that_is_damaged_inside_stops_the_job_with_its_name(folder: Path) -> None:
    path = folder / "1.parquet"
    source = dc.engines.open(str(folder))
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(data)
    with pytest.raises(DataSourceError, match=r"1.parquet.* cannot be read as Parquet"):
        source.count(dc.engines.GridMap(DOMAIN, 3))


@pytest.mark.parametrize("missing", ["drop", "own"])
def test_a_grid_of_a_given_size_is_read_once_whether_rows_are_public_or_bought(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes, original = [], Source.run

    def counted(self: Source, job: Any, *more: Any) -> Any:
        passes.append(type(getattr(job, "cell_map", job)).__name__)
        return original(self, job, *more)

    monkeypatch.setattr(Source, "run", counted)
    rows = np.random.default_rng(2).random((500, 2))
    rows[::20, 1] = np.nan
    domain = dc.Domain({"a": (0, 1), "b": {"bounds": [0, 1], "missing": missing}})

    def fit(**more: Any) -> tuple[list[str], dc.Synopsis]:
        passes.clear()
        found = dc.GridSynopsis(math.inf, domain, **more).fit(rows).synopsis_
        return list(passes), found

    read, found = fit(rule=4)
    assert read == ["GridMap"]
    assert found.guarantee.parameters["n_rows"] == found.weights.sum() == (500 if missing == "own" else 475)
    assert fit(rule=4, n_rows=10)[0] == ["GridMap"]
    assert fit(rule="eugkm")[0] == ["RowMap", "GridMap"]  # its size follows from the number of rows
    assert fit(rule=4, leaf_means=True)[0] == ["RowMap", "GridMap"]
    passes.clear()
    dc.PrivateKMeans(2, 1.0, domain.select(["a"]), dc.GridSynopsis(rule=4), random_state=0).fit(rows[:, :1])
    assert passes == ["GridMap"]
