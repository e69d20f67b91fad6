"""Growth by the cell criterion without sensitive values: the counts of the bins suffice.

It grows the same tree as `growth_kernels.grow`, several times faster. Rows move in whole words. When a node is split,
the rows of the smaller side are counted and subtracted. The gain is computed only where it may be the best so far.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import SMALL, SORTED, sort_keys
from discreet.anonymity.growth.criteria import CELL
from discreet.anonymity.growth.growth_kernels import (
    COLUMN,
    CRITERION,
    CUT,
    FIRST,
    FROM,
    LAST,
    LEVEL,
    PENDING,
    SLOT,
    TO,
    open_node,
    part,
    push_sides,
)
from discreet.anonymity.growth.search_kernels import FORM, MISSING, cut_in_gap, tier_within
from discreet.core import inlined, jit

#: The occupied bins of a column: the bin, and how many records it and those below have.
BIN, UP_TO = 0, 1
#: The most columns times bins this way of counting is good for, and the most counters of all nodes that wait together.
MOST_COUNTERS, ALL_COUNTERS = 1 << 18, 1 << 20


@jit
def pack(columns: Any, rows: Any, at: int) -> None:
    """Write columns row by row, from the place ``at`` of every row on."""
    d, n = columns.shape
    for i in range(n):
        for m in range(d):
            rows[i, at + m] = columns[m, i]


@inlined
def add_rows(rows: Any, a: int, b: int, by: int, counts: Any, slot: int) -> None:
    """Add ``by`` for every row to the counters of its bins."""
    for i in range(a, b):
        for m in range(counts.shape[1]):
            counts[slot, m, rows[i, m]] += by


@inlined
def count_rows(rows: Any, a: int, b: int, cells: Any, at: int, counts: Any, slot: int) -> None:
    for m in range(counts.shape[1]):
        for p in range(cells[at, FIRST, m], cells[at, LAST, m] + 1):
            counts[slot, m, p] = 0
    add_rows(rows, a, b, 1, counts, slot)


@inlined
def take_away(counts: Any, slot: int, fewer: int, cells: Any, at: int, but: int) -> None:
    """Subtract counters over a cell. In the column of the cut, ``but``, the cell has its bins to itself."""
    for m in range(counts.shape[1]):
        if m != but:
            for p in range(cells[at, FIRST, m], cells[at, LAST, m] + 1):
                counts[slot, m, p] -= counts[fewer, m, p]


@inlined
def occupied(counts: Any, slot: int, j: int, first: int, last: int, groups: Any) -> int:
    """List the bins with records, and how many records they and those below have; return how many bins."""
    found, left = 0, 0
    for p in range(first, last + 1):
        size = counts[slot, j, p]
        left += size
        groups[BIN, found] = p
        groups[UP_TO, found] = left
        found += size != 0  # no branch to foretell
    return found


@inlined
def occupied_by_rank(rows: Any, a: int, size: int, j: int, first: int, keys: Any, groups: Any) -> int:
    """List the same for a small node."""
    sort_keys(rows, a, size, j, first, keys)
    found, before = -1, np.int64(-1)
    for p in range(size):
        bin_ = np.int64(keys[SORTED, p]) >> 6  # // SMALL
        found += bin_ != before
        before = bin_
        groups[BIN, found] = bin_ + first
        groups[UP_TO, found] = p + 1
    return found + 1


@inlined
def rate(
    groups: Any, n_groups: int, size: int, j: int, first: int, last: int, edges: Any, tiers: Any, facts: Any, k: int,
    min_share: float, best: float,
) -> tuple[float, int]:  # fmt: skip
    """Return gain and cut of the best cut of a column if it beats ``best``; cut -1 if none does.

    As `list_cuts`, `cell_gain` and `choose` have it, to the last digit.
    """
    start, scale = edges[j, first], 1.0 / (edges[j, last + 1] - edges[j, first])
    missing, form = facts[MISSING, j], facts[FORM, j]
    tier = 0
    if form == 2:  # the smallest node that covers the cell
        tier = tiers[j, last]
        for p in range(first + 1, last):
            tier = min(tier, tiers[j, p])
    elif form == 3:
        tier = tier_within(groups[BIN], n_groups, missing, tiers[j])
    slack = 1e-20 * size * size
    limit = best + (slack + 1e-12 * abs(best)) if best > -np.inf else -np.inf
    surely = limit * (1.0 - 1e-9)
    chosen = -1
    if form == 0 and groups[BIN, n_groups - 1] != missing:
        # A first look at all cuts at once: on most columns there is none better.
        better, upper, total, wide = 0, 1.0 - min_share, float(size), size - k
        for g in range(n_groups - 1):
            left = groups[UP_TO, g]
            share = (edges[j, np.uint64((groups[BIN, g] + groups[BIN, g + 1] + 1) >> 1)] - start) * scale
            gap = left - share * total
            kept = (left >= k) & (left <= wide) & (min_share <= share) & (share <= upper)
            better += kept & (not gap * gap < surely * (share * (1.0 - share)))
        if better == 0:
            return best, -1
    for g in range(n_groups - 1):
        left = groups[UP_TO, g]
        if left < k:
            continue
        if size - left < k:
            break
        low, high = groups[BIN, g] + 1, groups[BIN, g + 1]
        cut = (low + high) >> 1
        if high == missing:
            cut = high
        elif form != 0:
            cut = cut_in_gap(low, high, missing, form, tier, j, tiers, edges)
            if cut < 0:
                continue
        share = (edges[j, cut] - start) * scale
        if not min_share <= share <= 1.0 - min_share and cut != missing and form != 3:
            continue
        gap = left - share * size
        across = share * (1.0 - share)
        if gap * gap < surely * across:  # saves the division
            continue
        gain = gap * gap / across
        if gain <= limit:
            continue
        best, chosen = gain, cut
        limit = best + (slack + 1e-12 * abs(best))
        surely = limit * (1.0 - 1e-9)
    return best, chosen


@inlined
def counts_pay(size: int, cells: Any, at: int) -> bool:
    """Return whether a node gets a histogram: it is large, or its cell has few bins."""
    if size >= SMALL:
        return True
    width = 0
    for m in range(cells.shape[2]):
        width += cells[at, LAST, m] - cells[at, FIRST, m]
    return bool(width < 6 * size * cells.shape[2])


@jit
def grow_by_cell(
    rows: Any, words: Any, ids: Any, n_roots: int, hand_over: int, k: int, min_share: float, max_depth: int,
    edges: Any, tiers: Any, facts: Any, keys: Any, counts: Any, free: Any, groups: Any, nodes: Any, stack: Any,
    cells: Any, spare: Any, spare_ids: Any,
) -> int:  # fmt: skip
    """Grow trees as `growth_kernels.grow` does.

    ``counts`` has one histogram more than there are places in ``free``, for nodes that found no room.
    """
    d, slots, n_free = cells.shape[2], free.size, free.size
    top, n_nodes = n_roots, 0
    while top > 0:
        top -= 1
        a, b, level, slot = stack[top, FROM], stack[top, TO], stack[top, LEVEL], stack[top, SLOT]
        node, size = n_nodes, b - a
        n_nodes += 1
        open_node(nodes, node, stack, top)
        if size < 2 * k or level >= max_depth or size <= hand_over:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            if size < 2 * k or level >= max_depth:
                continue
            nodes[node, CRITERION] = PENDING
            continue
        if slot < 0 and counts_pay(size, cells, top):
            slot = slots
            if n_free > 0:
                n_free -= 1
                slot = free[n_free]
            count_rows(rows, a, b, cells, top, counts, slot)
        best, column, cut = -np.inf, -1, -1
        for j in range(d):
            low, high = cells[top, FIRST, j], cells[top, LAST, j]
            if low == high:
                continue
            if slot >= 0:
                n_groups = occupied(counts, slot, j, low, high, groups)
            else:
                n_groups = occupied_by_rank(rows, a, size, j, low, keys, groups)
            found, at = rate(groups, n_groups, size, j, low, high, edges, tiers, facts, k, min_share, best)
            if at >= 0:
                best, column, cut = found, j, at
        if column < 0:
            if 0 <= slot < slots:
                free[n_free] = slot
                n_free += 1
            continue
        nodes[node, COLUMN], nodes[node, CUT], nodes[node, CRITERION] = column, cut, CELL
        middle = part(rows, words, ids, a, b, column, cut, spare, spare_ids)
        left = top + 1
        push_sides(stack, cells, top, node, column, cut, middle)
        if 0 <= slot < slots:
            larger = top if b - middle > middle - a else left
            smaller = top + left - larger
            start, stop = stack[smaller, FROM], stack[smaller, TO]
            more = size - (stop - start)
            if more < 2 * k or not counts_pay(more, cells, larger):
                free[n_free] = slot
                n_free += 1
            else:
                stack[larger, SLOT] = slot
                if stop - start >= 2 * k and n_free > 0 and counts_pay(stop - start, cells, smaller):
                    n_free -= 1
                    other = free[n_free]
                    stack[smaller, SLOT] = other
                    count_rows(rows, start, stop, cells, smaller, counts, other)
                    take_away(counts, slot, other, cells, larger, column)
                else:
                    add_rows(rows, start, stop, -1, counts, slot)
        top += 2
    return n_nodes
