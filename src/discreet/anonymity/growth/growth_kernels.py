"""The kernel of growth: an explicit stack, one search per node, and the rows of a node parted in place."""

from typing import Any

import numpy as np

from discreet.anonymity.growth._choice_kernels import choose, put_in_order
from discreet.anonymity.growth.criteria import (
    CELL,
    FACTOR,
    LABEL,
    MONDRIAN,
    WIDTH,
    cell_gain,
    factor_gains,
    label_gains,
    spread_gains,
    width_gain,
)
from discreet.anonymity.growth.search_kernels import (
    describe,
    find_cuts,
    make_scratch,
    widest_first,
)
from discreet.core import inlined, jit

#: Stand for the criterion of a node that is not cut, and of one that another call goes on with.
LEAF, PENDING = 254, 255
#: The table of nodes: where a node is cut and by which criterion, its right child (the left one is the next node), its
#: rows, and how many cuts are above it.
COLUMN, CUT, RIGHT, CRITERION, BEGIN, END, DEPTH = 0, 1, 2, 3, 4, 5, 6
#: The stack of nodes to come: rows, depth, the node whose right child it is (or -1), and a place for counts (or -1).
FROM, TO, LEVEL, ABOVE, SLOT = 0, 1, 2, 3, 4
#: A cell: its first and last bins.
FIRST, LAST = 0, 1


@inlined
def best_cut(
    rows: Any,
    ids: Any,
    a: int,
    b: int,
    first: Any,
    last: Any,
    space: Any,
    limits: Any,
    labels: Any,
    settings: Any,
    work: Any,
) -> tuple[int, int, int]:  # pragma: no cover
    """Return column, cut and criterion of the best cut of the rows ``a .. b - 1``; column -1 if there is none."""
    size, d = b - a, first.size
    criterion, turn = settings.criterion, work.turn
    block = 1 if criterion == MONDRIAN else work.counts.shape[0]
    work.best_gain[:] = -np.inf
    work.best_place[:] = -1
    if criterion != CELL or work.sensitive.shape[1] > 0:
        describe(rows, ids, a, b, space.places, labels, work)
    for j in range(d):
        turn[j] = j
    if criterion == MONDRIAN:
        widest_first(space.places, space.units, work)
    for p in range(d):
        j = turn[p]
        n_groups, n_cuts = find_cuts(rows, a, b, j, p % block, first, last, space, limits.k, settings.min_share, work)
        left, share, gains = work.cut_left[:n_cuts], work.cut_share[:n_cuts], work.gains[:n_cuts]
        slack = 1e-20 * size * size  # of gains that are all but 0
        if criterion == CELL:
            for c in range(n_cuts):
                gains[c] = cell_gain(size, left[c], share[c])
        elif criterion == WIDTH:
            width = space.edges[j, last[j] + 1] - space.edges[j, first[j]]
            for c in range(n_cuts):
                gains[c] = width_gain(size, left[c], share[c], width)
        elif criterion == MONDRIAN:
            for c in range(n_cuts):
                gains[c] = -abs(2 * left[c] - size)
        elif criterion in (FACTOR, LABEL):
            factor_gains(left, size, work.cut_sums, space.axes, work.total, gains)
        else:
            spread_gains(left, size, work.cut_sums, space.units, work.total, gains)
        if criterion == FACTOR:
            slack = 1e-20
        elif criterion == LABEL:
            slack = 1e-10 * size * labels.worth[0]
            for c in range(n_cuts):
                work.ties[c] = gains[c]
            put_in_order(rows, a, b, j, n_groups, work)
            label_gains(left, size, work.order, ids, labels.target, work.classes, gains)
            for c in range(n_cuts):
                gains[c] = labels.worth[0] * gains[c] + labels.worth[1] * work.ties[c]
        choose(rows, a, b, j, n_groups, n_cuts, slack, limits, labels, work)
        if criterion == MONDRIAN and work.best_place[0, 0] >= 0:
            break  # the widest column that can be cut
    return work.best_place[0, 0], work.best_place[0, 1], criterion


@jit
def part(
    rows: Any, words: Any, ids: Any, a: int, b: int, j: int, cut: int, spare: Any, spare_ids: Any
) -> int:  # pragma: no cover
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


