"""Memory of a release: bytes per cell or node, from public values only. No raw count decides here.

The bytes are upper bounds of measured peaks (``tests/synopses/boxes/test_bounded_memory.py``). Rows come on top: a
batch of them for a grid, up to `discreet.engines.readers.tree_rows.MEMORY` bytes for a tree.
"""

import math
from typing import Any

from discreet.core import WORKERS, Exact

GIB = 2**30


def memory_bytes(gib: Any) -> int:
    """Return a number of GiB in bytes."""
    return max(1, int(gib * GIB))


def cell_bytes(n_columns: int, *, means: bool = False) -> int:
    """Return the bytes of one listed cell of a grid: three corners, their copies, count and variance."""
    return 64 * n_columns + 80 + (8 * (n_columns + 2) * (WORKERS + 3) if means else 0)


def nested_bytes(n_columns: int, *, means: bool = False) -> int:
    """Return the bytes of one cell of a two-level grid, of either level: as a leaf and as a node."""
    return 72 * n_columns + 300 + (8 * (n_columns + 2) * (WORKERS + 3) if means else 0)


def node_bytes(n_columns: int, partitioner: str, *, means: bool = False) -> int:
    """Return the bytes of one node of a tree. A density tree holds a histogram of every axis of a level's nodes."""
    histograms = (240 + 32 * WORKERS) * n_columns if partitioner == "density" else 4 * WORKERS * n_columns
    lines = 1500 if partitioner in ("median", "quantile") else 0
    return 64 * n_columns + 400 + histograms + lines + (8 * (n_columns + 2) * (WORKERS + 3) if means else 0)


def listed_of_large(n_cells: int, n_rows: float, epsilon: Exact, cutoff: int, expected_survivors: float) -> float:
    """Return how many cells of a grid with a cutoff may be listed, in expectation, for the worst table with ``n_rows``.

    A cell of c <= τ rows is listed with a chance of at most α^(τ+1-c): by the row that is most at c = 1 or at c = τ +
    1.
    """
    alpha = 0.0 if epsilon == math.inf else math.exp(-float(epsilon))
    each = 1.0 if cutoff == 0 else max(alpha**cutoff, 1 / (cutoff + 1))
    empty = 0.0 if epsilon == math.inf else min(float(n_cells), expected_survivors)
    return min(float(n_cells), max(n_rows, 0.0) * each + empty)


def shown(n_bytes: float) -> str:
    """Return a size for a message."""
    return f"{n_bytes / GIB:,.2g} GiB" if n_bytes < 1000 * GIB else f"{n_bytes / GIB:,.0f} GiB"
