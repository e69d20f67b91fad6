"""Splits by looking ahead: the best splits of a node are tried, and the tree below each decides.

Information gain sees one column at a time. If a label depends on two columns together, neither helps alone. In the
upper levels the best splits of each column are tried: the tree below each is grown, and the split whose leaves keep
most is taken. That is many times the work, so it is only done on small tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.anonymity.growth.growth_kernels import BEGIN, COLUMN, END, RIGHT, part
from discreet.anonymity.growth.plain import allowed_cuts
from discreet.anonymity.growth.search_kernels import Labels
from discreet.core import FloatArray, IntArray

if TYPE_CHECKING:
    from discreet.anonymity.growth.grow import Grower

#: Levels whose cuts are chosen so, and levels that are grown below a cut to judge it.
LEVELS, _HORIZON = 3, 3
#: Splits of one column to try, evenly among those allowed, in addition to the best one by plain growth.
_CUTS = 8
#: Most cuts times rows for which it is done: a table beyond that is grown plainly. About half a second per tree.
_MOST_WORK = 1 << 16


def affordable(n: int, d: int) -> bool:
    return n * d * _CUTS <= _MOST_WORK


def grow_ahead(
    rows: Any, ids: Any, first: IntArray, last: IntArray, depth: int, levels: int, grower: Grower, labels: Labels
) -> IntArray:
    """Grow like `Grower.grow`, but choose the cuts of the uppermost ``levels`` by looking ahead."""
    n, settings = len(rows), grower.settings
    found = None
    if levels > 0 and n >= 2 * grower.limits.k and depth < settings.max_depth:
        found = _best_cut(rows, ids, first, last, depth, grower, labels)
    if found is None:
        return grower.grow(rows, ids, labels, np.array([[0, n, depth]]), np.stack([first, last])[None], 0)
    j, cut = found
    middle = _part(rows, ids, j, cut)
    below, above = last.copy(), first.copy()
    below[j], above[j] = cut - 1, cut
    left = grow_ahead(rows[:middle], ids[:middle], first, below, depth + 1, levels - 1, grower, labels)
    right = grow_ahead(rows[middle:], ids[middle:], above, last, depth + 1, levels - 1, grower, labels)
    right[:, [BEGIN, END]] += middle
    left[left[:, RIGHT] >= 0, RIGHT] += 1
    right[right[:, RIGHT] >= 0, RIGHT] += 1 + len(left)
    top = np.array([[j, cut, 1 + len(left), settings.criterion, 0, n, depth]], np.int64)
    return np.concatenate([top, left, right])


def _part(rows: Any, ids: Any, j: int, cut: int) -> int:
    words = rows.view(np.uint64)
    return int(part(rows, words, ids, 0, len(rows), j, cut, np.empty_like(words), np.empty_like(ids)))


def _best_cut(
    rows: Any, ids: Any, first: IntArray, last: IntArray, depth: int, grower: Grower, labels: Labels
) -> tuple[int, int] | None:
    """Return column and bin of the best of a few cuts of every column, or None if there is none.

    Those between are left out on purpose: to search among them too followed chance and did worse on held-out records.
    """
    cuts, alone = allowed_cuts(grower, rows, labels, labels.target[ids], first, last)
    if not len(cuts):
        return None
    begin = np.flatnonzero(np.diff(cuts[:, 0], prepend=-1)).tolist()
    tried = np.concatenate([_tried(a, alone[a:b]) for a, b in zip(begin, [*begin[1:], len(cuts)], strict=True)])
    cuts, alone = cuts[tried], alone[tried]
    near = grower.settings._replace(max_depth=min(grower.settings.max_depth, depth + 1 + _HORIZON))
    below = grower._replace(settings=near)
    kept = np.array([_kept(rows.copy(), ids.copy(), first, last, depth, below, labels, *cut) for cut in cuts.tolist()])
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


def _kept(
    rows: Any, ids: Any, first: IntArray, last: IntArray, depth: int, grower: Grower, labels: Labels, j: int, cut: int
) -> float:
    """Return what the cells keep that grow below a cut, up to a constant: the gains of all cuts above, added up.

    Of the label it is minus the entropy in the cells, of the common spread the squares of their means.
    """
    middle = _part(rows, ids, j, cut)
    cells = np.array([[first, last], [first, last]])
    cells[0, 1, j], cells[1, 0, j] = cut - 1, cut
    nodes = grower.grow(rows, ids, labels, np.array([[0, middle, depth + 1], [middle, len(rows), depth + 1]]), cells, 0)
    starts = nodes[nodes[:, COLUMN] < 0, BEGIN]
    size = np.diff(starts, append=len(rows))
    of = np.repeat(np.arange(len(starts)), size)
    classes = np.bincount(of * labels.n_classes + labels.target[ids], minlength=len(starts) * labels.n_classes)
    told = float((classes * np.log(np.maximum(classes, 1))).sum() - (size * np.log(size)).sum())
    places = np.stack([grower.space.places[m, rows[:, m]] for m in range(len(first))])
    along = grower.space.axes @ np.add.reduceat(places, starts, axis=1)
    return float(labels.worth[0] * told + labels.worth[1] * (along**2 / size).sum())
