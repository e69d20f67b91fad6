"""Several quantiles in one draw of the exponential mechanism, on a public grid of cuts.

JointExp of Gillenwater, Joseph and Kulesza, "Differentially private quantiles" (2021), corrected, in linear time.

Outcomes are all increasing tuples k_1 < ... < k_m of candidate cuts. Interval j, from k_(j-1) to k_j, should hold
p_j n of the n rows, p_j = q_j - q_(j-1), not rounded. A tuple has weight Π_j φ_j(rows of interval j),

    φ_j(r) = exp(-c |r - p_j n|) + exp(-K),    c = ε / (2Δ),    Δ = 2 (1 - min_j p_j),    K = 2^20.

One added row raises one interval's count by 1 and every target by p_j: Σ_j |r_j - p_j n| changes by at most
(1 - p_i) + Σ_(j != i) p_j = 2 (1 - p_i) <= Δ. The logarithm of e^(-x) + e^(-K) changes no more than x does, so a
weight changes by a factor within e^(±ε/2), its share of the total within e^(±ε). The floor e^(-K) keeps every outcome
possible and bounds how far rounding can go: factors below it need no digits. It bends the law only where an interval
misses its target by more than K/c rows.

Sums. β(j, i) is the weight of the first j cuts when only cut j is in run i, per candidate. With k cuts in run i

    α(j, i, k) = β(j-k+1, i) C(g_i, k) Π_(l = j-k+2..j) φ_l(0),      A(j, i) = Σ_k α(j, i, k),
    β(1, i) = φ_1(L_i),                                              β(j, i) = Σ_(h < i) φ_j(L_i - L_h) A(j-1, h),

g_i candidates and L_i rows on the left in run i. Only β is kept: m numbers per run. Cuts are drawn from the last group
of cuts in one run to the first, then each group uniformly among the subsets of its run.

Rounding. There are at most R runs, R the public number of candidates; u = 2^-53. One more cut adds to the error of a
log-weight at most h = (8R + 4K + m + 1000 + ε) u: two runs are at most R decays apart, 7u each; exponents up to K are
off by 4Ku, those beyond do not show above the floor; a tree has 64 levels of 5u; the fraction of a target is off by
u/2. A group drawn with j cuts to go has chances off by 2(j+1)h in logarithm, all groups together by m(m+3)h = 2η. The
mechanism runs with ε - 4η and costs ε.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core import IntArray, inlined, jit
from discreet.noise.choice import _scaled_kernels as _scaled
from discreet.noise.choice._scaled_kernels import NOTHING, decay, plus, sum_up, times
from discreet.noise.choice.exponential import LARGEST_EPSILON, Scaled, pick, rate
from discreet.noise.choice.runs import Runs
from discreet.noise.stream.draw import below
from discreet.noise.stream.generator import Generator

#: K above.
FLOOR = 2**20


def shares(qs: Sequence[Fraction]) -> list[Fraction]:
    """Return the share of rows between neighbouring quantiles: p_1 .. p_(m+1)."""
    return [b - a for a, b in pairwise([Fraction(0), *qs, Fraction(1)])]


def eta(n_cuts: int, candidates: int, epsilon: Fraction) -> Fraction:
    """Return η of the module text: a function of public numbers only."""
    step = (8 * candidates + 4 * FLOOR + n_cuts + 1000 + min(epsilon, LARGEST_EPSILON)) / 2**53
    return step * n_cuts * (n_cuts + 3) / 2


class JointLaw:
    """The law of the cuts, as tables of weights."""

    def __init__(self, runs: Runs, qs: Sequence[Fraction], epsilon: Fraction) -> None:
        p = shares(qs)
        candidates = runs.stop - runs.start - 1
        self.runs, self.m = runs, len(qs)
        self.rate = rate(epsilon, 4 * (1 - min(p)), eta(self.m, candidates, epsilon), fix="fewer bits (a coarser grid)")
        self.floor: tuple[float, int] = _scaled.decayed(FLOOR)
        self.targets = [(int(t // 1), float(t % 1)) for t in (share * runs.rows for share in p)]
        still = [interval_factor(0, t, self.rate, self.floor) for t in self.targets]
        self.still_m = np.array([m for m, _ in still])
        self.still_e = np.array([e for _, e in still], np.int64)
        n = len(runs.left)
        self.layers = np.empty((self.m, n)), np.empty((self.m, n), np.int64)  # β, filled layer by layer
        self._fill()

    def _fill(self) -> None:
        left, rest, (m, e) = self.runs.left, (self.rate, self.floor), self.layers
        first_layer(left, self.targets[0], *rest, m[0], e[0])
        scratch = np.empty(len(left)), np.empty(len(left), np.int64)
        for j in range(1, self.m):
            next_layer(left, *self._totals(j), self.targets[j], *rest, *scratch, m[j], e[j])

    def _totals(self, j: int) -> Scaled:
        n = len(self.runs.left)
        out = np.empty(n), np.empty(n, np.int64)
        totals(*self.layers, self.runs.size, self.still_m, self.still_e, j, *out)
        return out

    def run_sums(self, j: int, end: int, here: int) -> Scaled:
        """Return the weights of runs 0..end-1 to hold cut j, when the next cut has ``here`` rows on its left."""
        sums = np.zeros(2 * end), np.full(2 * end, _scaled.NOTHING)
        previous_sums(self.runs.left, *self._totals(j), here, self.targets[j], self.rate, self.floor, *sums)
        return sums

    def group_sums(self, j: int, run: int) -> Scaled:
        """Return the weights of 1, 2, ... cuts, up to cut j, sharing a run."""
        size = int(self.runs.size[run])
        end = min(j, size)
        sums = np.zeros(2 * end), np.full(2 * end, _scaled.NOTHING)
        group_sums(*self.layers, size, self.still_m, self.still_e, j, run, *sums)
        return sums

    def draw(self, source: Generator) -> IntArray:
        """Draw the cuts, from the last group to the first."""
        cuts: list[int] = []
        j, end, here = self.m, len(self.runs.left), self.runs.rows
        while j:
            run = pick(self.run_sums(j, end, here), source)
            k = pick(self.group_sums(j, run), source) + 1
            first, size = int(self.runs.first[run]), int(self.runs.size[run])
            cuts += [first + place for place in subset(k, size, source)]
            j, end, here = j - k, run, int(self.runs.left[run])
        return np.array(sorted(cuts), np.int64)


def subset(k: int, n: int, source: Generator) -> list[int]:
    """Draw a uniformly random k-subset of 0..n-1 (Floyd's algorithm: exact, k draws)."""
    chosen: list[int] = []
    for top in range(n - k, n):
        place = below(top + 1, rng=source)
        chosen.append(top if place in chosen else place)
    return sorted(chosen)


# All weights are scaled numbers (`_scaled_kernels.py`), held in pairs of arrays ``m, e``. The factor of an interval
# with ``lag`` rows where ``target`` are wanted is ``exp(-rate * |lag - target|) + floor``. A target is given as its
# whole part and the fraction beyond it, so the difference is an exact integer and one small correction.


@inlined
def _factor(lag: int, target: Any, rate: float, floor: Any) -> tuple[float, int]:  # pragma: no cover
    over = lag - target[0]
    m, e = decay(rate * (over - target[1]) if over > 0 else rate * (target[1] - over))
    return plus(m, e, floor[0], floor[1])


@jit
def interval_factor(lag: int, target: Any, rate: float, floor: Any) -> tuple[float, int]:  # pragma: no cover
    """Return the factor of one interval."""
    return _factor(lag, target, rate, floor)


@jit
def first_layer(left: Any, target: Any, rate: float, floor: Any, out_m: Any, out_e: Any) -> None:  # pragma: no cover
    """Weight of the first cut in each run, for one candidate: the factor of the interval left of it."""
    for i in range(len(left)):
        out_m[i], out_e[i] = _factor(left[i], target, rate, floor)


@inlined
def _next_group(
    m: float, e: int, size: int, k: int, still_m: float, still_e: int
) -> tuple[float, int]:  # pragma: no cover
    """From k-1 to k cuts in a run: C(size, k) = C(size, k-1) (size-k+1)/k, and one more empty interval."""
    m, e = times(m, e, (size - k + 1) / k, 0)
    return times(m, e, still_m, still_e)


@jit
def totals(
    layers_m: Any, layers_e: Any, sizes: Any, still_m: Any, still_e: Any, j: int, out_m: Any, out_e: Any
) -> None:  # pragma: no cover
    """Weight of the first j cuts with the last one in each run, summed over how many of them share the run."""
    for i in range(len(sizes)):
        fm, fe = float(sizes[i]), 0
        m, e = times(layers_m[j - 1, i], layers_e[j - 1, i], fm, fe)
        for k in range(2, min(j, sizes[i]) + 1):
            fm, fe = _next_group(fm, fe, sizes[i], k, still_m[j - k + 1], still_e[j - k + 1])
            gm, ge = times(layers_m[j - k, i], layers_e[j - k, i], fm, fe)
            m, e = plus(m, e, gm, ge)
        out_m[i], out_e[i] = m, e


@jit
def group_sums(
    layers_m: Any, layers_e: Any, size: int, still_m: Any, still_e: Any, j: int, i: int, m: Any, e: Any
) -> None:  # pragma: no cover
    """Fill a tree of sums with the terms of `totals` for one run: leaf k-1 is the weight of k cuts sharing it."""
    n = len(m) // 2
    fm, fe = float(size), 0
    for k in range(1, n + 1):
        if k > 1:
            fm, fe = _next_group(fm, fe, size, k, still_m[j - k + 1], still_e[j - k + 1])
        m[n + k - 1], e[n + k - 1] = times(layers_m[j - k, i], layers_e[j - k, i], fm, fe)
    sum_up(m, e)


@jit
def previous_sums(
    left: Any, am: Any, ae: Any, here: int, target: Any, rate: float, floor: Any, m: Any, e: Any
) -> None:  # pragma: no cover
    """Fill a tree of sums with the weights of the runs before a cut that has ``here`` rows on its left."""
    n = len(m) // 2
    for i in range(n):
        fm, fe = _factor(here - left[i], target, rate, floor)
        m[n + i], e[n + i] = times(am[i], ae[i], fm, fe)
    sum_up(m, e)


@jit
def next_layer(
    left: Any, am: Any, ae: Any, target: Any, rate: float, floor: Any, sm: Any, se: Any, out_m: Any, out_e: Any
) -> None:  # pragma: no cover
    """For every run i, sum over the runs h < i of a(h) times the factor of the interval with left(i) - left(h) rows.

    Three sums of positive terms. *Far*, more rows than wanted: a running sum that decays with every step. *Near*, no
    more than wanted: a queue that runs enter at the back and leave, for the far sum, at the front. It is kept as two
    stacks: runs open..closed-1 with their sums from the front, (sm, se), and runs closed..i-1 with one sum. When the
    first stack is empty the second becomes it. *Floor*: a prefix sum. Weights are relative to the oldest run of
    each sum, where they are largest, so every exponential is of a number <= 0.
    """
    whole, part = target
    near_m, near_e = decay(rate * part)
    far_m, far_e = decay(rate * (1.0 - part))
    fm, fe = 0.0, NOTHING  # far, relative to a lag of whole + 1
    bm, be = 0.0, NOTHING  # second stack, relative to its oldest run
    pm, pe = 0.0, NOTHING  # prefix
    open_, closed = 0, 0
    for i in range(len(left)):
        if i > 0:
            h = i - 1
            pm, pe = plus(pm, pe, am[h], ae[h])
            wm, we = decay(rate * (left[h] - left[closed]))
            wm, we = times(wm, we, am[h], ae[h])
            bm, be = plus(bm, be, wm, we)
            wm, we = decay(rate * (left[i] - left[h]))
            fm, fe = times(fm, fe, wm, we)
        while open_ < i and left[i] - left[open_] > whole:
            if open_ == closed:
                tm, te = am[i - 1], ae[i - 1]
                sm[i - 1], se[i - 1] = tm, te
                for h in range(i - 2, open_ - 1, -1):
                    wm, we = decay(rate * (left[h + 1] - left[h]))
                    tm, te = times(tm, te, wm, we)
                    tm, te = plus(tm, te, am[h], ae[h])
                    sm[h], se[h] = tm, te
                closed, bm, be = i, 0.0, NOTHING
            wm, we = decay(rate * (left[i] - left[open_] - whole - 1))
            wm, we = times(wm, we, am[open_], ae[open_])
            fm, fe = plus(fm, fe, wm, we)
            open_ += 1
        m, e = times(fm, fe, far_m, far_e)
        nm, ne = 0.0, NOTHING
        if open_ < closed:
            wm, we = decay(rate * (whole - left[i] + left[open_]))
            nm, ne = times(sm[open_], se[open_], wm, we)
        if closed < i:
            wm, we = decay(rate * (whole - left[i] + left[closed]))
            wm, we = times(bm, be, wm, we)
            nm, ne = plus(nm, ne, wm, we)
        nm, ne = times(nm, ne, near_m, near_e)
        m, e = plus(m, e, nm, ne)
        wm, we = times(pm, pe, floor[0], floor[1])
        out_m[i], out_e[i] = plus(m, e, wm, we)
