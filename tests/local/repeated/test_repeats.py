"""Costs of repeats: formulas against enumeration, attackers against both kinds of noise, and the device's ledger."""

from __future__ import annotations

import decimal
import itertools
import json
import math
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import InvalidType
from discreet.local import DirectResponse, ReportLedger
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.memo import Memo
from discreet.local.repeated.rappor import Rappor
from discreet.noise.reports.laws import Response
from local_crowds import MEMO

# ---- changes that show


@pytest.mark.parametrize(("size", "bits"), [(4, 1), (5, 2), (5, 3), (4, 4), (2, 1)])
def test_visible_changes_by_enumeration(size: int, bits: int) -> None:
    """All index sets, all pairs of values, all pairs of stored responses."""
    m = BitFlip(1.3, size, bits=bits, memoised=True)
    shown: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for indices in itertools.combinations(range(size), bits):
        for before, after in itertools.permutations(range(size), 2):
            inside = (before in indices) + (after in indices)
            equal = 0.0
            for answers in itertools.product((0, 1), repeat=bits):
                chances = [
                    math.prod(m.law.p if (i == value) == a else m.law.q for i, a in zip(indices, answers, strict=True))
                    for value in (before, after)
                ]
                equal += chances[0] * chances[1]
            shown[inside].append(0.0 if inside == 0 else 1 - equal)
    assert m.change_visible() == pytest.approx(np.mean(list(itertools.chain(*shown.values()))), abs=1e-12)


def test_published_chances_that_a_change_shows() -> None:
    for bits, shared in ((1, 0.05), (2, 0.11), (4, 0.27)):
        m = BitFlip(1, 26, bits=bits, memoised=True)
        assert m.change_visible() == pytest.approx(shared, abs=0.005)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_changes_show_as_often_as_stated(bits: int) -> None:
    m, n = BitFlip(1, 26, bits=bits, memoised=True), 20_000
    rng = np.random.default_rng(bits)
    before = rng.integers(0, 26, n)
    after = (before + rng.integers(1, 26, n)) % 26
    one, two = (m.encode(values, users=np.arange(n), memo=MEMO).rows for values in (before, after))
    stated = m.change_visible()
    assert abs((one != two).any(axis=1).mean() - stated) < 5 * math.sqrt(stated * (1 - stated) / n)


# ---- attackers


def test_averaging_undoes_fresh_noise_and_not_stored_responses() -> None:
    """A collector who links 200 reports of each user guesses which of two values it is."""
    epsilon, users, rounds = 1, 400, 200
    truth = np.arange(users) % 2
    fresh, stored = BitFlip(epsilon, 2, bits=2), BitFlip(epsilon, 2, bits=2, memoised=True)

    def guess(reports: list[Any]) -> float:
        answers = sum(np.unpackbits(r.rows, axis=1, bitorder="little")[:, :2].astype(int) for r in reports)
        lead = answers[:, 1] - answers[:, 0]
        return float(np.where(lead == 0, 0.5, (lead > 0) == truth).mean())

    unlinked = guess([fresh.encode(truth, rng=1)])
    averaged = guess([fresh.encode(truth, rng=seed) for seed in range(rounds)])
    memoised = guess([stored.encode(truth, users=range(users), memo=MEMO, rng=seed) for seed in range(rounds)])
    bound = 1 / (1 + math.exp(-epsilon))
    assert averaged > 0.99
    assert abs(unlinked - memoised) < 0.1
    assert memoised < bound + 4 * math.sqrt(0.25 / users)
    assert stored.epsilon_over(rounds) == epsilon  # the bound holds for any number of rounds


@pytest.mark.slow
def test_the_permanent_response_stops_the_average() -> None:
    """RAPPOR with its permanent response drawn anew each time gives the value away; kept, it does not."""
    m = Rappor(0.75, 0.25, 0.75, bits=16, hashes=2, cohorts=1, key=3)
    zero, one = (np.unpackbits(m._filter([v], np.zeros(1, np.int64)), bitorder="little")[:16] for v in (0, 1))
    assert not (zero & one).any()
    users, rounds = 600, 300
    truth = np.arange(users) % 2

    def guess(memos: list[Memo]) -> float:
        score = np.zeros(users)
        for seed, memo in enumerate(memos):
            bits = np.unpackbits(
                m.encode(truth, users=range(users), memo=memo, rng=seed).rows, axis=1, bitorder="little"
            )
            score += bits[:, :16] @ (one.astype(int) - zero)
        return float(np.where(score == 0, 0.5, (score > 0) == truth).mean())

    redrawn = guess([Memo.draw(rng=i) for i in range(rounds)])
    kept = guess([MEMO] * rounds)
    assert redrawn > 0.99
    assert kept < 1 / (1 + math.exp(-m.epsilon_lifetime)) + 4 * math.sqrt(0.25 / users)
    assert kept < 0.9


