"""A tree grown from a file, a few rows in memory at a time, is the tree that is grown on the whole table."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet.anonymity import DensityTree, Generalization, Mondrian
from discreet.anonymity.growth import outside
from discreet.anonymity.growth.criteria import common_axes, moments
from discreet.anonymity.methods import partitioner
from discreet.anonymity.methods.density_tree import CRITERIA
from discreet.anonymity.release import spilled
from discreet.anonymity.release.spilled import SpilledTable, is_large
from discreet.core.domain import Domain
from discreet.core.output.progress import followed
from discreet.engines.writing import spill
from discreet.errors import DataSourceError, DiscreetError, InvalidArgument
from discreet.jobs.job import Job
from support.trees import cuts_of

LETTERS = list("abcdefgh")
#: Options that state rules other than k.
RULES = {"l_diversity", "l_kind", "t_closeness", "blind"}
GROUPS = {"x": ["a", "b"], "y": [{"z": ["c", "d"]}, "e"], "w": ["f", "g", "h"]}


class Case:
    """A random table of all kinds of columns, with random rules."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(150, 700))
        self.columns: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.grid: dict[str, Any] = {}
        trees: dict[str, Any] = {}
        kinds = ["steps", "points", "integer", "date", "nested", "merge", "plain"]
        for j, kind in enumerate(rng.choice(kinds, int(rng.integers(1, 5)), replace=False)):
            name = f"q{j}"
            role = {"role": "quasi-identifier", "missing": str(rng.choice(["own", "drop"]))}
            if kind == "steps":
                self.columns[name], self.grid[name] = {"bounds": [0, 100]}, int(rng.choice([7, 128, 400]))
                self.values[name] = np.round(rng.normal(50, 25, n), 1)
            elif kind == "points":
                self.columns[name], self.grid[name] = {"bounds": [0, 1]}, [0.01, 0.03, 0.1, 0.2, 0.22, 0.5, 0.51, 0.9]
                self.values[name] = rng.beta(0.5, 0.7, n)
            elif kind == "integer":
                self.columns[name] = {"kind": "integer", "bounds": [0, 60]}
                self.values[name] = rng.poisson(20, n)
            elif kind == "date":
                self.columns[name] = {"kind": "date", "bounds": ["2020-01-01", "2026-01-01"]}
                days = np.datetime64("2020-01-01") + rng.integers(0, 2192, n)
                self.values[name] = days.astype(str)
            else:
                self.columns[name] = {"categories": LETTERS}
                self.values[name] = rng.choice(LETTERS, n, p=rng.dirichlet([0.8] * 8))
                trees |= {} if kind == "plain" else {name: GROUPS if kind == "nested" else "merge"}
            self.columns[name] |= role
            if rng.random() < 0.4:
                gaps = rng.random(n) < 0.1
                self.values[name] = pa.array(self.values[name], mask=gaps)
        self.options: dict[str, Any] = {"k": int(rng.integers(2, 9)), "grid": self.grid, "hierarchies": trees}
        for j in range(int(rng.integers(0, 3))):
            numbers = rng.random() < 0.3
            values = rng.integers(0, 12, n) if numbers else rng.choice(LETTERS[:5], n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
            self.values[f"s{j}"] = pa.array(values, mask=rng.random(n) < 0.05)
            self.columns[f"s{j}"] = {
                "role": "sensitive",
                **({"bounds": [0, 12]} if numbers else {"categories": LETTERS}),
            }
            if rng.random() < 0.7:
                self.options |= {"l_diversity": 2, "l_kind": str(rng.choice(["distinct", "entropy", "recursive"]))}
            if rng.random() < 0.4:
                self.options |= {"t_closeness": float(rng.uniform(0.2, 0.6))}
        if rng.random() < 0.3:
            self.values["who"] = [f"p{i}" for i in rng.integers(0, n // 2, n)]
            self.columns["who"] = {"role": "person"}
        if self.options.get("l_diversity") and rng.random() < 0.3:
            self.options["blind"] = True
        self.memory = int(rng.choice([1, 30_000, 80_000]))
        self.table = pa.table(self.values)

    def write(self, folder: Path, ending: str) -> Path:
        path = folder / f"people.{ending}"
        write: Any = pq.write_table if ending == "parquet" else pa_csv.write_csv
        write(self.table, path)
        return path


def outcome(model: Any, data: Any) -> Any:
    """Return all that a fit leaves behind, or what it says when it refuses."""
    try:
        model.fit(data)
    except DiscreetError as error:
        return type(error), str(error)
    tree = model.tree_
    arrays = (tree.column, tree.cut, tree.right, tree.criterion, model.leaf_counts_)
    return [a.tolist() for a in arrays], model.plan_, model.hierarchies_, model.rules_


def both(case: Case, path: Path, make: Any) -> tuple[Any, Any]:
    """Fit on the table in memory and on its file with little memory."""
    small = make(domain=Domain(case.columns), **case.options)
    small._memory = case.memory
    return outcome(make(domain=Domain(case.columns), **case.options), case.table), outcome(small, path)


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_from_a_file_is_that_of_the_table(seed: int, tmp_path: Path) -> None:
    case = Case(seed)
    number = seed % (len(CRITERIA) + 1)
    path = case.write(tmp_path, "csv" if seed % 5 == 4 else "parquet")
    if number == len(CRITERIA):
        whole, parts = both(case, path, Mondrian)
    else:
        whole, parts = both(case, path, lambda **given: DensityTree(criterion=CRITERIA[number], **given))
    assert whole == parts


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 400, 40))
def test_the_tree_from_a_file_is_that_of_the_table_for_hundreds_of_tables(start: int, tmp_path: Path) -> None:
    refused = 0
    for seed in range(start, 40 + start):
        case = Case(seed)
        path = case.write(tmp_path, "parquet")
        criterion = CRITERIA[seed % len(CRITERIA)]
        whole, parts = both(case, path, lambda criterion=criterion, **given: DensityTree(criterion=criterion, **given))
        assert whole == parts, seed
        refused += len(whole) == 2
    assert refused < 20


def test_most_of_these_trees_are_grown_from_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would compare growth in memory with itself."""
    cut: list[int] = []
    search = outside.best_split
    monkeypatch.setattr(outside, "best_split", lambda *given: cut.append(int(given[3](0).size[-1])) or search(*given))
    case = Case(3)
    case.options = {name: case.options[name] for name in case.options.keys() - RULES} | {"k": 2}
    path = case.write(tmp_path, "parquet")
    whole, parts = both(case, path, DensityTree)
    assert whole == parts
    assert len(cut) > 3
    assert min(cut) > 64


def test_rows_in_any_order_and_in_any_files_give_one_tree(tmp_path: Path) -> None:
    case = Case(6)
    case.options |= {"suppress": 0.0}
    turned = case.table.take(pa.array(np.random.default_rng(0).permutation(len(case.table))))
    for number, start in enumerate(range(0, len(turned), 100)):
        pq.write_table(turned.slice(start, 100), tmp_path / f"part-{number}.parquet")
    whole, parts = both(case, tmp_path, DensityTree)
    assert whole == parts


def test_bins_of_rows_lie_in_a_file_without_a_name_and_only_while_a_tree_is_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    seen: list[tuple[list[str], int]] = []
    grow = partitioner.grow_outside

    def watched(*given: Any, **more: Any) -> Any:
        own = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _open(fd)]
        seen.append((os.listdir(tmp_path / "spilled"), sum("spilled" in name for name in own)))
        return grow(*given, **more)

    monkeypatch.setattr(partitioner, "grow_outside", watched)
    case = Case(3)
    model = DensityTree(domain=Domain(case.columns), **case.options)
    model._memory = 1
    model.fit(case.write(tmp_path, "parquet"))
    gc.collect()
    assert seen == [([], 1)]
    assert not any("spilled" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _open(fd))


def test_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may have 256 files open where no one allowed more, and a large table has as many buckets."""
    made: list[spill.RowFile] = []
    most = 0

    class Watched(spill.RowFile):
        def __init__(self, kind: Any) -> None:
            nonlocal most
            super().__init__(kind)
            made.append(self)
            most = max(most, sum(not file._file.closed for file in made))

    monkeypatch.setattr(spill, "RowFile", Watched)
    monkeypatch.setattr(spilled, "FILES", 3)
    case = Case(3)
    case.options = {name: case.options[name] for name in case.options.keys() - RULES} | {"k": 2}
    case.memory = 1
    whole, parts = both(case, case.write(tmp_path, "parquet"), DensityTree)
    assert whole == parts
    assert len(made) > 3
    assert most <= 3
    assert all(file._file.closed for file in made)


def _open(number: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{number}")


def test_a_folder_without_room_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(3)
    path = case.write(tmp_path, "parquet")
    model = DensityTree(domain=Domain(case.columns), **case.options)
    model._memory = 1
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(DataSourceError, match="name one with more room in the environment variable TMPDIR"):
        model.fit(path)


def test_too_many_sensitive_values_are_refused_before_memory_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "_ONE_NODE", 1 << 14)
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(0, 100, 400), "pay": rng.integers(0, 300, 400)})
    pq.write_table(table, tmp_path / "pay.parquet")
    domain = Domain({"age": (0, 100), "pay": {"bounds": [0, 300], "role": "sensitive"}})
    model = DensityTree(5, 2, domain=domain)
    model._memory = 1
    with pytest.raises(InvalidArgument, match=r"sensitive must be at most \d+ different values in a table of 400 rows"):
        model.fit(tmp_path / "pay.parquet")
    model._memory = 1 << 17  # the rows fit, so nothing of all of them is counted
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert len(model.fit(stream).leaf_counts_) == len(DensityTree(5, 2, domain=domain).fit(table).leaf_counts_) > 1


