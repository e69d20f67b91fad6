"""Private quantiles: exact laws against enumeration, privacy loss, one answer from rows and from counts, odd data."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from choice_law import cuts_chance, law
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.choice import _scaled_kernels as _scaled
from discreet.noise.choice import joint as joint_kernels
from discreet.noise.choice.exponential import ETA, rate
from discreet.noise.choice.joint import JointLaw, eta, shares, subset
from discreet.noise.choice.quantiles import cells_of, choose_cuts, cut_law, quantiles, quantiles_from_counts
from discreet.noise.choice.runs import Runs, rank_losses
from discreet.noise.stream.generator import generator

THIRDS = [Fraction(1, 3), Fraction(2, 3)]
QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


# -- the laws, three ways ---------------------------------------------------------------------------------------------


@functools.cache
def increasing(n_cells, m):
    return np.array(list(itertools.combinations(range(1, n_cells), m)))


@functools.cache
def wanted(qs, n):
    return np.array([float(p * n) for p in shares(list(qs))])


def enumerated(counts, qs, factor):
    """The joint law by its definition: every increasing tuple, weighted by exp(-factor * sum of count errors)."""
    tuples = increasing(len(counts), len(qs))
    left = np.concatenate([[0], np.cumsum(counts)])
    edges = np.column_stack([np.zeros(len(tuples), int), left[tuples], np.full(len(tuples), left[-1])])
    targets = wanted(tuple(qs), int(left[-1]))
    losses = np.abs(np.diff(edges, axis=1) - targets).sum(axis=1) * factor
    weights = np.exp(losses.min() - losses)
    return weights / weights.sum()


def joint_law(counts, qs, epsilon):
    """The joint law that the sampler draws from, for every increasing tuple: its own tables, each read once."""
    tables = JointLaw(Runs.of_counts(np.arange(len(counts)), counts, start=0, stop=len(counts)), qs, epsilon)
    runs, groups = {}, {}
    result = []
    where = np.searchsorted(tables.runs.first, np.arange(len(counts)), "right") - 1
    for cuts in itertools.combinations(range(1, len(counts)), len(qs)):
        chance, j, end, here = 1.0, len(qs), len(tables.runs.left), tables.runs.rows
        for run, k in reversed(Counter(int(where[c]) for c in cuts).items()):
            if (j, end) not in runs:
                runs[j, end] = law(tables.run_sums(j, end, here))
            if (j, run) not in groups:
                groups[j, run] = law(tables.group_sums(j, run))
            chance *= runs[j, end][run] * groups[j, run][k - 1] / math.comb(int(tables.runs.size[run]), k)
            j, end, here = j - k, run, int(tables.runs.left[run])
        result.append(chance)
    return np.array(result)


def single_law(counts, q, epsilon):
    """The law of one cut, spread from the runs to the candidates."""
    runs = Runs.of_counts(np.arange(len(counts)), counts, start=0, stop=len(counts))
    edges = np.array([0, 0, len(counts)]), np.array([0, 0, runs.rows])
    _, size, _, sums = cut_law(runs, [q], epsilon, (0, 1, 2), *edges)
    return np.repeat(law(sums) / size, size)


def recursive_law(counts, qs, epsilon):
    """The law of three cuts chosen middle first."""
    runs = Runs.of_counts(np.arange(len(counts)), counts, start=0, stop=len(counts))
    left = np.concatenate([[0], np.cumsum(counts)])

    def cut(block, a, b):
        cuts, rows = np.zeros(5, np.int64), np.zeros(5, np.int64)
        cuts[[block[0], block[2]]], rows[[block[0], block[2]]] = (a, b), (left[a], left[b])
        first, size, _, sums = cut_law(runs, qs, epsilon / 2, block, cuts, rows)
        return first[0], np.repeat(law(sums) / size, size)

    result = {}
    low, middle = cut((0, 2, 4), 0, len(counts))
    for k, p in enumerate(middle, low):
        (l1, below), (l2, above) = cut((0, 1, 2), 0, k), cut((2, 3, 4), k, len(counts))
        for (i, x), (j, y) in itertools.product(enumerate(below, l1), enumerate(above, l2)):
            result[i, k, j] = p * x * y
    return np.array([result[t] for t in itertools.combinations(range(1, len(counts)), 3)])


def instance(rng, cells=(5, 12)):
    """A random histogram with ties, rows in the end cells, and sometimes no rows at all."""
    n_cells, n = int(rng.integers(*cells)), int(rng.integers(0, 9))
    places = rng.integers(0, n_cells, n)
    if rng.random() < 0.4:
        places = rng.choice([0, n_cells - 1, n_cells // 2], n)
    return np.bincount(places, minlength=n_cells)


def loss(p, q):
    return float(np.abs(np.log(p / q)).max())


def test_joint_law_equals_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts, m = instance(rng), int(rng.integers(1, 4))
        qs = [Fraction(int(q), 100) for q in sorted(rng.choice(np.arange(1, 100), m, replace=False))]
        epsilon = Fraction(int(rng.integers(1, 500)), 10)
        factor = rate(epsilon, 4 * (1 - min(shares(qs))), eta(m, len(counts) - 1, epsilon))
        expected = enumerated(counts, qs, factor)
        found = joint_law(counts, qs, epsilon)
        assert found == pytest.approx(expected, rel=1e-12)
        assert found.sum() == pytest.approx(1.0, rel=1e-12)


def test_probability_reads_the_same_tables():
    counts, tuples = np.array([3, 0, 2, 0, 0, 4]), list(itertools.combinations(range(1, 6), 2))
    tables = JointLaw(Runs.of_counts(np.arange(6), counts, start=0, stop=6), THIRDS, Fraction(2))
    assert [cuts_chance(tables, t) for t in tuples] == pytest.approx(joint_law(counts, THIRDS, Fraction(2)), rel=1e-14)


def test_one_cut_by_runs_equals_one_cut_by_candidates():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        counts, q = instance(rng), Fraction(int(rng.integers(1, 20)), 20)
        epsilon = Fraction(int(10 ** rng.uniform(0, 4)), 10)
        factor = rate(epsilon, 2 * max(q, 1 - q), ETA + epsilon / 2**52)
        distance = np.abs(np.concatenate([[0], np.cumsum(counts)])[1:-1] - float(q * int(counts.sum())))
        weights = np.exp(-np.minimum(factor * (distance - distance.min()), 700))
        assert single_law(counts, q, epsilon) == pytest.approx(weights / weights.sum(), rel=1e-12)


def test_joint_law_of_one_quantile_is_the_single_cut():
    counts = np.array([2, 0, 5, 1, 0, 0, 3])
    for q in (Fraction(1, 2), Fraction(1, 10)):
        joint, single = joint_law(counts, [q], Fraction(3)), single_law(counts, q, Fraction(3))
        assert joint == pytest.approx(single, rel=1e-6)  # they reserve different amounts for rounding


# -- privacy ----------------------------------------------------------------------------------------------------------


def neighbours(rng, trials, cells):
    for _ in range(trials):
        counts = instance(rng, cells)
        more = counts.copy()
        more[rng.integers(len(counts))] += 1
        yield counts, more


LAWS = {
    "one": lambda counts, epsilon: single_law(counts, Fraction(1, 2), epsilon),
    "one, skewed": lambda counts, epsilon: single_law(counts, Fraction(1, 10), epsilon),
    "joint 2": lambda counts, epsilon: joint_law(counts, THIRDS, epsilon),
    "joint 3": lambda counts, epsilon: joint_law(counts, QUARTERS, epsilon),
    "joint 3, skewed": lambda counts, epsilon: joint_law(
        counts, [Fraction(1, 10), Fraction(1, 5), Fraction(9, 10)], epsilon
    ),
    "recursive 3": lambda counts, epsilon: recursive_law(counts, QUARTERS, epsilon),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    ("trials", "epsilon"),
    [(500, 1), *(pytest.param(n, e, marks=pytest.mark.slow) for n, e in ((500, 4), (10_000, 1), (10_000, 4)))],
)
def test_loss_of_random_neighbours_never_exceeds_epsilon(name, trials, epsilon):
    pairs = neighbours(np.random.default_rng(2), trials, (4, 8))
    worst = max(loss(LAWS[name](a, Fraction(epsilon)), LAWS[name](b, Fraction(epsilon))) for a, b in pairs)
    assert 0.5 * epsilon < worst <= epsilon


@pytest.mark.parametrize("trials", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("qs", [[Fraction(1, 2)], THIRDS, QUARTERS])
def test_loss_of_many_neighbours_by_enumeration(qs, trials):
    factor = 1 / float(4 * (1 - min(shares(qs))))
    pairs = neighbours(np.random.default_rng(3), trials, (5, 9))
    assert max(loss(enumerated(a, qs, factor), enumerated(b, qs, factor)) for a, b in pairs) <= 1 + 1e-12


@pytest.mark.parametrize(("counts", "qs"), [([4, 75, 71, 63, 17], THIRDS), ([2, 70, 25, 15, 64, 32, 27, 0], QUARTERS)])
def test_built_neighbours_reach_epsilon_so_the_sensitivity_is_exact(counts, qs):
    more = np.array(counts)
    more[2] += 1
    reached = loss(joint_law(np.array(counts), qs, Fraction(1)), joint_law(more, qs, Fraction(1)))
    assert 0.9999999 < reached <= 1


def test_rounding_reserve_depends_on_public_numbers_only():
    assert float(4 * eta(9, 2**20, Fraction(1))) < 1e-6
    for rows in (np.zeros(0, int), np.arange(1000)):
        law_of = JointLaw(Runs.of_cells(rows, start=0, stop=2**20), QUARTERS, Fraction(1))
        assert law_of.rate == rate(Fraction(1), Fraction(3), eta(3, 2**20 - 1, Fraction(1)))
    with pytest.raises(InvalidArgument, match=r"epsilon must be larger than .*; try fewer bits"):
        quantiles([0.5], [0.2, 0.4], epsilon=1e-9, low=0, high=1)


# -- precision --------------------------------------------------------------------------------------------------------


def exact_sum(left, weights, target, factor, floor, i):
    """Sum over h < i of a(h) (exp(-factor |left(i) - left(h) - target|) + e^-floor), with fifty digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, -(10**9), 10**9
        wanted = Decimal(target.numerator) / Decimal(target.denominator)
        low = (-Decimal(floor)).exp()
        terms = (weights[h] * ((-abs(int(left[i] - left[h]) - wanted) * Decimal(factor)).exp() + low) for h in range(i))
        return sum(terms, Decimal(0))


