"""The summary in the terminal names disclosed values, omitted rows and measured columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from small_tables import write_table

SCHEMA = """
[columns.age]
bounds = [0, 120]
role = "quasi-identifier"
[columns.zip]
categories = ["10", "20"]
role = "quasi-identifier"
[columns.ill]
categories = ["no", "yes"]
role = "sensitive"
"""


@pytest.fixture
def folder(workdir: Path) -> Path:
    rows = ["30,10,no\n"] * 50 + ["80,20,yes\n", "80,20,no\n"] * 25 + [",10,no\n"] * 7
    return write_table(workdir, "age,zip,ill\n" + "".join(rows), SCHEMA)


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as left:
        main([*words])
    assert int(left.value.code or 0) == code
    return " ".join(capsys.readouterr().out.split())


ANONYMIZE = ("anonymize", "people.csv", "--schema", "schema.toml", "--k", "5", "-o", "safe.csv")


def test_groups_that_give_a_value_away_are_told_with_what_helps(folder: Path, capsys: Any) -> None:
    text = said(capsys, *ANONYMIZE)
    assert "50.0 % of the rows are in groups that reveal ill" in text
    assert "Try --l 2." in text
    assert "give their" not in said(capsys, *ANONYMIZE, "--l", "2")
    assert "Try --method density-tree --l 2." in said(capsys, *ANONYMIZE, "--method", "microaggregation")


def test_rows_left_out_have_a_reason(folder: Path, capsys: Any) -> None:
    text = said(capsys, *ANONYMIZE)
    assert "7 rows were left out for missing values" in text
    assert 'To keep rows with missing values, declare missing = "own"' in text
    Path("schema.toml").write_text(SCHEMA.replace('"quasi-identifier"', '"quasi-identifier"\nmissing = "own"', 1))
    text = said(capsys, *ANONYMIZE)
    assert "no row was left out" in text
    assert "keeps rows" not in text


@pytest.mark.parametrize("more", [[], ["--bounds"]])
def test_the_risk_of_a_release_is_measured_by_the_columns_of_its_promise(
    folder: Path, capsys: Any, more: list[str]
) -> None:
    said(capsys, *ANONYMIZE, *more)
    told = json.loads(said(capsys, "risk", "safe.csv", "--json"))
    columns = ["age_lower", "age_upper", "zip_set"] if more else ["age", "zip"]
    assert told["k"] >= 5
    assert told["sensitive"]["ill"]["homogeneous"] == 0.5
    assert f"measured by the quasi-identifiers {', '.join(columns)}" in told["notes"]
    named = json.loads(said(capsys, "risk", "safe.csv", "--qi", ",".join(columns), "--sensitive", "ill", "--json"))
    assert (named["k"], named["classes"]) == (told["k"], told["classes"])
    Path("safe.csv.guarantee.json").write_text("{")
    said(capsys, "risk", "safe.csv", code=2)


def test_a_sensitive_column_that_is_blank_everywhere_is_not_said_to_be_revealed(
    workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = SCHEMA.replace('categories = ["no", "yes"]', 'bounds = [0, 9]\nmissing = "own"')
    write_table(workdir, "age,zip,ill\n" + '30,10,"5,5"\n' * 50, schema)
    told = said(capsys, *ANONYMIZE)
    assert "ill is blank in every row: it was missing there, or not as declared." in told
    assert "reveal" not in told


def test_rows_beyond_the_bound_per_person_are_counted_alike_when_a_release_is_asked_for_again(
    workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"p{i % 20},30,10,no\n" for i in range(53))
    write_table(workdir, "who,age,zip,ill\n" + rows, SCHEMA + '[columns.who]\nrole = "person"\n')
    said(capsys, "account", "create", "people.account", "--dataset", "people", "--epsilon", "1", "--person", "who")
    for told in ("Listed as entry 1", "this is entry 1 again"):
        text = said(capsys, *ANONYMIZE, "--most-rows", "2", "--account", "people.account")
        assert "40 rows in 1 group; 13 rows were left out because their person has more" in text
        assert told in text
