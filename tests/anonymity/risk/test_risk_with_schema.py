"""`risk` reads a table as its schema declares: whose rows they are, marks of missing values, the population's marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import Result

import discreet as dc
from command_line import run
from discreet.core.schema.dialect import Dialect

SCHEMA = """
[source]
delimiter = ";"
decimal = ","
missing = ["-999", "?", "01.01.1900"]
dates = ["%d.%m.%Y"]

[columns]
age = {bounds = [0, 120], role = "quasi-identifier"}
zip = {bounds = [0, 999], role = "quasi-identifier"}
"""
TWO = 'patient = {role = "person"}\nfamily = {role = "person"}\n'


def risk(*arguments: object) -> Result:
    return run("risk", *map(str, arguments))


def test_two_columns_of_persons_are_refused_and_one_may_be_named(tmp_path: Path) -> None:
    table, schema = tmp_path / "t.csv", tmp_path / "schema.toml"
    table.write_text("age;zip;patient;family\n" + "30;100;1;9\n40;200;2;9\n" * 6)
    schema.write_text(SCHEMA + TWO)
    with pytest.raises(dc.errors.SchemaError, match="'patient', 'family' are all declared person") as refused:
        dc.Job("risk", str(table), schema=str(schema), parameters={"require": {"k": 5}}).check()
    assert "person" in str(refused.value)
    said = run("risk", table, "--schema", schema, "--require", "k=5", catch=True)
    assert said.exit_code != 0
    named = risk(table, "--schema", schema, "--person", "patient", "--require", "k=5", "--json")
    assert named.exit_code == 1
    assert json.loads(named.stdout)["k"] == 1
    schema.write_text(SCHEMA + TWO.splitlines()[0] + "\n")
    assert json.loads(risk(table, "--schema", schema, "--json").stdout)["k"] == 1


@pytest.mark.parametrize(
    "ages",
    [
        pa.array([-999, -999, 5, 6]),
        pa.array([-999.0, -999.0, 5.0, 6.5]),
        pa.array(["-999", " -999,0", "5", "6"]),
        pa.array(["?", "-999", "true", "6"]),
        pa.array(["01.01.1900", "1900-01-01", "02.01.1900", "6"]),
        pd.Series([-999, "-999,00", 5, "x"], dtype=object),
        pa.array(["", None, "5", "6"]),
    ],
    ids=["int", "float", "text", "words", "dates", "objects", "empty"],
)
def test_marks_of_missing_values_count_by_value(ages: Any) -> None:
    dialect = Dialect(decimal=",", missing=["-999", "?", "01.01.1900"], dates=["%d.%m.%Y"])
    frame = pd.DataFrame({"age": ages}) if isinstance(ages, pd.Series) else pa.table({"age": ages})
    report = dc.anonymity.risk(dc.engines.open(frame, dialect=dialect), ["age"], missing="drop")
    assert (report.rows, report.classes) == (2, 2)


def test_whole_numbers_beyond_doubles_are_distinguished() -> None:
    table = pa.table({"age": [2**53, 2**53 + 1, 2**53 + 2, -1]})
    source = dc.engines.open(table, dialect=Dialect(missing=[str(2**53 + 1), "-1.0"]))
    assert dc.anonymity.risk(source, ["age"], missing="drop").rows == 2


def test_an_empty_field_is_missing_and_the_population_is_written_alike(tmp_path: Path) -> None:
    table, people, schema = tmp_path / "t.csv", tmp_path / "people.csv", tmp_path / "schema.toml"
    schema.write_text(SCHEMA)
    table.write_text("age;zip\n-999;1\n-999,0;1\n;1\n?;1\n5;1\n")
    dropped = json.loads(risk(table, "--schema", schema, "--missing", "drop", "--json").stdout)
    assert dropped["rows"] == 1
    people.write_text("zip;name;age\n" + "1;ann;5\n" * 7 + "1;bob;\n" * 9)
    asked = ("--schema", schema, "--population", people, "--json")
    assert json.loads(risk(table, "--missing", "drop", *asked).stdout)["k_map"] == 7
    assert json.loads(risk(table, *asked).stdout)["k_map"] == 7


def test_a_population_that_is_a_release_is_read_as_releases_are_written(tmp_path: Path) -> None:
    table, people, schema = tmp_path / "t.csv", tmp_path / "people.csv", tmp_path / "schema.toml"
    schema.write_text(SCHEMA)
    table.write_text("age;zip\n5;1\n")
    people.write_text('"age","zip"\n' + "5,1\n" * 3)
    (tmp_path / "people.csv.guarantee.json").write_text("{}")
    found = json.loads(risk(table, "--schema", schema, "--population", people, "--json").stdout)
    assert found["k_map"] == 3


def test_numbers_have_an_order_in_a_csv_file_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [30] * 6 + [40] * 6, "cost": [1, 2, 3, 4, 5, None, 1, 1, 1, 5, 6, 70]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    typed, written = (
        dc.anonymity.risk(table, ["age"], ["cost"]).to_dict()["sensitive"] for table in (frame, tmp_path / "t.csv")
    )
    assert typed["cost"]["t_ordered"] is not None
    assert written == typed
    words = frame.assign(cost=[f"c{v}" for v in frame.cost])
    words.to_csv(tmp_path / "w.csv", index=False)
    assert dc.anonymity.risk(tmp_path / "w.csv", ["age"], ["cost"]).sensitive["cost"].t_ordered is None


def test_a_requirement_of_k_counts_persons_where_the_schema_names_them(tmp_path: Path) -> None:
    """A release has no person column: its promise says how many persons a group has. Without one, that is not known."""
    table, schema, safe = tmp_path / "t.csv", tmp_path / "schema.toml", tmp_path / "safe.csv"
    table.write_text("age;zip;patient\n" + "".join(f"{30 + i % 2};100;{i // 3}\n" for i in range(60)))
    schema.write_text(SCHEMA + 'patient = {role = "person"}\n')
    assert run("anonymize", table, "--schema", schema, "-k", 5, "-o", safe).exit_code == 0
    promised = json.loads((tmp_path / "safe.csv.guarantee.json").read_text())["parameters"]["reached"]["k"]
    rows = json.loads(risk(safe, "--schema", schema, "--json").stdout)["k"]
    assert promised < rows
    met = risk(safe, "--schema", schema, "--require", f"k={promised}")
    assert (met.exit_code, f"Met: k={promised} (k counts persons" in met.stdout) == (0, True)
    for required in (f"k={rows}", f"prosecutor={1 / rows}"):
        failed = risk(safe, "--schema", schema, "--require", required)
        assert (failed.exit_code, " of persons is " in failed.stdout) == (1, True)
    (tmp_path / "safe.csv.guarantee.json").unlink()
    unknown = risk(safe, "--schema", schema, "--require", "k=2")
    assert unknown.exit_code == 1
    assert f"k of persons is not known, and at most {rows}" in " ".join(unknown.stdout.split())
    assert "(k counts persons)" in risk(table, "--schema", schema, "--require", "k=2").stdout
