"""Columns that an anonymous table passes on as they are: named, measured, and said first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet.core.budget.guarantee import Guarantee
from discreet.evaluation import recount
from discreet.reporting.words import for_lawyers
from small_tables import one_of, random_table, whole

SCHEMA = """
[columns.age]
bounds = [0, 100]
role = "quasi-identifier"
[columns.pay]
bounds = [0, 100]
role = "quasi-identifier"
[columns.weight]
bounds = [0, 1000000]
[columns.shift]
categories = ["day", "night"]
[columns.ill]
categories = ["no", "yes"]
role = "sensitive"
"""


@pytest.fixture
def table() -> pa.Table:
    shift, ill = one_of(["day", "night"]), one_of(["no", "yes"])
    columns = {"age": whole(0, 100), "pay": whole(0, 100), "weight": whole(0, 400), "shift": shift, "ill": ill}
    return random_table(columns, 300, seed=5)


def domain() -> dc.Domain:
    qi, none = {"bounds": [0, 100], "role": "quasi-identifier"}, {"role": "attribute"}
    return dc.Domain(
        {
            "age": qi,
            "pay": qi,
            "weight": {"bounds": [0, 10**6], **none},
            "shift": {"categories": ["day", "night"], **none},
            "ill": {"categories": ["no", "yes"], "role": "sensitive"},
        }
    )


def counted(table: pa.Table, columns: list[str]) -> tuple[int, float]:
    sizes = Counter(tuple(row.values()) for row in table.select(columns).to_pylist())
    return min(sizes.values()), sum(n for n in sizes.values() if n == 1) / len(table)


METHODS = {
    "tree": dc.anonymity.DensityTree,
    "mondrian": dc.anonymity.Mondrian,
    "generalization": dc.anonymity.Generalization,
    "means": dc.anonymity.Microaggregation,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("keep", [("weight", "shift"), ("shift",)])
def test_the_guarantee_says_what_the_released_table_shows(table, method, keep):
    release = METHODS[method](5, domain=domain().select(["age", "pay", *keep, "ill"]), keep=keep).fit_transform(table)
    kept = release.guarantee.parameters["kept"]
    assert kept["columns"] == list(keep)
    assert (kept["k"], kept["unique"]) == pytest.approx(counted(release.table, ["age", "pay", *keep]))
    first = str(release.guarantee).split(". The unit")[0]
    assert all(name in first for name in keep)
    assert f"the smallest group is {kept['k']}" in first
    assert any("passed on unchanged" in text for text in release.guarantee.assumptions)
    assert recount(release.table, release.guarantee).failures == ()


def test_drawn_rows_are_measured_as_they_were_drawn(table):
    model = dc.anonymity.DensityTree(5, domain=domain(), keep=("weight", "shift"))
    release = model.fit_transform(table, output="sample", random_state=1)
    own = release.guarantee.parameters["kept"]
    assert own["unique"] <= counted(release.table, ["age", "pay", "weight", "shift"])[1]
    assert "from which these rows were drawn" in for_lawyers(release.guarantee)[0]


def test_a_target_is_passed_on_and_so_measured(table):
    model = dc.anonymity.DensityTree(5, domain=domain().select(["age", "pay", "weight", "ill"]), target="weight")
    assert model.fit_transform(table).guarantee.parameters["kept"]["columns"] == ["weight"]


def test_without_kept_columns_nothing_is_said(table):
    release = dc.anonymity.DensityTree(5, domain=domain().select(["age", "pay", "ill"])).fit_transform(table)
    assert "kept" not in release.guarantee.parameters
    assert "passed on" not in str(release.guarantee)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_written_in_two_passes_says_the_same(table, tmp_path, suffix):
    model = dc.anonymity.DensityTree(5, domain=domain(), keep=("weight", "shift"), suppress=0.1).fit(table)
    written = model.transform_file(table, tmp_path / f"out.{suffix}")
    assert written.guarantee.parameters["kept"] == model.transform(table).guarantee.parameters["kept"]


def test_groups_of_one_person_are_counted_as_one(table):
    whose = pa.array([f"p{i // 2}" for i in range(300)])
    roles = {c.name: c for c in domain().select(["age", "shift", "ill"])}
    people = dc.Domain({**roles, "who": {"bounds": [0, 1], "role": "person"}})
    model = dc.anonymity.DensityTree(5, domain=people, keep=("shift",))
    release = model.fit_transform(table.append_column("who", whose))
    kept = release.guarantee.parameters["kept"]
    groups: dict[tuple[int, str], set[str]] = {}
    for cell, shift, who in zip(release.cells.of, table["shift"].to_pylist(), whose.to_pylist(), strict=True):
        groups.setdefault((int(cell), shift), set()).add(who)
    assert kept["k"] == min(map(len, groups.values()))
    assert for_lawyers(release.guarantee)[0].startswith("Each person")


def test_a_false_figure_is_found_by_the_recount(table):
    release = dc.anonymity.DensityTree(5, domain=domain(), keep=("weight", "shift")).fit_transform(table)
    facts = {**release.guarantee.parameters, "kept": {"columns": ["weight", "shift"], "k": 5, "unique": 0.0}}
    assert "with the kept columns" in recount(release.table, replace(release.guarantee, parameters=facts)).failures[0]


def test_terminal_and_page_say_it_first(table, tmp_path):
    pa_csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    given = ["anonymize", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"), "--k", "5"]
    given += ["--keep", "weight", "--keep", "shift", "--output", str(tmp_path / "out.csv")]
    told = run(*given, catch=True, COLUMNS="200")
    assert told.exit_code == 0, told.output
    head = " ".join(told.output.split("What is promised")[0].split())
    assert "Columns weight, shift were passed on as they are" in head
    assert "are unique" in head
    done = run("report", tmp_path / "out.csv", "--output", tmp_path / "page.html", catch=True)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    above = page.split("<h2>What is promised</h2>")[0]
    assert "Columns weight, shift were passed on as they are" in above
    assert "for someone who knows the kept columns" in above
    assert "all columns that could identify someone" not in page
    sealed = Guarantee.from_json((tmp_path / "out.csv.guarantee.json").read_text(encoding="utf-8"))
    assert sealed.parameters["kept"]["columns"] == ["weight", "shift"]


def test_an_empty_field_is_missing_in_what_is_passed_on(tmp_path: Path) -> None:
    """As in a Parquet file of the same rows: one promise, and one way to write that nothing is there."""
    (tmp_path / "t.csv").write_text("age,ill,free\n" + "30,flu,a\n31,,\n" * 10)
    rows = pa.table({"age": [30, 31] * 10, "ill": ["flu", None] * 10, "free": ["a", None] * 10})
    pq.write_table(rows, tmp_path / "t.parquet")
    quasi, secret = {"bounds": [0, 120], "role": "quasi-identifier"}, {"categories": ["flu"], "role": "sensitive"}
    made = []
    for name in ("t.csv", "t.parquet"):
        job = dc.Job("anonymize", name, {"age": quasi, "ill": secret, "free": ["a"]}, {"k": 5, "keep": ["free"]},
                     {"release": f"{name}.out.csv"}, tmp_path)  # fmt: skip
        promise = job.run().guarantee.parameters
        made.append((sorted((tmp_path / f"{name}.out.csv").read_text().splitlines()), promise["reached"]))
    assert made[0] == made[1]
    assert any(line.endswith(",,") for line in made[0][0])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_zero_has_no_sign(tmp_path: Path, suffix: str) -> None:
    """0.0 and -0.0 are counted as one value: they must not be written differently."""
    columns = {"age": {"bounds": [0, 100], "role": "quasi-identifier"}, "bonus": {"bounds": [-1, 1]}}
    people = pa.table({"age": [40] * 6, "bonus": [0.0, 0.0, 0.0, 0.0, 0.0, -0.0]})
    model = dc.anonymity.DensityTree(3, domain=dc.Domain(columns), keep=["bonus"]).fit(people)
    release, there = model.transform(people), tmp_path / f"there{suffix}"
    assert release.guarantee.parameters["kept"] == {"columns": ["bonus"], "k": 6, "unique": 0.0}
    release.save(tmp_path / f"here{suffix}")
    model.transform_file(people, there)
    for file in (tmp_path / f"here{suffix}", there):
        read = pa_csv.read_csv(file) if suffix == ".csv" else pq.read_table(file)
        assert not np.signbit(np.asarray(read["bonus"], float)).any()
        assert run("audit", file, catch=True).exit_code == 0
