"""From a CSV file to a published synopsis and its clusters on the command line, as a data steward would go."""

from __future__ import annotations

import csv
import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import exit_code, output
from discreet.errors import DiscreetError
from discreet.synopses import BoxSynopsis, Synopsis
from small_tables import write_table

SCHEMA = "[columns.age]\nbounds = [0, 120]\n\n[columns.cost]\nbounds = [0, 100]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_table(tmp_path, dc.datasets.patients(n=3000).to_arrow(), SCHEMA)


def release(folder: Path, *options: object, name: str = "s.parquet") -> str:
    place = ["--schema", folder / "schema.toml", "-o", folder / name]
    return output("synopsis", folder / "people.csv", *place, *options)


def test_from_a_table_to_centres(folder: Path) -> None:
    told = release(folder, "--epsilon", 1)
    for words in ("Guarantee", "1-differential privacy", "Ledger", "number of rows", "File "):
        assert words in told
    assert "Do not publish" not in told
    s = Synopsis.load(folder / "s.parquet")
    assert s.guarantee.epsilon == 1
    assert not s.guarantee.seeded
    assert s.total == pytest.approx(3000, abs=500)
    told = output("cluster", folder / "s.parquet", "-k", 15, "-o", folder / "centers.csv")
    assert "15 centres" in told
    with (folder / "centers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    assert set(rows[0]) == {"age", "cost", "weight", "weight_std_error"}
    assert all(0 <= float(row["age"]) <= 120 for row in rows)
    assert sorted(p.name for p in folder.iterdir()) == ["centers.csv", "people.csv", "s.parquet", "schema.toml"]


def test_rows_that_cannot_be_read_are_spoken_of_whether_there_are_any_or_not(folder: Path) -> None:
    words = "compare with your own number of rows"
    assert words in " ".join(release(folder, "--epsilon", 1).split())
    (folder / "people.csv").write_text("age,cost\n" + '30,"88,00"\n' * 50)
    assert words in " ".join(release(folder, "--epsilon", 1, name="t.parquet").split())
    (folder / "schema.toml").write_text(SCHEMA.replace("bounds", 'missing = "own"\nbounds'))
    assert words not in " ".join(release(folder, "--epsilon", 1, name="u.parquet").split())


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "grid", "--rule", "12"],
        ["--method", "grid", "--rule", "eugkm", "--rows", "3000"],
        ["--method", "grid", "--rule", "rugnik", "--n-clusters", "5"],
        ["--method", "tree", "--partitioner", "median", "--max-depth", "5"],
        ["--method", "tree"],
    ],
)
def test_each_method_gives_a_file_and_its_figures(options: list[str], folder: Path) -> None:
    figures = json.loads(release(folder, "--epsilon", 0.5, "--json", "--seed", 4, *options))
    s = Synopsis.load(folder / "s.parquet")
    assert figures["leaves"] == s.n_leaves
    assert figures["digest"] == s.digest
    assert figures["epsilon"] == 0.5
    assert figures["seeded"] is True
    assert figures["rows"] == pytest.approx(3000, abs=1500)
    if "12" in options:
        assert s.n_leaves == 144
    if "--rows" in options:
        assert any("public" in text for text in s.guarantee.assumptions)
    again = json.loads(release(folder, "--epsilon", 0.5, "--json", "--seed", 4, *options, name="again.parquet"))
    assert again["digest"] == figures["digest"]


def test_a_seed_is_told_in_every_way(folder: Path) -> None:
    told = release(folder, "--epsilon", 1, "--seed", 3)
    assert "Do not publish" in told
    assert "Do not publish" in output("cluster", folder / "s.parquet", "-k", 3)
    assert json.loads(output("cluster", folder / "s.parquet", "-k", 3, "--json"))["seeded"] is True


def test_clusters_as_json(folder: Path) -> None:
    release(folder, "--epsilon", 2)
    found = json.loads(output("cluster", folder / "s.parquet", "-k", 4, "--json"))
    assert found["columns"] == ["age", "cost"]
    assert len(found["centers"]) == len(found["weights"]) == 4
    assert found["epsilon"] == 2
    assert found["file"] is None


def handmade(path: Path, weights: list[int], **domain: Any) -> None:
    columns = domain or {"x": (0, 1)}
    n, d = len(weights), len(columns)
    BoxSynopsis(
        dc.Domain(columns),
        lower=[[i / n] * d for i in range(n)],
        upper=[[(i + 1) / n] * d for i in range(n)],
        weights=weights,
        variances=[1.0] * n,
        guarantee=dc.Guarantee("central"),
    ).save(path)


def test_more_centres_than_leaves_is_said_plainly(tmp_path: Path) -> None:
    handmade(tmp_path / "s.parquet", [50, 60])
    assert "Note:" in output("cluster", tmp_path / "s.parquet", "-k", 9)


