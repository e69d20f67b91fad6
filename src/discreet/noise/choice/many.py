"""Private choices for all nodes of a tree level at once: `exponential` and `choose_cuts` for many segments.

Segment s is ``starts[s] .. starts[s + 1] - 1`` of flat arrays. Probabilities, precision and price of each segment are
those of `exponential.py` and `joint.py`; segments that hold disjoint rows compose in parallel. Random bytes are read
segment by segment, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import BoolArray, Exact, FloatArray, IntArray, jit, map_threads
from discreet.noise.choice import _scaled_kernels as _scaled
from discreet.noise.choice import joint
from discreet.noise.choice._scaled_kernels import NOTHING, descend, sums_of
from discreet.noise.choice.exponential import ETA, LARGEST_EPSILON, bit_lengths, rate, uniforms, weights_of
from discreet.noise.choice.joint import FLOOR, eta
from discreet.noise.choice.quantiles import _recursive_cuts
from discreet.noise.choice.runs import Runs
from discreet.noise.stream.generator import Generator


def choose_many(weights: FloatArray, starts: IntArray, source: Generator) -> IntArray:
    """Draw one entry of every segment in proportion to its weight; return indices of the flat array."""
    out = np.empty(len(starts) - 1, np.int64)
    levels = np.concatenate([[0], np.cumsum(bit_lengths(np.diff(starts)))])
    pick_segments(weights, starts, *uniforms(int(levels[-1]), source), levels, out)
    return out


#: Below this number of runs a second thread costs more than it saves.
_WORTH_A_THREAD = 2048


@dataclass(frozen=True)
class ManyRuns:
    """The runs of candidate cuts (`Runs`) in boxes with ranges 0 .. n_lines - 1."""

    first: IntArray
    size: IntArray
    left: IntArray
    starts: IntArray
    rows: IntArray
    n_lines: IntArray

    @classmethod
    def of_counts(cls, keys: IntArray, counts: IntArray, *, n_lines: IntArray, stride: int) -> ManyRuns:
        """Read rows per occupied line, ``key = box * stride + line``, ascending. Every box needs two lines at least."""
        n = len(n_lines)
        boxes, lines = keys // stride, keys % stride
        before = np.searchsorted(boxes, np.arange(n + 1))
        sums = np.concatenate([[0], np.cumsum(counts)])
        rows = np.diff(sums[before])
        # A box has one run more than it has occupied lines: the first starts at its lower end.
        heads = before[:-1] + np.arange(n)
        owner = np.repeat(np.arange(n), np.diff(before) + 1)
        edge = np.zeros(len(keys) + n, np.int64)
        edge[np.arange(len(keys)) + boxes + 1] = lines
        following = np.append(edge[1:], 0)
        following[np.append(heads[1:], len(edge)) - 1] = n_lines - 1
        left = sums[np.arange(len(edge)) - owner] - sums[before[owner]]
        size = following - edge
        kept = size > 0
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=n))])
        return cls(edge[kept] + 1, size[kept], left[kept], starts, rows, n_lines)

    def only(self, chosen: BoolArray) -> ManyRuns:
        sizes = np.diff(self.starts)
        kept = np.repeat(chosen, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return ManyRuns(
            self.first[kept], self.size[kept], self.left[kept], starts, self.rows[chosen], self.n_lines[chosen]
        )

    def median_weights(self, epsilon: Exact) -> FloatArray:
        """Return the weight of every run for one cut at the median: ``size * exp(-ε |left - rows / 2|)``."""
        owner = np.repeat(np.arange(len(self.rows)), np.diff(self.starts))
        twice = np.abs(2 * self.left - self.rows[owner])  # whole numbers: nothing is rounded before the difference
        losses = (twice - np.minimum.reduceat(twice, self.starts[:-1])[owner]) / 2
        return weights_of(losses, self.size, rate(epsilon, Fraction(1)))


def median_cuts(runs: ManyRuns, epsilon: Exact, source: Generator) -> IntArray:
    """Choose one cut of every box: Pr[k] ∝ exp(-ε |rows left of k - half|). Price: ε, parallel over disjoint boxes."""
    if not len(runs.rows):
        return np.empty(0, np.int64)
    chosen = choose_many(runs.median_weights(epsilon), runs.starts, source)
    return runs.first[chosen] + below_many(runs.size[chosen], source)


def least_price(n_cuts: int, n_lines: int, epsilon: Fraction) -> Fraction:
    """Return the least budget of a choice of cuts: rounding may cost as much."""
    return 4 * (ETA if n_cuts == 1 else eta(n_cuts, n_lines - 1, min(epsilon, LARGEST_EPSILON)))


def joint_cuts(runs: ManyRuns, n_cuts: int, epsilon: Exact, source: Generator) -> IntArray:
    """Choose ``n_cuts`` equally spaced quantiles of every box in one draw; boxes must have more lines than cuts.

    Price: ε, parallel over disjoint boxes. ε = ∞: each cut minimises its distance in rows, middle ones first.
    """
    n = len(runs.rows)
    if n_cuts == 1 or not n:
        return median_cuts(runs, epsilon, source).reshape(n, n_cuts)
    if not isinstance(epsilon, Fraction):
        return _nearest_cuts(runs, n_cuts, source)
    spans = 4 * (1 - Fraction(1, n_cuts + 1))
    known = {
        c: rate(epsilon, spans, eta(n_cuts, c - 1, epsilon), fix="epsilon=0.1")
        for c in np.unique(runs.n_lines).tolist()
    }
    rates = np.array([known[c] for c in runs.n_lines.tolist()])
    per_box = n_cuts * (bit_lengths(np.diff(runs.starts)) + n_cuts.bit_length())
    levels = np.concatenate([[0], np.cumsum(per_box)])
    run, k = np.zeros((n, n_cuts), np.int64), np.zeros((n, n_cuts), np.int64)
    floor = _scaled.decayed(FLOOR)
    numbers = uniforms(int(levels[-1]), source)

    def draw(a: int, b: int) -> None:
        boxes = runs.starts[a : b + 1], runs.rows[a:b], rates[a:b]
        places = levels[a:b], run[a:b], k[a:b]
        pick_groups(runs.left, runs.size, *boxes, n_cuts, floor, *numbers, *places)

    _in_halves(draw, n, len(runs.left))
    return np.sort(_subsets(runs.first[run], runs.size[run], k, source), axis=1)


def _in_halves(draw: Callable[[int, int], None], n: int, work: int) -> None:
    """Call ``draw(a, b)`` for both halves of 0..n, in threads if worth it: the random numbers are drawn already."""
    halves = [(0, n)] if n < 2 or work < _WORTH_A_THREAD else [(0, n // 2), (n // 2, n)]
    map_threads(lambda half: draw(*half), halves, 2)


def _subsets(first: IntArray, size: IntArray, k: IntArray, source: Generator) -> IntArray:
    """Draw a uniformly random k-subset of every run of a box (Floyd's algorithm, a step for all boxes at once)."""
    n, n_cuts = k.shape
    cuts = np.full((n, n_cuts), -1, np.int64)
    filled = np.zeros(n, np.int64)
    for group in range(n_cuts):
        for step in range(n_cuts):
            rows = np.flatnonzero(k[:, group] > step)
            if not len(rows):
                break
            top = (size - k)[rows, group] + step
            place = first[rows, group] + below_many(top + 1, source)
            taken = (cuts[rows] == place[:, np.newaxis]).any(axis=1)
            cuts[rows, filled[rows]] = np.where(taken, first[rows, group] + top, place)
            filled[rows] += 1
    return cuts


def _nearest_cuts(runs: ManyRuns, n_cuts: int, source: Generator) -> IntArray:
    """Return the exact quantiles, box by box, for runs without privacy."""
    qs = [Fraction(i, n_cuts + 1) for i in range(1, n_cuts + 1)]
    cuts = []
    for box, (a, b) in enumerate(zip(runs.starts[:-1], runs.starts[1:], strict=True)):
        one = Runs(runs.first[a:b], runs.size[a:b], runs.left[a:b], int(runs.rows[box]), 0, int(runs.n_lines[box]))
        cuts.append(_recursive_cuts(one, qs, np.inf, source))
    return np.array(cuts)


def below_many(bounds: IntArray, source: Generator) -> IntArray:
    """Draw a uniform integer below every bound, exactly: masked words, drawn again while too large."""
    masks = (np.uint64(1) << bit_lengths(np.maximum(bounds - 1, 1)).astype(np.uint64)) - np.uint64(1)
    out = np.empty(len(bounds), np.int64)
    open_ = np.arange(len(bounds))
    while len(open_):
        drawn = (source.bytes(8 * len(open_)).view("<u8") & masks[open_]).astype(np.int64)
        fits = drawn < bounds[open_]
        out[open_[fits]] = drawn[fits]
        open_ = open_[~fits]
    return out


# Segment s holds the entries ``starts[s] .. starts[s + 1] - 1``.


@jit
def pick_segments(weights: Any, starts: Any, um: Any, ue: Any, levels: Any, out: Any) -> None:  # pragma: no cover
    """Draw one entry of every segment in proportion to its weight; segment s has uniforms from ``levels[s]`` on."""
    for s in range(len(out)):
        m, e = sums_of(weights[starts[s] : starts[s + 1]])
        out[s] = starts[s] + descend(m, e, um[levels[s] :], ue[levels[s] :])


@jit
def pick_groups(
    left: Any,
    sizes: Any,
    starts: Any,
    rows: Any,
    rates: Any,
    n_cuts: int,
    floor: Any,
    um: Any,
    ue: Any,
    levels: Any,
    out_run: Any,
    out_size: Any,
) -> None:  # pragma: no cover
    """Draw the runs that hold equally spaced quantiles of every segment, and how many cuts share each run.

    As `JointLaw.draw`, with all targets equal to rows / (n_cuts + 1). Unused places keep size 0.
    """
    for s in range(len(rows)):
        a, b = starts[s], starts[s + 1]
        here_left, here_sizes, rate = left[a:b], sizes[a:b], rates[s]
        whole = rows[s] // (n_cuts + 1)
        target = (whole, (rows[s] - whole * (n_cuts + 1)) / (n_cuts + 1))
        n = b - a
        layers_m, layers_e = np.empty((n_cuts, n)), np.empty((n_cuts, n), np.int64)
        am, ae = np.empty(n), np.empty(n, np.int64)
        sm, se = np.empty(n), np.empty(n, np.int64)
        m0, e0 = joint.interval_factor(0, target, rate, floor)
        still_m, still_e = np.full(n_cuts + 1, m0), np.full(n_cuts + 1, e0)
        joint.first_layer(here_left, target, rate, floor, layers_m[0], layers_e[0])
        for j in range(1, n_cuts):
            joint.totals(layers_m, layers_e, here_sizes, still_m, still_e, j, am, ae)
            joint.next_layer(here_left, am, ae, target, rate, floor, sm, se, layers_m[j], layers_e[j])
        j, end, here, u, group = n_cuts, n, rows[s], levels[s], 0
        while j > 0:
            joint.totals(layers_m, layers_e, here_sizes[:end], still_m, still_e, j, am, ae)
            hm, he = np.zeros(2 * end), np.full(2 * end, NOTHING)
            joint.previous_sums(here_left, am, ae, here, target, rate, floor, hm, he)
            run = descend(hm, he, um[u:], ue[u:])
            u += _levels(end)
            most = min(j, here_sizes[run])
            gm, ge = np.zeros(2 * most), np.full(2 * most, NOTHING)
            joint.group_sums(layers_m, layers_e, here_sizes[run], still_m, still_e, j, run, gm, ge)
            k = descend(gm, ge, um[u:], ue[u:]) + 1
            u += _levels(most)
            out_run[s, group], out_size[s, group] = a + run, k
            group += 1
            j, end, here = j - k, run, here_left[run]


@jit
def _levels(n: int) -> int:  # pragma: no cover
    """Return the number of levels above n leaves: the bits of n."""
    bits = 0
    while n:
        n >>= 1
        bits += 1
    return bits
