"""The jitted loops of the joint quantile mechanism: linear time in the runs, no subtraction, no FFT.

All weights are scaled numbers (`_scaled_kernels.py`), held in pairs of arrays ``m, e``. The factor of an interval
with ``lag`` rows where ``target`` are wanted is ``exp(-rate * |lag - target|) + floor``. A target is given as its
whole part and the fraction beyond it, so the difference is an exact integer and one small correction.
"""

from typing import Any

from discreet.core import inlined, jit
from discreet.noise.choice._scaled_kernels import NOTHING, decay, plus, sum_up, times


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
