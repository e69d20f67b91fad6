"""Kernels of trees: from coordinates to grid cells, from cells to nodes, from nodes to counts.

Rows come in blocks that fit into the cache of one core: ``cells`` by row and axis, and the ``node`` that each row has
reached (-1: dropped). Slots are the nodes that are counted.
"""

from typing import Any

import numpy as np

from discreet.core import jit


@jit
def fill_cells(
    x: Any, low: float, width: float, parts: int, own: bool, out: Any, node: Any
) -> None:  # pragma: no cover
    """Write the cell of every value, clamp(floor((x - low) / width * parts), 0, parts - 1); missing ones by rule."""
    scale, top = float(parts), float(parts - 1)
    for i in range(x.size):
        t = (x[i] - low) / width * scale
        if t != t:
            out[i] = parts if own else 0
            if not own:
                node[i] = -1
        else:
            out[i] = np.int32(min(max(t, 0.0), top))


@jit
def route(
    cells: Any, axis: Any, first: Any, cut_at: Any, n_cuts: Any, cuts: Any, node: Any
) -> None:  # pragma: no cover
    """Walk every row on from its node to the last it reaches; its child's number is how many cuts are <= its cell."""
    for i in range(node.size):
        v = node[i]
        if v < 0:
            continue
        while axis[v] >= 0:
            cell = cells[i, axis[v]]
            a, n = cut_at[v], n_cuts[v]
            if n == 1:
                v = first[v] + (cell >= cuts[a])
                continue
            low, high = 0, n  # the number of cuts <= cell lies in low..high
            while low < high:
                middle = (low + high) // 2
                if cuts[a + middle] <= cell:
                    low = middle + 1
                else:
                    high = middle
            v = first[v] + low
        node[i] = v


@jit
def write_ids(
    cells: Any, node: Any, slot: Any, lower: Any, width: Any, key_axis: Any, lines: int, out: Any
) -> None:  # pragma: no cover
    """Turn nodes into cell numbers: the node's slot, and if it has a key axis the line of its box the row lies in."""
    for i in range(node.size):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s < 0:
            out[i] = -1
            continue
        line = 0
        j = key_axis[s]
        if j >= 0:
            w = width[s, j]
            # A quotient of whole numbers below 2^53 is rounded to the right side of every whole number.
            line = int(((cells[i, j] - lower[s, j] + 1) * min(lines, w) - 1) / w)
        out[i] = s * lines + line


@jit
def add_histograms(
    cells: Any, node: Any, slot: Any, lower: Any, width: Any, parts: Any, out: Any
) -> None:  # pragma: no cover
    """Count rows by slot, axis and part of the slot's box on that axis."""
    n, d = cells.shape
    part = np.empty(d, np.int32)
    for i in range(n):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s >= 0:
            for j in range(d):  # apart from the counting, so that the divisions are made several at a time
                part[j] = np.int32(((cells[i, j] - lower[s, j] + 1) * parts[s, j] - 1) / width[s, j])
            for j in range(d):
                out[s, j, part[j]] += 1


@jit
def add_spreads(
    cells: Any, node: Any, slot: Any, ends: Any, scale: Any, counts: Any, sums: Any
) -> None:  # pragma: no cover
    """Count rows by slot, and add up how far they lie from its middle: ``abs(2 cell + 1 - ends) * scale``, floored."""
    n, d = cells.shape
    for i in range(n):
        s = slot[node[i]] if node[i] >= 0 else -1
        if s >= 0:
            counts[s] += 1
            for j in range(d):
                sums[s, j] += np.int32(abs(np.float32(2 * cells[i, j] + 1 - ends[s, j])) * scale[s, j])
