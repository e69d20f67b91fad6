"""A steward who cannot list a column's categories buys them while drafting the schema."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import output
from discreet.errors import BudgetExceeded, DiscreetError, InvalidArgument, SchemaError


@pytest.fixture
def folder(workdir: Path) -> Path:
    lines = ["user;town;age"]
    lines += [f"u{i};{'Ash' if i % 2 else ' Elm '};30" for i in range(400)]  # every second one, each of 200 persons
    lines += ["u0;Secret;41"] * 300 + [f"?;Unknown;{i % 90}" for i in range(300)] + [f"u{i};?;20" for i in range(300)]
    raw = "\n".join(lines).encode() + b"\nu7;\xff\xfe;20\n"
    Path("visits.csv").write_bytes(raw)
    return workdir


BUY = (
    "schema",
    "visits.csv",
    "--declare",
    "user=person",
    "--private-categories",
    "town",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
)


def test_somebody_who_is_spelt_in_many_ways_is_one_person(folder: Path) -> None:
    spelt = [f"{'0' * i}7{end}" for i in range(20) for end in ("", ".0", " ")]
    Path("visits.csv").write_text("\n".join(["user;town", *(f"{user};Secret" for user in spelt)]) + "\n")
    output(*BUY, "-o", "s.toml")
    assert "Secret" not in Path("s.toml").read_text()


def test_words_of_many_persons_become_categories_and_the_price_is_said_in_every_guarantee(folder: Path) -> None:
    said = output(*BUY, "--declare", "age=0..120", "-o", "s.toml")
    assert "2 categories of town selected privately" in " ".join(said.split())
    declared = tomllib.loads(Path("s.toml").read_text())
    assert {"Ash", "Elm"} <= set(declared["columns"]["town"]["categories"])
    assert not {"Secret", "Unknown"} & set(declared["columns"]["town"]["categories"])
    assert declared["source"]["selected"] == ["town at epsilon 1, delta 1e-06, for one person (column 'user')"]
    domain = dc.Domain.from_toml(Path("s.toml"))
    domain = dc.Domain({c.name: c for c in domain if c.name != "user"}, unit="row", source=domain.source)
    made = dc.GridSynopsis(epsilon=1, domain=domain).fit("visits.csv").synopsis_
    text = " ".join(made.guarantee.assumptions)
    assert "selected privately" in text
    assert "town at epsilon 1, delta 1e-06" in text


def test_an_account_of_these_persons_pays(folder: Path) -> None:
    output(
        "account", "create", "v.account", "--dataset", "v", "--epsilon", "1.5", "--delta", "1e-5", "--person", "user"
    )
    said = output(*BUY, "--account", "v.account", "-o", "s.toml")
    entries = json.loads(output("account", "show", "v.account", "--json"))["entries"]
    assert "--person user --person-rows 8 --account v.account" in said
    assert [(e["job"], e["price"], e["delta"]) for e in entries] == [("categories", "1", "1/1000000")]
    with pytest.raises(BudgetExceeded):
        output(*BUY, "--account", "v.account", "-o", "t.toml")
    assert not Path("t.toml").exists()
    output(
        "account", "create", "w.account", "--dataset", "w", "--epsilon", "9", "--delta", "1e-5", "--person", "patient"
    )
    with pytest.raises(SchemaError, match="persons of the table are in 'user'"):
        output(*BUY, "--account", "w.account")
    output("account", "create", "x.account", "--dataset", "x", "--epsilon", "9", "--delta", "1e-5")
    with pytest.raises(DiscreetError, match=r"one row.*--person user'"):
        output(*BUY, "--account", "x.account")


def test_several_columns_share_the_price(folder: Path) -> None:
    text = output(*BUY, "--private-categories", "age")
    assert tomllib.loads(text)["source"]["selected"] == [
        f"{name} at epsilon 0.5, delta 5e-07, for one person (column 'user')" for name in ("town", "age")
    ]


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("--private-categories", "town", "--delta", "1e-6"), InvalidArgument, "--epsilon must be given"),
        (("--private-categories", "town", "--epsilon", "1"), InvalidArgument, "--delta must be given"),
        (("--private-categories", "town", "--epsilon", "50", "--delta", "1e-6"), InvalidArgument, "at most 20"),
        (("--private-categories", "town", "--epsilon", "1", "--delta", "1e-6"), SchemaError, "--declare user=person"),
        (("--epsilon", "1"), InvalidArgument, "used with --private-categories"),
        ((*BUY[2:], "--private-categories", "twon"), InvalidArgument, "--private-categories town"),
        ((*BUY[2:], "--declare", "town=a,b"), SchemaError, "already declared"),
    ],
)  # fmt: skip
def test_what_cannot_be_bought_is_refused(folder: Path, words: tuple[str, ...], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        output("schema", "visits.csv", *words)


def test_the_suggested_next_step_works_when_typed(folder: Path) -> None:
    said = output(*BUY, "--declare", "age=0..120", "-o", "s.toml")
    step = next(line for line in said.splitlines() if "discreet synopsis" in line)
    assert "Guarantee" in output(*step.split()[1:])


def test_tables_of_every_kind_give_the_same_categories(folder: Path) -> None:
    import sqlite3

    rows = [(f"u{i}", "Ash" if i % 2 else "Elm") for i in range(400)]
    text = "user;town\n" + "\n".join(";".join(row) for row in rows) + "\n"
    Path("t.csv").write_text(text)
    Path("t.txt").write_text(text)
    pq.write_table(pa.table({"user": [r[0] for r in rows], "town": [r[1] for r in rows]}), "t.parquet")
    with sqlite3.connect("t.db") as base:
        base.execute("CREATE TABLE t (user TEXT, town TEXT)")
        base.executemany("INSERT INTO t VALUES (?, ?)", rows)
    base.close()
    for table in ("t.csv", "t.txt", "t.parquet", "sqlite:///t.db?table=t"):
        draft = tomllib.loads(output("schema", table, *BUY[2:]))
        assert draft["columns"]["town"] == {"categories": ["Ash", "Elm"], "missing": "own"}, table
