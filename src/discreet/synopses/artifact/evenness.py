"""How far rows may be from lying evenly in the leaves that a question cuts: a model read off neighbouring leaves.

A question that covers the share f of a leaf with w rows is answered by f·w. The truth differs for two reasons beside
the noise. Rows are few: of w rows that fall evenly, a share varies by w·f(1 - f). And the density inside is not even.
Of that the leaf itself says nothing, but its neighbours do:

- a straight line through the densities on both sides of an axis gives a slope; by it the share errs in a known
  direction, and along all cut leaves together (their slopes mostly agree);
- what the densities differ by on both sides is taken as the lumpiness of the leaf: κ w² f(1 - f) with κ between 0
  (even) and 1 (all rows in one place), the variance of a share under a Dirichlet process. Part of it is shared by all
  leaves cut at one place, because people round alike everywhere.

Everything is linear in the question, so that sums and differences of counts have the errors of what they cover: two
halves of a leaf make a whole, which errs by nothing. The constants were chosen on generated tables
(``benchmarks/tuning/evenness.py``). All of it is post-processing of published values.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial import cKDTree

from discreet.core.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from discreet.synopses.artifact.synopsis import Synopsis

Intervals: TypeAlias = list[tuple[float, float]]
Query: TypeAlias = dict[int, Intervals]
#: A sum of questions: coefficients, and what is asked; an empty question is about all rows.
Terms: TypeAlias = tuple[tuple[float, Query], ...]

#: Weights of the slope, of the lumpiness, and of its part that cut leaves share.
SLOPE, LUMPS, SHARED = 1.0, 0.5, 0.5
#: Leaves among which the one beside a leaf is looked for: those with the nearest middles.
_NEAREST = 8


class Neighbours:
    """The densities on both sides of leaves; looked up when a question first needs them, then kept.

    Parameters
    ----------
    synopsis : Synopsis
        Whose leaves.
    """

    def __init__(self, synopsis: Synopsis) -> None:
        self._synopsis = synopsis
        self._widths = synopsis.upper - synopsis.lower
        spans = synopsis.domain.high - synopsis.domain.low
        # Missing values sit far away; leaves without width have their neighbours' densities, but none of their own.
        scaled = np.nan_to_num(synopsis.lower + self._widths / 2, nan=-1e12)
        self._scaled, self._spans = scaled / spans, spans
        self._tree: cKDTree | None = None
        self._known: dict[int, tuple[FloatArray, FloatArray]] = {}

    def along(self, axis: int, leaves: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return slope (rows by which half of the leaf differs, doubled) and lumpiness κ of some leaves on an axis."""
        n = self._synopsis.n_leaves
        slope, lumps = self._known.setdefault(axis, (np.full(n, np.nan), np.full(n, np.nan)))
        new = leaves[np.isnan(slope[leaves])]
        if len(new):
            slope[new], lumps[new] = self._look(axis, new)
        return slope[leaves], lumps[leaves]

    def _look(self, axis: int, leaves: IntArray) -> tuple[FloatArray, FloatArray]:
        own = np.asarray(self._synopsis.weights, dtype=np.float64)[leaves]
        spread = self._synopsis.variances[leaves]
        sides = [self._beside(axis, leaves, side) for side in (-1, 1)]
        seen = [~np.isnan(weight) for weight, _, _ in sides]
        places = [np.where(ok, place, 0.0) for ok, (_, _, place) in zip(seen, sides, strict=True)]
        values = [np.where(ok, weight, own) for ok, (weight, _, _) in zip(seen, sides, strict=True)]
        apart = places[1] - places[0]
        rise = np.where(apart > 0, (values[1] - values[0]) / np.where(apart > 0, apart, 1.0), 0.0)
        most = np.maximum(own, 0.0)
        slope = np.clip(rise / 2, -most, most)
        heaps, met = np.zeros(len(leaves)), np.zeros(len(leaves))
        for ok, value, (_, variance, _) in zip(seen, values, sides, strict=True):
            differ = np.maximum((value - own) ** 2 - np.where(ok, variance, 0.0) - spread, 0.0)
            size = np.maximum(value, 0.0) + most
            heaps += np.where(ok, np.minimum(4 * differ / np.where(size > 0, size, 1.0) ** 2, 1.0), 0.0)
            met += ok
        # A leaf with nothing beside it was not cut on this axis: then nothing is known of it.
        lumps = np.where(met > 0, LUMPS * heaps / np.maximum(met, 1.0), 1.0)
        return slope, lumps

    def _beside(self, axis: int, leaves: IntArray, side: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows that a leaf would hold with its neighbour's density, their variance, and where it lies."""
        s, span = self._synopsis, float(self._spans[axis])
        end = (s.upper if side > 0 else s.lower)[leaves, axis]
        width = self._widths[leaves, axis]
        nothing = np.full(len(leaves), np.nan)
        column = s.domain.columns[axis]
        inside = (end < column.high) if side > 0 else (end > column.low)
        asked = np.flatnonzero(inside & (width > 0))
        if not len(asked):
            return nothing, nothing.copy(), nothing.copy()
        if self._tree is None:
            self._tree = cKDTree(self._scaled)
        points = self._scaled[leaves[asked]].copy()
        # Half a leaf further, as if the neighbour were as wide: its middle is near, if it is not much wider.
        points[:, axis] += side * width[asked] / span
        nearest = self._tree.query(points, k=min(_NEAREST, s.n_leaves))[1].reshape(len(asked), -1)
        touch = points * self._spans
        touch[:, axis] = end[asked] + side * 1e-6 * width[asked]
        holds = np.ones(nearest.shape, dtype=bool)
        for j in range(len(s.domain)):
            gone = np.isnan(s.lower[leaves[asked], j])[:, None]
            low, high = s.lower[nearest, j], s.upper[nearest, j]
            at = touch[:, j][:, None]
            flat = (low == high) & (at == low)
            holds &= np.where(gone, np.isnan(low), ((low <= at) & (at < high)) | flat)
        found = holds.any(axis=1)
        chosen = nearest[np.arange(len(asked)), holds.argmax(axis=1)]
        ratio = np.ones(len(asked))
        for j in range(len(s.domain)):
            mine, theirs = self._widths[leaves[asked], j], self._widths[chosen, j]
            usable = (mine > 0) & (theirs > 0)
            ratio *= np.where(usable, mine / np.where(usable, theirs, 1.0), 1.0)
        weight, variance, place = nothing, nothing.copy(), nothing.copy()
        far = 0.5 + 0.5 * self._widths[chosen, axis] / width[asked]
        # A cell that is not listed has hardly any rows.
        empty = s.hidden is not None
        weight[asked] = np.where(found, s.weights[chosen] * ratio, 0.0 if empty else np.nan)
        variance[asked] = np.where(found, s.variances[chosen] * ratio**2, 0.0)
        place[asked] = side * np.where(found, far, 1.0)
        return weight, variance, place


def axis_share(lower: FloatArray, upper: FloatArray, intervals: Intervals, end: float) -> FloatArray:
    """Return which part of each leaf lies in the intervals of one axis; a leaf of missing values in (NaN, NaN) alone.

    ``end`` is the upper end of the axis: a leaf without width there belongs to an interval that ends there.
    """
    width = upper - lower
    flat = width == 0
    share = np.zeros(len(lower))
    for low, high in intervals:
        if math.isnan(low):
            share += np.isnan(lower)
            continue
        overlap = np.minimum(upper, high) - np.maximum(lower, low)
        inside = (lower >= low) & ((lower < high) | ((lower == high) & (high >= end)))
        part = np.where(flat, inside, np.maximum(overlap, 0.0) / np.where(flat, 1.0, width))
        share += np.nan_to_num(part, nan=0.0)
    return np.minimum(share, 1.0)


def shares(synopsis: Synopsis, query: Query, leaves: IntArray | slice = slice(None)) -> FloatArray:
    """Return which part of each leaf a question covers."""
    covered = np.ones(len(synopsis.weights[leaves]))
    for axis, intervals in query.items():
        end = synopsis.domain.columns[axis].high
        covered *= axis_share(synopsis.lower[leaves, axis], synopsis.upper[leaves, axis], intervals, end)
    return covered


def both(one: Query, other: Query) -> Query:
    """Return the question about rows that both cover."""
    met = {**one, **other}
    for axis in one.keys() & other.keys():
        pairs = [(max(a, c), min(b, d)) for a, b in one[axis] for c, d in other[axis]]
        kept = [(a, b) for a, b in pairs if a < b]
        if any(math.isnan(a) for a, _ in one[axis]) and any(math.isnan(c) for c, _ in other[axis]):
            kept.append((math.nan, math.nan))
        met[axis] = kept
    return met


def variance(synopsis: Synopsis, terms: Terms, covered: list[FloatArray], leaves: IntArray | None = None) -> float:
    """Return the variance that unevenness inside leaves gives to a sum of questions.

    Parameters
    ----------
    synopsis : Synopsis
        What is asked.
    terms : Terms
        The sum.
    covered : list of array
        `shares` of each of its questions.
    leaves : array of int, optional
        The leaves that ``covered`` is about; all by default.
    """
    mixed = reduce(np.logical_or, [(f > 0) & (f < 1) for f in covered])
    within = np.flatnonzero(mixed)
    if not len(within):
        return 0.0
    cut: IntArray = within if leaves is None else leaves[within]
    parts = [f[within] for f in covered]
    whole = sum((c * f for (c, _), f in zip(terms, parts, strict=True)), np.zeros(len(cut)))
    spread = -(whole**2)
    for i, (c, query) in enumerate(terms):
        spread += c * c * parts[i]
        for other, more in terms[i + 1 :]:
            met = both(query, more)
            if all(met.values()):  # boxes of one question do not overlap
                spread += 2 * c * other * shares(synopsis, met, cut)
    spread = np.maximum(spread, 0.0)
    spread[spread < 1e-12] = 0.0
    lean = 0.0
    lumps = np.zeros(len(cut))
    near = synopsis.neighbours
    tilts: dict[int, FloatArray] = {}
    for (c, query), f in zip(terms, parts, strict=True):
        for axis, intervals in query.items():
            lower, upper = synopsis.lower[cut, axis], synopsis.upper[cut, axis]
            along = axis_share(lower, upper, intervals, synopsis.domain.columns[axis].high)
            rest = np.divide(f, along, out=np.zeros(len(cut)), where=along > 0)
            tilts[axis] = tilts.get(axis, np.zeros(len(cut))) + c * rest * _tilt(lower, upper, intervals)
            split = np.flatnonzero((along > 0) & (along < 1))
            if len(split):
                lumps[split] = np.maximum(lumps[split], near.along(axis, cut[split])[1])
    for axis, tilt in tilts.items():
        leaning = np.flatnonzero(np.abs(tilt) > 1e-12)
        if len(leaning):
            lean += float(near.along(axis, cut[leaning])[0] @ tilt[leaning])
    weights = np.maximum(np.asarray(synopsis.weights, dtype=np.float64)[cut], 0.0)
    return together(weights, spread, lumps, lean)


def together(weights: FloatArray, spread: FloatArray, lumps: FloatArray, lean: float) -> float:
    """Return the variance of a sum over leaves: of slopes, of lumps that are shared or not, of rows being few."""
    heaps = lumps * weights**2 * spread
    # A leaf that was never cut on an axis says the same of all: nothing. Then all may err together.
    alike = np.where(lumps >= 1.0, 1.0, SHARED)
    common = float((alike * np.sqrt(heaps)).sum())
    return float((SLOPE * lean) ** 2 + common**2 + ((1 - alike**2) * heaps).sum() + weights @ spread)


def _tilt(lower: FloatArray, upper: FloatArray, intervals: Intervals) -> FloatArray:
    """Return the integral of 2u - 1 over the intervals, u being the place in the leaf from 0 to 1."""
    width = upper - lower
    tilt = np.zeros(len(lower))
    flat = ~(width > 0)
    for low, high in intervals:
        if math.isnan(low):
            continue
        a, b = (np.clip((x - lower) / np.where(flat, 1.0, width), 0.0, 1.0) for x in (low, high))
        tilt += np.where(flat, 0.0, (b * b - a * a) - (b - a))
    return tilt
