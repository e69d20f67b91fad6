"""`discreet perturb`, as a steward with a file uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import Result

import discreet as dc
from command_line import run
from small_tables import write_table

N = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "name": [f"person {i}" for i in range(N)],
            "age": rng.normal(40, 5, N),
            "cost": rng.normal(1000, 100, N),
            "note": ["secret"] * N,
        }
    )
    domain = {"age": (0, 100), "cost": (0, 5000), "name": {"categories": ["person 0"], "role": "identifier"}}
    return write_table(tmp_path, table, dc.Domain(domain), "data.csv")


def perturb(folder: Path, *extra: object, output: str = "noisy.csv") -> Result:
    return run("perturb", folder / "data.csv", "--schema", folder / "schema.toml", "-o", folder / output, *extra)


def test_a_noisy_table_with_its_promise_next_to_it(folder: Path) -> None:
    result = perturb(folder, "--epsilon", 2, "--radius", 0.1, "--order", "input")
    assert result.exit_code == 0, result.output
    assert "Guarantee" in result.output
    assert "within a factor 7.39" in " ".join(result.output.split())
    noisy = csv.read_csv(folder / "noisy.csv")
    assert noisy.column_names == ["age", "cost"]  # no names, and nothing that was not declared
    assert noisy.num_rows == N
    raw = csv.read_csv(folder / "data.csv")
    moved = (noisy["age"].to_numpy() - raw["age"].to_numpy()) / 100
    assert moved.std() == pytest.approx(np.sqrt(3) / 20, rel=0.2)  # sqrt(n + 1)/rate along an axis
    promise = dc.Guarantee.from_json((folder / "noisy.csv.guarantee.json").read_text(encoding="utf-8"))
    assert (promise.model, promise.epsilon, promise.seeded) == ("metric", 2, False)
    assert not list(folder.glob(".noisy*"))


def test_a_seed_is_warned_of_and_json_is_plain(folder: Path) -> None:
    shown = perturb(folder, "--epsilon", 2, "--radius", 0.1, "--seed", 3)
    assert "Do not publish" in shown.output
    first = (folder / "noisy.csv").read_bytes()
    result = perturb(folder, "--epsilon", 2, "--radius", 0.1, "--seed", 3, "--json")
    assert (folder / "noisy.csv").read_bytes() == first
    facts = json.loads(result.output)
    assert facts["rows"] == N
    assert facts["guarantee"]["seeded"] is True


def test_parquet_carries_the_promise(folder: Path) -> None:
    assert perturb(folder, "--epsilon", 1, "--radius", 0.1, "--remap", "clip", output="n.parquet").exit_code == 0
    table = pq.read_table(folder / "n.parquet")
    assert table["age"].to_numpy().min() >= 0
    assert b"discreet.guarantee" in (table.schema.metadata or {})


def test_public_places_pull_the_points(folder: Path) -> None:
    rng = np.random.default_rng(2)
    public = {"age": rng.normal(40, 5, 900), "cost": rng.normal(1000, 100, 900), "weight": np.full(900, 5)}
    csv.write_csv(pa.table(public), folder / "prior.csv")
    plain = perturb(folder, "--epsilon", 1, "--radius", 0.1, "--seed", 1)
    assert plain.exit_code == 0
    before = csv.read_csv(folder / "noisy.csv")["age"].to_numpy()
    extra = ["--remap", "bayes", "--prior", folder / "prior.csv", "--seed", 1]
    result = perturb(folder, "--epsilon", 1, "--radius", 0.1, *extra)
    assert result.exit_code == 0, result.output
    after = csv.read_csv(folder / "noisy.csv")["age"].to_numpy()
    assert np.abs(after - 40).mean() < np.abs(before - 40).mean() / 2


def test_a_synopsis_is_a_prior(folder: Path) -> None:
    made = folder / "s.parquet"
    schema = folder / "numbers.toml"
    dc.Domain({"age": (0, 100), "cost": (0, 5000)}).to_toml(schema)
    run("synopsis", folder / "data.csv", "--schema", schema, "--epsilon", 1, "-o", made, "--seed", 1)
    assert perturb(folder, "--epsilon", 1, "--radius", 0.1, "--remap", "bayes", "--prior", made).exit_code == 0
    promise = json.loads((folder / "noisy.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise["parameters"]["prior"]["origin"] == "a released synopsis"


def test_places_on_the_globe_and_categories(folder: Path) -> None:
    table = pa.table({"lat": [50.0] * N, "lon": [179.9999] * N, "kind": ["a", "b"] * (N // 2)})
    csv.write_csv(table, folder / "data.csv")
    dc.Domain({"lat": (-90, 90), "lon": (-180, 180), "kind": ["a", "b"]}).to_toml(folder / "schema.toml")
    result = perturb(folder, "--epsilon", 1, "--radius", 200, "--sphere", "--category-epsilon", 1)
    assert result.exit_code == 0, result.output
    noisy = csv.read_csv(folder / "noisy.csv")
    places = np.column_stack([noisy["lat"].to_numpy(), noisy["lon"].to_numpy()])
    assert dc.metric.great_circle([50, 179.9999], places).mean() == pytest.approx(400, rel=0.15)
    assert (places[:, 1] < 0).any()
    assert set(noisy["kind"].to_pylist()) == {"a", "b"}


@pytest.mark.parametrize("method", ["piecewise", "hybrid", "duchi", "square-wave", "priv-unit"])
def test_the_rivals(folder: Path, method: str) -> None:
    result = perturb(folder, "--epsilon", 2, "--method", method)
    assert result.exit_code == 0, result.output
    assert csv.read_csv(folder / "noisy.csv").num_rows == N


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_table_in_which_not_all_is_reported_is_verified(tmp_path: Path, ending: str) -> None:
    table = pa.table({"n": [3] * 50, "at": ["12:30"] * 50})
    domain = {"n": dc.Integer(0, 10), "at": {"kind": "time", "bounds": ["00:00", "23:59"]}}
    folder, noisy = write_table(tmp_path, table, dc.Domain(domain), "data.csv"), tmp_path / f"noisy.{ending}"
    sampled = ("--epsilon", 1, "--method", "square-wave", "--attributes", "sample")
    assert perturb(folder, *sampled, output=noisy.name).exit_code == 0
    assert "Verdict: contradicted" not in (checked := run("verify", noisy)).output
    assert checked.exit_code == run("report", noisy, "-o", tmp_path / "page.html").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", 0, "--radius", 1], "epsilon must be"),
        (["--epsilon", 1], "--radius must be"),
        (["--epsilon", 1, "--radius", 1, "--method", "magic"], "method must be one of"),
        (["--epsilon", 1, "--radius", 1, "--method", "piecewise"], "--radius can only be used with"),
        (["--epsilon", 1, "--radius", 1, "--scaling", "wide"], "--scaling must be"),
        (["--epsilon", 1, "--radius", 1, "--remap", "bayes"], "prior must be"),
        (["--epsilon", 1, "--radius", 1, "--sphere"], "which column is the latitude"),
        (["--epsilon", 1, "--radius", 1, "--sphere", "--method", "duchi"], "--method must be left out"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, arguments: list[object], message: str) -> None:
    with pytest.raises(dc.errors.DiscreetError, match=message):
        perturb(folder, *arguments)
    assert not (folder / "noisy.csv").exists()


def test_a_prior_must_fit_and_the_folder_must_exist(folder: Path) -> None:
    csv.write_csv(pa.table({"age": [40.0]}), folder / "prior.csv")
    with pytest.raises(dc.errors.SchemaError, match="no column 'cost'"):
        perturb(folder, "--epsilon", 1, "--radius", 1, "--remap", "bayes", "--prior", folder / "prior.csv")
    with pytest.raises(dc.errors.DataSourceError, match="cannot write"):
        perturb(folder, "--epsilon", 1, "--radius", 1, output="nowhere/noisy.csv")


def test_what_becomes_of_missing_values_is_said_by_rule_and_never_counted(folder: Path) -> None:
    said = []
    rows = (folder / "data.csv").read_text().splitlines()
    for gaps in (0, 37):
        blanked = [",".join([*row.split(",")[:1], "", *row.split(",")[2:]]) for row in rows[1 : 1 + gaps]]
        (folder / "data.csv").write_text("\n".join([rows[0], *blanked, *rows[1 + gaps :]]) + "\n")
        shown = perturb(folder, "--epsilon", 2, "--radius", 0.1).output
        text = " ".join(shown.split("First rows")[0].split())
        assert "Missing values." in text
        assert "counts as the middle of its bounds" in text.split("Missing values.")[1]
        said.append(re.sub(r"sha256:\w+", "", text))
    assert said[0] == said[1]
