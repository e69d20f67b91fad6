"""The measures behind l-diversity and t-closeness: diversity of a class, and its distance from the whole table.

The distance is the least work of moving one distribution into the other, with three ground distances: *equal* (any two
values are 1 apart), *ordered* (values i and j of m are |i - j|/(m - 1) apart) and *hierarchical* (the height of the
lowest common ancestor over that of the root). Each has a closed form (Li, Li and Venkatasubramanian 2007).
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.core import FloatArray, IntArray, jit, jit_within

#: What rounding may add to a measure; a class at exactly the limit passes.
SLACK = 1e-12

#: Kinds of diversity and of distance; the third of each, recursive and hierarchical, is what is left.
DISTINCT, ENTROPY = 0, 1
EQUAL, ORDERED = 0, 1


class Limits(NamedTuple):
    """Rules and reference distribution for the kernels. The values of all sensitive columns form one row."""

    k: int
    l_on: bool
    l_kind: int
    l: float  # noqa: E741
    c: float
    t_on: bool
    t: float
    #: Values of sensitive column q are offset[q] .. offset[q + 1] - 1.
    offset: IntArray
    t_kind: IntArray
    share: FloatArray
    #: The nodes of the value hierarchies, children before parents; those of column q start at tree_start[q].
    tree_start: IntArray
    parent: IntArray
    weight: FloatArray
    #: The node of every value.
    leaf: IntArray


@jit_within
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
def diversity(counts: Any, size: int, kind: int, l: float) -> float:  # noqa: E741  # pragma: no cover
    """Return the diversity reached: number of values, e^entropy, or the ratio that c must exceed."""
    if kind == DISTINCT:
        return float(distinct_values(counts))
    if kind == ENTROPY:
        return float(np.exp(entropy(counts, size)))
    return recursive_ratio(counts, int(l))


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


@jit_within
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


@jit
def rows_by_class(of: Any, starts: Any) -> IntArray:  # pragma: no cover
    """Return the rows class by class, in their order; class e begins at ``starts[e]``, class -1 is left out."""
    order = np.empty(starts[-1], np.int64)
    following = starts.copy()
    for i in range(of.size):
        if of[i] >= 0:
            order[following[of[i]]] = i
            following[of[i]] += 1
    return order


@jit
def measure_classes(
    starts: Any, order: Any, codes: Any, rows: Any, limits: Any, diversities: Any, distances: Any
) -> None:  # pragma: no cover
    """Write diversity and distance of every class, by sensitive column; empty classes are left as they are.

    Class e holds the entries ``order[starts[e] : starts[e + 1]]``; each stands for ``rows`` rows.
    """
    counts = np.zeros(limits.share.size, np.int64)
    for e in range(starts.size - 1):
        if starts[e + 1] == starts[e]:
            continue
        counts[:] = 0
        size = 0
        for i in range(starts[e], starts[e + 1]):
            size += rows[order[i]]
            for q in range(codes.shape[0]):
                counts[codes[q, order[i]]] += rows[order[i]]
        for q in range(codes.shape[0]):
            own = counts[limits.offset[q] : limits.offset[q + 1]]
            diversities[e, q] = diversity(own, size, limits.l_kind, limits.l)
            distances[e, q] = closeness(own, size, limits, q)