def test_a_column_called_weight_keeps_its_name(tmp_path: Path) -> None:
    handmade(tmp_path / "s.parquet", [50, 60, 70], weight=(0, 1))
    output("cluster", tmp_path / "s.parquet", "-k", 2, "-o", tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().splitlines()[0].replace('"', "") == "weight,weight_,weight_std_error"


# The schema draft


def test_a_draft_names_the_columns_and_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('age,"yearly ""cost"", euro",,age,größe\n35,7,x,1,2\n')
    told = output("schema", tmp_path / "people.csv", "--header", "-o", tmp_path / "schema.toml")
    assert "4 columns" in told
    text = (tmp_path / "schema.toml").read_text()
    assert list(tomllib.loads(text)["columns"]) == ["age", 'yearly "cost", euro', "age_2", "größe"]
    assert all(not declared for declared in tomllib.loads(text)["columns"].values())
    assert "Column 3 has no name" in text
    assert "Later ones are numbered" in text
    assert "35" not in text.replace(str(tmp_path), "")
    with pytest.raises(DiscreetError, match="must declare either 'bounds' or 'categories'"):
        dc.Domain.from_toml(tmp_path / "schema.toml")
    filled = text.replace("= {}", "= {bounds = [0, 120]}")
    assert dc.Domain.from_toml(filled).names == ("age", 'yearly "cost", euro', "age_2", "größe")
    with pytest.raises(DiscreetError, match="already exists"):
        output("schema", tmp_path / "people.csv", "--header", "-o", tmp_path / "schema.toml")


@pytest.mark.parametrize(
    "body",
    [b"", b"1,2\n3,4\n", b"\xff\xfe\x00garbage", b'"never closed,,,\n' * 50, b"\x00" * 4_000_000, b",,,,,,,,\n" * 9],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_draft_does_not_depend_on_the_rows(body: bytes, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    data = b"age,cost\n" + body
    path.write_bytes(gzip.compress(data) if packed else data)
    draft = output("schema", path)
    assert list(tomllib.loads(draft)["columns"]) == ["age", "cost"]
    path.write_bytes(gzip.compress(b"age,cost\n") if packed else b"age,cost\n")
    assert output("schema", path) == draft


def test_a_draft_of_a_parquet_file_looks_at_its_footer_only(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": list(range(1000)), "city": ["Nowhere"] * 1000}), path, write_statistics=False)
    draft = output("schema", path)
    data = bytearray(path.read_bytes())
    footer = 8 + int.from_bytes(data[-8:-4], "little")
    data[4:-footer] = b"\xaa" * len(data[4:-footer])  # every page of rows is destroyed
    path.write_bytes(bytes(data))
    assert output("schema", path) == draft
    assert list(tomllib.loads(draft)["columns"]) == ["age", "city"]
    assert json.loads(output("schema", path, "--json"))["columns"] == ["age", "city"]


# What goes wrong


def fail(capfd: pytest.CaptureFixture[str], *args: object) -> str:
    """Run the program as a user does; return the one paragraph it says."""
    assert exit_code(*args) == 2
    said = capfd.readouterr().err
    assert "Traceback" not in said
    return " ".join(said.split())


def test_mistakes_are_one_paragraph(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    base = ["synopsis", folder / "people.csv", "--schema", folder / "schema.toml"]
    out = ["-o", folder / "s.parquet"]

    def said(*args: object) -> str:
        return fail(capfd, *args)

    assert "epsilon must be a positive finite number" in said(*base, *out, "--epsilon", "-1")
    assert "method must be one of" in said(*base, *out, "--epsilon", 1, "--method", "magic")
    assert "--partitioner can only be used with --method tree" in said(
        *base, *out, "--epsilon", 1, "--partitioner", "median"
    )
    assert "--rule can only be used with --method grid" in said(
        *base, *out, "--epsilon", 1, "--method", "tree", "--rule", "3"
    )
    assert "rule" in said(*base, *out, "--epsilon", 1, "--rule", "nonsense")
    assert "cannot write" in said(*base, "-o", folder / "no" / "s.parquet", "--epsilon", 1)
    assert "no file matches" in said("synopsis", folder / "none.csv", *base[2:], *out, "--epsilon", 1)
    assert "cannot read" in said("synopsis", folder / "people.csv", "--schema", folder / "x.toml", *out, "--epsilon", 1)
    assert "is not a synopsis; for a table, give --schema" in said("cluster", folder / "people.csv", "-k", 3)
    assert "--k must" in said("cluster", release_to(folder), "-k", 0)
    assert "no file matches" in said("schema", folder / "none.csv")
    (folder / "schema.toml").write_text("columns = 3")
    assert "[columns.NAME]" in said(*base, *out, "--epsilon", 1)  # brackets are not taken for colours
    assert not (folder / "s.parquet").exists()


def release_to(folder: Path) -> Path:
    handmade(folder / "hand.parquet", [1, 2])
    return folder / "hand.parquet"


@pytest.mark.parametrize("verb", ["synopsis", "cluster", "schema"])
def test_every_verb_shows_an_example(verb: str) -> None:
    told = output(verb, "--help")
    assert f"Example:  discreet {verb}" in told
    assert "--json" in told


def test_a_synopsis_of_some_columns_still_knows_whose_rows_they_are(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,age,cost\n" + "a,30,5\nb,40,6\n" * 50)
    (tmp_path / "s.toml").write_text(
        '[columns]\nwho = {role = "person"}\nage = {bounds = [0, 120]}\ncost = {bounds = [0, 9]}\n'
    )
    given = {"epsilon": 1, "columns": ["cost"], "rule": 4}
    job = dc.Job("synopsis", "t.csv", "s.toml", given, {"release": "s.parquet"}, tmp_path)
    with pytest.raises(dc.errors.DiscreetError, match="names a person"):
        job.run()
    made = dc.Job("synopsis", "t.csv", "s.toml", {**given, "unit": "row"}, {"release": "s.parquet"}, tmp_path).run()
    assert made.artifact.domain.names == ("cost",)
    with pytest.raises(dc.errors.InvalidArgument, match=r"columns must be declared columns \(age, cost\), got 'x'"):
        dc.Job("synopsis", "t.csv", "s.toml", {**given, "columns": ["x"]}, {"release": "s.parquet"}, tmp_path).check()
