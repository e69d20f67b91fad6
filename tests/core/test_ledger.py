"""The ledger adds up in exact rationals, whatever the nesting, and cannot be overspent."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.core.budget.guarantee import Budget, Line, Scope, add_up, epsilon_to_zcdp, zcdp_to_epsilon
from discreet.errors import BudgetExceeded, InvalidArgument, InvalidType

# From 10^-6 to 10, in up to millionths; made of whole numbers, which are drawn several times faster than fractions.
amounts = st.builds(lambda n, d: Fraction(n % (10 * d) + 1, d), st.integers(0, 10**7), st.integers(1, 10**6))
# A composition is a price, or (kind, [compositions]).
compositions: Any = st.recursive(
    amounts,
    lambda inner: st.tuples(st.sampled_from(["sequential", "parallel"]), st.lists(inner, min_size=1, max_size=4)),
    max_leaves=20,
)


def reference(composition: Any) -> Fraction:
    """The cost by the definition alone."""
    if isinstance(composition, Fraction):
        return composition
    kind, parts = composition
    costs = [reference(part) for part in parts]
    return sum(costs, Fraction(0)) if kind == "sequential" else max(costs)


def enact(scope: Scope, composition: Any, number: int = 0) -> None:
    if isinstance(composition, Fraction):
        scope.spend(f"step {number}", composition)
        return
    kind, parts = composition
    with getattr(scope, kind)(f"{kind} {number}") as group:
        for i, part in enumerate(parts):  # members of a parallel group need names of their own
            enact(group, part, i)


@given(st.lists(compositions, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_random_nested_compositions_equal_the_reference_sum(program: list[Any]) -> None:
    ledger = dc.Ledger(epsilon=10**6)
    for composition in program:
        enact(ledger, composition)
    cost = sum(map(reference, program), Fraction(0))
    assert ledger.spent.exact == cost
    assert ledger.remaining.exact == 10**6 - cost
    assert add_up(ledger.lines) == cost
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    assert dc.Guarantee.from_json(promise.to_json()).spent.exact == cost


@given(st.lists(compositions, min_size=1, max_size=4), amounts)
@settings(max_examples=150, deadline=None)
def test_no_path_overspends(program: list[Any], limit: Fraction) -> None:
    """Each step is either paid in full or refused without a trace."""
    ledger = dc.Ledger(epsilon=limit)
    refused = False
    try:
        for composition in program:
            enact(ledger, composition)
    except BudgetExceeded:
        refused = True
    assert ledger.spent.exact <= limit
    assert add_up(ledger.lines) == ledger.spent.exact
    assert refused == (sum(map(reference, program), Fraction(0)) > limit)


def test_floats_are_read_as_they_are_written() -> None:
    ledger = dc.Ledger(epsilon=1)
    for _ in range(10):
        ledger.spend("a tenth", 0.1)
    assert ledger.remaining == 0
    with pytest.raises(BudgetExceeded):
        ledger.spend("a hair", 1e-300)


def test_what_remains_can_be_spent_to_the_last_bit() -> None:
    ledger = dc.Ledger(epsilon=0.7)
    ledger.spend("some", Fraction(1, 3))
    price = ledger.spend("the rest", ledger.remaining)
    assert price == Fraction(7, 10) - Fraction(1, 3)
    assert ledger.remaining.exact == 0


def test_a_refused_step_leaves_the_ledger_as_it_was() -> None:
    ledger = dc.Ledger(epsilon=1)
    with ledger.parallel("cells") as cells:
        cells.spend("left", 0.75)
        before = (ledger.spent, ledger.lines)
        with pytest.raises(BudgetExceeded, match=r"'right' needs epsilon 1\.5 but only 0\.25 of 1 is left"):
            cells.spend("right", 1.5)
        assert (ledger.spent, ledger.lines) == before
        cells.spend("right", 1.0)
    assert ledger.remaining == 0


def test_overspending_fails_before_any_data_are_read() -> None:
    class Trap:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            raise AssertionError("the data were read")

    ledger = dc.Ledger(epsilon=0.5)
    with pytest.raises(BudgetExceeded):
        dc.private_bounds(Trap(), epsilon=0.6, ledger=ledger)
    assert ledger.spent == 0


def test_threads_cannot_overspend_together() -> None:
    ledger = dc.Ledger(epsilon=1)
    paid = []

    def work() -> None:
        for _ in range(100):
            try:
                paid.append(ledger.spend("step", 0.01))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(paid) == 100
    assert ledger.remaining == 0


def test_nothing_public_can_be_set_or_taken_back() -> None:
    ledger = dc.Ledger(epsilon=1)
    for name in ("spent", "remaining", "total", "lines", "epsilon", "delta"):
        with pytest.raises(AttributeError):
            setattr(ledger, name, 0)
    with pytest.raises((InvalidArgument, InvalidType)):
        ledger.spend("refund", -0.5)
    assert isinstance(ledger.lines, tuple)


def test_shares_add_up_to_what_is_left() -> None:
    ledger = dc.Ledger(epsilon=0.1)
    ledger.spend("size", 0.003)
    shares = ledger.split(0.15, 0.25, 0.6)
    assert sum(shares) == Fraction("0.097")
    for share in shares:
        ledger.spend("share", share)
    assert ledger.remaining == 0


def test_a_run_without_privacy_says_so() -> None:
    ledger = dc.Ledger(epsilon=math.inf)
    price = ledger.spend("count", math.inf)
    ledger.spend("more", 1)
    assert dc.noise.discrete_laplace(1 / price) == 0
    assert (ledger.spent, ledger.remaining) == (math.inf, math.inf)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    assert "NO privacy guarantee" in str(promise)
    assert dc.Guarantee.from_json(promise.to_json()) == promise
    with pytest.raises(BudgetExceeded):
        dc.Ledger(epsilon=5).spend("all", math.inf)


def test_zcdp_steps_add_up_and_convert() -> None:
    ledger = dc.Ledger(rho=0.5, delta=1e-6)
    assert ledger.spend("gaussian", rho=0.25) == Fraction(1, 4)
    assert ledger.spend("laplace", 0.5) == Fraction(1, 2)  # pure ε costs ρ = ε²/2
    assert ledger.spent.exact == Fraction(1, 4) + Fraction(1, 8)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    assert promise.rho == 0.375
    assert promise.epsilon == pytest.approx(zcdp_to_epsilon(0.375, 1e-6))
    assert "(4.4" in str(promise)
    assert dc.Guarantee.from_json(promise.to_json()) == promise
    with pytest.raises(BudgetExceeded):
        ledger.spend("too much", rho=0.2)
    with pytest.raises(InvalidArgument, match="rho"):
        dc.Ledger(epsilon=1).spend("gaussian", rho=0.1)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 3, 50])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_conversion_is_valid_and_no_worse_than_the_textbook(rho: float, delta: float) -> None:
    """Against the exact (ε, δ) curve of the Gaussian mechanism, which is ρ-zCDP with σ = 1/sqrt(2ρ)."""
    from scipy.stats import norm

    epsilon = zcdp_to_epsilon(rho, delta)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) * (1 + 1e-8)
    mu = math.sqrt(2 * rho)
    true_delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert true_delta <= delta * (1 + 1e-6)
    if epsilon > 0:
        back = epsilon_to_zcdp(epsilon, delta)
        assert back == pytest.approx(rho, rel=1e-4)


def test_the_table_reads_well() -> None:
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("size", 0.03)
    with ledger.parallel("leaves") as leaves:
        leaves.spend("early", 0.5)
        leaves.spend("late", 0.97)
    assert str(ledger).splitlines() == [
        "step       composition  epsilon",
        "size       external        0.03",
        "leaves     parallel        0.97",
        "  early    external         0.5",
        "  late     external        0.97",
        "spent                         1",
        "remaining                     0",
    ]
    assert repr(ledger) == "<Ledger epsilon: 1 of 1 spent>"


def test_budget_survives_pickling_with_its_exact_value() -> None:
    import pickle

    third = pickle.loads(pickle.dumps(Budget(Fraction(1, 3))))
    assert third.exact == Fraction(1, 3)
    assert third == 1 / 3


def test_empty_groups_leave_no_line() -> None:
    ledger = dc.Ledger(epsilon=1)
    with ledger.parallel("nothing") as group, group.sequential("still nothing"):
        pass
    assert ledger.lines == ()
    assert add_up([Line("a", Fraction(1))]) == 1


def test_a_ledger_cannot_be_copied_or_turned() -> None:
    """A copy could spend the same budget again; a changed unit would halve the prices."""
    import copy
    import pickle

    ledger = dc.Ledger(epsilon=1)
    for scope in (ledger, ledger.parallel("cells")):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises((InvalidType, TypeError)):
                duplicate(scope)
    with pytest.raises(AttributeError):
        ledger.unit = "rho"  # type: ignore[misc]
    with pytest.raises(InvalidType):
        Scope(ledger, None, "stray", "sequential").spend("free", 5)
    assert ledger.spent == 0


def test_a_number_with_a_forged_exact_value_is_read_as_the_number() -> None:
    class Forged(float):
        exact = Fraction(-5)

    ledger = dc.Ledger(epsilon=1)
    assert ledger.spend("step", Forged(0.5)) == Fraction(1, 2)


@pytest.mark.parametrize("huge", [10**400, Fraction(10**400), 1e31])
def test_budgets_beyond_all_meaning_are_refused(huge: Any) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        dc.Ledger(epsilon=huge)
    with pytest.raises(InvalidArgument, match="rho"):
        zcdp_to_epsilon(huge, 0.1)


def test_tiny_zcdp_budgets_are_rounded_up() -> None:
    assert zcdp_to_epsilon(Fraction(1, 10**400), 1e-300) > 0
    with pytest.raises(InvalidArgument, match="delta"):
        zcdp_to_epsilon(1, Fraction(1, 10**400))
    # Values computed with 60 digits: the claim must not be below them.
    assert zcdp_to_epsilon(1.495e-24, 1e-12) >= 8.1478e-14


def test_all_of_delta_can_be_spent_and_not_a_hair_more() -> None:
    ledger = dc.Ledger(epsilon=1, delta=1e-6)
    ledger.spend("words", 0.1, delta=4e-7)
    with pytest.raises(BudgetExceeded, match="delta"):
        ledger.spend("more words", 0.1, delta=Fraction(6, 10**7) + Fraction(1, 10**30))
    ledger.spend("more words", 0.1, delta=6e-7)
    assert (ledger.delta, ledger.spent) == (1e-6, 0.2)
