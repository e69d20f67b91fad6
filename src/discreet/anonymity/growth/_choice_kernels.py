"""Keep the best split so far whose sides both keep the rules.

A split is checked only if it would be taken, and sensitive values of a column are counted at its first check.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import CUT_BIN, CUT_LEFT, GAIN, GROUP_BIN, GROUP_SIZE, SLOT, TIE
from discreet.anonymity.growth._rule_kernels import is_ok
from discreet.anonymity.growth.search_kernels import LEFT, NODE, REST
from discreet.core import inlined


@inlined
def put_in_order(rows: Any, a: int, b: int, j: int, n_groups: int, held: Any, order: Any) -> None:  # pragma: no cover
    """Write down the rows of a node in the order of their bins."""
    start = 0
    for g in range(n_groups):
        held[SLOT, held[GROUP_BIN, g]] = start
        start += held[GROUP_SIZE, g]
    if n_groups > 0:
        for i in range(a, b):
            bin_ = rows[i, j]
            order[held[SLOT, bin_]] = i
            held[SLOT, bin_] += 1


@inlined
def count_values(
    rows: Any, a: int, b: int, j: int, d: int, n_sensitive: int, n_groups: int, held: Any, values: Any
) -> bool:  # pragma: no cover
    """Count the sensitive values of a column by bin; return False if its rows are better put in order."""
    first, last = held[GROUP_BIN, 0], held[GROUP_BIN, n_groups - 1]
    if values.shape[1] == 0 or (last - first + 1) * values.shape[1] > 8 * (b - a):
        return False
    for p in range(first, last + 1):
        for s in range(values.shape[1]):
            values[p, s] = 0
    for i in range(a, b):
        for q in range(d, d + n_sensitive):
            values[rows[i, j], rows[i, q]] += 1
    return True


@inlined
def choose(
    rows: Any,
    a: int,
    b: int,
    j: int,
    d: int,
    n_sensitive: int,
    n_groups: int,
    n_cuts: int,
    in_order: bool,
    slack: float,
    best: float,
    best_tie: float,
    k: int,
    rule: Any,
    offset: Any,
    t_kind: Any,
    share: Any,
    tree: Any,
    heights: Any,
    held: Any,
    rated: Any,
    order: Any,
    values: Any,
    tally: Any,
) -> tuple[float, float, int]:  # pragma: no cover
    """Return gain, tie-break and cut of the best split that beats ``best`` and whose sides keep the rules.

    The cut is -1 if there is none. Differences by rounding only count as equal.
    """
    chosen, walked, group, counted, ready = -1, 0, 0, False, False
    for c in range(n_cuts):
        gain, tie = rated[GAIN, c], rated[TIE, c]
        if best > -np.inf:
            margin = slack + 1e-12 * abs(best)
            if gain < best - margin or (gain <= best + margin and tie <= best_tie):
                continue
        if rule is not None:
            if not ready:
                ready = True
                for s in range(tally.shape[1]):
                    tally[LEFT, s] = 0
                if not in_order:
                    counted = count_values(rows, a, b, j, d, n_sensitive, n_groups, held, values)
                    if not counted:
                        put_in_order(rows, a, b, j, n_groups, held, order)
            left = held[CUT_LEFT, c]
            if counted:
                while walked < left:
                    for s in range(tally.shape[1]):
                        tally[LEFT, s] += values[held[GROUP_BIN, group], s]
                    walked += held[GROUP_SIZE, group]
                    group += 1
            else:
                for p in range(walked, left):
                    for q in range(d, d + n_sensitive):
                        tally[LEFT, rows[order[p], q]] += 1
                walked = left
            for s in range(tally.shape[1]):
                tally[REST, s] = tally[NODE, s] - tally[LEFT, s]
            good = True
            for side in range(LEFT, REST + 1):
                size = left if side == LEFT else b - a - left
                good = good and is_ok(tally, side, size, k, rule, offset, t_kind, share, tree, heights)
            if not good:
                continue
        best, best_tie, chosen = gain, tie, held[CUT_BIN, c]
    return best, best_tie, chosen
