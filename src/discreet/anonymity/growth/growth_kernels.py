"""The kernel of growth: an explicit stack, one search a node, and the rows of a node parted in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.anonymity.growth.criteria import (
    CELL,
    FACTOR,
    LABEL,
    MIXTURE,
    MONDRIAN,
    SPREAD,
    TIGHT,
    WIDTH,
    cell_gain,
    factor_gains,
    label_gains,
    spread_gains,
    takes_cell,
    tight_gains,
    width_gain,
)
from discreet.anonymity.growth.search_kernels import (
    SMALL,
    choose,
    count_block,
    describe,
    groups_by_count,
    groups_by_sorting,
    list_cuts,
    make_scratch,
    sum_squares,
    widest_first,
)
from discreet.core.jit import jit

#: Stand for the criterion of a node that is not cut, and of one that another call goes on with.
LEAF, PENDING = 254, 255


@jit
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
    size, d = b - a, rows.shape[1]
    criterion = settings.criterion
    whole, turn = work.whole, work.whole[4]
    block = 1 if criterion == MONDRIAN else work.counts.shape[0]
    work.best[:] = -np.inf
    work.picks[:] = -1
    if criterion != CELL or work.sensitive.shape[1] > 0:
        describe(rows, ids, a, b, space.places, labels, work)
    if criterion == MIXTURE:
        sum_squares(rows, a, b, space.places, space.units, work)
    for j in range(d):
        turn[j] = j
    if criterion == MONDRIAN:
        widest_first(whole, space.places, space.units)
    for p in range(d):
        j = turn[p]
        if size >= SMALL and p % block == 0:
            count_block(rows, a, b, j, min(d, j + block), first, last, space.places, work)
        if first[j] == last[j]:
            continue
        if size < SMALL:
            n_groups = groups_by_sorting(rows, a, b, j, space.places, work)
        else:
            n_groups = groups_by_count(rows, a, b, j, p % block, first[j], last[j], work)
        n_cuts = list_cuts(n_groups, size, j, first[j], last[j], space, limits.k, settings.min_share, work)
        left, group = work.cuts[1, :n_cuts], work.cuts[2, :n_cuts]
        share, gains = work.rates[0, :n_cuts], work.rates[1, :n_cuts]
        slack = 1e-20 * size * size  # of gains that are all but 0
        for role in range(2 if criterion == MIXTURE else 1):
            if criterion == CELL or role == 1:
                for c in range(n_cuts):
                    gains[c] = cell_gain(size, left[c], share[c])
            elif criterion == WIDTH:
                width = space.edges[j, last[j] + 1] - space.edges[j, first[j]]
                for c in range(n_cuts):
                    gains[c] = width_gain(size, left[c], share[c], width)
            elif criterion == TIGHT:
                tight_gains(group, left, size, n_groups, work.boxes, whole[1:3], space.places, space.steps, gains)
            elif criterion == MONDRIAN:
                for c in range(n_cuts):
                    gains[c] = -abs(2 * left[c] - size)
            elif criterion in (FACTOR, LABEL):
                factor_gains(group, left, size, work.group_sums, space.axes, whole[0], gains)
            else:
                spread_gains(group, left, size, work.group_sums, space.units, whole[0], gains)
            if criterion == FACTOR:
                slack = 1e-20
            elif criterion == LABEL:
                slack = 1e-10 * size * labels.worth[0]
                for c in range(n_cuts):
                    work.rates[2, c] = gains[c]
                label_gains(left, size, work.order, ids, labels.target, work.classes, gains)
                for c in range(n_cuts):
                    gains[c] = labels.worth[0] * gains[c] + labels.worth[1] * work.rates[2, c]
            choose(n_cuts, size, j, slack, role, ids, limits, labels.sensitive, work)
        if criterion == MONDRIAN and work.picks[0, 0] >= 0:
            break  # the widest column that can be cut
    if criterion == MIXTURE:
        by_cell = work.picks[1, 0] >= 0 and takes_cell(work.best[0, 0], work.squares)
        role = 1 if by_cell else 0
        return work.picks[role, 0], work.picks[role, 1], CELL if by_cell else SPREAD
    return work.picks[0, 0], work.picks[0, 1], criterion


@jit
def part(
    rows: Any, ids: Any, a: int, b: int, j: int, cut: int, spare_rows: Any, spare_ids: Any
) -> int:  # pragma: no cover
    """Move the rows below the cut to the front, all in their order; return where the others begin."""
    d = rows.shape[1]
    front, back = a, 0
    for i in range(a, b):
        if rows[i, j] < cut:
            for m in range(d):
                rows[front, m] = rows[i, m]
            ids[front] = ids[i]
            front += 1
        else:
            for m in range(d):
                spare_rows[back, m] = rows[i, m]
            spare_ids[back] = ids[i]
            back += 1
    for i in range(back):
        for m in range(d):
            rows[front + i, m] = spare_rows[i, m]
        ids[front + i] = spare_ids[i]
    return front


@jit
def copy_cell(source: Any, target: Any) -> None:  # pragma: no cover
    """Copy first and last bins. (Assigning slices would do, but takes seconds to compile.)"""
    for m in range(source.shape[1]):
        target[0, m] = source[0, m]
        target[1, m] = source[1, m]


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
    """Grow a tree on the rows given, whose cell is ``first .. last``.

    Returns the table of nodes (column, cut, right child, criterion, begin, end, depth; the left child of node i is
    i + 1), and the cells of the nodes left to other calls: those of at most ``hand_over`` rows. Nodes are numbered
    depth first, left first, so equal inputs give equal trees.
    """
    n, d = rows.shape
    k = limits.k
    nodes = np.empty((2 * (n // k) + 1, 7), np.int64)
    deep = min(settings.max_depth - depth, n // k) + 2
    stack = np.empty((deep, 4), np.int64)
    cells = np.empty((deep, 2, d), np.int64)
    pending = np.empty((64, 2, d), np.int64)
    spare_rows, spare_ids = np.empty_like(rows), np.empty_like(ids)
    values = limits.share.size if limits.l_on or limits.t_on else 0
    work = make_scratch(n, space.places.shape[1], d, values, labels.n_classes, settings.criterion)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, depth, -1
    for m in range(d):
        cells[0, 0, m], cells[0, 1, m] = first[m], last[m]
    top, n_nodes, n_pending = 1, 0, 0
    cell = np.empty((2, d), np.int64)
    while top > 0:
        top -= 1
        a, b, level, above = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        copy_cell(cells[top], cell)
        node = n_nodes
        n_nodes += 1
        if above >= 0:
            nodes[above, 2] = node
        nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3] = -1, -1, -1, LEAF
        nodes[node, 4], nodes[node, 5], nodes[node, 6] = a, b, level
        if b - a < 2 * k or level >= settings.max_depth:
            continue
        if b - a <= hand_over:
            nodes[node, 3] = PENDING
            if n_pending == len(pending):
                more = np.empty((2 * n_pending, 2, d), np.int64)
                for p in range(n_pending):
                    copy_cell(pending[p], more[p])
                pending = more
            copy_cell(cell, pending[n_pending])
            n_pending += 1
            continue
        j, cut, criterion = best_cut(rows, ids, a, b, cell[0], cell[1], space, limits, labels, settings, work)
        if j < 0:
            continue
        nodes[node, 0], nodes[node, 1], nodes[node, 3] = j, cut, criterion
        middle = part(rows, ids, a, b, j, cut, spare_rows, spare_ids)
        for side in range(2):  # right first: the left one is taken from the stack before it
            here = top + side
            stack[here, 0] = a if side else middle
            stack[here, 1] = middle if side else b
            stack[here, 2] = level + 1
            stack[here, 3] = -1 if side else node
            copy_cell(cell, cells[here])
        cells[top, 0, j] = cut
        cells[top + 1, 1, j] = cut - 1
        top += 2
    return nodes[:n_nodes], pending[:n_pending]
