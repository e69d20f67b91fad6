"""The promise of whole trees, exactly: worst log ratios of tiny tables by enumeration, sensitivities of scores."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choice_law import cuts_chance, law
from discreet import Domain, engines, noise
from discreet.core.budget.prices import Epsilon
from discreet.engines.passes.trees import TreeMap
from discreet.engines.readers import RowCells
from discreet.mechanisms import PrivTreeRule, gate, law_for
from discreet.noise.choice._scaled_kernels import sums_of
from discreet.noise.choice.joint import JointLaw
from discreet.noise.choice.many import ManyRuns, joint_cuts
from discreet.noise.choice.runs import Runs
from discreet.synopses.boxes.tree.budgets import LevelBudgets, auto_threshold
from discreet.synopses.boxes.tree.growth import GrowingTree
from discreet.synopses.boxes.tree.partitioners import (
    _SCORE_UNIT,
    RATIOS,
    Density,
    SpreadMidpoints,
    density_scores,
    spread_scores,
)
from gates import gate_of

BUDGETS = [Fraction(1, 2), Fraction(1), Fraction(4)]


def runs_of(counts):
    occupied = np.flatnonzero(counts)
    n = len(counts)
    return ManyRuns.of_counts(occupied, np.asarray(counts)[occupied], n_lines=np.array([n]), stride=n)


def cut_law(counts, epsilon):
    """Log-probabilities of the cuts 1 .. n-1 of a box, from the weights that the sampler draws with."""
    runs = runs_of(counts)
    chances = law(sums_of(runs.median_weights(epsilon)))
    return {
        int(first + k): math.log(p / size)
        for first, size, p in zip(runs.first, runs.size, chances, strict=True)
        for k in range(size)
    }


def count_loss(n, price, values, *, sign):
    """Largest sign * log(Pr[c | n + 1] / Pr[c | n]) over the noisy counts c in a range."""
    z = law_for(price).one
    return max(sign * (z.logpmf(values - n - 1) - z.logpmf(values - n)))


def worst(counts, at, plan, level, cut, sign):
    """Largest log ratio over all trees, stop counts and leaf counts, when a row is added in cell ``at``."""
    n = int(sum(counts))
    reach = np.arange(-60, 120)
    if level == plan.depth or len(counts) == 1:
        return count_loss(n, plan.left(level), reach, sign=sign)
    limit = auto_threshold(plan.tests[level], 2)
    stop = count_loss(n, plan.tests[level], reach[reach <= limit], sign=sign)
    stop += count_loss(n, plan.left(level, tested=True), reach, sign=sign)
    go = count_loss(n, plan.tests[level], reach[reach > limit], sign=sign)
    more = list(counts)
    more[at] += 1
    if cut == "median":
        before, after = (cut_law(rows, plan.splits[level].amount) for rows in (counts, more))
    else:
        before = after = {len(counts) // 2: 0.0}
    deeper = []
    for k, chance in before.items():
        child, place = (counts[:k], at) if at < k else (counts[k:], at - k)
        deeper.append(sign * (after[k] - chance) + worst(child, place, plan, level + 1, cut, sign))
    return max(stop, go + max(deeper))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("cut", "trials"), [("binary", 60), ("median", 8)])
def test_a_whole_tree_loses_epsilon_and_no_more(epsilon, cut, trials):
    rng = np.random.default_rng(5)
    plan = LevelBudgets.make(
        Epsilon(epsilon),
        depth=3,
        first_test=0,
        shares=(0.15, 0.25, 0.6),
        kind="geometric",
        fan_out=2,
        paid_splits=cut == "median",
    )
    losses = []
    for _ in range(trials):
        n_cells = int(rng.integers(1, 9))
        counts = rng.integers(0, rng.integers(1, 12), n_cells).tolist()
        at = int(rng.integers(n_cells))
        losses.append(max(worst(counts, at, plan, 0, cut, sign) for sign in (1, -1)))
    assert max(losses) <= epsilon + 1e-12
    assert max(losses) == pytest.approx(float(epsilon), abs=1e-9)


@pytest.mark.parametrize("n_cuts", [1, 2, 3])
def test_many_cuts_at_once_have_the_law_of_one(n_cuts):
    # Chi-square with 6, 20 or 34 degrees of freedom; the bound is passed by chance once in 10^4 seeds or less.
    cells = np.array([1, 1, 4, 6, 6, 6, 2])
    trials = 20_000
    lines, counts = np.unique(cells, return_counts=True)
    keys = (np.arange(trials)[:, np.newaxis] * 8 + lines).ravel()
    runs = ManyRuns.of_counts(keys, np.tile(counts, trials), n_lines=np.full(trials, 8), stride=8)
    cuts = joint_cuts(runs, n_cuts, Fraction(1), noise.generator(11))
    qs = [Fraction(i, n_cuts + 1) for i in range(1, n_cuts + 1)]
    one = JointLaw(Runs.of_cells(cells, start=0, stop=8), qs, Fraction(1))
    tuples, seen = np.unique(cuts, axis=0, return_counts=True)
    expected = np.array([trials * cuts_chance(one, t) for t in tuples.tolist()])
    assert expected.sum() == pytest.approx(trials, rel=0.01)
    assert ((seen - expected) ** 2 / expected).sum() < {1: 28, 2: 53, 3: 74}[n_cuts]
    assert (np.diff(cuts, axis=1) > 0).all()


def test_plain_quantiles_without_noise_and_boxes_without_rows():
    runs = runs_of([0, 3, 0, 0, 3, 3, 0, 3])
    assert joint_cuts(runs, 3, math.inf, noise.generator(1)).tolist()[0][1] in (3, 4, 5)
    empty = ManyRuns.of_counts(np.empty(0, int), np.empty(0, int), n_lines=np.full(3000, 5), stride=8)
    cuts = joint_cuts(empty, 1, Fraction(1), noise.generator(1)).ravel()
    assert np.bincount(cuts, minlength=5)[1:].min() > 650  # uniform over the four lines: 750 each


@pytest.mark.parametrize(
    ("fan_out", "epsilon", "scale", "bias"),
    [
        (2, Fraction(1, 20), 51.496, 37),
        (2, Fraction(1), 2.473, 2),
        (4, Fraction(1), 2.091, 4),
        (16, Fraction(1), 2.0275, 6),
        (1024, Fraction(1), 2.0005, 14),
    ],
)
def test_privtree_loses_what_the_sum_says_and_that_is_its_budget(fan_out, epsilon, scale, bias):
    rule = PrivTreeRule.for_budget(Epsilon(epsilon), fan_out)
    assert float(rule.scale) == pytest.approx(scale, rel=1e-3)
    assert rule.bias == bias
    assert rule.scale < Fraction(2 * fan_out - 1, fan_out - 1) / epsilon  # the published noise, which loses less
    assert 0.9999 * epsilon <= rule.loss_bound() <= epsilon
    assert rule.loss() == pytest.approx(float(rule.loss_bound()), rel=1e-9)
    assert chain_loss(rule, rule.bias) <= rule.loss() + 1e-9
    assert chain_loss(rule, rule.bias) == pytest.approx(rule.loss(), rel=1e-6)
    assert rule.split_chance(-rule.bias) <= 1 / (2 * fan_out)


@given(st.fractions(Fraction(1, 10**6), 60, max_denominator=10**9), st.sampled_from([2, 3, 4, 8, 32, 1024]))
def test_privtree_never_loses_more_than_its_budget_in_sixty_digits(epsilon, fan_out):
    rule = PrivTreeRule.for_budget(Epsilon(epsilon), fan_out)
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(rule.scale.denominator) / rule.scale.numerator
        assert rule.bias * rate >= Decimal(fan_out).ln()
        alpha, q, power, loss = (-rate).exp(), (-rule.bias * rate).exp(), Decimal(1), 2 * rate
        for _ in range(200):  # what is left out is below 2^-200 of the first term
            power *= q
            loss += (1 + power * (1 - alpha) / (1 + alpha - power)).ln()
        budget = Decimal(epsilon.numerator) / epsilon.denominator
        bound = rule.loss_bound()
        assert Decimal("0.999") * budget <= loss <= Decimal(bound.numerator) / bound.denominator <= budget


def structure_law(rule, counts, depth, limit):
    """Return the log-probability of every tree over a line of cells, by its leaves' depths from left to right."""
    stop = {(depth,): 0.0}
    if depth == limit:
        return stop
    chance = rule.split_chance(int(rule.biased(np.array([sum(counts)]), depth)[0]))
    half = len(counts) // 2
    left, right = (structure_law(rule, part, depth + 1, limit) for part in (counts[:half], counts[half:]))
    law = {(depth,): math.log1p(-chance)}
    for (a, p), (b, q) in itertools.product(left.items(), right.items()):
        law[a + b] = math.log(chance) + p + q
    return law


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)])
def test_all_trees_of_privtree_over_eight_cells_keep_the_promise(epsilon):
    rule = PrivTreeRule.for_budget(Epsilon(epsilon), 2)
    worst = 0.0
    for rows in range(4 * rule.bias + 3):  # in the cell of the new row; the others sit where they change nodes above
        for others in ((0,) * 7, (1, 0, 0, 0, 0, 0, 2), (0, rule.bias, 0, 0, 1, 0, 0)):
            before = structure_law(rule, (rows, *others), 0, 3)
            after = structure_law(rule, (rows + 1, *others), 0, 3)
            assert math.fsum(map(math.exp, before.values())) == pytest.approx(1, abs=1e-12)
            worst = max(worst, *(abs(after[tree] - p) for tree, p in before.items()))
    assert worst <= epsilon
    # Three tests on a path: 2/λ and one term of the sum.
    alpha = math.exp(-1 / float(rule.scale))
    q = alpha**rule.bias
    assert worst == pytest.approx(2 / float(rule.scale) + math.log1p(q * (1 - alpha) / (1 + alpha - q)), rel=1e-9)


