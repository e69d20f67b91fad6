"""Intervals agree with SciPy's, and rounded figures stay on the safe side."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from discreet.core import at_least, at_most, clopper_pearson, in_threads, map_threads, wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (3, 10), (999, 1000), (0, 50)])
def test_intervals_of_rates_are_those_of_scipy(successes: int, trials: int) -> None:
    test = binomtest(successes, trials)
    score, exact = (test.proportion_ci(0.95, method) for method in ("wilson", "exact"))
    assert [float(x) for x in wilson(successes, trials, 0.95)] == pytest.approx([score.low, score.high])
    assert [float(x) for x in clopper_pearson(successes, trials, 0.025)] == pytest.approx([exact.low, exact.high])


def test_without_trials_nothing_is_known() -> None:
    assert [float(x) for x in wilson(0, 0, 0.95)] == [0.0, 1.0]


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.integers(1, 9))
def test_bounds_are_rounded_to_the_safe_side(number: Fraction, digits: int) -> None:
    low, high = Fraction(at_least(number, digits)), Fraction(at_most(number, digits))
    assert low <= number <= high
    assert high - low <= number * Fraction(2, 10 ** (digits - 1))


def test_threads_keep_the_order_and_pass_errors_on() -> None:
    assert map_threads(str, range(100)) == in_threads(lambda _, n: str(n), range(100)) == list(map(str, range(100)))
    with pytest.raises(ZeroDivisionError):
        map_threads(lambda n: 1 // n, range(9))
