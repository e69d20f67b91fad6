"""The kernel of the population: every row draws one of its columns anew, given the others.

The cells of marginal k that a row may come to lie in begin at the sum of ``cells[k, 2, 0]``, ``cells[k, 0, code]`` of
column ``one[k]`` and ``cells[k, 1, code]`` of column ``two[k]`` (-1: none); ``own[k, value]`` is what the drawn value
adds.
"""

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray, inlined, jit


@inlined
def base_of(codes: AnyArray, i: int, k: int, one: IntArray, two: IntArray, cells: IntArray) -> int:
    """Return the place at which the cells of marginal k begin for row i."""
    at: int = cells[k, 2, 0]
    if one[k] >= 0:
        at += cells[k, 0, codes[one[k], i]]
        if two[k] >= 0:
            at += cells[k, 1, codes[two[k], i]]
    return at


@inlined
def pick(weights: FloatArray, total: float, u: float) -> int:
    """Return the place at which the running sum passes u times the total."""
    goal, running = u * total, 0.0
    for v in range(weights.size):
        running += weights[v]
        if goal < running:
            return v
    last = weights.size - 1
    while last > 0 and weights[last] <= 0.0:
        last -= 1
    return last


@jit
def even_column(
    codes: AnyArray, j: int, of: IntArray, chances: FloatArray,
    fixed_one: IntArray, fixed_two: IntArray, fixed_cells: IntArray, fixed_own: IntArray, allowed: FloatArray,
    uniform: FloatArray, one: IntArray, two: IntArray, cells: IntArray, own: IntArray,
    drive: FloatArray, weights: FloatArray,
) -> None:  # fmt: skip
    """Draw column j of every row anew, drawn towards cells of watched marginals that still lack rows.

    ``chances[of[i], v]`` is the chance of value v in the component of row i, and ``allowed`` is 0 where no row may be.
    ``drive`` is how many rows each cell of each watched marginal has too many, times its weight, kept up to date.
    """
    size = chances.shape[1]
    p, energy, base = np.empty(size), np.empty(size), np.empty(one.size, np.int64)
    for i in range(codes.shape[1]):
        for v in range(size):
            energy[v], p[v] = 0.0, chances[of[i], v]
        for k in range(fixed_one.size):
            at = base_of(codes, i, k, fixed_one, fixed_two, fixed_cells)
            for v in range(size):
                p[v] *= allowed[at + fixed_own[k, v]]
        old = codes[j, i]
        for k in range(one.size):
            at = base_of(codes, i, k, one, two, cells)
            base[k] = at
            drive[at + own[k, old]] -= weights[at + own[k, old]]
            for v in range(size):
                energy[v] += drive[at + own[k, v]]
        least = np.inf
        for v in range(size):
            if p[v] > 0.0 and energy[v] < least:
                least = energy[v]
        total = 0.0
        for v in range(size):
            p[v] *= np.exp(min(least - energy[v], 0.0))
            total += p[v]
        if total > 0.0:
            old = pick(p, total, uniform[i])
            codes[j, i] = old
        for k in range(one.size):
            drive[base[k] + own[k, old]] += weights[base[k] + own[k, old]]