def chain_loss(rule, bias):
    """Worst loss of "every node of the path is cut" over chains of constant counts, with any bias."""
    counts, depths = np.arange(int(30 * bias) + 40)[:, np.newaxis], np.arange(400)
    biased = np.maximum(counts - depths * bias, -bias)
    chances = np.log(noise.DiscreteLaplace(rule.scale).sf(np.floor(-biased) + 1))
    return np.diff(chances, axis=0).sum(axis=1).max()


@pytest.mark.parametrize("fan_out", [2, 4])
def test_privtree_with_the_published_real_bias_breaks_its_promise(fan_out):
    rule = PrivTreeRule.for_budget(Epsilon(10), fan_out)
    assert chain_loss(rule, float(rule.scale) * math.log(fan_out)) > 1.5 * 10
    assert chain_loss(rule, rule.bias) <= 10


def spreads_of(X, domain, bits):
    rows = RowCells(engines.open(np.asarray(X, float).reshape(-1, len(domain))), domain, bits)
    return rows.spreads(TreeMap.root(domain, bits))


def test_the_score_of_an_axis_changes_within_an_interval_of_one():
    rng = np.random.default_rng(2)
    domain, bits = Domain.box(0, [1, 1, 1]), 6
    widths = np.array([[64, 32, 3]])
    for _ in range(100):
        X = rng.random((rng.integers(0, 12), 3)) ** rng.integers(1, 4)
        more = np.vstack([X, rng.integers(0, 2, 3) if rng.random() < 0.5 else rng.random(3)])
        before, after = (spread_scores(*spreads_of(rows, domain, bits), widths, np.full(3, 64)) for rows in (X, more))
        change = (after - before) / _SCORE_UNIT
        assert change.min() >= -0.25
        assert change.max() <= 0.75


