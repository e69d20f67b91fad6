"""A public table of 15 columns, as it is downloaded, becomes a report in five commands; nothing is edited by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from command_line import run
from discreet.datasets.loaders import read_file
from discreet.errors import DataSourceError

COMMANDS = """
discreet schema adult.data --codebook adult.names --known --declare fnlwgt=0..2000000 --declare education-num=1..16 \
--declare capital-gain=0..99999 --declare capital-loss=0..99999 -o adult.toml
discreet schema check adult.toml adult.data
discreet synopsis adult.data --schema adult.toml --epsilon 1 --method tree -o adult.parquet
discreet ask adult.parquet "age>=0" --by class --json
discreet report adult.parquet -o report.html
"""


def downloaded(folder: Path, which: str) -> int:
    """Put the table and its codebook into a folder, as they are published; return the number of rows."""
    invented = dc.datasets.practice("census")
    (folder / "adult.names").write_bytes(invented["census.names"])
    if which == "invented":
        rows = invented["census.data"].decode()
    else:
        try:
            table = read_file("uci-adult/adult_train.csv.gz", "adult")
        except DataSourceError:
            pytest.skip("the data folder is not here")
        # As the publisher writes it: no header, a blank after each comma, an empty line at the end.
        columns = [["?" if v is None else str(v) for v in column.to_pylist()] for column in table.columns]
        rows = "\n".join(", ".join(record) for record in zip(*columns, strict=True)) + "\n\n"
    (folder / "adult.data").write_text(rows)
    assert "?" in rows
    return len(rows.splitlines()) - 1


@pytest.mark.parametrize("which", ["invented", "real"])
def test_from_the_download_to_the_report(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = downloaded(tmp_path, which)
    monkeypatch.chdir(tmp_path)
    lines = COMMANDS.strip().splitlines()
    assert len(lines) == 5
    told = {}
    for line in lines:
        words = [word.strip('"') for word in line.split()]
        done = run(*words[1:], catch=True)
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
        told[words[1]] = done.stdout
    assert "15 columns are declared" in told["schema"]
    made = dc.Synopsis.load("adult.parquet")
    assert len(made.domain) == 15
    assert abs(made.total - n) < 6 * made.total_variance**0.5
    # One number of rows, anyone who is asked.
    asked = json.loads(told["ask"])
    groups = made.table("class")
    assert asked["value"] == made.total == made.weights.sum() == pytest.approx(groups.counts.sum())
    assert f"{made.total:,.0f}" in Path("report.html").read_text("utf-8")
    drawn = made.sample(round(made.total), rng=1)
    assert drawn.num_rows == made.total
    assert str(drawn.schema.field("age").type) == "int64"
    assert set(drawn["class"].to_pylist()) <= {">50K", "<=50K", None}


def test_rows_without_a_value_are_a_group_of_their_own() -> None:
    domain = dc.Domain(
        {"sex": {"categories": ["f", "m"], "missing": "own"}, "age": {"bounds": [0, 9], "missing": "own"}}
    )
    rows = [["f", 1], ["m", 2], [None, 3], ["f", None]] * 100
    made = dc.GridSynopsis(1.0, domain, rule=3, random_state=0).fit(rows).synopsis_
    by_sex = made.table("sex").to_dict()
    assert by_sex["sex"] == ["f", "m", None]
    assert sum(by_sex["count"]) == pytest.approx(made.weights.sum())
    assert by_sex["count"][2] == made.ask("sex is missing").value
    both = made.table("age", "sex").to_dict()
    assert both["age_from"][-1] is None
    assert sum(both["count"]) == pytest.approx(made.weights.sum())


def test_a_text_file_is_read_by_any_usual_name_but_not_found_by_accident(tmp_path: Path) -> None:
    for name in ("part.csv", "README.txt", "notes.dat"):
        (tmp_path / name).write_text("age\n30\n")
    assert dc.engines.open(tmp_path / "notes.dat").names == ("age",)
    assert len(dc.engines.open(tmp_path).parts) == 1


@pytest.mark.parametrize(("words", "told"), [
    (["--declare", "mood=0:1"], "--declare must be a declaration of age, sex"),
    (["--declare", "age"], "try --declare age=0..120"),
    (["--codebook", "absent.names"], "cannot read 'absent.names'"),
    (["--codebook", "people.csv"], "has a line that is not 'NAME: continuous.'"),
])  # fmt: skip
def test_what_cannot_be_declared_is_said(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,sex\n30,f\n")
    done = run("schema", "people.csv", *words, catch=True)
    assert done.exit_code
    assert told in str(done.exception)


def test_declarations_on_the_command_line_are_those_of_the_file(tmp_path: Path) -> None:
    table, schema = tmp_path / "people.csv", tmp_path / "s.toml"
    table.write_text("age,day,sex,name,share\n30,2025-01-02,f,Ann,0.5\n")
    words = [
        "age=0..120",
        "age,sex=quasi-identifier",
        "day=2025-01-01:2025-12-31",
        "sex=f,m",
        "name=identifier",
        "share=0:1",
    ]
    given = [w for word in words for w in ("--declare", word)]
    assert run("schema", table, *given, "-o", schema, catch=True).exit_code == 0
    domain = dc.Domain.from_toml(schema)
    assert [c.kind for c in domain][:3] == ["integer", "date", "categorical"]
    assert domain.column("age").role == domain.column("sex").role == "quasi-identifier"
    assert domain.column("name").role == "identifier"
    assert (domain.column("share").low, domain.column("share").high) == (0, 1)


def test_whose_rows_they_are_is_declared_with_their_number(tmp_path: Path) -> None:
    table, schema = tmp_path / "visits.csv", tmp_path / "s.toml"
    table.write_text("user,age\n" + "1,30\n" * 5)
    words = ["schema", str(table), "--declare", "user=person:3", "--declare", "age=0..120", "-o", str(schema)]
    assert run(*words, catch=True).exit_code == 0
    domain = dc.Domain.from_toml(schema)
    assert domain.unit == dc.Person("user", rows=3)
    assert domain.column("user").role == "person"
    given = {"epsilon": 1, "columns": ["age"], "rule": 4}
    job = dc.Job("synopsis", str(table), str(schema), given, {"release": "s.parquet"}, tmp_path)
    assert "one person, with all their rows (at most 3 used)" in str(job.run().guarantee)


@pytest.mark.parametrize("class_name", ["income", "class"])
@pytest.mark.parametrize("mark", ["-", "."])
@pytest.mark.parametrize("said", [[], ["--header"]])
def test_a_copy_with_a_header_fits_the_codebook_too(
    class_name: str, mark: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded(tmp_path, "invented")
    monkeypatch.chdir(tmp_path)
    names = [line.partition(":")[0] for line in Path("adult.names").read_text().splitlines() if ":" in line]
    names = [name.replace("-", mark) for name in names[-14:]] + [class_name]
    Path("headed.csv").write_text(",".join(names) + "\n" + Path("adult.data").read_text())
    given = ["--codebook", "adult.names", "--known", *said, "-o", "s.toml"]
    for name, top in {"fnlwgt": 2_000_000, f"education{mark}num": 16, f"capital{mark}gain": 99_999,
                      f"capital{mark}loss": 99_999}.items():  # fmt: skip
        given += ["--declare", f"{name}=0..{top}"]
    done = run("schema", "headed.csv", *given, catch=True)
    assert done.exit_code == 0, f"{done.output}{done.exception!r}"
    domain = dc.Domain.from_toml("s.toml")
    assert list(domain.names) == names
    assert domain.source.header
    assert domain.source.missing == ("?",)
    assert domain.column(class_name).categories == (">50K", "<=50K")
    assert len(domain.column(f"native{mark}country").categories) == 41


def test_a_header_that_is_not_the_codebooks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloaded(tmp_path, "invented")
    monkeypatch.chdir(tmp_path)
    Path("other.csv").write_text("weight,height\n80,180\n")
    done = run("schema", "other.csv", "--codebook", "adult.names", "--header", catch=True)
    assert "does not name the columns of 'other.csv'" in str(done.exception)
