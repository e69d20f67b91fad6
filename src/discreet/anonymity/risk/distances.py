"""The measures behind l-diversity and t-closeness: diversity of a class, and its distance from the whole table.

The distance is the least work of moving one distribution into the other, with three ground distances: *equal* (any two
values are 1 apart), *ordered* (values i and j of m are |i - j|/(m - 1) apart) and *hierarchical* (the height of the
lowest common ancestor over that of the root). Each has a closed form (Li, Li and Venkatasubramanian 2007).

Counts are tables of classes by values; no class is empty.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from discreet.core import AnyArray, BoolArray, FloatArray, IntArray, jit

#: What rounding may add to a measure; a class at exactly the limit passes.
SLACK = 1e-12

#: Kinds of diversity and of distance; the third of each, recursive and hierarchical, is what is left.
DISTINCT, ENTROPY = 0, 1
EQUAL, ORDERED = 0, 1
#: Most entries of a table of counts that is made at once.
AT_ONCE = 1 << 18


class Limits(NamedTuple):
    """Rules and reference distribution of a table. The values of all sensitive columns form one row."""

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

    def own(self, q: int) -> slice:
        return slice(int(self.offset[q]), int(self.offset[q + 1]))


def recursive_ratio(counts: AnyArray, l: int) -> FloatArray:  # noqa: E741
    """Return r_1 / (r_l + ... + r_m) of the frequencies in falling order; infinite with fewer than l values."""
    falling = -np.sort(-counts, axis=1)
    tail = falling[:, l - 1 :].sum(axis=1)
    return np.asarray(np.divide(falling[:, :1].sum(axis=1), tail, out=np.full(len(counts), np.inf), where=tail > 0))


def equal_distance(counts: AnyArray, sizes: AnyArray, share: FloatArray) -> FloatArray:
    """Return ½ Σ |p - q|, as the sum of what the class has too much of."""
    return np.asarray(np.maximum(counts / sizes[:, None] - share, 0.0).sum(axis=1))


def ordered_distance(counts: AnyArray, sizes: AnyArray, share: FloatArray) -> FloatArray:
    """Return Σ_i |Σ_{j≤i} (p_j - q_j)| / (m - 1), over the m values that the table has: a suppressed row adds none."""
    there = share > 0.0
    gaps = np.cumsum(counts[:, there] / sizes[:, None] - share[there], axis=1)
    return np.asarray(np.abs(gaps).sum(axis=1) / max(int(there.sum()) - 1, 1) * (there.sum() > 1))


def hierarchical_distance(
    counts: AnyArray, sizes: AnyArray, share: FloatArray, parent: IntArray, weight: FloatArray, leaf: IntArray
) -> FloatArray:
    """Return Σ_N height(N)/H · min(pos, neg) over the inner nodes; a node's children come before it."""
    extra, more, less = (np.zeros((len(parent), len(counts))) for _ in range(3))
    for i, gap in zip(leaf, (counts / sizes[:, None] - share).T, strict=True):
        extra[i] += gap
    total = np.zeros(len(counts))
    for node, above in enumerate(parent):
        total += weight[node] * np.minimum(more[node], less[node])
        if above >= 0:
            extra[above] += extra[node]
            more[above] += np.maximum(extra[node], 0.0)
            less[above] -= np.minimum(extra[node], 0.0)
    return total


def diversity(counts: AnyArray, sizes: AnyArray, kind: int, l: float) -> FloatArray:  # noqa: E741
    """Return the diversity of each class: number of values, e^entropy, or the ratio that c must exceed."""
    if kind == DISTINCT:
        return np.asarray(np.count_nonzero(counts, axis=1), np.float64)
    if kind == ENTROPY:
        p = counts / sizes[:, None]
        return np.asarray(np.exp(-(p * np.log(p, out=np.zeros(p.shape), where=p > 0)).sum(axis=1)))
    return recursive_ratio(counts, int(l))


