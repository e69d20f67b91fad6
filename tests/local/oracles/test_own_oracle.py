"""Oracles of a user's own: a table of weights is priced, estimated, planned, asked in a task and audited."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
import local_laws as laws
from command_line import output, run
from discreet.errors import FormatError, InvalidArgument
from discreet.local import OwnOracle
from discreet.local.mechanism import mechanism_from_dict

MODULE = """
from discreet.local import OwnOracle

class Stars(OwnOracle):
    def probabilities(self, value):
        likely, unlikely = self.odds()
        row = [unlikely] * 5
        row[value] = likely
        return row

rating = Stars(epsilon=1, domain=5)
"""


class Stars(OwnOracle):
    """Direct response as a table."""

    def probabilities(self, value: int) -> list[int]:
        likely, unlikely = self.odds()
        row = [unlikely] * self.choices.size
        row[value] = likely
        return row


class Blurred(OwnOracle):
    """Neighbours are likelier than others; a last report is for no value."""

    def probabilities(self, value: int) -> list[int]:
        likely, unlikely = self.odds()
        row = [math.isqrt(likely * unlikely) if abs(value - y) == 1 else unlikely for y in range(4)]
        row[value] = likely
        return [*row, 6 * likely - sum(row)]


@pytest.mark.parametrize("m", [Stars(1, 4), Blurred(0.5, 4), Blurred(3, ["a", "b", "c", "d"])], ids=["a", "b", "c"])
def test_the_law_of_an_own_oracle(m: Any) -> None:
    values = list(range(4)) if isinstance(m.domain, int) else list(m.domain)
    rows = np.array([m.report_law(value)[1] for value in values])
    worst = float((rows.max(axis=0) / rows.min(axis=0)).max())
    assert math.exp(float(m.epsilon)) * (1 - 1e-8) < worst <= math.exp(float(m.epsilon)) * (1 + 1e-12)
    laws.check_sampler(m, values[0])
    laws.check_sampler(m, values[2], rng=2)
    assert m.randomiser.price <= m.epsilon.exact
    assert float(m.randomiser.price) == pytest.approx(float(m.epsilon), rel=1e-6)


def test_a_table_that_costs_more_than_it_states_is_refused() -> None:
    """e = 2.71828...: 19/7 is below, 68/25 above."""
    for weights, good in (((19, 7), (7, 19)), True), (((68, 25), (25, 68)), False):
        if good:
            OwnOracle(1, 2, weights)
        else:
            with pytest.raises(InvalidArgument, match="at most e\\^epsilon"):
                OwnOracle(1, 2, weights)
    likely, unlikely = Stars(1, 3).odds()
    assert math.exp(1) * (1 - 1e-8) < Fraction(likely, unlikely) <= math.exp(1)


def test_estimates_are_those_of_direct_response_and_unbiased_for_any_table() -> None:
    """Counts of the same reports; then 300 runs, whose mean and spread are as stated (five standard errors)."""
    direct, own = dc.local.DirectResponse(1, 4), Stars(1, 4)
    sent = np.array([100, 50, 30, 20])
    values = np.repeat(np.arange(4), sent)
    same = direct.estimate(direct.aggregate(direct.layout.pack(value=values))).count
    assert own.estimate(own.aggregate(own.layout.pack(report=values))).count == pytest.approx(same, rel=1e-6)
    assert own.variance(1000, 100) == pytest.approx(direct.variance(1000, 100), rel=1e-6)
    m = Blurred(2, 4)
    found = [m.estimate(m.aggregate(m.encode(np.repeat(np.arange(4), 10 * sent), rng=seed))) for seed in range(300)]
    counts = np.array([one.count for one in found])
    error = np.mean([one.std_error for one in found], axis=0)
    assert np.all(np.abs(counts.mean(axis=0) - 10 * sent) < 5 * error / math.sqrt(300))
    assert counts.std(axis=0) == pytest.approx(error, rel=0.2)


def test_it_is_planned_saved_asked_and_equal_to_its_table() -> None:
    m = Blurred(2, 4)
    assert mechanism_from_dict(m.to_dict()) == m
    assert m == mechanism_from_dict(m.to_dict())
    assert m.aggregate(dc.local.Reports.from_bytes(m.encode([1, 2, None], rng=1).to_bytes())).n == 3
    plan = dc.local.plan(2, 4, 10_000, own=[Blurred, Stars])
    rows = [row for row in plan if row.mechanism == "own-oracle"]
    assert {row.notes.split(",")[0] for row in rows} == {"Blurred", "Stars"}
    stars = next(row for row in rows if row.notes.startswith("Stars"))
    assert stars.rare_error == pytest.approx(plan["direct-response"].rare_error, rel=1e-6)
    assert isinstance(stars.make(4), Stars)
    times: dict[str, Any] = {"opens": "2020-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
    task = dc.local.Task(m, name="stars", per_day=2, wanted=10, minimum=1, **times)
    assert dc.local.Task.from_json(task.to_json()).mechanism == m


class Lost(OwnOracle):
    """All reports are equally likely, whatever the value."""

    def probabilities(self, value: int) -> list[int]:
        return [1, 1, 1]


class Silent(Stars):
    """Every report speaks for all values."""

    def support(self, report: int) -> list[int]:
        return [0, 1, 2]


class Uneven(OwnOracle):
    """Rows of different sums."""

    def probabilities(self, value: int) -> list[int]:
        return [value + 1, 1, 1]


class Backwards(Stars):
    """Values of a report in the wrong order."""

    def support(self, report: int) -> list[int]:
        return [2, 1]


def test_reports_that_tell_nothing_are_refused_before_a_device_pays() -> None:
    facts = Stars(1, 2).to_dict()
    task = dc.local.Task(
        Stars(1, 2),
        name="x",
        per_day=2,
        wanted=10,
        minimum=1,
        opens="2020-01-01T00:00:00Z",
        closes="2099-01-01T00:00:00Z",
    )
    for kind, match in ((Lost, "^probabilities .* tell all 3 values apart"), (Silent, "together with support, got '3")):
        with pytest.raises(InvalidArgument, match=match):
            kind(1, 3)
    for weights in (((1, 1), (1, 1)), ((2, 3), (2, 3))):
        with pytest.raises(InvalidArgument, match=r"^weights .* with support,"):
            OwnOracle(1, 2, weights)
    with pytest.raises(InvalidArgument, match="2 reports that do not"):
        OwnOracle(1, 3, ((1, 2), (2, 1), (1, 2)))
    text = task.to_json()
    assert str(facts["weights"][0]).replace(" ", "") in text
    for row in facts["weights"]:
        text = text.replace(str(row).replace(" ", ""), "[1,1]")
    with pytest.raises(FormatError, match="values apart"):
        dc.local.Task.from_json(text)


def test_errors_name_the_method_that_the_user_wrote() -> None:
    with pytest.raises(InvalidArgument, match=r"^probabilities must be rows of one sum"):
        Uneven(1, 3)
    with pytest.raises(InvalidArgument, match=r"^support must be for each of the 3 reports"):
        Backwards(1, 3)
    with pytest.raises(InvalidArgument, match=r"try own=\[Stars\]"):
        dc.local.plan(2, 4, 10_000, own=[Stars(2, 4)])
    with pytest.raises(InvalidArgument, match=r"try own=\[MyOracle\]"):
        dc.local.plan(2, 4, 10_000, own=[dict])


def test_the_audit_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stars_of_mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    try:
        told = output("audit", "--mechanism", "stars_of_mine:rating", "--trials", "4000", "--seed", "1")
        assert "easiest to tell apart" in told
        assert run("audit", "--mechanism", "stars_of_mine:Stars", catch=True).exit_code != 0
    finally:
        sys.modules.pop("stars_of_mine", None)


@pytest.mark.parametrize(
    ("weights", "supports", "fault"),
    [
        (None, None, "probabilities"),
        ("text", None, "lists of whole numbers"),
        (((1, 1),), None, "2 rows"),
        (((1,), (1,)), None, "from 2 to"),
        (((1, 1), (1, 1, 1)), None, "rows of one length, .* got '2 rows of length 2, 3'"),
        (((0, 2), (1, 1)), None, "from 1 on"),
        (((1.0, 2), (2, 1)), None, "from 1 on"),
        (((1, 2), (2, 2)), None, "one sum"),
        (((2**48, 1), (1, 2**48)), None, "one sum up to"),
        (((2, 1), (1, 2)), ((0,), (1,), ()), "for each of the 2 reports"),
        (((2, 1), (1, 2)), ((1, 0), ()), "ascending"),
        (((2, 1), (1, 2)), ((0,), (2,)), "below 2"),
    ],
)
def test_a_table_that_is_none_is_refused(weights: Any, supports: Any, fault: str) -> None:
    with pytest.raises((InvalidArgument, dc.errors.InvalidType), match=fault):
        OwnOracle(1, 2, weights, supports)
    if weights is not None and not isinstance(weights, str):
        facts = OwnOracle(1, 2, ((2, 1), (1, 2))).to_dict()
        facts |= {"weights": [list(w) for w in weights]} | (
            {"supports": [list(s) for s in supports]} if supports else {}
        )
        with pytest.raises(FormatError):
            mechanism_from_dict(facts)
