"""Keep the best split so far whose sides both keep the rules.

A split is checked only if it would be taken, and sensitive values of a column are counted at its first check.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._rule_kernels import is_ok
from discreet.anonymity.growth.search_kernels import LEFT, NODE, REST
from discreet.core import inlined, jit


@jit
def put_in_order(rows: Any, a: int, b: int, j: int, n_groups: int, work: Any) -> None:  # pragma: no cover
    """Write down the rows of a node in the order of their bins, if they were not sorted.

    Of a column with one bin left no groups are listed, and nothing asks for its order.
    """
    if work.best_place[1, 0] > 0 or n_groups == 0:
        return
    start = 0
    for g in range(n_groups):
        work.slot[work.group_bin[g]] = start
        start += work.group_size[g]
    for i in range(a, b):
        bin_ = rows[i, j]
        work.order[work.slot[bin_]] = i
        work.slot[bin_] += 1


@jit
def line_up(
    rows: Any, a: int, b: int, j: int, n_groups: int, d: int, n_sensitive: int, work: Any
) -> bool:  # pragma: no cover
    """Make the sensitive values of a column ready; return whether they are counted by bin, or else rows in order."""
    first, last, values = work.group_bin[0], work.group_bin[n_groups - 1], work.values
    if work.best_place[1, 0] == 0 and values.shape[1] > 0 and (last - first + 1) * values.shape[1] <= 8 * (b - a):
        values[first : last + 1, :] = 0
        for i in range(a, b):
            for q in range(d, d + n_sensitive):
                values[rows[i, j], rows[i, q]] += 1
        return True
    put_in_order(rows, a, b, j, n_groups, work)
    return False


@inlined
def sides_ok(
    walked: int, left: int, size: int, counted: bool, rows: Any, d: int, n_sensitive: int, limits: Any, work: Any
) -> bool:  # pragma: no cover
    """Return whether both sides of a split keep the rules; the first ``walked`` rows are counted as left already.

    ``counted`` is what `line_up` returned.
    """
    counts = work.sensitive
    if counted:
        g, start = 0, 0
        while start < left:
            if start >= walked:
                for s in range(counts.shape[1]):
                    counts[LEFT, s] += work.values[work.group_bin[g], s]
            start += work.group_size[g]
            g += 1
    else:
        for p in range(walked, left):
            for q in range(d, d + n_sensitive):
                counts[LEFT, rows[work.order[p], q]] += 1
    for s in range(counts.shape[1]):
        counts[REST, s] = counts[NODE, s] - counts[LEFT, s]
    return is_ok(counts[LEFT], left, limits) and is_ok(counts[REST], size - left, limits)


@inlined
def choose(
    rows: Any,
    a: int,
    b: int,
    j: int,
    n_groups: int,
    n_cuts: int,
    slack: float,
    limits: Any,
    labels: Any,
    work: Any,
) -> None:  # pragma: no cover
    """Keep the best split whose sides both keep the rules; differences by rounding only count as equal."""
    d, walked, counted, lined_up = work.lowest.size, 0, False, False
    for c in range(n_cuts):
        gain, tie, best = work.gains[c], work.ties[c], work.best_gain[0]
        if best > -np.inf:
            margin = slack + 1e-12 * abs(best)
            if gain < best - margin or (gain <= best + margin and tie <= work.best_gain[1]):
                continue
        if work.sensitive.shape[1] > 0:
            if not lined_up:
                lined_up = True
                counted = line_up(rows, a, b, j, n_groups, d, labels.n_sensitive, work)
                work.sensitive[LEFT, :] = 0
            left = work.cut_left[c]
            good = sides_ok(walked, left, b - a, counted, rows, d, labels.n_sensitive, limits, work)
            walked = left
            if not good:
                continue
        work.best_gain[0], work.best_gain[1] = gain, tie
        work.best_place[0, 0], work.best_place[0, 1] = j, work.cut_bin[c]
