"""Files as people export them, and declarations as they mistype them: told before any budget is spent."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli import app

pytestmark = pytest.mark.usefixtures("few_steps")

AGES = ["34 years", "51 years", "28 years", "40", "33 years"]
SMOKER = ["yes", "Yes", "Y", "n", "unknown"]


def _run(capsys: pytest.CaptureFixture[str], *words: Any, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        app.main([str(w) for w in words])
    said = capsys.readouterr()
    assert end.value.code == code, said.err
    return " ".join((said.out if not code else said.err).replace("│", " ").split())


def _schema(capsys: pytest.CaptureFixture[str], table: Path, *words: Any) -> dict[str, Any]:
    made = table.with_name("s.toml")
    made.unlink(missing_ok=True)
    _run(capsys, "schema", table, *words, "-o", made)
    return tomllib.loads(made.read_text())


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.csv"
    rows = [f"{AGES[i % 5]},{SMOKER[i % 5]},{'' if i % 2 else i % 7},-999.0" for i in range(60)]
    path.write_text("Age of mother,Smoker,Visits,Score\n" + "\n".join(rows) + "\n")
    (tmp_path / "s.toml").write_text(
        '[source]\nmissing = ["-999"]\n[columns]\n"Age of mother" = {bounds = [10, 60]}\n'
        'Smoker = {categories = ["yes", "no"]}\nVisits = {bounds = [0, 20]}\nScore = {bounds = [0, 9]}\n'
    )
    return path


def test_a_check_that_may_look_names_the_columns_it_can_hardly_read(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("schema", "check", clinic.with_name("s.toml"), clinic, "--look", 50)
    said = _run(capsys, *words)
    assert "Age of mother: few values in the first 50 rows can be read as declared" in said
    assert "Smoker: few values" in said
    assert "including capitals" in said
    assert "Visits" not in said  # gaps are gaps
    for value in ("34", "years", "unknown", "Yes"):
        assert value not in said.replace(str(clinic.parent), "")
    found = json.loads(_run(capsys, *words, "--json"))
    assert found["partly"] == {"Age of mother": "most", "Smoker": "most"}
    assert found["unread"] == ["Score"]
    text = clinic.with_name("s.toml").read_text().replace('["-999"]', '["-999"]\nmarks = ["years"]')
    clinic.with_name("s.toml").write_text(text.replace('"yes", "no"', '"yes", "Yes", "Y", "n"'))
    assert json.loads(_run(capsys, *words, "--json"))["partly"] == {"Smoker": "many"}  # one in five
    assert "Smoker: many values in the first 50 rows cannot be read" in _run(capsys, *words)
    assert "few values" not in _run(capsys, *words[:-2])  # not without a word


def test_an_undeclared_thousands_mark_and_a_typed_file_are_checked_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    table.write_text("fee\n" + "1,250\n900\n".join("" for _ in range(20)).replace("1,250", '"1,250"') + "\n")
    schema.write_text("[columns]\nfee = {bounds = [0, 9000]}\n")
    words = ("schema", "check", schema, table, "--look", 20, "--json")
    assert json.loads(_run(capsys, *words))["partly"] == {"fee": "many"}
    schema.write_text('[source]\nthousands = ","\n' + schema.read_text())
    assert json.loads(_run(capsys, *words))["partly"] == {}
    stored = tmp_path / "t.parquet"
    pq.write_table(pa.table({"fee": [1.0, float("nan"), None, 3.0], "town": ["ulm", "Ulm", None, "bonn"]}), stored)
    schema.write_text('[columns]\nfee = {bounds = [0, 9000]}\ntown = {categories = ["ulm", "bonn"]}\n')
    assert json.loads(_run(capsys, "schema", "check", schema, stored, "--look", 9, "--json"))["partly"] == {
        "town": "many"
    }


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("Patient,Age,Länge,Smoker,Age of mother,Date,fee\n7,34,8.4,yes,30,1.1.1980,3\n", encoding="utf-8")
    return path


def test_what_is_declared_replaces_only_what_it_names(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _schema(
        capsys, people, "--known", "--declare", "Age=sensitive", "--declare", "Länge=-74.3:-73.7"
    )["columns"]  # fmt: skip
    assert found["Age"] == {"kind": "integer", "bounds": [0, 125], "role": "sensitive"}
    assert found["Länge"] == {"bounds": [-74.3, -73.7], "role": "quasi-identifier"}
    # Bounds, kind and categories are one thing: whole numbers that became a list are whole numbers no longer.
    found = _schema(capsys, people, "--known", "--declare", "Age=young,old", "--declare", "Länge=0:9")["columns"]
    assert found["Age"] == {"categories": ["young", "old"], "role": "quasi-identifier"}
    found = _schema(capsys, people, "--declare", "Age=0..9", "--declare", "Age=0:1.5", "--declare", "Age=target")
    assert found["columns"]["Age"] == {"bounds": [0, 1.5], "role": "target"}


def test_a_role_alone_declares_no_values_and_the_summary_says_so(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = people.with_name("s.toml")
    said = _run(capsys, "schema", people, "--declare", "Age=quasi-identifier", "--declare", "Smoker=boolean",
                "-o", schema)  # fmt: skip
    assert "Declare Patient, Age, Länge, Age of mother, Date, fee, then:" in said
    line = next(text for text in schema.read_text().splitlines() if text.startswith("Age = "))
    assert line.startswith('Age = {role = "quasi-identifier"}   # known by name: kind = "integer", bounds = [0, 125] (')
    assert "6 of 7 columns must declare" in _run(capsys, "schema", "check", schema, code=2)
    schema.write_text("[columns]\nAge = {}\nfee = {bounds = [0, 9]}\n")
    assert "1 of 2 columns must declare either 'bounds' or 'categories' and does not yet (Age)" in _run(
        capsys, "schema", "check", schema, code=2
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Age of mother=10-60", "Age of mother=10..60"),
        ("Age=10 to 60", "Age=10..60"),
        ("fee=0.5..1.5", "fee=0.5:1.5"),
        ("fee=0,5:1,5", "fee=0.5:1.5"),
        ("Date=1.1.1980:31.12.1999", "Date=1980-01-01:1999-12-31"),
        ("Date=1/1/1980-31/12/1999", "Date=1980-01-01:1999-12-31"),
        ("Date=1980-1-1:1999-12-31", "Date=1980-01-01:1999-12-31"),
        ("Date=date", "Date=2020-01-01:2029-12-31"),
        ("Smoker=yes/no", "Smoker=yes,no"),
        ("Smoker=Boolean", "Smoker=boolean"),
        ("Age=integer", "Age=0..120"),
        ("fee=quasi-identifer", "fee=quasi-identifier"),
        ("Patient=person:many", "Patient=person:8"),
        ("fee=0:", "fee=0..120"),
    ],
)
def test_a_mistyped_declaration_is_no_category(
    typed: str, meant: str, people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _run(capsys, "schema", people, "--declare", typed, code=2)
    words = shlex.split(said.rpartition("; try ")[2])
    assert words == ["--declare", meant]
    name = meant.partition("=")[0]
    assert _schema(capsys, people, *words)["columns"][name] != {"categories": [typed.partition("=")[2]]}


def test_lists_may_hold_what_one_category_may_not(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("18-24,25-34", "0-9,10", "a/b,c", "integer,real"):
        found = _schema(capsys, people, "--declare", f"Age={value}")["columns"]["Age"]
        assert found == {"categories": value.split(",")}
    assert _schema(capsys, people, "--declare", "Smoker=boolean")["columns"]["Smoker"] == {"kind": "boolean"}


def test_dates_with_a_time_of_day_are_proposed_as_they_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    rows = ["12.10.2010 00:21;03/25/2011 7:05:59", "1.2.2011;04/02/2011 17:05:00"]
    table.write_text("in;out\n" + "\n".join(rows * 3) + "\n")
    found = _schema(capsys, table, "--look", 6)
    assert found["source"]["dates"] == ["%d.%m.%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M:%S"]
    assert found["columns"] == {"in": {"kind": "date"}, "out": {"kind": "date"}}
    schema = tmp_path / "s.toml"
    schema.write_text(schema.read_text().replace('"date"', '"date", bounds = [2010-01-01, 2012-12-31]'))
    checked = json.loads(_run(capsys, "schema", "check", schema, table, "--look", 6, "--json"))
    assert (checked["unread"], checked["partly"]) == ([], {})
    with pytest.raises(dc.errors.DiscreetError, match="%S where a time of day is written too"):
        dc.Domain({"in": (0, 1)}, source={"dates": ["%d.%m"]})


def test_plain_decimals_do_not_outvote_groups_of_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x;y;fee\n" + "7,11;8,11;1.211,50 €\n" * 5)
    source = _schema(capsys, table, "--look", 5)["source"]
    assert (source["decimal"], source["thousands"], source["marks"]) == (",", ".", ["€"])
    table.write_text('x;y;fee\n7.11;8.11;"1,211.50"\n')
    source = _schema(capsys, table, "--look", 5)["source"]
    assert source["thousands"] == ","
    assert "decimal" not in source
    # Three digits behind a mark may be either: another column tells, or else the delimiter.
    for lines, marks in {
        "x,y\n1.5,1.137\n2.5,2.138\n": (".", ""),
        "y,z\n1.137,0.250\n2.138,0.125\n": (".", ""),
        'x,y\n1.5,"1,137"\n2.5,345\n': (".", ","),
        "x;y\n1,5;1.137\n2,5;345\n": (",", "."),
        "x;y\na;1.137\nb;2.138\n": (",", "."),
        "x;y\na;1,137\nb;2,138\n": (",", ""),
        'x,y\na,"1,137"\nb,"2,138"\n': (".", ","),
        "x;y\na;1.137.000\nb;2.138\n": (",", "."),
    }.items():
        table.write_text(lines)
        source = _schema(capsys, table, "--look", 5)["source"]
        assert (source.get("decimal", "."), source.get("thousands", "")) == marks, lines


def test_a_title_above_the_table_gets_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Export"
    for row in (["Patients of the year"], ["age", "town"], [34, "Ulm"]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    plain = tmp_path / "t.csv"
    plain.write_text("Patients of the year\nage,town\n34,Ulm\n")
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("Patients of the year,\nage,town\n34,Ulm\n")
    for table, words in ((tmp_path / "t.xlsx", ("--sheet", "Export")), (plain, ())):
        assert "use --skip 1" in _run(capsys, "schema", table, *words, "-o", tmp_path / "h.toml")
        assert "# There is only one name" in (tmp_path / "h.toml").read_text()
        (tmp_path / "h.toml").unlink()
        assert list(_schema(capsys, table, *words, "--skip", 1)["columns"]) == ["age", "town"]
    assert "--skip 1" in _run(capsys, "schema", gaps, code=2)
    assert list(_schema(capsys, gaps, "--skip", 1)["columns"]) == ["age", "town"]


def test_the_next_command_names_no_unit_that_the_schema_has(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = people.with_name("s.toml")
    said = _run(capsys, "schema", people, "--declare", "Patient=person:2", "-o", schema)
    assert "discreet synthesize" in said
    assert "--person" not in said
    schema.unlink()
    said = _run(capsys, "schema", people, "--declare", "Patient=person", "-o", schema)
    assert "--person Patient --person-rows 8" in said


def test_a_name_that_occurs_twice_below_a_title_is_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Auszug,,\nAlter,Zustand,Zustand\n30,gut,Reha\n")
    assert list(_schema(capsys, table, "--skip", 1)["columns"]) == ["Alter", "Zustand", "Zustand_2"]
    assert "Several columns have one name, Zustand. Later ones are numbered" in table.with_name("s.toml").read_text()
    table.write_text("Alter,Zustand,Zustand\n30,gut,Reha\n")
    assert "may be a record" in _run(capsys, "schema", table, code=2)


def test_the_advice_to_skip_a_title_works_when_it_is_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("Report of the ward\nage,town\n31,ash\n", encoding="utf-8")
    words = ["schema", tmp_path / "t.csv", "-o", tmp_path / "s.toml"]
    said = " ".join(_run(capsys, *words).split())
    assert "use --skip 1 --force." in said
    assert "or add --force" in _run(capsys, *words, "--skip", "1", code=2)
    _run(capsys, *words, "--skip", "1", "--force")
    assert "age = " in (tmp_path / "s.toml").read_text(encoding="utf-8")
