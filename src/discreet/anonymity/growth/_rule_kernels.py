"""The rules as the kernels of growth check them: `discreet.anonymity.risk.distances` on one class at a time."""

from typing import Any

import numpy as np

from discreet.anonymity.risk.distances import DISTINCT, ENTROPY, EQUAL, ORDERED, SLACK
from discreet.core import inlined, jit


@inlined
def distinct_values(counts: Any) -> int:  # pragma: no cover
    """Return how many values occur."""
    found = 0
    for i in range(counts.size):
        found += counts[i] > 0
    return found


@jit
def entropy(counts: Any, size: int) -> float:  # pragma: no cover
    """Return -Σ p ln p."""
    total = 0.0
    for i in range(counts.size):
        if counts[i] > 0:
            p = counts[i] / size
            total -= p * np.log(p)
    return total


@jit
def recursive_ratio(counts: Any, l: int) -> float:  # noqa: E741  # pragma: no cover
    """Return r_1 / (r_l + ... + r_m) of the frequencies in falling order; infinite with fewer than l values."""
    rest = counts.copy()
    tail, first = 0, 0
    for i in range(rest.size):
        tail += rest[i]
        first = max(first, rest[i])
    for _ in range(min(l - 1, rest.size)):  # take away the l - 1 most frequent, one by one
        most = 0
        for i in range(rest.size):
            if rest[i] > rest[most]:
                most = i
        tail -= rest[most]
        rest[most] = 0
    if tail == 0:
        return np.inf
    return float(first / tail)


@jit
def equal_distance(counts: Any, size: int, share: Any) -> float:  # pragma: no cover
    """Return ½ Σ |p - q|, as the sum of what the class has too much of."""
    total = 0.0
    for i in range(counts.size):
        gap = counts[i] / size - share[i]
        if gap > 0.0:
            total += gap
    return total


@jit
def ordered_distance(counts: Any, size: int, share: Any) -> float:  # pragma: no cover
    """Return Σ_i |Σ_{j≤i} (p_j - q_j)| / (m - 1), over the m values that the table has: a suppressed row adds none."""
    total, running, values = 0.0, 0.0, 0
    for i in range(counts.size):
        if share[i] > 0.0:
            running += counts[i] / size - share[i]
            total += abs(running)
            values += 1
    return float(total / (values - 1)) if values > 1 else 0.0


@jit
def hierarchical_distance(
    counts: Any, size: int, share: Any, parent: Any, weight: Any, leaf: Any
) -> float:  # pragma: no cover
    """Return Σ_N height(N)/H · min(pos, neg) over the inner nodes; a node's children come before it."""
    extra = np.zeros(parent.size)
    more = np.zeros(parent.size)
    less = np.zeros(parent.size)
    for i in range(counts.size):
        extra[leaf[i]] += counts[i] / size - share[i]
    total = 0.0
    for node in range(parent.size):
        total += weight[node] * min(more[node], less[node])
        above = parent[node]
        if above >= 0:
            extra[above] += extra[node]
            if extra[node] > 0.0:
                more[above] += extra[node]
            else:
                less[above] -= extra[node]
    return total


@jit
def closeness(counts: Any, size: int, limits: Any, q: int) -> float:  # pragma: no cover
    """Return the distance of a class from the table in sensitive column q, by the column's ground distance."""
    share = limits.share[limits.offset[q] : limits.offset[q + 1]]
    if limits.t_kind[q] == EQUAL:
        return equal_distance(counts, size, share)
    if limits.t_kind[q] == ORDERED:
        return ordered_distance(counts, size, share)
    a, b = limits.tree_start[q], limits.tree_start[q + 1]
    leaf = limits.leaf[limits.offset[q] : limits.offset[q + 1]]
    return hierarchical_distance(counts, size, share, limits.parent[a:b], limits.weight[a:b], leaf)


@inlined
def is_ok(counts: Any, size: int, limits: Any) -> bool:  # pragma: no cover
    """Return whether a class with these counts of all sensitive values keeps k, l and t."""
    if size < limits.k:
        return False
    for q in range(limits.offset.size - 1):
        own = counts[limits.offset[q] : limits.offset[q + 1]]
        if limits.l_on:
            if limits.l_kind == DISTINCT:
                if distinct_values(own) < limits.l:
                    return False
            elif limits.l_kind == ENTROPY:
                if entropy(own, size) < np.log(limits.l) - SLACK:
                    return False
            elif not recursive_ratio(own, int(limits.l)) < limits.c:
                return False
        if limits.t_on and closeness(own, size, limits, q) > limits.t + SLACK:
            return False
    return True
