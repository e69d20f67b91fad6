"""Grids too large to list: the same law as noising every cell, and no trace of which cells hold rows."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.core.budget.prices import Epsilon
from discreet.engines import CellCounts
from discreet.noise.integer.exceedances import _STRIDE, _walk
from discreet.synopses.boxes.grid.estimator import GridSynopsis
from discreet.synopses.boxes.grid.size import survival_cutoff
from gates import gate_of


def _dense_law(counts, epsilon, cutoff, reach):
    """Probability of every outcome (None where a cell is not listed) when all cells get noise, by enumeration."""
    law = noise.DiscreteLaplace(1 / epsilon)
    cells = []
    for n in counts:
        values = {v: float(law.pmf(v - n)) for v in range(cutoff + 1, reach)}
        cells.append({None: 1 - float(law.sf(cutoff + 1 - n)), **values})
    return {tuple(o): math.prod(c[v] for c, v in zip(cells, o, strict=True)) for o in itertools.product(*cells)}


def _lazy_law(counts, epsilon, cutoff, reach):
    """The same by the lazy construction: hits on all cells, those on occupied ones discarded, values from the tail."""
    law, alpha = noise.DiscreteLaplace(1 / epsilon), math.exp(-epsilon)
    p = alpha ** (cutoff + 1) / (1 + alpha)
    cells = []
    for n in counts:
        if n:
            noisy = {v: float(law.pmf(v - n)) for v in range(cutoff + 1, reach)}
            cells.append({None: 1 - float(law.sf(cutoff + 1 - n)), **noisy})
        else:
            tail = {v: p * (1 - alpha) * alpha ** (v - cutoff - 1) for v in range(cutoff + 1, reach)}
            cells.append({None: 1 - p, **tail})
    return {tuple(o): math.prod(c[v] for c, v in zip(cells, o, strict=True)) for o in itertools.product(*cells)}


def test_joint_law_of_four_cells_is_that_of_dense_noise():
    dense, drawn = (f([0, 3, 0, 0], 0.8, 1, 12) for f in (_dense_law, _lazy_law))
    assert max(abs(dense[o] - drawn[o]) for o in dense) < 1e-15


def test_samples_follow_the_joint_law():
    """Chi-square over all outcomes of four cells; false alarm 1e-4."""
    epsilon, cutoff, reach, runs = Fraction(4, 5), 1, 40, 2_000
    noisy, held = noise.DiscreteLaplace(1 / epsilon), np.array([0, 3, 0, 0])
    values = np.arange(cutoff + 1, reach)
    hidden = 1 - noisy.sf(cutoff + 1 - held)
    # The first outcome of a cell is not to be listed, the others are its values.
    cells = np.column_stack([hidden, *(noisy.pmf(v - held) for v in values)])
    law = np.einsum("a,b,c,d", *cells).ravel()
    stream, found = noise.generator(11), np.zeros((runs, 4), np.int64)
    counts = CellCounts(4, [1], [3])
    for run in found:
        gate = gate_of(Epsilon(epsilon), stream)
        places, weights, _ = gate.sparse_counts("cells", counts, gate.left, cutoff)
        run[places] = weights - cutoff
    inside = found[(found <= len(values)).all(axis=1)]
    seen = np.bincount(np.ravel_multi_index(inside.T, (len(values) + 1,) * 4), minlength=law.size)
    common = law * runs >= 10
    observed, expected = seen[common], law[common] * runs
    observed, expected = np.append(observed, runs - observed.sum()), np.append(expected, runs - expected.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.unmetered
def test_lazy_and_dense_agree_on_number_place_and_value():
    n_cells, epsilon, cutoff = 20_000, Fraction(1, 2), 6
    occupied = np.arange(0, n_cells, 97)
    counts = CellCounts(n_cells, occupied, occupied % 11 + 1)
    stream = noise.generator(3)
    sides = [[], []]
    for _ in range(40):
        gate = gate_of(Epsilon(epsilon), stream)
        sides[0].append(gate.sparse_counts("cells", counts, gate.left, cutoff)[:2])
        noisy = counts.dense() + noise.discrete_laplace(2, n_cells, stream)
        sides[1].append((np.flatnonzero(noisy > cutoff), noisy[noisy > cutoff]))
    numbers = [[len(c) for c, _ in side] for side in sides]
    places, values = ([np.concatenate([r[i] for r in side]) for side in sides] for i in (0, 1))
    assert stats.ks_2samp(*numbers).pvalue > 1e-4
    assert stats.ks_2samp(*places).pvalue > 1e-4
    table = [np.bincount(np.minimum(v - cutoff, 20), minlength=21) for v in values]
    assert stats.chi2_contingency(np.array(table)[:, 1:]).pvalue > 1e-4
    held = [np.isin(p, occupied).mean() for p in places]
    assert abs(held[0] - held[1]) < 4 * math.sqrt(held[0] / len(places[0]) * 2)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("cutoff", [0, 5, 40])
def test_a_cell_with_one_row_looks_like_an_empty_one(epsilon, cutoff):
    """The loss of the cutoff list of one cell, over all its outcomes: at most ε."""
    law = noise.DiscreteLaplace(1 / epsilon)
    values = np.arange(cutoff + 1, cutoff + 400)
    listed = np.abs(law.logpmf(values) - law.logpmf(values - 1)).max()
    hidden = abs(math.log(1 - law.sf(cutoff + 1)) - math.log(1 - law.sf(cutoff)))
    assert max(listed, hidden) <= epsilon + 1e-9


def test_cutoff_is_public_and_keeps_the_promise_of_survivors():
    for m, epsilon, expected in [(10**6, Fraction(1), 1), (10**12, Fraction(1, 10), 100), (50, Fraction(2), 1000)]:
        tau = survival_cutoff(m, epsilon, expected)
        law = noise.DiscreteLaplace(1 / epsilon)
        assert m * law.sf(tau + 1) <= expected * (1 + 1e-9)
        assert tau == 0 or m * law.sf(tau) > expected
    assert survival_cutoff(10**12, math.inf, 1) == 0


def test_the_list_shows_no_trace_of_occupancy():
    X = np.random.default_rng(0).normal(0.5, 0.05, (5000, 2))
    full = GridSynopsis(1.0, (0, 1), 5000, random_state=1).fit(X).synopsis_
    none = GridSynopsis(1.0, (0, 1), 5000, random_state=1).fit(X[:0]).synopsis_
    assert full.weights.dtype == none.weights.dtype == np.int64
    for s in (full, none):
        order = np.lexsort((s.lower[:, 1], s.lower[:, 0]))
        np.testing.assert_array_equal(order, np.arange(s.n_leaves))
        assert (s.weights > s.hidden.cutoff).all()
        assert len(set(s.variances)) == 1
    assert full.hidden == none.hidden  # the same cutoff, whatever the rows
    assert none.n_leaves > 0


def test_a_trillion_cells_in_ten_dimensions():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 10))
    X[:5000] = rng.random(10)  # one cell with rows enough to be seen
    times = {}
    for parts in (5, 16, 70):
        grid = GridSynopsis(1.0, (0, 1), parts, random_state=1)
        grid.fit(X[:10])
        start = time.perf_counter()
        s = grid.fit(X).synopsis_
        times[parts] = time.perf_counter() - start
        assert s.hidden.n_cells == parts**10
        top = s.points[np.argmax(s.weights)]
        assert abs(s.weights.max() - 5000) < 20
        assert np.abs(top - X[0]).max() <= 0.5 / parts + 1e-12
        assert s.n_leaves < 300
    assert max(times.values()) < 1.0
    # The last grid has 3e11 times the cells of the first. The bound is loose because machines are shared.
    assert times[70] < 5 * times[5] + 0.1


def test_without_noise_the_occupied_cells_are_listed():
    X = np.array([[0.1] * 10, [0.1] * 10, [0.9] * 10])
    s = GridSynopsis(math.inf, (0, 1), 20).fit(X).synopsis_
    assert s.weights.tolist() == [2, 1]
    assert (s.total, s.total_variance) == (3.0, 0.0)


def test_more_cells_than_a_number_can_hold_are_refused():
    from discreet.errors import InvalidArgument

    with pytest.raises(InvalidArgument, match=r"rule must be a grid of fewer than 2\*\*63 cells"):
        GridSynopsis(1.0, (0, 1), 100).fit(np.zeros((2, 10)))


def test_a_gap_of_a_stride_says_nothing_about_what_lies_beyond() -> None:
    hits, position = _walk(np.array([_STRIDE + 5]), 0, _STRIDE + 3)
    assert hits.size == 0
    assert position == _STRIDE
