"""The search for the best split without kernels: for small tables, and for nodes whose rows are outside memory.

It finds what `growth_kernels.grow` finds, to the last digit. Nothing has to be compiled, so a small table is grown
before the kernels would be ready.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.anonymity.growth.criteria import CELL, FACTOR, LABEL, MONDRIAN, SPREAD, WIDTH, cell_gain
from discreet.anonymity.growth.grid import Bins
from discreet.anonymity.growth.growth_kernels import COLUMN, CRITERION, CUT, LEAF, RIGHT
from discreet.anonymity.growth.search_kernels import MOST_TIERS, GridSpace, Labels, cut_in_gap
from discreet.anonymity.risk.distances import Limits, is_ok
from discreet.core import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from discreet.anonymity.growth.grow import Grower


class Groups(NamedTuple):
    """The occupied bins of a column of a node, from low to high; all counts include the bins below."""

    bins: IntArray
    size: IntArray
    #: Sums of the places of all columns, columns by bins; without columns if the criterion needs none.
    sums: IntArray
    #: Returns the counts of sensitive values, bins by values.
    values: Callable[[], AnyArray]


def best_split(grower: Grower, first: IntArray, last: IntArray, groups: Callable[[int], Groups]) -> tuple[int, int]:
    """Return column and cut of the best split of a node with the cell ``first .. last``; column -1 if there is none."""
    space, limits, criterion = grower.space, grower.limits, grower.settings.criterion
    turn = list(range(len(first)))
    found = [groups(j) for j in turn]
    size = int(found[0].size[-1])
    if criterion == MONDRIAN:
        ends = [space.places[j, own.bins[[0, -1]]] for j, own in enumerate(found)]
        turn = _widest_first([(high - low) * unit for (low, high), unit in zip(ends, space.units, strict=True)])
    best, column, split = -np.inf, -1, -1
    slack = 1e-20 if criterion == FACTOR else 1e-20 * size * size
    for j in turn:
        own = found[j]
        at, cuts, share = _cuts(own, size, grower, j, int(first[j]), int(last[j]))
        if not len(at):
            continue
        width = space.edges[j, last[j] + 1] - space.edges[j, first[j]]
        gains = _gains(criterion, size, own, at, share, width, space)
        good = None
        # Differences by rounding only count as equal.
        limit = best + (slack + 1e-12 * abs(best)) if best > -np.inf else best
        for c in np.flatnonzero(gains > limit).tolist():
            if gains[c] <= limit:
                continue
            if good is None and (limits.l_on or limits.t_on):
                good = _sides_ok(own, at, limits)
            if good is None or good[c]:
                best, column, split = float(gains[c]), j, int(cuts[c])
                limit = best + (slack + 1e-12 * abs(best))
        if criterion == MONDRIAN and column >= 0:
            break  # the widest column that can be cut
    return column, split


def _widest_first(spread: list[float]) -> list[int]:
    """Return the columns by spread, falling; equal ones stay in order."""
    turn: list[int] = []
    for j, own in enumerate(spread):
        p = j
        while p > 0 and spread[turn[p - 1]] < own * (1.0 - 1e-12):
            p -= 1
        turn.insert(p, j)
    return turn


def _cuts(
    own: Groups, size: int, grower: Grower, j: int, first: int, last: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the cuts with k records on both sides and no sliver: the group before each, its bin, its share."""
    space, k, min_share = grower.space, grower.limits.k, grower.settings.min_share
    edges, missing, form = space.edges[j], int(space.missing[j]), int(space.form[j])
    at = np.flatnonzero((own.size[:-1] >= k) & (size - own.size[:-1] >= k))
    low, high = own.bins[at] + 1, own.bins[at + 1]
    if form == 0:
        cuts = np.where(high == missing, high, (low + high) >> 1)
    else:
        tiers = space.tiers[j]
        tier = int(tiers[first + 1 : last + 1].min(initial=tiers[last]))  # the smallest node that covers the cell
        if form == 3:
            there = own.bins[own.bins != missing]
            tier = int(tiers[there[0] + 1 : there[-1] + 1].min(initial=MOST_TIERS)) if len(there) else 0
        gap = getattr(cut_in_gap, "py_func", cut_in_gap)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        cuts = np.array([gap(a, b, missing, form, tier, j, space.tiers, space.edges) for a, b in ends], np.int64)
    share = (edges[cuts] - edges[first]) * (1.0 / (edges[last + 1] - edges[first]))
    kept = (cuts >= 0) & ((cuts == missing) | (form == 3) | ((min_share <= share) & (share <= 1.0 - min_share)))
    return at[kept], cuts[kept], share[kept]


def _gains(
    criterion: int, size: int, own: Groups, at: IntArray, share: FloatArray, width: float, space: GridSpace
) -> FloatArray:
    left = own.size[at]
    if criterion == CELL:
        return np.asarray(cell_gain(size, left, share))
    if criterion == WIDTH:
        return np.asarray(width * (left * (1.0 - share) + (size - left) * share))
    if criterion == MONDRIAN:
        return np.asarray(-np.abs(2.0 * left - size))
    gaps = own.sums[:, at] - left * (own.sums[:, -1:] / size)
    along = gaps * space.units[:, None] if criterion == SPREAD else _added(space.axes[:, :, None] * gaps, 1)
    return np.asarray(_added(along * along, 0) * (1.0 / left + 1.0 / (size - left)))