def test_the_pattern_of_changes_is_not_hidden() -> None:
    """The guarantee in words: a response that changes is proof that the value did."""
    m = BitFlip(1, 4, bits=4, memoised=True)
    users = np.arange(500)
    rounds = [m.encode(np.full(500, value), users=users, memo=MEMO).rows for value in (1, 1, 2)]
    assert np.array_equal(rounds[0], rounds[1])
    assert (rounds[1] != rounds[2]).any(axis=1).mean() > 0.5


# ---- tables


# ---- the ledger


def test_a_ledger_stops_reports_at_every_limit() -> None:
    ledger = ReportLedger(per_period=3, lifetime=7, kinds={"a": (2, 4), "b": (3, 10)})
    m = DirectResponse(1, 5)
    ledger.report("a", m, 3, period="monday")
    ledger.report("a", m, 3, period="monday")
    with pytest.raises(dc.errors.BudgetExceeded, match="'a' costs epsilon 1, and 0 of 2 is left in period 'monday'"):
        ledger.report("a", m, 3, period="monday")
    ledger.report("b", m, 3, period="monday")
    with pytest.raises(dc.errors.BudgetExceeded, match="in period 'monday' for all data types"):
        ledger.report("b", m, 3, period="monday")
    ledger.spend("a", 2, period="tuesday")
    before = ledger.to_json()
    with pytest.raises(dc.errors.BudgetExceeded, match="for life for 'a'"):
        ledger.report("a", m, 3, period="wednesday")
    ledger.spend("b", 2, period="thursday")
    with pytest.raises(dc.errors.BudgetExceeded, match="0 of 7 is left for life; this user reports no more"):
        ledger.report("b", m, 3, period="friday")
    assert ledger.spent() == 7
    assert (ledger.spent("a"), ledger.spent(period="monday"), ledger.spent("b", period="monday")) == (4, 3, 1)
    assert ledger.remaining("b", period="friday") == 0
    assert ReportLedger.from_json(before).spent() == 5


def test_ten_tenths_are_one() -> None:
    ledger = ReportLedger(per_period=1, lifetime=1)
    for _ in range(10):
        ledger.spend("a", 0.1, period="p")
    assert ledger.remaining("a", period="p") == 0
    with pytest.raises(dc.errors.BudgetExceeded):
        ledger.spend("a", 1e-12, period="p")


def paid(ledger: ReportLedger, kind: str, mechanism: Any, value: Any, **more: Any) -> Any:
    """Make a report and return what it cost."""
    before = ledger.spent().exact
    assert len(ledger.report(kind, mechanism, value, period=more.pop("period", "june"), **more)) == 1
    return ledger.spent().exact - before


def test_a_stored_response_costs_what_it_adds() -> None:
    flips = BitFlip(1, 10, bits=1, memoised=True)
    ledger = ReportLedger(per_period=2, lifetime=2)
    prices = []
    for day in range(30):  # the value changes every day: there are two stored responses in all
        prices.append(paid(ledger, "uptime", flips, day % 10, memo=MEMO))
        ledger = ReportLedger.from_json(ledger.to_json())  # the device is switched off at night
    assert sum(prices) == 2
    assert len([x for x in prices if x]) == 2

    rappor = Rappor(0.5, 0.5, 0.75, key=1)
    ledger = ReportLedger(per_period=5, lifetime=5)
    prices = [float(paid(ledger, "pet", rappor, "cat", memo=MEMO)) for _ in range(50)]
    assert np.cumsum(prices)[[0, 1, 4, 49]] == pytest.approx([1.074, 2.017, 3.656, 4.394], abs=5e-4)
    with pytest.raises(dc.errors.BudgetExceeded, match="'pet'"):
        ledger.report("pet", rappor, "dog", period="july", memo=MEMO)
    assert float(paid(ledger, "pet", rappor, "cat", period="july", memo=MEMO)) < 1e-8
    fresh = ReportLedger(per_period=5, lifetime=5)
    assert [paid(fresh, "x", BitFlip(1, 10), 3) for _ in range(2)] == [1, 1]  # no memory, no discount
    whole = [paid(fresh, "x", rappor, "cat", memo=MEMO, whole=True) for _ in range(2)]
    assert whole == [rappor.epsilon.exact] * 2  # type: ignore[attr-defined]


