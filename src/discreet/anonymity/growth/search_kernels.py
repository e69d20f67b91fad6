"""The search for the best split of a node.

A large node is searched by histograms over its bins, a small one by sorting. Either way a column becomes a short list
of *groups*, the occupied bins from low to high, with one candidate split per gap: the grid point nearest its middle.
The rows of a node are contiguous; a row is the bins of all columns, then its sensitive values if a rule needs them.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth._count_kernels import (
    SHORT,
    SMALL,
    count_block,
    groups_by_count,
    groups_of_keys,
    make_keys,
    sort_keys,
    sorts,
    sum_to_cuts,
    total_in_lanes,
)
from discreet.anonymity.growth.criteria import SPREAD, WIDTH
from discreet.core import inlined, jit

#: The most bins times sensitive values that are counted; beyond that rows are put in order.
MOST_VALUES = 1 << 18
#: Counts of sensitive values and classes: of the node, to the left of a cut, to the right of it.
NODE, LEFT, REST = 0, 1, 2


class GridSpace(NamedTuple):
    """The grids as the kernels read them; one row per column."""

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
    #: Whether the place of every bin is its number.
    even: bool
    #: The axes of the criterion `factor`, in units; see `_criteria.common_axes`.
    axes: Any


class Labels(NamedTuple):
    """The number of sensitive values after the bins of a row, and the target by row number."""

    n_sensitive: int
    target: Any
    n_classes: int
    #: What a unit of information on the target and of the common spread are worth.
    worth: Any


class GrowthSettings(NamedTuple):
    """The settings of growth."""

    criterion: int
    min_share: float
    max_depth: int


class Scratch(NamedTuple):
    """Room to work in, for one thread."""

    #: Histograms by column and bin: records and sums of places.
    counts: Any
    sums: Any
    #: Bins and places of a small node in one number each, see `RAW`; short ones for columns of few bins.
    short_keys: Any
    keys: Any
    #: Sums of bins by column and bin, in lanes (`_count_kernels.py`), where places are bins and rows are bytes.
    packed: Any
    #: Sensitive values by bin, of one column.
    values: Any
    #: The groups: bin and size; sums by column, of a short node in lanes and with those of all groups before.
    group_bin: Any
    group_size: Any
    group_sums: Any
    up_to: Any
    #: The cuts offered: bin, records, last group and share of the cell to the left; gain, tie-break; sums by column.
    cut_bin: Any
    cut_left: Any
    cut_group: Any
    cut_share: Any
    gains: Any
    ties: Any
    cut_sums: Any
    #: Rows by group, and where the next row of a bin goes.
    order: Any
    slot: Any
    #: Of the node, by column: sums of places, lowest and highest bins.
    total: Any
    lowest: Any
    highest: Any
    #: The columns in the order they are looked at.
    turn: Any
    #: Counts of sensitive values and of classes, see `NODE`.
    sensitive: Any
    classes: Any
    #: Gain and tie-break of the best split so far; its column and place. A second row says whether rows were sorted.
    best_gain: Any
    best_place: Any


@jit
def make_scratch(
    n: int, n_bins: int, d: int, values: int, classes: int, criterion: int, width: int
) -> Any:  # pragma: no cover
    """Allocate what one call needs; the large tables only for criteria that use them.

    ``width`` is the words of a row if sums can be added in lanes, 0 if not.
    """
    summed = d if criterion >= SPREAD and criterion != WIDTH else 0
    # As many columns at once as stay in the cache.
    block = max(1, min(d, (1 << 20) // (n_bins * max(summed, 1))))
    room = max(n_bins, SMALL) + 1
    counted = values if values * n_bins <= MOST_VALUES else 0
    ordered = n if values + classes > 0 else SMALL
    return Scratch(
        np.zeros((block, n_bins), np.int64),
        np.zeros((block, n_bins, summed), np.int64),
        make_keys(np.zeros((3, SMALL), np.uint16), 2**16 - 1),
        make_keys(np.zeros((3, SMALL), np.uint32), 2**32 - 1),
        np.zeros((block, n_bins, 2 * width if summed > 0 else 0), np.uint64),
        np.zeros((n_bins, counted), np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros((summed, room), np.int64),
        np.zeros((room, 2 * width), np.uint64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.float64),
        np.zeros(room, np.float64),
        np.zeros(room, np.float64),
        np.zeros((summed, room), np.float64),
        np.zeros(ordered, np.int64),
        np.zeros(n_bins, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros(d, np.int64),
        np.zeros((3, values), np.int64),
        np.zeros((2, classes), np.int64),
        np.zeros(2, np.float64),
        np.zeros((2, 2), np.int64),
    )


@inlined
def describe(rows: Any, ids: Any, a: int, b: int, places: Any, labels: Any, work: Any) -> None:  # pragma: no cover
    """Write down what is to know of the whole node: sums or box, counts of sensitive values and classes."""
    d = places.shape[0]
    total, lowest, highest = work.total, work.lowest, work.highest
    if work.packed.shape[2] > 0:
        total_in_lanes(rows, a, b, total)
    elif work.sums.shape[2] > 0:
        total[:] = 0
        for i in range(a, b):
            for m in range(d):
                total[m] += places[m, rows[i, m]]
    else:
        for m in range(d):
            lowest[m] = rows[a, m]
            highest[m] = rows[a, m]
        for i in range(a + 1, b):
            for m in range(d):
                value = np.int64(rows[i, m])
                lowest[m] = min(lowest[m], value)
                highest[m] = max(highest[m], value)
    work.sensitive[NODE, :] = 0
    work.classes[NODE, :] = 0
    if work.sensitive.shape[1] > 0:
        for i in range(a, b):
            for q in range(d, d + labels.n_sensitive):
                work.sensitive[NODE, rows[i, q]] += 1
    if work.classes.shape[1] > 0:
        for i in range(a, b):
            work.classes[NODE, labels.target[ids[i]]] += 1


@jit
def widest_first(places: Any, units: Any, work: Any) -> None:  # pragma: no cover
    """Put the columns in turn by the spread of the node over the declared width, falling; equal ones stay in order."""
    spread, turn = np.empty(units.size), work.turn
    for j in range(units.size):
        spread[j] = (places[j, work.highest[j]] - places[j, work.lowest[j]]) * units[j]
        p = j
        while p > 0 and spread[turn[p - 1]] < spread[j] * (1.0 - 1e-12):
            turn[p] = turn[p - 1]
            p -= 1
        turn[p] = j


@inlined
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


@inlined
def list_cuts(
    n_groups: int, size: int, j: int, first: int, last: int, space: Any, k: int, min_share: float, work: Any
) -> int:  # pragma: no cover
    """List the cuts of a column with k records on both sides and no sliver; return how many."""
    edges, tiers = space.edges[j], space.tiers[j]
    start, scale = edges[first], 1.0 / (edges[last + 1] - edges[first])
    missing, form = space.missing[j], space.form[j]
    bins, sizes = work.group_bin, work.group_size
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
        work.cut_bin[found] = cut
        work.cut_left[found] = left
        work.cut_group[found] = g
        work.cut_share[found] = share
        found += 1
    return found


@inlined
def find_cuts(
    rows: Any, a: int, b: int, j: int, at: int, first: Any, last: Any, space: Any, k: int, min_share: float, work: Any
) -> tuple[int, int]:  # pragma: no cover
    """List the groups and the cuts of a column of the rows ``a .. b - 1``; return how many there are of each.

    ``at`` is the column's place among those that are counted together.
    """
    size = b - a
    in_order = sorts(size, first, last)
    work.best_place[1, 0] = in_order
    if not in_order and at == 0:
        count_block(rows, a, b, j, min(first.size, j + work.counts.shape[0]), first, last, space.places, work)
    if first[j] == last[j]:
        return 0, 0
    short = work.packed.shape[2] > 0 and size < SHORT
    if not in_order:
        n_groups = groups_by_count(at, first[j], last[j], short, work)
    elif last[j] - first[j] < 1 << 10:
        sort_keys(rows, a, size, j, first[j], work.short_keys)
        n_groups = groups_of_keys(rows, a, size, first[j], space.places, work.short_keys, work)
    else:
        sort_keys(rows, a, size, j, first[j], work.keys)
        n_groups = groups_of_keys(rows, a, size, first[j], space.places, work.keys, work)
    n_cuts = list_cuts(n_groups, size, j, first[j], last[j], space, k, min_share, work)
    if work.sums.shape[2] > 0:
        sum_to_cuts(n_cuts, short, work)
    return n_groups, n_cuts
