"""The search for the best split of a node.

A large node is searched by histograms over its bins, a small one by sorting. Either way a column becomes a short list
of *groups*, the occupied bins from low to high, with one candidate split per gap: the grid point nearest its middle.
The rows of a node are contiguous; a row is the bins of all columns, then its sensitive values if a rule needs them.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth._count_kernels import (
    BYTES,
    CUT_BIN,
    CUT_GROUP,
    CUT_LEFT,
    CUT_SUMS,
    EIGHT,
    GROUP_BIN,
    GROUP_SIZE,
    GROUP_SUMS,
    HIGHEST,
    KEPT,
    LOWEST,
    SHARE,
    SMALL,
    TOTAL,
    TURN,
    lane,
    make_keys,
    word_of,
)
from discreet.anonymity.growth.criteria import LABEL, MONDRIAN, SPREAD, WIDTH
from discreet.core import inlined

#: The most bins times sensitive values that are counted; beyond that rows are put in order.
MOST_VALUES = 1 << 18
#: The most counters and sums of the nodes whose counts are kept.
KEPT_COUNTERS = 1 << 19
#: Counts of sensitive values and classes: of the node, to the left of a cut, to the right of it.
NODE, LEFT, REST = 0, 1, 2
#: Of a column: the bin for missing values or -1, and the form of its grid.
MISSING, FORM = 0, 1
#: More than a hierarchy has.
MOST_TIERS = 2**15


class GridSpace(NamedTuple):
    """The grids as the kernels read them; one row per column."""

    #: Lower end of every bin and upper end of the last, in shares of the declared width.
    edges: Any
    #: Place of every bin in whole numbers of the column's unit, so that sums are exact; and that unit, in shares of
    #: the declared width.
    places: Any
    units: Any

    #: The bin for missing values, or -1.
    missing: Any
    #: Depth of the hierarchy node that ends at a cut, for columns with a hierarchy; otherwise all 0.
    tiers: Any
    #: 0: steps are equal. 1: grid points were given. 2: there is a hierarchy. 3: there are levels of a number or code.
    form: Any
    #: Whether the place of every bin is its number.
    even: bool
    #: The axes of the criterion `factor`, in units; see `_criteria.common_axes`.
    axes: Any

    def arrays(self, criterion: int) -> tuple[Any, ...]:
        """Return the grids in the order in which kernels take them; ``axes`` are the units for `SPREAD`."""
        axes = self.units[None] if criterion == SPREAD else self.axes
        units = self.units if criterion == MONDRIAN else None
        return self.edges, self.places, self.tiers, np.stack([self.missing, self.form]), axes, units


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


def make_room(
    n: int, n_bins: int, d: int, values: int, classes: int, criterion: int, lanes: int, deep: int
) -> tuple[Any, ...]:
    """Allocate what one call needs, in the order in which kernels take it; None what the criterion does not use.

    ``lanes`` is the words of a row if sums can be added in lanes, 0 if not. ``deep`` is how many nodes wait at most.
    """
    summed = d if criterion >= SPREAD and criterion != WIDTH else 0
    # As many columns at once as stay in the cache.
    block = max(1, min(d, (1 << 20) // (n_bins * max(summed, 1))))
    room = max(n_bins, SMALL) + 1
    counted = values if values * n_bins <= MOST_VALUES else 0
    laned = lanes > 0 and summed > 0
    # The counts of large nodes that wait are kept, and there is one place more for a node that is looked at.
    keeps = block == d and n >= KEPT and criterion not in (MONDRIAN, LABEL)
    slots = min(deep, KEPT_COUNTERS // (d * n_bins * (1 + summed))) if keeps else 0
    return (
        np.arange(slots),
        np.zeros((slots + 1, values), np.int64) if values else None,
        np.zeros((slots + 1, block, n_bins), np.int64),
        np.zeros((slots + 1, block, n_bins, summed), np.int64) if summed else None,
        np.zeros((block, n_bins, 2 * lanes), np.uint64) if laned else None,
        np.zeros((room, 2 * lanes), np.uint64) if laned else None,
        make_keys(n_bins),
        np.zeros((GROUP_SUMS + summed, room), np.int64),
        np.zeros((CUT_SUMS + summed, room)),
        np.zeros((5, d), np.int64),
        np.zeros(n if values + classes > 0 else SMALL, np.int64),
        np.zeros((n_bins, counted), np.int64) if values else None,
        np.zeros((3, values), np.int64) if values else None,
        np.zeros((2, classes), np.int64) if criterion == LABEL else None,
    )


@inlined
def describe(
    rows: Any, words: Any, a: int, b: int, places: Any, units: Any, sums: Any, up_to: Any, node: Any,
) -> None:  # fmt: skip
    """Write down what is to know of the whole node: sums, or its box."""
    d = node.shape[1]
    for m in range(d):
        node[TOTAL, m] = 0
        node[LOWEST, m] = rows[a, m]
        node[HIGHEST, m] = rows[a, m]
    if up_to is not None:
        for start in range(a, b, 256):
            for w in range(up_to.shape[1]):
                up_to[0, w] = 0
            for i in range(start, min(start + 256, b)):
                for w in range(words.shape[1]):
                    up_to[0, 2 * w] += words[i, w] & BYTES
                    up_to[0, 2 * w + 1] += (words[i, w] >> EIGHT) & BYTES
            for m in range(d):
                node[TOTAL, m] += lane(up_to[0, word_of(m)], m)
    elif sums is not None:
        for i in range(a, b):
            for m in range(d):
                node[TOTAL, m] += places[m, rows[i, m]]
    elif units is not None:
        for i in range(a + 1, b):
            for m in range(d):
                value = np.int64(rows[i, m])
                node[LOWEST, m] = min(node[LOWEST, m], value)
                node[HIGHEST, m] = max(node[HIGHEST, m], value)


@inlined
def tally_node(
    rows: Any, ids: Any, a: int, b: int, d: int, n_sensitive: int, target: Any, tally: Any, classes: Any
) -> None:
    if tally is not None:
        for s in range(tally.shape[1]):
            tally[NODE, s] = 0
        for i in range(a, b):
            for q in range(d, d + n_sensitive):
                tally[NODE, rows[i, q]] += 1
    if target is not None:
        for s in range(classes.shape[1]):
            classes[NODE, s] = 0
        for i in range(a, b):
            classes[NODE, target[ids[i]]] += 1


@inlined
def widest_first(places: Any, units: Any, node: Any) -> None:
    """Put the columns in turn by the spread of the node over the declared width, falling; equal ones stay in order."""
    for j in range(units.size):
        own = (places[j, node[HIGHEST, j]] - places[j, node[LOWEST, j]]) * units[j]
        p = j
        while p > 0:
            m = node[TURN, p - 1]
            if not (places[m, node[HIGHEST, m]] - places[m, node[LOWEST, m]]) * units[m] < own * (1.0 - 1e-12):
                break
            node[TURN, p] = m
            p -= 1
        node[TURN, p] = j


@inlined
def tier_within(bins: Any, n_groups: int, missing: int, tiers: Any) -> int:
    """Return the depth of the smallest group that covers the bins with records: empty groups around do not count."""
    last = bins[n_groups - 1] if bins[n_groups - 1] != missing or n_groups < 2 else bins[n_groups - 2]
    tier = MOST_TIERS
    for p in range(bins[0] + 1, last + 1):
        tier = min(tier, tiers[p])
    return tier


@inlined
def cut_in_gap(low: int, high: int, missing: int, form: int, tier: int, j: int, tiers: Any, edges: Any) -> int:
    """Return the one cut offered in a gap: the grid point in ``low .. high`` nearest its middle, the lower of two.

    Before the bin of missing values it is the upper bound itself. -1: the hierarchy allows none.
    """
    if high == missing:
        return high
    if form == 0:
        return (low + high) >> 1
    best, nearest = -1, np.inf
    for p in range(low, high + 1):
        off = abs(2 * edges[j, p] - edges[j, low] - edges[j, high]) if form == 1 else abs(2.0 * p - low - high)
        if off < nearest and (form == 1 or tiers[j, p] == tier):
            best, nearest = p, off
    return best


@inlined
def list_cuts(
    n_groups: int, size: int, j: int, first: int, last: int, edges: Any, tiers: Any, facts: Any, k: int,
    min_share: float, held: Any, rated: Any,
) -> int:  # fmt: skip
    """List the cuts of a column with k records on both sides and no sliver; return how many."""
    start, scale = edges[j, first], 1.0 / (edges[j, last + 1] - edges[j, first])
    missing, form = facts[MISSING, j], facts[FORM, j]
    tier = tiers[j, last]
    if form == 2:  # the smallest node that covers the cell
        for p in range(first + 1, last):
            tier = min(tier, tiers[j, p])
    elif form == 3:
        tier = tier_within(held[GROUP_BIN], n_groups, missing, tiers[j])
    found, left = 0, 0
    for g in range(n_groups - 1):
        left += held[GROUP_SIZE, g]
        if left < k:
            continue
        if size - left < k:
            break
        cut = cut_in_gap(held[GROUP_BIN, g] + 1, held[GROUP_BIN, g + 1], missing, form, tier, j, tiers, edges)
        if cut < 0:
            continue
        share = (edges[j, cut] - start) * scale
        # The branch of missing values is one step wide however wide the column is: the guard is not for it. Nor is it
        # for levels, whose groups were declared: all postcodes of a town are a sliver of the country's.
        if cut != missing and form != 3 and not min_share <= share <= 1.0 - min_share:
            continue
        held[CUT_BIN, found] = cut
        held[CUT_LEFT, found] = left
        held[CUT_GROUP, found] = g
        rated[SHARE, found] = share
        found += 1
    return found
