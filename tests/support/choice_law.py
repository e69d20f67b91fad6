"""The probabilities of private choices, read from the very chances that the samplers compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from discreet.core import FloatArray, inlined, jit
from discreet.noise.choice._scaled_kernels import fork, times
from discreet.noise.choice.joint import JointLaw


@inlined
def _plain(m: float, e: int) -> float:
    """Return the number as a double, zero if it is too small for one."""
    return math.ldexp(m, 512 * e) if e > -4 else 0.0


@jit
def chance_of(m: Any, e: Any, leaf: int) -> float:
    """Return the probability with which `descend` ends at a leaf: the product of its chances."""
    node = len(m) // 2 + leaf
    if m[node] == 0.0:
        return 0.0
    pm, pe = 1.0, 0
    while node > 1:
        light, chance, exponent = fork(m, e, node // 2)
        if light == node:
            pm, pe = times(pm, pe, chance, exponent)
        else:
            pm, pe = times(pm, pe, 1.0 - _plain(chance, exponent), 0)
        node //= 2
    return _plain(pm, pe)


def law(sums: Any) -> FloatArray:
    """Return the probabilities with which `pick` draws the leaves of a tree of sums."""
    return np.array([chance_of(*sums, leaf) for leaf in range(len(sums[0]) // 2)])


def cuts_chance(tables: JointLaw, cuts: Sequence[int]) -> float:
    """Return the probability with which `JointLaw.draw` gives these cuts."""
    runs = np.searchsorted(tables.runs.first, cuts, "right") - 1
    chance, j, end, here = 1.0, tables.m, len(tables.runs.left), tables.runs.rows
    for run, group in groupby(int(r) for r in runs[::-1]):
        k = len(list(group))
        chance *= chance_of(*tables.run_sums(j, end, here), run)
        chance *= chance_of(*tables.group_sums(j, run), k - 1)
        chance /= math.comb(int(tables.runs.size[run]), k)
        j, end, here = j - k, run, int(tables.runs.left[run])
    return chance
