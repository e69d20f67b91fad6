"""Grid sizes: published tables to the last digit, and what a domain makes of a rule."""

from __future__ import annotations

import math

import pytest

from discreet import Domain
from discreet.errors import InvalidArgument
from discreet.synopses.boxes.grid.rules import (
    axis_parts,
    eugkm,
    first_level,
    least_parts,
    rugnik,
    rugnik_bound,
    rugnik_root,
    second_level,
)
from discreet_studies.optimal_grid.findings import rugnik_range

#: K, N, then ε_0 and ε_1 for d = 2 and for d = 3 (Table I).
TABLE_1 = [
    (2, 100, 0.026, 15.396, 0.039, 78.475),
    (2, 200, 0.014, 21.773, 0.021, 131.979),
    (2, 400, 0.007, 30.792, 0.011, 221.962),
    (4, 200, 0.019, 30.792, 0.029, 186.647),
    (4, 400, 0.010, 43.546, 0.015, 313.901),
    (4, 800, 0.005, 61.584, 0.008, 527.918),
    (8, 400, 0.014, 61.584, 0.021, 443.924),
    (8, 800, 0.008, 87.092, 0.011, 746.588),
    (8, 1600, 0.004, 123.168, 0.006, 1255.607),
]
EPSILONS = (0.10, 0.15, 0.25, 0.40, 0.60, 1.00)
#: (d, K, N): cells of EUGkM, cells of RUGNIK, for the six budgets (reconstructed Table III).
TABLE_3 = {
    (2, 2, 100): ((1, 1, 4, 4, 4, 9), (4, 9, 9, 16, 16, 25)),
    (2, 2, 200): ((1, 4, 4, 9, 9, 16), (9, 9, 16, 25, 36, 49)),
    (2, 2, 400): ((4, 4, 9, 16, 25, 36), (16, 16, 25, 36, 49, 64)),
    (2, 4, 200): ((1, 4, 4, 9, 9, 16), (16, 16, 25, 36, 49, 64)),
    (2, 4, 400): ((4, 4, 9, 16, 25, 36), (25, 25, 36, 49, 81, 100)),
    (2, 4, 800): ((9, 9, 16, 36, 49, 81), (36, 36, 64, 81, 121, 169)),
    (2, 8, 400): ((4, 4, 9, 16, 25, 36), (36, 36, 64, 81, 121, 169)),
    (2, 8, 800): ((9, 9, 16, 36, 49, 81), (49, 64, 100, 121, 169, 256)),
    (2, 8, 1600): ((16, 25, 36, 64, 100, 169), (81, 100, 144, 196, 289, 400)),
    (3, 2, 100): ((1, 1, 1, 8, 8, 27), (8, 8, 8, 27, 27, 27)),
    (3, 2, 200): ((1, 8, 8, 8, 27, 27), (8, 8, 27, 27, 64, 64)),
    (3, 2, 400): ((8, 8, 27, 27, 64, 64), (27, 27, 27, 64, 64, 125)),
    (3, 4, 200): ((1, 8, 8, 8, 27, 27), (8, 27, 27, 64, 64, 125)),
    (3, 4, 400): ((8, 8, 27, 27, 64, 64), (27, 27, 64, 64, 125, 216)),
    (3, 4, 800): ((8, 27, 27, 64, 125, 216), (27, 64, 64, 125, 216, 343)),
    (3, 8, 400): ((8, 8, 27, 27, 64, 64), (27, 64, 64, 125, 125, 216)),
    (3, 8, 800): ((8, 27, 27, 64, 125, 216), (64, 64, 125, 216, 343, 512)),
    (3, 8, 1600): ((27, 64, 64, 125, 216, 512), (125, 125, 216, 343, 512, 729)),
}


@pytest.mark.parametrize("row", TABLE_1)
def test_table_1_to_the_last_digit(row):
    k, n, *figures = row
    for d, low, high in ((2, *figures[:2]), (3, *figures[2:])):
        found = rugnik_range(n, d, k)
        assert math.ceil(found[0] * 1000) / 1000 == low
        assert math.floor(found[1] * 1000) / 1000 == high


@pytest.mark.parametrize(
    ("d", "k", "n", "epsilon", "root", "cells"),
    [
        (2, 2, 100, 0.10, 2.2943, 5.264),
        (2, 4, 400, 0.25, 6.2080, 38.539),
        (2, 8, 1600, 1.00, 19.8924, 395.707),
        (3, 2, 200, 0.60, 3.5003, 42.885),
        (3, 8, 800, 0.40, 5.8140, 196.529),
    ],
)
def test_worked_values(d, k, n, epsilon, root, cells):
    m = rugnik_root(n, epsilon, d, k)
    assert m == pytest.approx(root, abs=5e-5)
    assert m**d == pytest.approx(cells, abs=6e-4)
    assert rugnik_bound(m, n, epsilon, d, k) <= min(rugnik_bound(m + s, n, epsilon, d, k) for s in (-0.01, 0.01))
    # The root's cells lie between the bounds of Theorem 2.
    low = (2 * math.sqrt(2) * n * epsilon / (3 * d) * (1 + math.sqrt(3 / n)) * k ** (2 / d)) ** (2 * d / (4 + d))
    high = (2 * math.sqrt(2) * n * epsilon * k ** (2 / d) / d) ** (2 * d / (4 + d))
    assert low <= m**d <= high


@pytest.mark.parametrize("key", TABLE_3)
def test_table_3_integer_for_integer(key):
    d, k, n = key
    assert tuple(eugkm(n, e, d) ** d for e in EPSILONS) == TABLE_3[key][0]
    assert tuple(rugnik(n, e, d, k) ** d for e in EPSILONS) == TABLE_3[key][1]
    assert tuple(rugnik(n, e, d, k, guard=False) ** d for e in EPSILONS) == TABLE_3[key][1]


