"""Splits by looking ahead: the best splits of a node are tried, and the tree below each decides.

Information gain sees one column at a time. If a label depends on two columns together, neither helps alone. In the
upper levels the best splits of each column are tried: the tree below each is grown, and the split whose leaves keep
most is taken. That is many times the work, so it is only done on small tables.
"""

from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth._choice_kernels import put_in_order, sides_ok
from discreet.anonymity.growth.criteria import factor_gains, label_gains
from discreet.anonymity.growth.growth_kernels import BEGIN, COLUMN, END, RIGHT, grow, part
from discreet.anonymity.growth.search_kernels import (
    LEFT,
    GridSpace,
    GrowthSettings,
    Labels,
    describe,
    find_cuts,
    make_scratch,
)
from discreet.anonymity.risk.distances import Limits
from discreet.core import FloatArray, IntArray, jit

#: Levels whose cuts are chosen so, and levels that are grown below a cut to judge it.
LEVELS, _HORIZON = 3, 3
#: Splits of one column to try, evenly among those allowed, in addition to the best one by plain growth.
_CUTS = 8
#: Most cuts times rows for which it is done: a table beyond that is grown plainly. About half a second per tree.
_MOST_WORK = 1 << 16


class Growth(NamedTuple):
    """The settings of growth: the last arguments of `grow`."""

    space: GridSpace
    limits: Limits
    labels: Labels
    settings: GrowthSettings


def affordable(n: int, d: int) -> bool:
    """Return whether a table of n rows and d columns is small enough to look ahead in."""
    return n * d * _CUTS <= _MOST_WORK


def grow_ahead(rows: Any, ids: Any, first: IntArray, last: IntArray, depth: int, levels: int, by: Growth) -> IntArray:
    """Grow like `grow`, but choose the cuts of the uppermost ``levels`` by looking ahead. Returns the nodes."""
    n = len(rows)
    found = None
    if levels > 0 and n >= 2 * by.limits.k and depth < by.settings.max_depth:
        found = _best_cut(rows, ids, first, last, depth, by)
    if found is None:
        nodes: IntArray = grow(rows, ids, first, last, depth, *by, 0)[0]
        return nodes
    j, cut = found
    words = rows.view(np.uint64)
    middle = part(rows, words, ids, 0, n, j, cut, np.empty_like(words), np.empty_like(ids))
    below, above = last.copy(), first.copy()
    below[j], above[j] = cut - 1, cut
    left = grow_ahead(rows[:middle], ids[:middle], first, below, depth + 1, levels - 1, by)
    right = grow_ahead(rows[middle:], ids[middle:], above, last, depth + 1, levels - 1, by)
    right[:, [BEGIN, END]] += middle
    left[left[:, RIGHT] >= 0, RIGHT] += 1
    right[right[:, RIGHT] >= 0, RIGHT] += 1 + len(left)
    top = np.array([[j, cut, 1 + len(left), by.settings.criterion, 0, n, depth]], np.int64)
    return np.concatenate([top, left, right])


def _best_cut(rows: Any, ids: Any, first: IntArray, last: IntArray, depth: int, by: Growth) -> tuple[int, int] | None:
    """Return column and bin of the best of a few cuts of every column, or None if there is none.

    Those between are left out on purpose: to search among them too followed chance and did worse on held-out records.
    """
    cuts, alone = allowed_cuts(rows, ids, first, last, *by)
    if not len(cuts):
        return None
    begin = np.flatnonzero(np.diff(cuts[:, 0], prepend=-1)).tolist()
    tried = np.concatenate([_tried(a, alone[a:b]) for a, b in zip(begin, [*begin[1:], len(cuts)], strict=True)])
    cuts, alone = cuts[tried], alone[tried]
    near = by.settings._replace(max_depth=min(by.settings.max_depth, depth + 1 + _HORIZON))
    kept = rate_cuts(rows, ids, first, last, depth, *by._replace(settings=near), cuts)
    # What differs by rounding only is equal, here and in `_most`.
    best = np.flatnonzero(kept >= kept.max() - 1e-12 * np.abs(kept).max())
    chosen = best[_most(alone[best])]
    return int(cuts[chosen, 0]), int(cuts[chosen, 1])


def _tried(begin: int, alone: FloatArray) -> IntArray:
    """Return the places of a column's cuts that are looked at: a few evenly, and the one with the largest gain."""
    n = len(alone)
    if n <= _CUTS:
        return np.arange(begin, begin + n)
    evenly = np.arange(_CUTS) * (n - 1) // (_CUTS - 1)
    return begin + np.union1d(evenly, [_most(alone)])