def closeness(counts: AnyArray, sizes: AnyArray, limits: Limits, q: int) -> FloatArray:
    """Return the distance of each class from the table in sensitive column q, by the column's ground distance."""
    share = limits.share[limits.own(q)]
    if limits.t_kind[q] == EQUAL:
        return equal_distance(counts, sizes, share)
    if limits.t_kind[q] == ORDERED:
        return ordered_distance(counts, sizes, share)
    tree = slice(int(limits.tree_start[q]), int(limits.tree_start[q + 1]))
    return hierarchical_distance(
        counts, sizes, share, limits.parent[tree], limits.weight[tree], limits.leaf[limits.own(q)]
    )


def diverse(diversities: FloatArray, limits: Limits) -> BoolArray:
    if limits.l_kind == DISTINCT:
        return np.asarray(diversities >= limits.l)
    if limits.l_kind == ENTROPY:
        return np.asarray(np.log(diversities) >= np.log(limits.l) - SLACK)
    return np.asarray(diversities < limits.c)


def is_ok(counts: AnyArray, sizes: AnyArray, limits: Limits) -> BoolArray:
    """Return which classes with these counts of all sensitive values keep k, l and t."""
    good: BoolArray = sizes >= limits.k
    for q in range(len(limits.offset) - 1):
        own = counts[:, limits.own(q)]
        if limits.l_on:
            good = good & diverse(diversity(own, sizes, limits.l_kind, limits.l), limits)
        if limits.t_on:
            good = good & (closeness(own, sizes, limits, q) <= limits.t + SLACK)
    return good


def tallied(
    of: AnyArray, n: int, codes: IntArray, rows: IntArray | None, values: int
) -> Iterator[tuple[int, AnyArray]]:
    """Yield the counts of values by class, for some classes at a time, with the number of the first.

    ``of`` is the class of each entry, 0 to ``n - 1``, or -1; an entry stands for ``rows`` rows and has a value of every
    row of ``codes``.
    """
    room = max(1, AT_ONCE // max(values, 1))
    if n <= room:
        yield 0, _table(of, n, codes, rows, values)
        return
    starts = np.concatenate([[0], np.cumsum(np.bincount(of[of >= 0], minlength=n))])
    order = rows_by_class(of, starts)
    for begin in range(0, n, room):
        end = min(begin + room, n)
        chosen = order[starts[begin] : starts[end]]
        own = None if rows is None else rows[chosen]
        yield begin, _table(of[chosen] - begin, end - begin, codes[:, chosen], own, values)


def _table(of: AnyArray, n: int, codes: IntArray, rows: IntArray | None, values: int) -> AnyArray:
    kept = of >= 0
    if not kept.all():
        of, codes, rows = of[kept], codes[:, kept], None if rows is None else rows[kept]
    found = np.zeros(n * values, np.int64)
    for own in codes:
        found += np.bincount(of * values + own, rows, minlength=n * values).astype(np.int64)
    return found.reshape(n, values)


@jit
def rows_by_class(of: Any, starts: Any) -> IntArray:
    """Return the rows class by class, in their order; class e begins at ``starts[e]``, class -1 is left out."""
    order = np.empty(starts[-1], np.int64)
    following = starts.copy()
    for i in range(of.size):
        if of[i] >= 0:
            order[following[of[i]]] = i
            following[of[i]] += 1
    return order


def measure_classes(
    of: AnyArray, n: int, codes: IntArray, rows: IntArray | None, limits: Limits, out: FloatArray
) -> None:
    """Write diversity and distance of every class, by sensitive column; empty classes are left as they are."""
    for begin, counts in tallied(of, n, codes, rows, len(limits.share)):
        sizes = counts[:, limits.own(0)].sum(axis=1)
        there = np.flatnonzero(sizes)
        held, sizes = counts[there], sizes[there]
        for q in range(len(codes)):
            own = held[:, limits.own(q)]
            out[0, begin + there, q] = diversity(own, sizes, limits.l_kind, limits.l)
            out[1, begin + there, q] = closeness(own, sizes, limits, q)