def test_rugnik_grows_with_rows_budget_and_clusters():
    for d in (1, 2, 3, 5, 10):
        for values in (
            [rugnik(n, 0.5, d, 6) for n in (1, 10, 100, 1000, 10**4, 10**6, 10**9)],
            [rugnik(5000, e, d, 6) for e in (1e-4, 0.01, 0.1, 0.5, 1, 3, 10, 100)],
            [rugnik(5000, 0.5, d, k) for k in range(1, 40)],
        ):
            assert values == sorted(values)
            assert values[0] >= 1


def test_the_guard_and_odd_numbers():
    assert rugnik(-500, 1e-6, 2, 15) == 4 == least_parts(15, 2)
    assert least_parts(10**18, 3) == 10**6
    assert least_parts(10**18 + 1, 3) == 10**6 + 1
    assert rugnik(10**4, 1.0, 800, 5) == 2
    assert eugkm(-7, 1.0, 2) == 1
    with pytest.raises(InvalidArgument, match="epsilon must be finite"):
        rugnik(100, math.inf, 2, 3)
    with pytest.raises(InvalidArgument, match="k must be"):
        rugnik(100, 1.0, 2, 0)


def test_the_constant_of_eugkm_is_a_choice():
    assert eugkm(5000, 1.0, 2) == 22


def test_adaptive_sizes_follow_the_published_rule_in_two_dimensions():
    for n, epsilon in [(1000, 0.5), (10**5, 1.0), (10**6, 2.0)]:
        assert abs(first_level(n, epsilon, 2) - max(10, math.ceil(math.sqrt(n * epsilon / 10)) / 4)) <= 0.75
    assert second_level(1000, 0.5, 2, 5.0) == math.ceil(math.sqrt(1000 * 0.5 / 5))
    for count in range(0, 5000, 7):
        assert second_level(count, 0.5, 2, 5.0) == max(1, math.ceil(math.sqrt(count * 0.5 / 5)))
    assert first_level(1000, 1.0, 9) < 10
    assert second_level(50, 0.5, 15, 5.0) == 1  # not 2^15 cells for 50 rows


def _parts(domain, n=5000, epsilon=1.0, k=4, max_cells=2**20, rule=rugnik):
    ask = (lambda e, d, c: rugnik(n, e, d, c, guard=False)) if rule is rugnik else (lambda e, d, c: eugkm(n, e, d))
    return axis_parts(ask, domain, n=n, epsilon=epsilon, k=k, max_cells=max_cells)


def test_axes_are_equal_whatever_their_units():
    domain = Domain({"x": (0, 30), "y": (0, 10)})
    m = rugnik(5000, 1.0, 2, 4)
    assert _parts(domain) == (m, m)


def test_categories_have_a_cell_each_and_count():
    domain = Domain({"x": (0, 1), "sex": ["f", "m"], "y": (0, 1), "town": list("abcdefgh")})
    x, sex, y, town = _parts(domain)
    assert (sex, town) == (2, 8)
    assert x == y == rugnik(5000, 1.0 / 4, 2, 1, guard=False) < rugnik(5000, 1.0, 2, 4)
    assert _parts(Domain({"sex": ["f", "m"]})) == (2,)


def test_high_dimension_cuts_only_as_many_axes_as_the_rows_carry():
    names = [f"c{i}" for i in range(24)]
    domain = Domain.box(0, 5, names=names)
    parts = _parts(domain, n=5456, epsilon=1.0, k=5, rule=eugkm)
    assert sorted(set(parts)) == [1, 2]
    assert sum(p == 2 for p in parts) == math.floor(math.log2(5456 / 10))
    # Which ones does not depend on the order of the columns.
    shuffled = Domain.box(0, 5, names=names[::-1])
    assert _parts(shuffled, n=5456, epsilon=1.0, k=5, rule=eugkm) == parts[::-1]
    assert math.prod(_parts(domain, n=-3, epsilon=0.1, k=5, rule=eugkm)) == 8


def test_limits_hold():
    domain = Domain.box([0] * 3, [1] * 3)
    assert math.prod(_parts(domain, n=10**9, rule=eugkm)) <= 2**20
    assert _parts(domain, epsilon=math.inf, max_cells=10**6) == (100, 100, 100)
    assert math.prod(_parts(Domain.box([0] * 30, [1] * 30), epsilon=math.inf)) == 2**20
    assert math.prod(_parts(domain, n=-100, epsilon=0.001, k=9)) >= 9


@pytest.mark.parametrize(
    ("d", "k", "n", "epsilon", "lower", "best", "upper"),
    [
        (2, 2, 100, 0.10, 4.964, 5.264, 9.283),
        (2, 4, 400, 0.25, 34.755, 38.539, 68.399),
        (2, 8, 1600, 1.00, 340.938, 395.707, 689.419),
        (3, 2, 200, 0.60, 36.838, 42.885, 85.556),
        (3, 8, 800, 0.40, 179.707, 196.529, 437.926),
    ],
)
def test_the_optimum_lies_between_the_bounds_of_theorem_2(d, k, n, epsilon, lower, best, upper):
    assert rugnik_root(n, epsilon, d, k) ** d == pytest.approx(best, abs=6e-3)
    assert lower < best < upper


def test_rules_hold_in_a_thousand_dimensions_and_for_budgets_beyond_doubles() -> None:
    assert math.isfinite(rugnik_root(1e6, 1.0, 1000, 2))
    assert eugkm(1e300, 1e20, 1) == 2**62