def layer_error(rng, n, step, target, factor, floor, checked):
    left = np.cumsum(rng.integers(1, step + 1, n))
    m, e = 2.0 ** rng.uniform(-200, 200, n), rng.integers(-20, 20, n)
    out, scratch = (np.empty(n), np.empty(n, np.int64)), (np.empty(n), np.empty(n, np.int64))
    target_parts = int(target // 1), float(target % 1)
    joint_kernels.next_layer(left, m, e, target_parts, factor, _scaled.decayed(floor), *scratch, *out)
    worst = 0.0
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, -(10**9), 10**9
        two = Decimal(2)
        weights = [Decimal(a) * two ** (512 * int(b)) for a, b in zip(m, e, strict=True)]
        for i in checked:
            expected = exact_sum(left, weights, target, factor, floor, i)
            found = Decimal(out[0][i]) * two ** (512 * int(out[1][i]))
            worst = max(worst, abs(float(found / expected - 1)))
    return worst


@pytest.mark.parametrize("step", [1, 50])
@pytest.mark.parametrize("target", [Fraction(0), Fraction(7, 2), Fraction(1000, 3), Fraction(10**5)])
@pytest.mark.parametrize("factor", [1e-3, 0.3, 20.0])
def test_window_sums_equal_naive_sums(step, target, factor):
    rng = np.random.default_rng(4)
    assert layer_error(rng, 300, step, target, factor, 2000.0, [1, 2, 17, 150, 299]) < 1e-12


def test_window_sums_over_ten_thousand_runs():
    rng = np.random.default_rng(5)
    assert layer_error(rng, 10_000, 5, Fraction(20_001, 2), 0.01, 2.0**20, [4000, 9999]) < 1e-12


def test_decay_is_accurate_far_beyond_doubles():
    for x in (0.0, 1.0, 177.4, 177.5, 354.9, 1234.5, 1e5, 2.0**20 + 0.1):
        m, e = _scaled.decayed(x)
        assert 2.0**-256 <= m < 2.0**256
        with localcontext() as context:
            context.prec = 50
            error = Decimal(m) * Decimal(2) ** (512 * int(e)) / (-Decimal(x)).exp() - 1
        assert abs(error) <= (2.1 * x + 4) * 2.0**-53


def test_rank_losses_stay_exact_for_astronomic_counts():
    left = np.array([2**59, 2**59 + 1, 2**59 + 5, 2**60])
    assert rank_losses(left, Fraction(3, 10)).tolist() == [0, 1, 5, 2**59]
    assert rank_losses(left, Fraction(2**59) + Fraction(1, 4)).tolist() == [0, 0.5, 4.5, 2**59 - 0.5]
    assert rank_losses(left, Fraction(2**61)).tolist() == [float(2**60 - int(n)) for n in left]


# -- sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "trials"),
    [("joint", 1500), *(pytest.param(method, 5000, marks=pytest.mark.slow) for method in ("joint", "recursive"))],
)
def test_cuts_follow_their_law(method, trials):
    counts, source = np.array([3, 0, 4, 1, 0, 2]), generator(6)
    cells = np.repeat(np.arange(6), counts)
    drawn = Counter(
        tuple(choose_cuts(cells, QUARTERS, epsilon=2, start=0, stop=6, method=method, rng=source).tolist())
        for _ in range(trials)
    )
    chances = (joint_law if method == "joint" else recursive_law)(counts, QUARTERS, Fraction(2))
    observed = [drawn[t] for t in itertools.combinations(range(1, 6), 3)]
    assert stats.chisquare(observed, chances * trials).pvalue > 1e-6  # false alarm: one seed in a million