def test_nothing_is_drawn_that_was_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report within the limit is charged before its law draws; one over it is not drawn."""
    m, ledger, seen = DirectResponse(1, 5), ReportLedger(per_period=1, lifetime=1), []
    draw, alone = Response.draw, m.encode([3], rng=3).rows.tolist()

    def watched(law: Response, values: Any, stream: Any) -> Any:
        seen.append(float(ledger.spent()))
        return draw(law, values, stream)

    monkeypatch.setattr(Response, "draw", watched)
    assert ledger.report("a", m, 3, period="p", rng=3).rows.tolist() == alone
    with pytest.raises(dc.errors.BudgetExceeded):
        ledger.report("a", m, 3, period="p", rng=3)
    assert seen == [1.0]


def test_a_damaged_ledger_is_refused() -> None:
    ledger = ReportLedger(per_period=3, lifetime=7, kinds={"a": (2, 4)})
    ledger.spend("a", 0.5, period="monday")
    good = json.loads(ledger.to_json())
    assert ReportLedger.from_json(json.dumps(good)).to_json() == ledger.to_json()
    bad: list[Any] = ["", b"\xff", "[]", "{}", json.dumps({**good, "version": 2})]
    for field, values in {
        "limits": [None, [], ["1"], ["-1", "2"], ["x", "2"], ["1e999999999", "1"], ["0", "1"]],
        "kinds": [{}, 5, {"a": ["1"]}, {"": ["1", "2"]}],
        "spent": [5, [["a"]], [["a", "p", "-1"]], [["a", "p", 1.5]], [["a", "p", "1/0"]]],
        "responses": [5, [["a", "1", "x", "1"]]],
    }.items():
        bad += [json.dumps({**good, field: value}) for value in values]
        bad.append(json.dumps({k: v for k, v in good.items() if k != field}))
    for text in bad:
        with pytest.raises(dc.errors.FormatError):
            ReportLedger.from_json(text)


def test_bad_ledger_arguments() -> None:
    ledger = ReportLedger(per_period=3, lifetime=7, kinds={"a": (2, 4)})
    m = DirectResponse(1, 5)
    for call, name in (
        (lambda: ReportLedger(per_period=0, lifetime=7), "per_period"),
        (lambda: ReportLedger(per_period=1, lifetime=7, kinds={}), "kinds"),
        (lambda: ReportLedger(per_period=1, lifetime=7, kinds={"a": 3}), "kinds"),  # type: ignore[dict-item]
        (lambda: ledger.report("b", m, 3, period="p"), "kind must be one of 'a'"),
        (lambda: ledger.report("a", 3, 3, period="p"), "mechanism"),  # type: ignore[arg-type]
        (lambda: ledger.report("a", m, 3, period=3), "period"),  # type: ignore[arg-type]
        (lambda: ledger.report("a", Rappor(0.5, 0.5, 0.75), 3, period="p"), "memo"),
        (lambda: ledger.report("a", m, 3, period="p", memo=MEMO), "memo"),
        (lambda: ledger.spend("a", -1, period="p"), "epsilon"),
        (lambda: ledger.spend("a", math.inf, period="p"), "epsilon"),
    ):
        with pytest.raises(dc.errors.InvalidArgument, match=name):
            call()
    assert ledger.spent() == 0


def _objects(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out


@pytest.mark.parametrize("key", [uuid.UUID(int=5), 1.0, ("a", 1), decimal.Decimal(1), frozenset()])
@pytest.mark.parametrize("wrap", [list, lambda u: pd.Series(u, dtype=object), lambda u: _objects(u)])
def test_a_user_key_that_cannot_be_remembered_is_refused(key: Any, wrap: Any) -> None:
    # Taken as missing, each report would have had a new stored response: no lifetime bound at all.
    for m in (BitFlip(1, 26, bits=4, memoised=True), Rappor(0.5, 0.5, 0.75, key=1)):
        with pytest.raises(InvalidType, match="users must be whole numbers, text or bytes"):
            m.encode([3, 3], users=wrap([key, key]), memo=MEMO)


def test_missing_users_are_met_once() -> None:
    m = BitFlip(1, 26, bits=4, memoised=True)
    users = pd.Series(["ann", None, float("nan"), pd.NA, 7, np.int64(7)], dtype=object)
    assert len(m.encode([3] * 6, users=users, memo=MEMO)) == 6
    labels = m.responses([3] * 6, users, memo=MEMO)
    assert len(set(labels.tolist())) == 5
    assert labels[4] == labels[5]


def test_ledger_charges_reports_of_other_p_and_q() -> None:
    strong, weak = Rappor(0.5, 0.49, 0.51, key=1), Rappor(0.5, 0.05, 0.95, key=1)
    labels = [m.responses(["v"], [1], memo=MEMO)[0] for m in (strong, weak)]
    assert labels[0] == labels[1]  # one permanent response for both
    ledger = ReportLedger(per_period=100, lifetime=100)
    prices = [paid(ledger, "k", m, "v", memo=MEMO) for m in (weak, weak, strong, strong)]
    assert min(prices) > 0
    assert sum(prices) >= weak.epsilon_over(2) + strong.epsilon_over(2) - 1e-12
    again = ReportLedger.from_json(ledger.to_json())
    assert paid(again, "k", weak, "v", memo=MEMO) == paid(ledger, "k", weak, "v", memo=MEMO)


def test_ledger_charges_a_stored_response_exactly() -> None:
    m, ledger = BitFlip(0.3, 26, memoised=True), ReportLedger(per_period=1, lifetime=1)
    assert [paid(ledger, "k", m, 1, memo=MEMO) for _ in range(2)] == [m.epsilon.exact, 0]  # type: ignore[attr-defined]
