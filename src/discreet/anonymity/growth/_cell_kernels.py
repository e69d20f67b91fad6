"""Growth by the cell criterion without sensitive values: the counts of the bins suffice.

It grows the same tree as `growth_kernels.grow`, several times faster. Rows move in whole words. When a node is split,
the rows of the smaller side are counted and subtracted. The gain is computed only where it may be the best so far.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import SMALL, SORTED, make_keys, sort_keys
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
    add_node,
    copy_cell,
    leave_to_others,
    part,
    push,
)
from discreet.anonymity.growth.search_kernels import cut_in_gap
from discreet.core import jit

#: The occupied bins of a column: the bin, and how many records it and those below have.
BIN, UP_TO = 0, 1
#: The most columns times bins this way of counting is good for, and the most counters of all nodes that wait together.
MOST_COUNTERS, ALL_COUNTERS = 1 << 18, 1 << 20


@jit
def pack(columns: Any, rows: Any, at: int) -> None:  # pragma: no cover
    """Write columns row by row, from the place ``at`` of every row on."""
    d, n = columns.shape
    for i in range(n):
        for m in range(d):
            rows[i, at + m] = columns[m, i]


@jit
def add_rows(rows: Any, a: int, b: int, by: int, counts: Any, slot: int) -> None:  # pragma: no cover
    """Add ``by`` for every row to the counters of its bins."""
    for i in range(a, b):
        for m in range(counts.shape[1]):
            counts[slot, m, rows[i, m]] += by


@jit
def count_rows(rows: Any, a: int, b: int, cells: Any, at: int, counts: Any, slot: int) -> None:  # pragma: no cover
    """Count the rows of a cell."""
    for m in range(counts.shape[1]):
        for p in range(cells[at, FIRST, m], cells[at, LAST, m] + 1):
            counts[slot, m, p] = 0
    add_rows(rows, a, b, 1, counts, slot)


@jit
def take_away(counts: Any, slot: int, fewer: int, cells: Any, at: int, but: int) -> None:  # pragma: no cover
    """Subtract counters over a cell. In the column of the cut, ``but``, the cell has its bins to itself."""
    for m in range(counts.shape[1]):
        if m != but:
            for p in range(cells[at, FIRST, m], cells[at, LAST, m] + 1):
                counts[slot, m, p] -= counts[fewer, m, p]


@jit
def occupied(counts: Any, slot: int, j: int, first: int, last: int, groups: Any) -> int:  # pragma: no cover
    """List the bins with records, and how many records they and those below have; return how many bins."""
    found, left = 0, 0
    for p in range(first, last + 1):
        size = counts[slot, j, p]
        left += size
        groups[BIN, found] = p
        groups[UP_TO, found] = left
        found += size != 0  # no branch to foretell
    return found


@jit
def occupied_by_rank(
    rows: Any, a: int, size: int, j: int, first: int, keys: Any, groups: Any
) -> int:  # pragma: no cover
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


@jit
def rate(
    groups: Any,
    n_groups: int,
    size: int,
    j: int,
    first: int,
    last: int,
    edges: Any,
    space: Any,
    k: int,
    min_share: float,
    best: float,
) -> tuple[float, int]:  # pragma: no cover
    """Return gain and cut of the best cut of a column if it beats ``best``; cut -1 if none does.

    As `list_cuts`, `cell_gain` and `choose` have it, to the last digit.
    """
    start, scale = edges[j, first], 1.0 / (edges[j, last + 1] - edges[j, first])
    missing, form = space.missing[j], space.form[j]
    tier = 0
    if form == 2:  # the smallest node that covers the cell
        tier = space.tiers[j, last]
        for p in range(first + 1, last):
            tier = min(tier, space.tiers[j, p])
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
            cut = cut_in_gap(low, high, missing, form, tier, space.tiers[j], edges[j])
            if cut < 0:
                continue
        share = (edges[j, cut] - start) * scale
        if not min_share <= share <= 1.0 - min_share and cut != missing:
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


@jit
def counts_pay(size: int, cells: Any, at: int) -> bool:  # pragma: no cover
    """Return whether a node gets a histogram: it is large, or its cell has few bins."""
    if size >= SMALL:
        return True
    width = 0
    for m in range(cells.shape[2]):
        width += cells[at, LAST, m] - cells[at, FIRST, m]
    return bool(width < 6 * size * cells.shape[2])


@jit
def grow_by_cell(
    rows: Any,
    words: Any,
    ids: Any,
    first: Any,
    last: Any,
    depth: int,
    space: Any,
    k: int,
    min_share: float,
    max_depth: int,
    hand_over: int,
) -> tuple[Any, Any]:  # pragma: no cover
    """Grow a tree on the rows given, whose cell is ``first .. last``; ``words`` is the same memory as ``rows``.

    Returns what `growth_kernels.grow` does.
    """
    n, d, n_bins = rows.shape[0], first.size, space.places.shape[1]
    nodes = np.empty((2 * (n // k) + 1, 7), np.int64)
    deep = min(max_depth - depth, n // k) + 2
    stack = np.empty((deep, 5), np.int64)
    cells = np.empty((deep, 2, d), np.int64)  # cells on the stack
    pending = np.empty((64, 2, d), np.int64)
    spare, spare_ids = np.empty_like(words), np.empty_like(ids)
    slots = max(2, min(deep, ALL_COUNTERS // (d * n_bins)))
    # One histogram more, for nodes that found no room.
    counts = np.empty((slots + 1, d, n_bins), np.int32)
    free = np.arange(slots)
    n_free = slots
    groups = np.empty((2, max(n_bins, SMALL) + 1), np.int64)
    short = make_keys(np.empty((3, SMALL), np.uint16), 2**16 - 1)
    long = make_keys(np.empty((3, SMALL), np.uint32), 2**32 - 1)
    push(stack, 0, 0, n, depth, -1)
    for m in range(d):
        cells[0, FIRST, m], cells[0, LAST, m] = first[m], last[m]
    top, n_nodes, n_pending = 1, 0, 0
    while top > 0:
        top -= 1
        a, b, level, slot = stack[top, FROM], stack[top, TO], stack[top, LEVEL], stack[top, SLOT]
        node, size = n_nodes, b - a
        n_nodes += 1
        add_node(nodes, node, stack, top)
        if size < 2 * k or level >= max_depth or size <= hand_over:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            if size < 2 * k or level >= max_depth:
                continue
            nodes[node, CRITERION] = PENDING
            pending = leave_to_others(cells, top, pending, n_pending)
            n_pending += 1
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
            elif high - low < 1 << 10:
                n_groups = occupied_by_rank(rows, a, size, j, low, short, groups)
            else:
                n_groups = occupied_by_rank(rows, a, size, j, low, long, groups)
            found, at = rate(groups, n_groups, size, j, low, high, space.edges, space, k, min_share, best)
            if at >= 0:
                best, column, cut = found, j, at
        if column < 0:
            if 0 <= slot < slots:
                free[n_free] = slot
                n_free += 1
            continue
        nodes[node, COLUMN], nodes[node, CUT], nodes[node, CRITERION] = column, cut, CELL
        middle = part(rows, words, ids, a, b, column, cut, spare, spare_ids)
        copy_cell(cells, top, cells, top + 1)
        # The left side is taken from the stack before the right one.
        left = top + 1
        push(stack, top, middle, b, level + 1, node)
        push(stack, left, a, middle, level + 1, -1)
        cells[top, FIRST, column] = cut
        cells[left, LAST, column] = cut - 1
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
    return nodes[:n_nodes], pending[:n_pending]
