"""The verb and job `synthesize`: a CSV goes in, synthetic rows and the synopsis behind them come out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import output, run
from discreet.reporting.pages import counted
from small_tables import write_table

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 120]
[columns.town]
categories = ["n", "s", "e"]
[columns.ill]
categories = ["no", "yes"]
"""


@pytest.fixture
def folder(workdir: Path) -> Path:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 2000)
    frame = pd.DataFrame({"age": age, "town": rng.choice(list("nse"), 2000)})
    frame["ill"] = np.where(rng.random(2000) < age / 120, "yes", "no")
    return write_table(workdir, frame, SCHEMA)


def test_rows_and_synopsis_are_written(folder):
    given = ("--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-9")
    told = output("synthesize", "people.csv", *given, "--target", "ill", "-o", "safe.csv", "--report", "r.html")
    assert "It was spent on" not in told
    said = " ".join(told.split())
    assert "rows were counted" in said
    assert "sets of columns measured together" in said
    assert "Rows that cannot be read as declared are not counted" in said
    assert "All steps: discreet report safe.synopsis.parquet" in told
    assert told[told.index("Ledger") : told.index("All steps")].count("\n") <= 12  # a stage per line
    rows = pd.read_csv("safe.csv")
    assert list(rows.columns) == ["age", "town", "ill"]
    assert abs(len(rows) - 2000) < 300
    old = rows.age > 60
    assert (rows.ill[old] == "yes").mean() - (rows.ill[~old] == "yes").mean() > 0.15
    made = dc.Synopsis.load("safe.synopsis.parquet")
    assert made.guarantee.epsilon <= 1
    assert not made.guarantee.seeded
    assert (folder / "r.html").stat().st_size > 10_000
    answer = output("ask", "safe.synopsis.parquet", "ill = 'yes'")
    assert "unevenly" not in answer


def test_a_job_does_the_same(folder):
    job = dc.Job(
        "synthesize", "people.csv", schema="schema.toml",
        parameters={"epsilon": 1, "delta": 1e-9, "n": 50, "seed": 1, "columns": ["age", "ill"]},
        outputs={"table": "rows.parquet", "release": "kept.parquet"},
    )  # fmt: skip
    job.check()
    done = job.run()
    assert done.artifact.guarantee.seeded
    assert pd.read_parquet("rows.parquet").shape == (50, 2)
    assert json.loads(json.dumps(done.figures))["sampled"] == 50


def test_what_cannot_be_done_is_refused_before_rows_are_read(folder):
    given = ["--schema", "schema.toml", "--epsilon", "1", "-o", "safe.csv"]
    wrong = {"wealth": ["--target", "wealth"], "delta": ["--delta", "2"], "parquet": ["--synopsis", "s.csv"]}
    for word, more in wrong.items():
        result = run("synthesize", "people.csv", *given, *more, catch=True)
        assert result.exit_code != 0
        assert word in f"{result.output} {result.exception}"
    assert not (folder / "safe.csv").exists()


@pytest.mark.parametrize("name", ["safe.xls", "safe.json", "safe.csv.gz"])
def test_a_table_is_not_written_under_a_name_of_another_program(folder, name):
    dc.Account.create("p.account", dataset="p", epsilon=2, delta=1e-6)
    given = ["--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-9", "--account", "p.account", "-o", name]
    result = run("synthesize", "people.csv", *given, catch=True)
    assert result.exit_code != 0
    assert ".csv" in str(result.exception)
    assert ".parquet" in str(result.exception)
    assert dc.Account("p.account").spent == 0
    assert not (folder / name).exists()
    assert not (folder / "safe.synopsis.parquet").exists()


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
def test_the_rows_have_their_promise_next_to_them(folder, name):
    output("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-9", "-o", name)
    assert "synthetic rows" in output("audit", name)
    output("report", name, "-o", "page.html")
    assert "town" in (folder / "page.html").read_text(encoding="utf-8")
    promise = dc.Guarantee.from_json((folder / f"{name}.guarantee.json").read_text(encoding="utf-8"))
    assert promise.verify((folder / name).read_bytes())
    assert promise.epsilon <= 1
    with (folder / name).open("ab") as file:
        file.write(b"9,n,no\n")
    assert run("audit", name, catch=True).exit_code != 0


