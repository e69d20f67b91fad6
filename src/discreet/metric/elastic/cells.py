"""Cells of a map that are small where many people live, and the graph of their neighbours.

A cell is a square (an interval, a cube) of the tree that halves every axis at once, on the grid of people. Full ones
are halved first, so a thousand cells are enough for a city and its surroundings.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from discreet.core import FloatArray, IntArray, later
from discreet.metric.elastic.people import PeopleGrid

csgraph = later("scipy.sparse.csgraph")
sparse = later("scipy.sparse")
spatial = later("scipy.spatial")

#: Lengths of edges are multiples of this: sums of them are exact in doubles, and so is the triangle inequality.
GRAIN = 2.0**-30
#: Cells are neighbours if their middles are within 2.25 mean sides. That is more than the root of
#: three, so cells which touch are; on an even grid it is a knight's move: paths are within three percent of straight.
_NEIGHBOURS = 2.25
#: Weight of the area relative to that of the people, when cells are made.
_OPEN_LAND = 0.1


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells in scaled units: corners, the cell of each square of the grid, people, and pairs of neighbours."""

    lower: FloatArray
    upper: FloatArray
    owner: IntArray
    people: FloatArray
    edges: IntArray

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def middles(self) -> FloatArray:
        return np.asarray((self.lower + self.upper) / 2)

    @property
    def volumes(self) -> FloatArray:
        """Lengths, areas or volumes."""
        return np.asarray(np.prod(self.upper - self.lower, axis=1))

    @property
    def sides(self) -> FloatArray:
        """The longest sides."""
        return np.asarray((self.upper - self.lower).max(axis=1))

    def paths(self, rates: FloatArray) -> FloatArray:
        """Return the lengths of all shortest paths, exactly; a step costs its length times the mean rate."""
        a, b = self.edges
        steps = np.linalg.norm(self.middles[a] - self.middles[b], axis=1) * (rates[a] + rates[b]) / 2
        steps = np.maximum(np.ceil(steps / GRAIN), 1) * GRAIN
        return np.asarray(csgraph.dijkstra(sparse.csr_matrix((steps, (a, b)), (len(self),) * 2), directed=False))


def cut(grid: PeopleGrid, widths: FloatArray, most: int) -> Cells:
    """Cut the box into at most ``most`` cells, finer where there are more people."""
    levels, corners = _leaves(grid.counts, most)
    sides = np.asarray(grid.side * 2.0**levels, np.float64)
    lower = corners * sides[:, None]
    upper = np.minimum(lower + sides[:, None], widths)
    owner = np.empty(grid.counts.shape, np.int64)
    for cell, (level, corner) in enumerate(zip(levels, corners, strict=True)):
        owner[tuple(slice(int(c) << level, (int(c) + 1) << level) for c in corner)] = cell
    people = np.bincount(owner.ravel(), grid.counts.ravel(), len(levels)).astype(np.float64)
    return Cells(lower, upper, owner, people, _edges(lower + sides[:, None] / 2, sides))


def _leaves(counts: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """Return levels and corners of the cells. The fullest cell is halved along every axis until there are enough.

    Land counts a little, so that empty country is not one cell.
    """
    n, whole = counts.ndim, 1 << int(max(counts.shape) - 1).bit_length()
    share, inside = np.zeros((whole,) * n), tuple(slice(0, k) for k in counts.shape)
    share[inside] = counts / counts.sum() + _OPEN_LAND / counts.size
    shares = [share]
    while shares[-1].shape[0] > 1:
        for axis in range(n):
            before = (slice(None),) * axis
            share = share[(*before, slice(0, None, 2))] + share[(*before, slice(1, None, 2))]
        shares.append(share)
    offsets = [tuple(int(o) for o in corner) for corner in np.indices((2,) * n).reshape(n, -1).T]
    waiting: list[tuple[float, int, tuple[int, ...]]] = [(-1.0, len(shares) - 1, (0,) * n)]
    found: list[tuple[int, tuple[int, ...]]] = []
    while waiting:
        _, level, corner = heapq.heappop(waiting)
        inner = [tuple(2 * c + o for c, o in zip(corner, offset, strict=True)) for offset in offsets]
        inner = [part for part in inner if level and shares[level - 1][part] > 0]  # what is 0 lies outside the box
        if not inner or len(found) + len(waiting) + len(inner) > most:
            found.append((level, corner))
            continue
        for part in inner:
            heapq.heappush(waiting, (-float(shares[level - 1][part]), level - 1, part))
    found.sort(key=lambda leaf: (-leaf[0], leaf[1]))
    return np.array([level for level, _ in found]), np.array([corner for _, corner in found])


def _edges(middles: FloatArray, sides: FloatArray) -> IntArray:
    """Return the pairs of neighbours, each once."""
    lists = spatial.cKDTree(middles).query_ball_point(middles, _NEIGHBOURS * sides)
    a = np.repeat(np.arange(len(middles)), [len(found) for found in lists])
    b = np.concatenate([np.asarray(found, np.int64) for found in lists])
    kept = np.linalg.norm(middles[a] - middles[b], axis=1) <= _NEIGHBOURS * (sides[a] + sides[b]) / 2
    a, b = a[kept & (a != b)], b[kept & (a != b)]
    pairs = np.unique(np.minimum(a, b) * len(middles) + np.maximum(a, b))
    return np.stack([pairs // len(middles), pairs % len(middles)])
