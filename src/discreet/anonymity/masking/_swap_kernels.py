"""Kernels of rank swapping: pair every rank with a free one that is near, in O(n log n); and who could be whom."""

from typing import Any

import numpy as np

from discreet.core import jit


@jit
def swap_ranks(draws: Any, limit: int) -> Any:
    """Return for every rank the rank it is swapped with: a free one at most ``limit`` away, all equally likely.

    ``draws`` are uniform below 2^62, one per rank. A Fenwick tree counts the ranks that are still free, so that the
    m-th free one behind a rank is found without looking at the others.
    """
    n = draws.size
    partner = np.arange(n)
    tree = np.zeros(n + 1, np.int64)
    for i in range(1, n + 1):
        tree[i] = i & -i
    top = 1
    while 2 * top <= n:
        top *= 2
    free = np.ones(n, np.bool_)
    for i in range(n):
        if not free[i]:
            continue
        free[i] = False
        _remove(tree, i)
        # Every rank below i is taken: what is free up to i + limit lies behind i.
        there = _count(tree, min(i + limit, n - 1) + 1)
        if there == 0:
            continue
        chosen = min(int(draws[i] / 2.0**62 * there), there - 1)
        j = _find(tree, chosen, top)
        free[j] = False
        _remove(tree, j)
        partner[i], partner[j] = j, i
    return partner


@jit
def count_inside(values: Any, low: Any, high: Any) -> Any:
    """Return how many rows lie inside each box; columns by rows, and columns by boxes."""
    found = np.zeros(low.shape[1], np.int64)
    for b in range(low.shape[1]):
        for i in range(values.shape[1]):
            inside = True
            for j in range(values.shape[0]):
                if not low[j, b] <= values[j, i] <= high[j, b]:
                    inside = False
                    break
            found[b] += inside
    return found


@jit
def _remove(tree: Any, place: int) -> None:
    i = place + 1
    while i < tree.size:
        tree[i] -= 1
        i += i & -i


@jit
def _count(tree: Any, end: int) -> int:
    total = 0
    i = end
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@jit
def _find(tree: Any, number: int, top: int) -> int:
    place, step = 0, top
    while step > 0:
        if place + step < tree.size and tree[place + step] <= number:
            place += step
            number -= tree[place]
        step //= 2
    return place
