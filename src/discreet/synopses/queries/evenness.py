"""The error of assuming that rows are uniform inside the leaves that a question cuts, estimated from neighbours.

A question that covers the share f of a leaf with w rows is answered by f·w. Rows are few (w·f(1 - f)), and not uniform:

- A line through the densities on both sides gives a slope, by which the share errs in a known direction.
- The excess over the mean of the neighbours is its lumpiness: κ w² f(1 - f), the variance of a share under a Dirichlet
  process, without what noise explains. At the end of the rows a leaf is also compared with the line through the two
  leaves on its other side.
- Leaves at one cut err alike, because people round alike everywhere: by their common difference from both sides, by the
  roughness of the axis, and by the numbers that rows may be rounded to (`roughness.py`).
- A leaf that was never split on an axis shows nothing: all its rows may be on one side.

The model is linear in the places where a question cuts leaves, so sums and differences of counts have the errors of
what they cover. The constants were chosen on generated tables (``benchmarks/tuning/evenness.py``). Post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core import Categorical, Code, Column, Date, FloatArray, IntArray, Integer, Intervals, by_days, later
from discreet.synopses.queries import roughness

spatial = later("scipy.spatial")

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

#: Of neighbours on one side: rows, their variance, where each lies, in widths of the leaf, and its number or -1.
_Side: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, IntArray]
Query: TypeAlias = dict[int, Intervals]
#: A sum of questions: coefficients, and what is asked; an empty question is about all rows.
Terms: TypeAlias = tuple[tuple[float, Query], ...]

#: Weights of what one leaf differs by from its neighbours, of what all leaves at a cut do, and of a whole axis.
ALONE, CUT, AXIS = 0.5, 0.25, 0.25
#: Candidates for a neighbour: this number of leaves with the nearest middles.
_NEAREST = 8
#: A neighbour with less than this part of a leaf's density ends the rows.
_ENDED = 0.125
#: Parts of a leaf's width that are rounding.
_EDGE = 1e-12


class Around(NamedTuple):
    """The neighbours of leaves on one axis, in rows of the leaf itself."""

    #: Rows by which half of the leaf differs, doubled.
    slope: FloatArray
    #: What the leaf has more than the mean of its neighbours, and the variance that noise gives to it and to the slope.
    bend: FloatArray
    bend_noise: FloatArray
    slope_noise: FloatArray
    #: True without neighbours: the leaf was not split on this axis.
    alone: NDArray[np.bool_]

    def at(self, places: IntArray) -> Around:
        """Return some of them."""
        return Around._make(part[places] for part in self)


class Neighbours:
    """The leaves on both sides of each leaf, found when a question first needs them."""

    def __init__(self, synopsis: Synopsis) -> None:
        self._synopsis = synopsis
        self._widths = synopsis.upper - synopsis.lower
        spans = synopsis.domain.high - synopsis.domain.low
        # Missing values sit far away; leaves without width have their neighbours' densities, but none of their own.
        scaled = np.nan_to_num(synopsis.lower + self._widths / 2, nan=-1e12)
        self._scaled, self._spans = scaled / spans, spans
        self._tree: Any | None = None
        self._known: dict[int, tuple[IntArray, Around]] = {}
        self._axes: dict[int, roughness.Axis] = {}

    def along(self, axis: int, leaves: IntArray) -> Around:
        """Return the neighbours of some leaves on an axis."""
        n = self._synopsis.n_leaves
        if axis not in self._known:
            empty = np.zeros(0)
            self._known[axis] = np.full(n, -1), Around(empty, empty, empty, empty, empty.astype(bool))
        where, held = self._known[axis]
        new = leaves[where[leaves] < 0]
        if len(new):
            where[new] = len(held.slope) + np.arange(len(new))
            found = self._look(axis, new)
            held = Around(*(np.concatenate(parts) for parts in zip(held, found, strict=True)))
            self._known[axis] = where, held
        return held.at(where[leaves])

    def _look(self, axis: int, leaves: IntArray) -> Around:
        own = np.asarray(self._synopsis.weights, dtype=np.float64)[leaves]
        spread = self._synopsis.variances[leaves]
        sides = [self._beside(axis, leaves, side) for side in (-1, 1)]
        seen = [~np.isnan(weight) for weight, *_ in sides]
        met = seen[0].astype(np.float64) + seen[1]
        places = [np.where(ok, side[2], 0.0) for ok, side in zip(seen, sides, strict=True)]
        values = [np.where(ok, side[0], own) for ok, side in zip(seen, sides, strict=True)]
        noises = [np.where(ok, side[1], 0.0) for ok, side in zip(seen, sides, strict=True)]
        apart = places[1] - places[0]
        reach = np.where(apart > 0, apart, np.inf)
        most = np.maximum(own, 0.0)
        slope = np.clip((values[1] - values[0]) / reach / 2, -most, most)
        both = np.where(met == 2, sum(noises), np.where(met == 1, sum(noises) + spread, 0.0))
        parts = np.maximum(met, 1.0)
        mean = sum(np.where(ok, v, 0.0) for ok, v in zip(seen, values, strict=True)) / parts
        bend, bend_noise = np.where(met > 0, own - mean, 0.0), spread + sum(noises) / parts**2
        for k, side in enumerate((-1, 1)):
            outer = sides[1 - k][0]
            ends = np.flatnonzero(seen[k] & (sides[k][3] >= 0) & ~(outer >= _ENDED * own))
            line, noise = self._line(axis, side, sides[k], ends)
            off = own[ends] - line
            wider = np.abs(off) > np.abs(bend[ends])
            bend[ends[wider]], bend_noise[ends[wider]] = off[wider], (spread[ends] + noise)[wider]
        return Around(slope, bend, bend_noise, both / (2 * reach) ** 2, met == 0)

    def _line(self, axis: int, side: int, around: _Side, ends: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows that leaves would hold by the line through two leaves on one side, and their variance."""
        near, noise, place = (part[ends] for part in around[:3])
        chosen = around[3][ends]
        far, far_noise, apart, _ = self._beside(axis, chosen, side)
        # In rows and widths of the leaf itself, not of its neighbour.
        rows = np.asarray(self._synopsis.weights, dtype=np.float64)[chosen]
        scale = np.where(rows != 0, near / np.where(rows != 0, rows, 1.0), 1.0)
        step = np.abs(apart) * (2 * np.abs(place) - 1)
        known = np.isfinite(far) & (step > 0)
        by = np.where(known, np.abs(place) / np.where(known, step, 1.0), 0.0)
        line = (1 + by) * near - by * np.nan_to_num(far) * scale
        return np.maximum(line, 0.0), (1 + by) ** 2 * noise + by**2 * np.nan_to_num(far_noise) * scale**2

    def axis(self, axis: int) -> roughness.Axis:
        """Return what the counts of whole slabs say of an axis."""
        if axis not in self._axes:
            self._axes[axis] = roughness.read(self._synopsis, axis)
        return self._axes[axis]

    def _beside(self, axis: int, leaves: IntArray, side: int) -> _Side:
        """Return the rows that a leaf would hold with its neighbour's density, their variance, its place and number."""
        s, span = self._synopsis, float(self._spans[axis])
        end = (s.upper if side > 0 else s.lower)[leaves, axis]
        width = self._widths[leaves, axis]
        nothing, which = np.full(len(leaves), np.nan), np.full(len(leaves), -1)
        column = s.domain.columns[axis]
        inside = (end < column.high) if side > 0 else (end > column.low)
        asked = np.flatnonzero(inside & (width > 0))
        if not len(asked):
            return nothing, nothing.copy(), nothing.copy(), which
        if self._tree is None:
            self._tree = spatial.cKDTree(self._scaled)
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
        which[asked] = np.where(found, chosen, -1)
        return weight, variance, place, which