@jit
def copy_cell(source: Any, at: int, target: Any, to: int) -> None:  # pragma: no cover
    """Copy first and last bins. (Assigning slices would do, but takes seconds to compile.)"""
    for m in range(source.shape[2]):
        target[to, FIRST, m] = source[at, FIRST, m]
        target[to, LAST, m] = source[at, LAST, m]


@jit
def push(stack: Any, at: int, begin: int, end: int, level: int, above: int) -> None:  # pragma: no cover
    """Put rows on the stack, to become a node."""
    stack[at, FROM], stack[at, TO], stack[at, LEVEL], stack[at, ABOVE], stack[at, SLOT] = begin, end, level, above, -1


@jit
def add_node(nodes: Any, node: int, stack: Any, top: int) -> None:  # pragma: no cover
    """Write the top of the stack as a node that is not split."""
    if stack[top, ABOVE] >= 0:
        nodes[stack[top, ABOVE], RIGHT] = node
    nodes[node, COLUMN], nodes[node, CUT], nodes[node, RIGHT], nodes[node, CRITERION] = -1, -1, -1, LEAF
    nodes[node, BEGIN], nodes[node, END], nodes[node, DEPTH] = stack[top, FROM], stack[top, TO], stack[top, LEVEL]


@jit
def leave_to_others(cells: Any, at: int, pending: Any, n_pending: int) -> Any:  # pragma: no cover
    """Keep the cell of a node that another call continues; return the table of these cells, larger if it was full."""
    if n_pending == len(pending):
        more = np.empty((2 * n_pending, 2, pending.shape[2]), np.int64)
        for p in range(n_pending):
            copy_cell(pending, p, more, p)
        pending = more
    copy_cell(cells, at, pending, n_pending)
    return pending


@jit
def grow(
    rows: Any,
    ids: Any,
    first: Any,
    last: Any,
    depth: int,
    space: Any,
    limits: Any,
    labels: Any,
    settings: Any,
    hand_over: int,
) -> tuple[Any, Any]:  # pragma: no cover
    """Grow a tree on the rows given, in whole words, whose cell is ``first .. last``.

    Returns the table of nodes (see `COLUMN`), and the cells of the nodes left to other calls: those of at most
    ``hand_over`` rows. Nodes are numbered depth first, left first, so equal inputs give equal trees.
    """
    n, d, words = len(rows), first.size, rows.view(np.uint64)
    k = limits.k
    nodes = np.empty((2 * (n // k) + 1, 7), np.int64)
    deep = min(settings.max_depth - depth, n // k) + 2
    stack = np.empty((deep, 5), np.int64)
    cells = np.empty((deep, 2, d), np.int64)  # cells on the stack
    pending = np.empty((64, 2, d), np.int64)
    spare, spare_ids = np.empty_like(words), np.empty_like(ids)
    values = limits.share.size if limits.l_on or limits.t_on else 0
    width = words.shape[1] if space.even and rows.itemsize == 1 else 0
    work = make_scratch(n, space.places.shape[1], d, values, labels.n_classes, settings.criterion, width)
    push(stack, 0, 0, n, depth, -1)
    for m in range(d):
        cells[0, FIRST, m], cells[0, LAST, m] = first[m], last[m]
    top, n_nodes, n_pending = 1, 0, 0
    while top > 0:
        top -= 1
        a, b, level = stack[top, FROM], stack[top, TO], stack[top, LEVEL]
        node = n_nodes
        n_nodes += 1
        add_node(nodes, node, stack, top)
        if b - a < 2 * k or level >= settings.max_depth:
            continue
        if b - a <= hand_over:
            nodes[node, CRITERION] = PENDING
            pending = leave_to_others(cells, top, pending, n_pending)
            n_pending += 1
            continue
        low, high = cells[top, FIRST], cells[top, LAST]
        j, cut, criterion = best_cut(rows, ids, a, b, low, high, space, limits, labels, settings, work)
        if j < 0:
            continue
        nodes[node, COLUMN], nodes[node, CUT], nodes[node, CRITERION] = j, cut, criterion
        middle = part(rows, words, ids, a, b, j, cut, spare, spare_ids)
        # Right first: the left one is taken from the stack before it.
        push(stack, top, middle, b, level + 1, node)
        push(stack, top + 1, a, middle, level + 1, -1)
        copy_cell(cells, top, cells, top + 1)
        cells[top, FIRST, j] = cut
        cells[top + 1, LAST, j] = cut - 1
        top += 2
    return nodes[:n_nodes], pending[:n_pending]
