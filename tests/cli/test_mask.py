"""`discreet mask`: values are changed, the output says what that does not promise, and accounts list it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as csv
import pytest

import discreet as dc
from command_line import printed, run
from evidence_damage import independent

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 120]
role = "quasi-identifier"
[columns.hours]
bounds = [0, 80]
role = "quasi-identifier"
[columns.illness]
categories = ["none", "asthma", "diabetes", "flu", "migraine"]
role = "sensitive"
"""
METHODS = {
    "noise": ["--alpha", "0.2"],
    "multiplicative-noise": ["--spread", "0.2"],
    "swapping": ["--p", "0.1"],
    "coding": ["--top", "age=60"],
    "sampling": ["--share", "0.2"],
}


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    csv.write_csv(dc.datasets.people(300).table, "people.csv")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def masked(*words: str) -> str:
    return str(run("mask", "people.csv", "--schema", "schema.toml", *words, "-o", "masked.csv").output)


@pytest.mark.parametrize("method", METHODS)
def test_a_masking_says_that_it_promises_nothing_and_how_many_rows_were_linked(people: Path, method: str) -> None:
    text = " ".join(masked("--method", method, *METHODS[method]).split())
    assert "This table promises nothing." in text
    assert "were linked with their originals" in text
    promise = dc.Guarantee.from_json((people / "masked.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise.model == "syntactic"
    assert promise.parameters["reached"] == {"k": None}
    assert 0 <= promise.parameters["disclosure"]["record_linkage"]["share"] <= 1
    table = csv.read_csv(people / "masked.csv")
    assert table.column_names == ["age", "hours", "illness"]  # the name is not declared and leaves nothing
    assert table.num_rows == (60 if method == "sampling" else 300)


@pytest.mark.parametrize(("method", "rule"), [("swapping", "probabilistic_k"), ("microaggregation", "k")])
def test_groups_of_k_are_a_promise(people: Path, method: str, rule: str) -> None:
    text = masked("--method", method, "--k", "5")
    assert "promises nothing" not in text
    promise = dc.Guarantee.from_json((people / "masked.csv.guarantee.json").read_text(encoding="utf-8"))
    assert promise.parameters["reached"][rule] >= 5


def test_sampled_rows_are_rows_of_the_table_and_unique_ones_are_counted(people: Path) -> None:
    masked("--method", "sampling", "--share", "0.5", "--seed", "1")
    real = csv.read_csv("people.csv").select(["age", "hours", "illness"]).to_pylist()
    drawn = csv.read_csv("masked.csv").to_pylist()
    assert len(drawn) == 150
    assert all(row in real for row in drawn)
    keys = [(row["age"], row["hours"]) for row in real]
    promise = json.loads(Path("masked.csv.guarantee.json").read_text(encoding="utf-8"))
    told = promise["parameters"]["disclosure"]["unique"]
    assert told["rows"] == sum(keys.count((row["age"], row["hours"])) == 1 for row in drawn)


def test_an_account_lists_it_once_and_a_repeated_job_returns_the_same_table(people: Path) -> None:
    run("account", "create", "a.account", "--dataset", "p", "--epsilon", "1")
    masked("--method", "noise", "--account", "a.account")
    first = Path("masked.csv").read_bytes()
    masked("--method", "noise", "--account", "a.account")
    assert Path("masked.csv").read_bytes() == first
    shown = run("account", "show", "a.account").output
    assert shown.count("masked.csv") == 1
    assert "1 masked table" in shown


def test_wrong_words_are_refused_with_what_works(people: Path) -> None:
    def refused(*words: str) -> str:
        done = run("mask", "people.csv", "--schema", "schema.toml", *words, "-o", "m.csv", catch=True)
        assert not Path("m.csv").exists()
        return str(done.exception)

    assert "declares a threshold" in refused("--method", "coding")
    assert "correlated" in refused("--method", "noise", "--kind", "normal")
    assert "share" in refused("--method", "sampling", "--share", "2")


def test_page_account_and_verdict_do_not_call_a_masked_table_anonymous(people: Path) -> None:
    dc.Account.create("a.account", dataset="people", epsilon=1)
    masked("--method", "noise", *METHODS["noise"], "--account", "a.account", "--report", "m.html")
    page = (people / "m.html").read_text(encoding="utf-8")
    assert "A masked table: 300 rows" in page
    assert "It promises nothing" in page
    assert "were linked with their originals by distance alone" in page
    for wrong in ("An anonymous table", "risk of being found", "information loss", "every cell is exact"):
        assert wrong not in page
    masked("--method", "noise", *METHODS["noise"], "--account", "a.account", "--report", "de.html", "--language", "de")
    german = (people / "de.html").read_text(encoding="utf-8")
    assert "Eine veränderte (maskierte) Tabelle: 300 Zeilen" in german
    assert "A better attack" not in german
    said = " ".join(str(run("account", "show", "a.account").output).split())
    assert "1 masked table: promises nothing." in said
    assert "anonymous" not in said
    for found in (run("verify", "masked.csv", "--page", "m.html"), run("verify", "masked.csv")):
        assert found.exit_code == 0
        assert found.output.splitlines()[0] == "Verdict: unchanged; it promises nothing"
    assert json.loads(run("verify", "masked.csv", "--json").output)["promises"][0]["nothing"] is True
    found = independent().verify(["masked.csv"])
    assert (found.code, found.promises[0]["nothing"]) == (2, True)  # it does not look at every cell


def test_an_account_tells_masked_tables_from_anonymous_ones(people: Path) -> None:
    dc.Account.create("a.account", dataset="people", epsilon=1)
    masked("--method", "noise", *METHODS["noise"], "--account", "a.account")
    run("anonymize", "people.csv", "--schema", "schema.toml", "--k", "5", "--account", "a.account", "-o", "k.csv")
    said = " ".join(str(run("account", "show", "a.account").output).split())
    assert "1 masked table: promises nothing." in said
    assert "1 anonymous table: no epsilon." in said
    assert "are anonymous or masked tables" in said
    # Two files, one of which promises something.
    assert run("verify", "k.csv", "masked.csv").output.splitlines()[0] == "Verdict: holds; masked.csv: no promise"


def test_columns_that_noise_cannot_change_are_all_named_with_a_method_that_can(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suggestion works when it is typed."""
    lists = '[columns.sex]\ncategories = ["f", "m"]\nrole = "quasi-identifier"\n'
    lists += '[columns.town]\ncategories = ["a", "b"]\nrole = "quasi-identifier"\n'
    Path("schema.toml").write_text(SCHEMA + lists, encoding="utf-8")
    table = csv.read_csv("people.csv").select(["age", "hours", "illness"])
    for name, values in (("sex", ["f", "m", "m"]), ("town", ["a", "b", "b"])):
        table = table.append_column(name, [values * 100])
    csv.write_csv(table, "people.csv")
    words = ["mask", "people.csv", "--schema", "schema.toml", "-o", "masked.csv", "--method"]
    said = printed(capsys, *words, "noise", code=2)
    assert "['sex', 'town']" in said
    assert "try --method swapping, or without the role quasi-identifier of 'sex', 'town' in the schema" in said
    assert "keep" not in said
    printed(capsys, *words, "swapping")
    assert set(csv.read_csv("masked.csv")["sex"].to_pylist()) == {"f", "m"}
    Path("schema.toml").write_text(SCHEMA + lists.replace('role = "quasi-identifier"\n', ""), encoding="utf-8")
    printed(capsys, *words, "noise", "--keep", "sex", "--keep", "town")
    Path("schema.toml").write_text(SCHEMA + '[columns.name]\nrole = "person"\n', encoding="utf-8")
    assert "discreet anonymize" in printed(capsys, *words, "swapping", "--k", "5", code=2)