def axis_share(lower: FloatArray, upper: FloatArray, intervals: Intervals, column: Column) -> FloatArray:
    """Return which part of each leaf lies in the intervals of one axis; a leaf of missing values in (NaN, NaN) alone.

    A leaf without width at the upper end of the axis belongs to an interval that ends there.
    """
    end = column.high
    if isinstance(column, Date):
        lower, upper = by_days(column, lower), by_days(column, upper)
        intervals = [tuple(by_days(column, pair).tolist()) for pair in intervals]
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
        column = synopsis.domain.columns[axis]
        covered *= axis_share(synopsis.lower[leaves, axis], synopsis.upper[leaves, axis], intervals, column)
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


def is_part(one: Terms, other: Terms) -> bool:
    """Return whether questions are known to count some of the rows that others count, each of them once."""
    if any(c != 1 for c, _ in (*one, *other)):
        return False
    if any(all(both(q, r).values()) for (_, q), (_, r) in combinations(one, 2)):
        return False

    def inside(query: Query, box: Query) -> bool:
        held = ((query.get(axis, [(-math.inf, math.inf)]), on) for axis, on in box.items())
        return all(any(c <= a and b <= d for c, d in on) for pairs, on in held for a, b in pairs)

    return all(any(inside(query, box) for _, box in other) for _, query in one)


