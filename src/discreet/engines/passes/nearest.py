"""The cell map of k-means: a row belongs to its nearest centre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import Domain, FloatArray, IntArray, jit
from discreet.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class NearestMap:
    """Cells around centres: each row belongs to the nearest one, and to the first of several at the same distance.

    Coordinates are clamped first. A row with a missing value has no cell. The box of every cell is the whole domain, so
    `Source.sums` adds up places relative to the domain.
    """

    domain: Domain
    centers: FloatArray
    units: FloatArray

    def __init__(self, domain: Domain, centers: Any, units: Any = None) -> None:
        places = np.array(centers, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != len(domain) or not len(places) or not np.isfinite(places).all():
            raise InvalidArgument(
                "centers", places.shape, f"a table of finite numbers with {len(domain)} columns", "centers=[[0.0, 0.0]]"
            )
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "centers", places)
        object.__setattr__(self, "units", np.ones(len(domain)) if units is None else np.array(units, dtype=np.float64))

    @property
    def n_cells(self) -> int:
        return len(self.centers)

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the nearest centre of each row, -1 where a value is missing."""
        return nearest_rows(self._scaled(columns), self.centers / self.units)

    def distances(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the distance of each row to each centre, NaN where a value is missing."""
        return _distances(self._scaled(columns), self.centers / self.units)

    def boxes(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Return the whole domain for every cell: that is where its rows may lie."""
        shape = (len(np.asarray(cells)), len(self.domain))
        return np.broadcast_to(self.domain.low, shape).copy(), np.broadcast_to(self.domain.high, shape).copy()

    def _scaled(self, columns: Sequence[FloatArray]) -> FloatArray:
        return self.domain.clamp(np.column_stack(list(columns))) / self.units


@jit
def nearest_rows(rows: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest of some centres for each row, the first of several; -1 where a value is missing."""
    ids = np.empty(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        best, label = np.inf, -1
        for k in range(centers.shape[0]):
            distance = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - centers[k, j]
                distance += gap * gap
            if distance < best:  # never true with a missing value
                best, label = distance, k
        ids[i] = label
    return ids


@jit
def _distances(rows: FloatArray, centers: FloatArray) -> FloatArray:
    out = np.empty((rows.shape[0], centers.shape[0]))
    for i in range(rows.shape[0]):
        for k in range(centers.shape[0]):
            distance = 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] - centers[k, j]
                distance += gap * gap
            out[i, k] = np.sqrt(distance)
    return out