def test_a_draft_of_many_columns_leads_here(folder):
    (folder / "wide.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    assert "discreet synthesize wide.csv" in output("schema", "wide.csv", "-o", "wide.toml")
    assert "discreet synopsis people.csv" in output("schema", "people.csv", "-o", "few.toml")


def test_the_page_says_what_was_measured(folder):
    made = dc.MarginalSynopsis(1.0, dc.Domain.from_toml(SCHEMA), delta=1e-9, random_state=1).fit("people.csv").synopsis_
    made.save("s.parquet")
    output("report", "s.parquet", "-o", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "A model of 3 columns" in page
    assert "age by ill" in page
    assert "the model assumes" in page


@pytest.mark.usefixtures("few_steps")
def test_public_facts_go_from_the_schema_to_the_page(tmp_path, monkeypatch):
    """The schema tells them, its check repeats them, every row keeps them, promise and page name them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, sex = rng.integers(0, 100, 2000), rng.integers(0, 2, 2000)
    frame = pd.DataFrame({"age": age, "sex": np.array(["f", "m"])[sex]})
    frame["role"] = np.where(age < 20, "none", np.where(sex == 0, "wife", "husband"))
    frame.to_csv("people.csv", index=False)  # without the column that follows
    Path("schema.toml").write_text("""
[columns]
age = {kind = "integer", bounds = [0, 99]}
group = {categories = ["young", "old"]}
sex = {categories = ["f", "m"]}
role = {categories = ["none", "wife", "husband"]}

[functions.group.age]
"0..39" = "young"
"40..99" = "old"

[[impossible]]
sex = "m"
role = "wife"
""")
    assert "group is a function of age" in output("schema", "check", "schema.toml", "people.csv", "--look", "20")
    told = json.loads(output("schema", "check", "schema.toml", "--json"))
    assert told["impossible"] == [{"sex": ["m"], "role": ["wife"]}]
    command = "synthesize people.csv --schema schema.toml --epsilon 1 --seed 1 -o safe.parquet --report page.html"
    done = output(*command.split())
    rows = pd.read_parquet("safe.parquet")
    assert list(rows) == ["age", "group", "sex", "role"]
    assert (rows.group == np.where(rows.age < 40, "young", "old")).all()
    assert not ((rows.sex == "m") & (rows.role == "wife")).any()
    assert "no row has sex = m and role = wife" in Path("page.html").read_text()
    assert "Public facts used" in " ".join(done.replace("│", " ").split())
    assert "every row agrees with the declared facts" in " ".join(
        output("audit", "safe.parquet").replace("│", " ").split()
    )


def test_a_question_to_the_rows_is_sent_to_the_synopsis(folder):
    output("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-o", "safe.csv")
    refused = run("ask", "safe.csv", "age > 40", catch=True)
    assert "'safe.synopsis.parquet'" in str(refused.exception)
    assert "rows" in output("ask", "safe.synopsis.parquet", "age > 40")


@pytest.mark.usefixtures("few_steps")
def test_a_raw_table_that_was_misread_is_told_to_need_its_schema(folder):
    output("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "-o", "safe.csv")
    pd.read_csv("people.csv").to_csv("german.csv", index=False, sep=";")
    (folder / "german.toml").write_text('[source]\ndelimiter = ";"\n' + SCHEMA)
    given = ["report", "safe.csv", "--against", "german.csv", "--target", "ill", "--json"]
    refused = run(*given, catch=True)
    assert "has no column of the release; describe its file with --schema" in str(refused.exception)
    told = json.loads(output(*given, "--schema", "german.toml"))
    assert {c["column"] for c in told["comparison"]["columns"]} == {"age", "town", "ill"}


def test_pairs_of_columns_are_distinguished_next_to_their_bars():
    name = "marital_status by relationship"
    picture, _ = counted.drawn([{"columns": name, "dependence": 0.5}])[0]
    assert f">{name}</text>" in picture


def test_the_target_of_the_schema_is_the_target(folder):
    """A role that is declared and has no effect would cost accuracy in silence."""
    (folder / "target.toml").write_text(SCHEMA + 'role = "target"\n')
    output("synthesize", "people.csv", "--schema", "target.toml", "--epsilon", "1", "-o", "safe.csv")
    assert dc.Synopsis.load("safe.synopsis.parquet").guarantee.parameters["target"] == "ill"
    output(
        "synthesize", "people.csv", "--schema", "target.toml", "--epsilon", "1", "--target", "town", "-o", "safe.csv"
    )
    assert dc.Synopsis.load("safe.synopsis.parquet").guarantee.parameters["target"] == "town"


def test_more_rows_of_a_release_cost_nothing(folder):
    """Rows are drawn from what is published already: another number of them is not another release."""
    account = dc.Account.create(folder / "a.account", dataset="people", epsilon=3, delta=1e-5)
    given = ("--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-9", "--account", "a.account", "-o", "safe.csv")
    output("synthesize", "people.csv", *given)
    sealed = (folder / "safe.synopsis.parquet").read_bytes()
    output("synthesize", "people.csv", *given, "--n", "50")
    assert len(pd.read_csv("safe.csv")) == 50
    assert (folder / "safe.synopsis.parquet").read_bytes() == sealed
    assert float(dc.Account(account.path).remaining) == 2


PAID = ("synthesize", "people.csv", "--schema", "schema.toml", "--delta", "1e-9", "--account", "p.account")


@pytest.fixture
def paid(folder: Path) -> dict[str, bytes]:
    """Release rows that an account is charged for; return the files."""
    dc.Account.create("p.account", dataset="p", epsilon=3, delta=1e-6)
    output(*PAID, "--epsilon", "1", "-o", "syn.csv")
    return {file.name: file.read_bytes() for file in folder.glob("syn*")}


def test_the_same_release_always_gives_the_same_rows(folder: Path, paid: dict[str, bytes]) -> None:
    assert len(paid) == 3
    again = json.loads(output(*PAID, "--epsilon", "1", "-o", "syn.csv", "--json"))
    assert again["account"]["repeated"]
    assert {file.name: file.read_bytes() for file in folder.glob("syn*")} == paid
    assert "All checks passed" in output("audit", "syn.csv")
    # Rows follow from the synopsis alone.
    Path("syn.csv").unlink()
    output(*PAID, "--epsilon", "1", "-o", "syn.csv")
    assert Path("syn.csv").read_bytes() == paid["syn.csv"]
    output(*PAID, "--epsilon", "1", "-o", "syn.csv", "--fresh")
    assert Path("syn.csv").read_bytes() != paid["syn.csv"]


def test_a_repeated_job_leaves_table_signature_and_page_as_they_are(folder: Path) -> None:
    """In the format of the input, and although other releases follow in the account."""
    source = '\n[source]\ndelimiter = ";"\ndecimal = ","\n'
    (folder / "german.toml").write_text((folder / "schema.toml").read_text() + source)
    pd.read_csv("people.csv").to_csv("german.csv", sep=";", index=False)
    dc.Account.create("p.account", dataset="p", epsilon=3, delta=1e-6)
    output("key", "create", "o.key", "--no-passphrase")
    how = ("--schema", "german.toml", "--delta", "1e-9", "--account", "p.account", "--epsilon", "1", "--sign", "o.key")
    job = ("synthesize", "german.csv", *how, "-o", "syn.csv", "--report", "syn.html")
    output(*job)
    first = {file.name: file.read_bytes() for file in folder.glob("syn*")}
    assert len(first) == 5
    assert first["syn.csv"].splitlines()[0].count(b";") == 2
    dc.Account("p.account").spend("another", 0.5)
    assert json.loads(output(*job, "--json"))["account"]["repeated"]
    assert {file.name: file.read_bytes() for file in folder.glob("syn*")} == first
    checked = ("--page", "syn.html", "--account", "p.account", "--key", "o.key.pub")
    assert json.loads(output("verify", "syn.csv", "syn.synopsis.parquet", *checked, "--json"))["verdict"] == "holds"
    # What was changed by hand is written again, and signed again.
    Path("syn.html").write_bytes(first["syn.html"].replace(b"synthetic rows", b"rows"))
    output(*job)
    assert Path("syn.html").read_bytes() == first["syn.html"]


@pytest.mark.usefixtures("few_steps")
def test_no_file_of_a_paid_release_is_written_over(folder: Path, paid: dict[str, bytes]) -> None:
    other = (*PAID, "--epsilon", "0.5")
    said = {
        ("-o", "syn.csv"): "try --output syn-2.csv, or --overwrite",
        ("-o", "syn.csv", "--synopsis", "syn.synopsis-2.parquet"): "try --output syn-2.csv, or --overwrite",
        ("-o", "rows.csv", "--synopsis", "syn.synopsis.parquet"): "try --synopsis syn.synopsis-2.parquet, or",
        ("-o", "syn.csv", "--synopsis", "syn.synopsis.parquet"):
            "try --output syn-2.csv, --synopsis syn.synopsis-2.parquet, or",
    }  # fmt: skip
    for words, fix in said.items():
        with pytest.raises(dc.errors.DataSourceError, match="an account was charged for") as caught:
            output(*other, *words)
        assert fix in str(caught.value)
    # Not even a job without a price replaces the rows.
    with pytest.raises(dc.errors.DataSourceError, match="an account was charged for"):
        output("synthesize", "people.csv", "--schema", "schema.toml", "--epsilon", "1", "--seed", "1", "-o", "syn.csv")
    assert len(dc.Account("p.account").entries) == 1
    output(*other, "-o", "syn-2.csv")
    assert {name: (folder / name).read_bytes() for name in paid} == paid
    with pytest.raises(dc.errors.DataSourceError, match=r"try --output syn-3\.csv"):
        output(*PAID, "--epsilon", "0.7", "-o", "syn.csv")
    output(*PAID, "--epsilon", "0.7", "-o", "syn.csv", "--overwrite")
    assert Path("syn.csv").read_bytes() != paid["syn.csv"]


@pytest.mark.parametrize("words", [("--rows", "1e308"), ("--rows", "1" + "0" * 400), ("--n", "1" + "0" * 30),
    ("--rows", "1e14"), ("--epsilon", "1e-320"), ("--epsilon", "1e-13")])  # fmt: skip
def test_numbers_that_cannot_be_used_are_refused_before_the_account_is_charged(folder: Path, words) -> None:
    dc.Account.create("p.account", dataset="p", epsilon=3, delta=1e-6)
    with pytest.raises(dc.errors.InvalidArgument, match=words[0] if words[1] != "1e14" else "--n must be given"):
        output(*PAID, "--epsilon", "1", *words, "-o", "syn.csv")  # the last value of an option counts
    assert not dc.Account("p.account").entries


def test_an_account_without_a_delta_says_what_helps(folder: Path) -> None:
    dc.Account.create("p.account", dataset="p", epsilon=3)
    with pytest.raises(dc.errors.BudgetExceeded) as caught:
        output(*PAID, "--epsilon", "1", "-o", "syn.csv")
    said = str(caught.value)
    assert "leave delta out for a pure epsilon release" in said
    assert "'discreet account create ... --delta 1e-6'" in said
    output(*PAID[:4], "--epsilon", "1", "--account", "p.account", "-o", "syn.csv")