class Valued(NamedTuple):
    """Rows that count by how far their value on an axis is from some middle, as in a mean."""

    axis: int
    middle: float


def variances(
    synopsis: Synopsis, terms: Terms, covered: list[FloatArray], whole: FloatArray, leaves: IntArray | None = None
) -> tuple[float, float]:
    """Return the variances that the noise and what is assumed give to a sum of questions.

    ``whole`` is the share of each leaf that the sum covers.
    """
    every = slice(None) if leaves is None else leaves
    uneven = variance(synopsis, terms, covered, leaves) if covered else 0.0
    return float(whole**2 @ synopsis.variances[every]), uneven + _lumps(synopsis, terms, every)


def _lumps(synopsis: Synopsis, terms: Terms, leaves: Any) -> float:
    """Return the variance of codes: all rows of a leaf that a question cuts, or none, may have the codes asked for."""
    most = np.zeros(len(synopsis.weights[leaves]))
    for factor, query in terms:
        for axis in (j for j in query if isinstance(synopsis.domain.columns[j], Code)):
            part = shares(synopsis, {axis: query[axis]}, leaves)
            rest = shares(synopsis, {j: on for j, on in query.items() if j != axis}, leaves)
            most = np.maximum(most, abs(factor) * rest * ((part > 1e-9) & (part < 1 - 1e-9)))
    # Two deviations: what these leaves hold at most, up to noise.
    held = max(float(most @ synopsis.weights[leaves]), 0.0)
    return (held / 2 + math.sqrt(float(most**2 @ synopsis.variances[leaves]))) ** 2


def variance(
    synopsis: Synopsis,
    terms: Terms,
    covered: list[FloatArray],
    leaves: IntArray | None = None,
    valued: Valued | None = None,
) -> float:
    """Return the variance that unevenness inside leaves gives to a sum of questions.

    ``covered`` holds the `shares` of each question of the sum, about ``leaves`` (all by default). With ``valued`` rows
    count by their value, and only the cuts contribute.
    """
    mixed = reduce(np.logical_or, [(f > 0) & (f < 1) for f in covered])
    within = np.flatnonzero(mixed)
    if not len(within):
        return 0.0
    cut: IntArray = within if leaves is None else leaves[within]
    parts = [f[within] for f in covered]
    made = sum(_of_cuts(synopsis, axis, cut, at) for axis, at in _cuts(synopsis, terms, parts, cut, valued))
    if valued is not None:
        return made
    whole = sum((c * f for (c, _), f in zip(terms, parts, strict=True)), np.zeros(len(cut)))
    spread = -(whole**2)
    for i, (c, query) in enumerate(terms):
        spread += c * c * parts[i]
        for other, more in terms[i + 1 :]:
            met = both(query, more)
            if all(met.values()):  # boxes of one question do not overlap
                spread += 2 * c * other * shares(synopsis, met, cut)
    spread[spread < 1e-12] = 0.0
    return made + float(np.maximum(synopsis.weights[cut], 0.0) @ spread)


def _cuts(
    synopsis: Synopsis, terms: Terms, parts: list[FloatArray], cut: IntArray, valued: Valued | None
) -> Iterator[tuple[int, dict[float, FloatArray]]]:
    """Give, by axis, the places where a sum of questions cuts leaves, and what a row below them counts in each leaf.

    A place that two questions share from both sides has no part in their sum.
    """
    found: dict[int, dict[float, FloatArray]] = {}
    for (c, query), f in zip(terms, parts, strict=True):
        for axis, intervals in query.items():
            lower, upper = synopsis.lower[cut, axis], synopsis.upper[cut, axis]
            along = axis_share(lower, upper, intervals, synopsis.domain.columns[axis])
            rest = c * np.divide(f, along, out=np.zeros(len(cut)), where=along > 0)
            if valued is not None and axis != valued.axis:
                rest *= _middles(synopsis, cut, valued.axis, query) - valued.middle
            for place, sign in ((end, sign) for pair in intervals for end, sign in zip(pair, (-1.0, 1.0), strict=True)):
                edge = _EDGE * (upper - lower)
                split = (lower + edge < place) & (place < upper - edge)
                if split.any():
                    by = sign * (place - valued.middle) if valued is not None and axis == valued.axis else sign
                    held = found.setdefault(axis, {})
                    held[place] = held.get(place, np.zeros(len(cut))) + by * rest * split
    for axis, held in found.items():
        largest = max(float(np.abs(g).max()) for g in held.values())
        if kept := {place: g for place, g in sorted(held.items()) if np.abs(g).max() > 1e-12 * max(largest, 1.0)}:
            yield axis, kept


