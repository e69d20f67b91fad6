"""Ledgers of users stop at their limit and not a report earlier, and say whom they stopped."""

from __future__ import annotations

import json

import pytest

import discreet as dc


def test_a_report_that_costs_nothing_is_noted() -> None:
    ledger = dc.local.ReportLedger(per_period=1, lifetime=2)
    assert ledger.spend("words", 0, period="monday") == 0
    with pytest.raises(dc.errors.InvalidArgument):
        ledger.spend("words", -1, period="monday")


def test_the_refusal_speaks_of_those_over_the_limit_and_not_of_those_at_it() -> None:
    ledger = dc.metric.UserLedger(lifetime=1)
    ledger.charge([1], 0.5)
    with pytest.raises(dc.errors.BudgetExceeded, match=r"too many for 1 of 2 users, one of whom has 1 of 1 left"):
        ledger.charge([1, 2, 2, 2], 0.5)
    ledger.charge([1, 2, 2], 0.5)  # exactly to the limit
    assert ledger.spent([1, 2]).tolist() == [1.0, 1.0]


def test_a_kept_ledger_that_names_a_user_twice_is_refused() -> None:
    ledger = dc.metric.UserLedger(lifetime=1)
    ledger.charge([1, 2], 0.5)
    text = ledger.to_json()
    assert dc.metric.UserLedger.from_json(text).spent([1, 2]).tolist() == [0.5, 0.5]
    doubled = json.loads(text.replace("[1, 2]", "[1, 1]").replace("[1,2]", "[1,1]"))
    assert "1, 1" in json.dumps(doubled)
    with pytest.raises(dc.errors.FormatError):
        dc.metric.UserLedger.from_json(json.dumps(doubled))