def test_what_is_known_of_a_table_before_it_is_read_says_where_it_is_grown(tmp_path: Path) -> None:
    from discreet import engines

    case = Case(3)
    plan, _ = DensityTree(domain=Domain(case.columns), **case.options)._plan(case.table)
    for ending in ("parquet", "csv"):
        source = engines.open(case.write(tmp_path, ending), plan.domain)
        assert is_large(source, plan, 1000)
        assert not is_large(source, plan, 1 << 20)
    assert not is_large(engines.open(case.table, plan.domain), plan, 1000)  # it is in memory already
    stream = engines.open(pa.RecordBatchReader.from_batches(case.table.schema, case.table.to_batches()), plan.domain)
    assert is_large(stream, plan, 1 << 40)


def test_moments_are_exact_and_the_same_in_pieces() -> None:
    rng = np.random.default_rng(1)
    places = np.sort(rng.integers(0, 1 << 25, (3, 50)), axis=1)
    rows = rng.integers(0, 50, (20_000, 3)).astype(np.uint16)
    whole = moments(rows, places)
    seen = np.stack([np.ones(len(rows), int), *(places[j][rows[:, j]] for j in range(3))]).astype(object)
    assert whole.tolist() == (seen @ seen.T).tolist()
    assert np.array_equal(moments(rows[:7000], places) + moments(rows[7000:], places), whole)
    assert np.array_equal(common_axes(whole), common_axes(moments(rows[::-1].copy(), places)))