def _middles(synopsis: Synopsis, leaves: IntArray, axis: int, query: Query) -> FloatArray:
    """Return the middle of what a question covers of leaves on an axis."""
    lower, upper = synopsis.lower[leaves, axis], synopsis.upper[leaves, axis]
    low, high = min(a for a, _ in query[axis]), max(b for _, b in query[axis])
    middles: FloatArray = np.nan_to_num((np.maximum(lower, low) + np.minimum(upper, high)) / 2)
    return middles


def _of_cuts(synopsis: Synopsis, axis: int, cut: IntArray, places: dict[float, FloatArray]) -> float:
    """Return the variance that comes of cuts across one axis."""
    some = np.flatnonzero(reduce(np.logical_or, [g != 0 for g in places.values()]))
    leaves = cut[some]
    around = synopsis.neighbours.along(axis, leaves)
    lower, upper = synopsis.lower[leaves, axis], synopsis.upper[leaves, axis]
    gs = [g[some] for g in places.values()]
    us = [np.clip((place - lower) / (upper - lower), 0.0, 1.0) for place in places]
    lean, lean_noise = 0.0, 0.0
    single = np.zeros(len(some))
    sizes: list[float] = []
    whole = synopsis.neighbours.axis(axis)
    for place, g, u in zip(places, gs, us, strict=True):
        tilt = g * (u * u - u)
        lean += float(tilt @ around.slope)
        lean_noise += float(tilt**2 @ around.slope_noise)
        h = g * np.sqrt(u * (1 - u))
        single += h * h
        # Many rows may share a round number, also at the edge of a leaf.
        sizes.append(_alike(synopsis, axis, leaves, around, g / 2 if whole.round(place) else h))
    common = sum(size * size for size in sizes)
    for i, j in combinations(range(len(sizes)), 2):
        shared = np.flatnonzero((gs[i] != 0) & (gs[j] != 0))
        if len(shared):
            # Of rows that fall as they like, those below two places of one leaf go together as on a bridge.
            a, b = us[i][shared], us[j][shared]
            bridge = float(np.sqrt(a * (1 - b) / np.maximum(b * (1 - a), 1e-300)).mean())
            part = len(shared) / max(np.count_nonzero(gs[i]), np.count_nonzero(gs[j]))
            common += 2 * sizes[i] * sizes[j] * bridge * part
            single[shared] += 2 * (gs[i] * gs[j])[shared] * a * (1 - b)
    made = max(lean**2 - lean_noise, 0.0) + max(common, 0.0)
    return made + _apart(synopsis, leaves, around, np.maximum(single, 0.0))


def _alike(synopsis: Synopsis, axis: int, leaves: IntArray, around: Around, h: FloatArray) -> float:
    """Return by how much leaves err that err alike, as a standard deviation with a sign; ``h`` is what each counts."""
    w = np.asarray(synopsis.weights, dtype=np.float64)[leaves]
    whole = synopsis.neighbours.axis(axis)
    known = np.where(around.alone, 0.0, h)
    # Leaves that count against each other may err alike, and then it cancels, or not.
    rows2 = (float(known @ w) ** 2 + float(np.abs(known) @ w) ** 2) / 2
    bend2 = float(known @ around.bend) ** 2 - float(known**2 @ around.bend_noise)
    spaced2 = float(
        (np.abs(known) * np.sqrt(whole.lumps(synopsis.upper[leaves, axis] - synopsis.lower[leaves, axis]))) @ w
    )
    lumps = max(min(CUT * max(bend2, 0.0) + AXIS * whole.rough * rows2, rows2), spaced2**2)
    return math.copysign(math.sqrt(lumps) + abs(float((np.abs(h) * around.alone) @ w)), float(h @ w))


def _apart(synopsis: Synopsis, leaves: IntArray, around: Around, single: FloatArray) -> float:
    """Return the variance of what leaves err by apart from each other."""
    most = np.maximum(np.asarray(synopsis.weights, dtype=np.float64)[leaves], 0.0) ** 2
    lumps = np.minimum(around.bend**2, most) - np.minimum(around.bend_noise, most)
    return ALONE * max(float(np.where(around.alone, 0.0, single) @ lumps), 0.0)