def test_subsets_are_uniform():
    source = generator(7)
    drawn = Counter(tuple(subset(2, 5, source)) for _ in range(4000))
    assert set(drawn) == set(itertools.combinations(range(5), 2))
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-6


def test_without_rows_the_cuts_are_a_random_subset():
    source = generator(8)
    drawn = Counter(
        tuple(choose_cuts([], THIRDS, epsilon=1, start=3, stop=8, rng=source).tolist()) for _ in range(1000)
    )
    assert set(drawn) == set(itertools.combinations(range(4, 8), 2))
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-6


@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize("m", [1, 3, 9])
def test_more_budget_means_smaller_rank_error(method, m):
    values = np.random.default_rng(9).beta(2, 5, 20_000)
    qs = np.arange(1, m + 1) / (m + 1)

    def error(epsilon):
        cuts = [
            quantiles(values, qs, epsilon=epsilon, low=0, high=1, method=method, rng=generator(s)) for s in range(5)
        ]
        return np.mean([np.abs((values < cut[:, None]).mean(axis=1) - qs).max() for cut in cuts])

    # On average a cut misses by a few times (number of quantiles) / epsilon rows.
    assert error(10.0) < error(0.1) < 40 * (m + 1) / 0.1 / len(values)


# -- one answer, whatever form the data have --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize("epsilon", [0.5, 1000, math.inf])
def test_rows_and_counts_give_identical_cuts(method, epsilon):
    rng = np.random.default_rng(10)
    for seed in range(10):
        values = rng.choice(rng.normal(size=40), 300).round(int(rng.integers(1, 4)))
        arguments = {"qs": [0.2, 0.5, 0.9], "epsilon": epsilon, "low": -2, "high": 2, "method": method, "rng": seed}
        rows = quantiles(values, bits=10, **arguments)
        cells = cells_of(values, -2.0, 2.0, 1024)
        listed, counts = np.unique(cells, return_counts=True)
        order = rng.permutation(len(listed))
        assert quantiles(rng.permutation(values), bits=10, **arguments).tolist() == rows.tolist()
        dense = quantiles_from_counts(np.bincount(cells, minlength=1024), **arguments)
        sparse = quantiles_from_counts(counts[order], cells=listed[order], n_cells=1024, **arguments)
        assert dense.tolist() == sparse.tolist() == rows.tolist()


