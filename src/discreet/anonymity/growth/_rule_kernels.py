"""The rules as the kernels of growth check them: `discreet.anonymity.risk.distances` on one class at a time.

``share`` is None without t, and ``tree`` without a hierarchical distance: those branches are not compiled then.
"""

from typing import Any

import numpy as np

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
def recursive_ratio(counts: Any, of: int, low: int, high: int, l: int) -> float:  # noqa: E741  # pragma: no cover
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
) -> float:  # pragma: no cover
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
    counts: Any,
    of: int,
    size: int,
    k: int,
    rule: Any,
    offset: Any,
    t_kind: Any,
    share: Any,
    tree: Any,
    heights: Any,
) -> bool:  # pragma: no cover
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
