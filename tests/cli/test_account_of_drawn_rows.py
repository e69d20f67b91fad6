"""Rows that are drawn before k-anonymity have a price: `discreet anonymize --sample --account` pays it, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from command_line import output
from discreet.core.budget.guarantee import Guarantee
from discreet.errors import BudgetExceeded, DataSourceError, InvalidArgument, SchemaError
from discreet.jobs.kinds import KINDS
from small_tables import write_table

SCHEMA = """
[columns.age]
kind = "integer"
bounds = [0, 119]
role = "quasi-identifier"
[columns.sex]
categories = ["f", "m", "x"]
role = "quasi-identifier"
"""
PLAIN = ("anonymize", "people.csv", "--schema", "schema.toml", "--k", "20", "--method", "generalization")
DRAWN = (*PLAIN, "--level", "age=5", "--sample", "0.2")
PAID = (*DRAWN, "--account", "p.account")


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> Path:
    write_table(workdir, "age,sex\n" + "".join(f"{i % 120},{'fm'[i % 2]}\n" for i in range(3000)), SCHEMA)
    output("account", "create", "p.account", "--dataset", "survey", "--epsilon", "3", "--delta", "1e-5")
    return workdir


def told(*words: str) -> Any:
    return json.loads(output(*words, "--json"))["account"]


@pytest.mark.parametrize(("target", "form"), [("s.csv", ()), ("s.parquet", ()), ("s.csv", ("--bounds",)),
                                              ("s.parquet", ("--bounds",))])  # fmt: skip
def test_a_table_is_charged_and_its_repetition_is_free(target: str, form: tuple[str, ...]) -> None:
    words = (*PAID, *form, "-o", target)
    first = told(*words)
    price = dc.anonymity.sampling_epsilon(20, 0.2, 1e-6)
    assert first["spent"] == pytest.approx(float(price))
    assert (first["entry"], first["repeated"]) == (1, False)
    held = Path(target).read_bytes()
    promise = Guarantee.from_json(Path(f"{target}.guarantee.json").read_text())
    (entry,) = dc.Account("p.account").entries
    assert promise.verify(held)
    assert (entry.digest, float(entry.delta), entry.what) == (
        promise.digest,
        promise.delta,
        f"anonymize {target}: age, sex",
    )
    again = told(*words)
    assert (again["spent"], again["entry"], again["repeated"]) == (first["spent"], 1, True)
    assert Path(target).read_bytes() == held
    fresh = told(*words, "--fresh")
    assert fresh["spent"] == pytest.approx(2 * first["spent"])
    assert (fresh["entry"], fresh["repeated"]) == (2, False)
    assert Path(target).read_bytes() != held


def test_the_summary_shows_the_account() -> None:
    shown = output(*PAID, "-o", "s.csv", "--report", "r.html")
    assert "Charged to entry 1 of survey" in shown
    shown = output(*PAID, "-o", "s.csv")
    assert "Nothing was spent" in shown
    assert "sampled rows; for totals, divide counts by 0.2" in shown
    assert "1 release" in output("account", "verify", "p.account")


def test_a_paid_table_is_not_written_over() -> None:
    output(*PAID, "-o", "s.csv")
    held = Path("s.csv").read_bytes()
    other = (*PAID, "--delta", "1e-7", "-o", "s.csv")
    plain = (*PLAIN, "--level", "age=5", "-o", "s.csv")
    for words in (other, plain, (*DRAWN, "-o", "s.csv")):
        with pytest.raises(DataSourceError, match=r"an account was charged for.* try .*s-2.csv, or --overwrite"):
            output(*words)
        assert Path("s.csv").read_bytes() == held
    assert len(dc.Account("p.account").entries) == 1
    output(*other, "--overwrite")
    output(*plain, "--overwrite")
    assert len(dc.Account("p.account").entries) == 2


def test_a_table_that_was_changed_is_not_handed_out_again() -> None:
    output(*PAID, "-o", "s.csv")
    Path("s.csv").write_text(Path("s.csv").read_text() + '"[0, 31]","f"\n')
    assert not told(*PAID, "-o", "s.csv")["repeated"]


def test_other_groups_under_the_same_names_are_another_job() -> None:
    Path("h.csv").write_text("f,known\nm,known\nx,other\n")
    words = (*PAID, "--hierarchy", "sex=h.csv", "-o", "s.csv")
    told(*words)
    assert told(*words)["repeated"]
    Path("h.csv").write_text("f,one\nm,other\nx,other\n")
    with pytest.raises(DataSourceError, match="an account was charged for"):
        output(*words)


def test_nothing_is_read_or_written_that_the_account_does_not_pay_for() -> None:
    wrong = {"pure": ("--epsilon", "1"), "rho": ("--rho", "1", "--delta", "1e-6"), "little": ("--epsilon", "0.01"),
             "person": ("--epsilon", "1", "--delta", "1e-5", "--person", "user")}  # fmt: skip
    says = {
        "pure": "allows none; make a release without delta, or charge an account with more",
        "rho": "no price in rho",
        "little": "only 0.01 of 0.01 is left",
        "person": "one person",
    }
    for name, words in wrong.items():
        output("account", "create", f"{name}.account", "--dataset", name, *words)
        Path("people.csv").rename("away.csv")  # it is refused before the rows are looked for
        Path("people.csv").write_text("age,sex\n")
        with pytest.raises((BudgetExceeded, SchemaError, InvalidArgument), match=says[name]):
            output(*DRAWN, "--account", f"{name}.account", "-o", "s.csv")
        Path("away.csv").rename("people.csv")
        assert not Path("s.csv").exists()
        assert not dc.Account(f"{name}.account").entries
    with pytest.raises(DataSourceError, match=r"try '.*s\.csv'"):
        output(*PAID, "-o", "s.doc")
    assert not dc.Account("p.account").entries


def test_k_anonymity_alone_is_listed_without_a_price() -> None:
    shown = output(*PLAIN, "--account", "p.account", "-o", "s.csv")
    assert "Listed as entry 1 (k = 25, which adds no epsilon) of survey: epsilon 0 of 3 spent" in " ".join(
        shown.split()
    )
    assert not KINDS["anonymize"].has_price({"k": 20})  # what the studio asks before it shows a price
    assert KINDS["anonymize"].has_price({"k": 20, "sample": 0.1})
    assert KINDS["synopsis"].has_price({})