def test_records_come_back_as_they_were_written() -> None:
    kind = np.dtype([("bins", np.uint8, (2,)), ("0", np.int32)])
    with spill.RowFile(kind) as rows:
        rows.add(**{"bins": np.arange(10).reshape(5, 2), "0": np.arange(5)})
        rows.add(**{"bins": np.arange(4).reshape(2, 2), "0": np.arange(2)})
        assert [len(block) for block in rows.blocks(3)] == [3, 3, 1]
        files = spill.divided(((b, b["0"] % 3 - 1) for b in rows.blocks(3)), kind, 2)
        assert [[r["0"].tolist() for r in file.blocks()] for file in files] == [[[1, 4, 1]], [[2]]]
        for file in files:
            file.__exit__(None, None, None)


@pytest.mark.parametrize("n", [63, 64, 65])
def test_a_rule_that_every_cell_keeps_changes_no_tree(n: int) -> None:
    """From 64 rows on bins are counted, not sorted: the cuts of just 64 were checked on rows in no order."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 40, n), "y": rng.integers(0, 40, n), "ill": np.arange(n)})
    domain = Domain({"x": (0, 40), "y": (0, 40), "ill": {"bounds": [0, 100], "role": "sensitive"}})
    plain, diverse = (DensityTree(2, rule, domain=domain).fit(table).tree_ for rule in (None, 2))
    assert plain.n_leaves > 10
    assert cuts_of(plain) == cuts_of(diverse)


def levels(model: Generalization, data: Any) -> Any:
    """Return the levels that a fit chooses, or what it says when it refuses."""
    try:
        return model.fit(data).levels_
    except DiscreetError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(6))
def test_levels_chosen_on_a_file_are_those_of_the_table(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(2000 + seed)
    case.options = {name: given for name, given in case.options.items() if name not in ("blind", "t_closeness")}
    steps: list[int] = []
    counted = SpilledTable.few
    monkeypatch.setattr(SpilledTable, "few", lambda self, groups, k: steps.append(1) or counted(self, groups, k))
    whole, parts = (Generalization(domain=Domain(case.columns), suppress=0.1, **case.options) for _ in range(2))
    parts._memory = 20_000
    expected = levels(whole, case.table)
    assert not steps
    assert levels(parts, case.write(tmp_path, "parquet")) == expected
    assert steps or isinstance(expected, str)


@pytest.mark.parametrize("seed", range(4))
def test_levels_chosen_on_a_file_count_the_categories_that_occur(seed: int, tmp_path: Path) -> None:
    """A hierarchy puts categories in another order: those that occur are looked up in that order too."""
    rng = np.random.default_rng(seed)
    jobs, turn = [f"job {i}" for i in range(12)], rng.permutation(12)
    groups = [[jobs[i] for i in turn[start : start + 3]] for start in range(0, 12, 3)]
    tree = {"left": {"a": groups[0], "b": groups[1]}, "right": {"c": groups[2], "d": groups[3]}}
    table = pa.table(
        {"job": rng.choice(rng.choice(jobs, 5, replace=False), 300), "side": rng.choice(jobs[:6], 300),
         "x": rng.integers(0, 8, 300)}
    )  # fmt: skip
    pq.write_table(table, tmp_path / "people.parquet")
    domain = Domain({"job": jobs, "side": jobs, "x": (0, 7)})
    whole, parts = (Generalization(12, domain=domain, hierarchies={"job": tree, "side": tree}) for _ in range(2))
    parts._memory = 1000
    assert levels(parts, tmp_path / "people.parquet") == levels(whole, table)


def test_closeness_is_kept_by_levels_chosen_on_a_file(tmp_path: Path) -> None:
    case = Case(2001)
    case.values["ill"] = np.random.default_rng(0).choice(["a", "b", "c"], len(case.table))
    case.columns["ill"] = {"categories": ["a", "b", "c"], "role": "sensitive"}
    case.table = pa.table(case.values)
    case.options |= {"t_closeness": 0.3, "sensitive": "ill"}
    case.options = {name: given for name, given in case.options.items() if name not in ("blind",)}
    path = case.write(tmp_path, "parquet")
    models = [Generalization(domain=Domain(case.columns), suppress=0.1, **case.options) for _ in range(3)]
    models[1]._memory, models[2]._memory = len(case.table) * 32 * 8 * 2, 1
    assert levels(models[1], path) == levels(models[2], path) == levels(models[0], case.table)


@pytest.mark.parametrize("method", ["density-tree", "mondrian", "generalization"])
@pytest.mark.parametrize("bounds", [False, True])
def test_a_job_on_a_large_file_releases_what_one_in_memory_does(
    method: str, bounds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = pa.table(
        {"age": rng.integers(0, 90, 400), "pay": rng.integers(0, 50, 400), "ill": rng.choice(list("abc"), 400)}
    )
    pq.write_table(table, tmp_path / "people.parquet")
    quasi = {"bounds": [0, 100], "role": "quasi-identifier"}
    schema = {"age": quasi, "pay": quasi, "ill": {"categories": list("abc"), "role": "sensitive"}}
    found = []
    for memory in (1 << 30, 20_000):
        monkeypatch.setattr(partitioner.Partitioner, "_memory", memory)
        given: dict[str, Any] = {"k": 5, "l": 2, "method": method, **({"bounds": True} if bounds else {})}
        job = Job("anonymize", "people.parquet", schema, given, {"release": f"safe-{memory}.csv"}, tmp_path)
        result = job.run()
        assert hasattr(result.artifact, "head") == (memory == 20_000)
        told = {name: value for name, value in result.figures.items() if name not in ("file", "fitness")}
        rows = sorted((tmp_path / f"safe-{memory}.csv").read_text().splitlines())
        found.append((rows, told, result.guarantee.parameters))
    assert found[0] == found[1]


@pytest.mark.parametrize("given", [{"supervised": True, "target": "label"}, {"pruning": "folds"}])
def test_what_looks_at_rows_again_and_again_is_refused_of_a_table_larger_than_memory(
    given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(0, 90, 300), "label": rng.choice(["a", "b"], 300)})
    pq.write_table(table, tmp_path / "people.parquet")
    quasi = {"bounds": [0, 100], "role": "quasi-identifier"}
    domain = Domain({"age": quasi, "label": {"categories": ["a", "b"], "role": "target"}})
    model = DensityTree(5, domain=domain, **given)
    model.fit(tmp_path / "people.parquet")
    monkeypatch.setattr(partitioner, "machine_memory", lambda: 1000.0)
    with pytest.raises(InvalidArgument, match="left out with a table that does not fit into memory"):
        model.fit(tmp_path / "people.parquet")
    model.fit(table)  # it is in memory already
    DensityTree(5, domain=domain).fit(tmp_path / "people.parquet")  # what is suggested


def test_reading_counting_and_growing_tell_how_far_they_are(tmp_path: Path) -> None:
    case = Case(3)
    model = DensityTree(domain=Domain(case.columns), **case.options)
    model._memory = 1
    path = case.write(tmp_path, "parquet")
    told: list[tuple[str, float | None]] = []
    with followed(lambda stage, share: told.append((stage, share))):
        model.fit(path)
    assert sum(share == 0.0 for _, share in told) > 4  # reading, levels, and what is grown in memory
    assert told[-1] == ("counting", 1.0)
