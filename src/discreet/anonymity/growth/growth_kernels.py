"""The kernel of growth: an explicit stack, one search per node, and the rows of a node parted in place.

Kernels take arrays and numbers: tuples of arrays take many times as long to compile. What is None is not compiled.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import (
    CUT_LEFT,
    GAIN,
    SHARE,
    SHORT,
    TIE,
    TURN,
    count_block,
    groups_by_count,
    groups_of_keys,
    sort_keys,
    sorts,
    sum_to_cuts,
)
from discreet.anonymity.growth._rule_kernels import choose, put_in_order
from discreet.anonymity.growth.criteria import CELL, FACTOR, MONDRIAN, SPREAD, WIDTH, label_gains, square_gains
from discreet.anonymity.growth.search_kernels import describe, list_cuts, tally_node, widest_first
from discreet.core import inlined, jit

#: Stand for the criterion of a node that is not cut, and of one that another call goes on with.
LEAF, PENDING = 254, 255
#: The table of nodes: where a node is cut and by which criterion, its right child (the left one is the next node), its
#: rows, and how many cuts are above it.
COLUMN, CUT, RIGHT, CRITERION, BEGIN, END, DEPTH = 0, 1, 2, 3, 4, 5, 6
#: The stack of nodes to come: rows, depth, and the node whose right child it is (or -1).
FROM, TO, LEVEL, ABOVE = 0, 1, 2, 3
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


@jit
def grow(
    rows: Any, words: Any, ids: Any, n_roots: int, hand_over: int, criterion: int, k: int, min_share: float,
    max_depth: int, n_sensitive: int, edges: Any, places: Any, tiers: Any, facts: Any, axes: Any, units: Any,
    rule: Any, offset: Any, t_kind: Any, share: Any, tree: Any, heights: Any, target: Any, worth: Any, counts: Any,
    sums: Any, packed: Any, up_to: Any, keys: Any, held: Any, rated: Any, node_facts: Any, order: Any, values: Any,
    tally: Any, classes: Any, nodes: Any, stack: Any, cells: Any, spare: Any, spare_ids: Any,
) -> int:  # fmt: skip
    """Grow trees on the nodes of the stack, the last one first; return how many nodes there are then.

    ``words`` is the memory of ``rows``. Nodes of at most ``hand_over`` rows are left to other calls. Nodes are numbered
    depth first, left first, so equal inputs give equal trees.
    """
    top, n_nodes, d, block = n_roots, 0, cells.shape[2], 1 if criterion == MONDRIAN else counts.shape[0]
    while top > 0:
        top -= 1
        a, b, level, node = stack[top, FROM], stack[top, TO], stack[top, LEVEL], n_nodes
        size = b - a
        n_nodes += 1
        open_node(nodes, node, stack, top)
        if size < 2 * k or level >= max_depth:
            continue
        if size <= hand_over:
            nodes[node, CRITERION] = PENDING
            continue
        if criterion != CELL:
            describe(rows, words, a, b, places, units, sums, up_to, node_facts)
        tally_node(rows, ids, a, b, d, n_sensitive, target, tally, classes)
        for j in range(d):
            node_facts[TURN, j] = j
        if units is not None:
            widest_first(places, units, node_facts)
        best, tie, column, cut = -np.inf, -np.inf, -1, -1
        in_order, short = sorts(size, cells, top), size < SHORT
        for p in range(d):
            j = node_facts[TURN, p]
            first, last, at = cells[top, FIRST, j], cells[top, LAST, j], p % block
            if not in_order and at == 0:
                count_block(
                    rows, words, a, b, j, min(d, j + block), cells, top, places, node_facts, counts, sums, packed
                )
            if first == last:
                continue
            if in_order:
                sort_keys(rows, a, size, j, first, keys)
                n_groups = groups_of_keys(rows, words, a, size, first, places, keys, order, sums, up_to, held)
            else:
                n_groups = groups_by_count(at, first, last, short, counts, sums, packed, up_to, held)
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
        if column >= 0:
            nodes[node, COLUMN], nodes[node, CUT], nodes[node, CRITERION] = column, cut, criterion
            middle = part(rows, words, ids, a, b, column, cut, spare, spare_ids)
            push_sides(stack, cells, top, node, column, cut, middle)
            top += 2
    return n_nodes
