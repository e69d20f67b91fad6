"""Kernels of MDAV and of groups along a line.

Rows are numbers (Euclidean) and codes (1 apart if they differ), both seen as one Euclidean space.
A code is a corner of a simplex with edge 1: the unit vector of its value over √2. The squared distance of two rows then
adds 1 for every code that differs, and that of a row to a centroid adds (1 - 2 f_v + Σ f²)/2 for its value v, with f
the shares of the values: no vector is ever written out.
"""

from typing import Any

import numpy as np

from discreet.core import jit


@jit
def mdav(numbers: Any, codes: Any, levels: Any, k: int) -> Any:
    """Return the group of every row; sizes are k..2k-1. Arrays are overwritten.

    Free rows come first, in no order; `ids` are their numbers. Equal distances: lower id.
    """
    n = ids_left = numbers.shape[0]
    ids = np.arange(n)
    group = np.empty(n, np.int64)
    distance = np.empty(n)
    nearest = np.empty(k, np.int64)
    sums = np.zeros(numbers.shape[1])
    for j in range(numbers.shape[1]):
        for i in range(n):
            sums[j] += numbers[i, j]
    counts = np.zeros((codes.shape[1], levels), np.int64)
    for j in range(codes.shape[1]):
        for i in range(n):
            counts[j, codes[i, j]] += 1
    made = 0
    while ids_left >= 2 * k:
        pair = ids_left >= 3 * k
        start = _farthest_from_centre(numbers, codes, ids, ids_left, sums, counts)
        ids_left = _take(numbers, codes, ids, ids_left, start, k, distance, nearest, sums, counts, group, made)
        made += 1
        if pair:
            far = 0
            for i in range(1, ids_left):
                if distance[i] > distance[far] or (distance[i] == distance[far] and ids[i] < ids[far]):
                    far = i
            ids_left = _take(numbers, codes, ids, ids_left, far, k, distance, nearest, sums, counts, group, made)
            made += 1
    for i in range(ids_left):
        group[ids[i]] = made
    return group


@jit
def _farthest_from_centre(numbers: Any, codes: Any, ids: Any, left: int, sums: Any, counts: Any) -> int:
    centre = sums / left
    share = counts / left
    extra = np.empty(share.shape)
    for j in range(share.shape[0]):
        squares = 0.0
        for v in range(share.shape[1]):
            squares += share[j, v] * share[j, v]
        for v in range(share.shape[1]):
            extra[j, v] = (1.0 - 2.0 * share[j, v] + squares) / 2.0
    best, far = -1.0, 0
    for i in range(left):
        total = 0.0
        for j in range(numbers.shape[1]):
            gap = numbers[i, j] - centre[j]
            total += gap * gap
        for j in range(codes.shape[1]):
            total += extra[j, codes[i, j]]
        if total > best or (total == best and ids[i] < ids[far]):
            best, far = total, i
    return far


@jit
def _take(
    numbers: Any, codes: Any, ids: Any, left: int, start: int, k: int, distance: Any, nearest: Any, sums: Any,
    counts: Any, group: Any, made: int,
) -> int:  # fmt: skip
    """Make a group of row ``start`` and its k - 1 nearest; return how many rows are left, and their distances."""
    for i in range(left):
        total = 0.0
        for j in range(numbers.shape[1]):
            gap = numbers[i, j] - numbers[start, j]
            total += gap * gap
        for j in range(codes.shape[1]):
            total += codes[i, j] != codes[start, j]
        distance[i] = total
    # The k - 1 nearest, kept in rising order of (distance, id): the last is the one to beat.
    nearest[0] = start
    held = 1
    for i in range(left):
        if i == start:
            continue
        if held == k:
            worst = nearest[k - 1]
            if k == 1 or distance[i] > distance[worst] or (distance[i] == distance[worst] and ids[i] > ids[worst]):
                continue
        else:
            held += 1
        place = held - 1
        while place > 1:
            other = nearest[place - 1]
            if distance[other] < distance[i] or (distance[other] == distance[i] and ids[other] < ids[i]):
                break
            nearest[place] = other
            place -= 1
        nearest[place] = i
    # Taken from behind, so that the row that fills a gap is never one that is still to be taken.
    for i in np.sort(nearest[:k])[::-1]:
        group[ids[i]] = made
        for j in range(numbers.shape[1]):
            sums[j] -= numbers[i, j]
        for j in range(codes.shape[1]):
            counts[j, codes[i, j]] -= 1
        left -= 1
        ids[i], distance[i] = ids[left], distance[left]
        for j in range(numbers.shape[1]):
            numbers[i, j] = numbers[left, j]
        for j in range(codes.shape[1]):
            codes[i, j] = codes[left, j]
    return left


@jit
def best_path(numbers: Any, codes: Any, levels: Any, k: int) -> Any:
    """Return the best groups of neighbours along a given order, by dynamic programming (Hansen and Mukherjee 2003).

    Runs have k to 2k - 1 rows and the least sum of squares; ties: shorter last runs. Longer runs are never needed,
    since cutting one in two cannot add to the sum. ``least[i]`` is the sum of the best runs of the first i rows, and
    the last run has ``size[i]``. A code is the corner of a simplex with edge 1: a run of m rows with counts c has the
    squares (m - sum c^2 / m) / 2.
    """
    n, width = numbers.shape
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    size = np.zeros(n + 1, np.int64)
    counts = np.zeros((codes.shape[1], levels), np.int64)
    mean = np.empty(width)
    for i in range(k, n + 1):
        squares = 0.0
        alike = np.zeros(codes.shape[1], np.int64)
        mean[:] = 0.0
        most = min(2 * k - 1, i)
        for m in range(1, most + 1):  # the run of the last m rows, one row longer each time
            row = i - m
            for j in range(width):
                gap = numbers[row, j] - mean[j]
                mean[j] += gap / m
                squares += gap * (numbers[row, j] - mean[j])
            total = squares
            for j in range(codes.shape[1]):
                alike[j] += 2 * counts[j, codes[row, j]] + 1
                counts[j, codes[row, j]] += 1
                total += (m - alike[j] / m) / 2
            if m >= k and least[row] + total < least[i]:
                least[i] = least[row] + total
                size[i] = m
        for row in range(i - most, i):
            for j in range(codes.shape[1]):
                counts[j, codes[row, j]] -= 1
    group = np.empty(n, np.int64)
    end, made = n, 0
    while end > 0:
        group[end - size[end] : end] = made
        end -= size[end]
        made += 1
    return made - 1 - group
