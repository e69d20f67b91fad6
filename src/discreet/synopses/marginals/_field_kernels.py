"""Kernels of the field: every row draws one or two of its columns anew, given the others.

A row's chances are products of table rows, one per factor that touches the column. ``tables`` holds them one after the
other, each laid out by the state of the other columns and then by the value that is drawn; factor k begins at
``starts[k]``. ``near[k]`` and ``far[k]`` name the other columns of the factor (-1: none), and
``steps[k, 0 or 1, code]`` what their codes add to the state.
"""

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray, inlined, jit


@jit
def chances(
    codes: AnyArray, i: int, near: IntArray, far: IntArray, steps: IntArray, tables: FloatArray, starts: IntArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """Write the product of the factors' table rows for row i."""
    size = out.size
    for v in range(size):
        out[v] = 1.0
    for k in range(near.size):
        state = 0
        if near[k] >= 0:
            state = steps[k, 0, codes[near[k], i]]
            if far[k] >= 0:
                state += steps[k, 1, codes[far[k], i]]
        at = starts[k] + state * size
        for v in range(size):
            out[v] *= tables[at + v]


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
def draw_column(
    codes: AnyArray, j: int, size: int, near: IntArray, far: IntArray, steps: IntArray, tables: FloatArray,
    starts: IntArray, uniform: FloatArray,
) -> None:  # fmt: skip
    """Draw column j of every row anew."""
    p = np.empty(size)
    for i in range(codes.shape[1]):
        chances(codes, i, near, far, steps, tables, starts, p)
        total = 0.0
        for v in range(size):
            total += p[v]
        if total > 0.0:
            codes[j, i] = pick(p, total, uniform[i])


@jit
def draw_pair(
    codes: AnyArray, a: int, b: int, size_a: int, size_b: int,
    near_a: IntArray, far_a: IntArray, steps_a: IntArray, tables_a: FloatArray, starts_a: IntArray,
    near_b: IntArray, far_b: IntArray, steps_b: IntArray, tables_b: FloatArray, starts_b: IntArray,
    third: IntArray, steps_c: IntArray, joint: FloatArray, starts_c: IntArray,
    uniform: FloatArray,
) -> None:  # fmt: skip
    """Draw columns a and b of every row anew, together: what hardly moves alone moves as a pair."""
    p, q, row, column = np.empty(size_a), np.empty(size_b), np.empty(size_a), np.empty(size_b)
    both = np.empty(size_a * size_b)
    for i in range(codes.shape[1]):
        chances(codes, i, near_a, far_a, steps_a, tables_a, starts_a, p)
        chances(codes, i, near_b, far_b, steps_b, tables_b, starts_b, q)
        for k in range(third.size):
            at = starts_c[k]
            if third[k] >= 0:
                at += steps_c[k, codes[third[k], i]] * size_a * size_b
            if k == 0:
                for v in range(size_a * size_b):
                    both[v] = joint[at + v]
            else:
                for v in range(size_a * size_b):
                    both[v] *= joint[at + v]
        total = 0.0
        for v in range(size_a):
            inner = 0.0
            for w in range(size_b):
                inner += both[v * size_b + w] * q[w]
            row[v] = inner * p[v]
            total += row[v]
        if not total > 0.0:
            continue
        v = pick(row, total, uniform[2 * i])
        inner = 0.0
        for w in range(size_b):
            column[w] = both[v * size_b + w] * q[w]
            inner += column[w]
        codes[a, i] = v
        codes[b, i] = pick(column, inner, uniform[2 * i + 1])


@jit
def even_column(
    codes: AnyArray, j: int, size: int, near: IntArray, far: IntArray, steps: IntArray, tables: FloatArray,
    starts: IntArray, uniform: FloatArray, one: IntArray, two: IntArray, cells: IntArray, own: IntArray,
    drive: FloatArray, weights: FloatArray,
) -> None:  # fmt: skip
    """Draw column j of every row anew, drawn towards cells of watched marginals that still lack rows.

    ``drive`` is how many rows each cell of each watched marginal has too many, times its weight, kept up to date row by
    row. ``one[k]`` and ``two[k]`` name the other columns of marginal k (-1: none), ``cells[k, s, code]`` is what they
    add to the number of its cell, ``own[k, value]`` what the drawn value adds.
    """
    p, energy, base = np.empty(size), np.empty(size), np.empty(one.size, np.int64)
    for i in range(codes.shape[1]):
        chances(codes, i, near, far, steps, tables, starts, p)
        for v in range(size):
            energy[v] = 0.0
        old = codes[j, i]
        for k in range(one.size):
            at = cells[k, 2, 0]
            if one[k] >= 0:
                at += cells[k, 0, codes[one[k], i]]
                if two[k] >= 0:
                    at += cells[k, 1, codes[two[k], i]]
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