def test_a_box_of_a_larger_grid_is_a_shifted_box():
    cells = np.random.default_rng(11).integers(0, 50, 200)
    here = choose_cuts(cells, QUARTERS, epsilon=1, start=0, stop=50, rng=1)
    there = choose_cuts(cells - 700, QUARTERS, epsilon=1, start=-700, stop=-650, rng=1)
    assert (there + 700).tolist() == here.tolist()


# -- without privacy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["joint", "recursive"])
def test_infinite_budget_minimises_each_rank_distance(method):
    rng = np.random.default_rng(12)
    for _ in range(15):
        cells = rng.choice(np.arange(1, 1023), int(rng.integers(20, 200)), replace=False)
        qs = [0.1, 0.25, 0.5, 0.75]
        cuts = choose_cuts(cells, qs, epsilon=math.inf, start=0, stop=1024, method=method, rng=0)
        every = np.searchsorted(np.sort(cells), np.arange(1, 1024))
        for q, k in zip(qs, cuts, strict=True):
            target = Fraction(str(q)) * len(cells)
            assert abs(every[k - 1] - target) == min(abs(int(r) - target) for r in every)


def test_infinite_budget_draws_ties_uniformly():
    source = generator(13)
    drawn = Counter(
        int(choose_cuts([2, 6], [0.5], epsilon=math.inf, start=0, stop=9, rng=source)[0]) for _ in range(2000)
    )
    assert set(drawn) == {3, 4, 5, 6}
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-6


