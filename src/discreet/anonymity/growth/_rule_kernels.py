"""The rules as the kernels of growth check them (`discreet.anonymity.risk.distances` on one class at a time), and the
best split so far whose sides both keep them.

A split is checked only if it would be taken, and sensitive values of a column are counted at its first check.
``share`` is None without t, and ``tree`` without a hierarchical distance: those branches are not compiled then.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import CUT_BIN, CUT_LEFT, GAIN, GROUP_BIN, GROUP_SIZE, SLOT, TIE
from discreet.anonymity.growth.search_kernels import LEFT, NODE, REST
from discreet.anonymity.risk.distances import DISTINCT, ENTROPY, EQUAL, ORDERED, SLACK, Limits
from discreet.core import inlined

#: The rules in one row; kind -1 is no rule of diversity.
KIND, L, C, T = 0, 1, 2, 3
#: Where a value hierarchy starts, by sensitive column; the parents of its nodes; and the node of each value.
START, PARENT, LEAF_OF = 0, 1, 2
#: Weights of the nodes, and room for three sums per node.
WEIGHT, EXTRA, MORE, LESS = 0, 1, 2, 3


def rule_arrays(limits: Limits) -> tuple[Any, ...]:
    """Return rules as arrays, in the order in which kernels take them; all None without l and t."""
    if not limits.l_on and not limits.t_on:
        return (None,) * 6
    kind = limits.l_kind if limits.l_on else -1
    rule = np.array([kind, limits.l, limits.c, limits.t])
    if not limits.t_on:
        return rule, limits.offset, None, None, None, None
    if limits.t_kind.max(initial=0) <= ORDERED:
        return rule, limits.offset, limits.t_kind, limits.share, None, None
    parts = (limits.tree_start, limits.parent, limits.leaf)
    tree = np.zeros((3, max(map(len, parts))), np.int64)
    for row, part in zip(tree, parts, strict=True):
        row[: len(part)] = part
    heights = np.zeros((4, len(limits.parent)))
    heights[WEIGHT] = limits.weight
    return rule, limits.offset, limits.t_kind, limits.share, tree, heights


@inlined
def recursive_ratio(counts: Any, of: int, low: int, high: int, l: int) -> float:  # noqa: E741
    """Return r_1 / (r_l + ... + r_m) of the frequencies in falling order; infinite with fewer than l values."""
    tail, first = 0, 0
    for i in range(low, high):
        tail += counts[of, i]
        first = max(first, counts[of, i])
    before, at = first + 1, 0
    for _ in range(min(l - 1, high - low)):  # take away the l - 1 most frequent; of equal ones, the first
        most, place = -1, 0
        for i in range(low, high):
            own = counts[of, i]
            if own > most and (own < before or (own == before and i > at)):
                most, place = own, i
        tail -= most
        before, at = most, place
    return np.inf if tail == 0 else first / tail


@inlined
def hierarchical_distance(
    counts: Any, of: int, size: int, low: int, high: int, share: Any, q: int, tree: Any, heights: Any
) -> float:
    """Return Σ_N height(N)/H · min(pos, neg) over the inner nodes; a node's children come before it."""
    begin, end = tree[START, q], tree[START, q + 1]
    for node in range(begin, end):
        heights[EXTRA, node], heights[MORE, node], heights[LESS, node] = 0.0, 0.0, 0.0
    for i in range(low, high):
        heights[EXTRA, begin + tree[LEAF_OF, i]] += counts[of, i] / size - share[i]
    total = 0.0
    for node in range(begin, end):
        total += heights[WEIGHT, node] * min(heights[MORE, node], heights[LESS, node])
        if tree[PARENT, node] >= 0:
            above, extra = begin + tree[PARENT, node], heights[EXTRA, node]
            heights[EXTRA, above] += extra
            if extra > 0.0:
                heights[MORE, above] += extra
            else:
                heights[LESS, above] -= extra
    return total


@inlined
def is_ok(
    counts: Any, of: int, size: int, k: int, rule: Any, offset: Any, t_kind: Any, share: Any, tree: Any, heights: Any,
) -> bool:  # fmt: skip
    """Return whether the class with the counts ``counts[of]`` of all sensitive values keeps k, l and t."""
    if size < k:
        return False
    for q in range(offset.size - 1):
        low, high = offset[q], offset[q + 1]
        if rule[KIND] == DISTINCT:
            found = 0
            for i in range(low, high):
                found += counts[of, i] > 0
            if found < rule[L]:
                return False
        elif rule[KIND] == ENTROPY:
            entropy = 0.0
            for i in range(low, high):
                if counts[of, i] > 0:
                    p = counts[of, i] / size
                    entropy -= p * np.log(p)
            if entropy < np.log(rule[L]) - SLACK:
                return False
        elif rule[KIND] >= 0.0 and not recursive_ratio(counts, of, low, high, int(rule[L])) < rule[C]:
            return False
        if share is not None:
            away = 0.0
            if t_kind[q] == EQUAL:
                for i in range(low, high):
                    away += max(counts[of, i] / size - share[i], 0.0)
            elif t_kind[q] == ORDERED:
                running, values = 0.0, 0
                for i in range(low, high):
                    if share[i] > 0.0:
                        running += counts[of, i] / size - share[i]
                        away += abs(running)
                        values += 1
                away = away / (values - 1) if values > 1 else 0.0
            elif tree is not None:
                away = hierarchical_distance(counts, of, size, low, high, share, q, tree, heights)
            if away > rule[T] + SLACK:
                return False
    return True


@inlined
def put_in_order(rows: Any, a: int, b: int, j: int, n_groups: int, held: Any, order: Any) -> None:
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
) -> bool:
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
    rows: Any, a: int, b: int, j: int, d: int, n_sensitive: int, n_groups: int, n_cuts: int, in_order: bool,
    slack: float, best: float, best_tie: float, k: int, rule: Any, offset: Any, t_kind: Any, share: Any, tree: Any,
    heights: Any, held: Any, rated: Any, order: Any, values: Any, tally: Any,
) -> tuple[float, float, int]:  # fmt: skip
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
