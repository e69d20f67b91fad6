"""The search for the best cut of a node.

A large node is searched by histograms over its bins, a small one by sorting its bins; either way a column becomes a
short list of *groups*, the occupied bins from low to high, with one candidate for each gap between them: the grid point
nearest its middle (spec density-trees, 9.1.3 and 9.5.1). The rows of a node lie one behind the other; a row is the bins
of all columns side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth.criteria import SPREAD, TIGHT, WIDTH
from discreet.anonymity.risk.distances import is_ok
from discreet.core.jit import jit

#: Nodes below this size are sorted, not counted.
SMALL = 64


class GridSpace(NamedTuple):
    """The grids as the kernels read them; one row a column."""

    #: Lower end of every bin and upper end of the last, in shares of the declared width.
    edges: Any
    #: Place of every bin in whole numbers of the column's unit, so that sums are exact; and that unit, in shares of
    #: the declared width.
    places: Any
    units: Any
    #: Width of one step, the least that a box is taken to have; in units.
    steps: Any
    #: The bin for missing values, or -1.
    missing: Any
    #: Depth of the hierarchy node that ends at a cut, for columns with a hierarchy; otherwise all 0.
    tiers: Any
    #: 0: steps are equal. 1: grid points were given. 2: there is a hierarchy.
    form: Any
    #: The axes of the criterion `factor`, in units; see `_criteria.common_axes`.
    axes: Any


class Labels(NamedTuple):
    """Sensitive values and target by row number."""

    sensitive: Any
    target: Any
    n_classes: int
    #: What a unit of information on the target and of the common spread are worth.
    worth: Any


class GrowthSettings(NamedTuple):
    """How to grow."""

    criterion: int
    min_share: float
    max_depth: int


class Scratch(NamedTuple):
    """Room to work in, for one thread."""

    #: Histograms by column and bin: records, sums of places, lowest and highest bins of all columns.
    counts: Any
    sums: Any
    extremes: Any
    #: Bins and places of a small node in one number each: as they come, and sorted.
    keys: Any
    #: The groups: bin and size; sums by column and group; boxes.
    groups: Any
    group_sums: Any
    boxes: Any
    #: The cuts offered: bin, records to the left, last group to the left. And share of the cell to the left, gain,
    #: tie-break.
    cuts: Any
    rates: Any
    #: Rows by group, and where the next row of a bin goes.
    order: Any
    slot: Any
    #: Of the node: sums, lowest and highest bins; the places of one row; the columns in the order they are looked at.
    whole: Any
    #: Of the node: sum of squares by column.
    squares: Any
    #: Counts of sensitive values (node, left, right) and of classes (node, left).
    sensitive: Any
    classes: Any
    #: Gain and tie-break, column and cut of the best so far; row 1 is for the second half of a mixture.
    best: Any
    picks: Any


@jit
def make_scratch(n: int, n_bins: int, d: int, values: int, classes: int, criterion: int) -> Any:  # pragma: no cover
    """Allocate what one call needs; the large tables only for criteria that use them."""
    summed = d if criterion >= SPREAD and criterion != WIDTH else 0
    boxed = d if criterion == TIGHT else 0
    # As many columns at once as stay in the cache.
    block = max(1, min(d, (1 << 20) // (n_bins * max(summed, boxed, 1))))
    room = max(n_bins, SMALL) + 1
    return Scratch(
        np.zeros((block, n_bins), np.int64),
        np.zeros((block, n_bins, summed), np.int64),
        np.zeros((2, block, n_bins, boxed), np.int64),
        np.zeros((2, SMALL), np.int32),
        np.zeros((2, room), np.int64),
        np.zeros((summed, room), np.int64),
        np.zeros((4, room, boxed), np.int64),
        np.zeros((3, room), np.int64),
        np.zeros((3, room), np.float64),
        np.zeros(n if values + classes > 0 else SMALL, np.int64),
        np.zeros(n_bins, np.int64),
        np.zeros((5, d), np.int64),
        np.zeros(d, np.float64),
        np.zeros((3, values), np.int64),
        np.zeros((2, classes), np.int64),
        np.zeros((2, 2), np.float64),
        np.zeros((2, 2), np.int64),
    )


@jit
def describe(rows: Any, ids: Any, a: int, b: int, places: Any, labels: Any, work: Any) -> None:  # pragma: no cover
    """Write down what is to know of the whole node: sums or box, counts of sensitive values and classes."""
    d = rows.shape[1]
    whole = work.whole
    if work.sums.shape[2] > 0:
        whole[0, :] = 0
        for i in range(a, b):
            for m in range(d):
                whole[0, m] += places[m, rows[i, m]]
    else:
        for m in range(d):
            whole[1, m] = rows[a, m]
            whole[2, m] = rows[a, m]
        for i in range(a + 1, b):
            for m in range(d):
                value = np.int64(rows[i, m])
                whole[1, m] = min(whole[1, m], value)
                whole[2, m] = max(whole[2, m], value)
    work.sensitive[0, :] = 0
    work.classes[0, :] = 0
    if work.sensitive.shape[1] > 0:
        for i in range(a, b):
            for q in range(labels.sensitive.shape[0]):
                work.sensitive[0, labels.sensitive[q, ids[i]]] += 1
    if work.classes.shape[1] > 0:
        for i in range(a, b):
            work.classes[0, labels.target[ids[i]]] += 1


@jit
def sum_squares(rows: Any, a: int, b: int, places: Any, units: Any, work: Any) -> None:  # pragma: no cover
    """Add up the squared distances from the mean, by column."""
    for m in range(units.size):
        mean = work.whole[0, m] / (b - a)
        total = 0.0
        for i in range(a, b):
            gap = (places[m, rows[i, m]] - mean) * units[m]
            total += gap * gap
        work.squares[m] = total


@jit
def widest_first(whole: Any, places: Any, units: Any) -> None:  # pragma: no cover
    """Put the columns in turn by the spread of the node over the declared width, falling; equal ones stay in order."""
    spread, turn = np.empty(units.size), whole[4]
    for j in range(units.size):
        spread[j] = (places[j, whole[2, j]] - places[j, whole[1, j]]) * units[j]
        p = j
        while p > 0 and spread[turn[p - 1]] < spread[j] * (1.0 - 1e-12):
            turn[p] = turn[p - 1]
            p -= 1
        turn[p] = j


@jit
def count_block(
    rows: Any, a: int, b: int, j0: int, j1: int, first: Any, last: Any, places: Any, work: Any
) -> None:  # pragma: no cover
    """Fill the histograms of columns ``j0 .. j1 - 1`` over the bins of the cell."""
    d = rows.shape[1]
    counts, sums, extremes, place = work.counts, work.sums, work.extremes, work.whole[3]
    summed, boxed = sums.shape[2] > 0, extremes.shape[3] > 0
    for j in range(j0, j1):
        counts[j - j0, first[j] : last[j] + 1] = 0
        if summed:
            sums[j - j0, first[j] : last[j] + 1, :] = 0
        if boxed:
            extremes[0, j - j0, first[j] : last[j] + 1, :] = 1 << 16
            extremes[1, j - j0, first[j] : last[j] + 1, :] = -1
    for i in range(a, b):
        if summed:
            for m in range(d):
                place[m] = places[m, rows[i, m]]
        for j in range(j0, j1):
            bin_ = rows[i, j]
            counts[j - j0, bin_] += 1
            if summed:
                for m in range(d):
                    sums[j - j0, bin_, m] += place[m]
            elif boxed:
                for m in range(d):
                    value = np.int64(rows[i, m])
                    extremes[0, j - j0, bin_, m] = min(extremes[0, j - j0, bin_, m], value)
                    extremes[1, j - j0, bin_, m] = max(extremes[1, j - j0, bin_, m], value)


@jit
def groups_by_count(
    rows: Any, a: int, b: int, j: int, at: int, first: int, last: int, work: Any
) -> int:  # pragma: no cover
    """List the occupied bins of a counted column, and its rows in their order if labels are followed."""
    n_groups, start = 0, 0
    for bin_ in range(first, last + 1):
        size = work.counts[at, bin_]
        if size == 0:
            continue
        work.groups[0, n_groups] = bin_
        work.groups[1, n_groups] = size
        for m in range(work.sums.shape[2]):
            work.group_sums[m, n_groups] = work.sums[at, bin_, m]
        for m in range(work.extremes.shape[3]):
            work.boxes[0, n_groups, m] = work.extremes[0, at, bin_, m]
            work.boxes[1, n_groups, m] = work.extremes[1, at, bin_, m]
        work.slot[bin_] = start
        start += size
        n_groups += 1
    if work.order.size > SMALL:
        for i in range(a, b):
            bin_ = rows[i, j]
            work.order[work.slot[bin_]] = i
            work.slot[bin_] += 1
    return n_groups


@jit
def groups_by_sorting(rows: Any, a: int, b: int, j: int, places: Any, work: Any) -> int:  # pragma: no cover
    """List the occupied bins of a column of a small node."""
    d = rows.shape[1]
    size = b - a
    raw, keys = work.keys[0], work.keys[1]
    for i in range(size):
        raw[i] = np.int32(rows[a + i, j]) * SMALL + i
    for i in range(size):  # every key finds its place by counting the smaller ones: no branch to foretell
        key, smaller = raw[i], 0
        for p in range(size):
            smaller += raw[p] < key
        keys[smaller] = key
    summed, boxed = work.sums.shape[2] > 0, work.extremes.shape[3] > 0
    n_groups, before = -1, -1
    for p in range(size):
        bin_ = keys[p] >> 6  # // SMALL
        i = a + (keys[p] & (SMALL - 1))
        work.order[p] = i
        fresh = bin_ != before
        if fresh:
            before = bin_
            n_groups += 1
            work.groups[0, n_groups] = bin_
            work.groups[1, n_groups] = 0
        work.groups[1, n_groups] += 1
        if summed:
            for m in range(d):
                value = places[m, rows[i, m]]
                work.group_sums[m, n_groups] = value + (0 if fresh else work.group_sums[m, n_groups])
        if boxed:
            for m in range(d):
                value = np.int64(rows[i, m])
                work.boxes[0, n_groups, m] = value if fresh else min(work.boxes[0, n_groups, m], value)
                work.boxes[1, n_groups, m] = value if fresh else max(work.boxes[1, n_groups, m], value)
    return n_groups + 1


@jit
def cut_in_gap(
    low: int, high: int, missing: int, form: int, tier: int, tiers: Any, edges: Any
) -> int:  # pragma: no cover
    """Return the one cut offered in a gap: the grid point in ``low .. high`` nearest its middle, the lower of two.

    Before the bin of missing values it is the upper bound itself. -1: the hierarchy allows none.
    """
    if high == missing:
        return high
    if form == 0:
        return (low + high) >> 1
    best, nearest = -1, np.inf
    for p in range(low, high + 1):
        off = abs(2 * edges[p] - edges[low] - edges[high]) if form == 1 else abs(2.0 * p - low - high)
        if off < nearest and (form == 1 or tiers[p] == tier):
            best, nearest = p, off
    return best


@jit
def list_cuts(
    n_groups: int, size: int, j: int, first: int, last: int, space: Any, k: int, min_share: float, work: Any
) -> int:  # pragma: no cover
    """List the cuts of a column with k records on both sides and no sliver; return how many."""
    edges, tiers = space.edges[j], space.tiers[j]
    start, scale = edges[first], 1.0 / (edges[last + 1] - edges[first])
    missing, form = space.missing[j], space.form[j]
    bins, sizes = work.groups[0], work.groups[1]
    tier = tiers[last]
    if form == 2:  # the smallest node that covers the cell
        for p in range(first + 1, last):
            tier = min(tier, tiers[p])
    found, left = 0, 0
    for g in range(n_groups - 1):
        left += sizes[g]
        if left < k:
            continue
        if size - left < k:
            break
        cut = cut_in_gap(bins[g] + 1, bins[g + 1], missing, form, tier, tiers, edges)
        if cut < 0:
            continue
        share = (edges[cut] - start) * scale
        # The branch of missing values is one step wide however wide the column is: the guard is not for it.
        if cut != missing and not min_share <= share <= 1.0 - min_share:
            continue
        work.cuts[0, found] = cut
        work.cuts[1, found] = left
        work.cuts[2, found] = g
        work.rates[0, found] = share
        found += 1
    return found


@jit
def choose(
    n_cuts: int, size: int, j: int, slack: float, role: int, ids: Any, limits: Any, sensitive: Any, work: Any
) -> None:  # pragma: no cover
    """Keep the best cut of which both sides are ok; ``role`` 1 is the second half of a mixture.

    What differs from the best so far by rounding only is equal to it. Only a cut that would be taken is checked.
    """
    counts, best = work.sensitive, work.best[role]
    counts[1, :] = 0
    walked = 0
    for c in range(n_cuts):
        gain, tie = work.rates[1, c], work.rates[2, c]
        if best[0] > -np.inf:
            margin = slack + 1e-12 * abs(best[0])
            if gain < best[0] - margin or (gain <= best[0] + margin and tie <= best[1]):
                continue
        left = work.cuts[1, c]
        if counts.shape[1] > 0:
            for p in range(walked, left):
                for q in range(sensitive.shape[0]):
                    counts[1, sensitive[q, ids[work.order[p]]]] += 1
            walked = left
            for s in range(counts.shape[1]):
                counts[2, s] = counts[0, s] - counts[1, s]
            good = True
            for side in range(1, 3):
                good = good and is_ok(counts[side], left if side == 1 else size - left, limits)
            if not good:
                continue
        best[0], best[1] = gain, tie
        work.picks[role, 0], work.picks[role, 1] = j, work.cuts[0, c]
