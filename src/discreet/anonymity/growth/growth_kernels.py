"""The kernel of growth: an explicit stack, one search per node, and the rows of a node parted in place.

Kernels take arrays and numbers: tuples of arrays take many times as long to compile. What is None is not compiled.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import (
    CUT_LEFT,
    GAIN,
    KEPT,
    SHARE,
    SHORT,
    TIE,
    TOTAL,
    TURN,
    count_block,
    groups_by_count,
    groups_of_keys,
    keep_counts,
    sort_keys,
    sorts,
    sum_to_cuts,
    take_counts,
)
from discreet.anonymity.growth._rule_kernels import choose, put_in_order
from discreet.anonymity.growth.criteria import CELL, FACTOR, MONDRIAN, SPREAD, WIDTH, label_gains, square_gains
from discreet.anonymity.growth.search_kernels import NODE, describe, list_cuts, tally_node, widest_first
from discreet.core import inlined, jit

#: Stand for the criterion of a node that is not cut, and of one that another call goes on with.
LEAF, PENDING = 254, 255
#: The table of nodes: where a node is cut and by which criterion, its right child (the left one is the next node), its
#: rows, and how many cuts are above it.
COLUMN, CUT, RIGHT, CRITERION, BEGIN, END, DEPTH = 0, 1, 2, 3, 4, 5, 6
#: The stack of nodes to come: rows, depth, the node whose right child it is (or -1), and the place of its counts (or
#: -1 if they are not kept).
FROM, TO, LEVEL, ABOVE, SLOT = 0, 1, 2, 3, 4
#: A cell: its first and last bins.
FIRST, LAST = 0, 1


@jit
def part(rows: Any, words: Any, ids: Any, a: int, b: int, j: int, cut: int, spare: Any, spare_ids: Any) -> int:
    """Move the rows below the cut to the front, all in their order; return where the others begin.

    Every row is written to both sides and only the place moves on: no branch to foretell.
    """
    width = words.shape[1]
    front, back = a, 0
    if width == 1:
        for i in range(a, b):
            below = int(rows[i, j] < cut)
            word, number = words[i, 0], ids[i]
            words[front, 0], ids[front] = word, number
            spare[back, 0], spare_ids[back] = word, number
            front += below
            back += 1 - below
    elif width == 2:
        for i in range(a, b):
            below = int(rows[i, j] < cut)
            word, second, number = words[i, 0], words[i, 1], ids[i]
            words[front, 0], words[front, 1], ids[front] = word, second, number
            spare[back, 0], spare[back, 1], spare_ids[back] = word, second, number
            front += below
            back += 1 - below
    else:
        for i in range(a, b):
            below = int(rows[i, j] < cut)
            for w in range(width):
                word = words[i, w]
                words[front, w] = word
                spare[back, w] = word
            ids[front] = spare_ids[back] = ids[i]
            front += below
            back += 1 - below
    for i in range(back):
        for w in range(width):
            words[front + i, w] = spare[i, w]
        ids[front + i] = spare_ids[i]
    return front


@inlined
def open_node(nodes: Any, node: int, stack: Any, top: int) -> None:
    if stack[top, ABOVE] >= 0:
        nodes[stack[top, ABOVE], RIGHT] = node
    nodes[node, COLUMN], nodes[node, CUT], nodes[node, RIGHT], nodes[node, CRITERION] = -1, -1, -1, LEAF
    nodes[node, BEGIN], nodes[node, END], nodes[node, DEPTH] = stack[top, FROM], stack[top, TO], stack[top, LEVEL]


@inlined
def push_sides(stack: Any, cells: Any, top: int, node: int, column: int, cut: int, middle: int) -> None:
    """Put both sides of the node at ``top`` on the stack; the left one is taken from it before the right one."""
    level, left = stack[top, LEVEL] + 1, top + 1
    stack[left, FROM], stack[left, TO], stack[left, LEVEL], stack[left, ABOVE] = stack[top, FROM], middle, level, -1
    stack[top, FROM], stack[top, LEVEL], stack[top, ABOVE] = middle, level, node
    stack[left, SLOT] = stack[top, SLOT] = -1
    for m in range(cells.shape[2]):
        cells[left, FIRST, m], cells[left, LAST, m] = cells[top, FIRST, m], cells[top, LAST, m]
    cells[top, FIRST, column] = cut
    cells[left, LAST, column] = cut - 1


@inlined
def rate_cuts(
    criterion: int, n_cuts: int, size: int, width: float, axes: Any, sums: Any, held: Any, rated: Any, node: Any
) -> None:
    if sums is not None:
        square_gains(criterion == SPREAD, n_cuts, size, axes, held, rated, node)
    else:
        for c in range(n_cuts):
            left, share = held[CUT_LEFT, c], rated[SHARE, c]
            if criterion == CELL:
                # δ²/(r_L r_R) with δ = c_L - r_L c. Over N² V_t it is the drop of the error (identities I1 to I3).
                gap = left - share * size
                rated[GAIN, c] = gap * gap / (share * (1.0 - share))
            elif criterion == WIDTH:  # by how much the widths of the records' cells, added up, shrink
                rated[GAIN, c] = width * (left * (1.0 - share) + (size - left) * share)
            else:
                rated[GAIN, c] = -abs(2 * left - size)


@inlined
def recall(cells: Any, top: int, sums: Any, tallies: Any, slot: int, node: Any, tally: Any) -> None:
    """Write down what is to know of a whole node whose counts are kept."""
    if sums is not None:
        for m in range(node.shape[1]):
            node[TOTAL, m] = 0
            for p in range(cells[top, FIRST, 0], cells[top, LAST, 0] + 1):
                node[TOTAL, m] += sums[slot, 0, p, m]
    if tallies is not None:
        for s in range(tallies.shape[1]):
            tally[NODE, s] = tallies[slot, s]


@inlined
def set_free(free: Any, n_free: int, slot: int) -> int:
    """Give the place of a node's counts back, if it has one; return how many are free."""
    if slot >= 0:
        free[n_free] = slot
        n_free += 1
    return n_free


