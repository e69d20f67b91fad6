"""Any column can be the unit: households, schools, devices. Promises, errors, accounts and pages use its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import output
from discreet.core import plural, unit_kind, unit_noun
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.reporting.words import for_lawyers
from discreet.studio.schema.sheet import Sheet

TEXT = """[unit]
household = "hh"
rows = 3

[columns]
hh = {role = "person"}
age = {kind = "integer", bounds = [0, 99], role = "quasi-identifier"}
"""
UNIT = dc.Person("hh", rows=3, called="household")
SAID = "one household, with all their rows (at most 3 used)"


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"hh": rng.integers(0, 120, 400), "age": rng.integers(0, 100, 400)})


def test_a_schema_names_its_unit_in_every_form(tmp_path: Path) -> None:
    domain = dc.Domain.from_toml(TEXT)
    assert domain.unit == UNIT == dc.Domain({"age": (0, 9)}, unit={"household": "hh", "rows": 3}).unit
    assert dc.Domain.from_toml(domain.to_toml()) == domain
    assert 'household = "hh"' in domain.to_toml()
    assert dc.Person("hh", rows=3) != UNIT
    assert dc.Person("hh", rows="auto", called="family").describe().startswith("one family, with all their rows")
    assert [plural(noun) for noun in ("person", "household", "family", "day")] == [
        "persons", "households", "families", "days"]  # fmt: skip
    assert (unit_kind(SAID), unit_noun(SAID), unit_noun("one row")) == ("person", "household", "row")


@pytest.mark.parametrize(
    ("unit", "wrong"),
    [
        ({"persn": "hh", "rows": 3}, InvalidType),
        ({"person": "hh", "row": 3}, InvalidType),
        ({"household": "hh", "person": "p", "rows": 3}, InvalidType),
        ({"household": "hh"}, InvalidType),
        ({"rows": 3}, InvalidType),
        ({"": "hh", "rows": 3}, InvalidArgument),
        ({"a, b": "hh", "rows": 3}, InvalidArgument),
    ],
)
def test_slips_of_the_pen_are_not_units(unit: Any, wrong: type[Exception]) -> None:
    with pytest.raises(wrong):
        dc.Domain({"age": (0, 9)}, unit=unit)


def test_a_promise_speaks_of_the_household() -> None:
    made = dc.GridSynopsis(1.0, dc.Domain.from_toml(TEXT), 4, random_state=1).fit(table())
    promise = made.guarantee_
    assert (promise.unit, promise.neighbours) == (SAID, "add or remove one household, with all their rows")
    assert dc.Guarantee.from_json(promise.to_json()) == promise
    said = " ".join(for_lawyers(promise))
    assert "any single household" in said
    assert "If a household has more rows than are used" in said
    assert "person" not in said + str(promise)
    assert "at most 3 per household" in str(made.synopsis_.count())


def test_an_account_of_households(tmp_path: Path) -> None:
    domain = dc.Domain.from_toml(TEXT)
    account = dc.Account.create(tmp_path / "a.account", dataset="survey", epsilon=3, unit=domain.unit)
    assert (account.unit, account.person) == ("one household (column 'hh')", "hh")
    dc.GridSynopsis(1.0, domain, 4, ledger=account).fit(table())
    again = dc.Account(tmp_path / "a.account")
    assert again.unit == "one household (column 'hh')"
    # The name is a word; the column says who is counted.
    dc.GridSynopsis(1.0, domain.with_unit(dc.Person("hh", rows=3)), 4, ledger=again).fit(table())
    with pytest.raises(SchemaError, match=r"protects one household \(column 'hh'\), the release one row"):
        dc.GridSynopsis(1.0, dc.Domain({"age": (0, 99)}), 4, ledger=again).fit(table())


def test_errors_name_the_household() -> None:
    with pytest.raises(SchemaError, match="the unit is one household"):
        dc.metric.NDLaplace(1.0, 0.1, dc.Domain.from_toml(TEXT)).transform(table())
    with pytest.raises(SchemaError, match="the unit is one household by column 'hh'"):
        dc.Domain({"age": {"role": "person"}, "x": (0, 1)}, unit=UNIT)


def test_an_anonymous_table_counts_households(tmp_path: Path) -> None:
    release = dc.anonymity.Mondrian(k=5, domain=dc.Domain.from_toml(TEXT)).fit_transform(table())
    promise = release.guarantee
    assert (promise.unit, promise.parameters["k_counts"]) == ("one household", "households, by column 'hh'")
    assert "k counts households" in str(promise)
    assert "belong to one household" in str(promise)
    assert "Each household of the table" in for_lawyers(promise)[0]
    table().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(TEXT)
    page = tmp_path / "k.html"
    given = ["--schema", tmp_path / "s.toml", "--k", 5, "-o", tmp_path / "k.csv", "--report", page]
    output("anonymize", tmp_path / "t.csv", *given)
    text = page.read_text()
    assert "smallest group, k (households)" in text
    assert "k counts households" in text
    told = json.loads(output("risk", tmp_path / "k.csv", "--qi", "age", "--json"))
    assert told["promised"]["k"] >= 5


def test_the_studio_takes_a_household() -> None:
    sheet = Sheet.__new__(Sheet)
    sheet.columns, sheet.rest, sheet.order = {"hh": {"role": "person"}, "age": {}}, {}, ["hh", "age"]
    assert sheet.unit == ""
    sheet.set_unit("household", "4")
    assert sheet.rest["unit"] == {"household": "hh", "rows": 4}
    assert (sheet.unit, sheet.rows) == ("household", "4")
    sheet.set_unit("person", "auto")
    assert sheet.rest["unit"] == {"person": "hh", "rows": "auto"}
    sheet.set_unit("row", "")
    assert sheet.rest["unit"] == "row"
