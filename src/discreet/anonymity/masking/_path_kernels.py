"""Kernel of Hansen and Mukherjee (2003): the best groups of neighbours along a given order, by dynamic programming."""

from typing import Any

import numpy as np

from discreet.core import jit


@jit
def best_path(numbers: Any, codes: Any, levels: Any, k: int) -> Any:  # pragma: no cover
    """Return the group of every row: runs of k to 2k - 1 rows with the least sum of squares; ties: shorter last runs.

    Longer runs are never needed, since cutting one in two cannot add to the sum. ``least[i]`` is the sum of the best
    runs of the first i rows, and the last run has ``size[i]``. A code is the corner of a simplex with edge 1: a
    run of m rows with counts c has the squares (m - sum c^2 / m) / 2.
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