def _added(amounts: FloatArray, axis: int) -> FloatArray:
    """Return a sum, added up one after the other as kernels do."""
    return np.asarray(np.take(np.cumsum(amounts, axis=axis), -1, axis=axis))


def allowed_cuts(
    grower: Grower, rows: AnyArray, labels: Labels, target: IntArray, first: IntArray, last: IntArray
) -> tuple[IntArray, FloatArray]:
    """List column and bin of each split of some rows whose sides keep the rules, by column and from low to high.

    Also returns the gain of each split by the criterion "label", where ``target`` is the class of each row.
    """
    d, size, limits = len(first), len(rows), grower.limits
    bins, sensitive = rows[:, :d].T, rows[:, d : d + labels.n_sensitive].T.astype(np.int64)
    places = np.take_along_axis(grower.space.places, bins.astype(np.int64), axis=1)
    found, alone = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for j in range(d):
        own = _groups(bins, places, sensitive, len(limits.share), np.arange(size), j)
        at, cuts, share = _cuts(own, size, grower, j, int(first[j]), int(last[j]))
        if not len(at):
            continue
        left = own.size[at]
        spread = _gains(LABEL, size, own, at, share, 1.0, grower.space)
        held = _groups(bins, places[:0], target[None], labels.n_classes, np.arange(size), j).values()
        told = -left * np.log(left) - (size - left) * np.log(size - left)
        for side in (held[at], held[-1] - held[at]):
            told = told + (side * np.log(np.maximum(side, 1))).sum(axis=1)
        good = np.ones(len(at), bool)
        if limits.l_on or limits.t_on:
            good = _sides_ok(own, at, limits)
        found.append(np.stack([np.full(len(at), j), cuts], 1)[good])
        alone.append((labels.worth[0] * told + labels.worth[1] * spread)[good])
    return np.concatenate(found), np.concatenate(alone)


def _sides_ok(own: Groups, at: IntArray, limits: Limits) -> BoolArray:
    """Return whether both sides keep the rules, by group before the cut."""
    values, size = own.values(), own.size
    return is_ok(values[at], size[at], limits) & is_ok(values[-1] - values[at], size[-1] - size[at], limits)


def _groups(bins: AnyArray, places: IntArray, codes: IntArray, values: int, ids: IntArray, j: int) -> Groups:
    """Return the groups of some rows in column j; ``codes`` are their sensitive values, 0 to ``values - 1``."""
    rows = ids[np.argsort(bins[j, ids], kind="stable")]
    own = bins[j, rows].astype(np.int64)
    ends = np.append(np.flatnonzero(own[1:] != own[:-1]), len(own) - 1)

    def held() -> AnyArray:
        of = np.searchsorted(ends, np.arange(len(rows)))
        counts = sum(np.bincount(of * values + c[rows], minlength=len(ends) * values) for c in codes)
        return np.cumsum(np.reshape(counts, (len(ends), values)), axis=0)

    return Groups(own[ends], ends + 1, np.cumsum(places[:, rows], axis=1)[:, ends], held)


def grow_plainly(grower: Grower, bins: Bins, sensitive: IntArray) -> tuple[IntArray, IntArray]:
    """Grow a tree; return the table of nodes that `growth_kernels.grow` returns, and the rows leaf by leaf."""
    limits, settings, n = grower.limits, grower.settings, bins.shape[1]
    values = len(limits.share)
    summed = len(bins) if grower.summed else 0
    places = np.take_along_axis(grower.space.places, bins.astype(np.int64), axis=1)[:summed]
    nodes: list[list[int]] = []
    order: list[IntArray] = []
    begin = 0
    stack = [(np.arange(n), grower.low, grower.high, 0, -1)]
    while stack:
        ids, first, last, depth, above = stack.pop()
        node, column, cut = len(nodes), -1, -1
        if above >= 0:
            nodes[above][RIGHT] = node
        nodes.append([-1, -1, -1, LEAF, begin, begin + len(ids), depth])
        if len(ids) >= 2 * limits.k and depth < settings.max_depth:
            groups = partial(_groups, bins, places, sensitive, values, ids)
            column, cut = best_split(grower, first, last, groups)
        if column < 0:
            order.append(ids)
            begin += len(ids)
            continue
        nodes[node][COLUMN], nodes[node][CUT], nodes[node][CRITERION] = column, cut, settings.criterion
        low, high = first.copy(), last.copy()
        low[column], high[column] = cut, cut - 1
        below = bins[column, ids] < cut
        stack += [(ids[~below], low, last, depth + 1, node), (ids[below], first, high, depth + 1, -1)]
    return np.array(nodes, np.int64), np.concatenate(order)
