"""A public density from public points: a mixture of histograms of every resolution.

A remap needs the density *between* the prior's points too; bare points would attract everything. The density is a
mixture over levels l = 0, 1, ...: the box cut into 2^l cells per axis, each with its share of the points; level 0 is
uniform. The levels' shares θ are those with which one half of the points predicts the other half best (EM for mixture
weights).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, inlined, jit

#: No cell is finer than 2^-24 of the box, and none smaller than a quarter of the noise's scale helps.
_MOST_LEVELS = 24
_ROUNDS = 60
_FREE = np.int64(-1)


@dataclass(frozen=True, eq=False)
class HistogramMixture:
    """A mixture of histograms of the box ``low``, ``low + width``; ``theta`` are the levels' shares.

    ``tables`` has for every level an open hash table of its occupied cells. ``shares`` has for every slot θ times the
    cell's share of the points over its share of the box.
    """

    low: FloatArray
    width: FloatArray
    theta: FloatArray
    tables: IntArray
    shares: FloatArray

    def log_at(self, points: FloatArray) -> FloatArray:
        """Return ln of the density at points; -inf outside the box."""
        out = np.empty(len(points))
        log_densities(np.ascontiguousarray(points), self.low, self.width, self.tables, self.shares, out)
        return out


def fit_density(
    points: FloatArray, weights: FloatArray, low: FloatArray, high: FloatArray, finest: float
) -> HistogramMixture:
    """Fit the mixture to public points.

    Points outside the box ``low``, ``high`` are moved to its faces. Cells need not be narrower than ``finest``.
    """
    width = high - low
    levels = min(max(math.ceil(math.log2(max(float(width.max()) / finest, 1.0))), 0), _MOST_LEVELS) + 1
    unit = np.clip((points - low) / width, 0, np.nextafter(1, 0))
    keys = [_keys(unit, level) for level in range(levels)]
    counted = np.arange(len(points)) % 2 == 0  # every other point: the caller's order is public
    theta = np.eye(levels)[-1] if len(points) < 4 else _mixture(keys, weights, counted, len(width))
    theta[0] = max(theta[0], 1e-6)  # no place of the box is impossible
    theta = np.asarray(theta / theta.sum())
    tables, shares = [], []
    slots = 1 << max(4, math.ceil(math.log2(2 * len(points) + 1)))
    for level, own in enumerate(keys[: len(theta)]):
        cells, inverse = np.unique(own, return_inverse=True)
        mass = np.bincount(inverse.ravel(), weights) / weights.sum()
        table, share = np.full(slots, _FREE), np.zeros(slots)
        _fill(cells, theta[level] * mass * _cells(level, len(width)), table, share)
        tables.append(table)
        shares.append(share)
    return HistogramMixture(low, width, theta, np.array(tables), np.array(shares))


def _keys(unit: FloatArray, level: int) -> IntArray:
    keys = np.empty(len(unit), np.int64)
    _make_keys(np.ascontiguousarray(unit), 1 << level, keys)
    return keys


def _cells(level: int, d: int) -> float:
    """Return the number of cells of a level; 0, for no share, if it does not fit into doubles."""
    return 2.0 ** (level * d) if level * d < 1000 else 0.0


def _mixture(keys: list[Any], weights: FloatArray, counted: Any, d: int) -> FloatArray:
    """Return the levels' shares with which the counted points predict the others best."""
    other = ~counted
    densities = np.empty((int(other.sum()), len(keys)))
    whole = weights[counted].sum()
    for level, own in enumerate(keys):
        cells, inverse = np.unique(own[counted], return_inverse=True)
        mass = np.bincount(inverse.ravel(), weights[counted]) / whole if whole > 0 else np.zeros(len(cells))
        place = np.minimum(np.searchsorted(cells, own[other]), len(cells) - 1)
        found = np.where(cells[place] == own[other], mass[place], 0.0)
        densities[:, level] = found * _cells(level, d)
    densities[:, 0] = 1.0  # the flat density holds for every point
    theta = np.full(len(keys), 1 / len(keys))
    share = weights[other] / weights[other].sum() if weights[other].sum() > 0 else np.full(int(other.sum()), 1.0)
    for _ in range(_ROUNDS):
        own_part = densities * theta
        own_part /= own_part.sum(axis=1, keepdims=True)
        theta = share @ own_part
        theta /= theta.sum()
    return np.asarray(theta)


@inlined
def _mixed(key: Any, cell: Any) -> Any:  # pragma: no cover
    """Fold one axis' cell number into a key: multiply and rotate by odd constants, in 64 bits."""
    x = np.uint64(key) ^ (np.uint64(cell) + np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> np.uint64(31))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@jit
def _make_keys(unit: Any, cells: int, out: Any) -> None:  # pragma: no cover
    for i in range(unit.shape[0]):
        key = np.int64(cells)
        for j in range(unit.shape[1]):
            key = _mixed(key, np.int64(unit[i, j] * cells))
        out[i] = key


@jit
def _fill(cells: Any, shares: Any, table: Any, out: Any) -> None:  # pragma: no cover
    mask = table.shape[0] - 1
    for i in range(cells.shape[0]):
        slot = cells[i] & mask
        while table[slot] != -1:
            slot = (slot + 1) & mask
        table[slot] = cells[i]
        out[slot] = shares[i]


@jit
def density_at(point: Any, low: Any, width: Any, tables: Any, shares: Any) -> float:  # pragma: no cover
    """Return the density at one point, times the volume of the box."""
    d, mask = point.shape[0], tables.shape[1] - 1
    for j in range(d):
        if point[j] < low[j] or point[j] > low[j] + width[j]:
            return 0.0
    total = 0.0
    for level in range(tables.shape[0]):
        cells = np.int64(1) << level
        key = cells
        for j in range(d):
            cell = np.int64((point[j] - low[j]) / width[j] * cells)
            key = _mixed(key, min(cell, cells - 1))
        slot = key & mask
        while tables[level, slot] != -1 and tables[level, slot] != key:
            slot = (slot + 1) & mask
        if tables[level, slot] == -1:
            break  # an empty cell has no occupied part
        total += shares[level, slot]
    return total


@jit
def log_densities(points: Any, low: Any, width: Any, tables: Any, shares: Any, out: Any) -> None:  # pragma: no cover
    """Return ln of the density at many points."""
    log_volume = np.log(width).sum()
    for i in range(points.shape[0]):
        found = density_at(points[i], low, width, tables, shares)
        out[i] = math.log(found) - log_volume if found > 0 else -math.inf
