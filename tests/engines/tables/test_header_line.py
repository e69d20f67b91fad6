"""A schema is drafted from names: a first line that may be a record is neither taken for names nor shown."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from command_line import printed

RECORDS = [
    "34,Ulm,51000",
    "Ada,1991-03-07,Ulm",
    "Ada,07.03.1991,Ulm",
    "Ada,ada@example.org,Ulm",
    'Ada,"51.000,50",Ulm',
    "Ada,,Ulm",
    "yes,no,no",
    "Ada,+49 170 5551,x",
]

SOURCE = '[source]\nheader = false\nnames = ["column_1", "column_2"]\n'


@pytest.mark.parametrize("line", RECORDS)
def test_a_first_line_that_may_be_a_record_is_refused_unseen(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "people.csv"
    table.write_text(f"{line}\n{line}\n")
    said = printed(capsys, "schema", table, "-o", tmp_path / "s.toml", code=2)
    assert "--no-header" in said
    assert "--header" in said
    for value in ("Ada", "Ulm", "34", "1991", "5551", "example.org", "51.000"):
        assert value not in said.replace(str(tmp_path), "")
    assert not (tmp_path / "s.toml").exists()
    printed(capsys, "schema", table, "--no-header", "-o", tmp_path / "s.toml")  # what is suggested works
    draft = (tmp_path / "s.toml").read_text()
    assert list(tomllib.loads(draft)["columns"]) == ["column_1", "column_2", "column_3"]
    assert tomllib.loads(draft)["source"] == {"header": False, "names": ["column_1", "column_2", "column_3"]}
    for value in line.replace('"', "").split(","):
        assert len(value) < 3 or value not in draft


@pytest.mark.parametrize("line", ["age,town,income", ",age,town", "Alter,Straße 2,e-mail", "x0,x1,x2"])
def test_names_are_drafted_and_the_draft_says_what_was_read(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "people.csv"
    table.write_text(f"{line}\n1,2,3\n")
    draft = printed(capsys, "schema", table)
    assert "the first line of" in draft
    assert "--no-header" in draft
    assert "no row was read" not in draft
    assert "source" not in tomllib.loads(draft)


def test_years_as_names_can_be_insisted_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wide.csv").write_text("2019,2020\n1,2\n")
    assert json.loads(printed(capsys, "schema", tmp_path / "wide.csv", "--header", "--json"))["columns"] == [
        "2019",
        "2020",
    ]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 50},{i % 2}" for i in range(400)]
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "s.toml").write_text(
        f'{SOURCE}\n[columns.column_1]\nbounds = [0, 100]\nrole = "quasi-identifier"\n'
        '\n[columns.column_2]\ncategories = ["0", "1"]\nrole = "sensitive"\n'
    )
    return tmp_path


def test_other_verbs_read_the_first_line_as_a_row(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = (bare / "bare.csv", "--schema", bare / "s.toml")
    printed(
        capsys, "synopsis", *start, "--epsilon", "1e6", "--yes-really", "--rule", 10, "-o", bare / "s.parquet", "--json"
    )
    assert dc.Synopsis.load(bare / "s.parquet").total == pytest.approx(400, abs=0.5)
    printed(capsys, "anonymize", *start, "--k", 5, "-o", bare / "safe.csv", "--json")
    assert len((bare / "safe.csv").read_text().splitlines()) == 401
    (bare / "n.toml").write_text(
        '[source]\nheader = false\nnames = ["column_1", "column_2"]\n[columns.column_1]\nbounds = [0, 100]\n'
    )
    words = ("--schema", bare / "n.toml", "--epsilon", 1, "--radius", 0.1, "-o", bare / "noisy.csv", "--json")
    assert json.loads(printed(capsys, "perturb", bare / "bare.csv", *words))["rows"] == 400


def test_a_job_of_clusters_reads_the_first_line_as_a_row(bare: Path) -> None:
    wanted = {"epsilon": 1e6, "yes_really": True, "n_clusters": 2, "seed": 1}
    done = dc.Job("cluster", "bare.csv", "s.toml", wanted, {"centers": "c.csv", "release": "c.parquet"}, bare).run()
    assert done.artifact.total == pytest.approx(400, abs=0.5)


def test_a_program_says_it_too(bare: Path) -> None:
    named = {"header": False, "names": ["column_1", "column_2"]}
    source = dc.engines.open(bare / "bare.csv", dialect=named)
    assert source.names == ("column_1", "column_2")
    grid = dc.engines.GridMap(dc.Domain({"column_1": (0, 100)}), 2)
    assert source.count(grid).dense().sum() == 400
    marked = bare / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + (bare / "bare.csv").read_bytes())
    assert dc.engines.open(marked, dialect=named).count(grid).dense().sum() == 400


def test_source_takes_no_other_value_and_no_other_key(tmp_path: Path) -> None:
    for line, said in (('header = "no"', "header must be one of True, False"), ("headers = false", "try header")):
        with pytest.raises(dc.errors.DiscreetError, match=said):
            dc.Domain.from_toml(f"[source]\n{line}\n[columns.a]\nbounds = [0, 1]\n")


def test_no_row_of_a_file_without_header_has_a_say_in_how_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    rows = b"".join(b"%d,%d\n" % (i % 100, i % 7) for i in range(500))
    domain = dc.Domain({"a": (0, 100), "b": (0, 7)}, source={"header": False, "names": ["a", "b"]})
    grid = dc.engines.GridMap(domain, 1)
    firsts = (
        b"",
        b'1,"x\ny"\n',
        b"1,2,3\n",
        b"\xff\xfe1,2\n",
        b"1" * (1 << 21) + b"\n",
        b"\n\n",
        b'"never closed\n"\n',
    )
    for first in firsts:
        path.write_bytes(first + rows)
        assert dc.engines.open(path, domain).count(grid).dense().sum() in (500, 501), first
    path.write_bytes(b"")
    assert dc.engines.open(path, domain).count(grid).dense().sum() == 0


def test_columns_without_header_and_names_are_not_read(bare: Path) -> None:
    domain = dc.Domain({"column_1": (0, 100)}, source={"header": False})
    for rows in (b"1,2\n", b"", b"1,2,3\n"):
        (bare / "bare.csv").write_bytes(rows)
        with pytest.raises(dc.errors.SchemaError, match=r'names = \["column_1", "column_2"\]'):
            dc.GridSynopsis(epsilon=1.0, domain=domain).fit(str(bare / "bare.csv"))
