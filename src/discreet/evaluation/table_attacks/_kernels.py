"""Kernels of the attacks on released tables.

Columns are rows of one matrix. In an original row a category is its number, a missing one the number of categories; a
missing number is NaN.
"""

from typing import Any

import numpy as np

from discreet.core import inlined, jit


@jit
def unique_predicates(codes: Any, targets: Any, orders: Any) -> Any:  # pragma: no cover
    """Add the columns of each target in its order until the released row is unique; return the columns, or none."""
    d, n = codes.shape
    used = np.zeros((targets.size, d), np.bool_)
    alive = np.empty(n, np.int64)
    for p in range(targets.size):
        target = targets[p]
        left = n
        for step in range(d):
            j = orders[p, step]
            value = codes[j, target]
            found = 0
            for i in range(left):
                row = i if step == 0 else alive[i]
                if codes[j, row] == value:
                    alive[found] = row
                    found += 1
            left = found
            used[p, j] = True
            if left == 1:
                break
        if left > 1:
            used[p, :] = False
    return used


@jit
def count_up_to_two(values: Any, numeric: Any, used: Any, first: Any, last: Any, gap: Any, sets: Any) -> Any:
    """Count the rows that satisfy each predicate, up to 2.

    ``values`` are ranks among the ends of conditions (numeric) or category numbers, -1 for missing. A numeric
    condition is ``first <= value <= last``, or missing if ``gap``. For a category, ``first`` is its row in ``sets``.
    """
    d, n = values.shape  # pragma: no cover
    counts = np.zeros(used.shape[0], np.int64)
    for p in range(used.shape[0]):
        for i in range(n):
            fits = True
            for j in range(d):
                if not used[p, j]:
                    continue
                value = values[j, i]
                if value < 0:
                    fits = gap[p, j]
                elif numeric[j]:
                    fits = first[p, j] <= value <= last[p, j]
                else:
                    fits = sets[first[p, j] + value]
                if not fits:
                    break
            if fits:
                counts[p] += 1
                if counts[p] == 2:
                    break
    return counts


@inlined
def _distance(values: Any, t: int, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, c: int, best: float) -> Any:
    """Return the mean distance of target ``t`` from all that released combination ``c`` admits; stop above ``best``.

    For an interval a..b that is ((x - a)² + (b - x)²)/(2 (b - a)) inside and the distance to its middle outside; for a
    set, 1 minus the chance of the category.
    """
    total = 0.0
    for j in range(values.shape[0]):
        x = values[j, t]
        if not numeric[j]:
            total += sets[int(low[j, c]) + int(x)]
        elif np.isnan(x):
            total += gaps[j, c]
        else:
            a, b = low[j, c], high[j, c]
            if np.isnan(a):
                total += 1.0
            elif x <= a or x >= b:
                total += abs(x - (a + b) / 2.0)
            else:
                total += ((x - a) * (x - a) + (b - x) * (b - x)) / (2.0 * (b - a))
        if total > best:
            return total
    return total


@jit
def nearest_rows(
    values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any, draws: Any
) -> Any:  # pragma: no cover
    """Return for each target a nearest released row, equally near ones with equal chance.

    Combination c of released values is that of the places ``starts[c]..starts[c + 1] - 1``; a place is returned.
    """
    tied = np.empty(starts.size - 1, np.int64)
    found = np.empty(values.shape[1], np.int64)
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        rows = 0
        for i in range(ties):
            rows += starts[tied[i] + 1] - starts[tied[i]]
        chosen = min(int(draws[t] / 2.0**62 * rows), rows - 1)
        for i in range(ties):
            size = starts[tied[i] + 1] - starts[tied[i]]
            if chosen < size:
                found[t] = starts[tied[i]] + chosen
                break
            chosen -= size
    return found


@jit
def _nearest(
    values: Any, t: int, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, tied: Any
) -> int:  # pragma: no cover
    """Write the nearest combinations to ``tied`` and return their number."""
    best, ties = np.inf, 0
    for c in range(low.shape[1]):
        limit = best + 1e-12
        far = _distance(values, t, numeric, low, high, gaps, sets, c, limit)
        if far < best - 1e-12:
            best, ties = far, 0
        if far <= best + 1e-12:
            tied[ties] = c
            ties += 1
    return ties


@jit
def guess_numbers(
    values: Any, numeric: Any, low: Any, high: Any, gaps: Any, sets: Any, starts: Any, secret: Any
) -> Any:  # pragma: no cover
    """Return for each target the median of the secret over the nearest released rows; NaN if none has one."""
    tied = np.empty(starts.size - 1, np.int64)
    held = np.empty(secret.size)
    found = np.empty(values.shape[1])
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        size = 0
        for i in range(ties):
            for row in range(starts[tied[i]], starts[tied[i] + 1]):
                if not np.isnan(secret[row]):
                    held[size] = secret[row]
                    size += 1
        found[t] = np.median(held[:size]) if size else np.nan
    return found


@jit
def guess_labels(
    values: Any,
    numeric: Any,
    low: Any,
    high: Any,
    gaps: Any,
    sets: Any,
    starts: Any,
    secret: Any,
    member_starts: Any,
    members: Any,
    n_labels: int,
    draws: Any,
) -> Any:  # pragma: no cover
    """Return for each target the most likely category of the secret over the nearest released rows; ties at random."""
    tied = np.empty(starts.size - 1, np.int64)
    weight = np.empty(n_labels)
    found = np.empty(values.shape[1], np.int64)
    for t in range(values.shape[1]):
        ties = _nearest(values, t, numeric, low, high, gaps, sets, tied)
        weight[:] = 0.0
        for i in range(ties):
            for row in range(starts[tied[i]], starts[tied[i] + 1]):
                a, b = member_starts[secret[row]], member_starts[secret[row] + 1]
                for m in range(a, b):
                    weight[members[m]] += 1.0 / (b - a)
        top = weight.max()
        equal = 0
        for v in range(n_labels):
            equal += weight[v] >= top - 1e-9
        chosen = min(int(draws[t] / 2.0**62 * equal), equal - 1)
        for v in range(n_labels):
            if weight[v] >= top - 1e-9:
                if chosen == 0:
                    found[t] = v
                    break
                chosen -= 1
    return found