def _most(gains: FloatArray) -> int:
    """Return the place of the largest gain, of equal ones the first."""
    return int(np.argmax(gains >= gains.max() - 1e-12 * np.abs(gains).max()))


@jit
def allowed_cuts(
    rows: Any, ids: Any, first: Any, last: Any, space: Any, limits: Any, labels: Any, settings: Any
) -> Any:  # pragma: no cover
    """List column and bin of each split whose sides both keep the rules, by column and from low to high.

    Also returns the gain of each split that plain growth uses.
    """
    n, d = len(rows), first.size
    values = limits.share.size if limits.l_on or limits.t_on else 0
    work = make_scratch(n, space.places.shape[1], d, values, labels.n_classes, settings.criterion, 0)
    describe(rows, ids, 0, n, space.places, labels, work)
    found = np.empty((d * work.cut_bin.size, 2), np.int64)
    alone = np.empty(len(found))
    n_found, block = 0, work.counts.shape[0]
    for j in range(d):
        n_groups, n_cuts = find_cuts(rows, 0, n, j, j % block, first, last, space, limits.k, settings.min_share, work)
        sizes, gains, told = work.cut_left[:n_cuts], work.gains[:n_cuts], work.ties[:n_cuts]
        factor_gains(sizes, n, work.cut_sums, space.axes, work.total, gains)
        put_in_order(rows, 0, n, j, n_groups, work)
        label_gains(sizes, n, work.order, ids, labels.target, work.classes, told)
        work.sensitive[LEFT, :] = 0
        walked = 0
        for c in range(n_cuts):
            left = sizes[c]
            good = values == 0 or sides_ok(walked, left, n, False, rows, d, labels.n_sensitive, limits, work)
            walked = left
            if good:
                found[n_found, 0], found[n_found, 1] = j, work.cut_bin[c]
                alone[n_found] = labels.worth[0] * told[c] + labels.worth[1] * gains[c]
                n_found += 1
    return found[:n_found], alone[:n_found]


@jit
def rate_cuts(
    rows: Any,
    ids: Any,
    first: Any,
    last: Any,
    depth: int,
    space: Any,
    limits: Any,
    labels: Any,
    settings: Any,
    cuts: Any,
) -> Any:  # pragma: no cover
    """Return, by cut, what the cells keep that grow below it."""
    n = len(rows)
    kept = np.empty(len(cuts))
    moved_rows, moved_ids = np.empty_like(rows), np.empty_like(ids)
    words = moved_rows.view(np.uint64)
    spare, spare_ids = np.empty_like(words), np.empty_like(ids)
    below, above = last.copy(), first.copy()
    for c in range(len(cuts)):
        moved_rows[:], moved_ids[:] = rows, ids
        j, cut = cuts[c, 0], cuts[c, 1]
        middle = part(moved_rows, words, moved_ids, 0, n, j, cut, spare, spare_ids)
        below[j], above[j] = cut - 1, cut
        kept[c] = 0.0
        for side in range(2):
            a, b = (0, middle) if side == 0 else (middle, n)
            own_rows, own_ids = moved_rows[a:b], moved_ids[a:b]
            low, high = (first, below) if side == 0 else (above, last)
            nodes, _ = grow(own_rows, own_ids, low, high, depth + 1, space, limits, labels, settings, 0)
            kept[c] += kept_by(own_rows, own_ids, nodes, space, labels)
        below[j], above[j] = last[j], first[j]
    return kept


@jit
def kept_by(rows: Any, ids: Any, nodes: Any, space: Any, labels: Any) -> float:  # pragma: no cover
    """Return what leaves keep, up to a constant: the gains of all cuts above them, added up.

    Of the label it is minus the entropy in the cells, of the common spread the squares of their means.
    """
    d = space.units.size
    classes, sums = np.empty(labels.n_classes, np.int64), np.empty(d, np.int64)
    total = 0.0
    for i in range(len(nodes)):
        if nodes[i, COLUMN] >= 0:
            continue
        size = nodes[i, END] - nodes[i, BEGIN]
        classes[:] = 0
        sums[:] = 0
        for p in range(nodes[i, BEGIN], nodes[i, END]):
            classes[labels.target[ids[p]]] += 1
            for m in range(d):
                sums[m] += space.places[m, rows[p, m]]
        told = -size * np.log(size)
        for s in range(classes.size):
            if classes[s] > 0:
                told += classes[s] * np.log(classes[s])
        squares = 0.0
        for q in range(space.axes.shape[0]):
            along = 0.0
            for m in range(d):
                along += space.axes[q, m] * sums[m]
            squares += along * along
        total += labels.worth[0] * told + labels.worth[1] * squares / size
    return total
