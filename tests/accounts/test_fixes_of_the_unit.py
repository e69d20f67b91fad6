"""Suggestions about the unit of an account work when typed, and never change the unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidArgument, InvalidType, SchemaError

DOMAIN = dc.Domain({"age": dc.Integer(0, 120)}, unit=dc.Person("user", rows=8))


def test_a_bare_name_is_taken_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(InvalidType) as told:
        dc.Account.create(tmp_path / "a", dataset="d", unit="user", epsilon=1)
    fixes = told.value.fix.split(" or ")
    assert fixes == ['unit=dc.Person("user", rows=8)', "unit=domain.unit"]
    for i, fix in enumerate(fixes):
        made = eval(f"dc.Account.create(place, dataset='d', epsilon=1, {fix})",
            {"dc": dc, "domain": DOMAIN, "place": tmp_path / str(i)})  # fmt: skip
        assert made.person == "user"


def test_a_person_without_rows_says_the_whole_fix() -> None:
    with pytest.raises(InvalidArgument) as told:
        dc.Person("user")
    assert told.value.fix == 'Person("user", rows=8)'


def test_a_release_of_another_unit_says_which_account_it_needs(tmp_path: Path) -> None:
    account = dc.Account.create(tmp_path / "a", dataset="d", epsilon=1)
    model = dc.GridSynopsis(1.0, DOMAIN, 4, ledger=account)
    with pytest.raises(SchemaError, match=r"unit=domain\.unit.*discreet account create \.\.\. --person user"):
        model.fit(pa.table({"age": np.arange(9), "user": list("abcdefghi")}))
