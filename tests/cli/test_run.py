"""A whole job in one file: written by the tool, checked without data, run, reported on, and the same from Python."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import printed
from discreet.cli import app, main
from discreet.errors import DiscreetError, FormatError, InvalidArgument
from discreet.jobs.job import Job, JobResult
from discreet.jobs.kinds import KINDS as DECLARED
from discreet.jobs.written import example as example_of
from small_tables import write_table

#: The outputs that an example asks for.
WRITTEN = {
    "synopsis": ["release", "report"],
    "cluster": ["centers", "release", "report"],
    "anonymize": ["release", "promise", "report"],
    "perturb": ["release", "promise", "report"],
    "sketch": ["release", "counts", "estimates", "report"],
}


KINDS = tuple(WRITTEN)


def example(kind: str) -> str:
    return example_of(DECLARED[kind])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_table(tmp_path, dc.datasets.patients(n=2000).to_arrow())


def job_of(kind: str, folder: Path) -> Path:
    text = example(kind)
    if kind == "sketch":
        (folder / "words.csv").write_text("word\n" + "red\nblue\nred\n" * 200)
        text = text.replace("people.csv", "words.csv")
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_every_kind_can_be_printed_checked_run_and_reported(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "run", "--example", kind) == example(kind)
    job = job_of(kind, folder)
    before = sorted(folder.iterdir())
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")  # relative paths start at the job, not here
    assert "Valid" in printed(capsys, "run", job, "--check")
    assert sorted(folder.iterdir()) == sorted([*before, folder / "elsewhere"])
    found = json.loads(printed(capsys, "run", job, "--json"))
    assert list(found["files"]) == WRITTEN[kind]
    assert all(Path(file).is_file() for file in found["files"].values())
    assert not list((folder / "elsewhere").iterdir())
    assert found["kind"] == kind
    assert found["seeded"] is False
    promise = dc.Guarantee.from_dict(found["guarantee"])
    told = printed(capsys, "run", job)
    assert "Guarantee" in told
    assert "Do not publish" not in told
    for file in found["files"].values():
        assert Path(file).name in told.replace("\n", "")
    assert "<html" in Path(found["files"]["report"]).read_text()
    if kind in ("synopsis", "cluster"):
        assert dc.Synopsis.load(folder / "synopsis.parquet").guarantee.epsilon == promise.epsilon == 1
    # The report reads the same file and finds artifact and place in it.
    (folder / "report.html").unlink()
    facts = json.loads(printed(capsys, "report", job, "--json"))
    assert facts["checks"]["seal"] == "intact"
    assert (folder / "report.html").is_file()


def test_a_check_needs_no_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = job_of("synopsis", folder)
    (folder / "people.csv").unlink()
    assert json.loads(printed(capsys, "run", job, "--check", "--json")) == {
        "kind": "synopsis",
        "valid": True,
        "data_there": False,
    }
    said = printed(capsys, "run", job, "--check")
    assert "does not exist" in said
    assert "(s)" not in said


def test_a_job_gives_what_the_verb_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "schema.toml").write_text("[columns.age]\nbounds = [0, 120]\n[columns.cost]\nbounds = [0, 100]\n")
    parameters = {"epsilon": 0.5, "method": "tree", "partitioner": "median", "max_depth": 5, "seed": 4}
    outputs = {"release": "job.parquet", "centers": "centers.csv", "guarantee": "promise.json"}
    job = dc.Job("synopsis", "people.csv", "schema.toml", {**parameters, "n_clusters": 4}, outputs, folder)
    job.to_toml(folder / "job.toml")
    told = printed(capsys, "run", folder / "job.toml")
    assert "Do not publish" in told
    options = ["--epsilon", 0.5, "--method", "tree", "--partitioner", "median", "--max-depth", 5, "--n-clusters", 4]
    files = ["--schema", folder / "schema.toml", "-o", folder / "verb.parquet"]
    verb = printed(capsys, "synopsis", folder / "people.csv", *files, *options, "--seed", 4, "--json")
    released = dc.Synopsis.load(folder / "job.parquet")
    assert released.digest == json.loads(verb)["digest"]
    printed(capsys, "cluster", folder / "verb.parquet", "-k", 4, "-o", folder / "verb.csv")
    assert (folder / "verb.csv").read_bytes() == (folder / "centers.csv").read_bytes()
    assert dc.Guarantee.from_json((folder / "promise.json").read_text()) == released.guarantee
    assert job.run().to_dict()["figures"]["digest"] == released.digest


def test_clusters_of_a_saved_synopsis_cost_nothing(folder: Path) -> None:
    schema = {"age": (0, 120), "cost": (0, 100)}
    first = dc.Job("synopsis", "people.csv", schema, {"epsilon": 1}, {"release": "s.parquet"}, folder).run()
    again = dc.Job("cluster", "s.parquet", None, {"n_clusters": 3}, {"centers": "c.csv", "report": "r.html"}, folder)
    again.check()
    result = again.run()
    assert result.guarantee == first.guarantee
    assert len(result.figures["centers"]) == 3
    assert set(result.files) == {"centers", "report"}


def test_an_anonymous_table_with_every_kind_of_setting(folder: Path) -> None:
    (folder / "t.csv").write_text(
        "age,sex,ill\n" + "".join(f"{i % 90},{'fm'[i % 2]},{'xyz'[i % 3]}\n" for i in range(900))
    )
    (folder / "secret").write_text("0123456789abcdef")
    schema = {
        "age": {"bounds": [0, 120], "role": "quasi-identifier"},
        "sex": {"categories": ["f", "m"], "role": "quasi-identifier"},
        "ill": {"categories": ["x", "y", "z"], "role": "sensitive"},
    }
    parameters = {"k": 5, "method": "density-tree", "l": 2, "grid": {"age": 12}, "bounds": True, "hash_key": "secret"}
    job = dc.Job("anonymize", "t.csv", schema, parameters, {"release": "safe.csv"}, folder)
    again = dc.Job.from_toml(job.to_toml())
    assert again == job
    job.check()
    result = job.run()
    assert result.guarantee.parameters["required"] == {"k": 5, "l": {"kind": "distinct", "least": 2}}
    assert result.figures["rows"] == 900
    measured = dc.anonymity.risk(folder / "safe.csv", ["age_lower", "age_upper", "sex_set"], ["ill"])
    assert measured.k >= 5
    with pytest.raises(DiscreetError, match=r"declared values of 'ill' \(3\), got 4; try l = 3"):
        # Three illnesses cannot be four: seen without a row.
        dataclasses.replace(job, parameters={"k": 5, "l": 4}).check()


@pytest.mark.parametrize("kind", DECLARED)
def test_a_job_survives_its_file(kind: str) -> None:
    first = dc.Job.from_toml(example(kind))
    assert dc.Job.from_toml(first.to_toml()) == first


def test_odd_names_and_dates_survive_the_file(tmp_path: Path) -> None:
    schema: dict[str, Any] = {
        'yearly "cost", euro': (0, 1e6),
        "größe": {"bounds": [0.5, 2.5], "role": "quasi-identifier", "missing": "own"},
        "born": {"bounds": ["1900-01-01", "2020-12-31"]},
        "a.b": ["[columns.x]", "line\nbreak", "", "\x7f"],
    }
    outputs = {"release": 'out "1".parquet'}
    job = dc.Job("synopsis", "näme with spaces.csv", schema, {"epsilon": 0.1, "rule": 12}, outputs, tmp_path)
    job.to_toml(tmp_path / "job.toml")
    again = dc.Job.from_toml(tmp_path / "job.toml")
    assert again == job
    assert again.schema == dc.Domain(schema)
    assert again.artifact == tmp_path / 'out "1".parquet'
    again.check()


def test_every_key_of_the_tables_is_in_its_example_once() -> None:
    for name, kind in DECLARED.items():
        lines = example(name).partition("[parameters]" if kind.parameters else "[outputs]")[2].splitlines()
        names = [line.lstrip("# ").split(" = ")[0] for line in lines if line]
        assert sorted(n for n in names if n != "[outputs]") == sorted(o.name for o in (*kind.parameters, *kind.outputs))


def test_a_job_is_frozen_and_its_result_is_plain_data(folder: Path) -> None:
    job = dc.Job(
        "perturb",
        folder / "people.csv",
        {"age": (0, 120)},
        {"epsilon": 1, "radius": 0.1},
        {"release": folder / "p.csv"},
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        job.kind = "cluster"  # type: ignore[misc]
    result = job.run()
    assert isinstance(result, JobResult)
    assert json.loads(json.dumps(result.to_dict()))["figures"]["rows"] == 2000
    with pytest.raises(FormatError, match="did you mean 'radius'"):
        dataclasses.replace(job, parameters={"epsilon": 1, "radus": 0.1})
    for wrong in ({"parameters": 3}, {"outputs": None}, {"data": 3}, {"schema": 3}):
        with pytest.raises(DiscreetError):
            dataclasses.replace(job, **wrong)


def test_what_was_there_survives_a_job_that_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = job_of("anonymize", folder)
    job.write_text(job.read_text().replace("k = 10", "k = 100000"))
    for name in ("release.csv", "release.csv.guarantee.json", "report.html"):
        (folder / name).write_text("old")
    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(SystemExit) as left:
        app.main(["run", str(job)])
    assert left.value.code == 2
    assert sorted(p.name for p in folder.iterdir()) == before
    assert {(folder / n).read_text() for n in ("release.csv", "release.csv.guarantee.json", "report.html")} == {"old"}


def test_a_mistake_in_the_last_step_leaves_nothing_of_the_first(folder: Path) -> None:
    (folder / "words.csv").write_text("word\n" + "red\nblue\nred\n" * 200)
    parameters = {"epsilon": 4, "mechanism": "hadamard-sketch"}
    outputs = {"release": "r.bin", "counts": "c.bin", "estimates": "e.csv"}
    job = dc.Job("sketch", "words.csv", None, parameters, outputs, folder)
    with pytest.raises(DiscreetError, match="candidates must be a list"):
        job.run()
    assert not {p.name for p in folder.iterdir()} & set(outputs.values())
    found = dataclasses.replace(job, parameters={**parameters, "candidates": ["red", "green"]}).run()
    assert list(found.artifact.candidates) == ["red", "green"]
    assert found.artifact.count[0] == pytest.approx(400, abs=200)


def test_a_check_raises_no_false_alarm_over_what_only_rows_can_tell(folder: Path) -> None:
    schema = {
        "age": {"bounds": [0, 120], "role": "quasi-identifier"},
        "born": {"bounds": ["1900-01-01", "2020-01-01"], "role": "quasi-identifier"},
        "sex": {"categories": ["f", "m"], "role": "quasi-identifier"},
        "ill": {"categories": ["x", "y", "z"], "role": "sensitive"},
        "who": {"bounds": [0, 10**6], "role": "person"},
    }
    ways: list[dict[str, Any]] = [
        {"k": 10**12},
        {"k": 50, "t": 0.01, "l": 2.9, "l_kind": "entropy"},
        {"k": 20, "method": "mondrian", "person": "who"},
        {"k": 20, "method": "generalization", "level": {"age": 1}},
        {"k": 7, "suppress": 0.1, "form": "sample"},
    ]
    for parameters in ways:
        dc.Job("anonymize", "nothere.csv", schema, parameters, {"release": "a.csv"}, folder).check()


@pytest.mark.parametrize("kind", ["synopsis", "synthesize", "cluster", "anonymize", "perturb", "sketch"])
def test_every_kind_with_a_page_takes_what_the_page_says_first(kind: str) -> None:
    names = {option.name for option in DECLARED[kind].parameters}
    assert {"title", "owner", "purpose", "date"} <= names


def test_the_page_of_a_job_has_its_title_and_the_terminal_what_the_verb_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("age,cost,x\n" + "35,1,2\n61,2,3\n" * 20)
    said = {"title": "Beds of ward 3", "owner": "Data office", "purpose": "Planning", "date": "2026-11-16"}
    schema = {"age": (0, 120), "cost": (0, 9), "x": (0, 9)}
    outputs = {"release": "s.parquet", "report": "r.html"}
    tree = {"epsilon": 0.1, "method": "tree", "max_depth": 1}  # one cut, three columns
    job = Job("synopsis", "t.csv", schema, {**tree, **said}, outputs, tmp_path)
    job.to_toml(tmp_path / "job.toml")
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path / "job.toml")])
    page = (tmp_path / "r.html").read_text()
    assert all(text in page for text in said.values())
    shown = " ".join(capsys.readouterr().out.split())
    assert "boxes over age, cost, x" in shown
    assert re.search("is not known|are not known", shown)
    assert "try --columns, or discreet synthesize for many" in shown
    with pytest.raises(InvalidArgument, match=r'used with a page.*try report = "report.html"'):
        Job("synopsis", "t.csv", schema, {"epsilon": 1, "title": "Beds"}, {"release": "s.parquet"}, tmp_path)
