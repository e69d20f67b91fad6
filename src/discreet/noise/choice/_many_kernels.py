"""Jitted loops of `many.py`: one draw of the exponential mechanism per segment of a flat array.

Segment s holds the entries ``starts[s] .. starts[s + 1] - 1``.
"""

from typing import Any

import numpy as np

from discreet.core import jit
from discreet.noise.choice import joint_kernels as joint
from discreet.noise.choice._scaled_kernels import NOTHING, descend, sums_of


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