# -- odd data and odd boxes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("qs", [[0.5], [0.3, 0.6], [0.1, 0.2, 0.9], np.arange(1, 16) / 16])
@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize("n", [0, 1, 10_000])
def test_all_rows_equal_and_a_huge_budget(n, method, qs):
    for value in (0.0, 0.3, 1.0):
        cuts = quantiles(np.full(n, value), qs, epsilon=1000, low=0, high=1, method=method, bits=8, rng=0)
        assert np.isfinite(cuts).all()
        assert len(cuts) == len(qs)
        assert (np.diff([0.0, *cuts, 1.0]) > 0).all()


def test_all_rows_equal_law_is_finite_and_sums_to_one():
    counts = np.zeros(9, int)
    counts[4] = 10**6
    found = joint_law(counts, [Fraction(1, 10), Fraction(1, 2)], Fraction(1000))
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1.0, rel=1e-12)


def test_missing_rows_are_left_out_and_others_clamped():
    clean = np.array([0.0, 0.2, 0.2, 0.7, 1.0])
    odd = np.array([-np.inf, 0.2, np.nan, 0.2, 0.7, np.nan, 5e300])
    arguments = {"qs": [0.3, 0.6], "epsilon": 3.0, "low": 0.0, "high": 1.0}
    for seed in range(20):
        assert quantiles(odd, rng=seed, **arguments).tolist() == quantiles(clean, rng=seed, **arguments).tolist()


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.floats(width=64), max_size=30), st.sampled_from(["joint", "recursive"]), st.integers(0, 100))
def test_no_value_causes_an_error(values, method, seed):
    cuts = quantiles(values, [0.25, 0.5, 0.75], epsilon=1.0, low=-1.0, high=1.0, method=method, bits=6, rng=seed)
    assert (np.diff([-1.0, *cuts, 1.0]) > 0).all()
    assert np.array_equal(cuts * 32, np.round(cuts * 32))


