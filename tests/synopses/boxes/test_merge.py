"""The cost of merging two releases: the sum, or the maximum if the caller declares that no person is in both."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.core.budget.guarantee import add_up
from discreet.synopses import BoxSynopsis, Synopsis
from discreet.synopses.boxes.merge import DISJOINT

PRICES = st.lists(st.fractions(Fraction(1, 100), 5, max_denominator=1000), min_size=1, max_size=4)


def release(prices: list[Fraction]) -> Synopsis:
    ledger = dc.Ledger(epsilon=sum(prices))
    for i, price in enumerate(prices):
        ledger.spend(f"step {i}", price)
    promise = dc.Guarantee.from_ledger(ledger, model="central", assumptions=("the bounds are public",))
    domain = dc.Domain.box(0, 1)
    return BoxSynopsis(domain, lower=[[0]], upper=[[1]], weights=[4], variances=[1.0], guarantee=promise)


@given(st.lists(PRICES, min_size=2, max_size=4), st.booleans())
def test_the_sum_unless_the_caller_says_that_no_person_is_in_both(sides, disjoint):
    merged = reduce(lambda a, b: a.merge(b, disjoint_people=disjoint), map(release, sides))
    prices = [sum(side) for side in sides]
    expected = max(prices) if disjoint else sum(prices)
    promise = merged.guarantee
    assert promise.spent.exact == expected
    assert add_up(promise.ledger) == expected
    assert (DISJOINT in promise.assumptions) is disjoint
    assert promise.parameters["disjoint_people"] is disjoint


def test_the_default_adds_up_and_a_merged_release_loads_and_verifies(tmp_path):
    one, two = release([Fraction(1, 2)]), release([Fraction(1, 4)])
    for name, merged in (("sum", one.merge(two)), ("max", one.merge(two, disjoint_people=True))):
        merged.save(tmp_path / f"{name}.parquet")
        again = Synopsis.load(tmp_path / f"{name}.parquet")
        assert again.digest == merged.digest
        assert again.guarantee.spent.exact == {"sum": Fraction(3, 4), "max": Fraction(1, 2)}[name]
        assert (DISJOINT in again.guarantee.assumptions) is (name == "max")
    with pytest.raises(TypeError):
        one.merge(two, True)  # a declaration is spelled out
