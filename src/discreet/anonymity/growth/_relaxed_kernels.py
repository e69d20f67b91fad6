"""The kernel of relaxed Mondrian: halves of equal size, whatever the ties; cells overlap in the bin of the median."""

from typing import Any

import numpy as np

from discreet.anonymity.growth.growth_kernels import FIRST, FROM, LAST, TO, copy_cell
from discreet.anonymity.risk.distances import is_ok
from discreet.core import jit


@jit
def grow_relaxed(
    rows: Any, last_bins: Any, places: Any, units: Any, sensitive: Any, limits: Any
) -> tuple[Any, Any, Any]:  # pragma: no cover
    """Return first and last bins of the cells, and the cell of every row.

    A node's records are ordered by the column with the largest spread, equal ones as they were before; the first half
    goes left. If a side breaks the rules, the next column is tried.
    """
    n, d = rows.shape
    k = limits.k
    room = n // k + 1
    first, last = np.zeros((room, d), np.int64), np.zeros((room, d), np.int64)
    of = np.empty(n, np.int64)
    ids = np.arange(n)
    stack = np.empty((room + 1, 2), np.int64)
    cells = np.empty((room + 1, 2, d), np.int64)
    counts = np.zeros((2, limits.share.size), np.int64)
    spread = np.empty(d)
    low, high = np.empty(d, np.int64), np.empty(d, np.int64)
    stack[0, FROM], stack[0, TO] = 0, n
    for m in range(d):
        cells[0, FIRST, m], cells[0, LAST, m] = 0, last_bins[m]
    top, n_cells = 1, 0
    while top > 0:
        top -= 1
        a, b = stack[top, FROM], stack[top, TO]
        half = a + (b - a) // 2
        chosen = -1
        if b - a >= 2 * k:
            for m in range(d):
                low[m], high[m] = rows[ids[a], m], rows[ids[a], m]
                for i in range(a, b):
                    low[m] = min(low[m], np.int64(rows[ids[i], m]))
                    high[m] = max(high[m], np.int64(rows[ids[i], m]))
                spread[m] = (places[m, high[m]] - places[m, low[m]]) * units[m]
            for _ in range(d):
                j = int(np.argmax(spread))
                if spread[j] <= 0.0:
                    break
                spread[j] = -1.0
                # A counting sort, so that equal records stay in order.
                starts = np.zeros(high[j] - low[j] + 2, np.int64)
                for i in range(a, b):
                    starts[rows[ids[i], j] - low[j] + 1] += 1
                starts = np.cumsum(starts)
                order = np.empty(b - a, np.int64)
                for i in range(a, b):
                    at = rows[ids[i], j] - low[j]
                    order[starts[at]] = ids[i]
                    starts[at] += 1
                good = True
                if limits.l_on or limits.t_on:
                    counts[:] = 0
                    for p in range(b - a):
                        for q in range(sensitive.shape[0]):
                            counts[int(p >= half - a), sensitive[q, order[p]]] += 1
                    for side in range(2):
                        good = good and is_ok(counts[side], b - half if side else half - a, limits)
                if good:
                    chosen = j
                    for p in range(b - a):
                        ids[a + p] = order[p]
                    break
        if chosen < 0:
            for m in range(d):
                first[n_cells, m], last[n_cells, m] = cells[top, FIRST, m], cells[top, LAST, m]
            for i in range(a, b):
                of[ids[i]] = n_cells
            n_cells += 1
            continue
        # The left cell ends with the bin of its last record, the right one begins with that of its first.
        end, begin = int(rows[ids[half - 1], chosen]), int(rows[ids[half], chosen])
        if end < begin:  # no tie: one cut in the middle of the gap
            begin = (end + 1 + begin) // 2
            end = begin - 1
        copy_cell(cells, top, cells, top + 1)
        cells[top, FIRST, chosen] = begin
        cells[top + 1, LAST, chosen] = end
        stack[top, FROM], stack[top, TO] = half, b
        stack[top + 1, FROM], stack[top + 1, TO] = a, half
        top += 2
    return first[:n_cells], last[:n_cells], of