def at_edge(synopsis: Synopsis, axis: int, place: float, where: Sequence[Query]) -> float:
    """Return the standard deviation of rows that stand exactly at a place where leaves begin: they lie above it.

    It is half of their excess over the neighbours, or of what they may have by roughness or by rounding.
    """
    if isinstance(synopsis.domain.columns[axis], (Integer, Date, Categorical)):
        return 0.0
    lower, width = synopsis.lower[:, axis], synopsis.upper[:, axis] - synopsis.lower[:, axis]
    leaves = np.flatnonzero((np.abs(lower - place) <= _EDGE * width) & (width > 0))
    if not len(leaves):
        return 0.0
    around, whole = synopsis.neighbours.along(axis, leaves), synopsis.neighbours.axis(axis)
    w = np.asarray(synopsis.weights, dtype=np.float64)[leaves]
    h = sum((shares(synopsis, {a: i for a, i in q.items() if a != axis}, leaves) for q in where), np.zeros(len(leaves)))
    rows, bend = float(h @ w), float(h @ np.where(around.alone, w, around.bend))
    peak = math.sqrt(max(bend**2 - float(h**2 @ around.bend_noise), 0.0)) if bend > 0 else 0.0
    return max(peak, math.sqrt(whole.rough) * rows, float((h * np.sqrt(whole.lumps(width[leaves]))) @ w)) / 2


def of_values(synopsis: Synopsis, axis: int, inside: FloatArray, share: FloatArray) -> float:
    """Return the variance that unevenness gives to the sum of values of rows on an axis, besides the cuts.

    By parts, it is the integral of how many rows are below. A slope moves it by the same way in all leaves, rounding
    does, and slabs err apart. ``inside`` and ``share`` are the parts of each leaf that the question covers on it and
    elsewhere.
    """
    leaves = np.flatnonzero((inside > 0) & (share > 0))
    width = synopsis.upper[leaves, axis] - synopsis.lower[leaves, axis]
    leaves, width = leaves[width > 0], width[width > 0]
    if not len(leaves):
        return 0.0
    around = synopsis.neighbours.along(axis, leaves)
    whole = synopsis.neighbours.axis(axis)
    w = np.asarray(synopsis.weights, dtype=np.float64)[leaves]
    reach = width * share[leaves]
    h = reach * np.sqrt(inside[leaves] ** 3 / 12)  # a bridge over the part that is covered
    tilt = reach * inside[leaves] ** 3 / 6
    lean2 = float(tilt @ around.slope) ** 2 - float(tilt**2 @ around.slope_noise)
    spaced = float((np.where(around.alone, 0.0, h) * np.sqrt(whole.lumps(width))) @ w)
    unknown = float((h * around.alone) @ w)
    made = max(lean2, 0.0) + (abs(spaced) + abs(unknown)) ** 2 + _apart(synopsis, leaves, around, h * h)
    starts, slab = np.unique(synopsis.lower[leaves, axis], return_inverse=True)
    known = np.where(around.alone, 0.0, h)
    rows = np.bincount(slab, known * w)
    bend = np.bincount(slab, known * around.bend) ** 2 - np.bincount(slab, known**2 * around.bend_noise)
    # Zeros and numbers beyond the bounds stand at the ends of an axis: there, all of an excess may have one value.
    column = synopsis.domain.columns[axis]
    tops = np.zeros(len(starts))
    np.maximum.at(tops, slab, synopsis.upper[leaves, axis])
    weight = np.where((starts <= column.low) | (tops >= column.high), 1.0, CUT)
    lumps = max(float(weight @ bend), 0.0) + AXIS * whole.rough * float((rows**2).sum())
    return made + min(lumps, float((rows**2).sum()))


def mean_errors(
    synopsis: Synopsis, axis: int, terms: Terms, n: FloatArray, first: FloatArray, second: FloatArray, middle: float
) -> tuple[float, float]:
    """Return the standard deviations that noise and unevenness give to the sum of x - middle over the rows inside.

    ``n``, ``first`` and ``second`` are the integrals of 1, x and x² over the question in each leaf.
    """
    covered, uneven = [], 0.0
    for _, asked in terms:
        covered.append(shares(synopsis, asked))
        here, rest = {axis: asked[axis]}, {a: i for a, i in asked.items() if a != axis}
        uneven += of_values(synopsis, axis, shares(synopsis, here), shares(synopsis, rest))
    uneven += variance(synopsis, terms, covered, valued=Valued(axis, middle))
    spread = np.maximum(second - 2 * middle * first + middle**2 * n - (first - middle * n) ** 2, 0.0)
    few = float(np.maximum(np.asarray(synopsis.weights, dtype=np.float64), 0.0) @ spread)
    return math.sqrt(float((first - middle * n) ** 2 @ synopsis.variances)), math.sqrt(uneven + few)