def test_counts_that_are_no_counts_follow_a_rule():
    clean = quantiles_from_counts([0, 7, 0, 3], [0.5], epsilon=1, low=0, high=4, rng=2)
    assert quantiles_from_counts([-5, 7, -1, 3], [0.5], epsilon=1, low=0, high=4, rng=2).tolist() == clean.tolist()
    arguments = {"n_cells": 4, "epsilon": 1, "low": 0, "high": 4, "rng": 2}
    far = quantiles_from_counts([4, 3, 3], [0.5], cells=[1, 99, 1], **arguments)
    assert far.tolist() == clean.tolist()


@pytest.mark.parametrize(("stop", "expected"), [(1, []), (2, [1]), (3, [1, 2]), (4, [1, 2, 3])])
def test_too_few_candidates_all_become_cuts(stop, expected):
    for cells in ([], [0] * 100):
        assert choose_cuts(cells, QUARTERS, epsilon=1, start=0, stop=stop).tolist() == expected


def test_many_quantiles_fill_a_small_box_without_colliding():
    for seed in range(20):
        cuts = choose_cuts([0] * 50, np.arange(1, 16) / 16, epsilon=1, start=0, stop=18, rng=seed)
        assert len(cuts) == 15
        assert (np.diff([0, *cuts, 18]) > 0).all()


def test_positions_are_grid_lines_between_the_bounds():
    cuts = quantiles([1, 2, 3], [0.2, 0.8], epsilon=1, low=-10, high=90, bits=3, rng=0)
    assert set((cuts + 10) / 12.5) <= set(range(1, 8))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (InvalidArgument, {"epsilon": -1}),
        (InvalidArgument, {"epsilon": math.nan}),
        (InvalidType, {"qs": 0.5}),
        (InvalidType, {"qs": "half"}),
        (InvalidArgument, {"qs": []}),
        (InvalidArgument, {"qs": [0.5, 0.5]}),
        (InvalidArgument, {"qs": [0.5, 0.2]}),
        (InvalidArgument, {"qs": [0.0]}),
        (InvalidArgument, {"qs": [0.5, 1.0]}),
        (InvalidArgument, {"method": "fast"}),
        (InvalidArgument, {"bits": 0}),
        (InvalidArgument, {"bits": 60}),
        (InvalidType, {"bits": 2.5}),
        (InvalidArgument, {"low": 1.0}),
        (InvalidArgument, {"low": 2.0}),
        (InvalidArgument, {"high": math.inf}),
        (InvalidArgument, {"low": 1 - 2**-40}),
        (InvalidArgument, {"values": [[0.5]]}),
        (InvalidType, {"values": np.array(["a"])}),
        (InvalidType, {"values": None}),
        (InvalidType, {"rng": 1.5}),
    ],
)
def test_bad_arguments_are_named(kind, changes):
    arguments = {"values": [0.5], "qs": [0.5], "epsilon": 1.0, "low": 0.0, "high": 1.0} | changes
    with pytest.raises(kind, match=rf"{next(iter(changes))}.* must be .*; try "):
        quantiles(**arguments)


@pytest.mark.parametrize(
    ("kind", "name", "changes"),
    [
        (InvalidType, "counts", {"counts": np.array([0.5, 1.0])}),
        (InvalidArgument, "counts", {"counts": [[1, 2]]}),
        (InvalidArgument, "n_cells", {"cells": [1, 2]}),
        (InvalidArgument, "counts", {"cells": [1], "n_cells": 9}),
        (InvalidArgument, "counts", {"n_cells": 9}),
        (InvalidArgument, "n_cells", {"counts": []}),
        (InvalidType, "cells", {"cells": np.array([0.5, 1.5]), "n_cells": 9}),
    ],
)
def test_bad_histograms_are_named(kind, name, changes):
    arguments = {"counts": [1, 2], "qs": [0.5], "epsilon": 1.0, "low": 0.0, "high": 1.0} | changes
    with pytest.raises(kind, match=rf"^{name} must be .*; try "):
        quantiles_from_counts(**arguments)


def test_a_box_must_not_be_empty():
    with pytest.raises(InvalidArgument, match="stop must be"):
        choose_cuts([1], [0.5], epsilon=1, start=3, stop=3)