@inlined
def hand_down(
    rows: Any, words: Any, n_sensitive: int, places: Any, stack: Any, cells: Any, top: int, column: int, slot: int,
    free: Any, n_free: int, tallies: Any, counts: Any, sums: Any, packed: Any, node: Any,
) -> int:  # fmt: skip
    """Make the counts of a node those of its larger side, by counting the smaller one; return how many are free."""
    left, right = stack[top + 1, TO] - stack[top + 1, FROM], stack[top, TO] - stack[top, FROM]
    larger = top if right > left else top + 1
    smaller = 2 * top + 1 - larger
    if max(left, right) < KEPT:
        return set_free(free, n_free, slot)
    stack[larger, SLOT], other = slot, free.size
    if min(left, right) >= KEPT and n_free > 0:
        n_free -= 1
        other = stack[smaller, SLOT] = free[n_free]
    keep_counts(
        rows, words, stack[smaller, FROM], stack[smaller, TO], cells, smaller, places, node, n_sensitive,
        counts, sums, other, packed, tallies,
    )  # fmt: skip
    take_counts(cells, larger, column, counts, sums, tallies, slot, other)
    return n_free


@jit
def grow(
    rows: Any, words: Any, ids: Any, n_roots: int, hand_over: int, criterion: int, k: int, min_share: float,
    max_depth: int, n_sensitive: int, edges: Any, places: Any, tiers: Any, facts: Any, axes: Any, units: Any,
    rule: Any, offset: Any, t_kind: Any, share: Any, tree: Any, heights: Any, target: Any, worth: Any,
    free: Any, tallies: Any, counts: Any, sums: Any, packed: Any, up_to: Any, keys: Any, held: Any, rated: Any,
    node_facts: Any, order: Any, values: Any, tally: Any, classes: Any, nodes: Any, stack: Any, cells: Any,
    spare: Any, spare_ids: Any,
) -> int:  # fmt: skip
    """Grow trees on the nodes of the stack, the last one first; return how many nodes there are then.

    ``words`` is the memory of ``rows``. Nodes of at most ``hand_over`` rows are left to other calls. Nodes are numbered
    depth first, left first, so equal inputs give equal trees. ``counts``, ``sums`` and ``tallies`` have a place more
    than ``free``: of a node whose counts are not kept.
    """
    top, n_nodes, d, block = n_roots, 0, cells.shape[2], 1 if criterion == MONDRIAN else counts.shape[1]
    slots, n_free = free.size, free.size
    while top > 0:
        top -= 1
        a, b, level, slot, node = stack[top, FROM], stack[top, TO], stack[top, LEVEL], stack[top, SLOT], n_nodes
        size = b - a
        n_nodes += 1
        open_node(nodes, node, stack, top)
        if size < 2 * k or level >= max_depth or size <= hand_over:
            n_free = set_free(free, n_free, slot)
            nodes[node, CRITERION] = LEAF if size < 2 * k or level >= max_depth else PENDING
            continue
        if slot < 0 and size >= KEPT and n_free > 0:
            n_free -= 1
            slot = free[n_free]
            keep_counts(
                rows, words, a, b, cells, top, places, node_facts, n_sensitive, counts, sums, slot, packed, tallies
            )
        if slot >= 0:
            recall(cells, top, sums, tallies, slot, node_facts, tally)
        else:
            describe(rows, words, a, b, places, units, sums, up_to, node_facts)
            tally_node(rows, ids, a, b, d, n_sensitive, target, tally, classes)
        for j in range(d):
            node_facts[TURN, j] = j
        if units is not None:
            widest_first(places, units, node_facts)
        best, tie, column, cut = -np.inf, -np.inf, -1, -1
        in_order, short = slot < 0 and sorts(size, cells, top), slot < 0 and size < SHORT
        place = slot if slot >= 0 else slots
        for p in range(d):
            j = node_facts[TURN, p]
            first, last, at = cells[top, FIRST, j], cells[top, LAST, j], p % block
            if not in_order and at == 0 and slot < 0:
                count_block(
                    rows, words, a, b, j, min(d, j + block), cells, top, places, node_facts, counts, sums, slots, packed
                )
            if first == last:
                continue
            if in_order:
                sort_keys(rows, a, size, j, first, keys)
                n_groups = groups_of_keys(rows, words, a, size, first, places, keys, order, sums, up_to, held)
            else:
                n_groups = groups_by_count(at, first, last, short, counts, sums, place, packed, up_to, held)
            n_cuts = list_cuts(n_groups, size, j, first, last, edges, tiers, facts, k, min_share, held, rated)
            if sums is not None:
                sum_to_cuts(n_cuts, d, short, up_to, held, rated)
            width = edges[j, last + 1] - edges[j, first]
            rate_cuts(criterion, n_cuts, size, width, axes, sums, held, rated, node_facts)
            slack = 1e-20 if criterion == FACTOR else 1e-20 * size * size  # of gains that are all but 0
            if target is not None:
                slack = 1e-10 * size * worth[0]
                if not in_order:
                    put_in_order(rows, a, b, j, n_groups, held, order)
                for c in range(n_cuts):
                    rated[TIE, c] = rated[GAIN, c]
                label_gains(n_cuts, size, order, ids, target, classes, held, rated)
                for c in range(n_cuts):
                    rated[GAIN, c] = worth[0] * rated[GAIN, c] + worth[1] * rated[TIE, c]
            best, tie, found = choose(
                rows, a, b, j, d, n_sensitive, n_groups, n_cuts, in_order, slack, best, tie, k,
                rule, offset, t_kind, share, tree, heights, held, rated, order, values, tally,
            )  # fmt: skip
            if found >= 0:
                column, cut = j, found
                if criterion == MONDRIAN:
                    break  # the widest column that can be cut
        if column < 0:
            n_free = set_free(free, n_free, slot)
            continue
        nodes[node, COLUMN], nodes[node, CUT], nodes[node, CRITERION] = column, cut, criterion
        middle = part(rows, words, ids, a, b, column, cut, spare, spare_ids)
        push_sides(stack, cells, top, node, column, cut, middle)
        if slot >= 0:
            n_free = hand_down(
                rows, words, n_sensitive, places, stack, cells, top, column, slot,
                free, n_free, tallies, counts, sums, packed, node_facts,
            )  # fmt: skip
        top += 2
    return n_nodes
