"""The gate: a price buys noise of one law and one width, a line states both, and nothing is promised for less."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core.budget.draws import Draw
from discreet.core.budget.prices import Epsilon, Rho, Wanted
from discreet.core.columns.unit import Person
from discreet.errors import BudgetExceeded, FormatError, InvalidArgument
from discreet.mechanisms import COUNT, Gate, ManyRuns, Moves, PrivTreeTests, law_for
from discreet.mechanisms import gate as gate_file
from gates import gate_of, hold_of

HALF = Fraction(1, 2)
NONE = np.zeros(3, np.int64)


def of_persons(price: Epsilon | Rho, person: Person) -> Gate:
    wanted = Wanted(price) if isinstance(price, Epsilon) else Wanted(price.pure(), price, Fraction(1, 10**6))
    gate = Gate.open(wanted, gaussian=isinstance(price, Rho), unit=person, random_state=1)
    gate.bound(person)
    return gate


def test_prices_of_two_kinds_are_never_mixed() -> None:
    for wrong in (0.5, 1, HALF, Rho(1)):
        with pytest.raises(TypeError):
            Epsilon(1) + wrong  # type: ignore[operator]
        with pytest.raises(TypeError):
            assert Epsilon(1) == wrong
    for factor in (0.5, True, Epsilon(1)):
        with pytest.raises(TypeError):
            Epsilon(1) * factor
    with pytest.raises(TypeError):
        Rho(0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="epsilon cannot pay"):
        gate_of(Epsilon(1)).counts("a", NONE, Rho(HALF))
    with pytest.raises(TypeError, match="Epsilon or a Rho"):
        gate_of(Epsilon(1)).counts("a", NONE, HALF)  # type: ignore[arg-type]


def test_rows_of_persons_have_no_price_before_they_are_bounded() -> None:
    domain = dc.Domain({"ward": ["a", "b"]}, unit=dc.Person("who", rows=3))
    gate = Gate.open(1.0, unit=domain.unit, random_state=1)
    with pytest.raises(TypeError, match="open_release"):
        gate.counts("wards", NONE, Epsilon(HALF))
    with pytest.raises(TypeError, match="bounded once"):
        gate.bound(Person("who", rows=4))
    gate.bound(Person("who", rows=3))
    assert gate.left == Epsilon(Fraction(1, 3))


def test_a_gate_of_rows_promises_nothing_about_persons() -> None:
    domain = dc.Domain({"ward": ["a", "b"]}, unit=dc.Person("who", rows=3))
    gate = Gate.open(1.0, random_state=1)
    gate.counts("wards", NONE, gate.left)
    with pytest.raises(TypeError, match="prices rows"):
        gate.promise({}, domain=domain)


def test_shares_of_a_price_add_up_to_it() -> None:
    for weights in ([1, 1, 1], [1e-12, 1], [3, 0.1, 7, 7]):
        for price in (Epsilon(Fraction(1, 3)), Rho(Fraction(7, 11))):
            assert sum(price.divide(weights), price * 0) == price


def test_a_line_states_the_noise_that_was_drawn() -> None:
    gate = gate_of(Epsilon(4))
    gate.counts("cells", NONE, Epsilon(1))
    gate.numbers("sums", NONE, Epsilon(HALF), Moves(l1=10))
    gate.vectors("means", np.zeros((2, 3), np.int64), Epsilon(HALF), Moves(linf=64, l2_squared=1))
    gate.vectors("balls", np.zeros((2, 3), np.int64), Epsilon(HALF), Moves(l2_squared=25))
    gate.choose("choice", np.array([1, 5]), Epsilon(HALF), 2)
    tests = PrivTreeTests(gate, "tree", Epsilon(HALF), 2)
    tests.keep(NONE, 0)
    tests.keep(NONE, 1)
    gate.cuts("cuts", ManyRuns.of_counts(np.array([1]), np.array([2]), n_lines=np.array([8]), stride=8), 1, gate.left)
    lines = {line.label: line.draws[0] for line in gate.promise({}).ledger}
    assert lines["cells"] == Draw("laplace", Fraction(1), number=3)
    assert lines["sums"] == Draw("laplace", Fraction(20), Fraction(10), number=3)
    assert lines["means"] == Draw("max-norm", Fraction(128), Fraction(64), number=2)
    assert lines["balls"] == Draw("isotropic", Fraction(10), Fraction(25), number=2)
    assert lines["choice"] == Draw("choice", Fraction(4), Fraction(2), number=1)
    assert (lines["tree"].number, lines["tree"].scale, lines["tree"].bias) == (6, tests.rule.scale, tests.rule.bias)
    assert lines["cuts"] == Draw("choice", Fraction(2), number=1)
    assert not gate.left


def test_pure_steps_of_a_budget_in_rho() -> None:
    """One costs ε²/2, a choice for ρ is drawn for √(8ρ), and a share of several costs half the square of their sum."""
    gate = gate_of(Rho(1))
    gate.counts("alone", NONE, Epsilon(HALF))
    assert gate.left == Rho(Fraction(7, 8))
    gate.choose("choice", np.array([1, 5]), Rho(Fraction(1, 8)), 2)
    with gate.pure_share("both", Rho(HALF)) as both:
        both.counts("one", NONE, Epsilon(HALF))
        both.counts("other", NONE, Epsilon(HALF))
        with pytest.raises(BudgetExceeded):
            both.counts("third", NONE, Epsilon(Fraction(1, 100)))
        with pytest.raises(TypeError):
            both.counts("third", NONE, Rho(Fraction(1, 100)))
    assert gate.left == Rho(Fraction(1, 4))
    promise = gate.promise({})
    alone, choice, group = promise.ledger
    assert (alone.amount, choice.amount, group.amount, group.kind) == (Fraction(1, 8), Fraction(1, 8), HALF, "pure")
    assert choice.draws[0].scale == 2  # span 2 for an ε of 1
    assert promise.spent.exact == Fraction(3, 4)
    assert dc.Guarantee.from_json(promise.to_json()) == promise


def test_what_a_share_leaves_stays_spent() -> None:
    gate = gate_of(Epsilon(1))
    with gate.share("a share", Epsilon(HALF)) as part:
        part.counts("cells", NONE, Epsilon(Fraction(1, 8)))
        with pytest.raises(BudgetExceeded):
            part.counts("more", NONE, Epsilon(HALF))
    assert gate.left == Epsilon(HALF)
    (group,) = gate.promise({}).ledger
    assert [(line.label, line.amount, line.unused) for line in group.parts] == [
        ("cells", Fraction(1, 8), False),
        ("unused", Fraction(3, 8), True),
    ]


def test_nothing_is_promised_while_a_line_waits_and_noise_is_drawn_once() -> None:
    gate = gate_of(Epsilon(1))
    line = gate.hold("cells", Epsilon(HALF))
    with pytest.raises(RuntimeError, match="waits for its noise"):
        gate.promise({})
    line.numbers(NONE)
    assert gate.promise({}).epsilon == 0.5
    with pytest.raises(RuntimeError, match="drawn already"):
        line.numbers(NONE)


def test_rows_are_read_after_the_charge() -> None:
    gate = gate_of(Epsilon(1))
    seen: list[Any] = []

    def read() -> Any:
        seen.append(gate.left)
        return NONE

    gate.counts("cells", read, Epsilon(1))
    assert seen == [Epsilon(0)]
    for price in (Epsilon(1), gate.left):
        with pytest.raises(BudgetExceeded):
            gate.counts("more", read, price)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("price", "apart", "amount", "scale"),
    [
        (Epsilon(HALF), False, 3, Fraction(2)),
        (Rho(HALF), False, 18, Fraction(1)),
        (Rho(HALF), True, 18, None),
    ],
)
def test_a_line_is_for_all_rows_of_a_person(price: Any, apart: bool, amount: int, scale: Fraction | None) -> None:
    """Six rows, at most two in a group: 6ε, 36ρ; in cells that no two groups share ρ times the sum of squares."""
    person = Person("who", rows=6, group=("day",), per_group=2)
    gate = of_persons(type(price)(amount), person)
    assert gate.left == price
    gate.counts("cells", NONE, price, apart=apart)
    (line,) = gate.promise({}).ledger
    assert line.amount == amount
    (draw,) = line.draws
    if scale is not None:
        assert (draw.scale, draw.rows) == (scale, 6 if isinstance(price, Epsilon) else 36)
    else:
        # Three groups of two rows each: 12 in place of 36.
        assert draw.rows == person.l2_squared(grouped=True) == 12
        assert 0 <= draw.scale**2 * 2 * line.amount / 12 - 1 < Fraction(1, 10**9)
    with pytest.raises(TypeError, match="bounded once"):
        gate.bound(person)


def forged(line: dict[str, Any], **change: Any) -> dict[str, Any]:
    made = copy.deepcopy(line)
    made["draws"][0] |= change
    return made


@pytest.mark.parametrize(
    ("gate", "buy"),
    [
        (Epsilon(1), lambda g: g.counts("x", NONE, g.left)),
        (Epsilon(1), lambda g: g.vectors("x", np.zeros((2, 3), np.int64), g.left, Moves(linf=64))),
        (Epsilon(1), lambda g: g.vectors("x", np.zeros((2, 3), np.int64), g.left, Moves(l2_squared=64))),
        (Epsilon(1), lambda g: g.choose("x", np.array([1, 5]), g.left, 2)),
        (Epsilon(1), lambda g: PrivTreeTests(g, "x", g.left, 2).keep(NONE, 0)),
        (Rho(1), lambda g: g.counts("x", NONE, g.left)),
        (Rho(1), lambda g: g.choose("x", np.array([1, 5]), g.left, 2)),
    ],
)
def test_a_promise_that_is_cheaper_than_its_noise_is_refused(gate: Any, buy: Any) -> None:
    """Less noise, more rows or a wider reach for the same price; and the other way round it is read."""
    opened = gate_of(gate)
    buy(opened)
    facts = opened.promise({}).to_dict()
    (line,) = facts["ledger"]
    (draw,) = line["draws"]
    (moves,) = {"l1", "linf", "l2_squared", "span"} & set(draw)
    less = str(Fraction(draw["scale"]) * Fraction(99, 100))
    changes: list[dict[str, Any]] = [{"scale": less}, {"scale": "0"}, {"rows": 2}, {"law": "gift"}, {"rows": 0}]
    if draw["law"] != "privtree":
        changes.append({moves: str(Fraction(draw[moves]) + 1)})
    if isinstance(gate, Epsilon):
        changes.append({"law": "gaussian"})
    for change in changes:
        with pytest.raises(FormatError):
            dc.Guarantee.from_dict({**facts, "ledger": [forged(line, **change)]})
    more = forged(line, scale=str(Fraction(draw["scale"]) * 2))
    assert dc.Guarantee.from_dict({**facts, "ledger": [more]}).spent.exact == 1
    for lost in ("draws", "kind", "amount"):
        with pytest.raises(FormatError):
            dc.Guarantee.from_dict({**facts, "ledger": [{k: v for k, v in line.items() if k != lost}]})


def test_without_a_limit_there_is_no_noise_and_the_line_says_so() -> None:
    gate = gate_of(Epsilon(math.inf))
    assert gate.counts("cells", np.arange(3), gate.left).values.tolist() == [0, 1, 2]
    assert gate.left.infinite
    promise = gate.promise({})
    assert promise.ledger[0].draws[0].scale == 0
    assert promise.epsilon == math.inf
    assert dc.Guarantee.from_json(promise.to_json()) == promise


def test_laws_of_plans_are_those_of_draws() -> None:
    for price in (Epsilon(HALF), Rho(HALF)):
        noisy = hold_of(price).numbers(NONE)
        assert noisy.law == law_for(price, COUNT)
        assert noisy.variance == law_for(price).variance


def test_a_line_is_filled_with_numbers_or_vectors_once() -> None:
    gate = Gate.open(1.0, random_state=1)
    line = gate.hold("cells", gate.left)
    line.numbers(np.zeros(3, np.int64))
    with pytest.raises(RuntimeError, match="drawn already"):
        line.numbers(np.zeros(3, np.int64), Moves(l1=2))
    with pytest.raises(RuntimeError, match="drawn already"):
        line.choose([1, 2], 1)


def test_a_ledger_states_the_seed_and_the_unit_of_what_it_paid_for() -> None:
    rows = np.random.default_rng(0).random((50, 2))
    ledger = dc.Ledger(epsilon=3)
    dc.GridSynopsis(1.0, (0, 1), 2, ledger=ledger, random_state=1).fit(rows)
    ledger.spend("my own", 0.5)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    assert promise.seeded
    assert [line.external for line in promise.ledger] == [False, True]
    assert "external" in str(ledger)
    with pytest.raises(InvalidArgument, match="unit"):
        dc.Guarantee.from_ledger(ledger, model="central", unit="one person, with all their rows")


@pytest.mark.parametrize("given", [{"epsilon": 1}, {"rho": 1, "delta": 1e-6}])
def test_a_ledger_in_another_unit_holds_no_lines_of_the_release(given: dict[str, Any]) -> None:
    ledger = dc.Ledger(**given)
    budget = {"rho": 0.01, "delta": 1e-6, "epsilon": None} if "epsilon" in given else {"epsilon": 1.0}
    if "epsilon" in given:
        ledger = dc.Ledger(epsilon=1, delta=1e-6)
    domain = {f"x{i}": (0, 1) for i in range(6)}
    rows = np.random.default_rng(0).random((50, 6))
    dc.MarginalSynopsis(domain=domain, ledger=ledger, random_state=1, **budget).fit(rows)
    (line,) = dc.Guarantee.from_ledger(ledger, model="central").ledger
    assert line.external


def test_rows_of_a_list_are_read_one_by_one() -> None:
    """One odd record changes nothing for the others."""
    domain = dc.Domain({"age": (0, 10), "cost": (0, 10)})
    for odd in ((1, 2), {"cost": 2, "age": 1}, None, (), "text", 7):
        for rows in ([{"age": 1, "cost": 2}] * 9, [(1, 2)] * 9):
            made = dc.GridSynopsis(math.inf, domain, rule=2).fit([*rows, odd]).synopsis_
            assert made.weights[0] >= 9


@pytest.mark.parametrize("spans", [Fraction(3), [Fraction(3), Fraction(3)]])
def test_choices_in_boxes_run_at_the_rate_of_their_price(spans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    real = gate_file.weights_of
    monkeypatch.setattr(gate_file, "weights_of", lambda *given: seen.extend(np.unique(given[2])) or real(*given))
    gate = Gate.open(1.0, random_state=1)
    gate.choose_each("cuts", np.zeros((2, 4)), np.ones((2, 4), np.int64), gate.left, spans)
    assert seen == pytest.approx([1 / 3], rel=1e-9)


def test_an_approximate_step_costs_its_epsilon_and_delta() -> None:
    ledger = dc.Ledger(epsilon=1, delta=1e-6)
    dc.private_categories(["a"] * 50, list(range(50)), epsilon=0.5, delta=5e-7, ledger=ledger, rng=1)
    assert (ledger.spent, ledger.delta) == (0.5, 5e-7)
    (line,) = ledger.lines
    assert [(draw.law, draw.epsilon, float(draw.delta)) for draw in line.parts[0].draws] == [
        ("selection", Fraction(1, 2), 5e-7)
    ]
