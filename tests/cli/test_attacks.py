"""`discreet attack`, as the maker of a release uses it on files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import Result

import discreet as dc
from command_line import run
from discreet.errors import FormatError, InvalidArgument

DOMAIN = dc.Domain({"age": (0, 100), "income": (0, 1e5)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("attack")
    rng = np.random.default_rng(1)
    for name in ("data", "others"):
        rows = DOMAIN.from_unit(rng.random((400, 2)))
        csv.write_csv(pa.table({"age": rows[:, 0], "income": rows[:, 1]}), place / f"{name}.csv")
        if name == "data":
            for label, epsilon in (("noisy", 500), ("hidden", 0.001)):
                z = dc.metric.NDLaplace(epsilon=epsilon, radius=0.1, domain=DOMAIN, random_state=1).transform(rows)
                csv.write_csv(pa.table({"age": z[:, 0], "income": z[:, 1]}), place / f"{label}.csv")
            dc.GridSynopsis(epsilon=1e6, domain=DOMAIN, rule=80, random_state=1).fit(rows).synopsis_.save(
                place / "s.parquet"
            )
    DOMAIN.to_toml(place / "schema.toml")
    return place


def attack(folder: Path, released: str, *extra: object) -> Result:
    files = ["--against", folder / "data.csv", "--control", folder / "others.csv", "--seed", 1]
    return run("attack", folder / released, *files, *extra)


def points(folder: Path, released: str, epsilon: float, *extra: object) -> Result:
    return attack(folder, released, "--schema", folder / "schema.toml", "--epsilon", epsilon, "--radius", 0.1, *extra)


def test_a_table_for_people(folder: Path) -> None:
    result = points(folder, "noisy.csv", 500)
    assert result.exit_code == 0, result.output
    for text in ("advantage", "on the control group", "baseline", "400 people in the release, 200 others"):
        assert text in result.output
    assert "does better than chance" in result.output


def test_json_for_programs(folder: Path) -> None:
    found = json.loads(points(folder, "noisy.csv", 500, "--json").output)
    assert found["advantage"] > 0.7
    assert found["advantage_interval"][0] < found["advantage"] < found["advantage_interval"][1]
    hidden = json.loads(points(folder, "hidden.csv", 0.001, "--json").output)
    assert hidden["advantage_interval"][0] <= 0 <= hidden["advantage_interval"][1]


def test_the_other_methods(folder: Path) -> None:
    found = json.loads(points(folder, "noisy.csv", 500, "--method", "reconstruction", "--json").output)
    assert found["on_released"]["rate"] == 1
    assert found["relative_to_prior"] < 0.01
    told = json.loads(points(folder, "noisy.csv", 500, "--method", "attribute", "--column", "income", "--json").output)
    assert told["gain"] > 0.5
    text = points(folder, "hidden.csv", 0.001, "--method", "reconstruction").output
    assert "no better than chance" in text


def test_a_synopsis_and_centres(folder: Path) -> None:
    found = json.loads(attack(folder, "s.parquet", "--kind", "synopsis", "--json").output)
    assert found["advantage"] > 0.7
    some = attack(folder, "data.csv", "--kind", "centers", "--schema", folder / "schema.toml", "--json")
    assert json.loads(some.output)["kind"] == "centers"


def test_what_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="--epsilon must be given"):
        attack(folder, "noisy.csv", "--schema", folder / "schema.toml")
    with pytest.raises(InvalidArgument, match="--schema must be given"):
        attack(folder, "noisy.csv")
    with pytest.raises(InvalidArgument, match="--column must be the column"):
        points(folder, "noisy.csv", 500, "--method", "attribute")
    with pytest.raises(InvalidArgument, match="--kind must be points"):
        attack(folder, "s.parquet", "--kind", "synopsis", "--method", "reconstruction")
    with pytest.raises(InvalidArgument, match="--method must be one of"):
        points(folder, "noisy.csv", 500, "--method", "magic")


def test_an_anonymous_table_is_recognised_before_options_are_asked_for(folder: Path) -> None:
    words = ["anonymize", folder / "data.csv", "--schema", folder / "schema.toml", "-k", 5]
    assert run(*words, "-o", folder / "anonymous.csv").exit_code == 0
    with pytest.raises(FormatError, match=r"--qi age,income.*docs/risk\.md") as caught:
        run("attack", folder / "anonymous.csv", "--against", folder / "data.csv")
    assert str(caught.value).startswith("anonymous.csv is an anonymous table, which attack cannot use")
