"""Kernels that turn coordinates into cell numbers and cell numbers into counts.

All engines use these, so they agree exactly. They are compiled without fast-math, so results do not depend on the
machine.
"""

from typing import Any

import numpy as np

from discreet.core import BoolArray, FloatArray, IntArray, few, jit


def add_axis(ids: IntArray, x: Any, low: float, width: float, parts: int, own: bool) -> None:
    """Append one axis to the cell numbers; see `append_axis`, which takes longer to compile than few rows take here."""
    if not few(append_axis, ids.size):
        append_axis(ids, x, low, width, parts, own)
        return
    with np.errstate(all="ignore"):
        t = (np.asarray(x, np.float64) - low) / width * float(parts)
    inside = (t > 0.0) & (t < float(parts))
    cell = np.fmin(np.where(inside, t, 0.0).astype(np.int64), parts - 1)
    cell[t >= float(parts)] = parts - 1
    cell[np.isnan(t)] = parts if own else -1
    ids[:] = np.where((ids >= 0) & (cell >= 0), ids * (parts + own) + cell, -1)


def add_counts(counts: IntArray, ids: IntArray) -> None:
    """Count every row that was not dropped."""
    if not few(add_dense, ids.size):
        add_dense(counts, ids)
    else:
        np.add.at(counts, ids[ids >= 0], 1)


@jit
def append_axis(ids: IntArray, x: Any, low: float, width: float, parts: int, own: bool) -> None:
    """Append one axis to the cell numbers, as the least significant digit: id -> id (parts + own) + cell.

    A missing coordinate (NaN) gets the cell ``parts`` if the axis has one for it; otherwise the row is dropped (-1).
    """
    scale = float(parts)
    radix = parts + 1 if own else parts
    missing = parts if own else -1
    for i in range(ids.size):
        t = (x[i] - low) / width * scale
        if t != t:
            cell = missing
        elif t <= 0.0:
            cell = 0
        elif t >= scale:
            cell = parts - 1
        else:
            # Beyond 2**53 parts the float `scale` may exceed the integer `parts`.
            cell = min(int(t), parts - 1)
        ids[i] = ids[i] * radix + cell if ids[i] >= 0 and cell >= 0 else -1


@jit
def drop_rows(block: FloatArray, drops: BoolArray) -> IntArray:  # pragma: no cover
    """Return 0 for every row, -1 where a column that drops rows has a missing value."""
    ids = np.zeros(block.shape[0], np.int64)
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            if drops[j] and block[i, j] != block[i, j]:
                ids[i] = -1
    return ids


@jit
def add_dense(counts: IntArray, ids: IntArray) -> None:
    """Count every row that was not dropped."""
    for cell in ids:
        if cell >= 0:
            counts[cell] += 1


@jit
def count_runs(ids: IntArray, spare: IntArray, bits: int) -> tuple[IntArray, IntArray]:
    """Sort cell numbers below 2**bits and count each: cells ascending, counts.

    This is a radix sort by eleven bits; it overwrites ``ids`` and ``spare``. The number of passes depends on the number
    of cells only, which is public.
    """
    for shift in range(0, bits, 11):
        places = np.zeros(2049, np.int64)
        for cell in ids:
            places[((cell >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            places[digit + 1] += places[digit]
        for cell in ids:
            digit = (cell >> shift) & 2047
            spare[places[digit]] = cell
            places[digit] += 1
        ids, spare = spare, ids
    n_runs = 0
    for i in range(ids.size):
        n_runs += i == 0 or ids[i] != ids[i - 1]
    cells, counts = np.empty(n_runs, np.int64), np.zeros(n_runs, np.int64)
    run = -1
    for i in range(ids.size):
        if i == 0 or ids[i] != ids[i - 1]:
            run += 1
            cells[run] = ids[i]
        counts[run] += 1
    return cells, counts


@jit
def merge_sparse(
    cells: IntArray, counts: IntArray, more_cells: IntArray, more_counts: IntArray
) -> tuple[IntArray, IntArray]:
    """Add two sorted sparse count vectors in one walk along both."""
    out_cells = np.empty(cells.size + more_cells.size, np.int64)
    out_counts = np.empty(cells.size + more_cells.size, np.int64)
    i = j = k = 0
    while i < cells.size and j < more_cells.size:
        # Without branches: which side comes first is a coin flip that no processor can foresee.
        ours, theirs = int(cells[i] <= more_cells[j]), int(more_cells[j] <= cells[i])
        out_cells[k] = min(cells[i], more_cells[j])
        out_counts[k] = ours * counts[i] + theirs * more_counts[j]
        i, j, k = i + ours, j + theirs, k + 1
    for rest in range(i, cells.size):
        out_cells[k], out_counts[k] = cells[rest], counts[rest]
        k += 1
    for rest in range(j, more_cells.size):
        out_cells[k], out_counts[k] = more_cells[rest], more_counts[rest]
        k += 1
    return out_cells[:k], out_counts[:k]  # memory beyond k was never touched, so it costs nothing
