"""Releasing a tree to a file takes few bytes per cell, and counts in a table give what other counts give."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.anonymity import DensityTree
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release import tabled
from discreet.anonymity.release.table import PlaceCounts, TablePlan
from discreet.anonymity.release.tabled import Counter, PlaceCounter, TabledCounts
from discreet.anonymity.risk.rules import Rules
from discreet.core.domain import Domain

ILLS = [f"ill {i}" for i in range(8)]


def domain(columns: int, ills: list[str]) -> Domain:
    quasi = {f"x{j}": {"bounds": [0, 1], "role": "quasi-identifier"} for j in range(columns)}
    return Domain({**quasi, "ill": {"categories": ills, "role": "sensitive"}})


def people(n: int, columns: int, ills: list[str], missing: bool = False) -> pa.Table:
    rng = np.random.default_rng(n)
    ill = np.minimum(rng.geometric(0.2, n) - 1, len(ills) - 1)
    column = pa.array(np.array(ills)[ill], mask=(rng.random(n) < 0.1) if missing else None)
    return pa.table({**{f"x{j}": rng.beta(0.7, 2, n) for j in range(columns)}, "ill": column})


def test_a_cell_takes_few_bytes(tmp_path: Path) -> None:
    table = people(120_000, 6, ILLS)
    model = DensityTree(2, domain=domain(6, ILLS)).fit(table)
    assert model.tree_.n_leaves > 50_000
    for start in range(0, len(table), 10_000):  # batches of few rows: cells are what is measured
        pq.write_table(table.slice(start, 10_000), tmp_path / f"part-{start:06d}.parquet")
    model.transform_file(table.slice(0, 10_000), tmp_path / "first.parquet")  # what is imported and compiled once
    tracemalloc.start()
    try:
        model.transform_file(str(tmp_path / "part-*.parquet"), tmp_path / "safe.parquet")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / model.tree_.n_leaves < 250


CASES: list[dict[str, Any]] = [
    {"suppress": 0.1, "l_diversity": 3},
    {"t_closeness": 0.3},
    {"l_diversity": 2.5, "l_kind": "entropy", "suppress": 0.03},
    {"l_diversity": 2, "l_kind": "recursive", "t_closeness": 0.4},
    {},
]


@pytest.mark.parametrize("cells", [7, 1 << 14])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_file_has_the_cells_of_a_table_in_memory(
    case: int, cells: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabled, "_CELLS", cells)
    build, new = people(1500, 3, ILLS), people(1200, 3, ILLS, missing=True)
    model = DensityTree(4, domain=domain(3, ILLS), **CASES[case]).fit(build)
    for rows in (build, new):
        release = model.transform(rows, random_state=3)
        written = model.transform_file(rows, tmp_path / "safe.parquet", random_state=3)
        assert written.guarantee.parameters == release.guarantee.parameters
        assert sorted(map(str, pq.read_table(written.path).to_pylist())) == sorted(map(str, release.table.to_pylist()))


@pytest.mark.parametrize("last", [20, 60])
def test_more_values_than_a_table_has_room_for_are_counted_as_combinations(last: int) -> None:
    ills = [f"ill {i}" for i in range(last)]
    plan = TablePlan.of(domain(1, ills))
    cuts = np.array([[0, -1, 0, -1, -1], [9, -1, 20, -1, -1], [2, -1, 4, -1, -1], [3, -1, 3, -1, -1]])
    grown = Tree((make_grid(plan.domain.column("x0")),), *cuts)
    plain, by_place = Counter(plan), PlaceCounter(plan, grown.n_leaves, grown.leaves_before)
    rng = np.random.default_rng(0)
    for upper in (5, 19, last):
        place = rng.choice([1, 3, 4, 4], 400)
        ill = pa.array(np.array(ills)[rng.integers(0, upper, 400)], mask=rng.random(400) < 0.1)
        for counter in (plain, by_place):
            counter.add(place, {"ill": ill})
    expected, found = plain.result(), by_place.counts()
    assert isinstance(found, PlaceCounts if last > tabled.MOST_VALUES else TabledCounts)
    if isinstance(found, TabledCounts):
        reached, rows, cells, lost, _ = found.figures(Rules(2), np.array([-1, 0, -1, 1, 2], np.int32))
        assert (rows, cells, lost) == (1200, 3, 0)
        assert reached == Rules(2).measure(
            np.array([0, 0, 0, 1, 2])[expected.place], expected.sensitive, None, expected.rows
        )
        return
    assert found.place.tolist() == expected.place.tolist()
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.sensitive[0].codes.tolist() == expected.sensitive[0].codes.tolist()


def test_counts_beyond_32_bits_are_counted() -> None:
    table = tabled.CountTable(1)
    for _ in range(3):
        table.add(np.array([0, -1]), np.array([0, 1]), np.array([2**31, 1]))
    assert table.counts.tolist() == [[0, 3 * 2**31, 0], [0, 0, 3]]


def test_rows_that_are_put_nowhere_stay_nowhere() -> None:
    """Also when values are too many for a table, and what was counted so far is taken over."""
    domain = Domain(
        {"age": {"bounds": [0, 9], "role": "quasi-identifier"}, "ill": {"bounds": [0, 99], "role": "sensitive"}}
    )
    counter = PlaceCounter(TablePlan.of(domain), 3)
    counter.add(np.array([-1, 2, -1]), {"ill": pa.array([1, 1, 2])})
    counter.add(np.arange(60) % 3, {"ill": pa.array(range(60))})
    found = counter.result()
    assert found.rows[found.place == -1].sum() == 2
    assert [int(found.rows[found.place == p].sum()) for p in range(3)] == [20, 20, 21]