def choice_law(monkeypatch, partitioner, price):
    """Return the chances with which a real split of the root is drawn: from what the gate hands to the sampler."""
    drawn = []

    def best(weights, starts, stream):
        drawn.append(weights)
        return starts[:-1] + np.argmax(weights)

    with monkeypatch.context() as patch:
        patch.setattr(gate, "choose_many", best)
        partitioner.split(np.ones(1, bool), gate_of(price), "cut", price)
    return law(sums_of(drawn[0]))


def test_the_built_pair_spends_all_of_the_budget_of_an_axis(monkeypatch):
    # 40 rows at the edge of one axis make it nearly certain; a row at the edge of the other moves scores by 3/4, -1/4.
    domain, bits = Domain.box(0, [1, 1]), 20
    X = np.tile([0.0, 0.5], (40, 1))
    more = np.vstack([X, [0.5, 0.0]])
    chances = []
    for rows in (X, more):
        cut = SpreadMidpoints(GrowingTree(domain, bits), RowCells(engines.open(rows), domain, bits), "spread")
        cut.look(np.array([0]))
        chances.append(choice_law(monkeypatch, cut, Epsilon(1)))
    loss = math.log(chances[1][1] / chances[0][1])
    assert 0.99 < loss <= 1.0


def test_density_scores_change_by_their_stated_sensitivity_at_most(monkeypatch):
    rng = np.random.default_rng(3)
    worst_share = 0.0
    for _ in range(600):
        widths = rng.integers(1, 40, (1, 2))
        histogram = np.zeros((1, 2, 16), np.int64)
        parts = np.minimum(widths[0], 16)
        for _ in range(rng.integers(0, 8)):
            histogram[0, [0, 1], [rng.integers(p) for p in parts]] += 1
        more = histogram.copy()
        more[0, [0, 1], [rng.integers(p) for p in parts]] += 1
        before, span, can, offsets = density_scores(histogram, widths)
        after = density_scores(more, widths)[0]
        if not can.any():
            continue
        change = np.abs(after - before)[can].max()
        assert change <= span[0]
        worst_share = max(worst_share, change / span[0])
        assert (offsets[can] > 0).all()
        assert span[0] <= RATIOS
        chances = []
        for held in (histogram, more):
            tree = GrowingTree(Domain.box(0, [1, 1]), 6)
            tree.upper[0] = widths[0]
            cut = Density(tree, None, "density")
            cut._nodes, cut._histograms = np.array([0]), held
            chances.append(choice_law(monkeypatch, cut, Epsilon(1))[can.ravel()])
        assert np.abs(np.log(chances[0] / chances[1])).max() <= 1
    assert worst_share == 1.0
