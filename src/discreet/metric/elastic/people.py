"""Public numbers of people on an even grid over the box."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import FloatArray, jit
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric.geometry.scaling import Scaling
from discreet.metric.remap.prior import leaf_masses

#: Squares of the grid along the longest side of the box, by the number of columns.
FINENESS = {1: 2**16, 2: 1024, 3: 64}
_FIX = "density=synopsis, density=(places, weights) or density=counts"


@dataclass(frozen=True, eq=False)
class PeopleGrid:
    """Public numbers of people in squares of one size from the lower corner of the box, in scaled units."""

    counts: FloatArray
    side: float
    origin: str
    epsilon: float | None = None

    def describe(self) -> dict[str, Any]:
        """Return its facts for the guarantee, with a digest of the map."""
        shape = str((self.counts.shape, self.side)).encode()
        digest = hashlib.sha256(shape + np.ascontiguousarray(self.counts).tobytes()).hexdigest()
        people = float(self.counts.sum())
        return {"origin": self.origin, "people": people, "epsilon": self.epsilon, "digest": digest[:16]}


def read_density(density: Any, scaling: Scaling) -> PeopleGrid:
    """Read a ``density`` argument."""
    n, widths = scaling.dimension, scaling.corners[1]
    side = float(widths.max()) / FINENESS[n]
    shape = tuple(int(k) for k in np.maximum(np.ceil(widths / side - 1e-9), 1))
    if density is None:
        raise InvalidArgument("density", None, "public: where people live", _FIX)
    if all(hasattr(density, name) for name in ("lower", "upper", "weights", "variances", "guarantee")):
        counts = _of_synopsis(density, scaling, shape, side)
        return PeopleGrid(_some(counts), side, "a released synopsis", density.guarantee.epsilon)
    placed = isinstance(density, tuple) and len(density) == 2
    try:
        given, weights = (np.array(x, np.float64) for x in (density if placed else (density, ())))
    except (TypeError, ValueError):
        expected = "a synopsis, places and weights, or counts"
        raise InvalidType("density", type(density).__name__, expected, _FIX) from None
    if placed:
        counts, origin = _of_places(given, weights, scaling, shape, side)
        return PeopleGrid(_some(counts), side, origin)
    if given.ndim != n or not given.size or not np.isfinite(given).all():
        expected = f"finite counts on an even grid of {n} dimension{'s' * (n > 1)}, one per numeric column"
        raise InvalidArgument("density", f"an array of shape {given.shape}", expected, _FIX)
    corners = np.indices(given.shape).reshape(n, -1).T * (widths / given.shape)
    counts = _of_boxes(corners, corners + widths / given.shape, given.ravel(), shape, side)
    return PeopleGrid(_some(counts), side, "public counts")


def _some(counts: FloatArray) -> FloatArray:
    found = np.maximum(counts, 0.0)  # noise may have made a few of them negative
    if not found.any():
        raise InvalidArgument("density", "no people inside the box", "some people inside the declared bounds", _FIX)
    return found


def _of_synopsis(synopsis: Any, scaling: Scaling, shape: tuple[int, ...], side: float) -> FloatArray:
    lower, upper = np.asarray(synopsis.lower, np.float64), np.asarray(synopsis.upper, np.float64)
    if lower.shape[1] != scaling.dimension:
        expected = f"of the {scaling.dimension} numeric columns, in their order"
        raise InvalidArgument("density", f"a synopsis of {lower.shape[1]} columns", expected, _FIX)
    if np.isnan(lower).any():
        raise InvalidArgument("density", "a synopsis with leaves of missing values", "one of known places only", _FIX)
    return _of_boxes(scaling.apply(lower), scaling.apply(upper), leaf_masses(synopsis, "density"), shape, side)


def _of_places(
    places: FloatArray, weights: FloatArray, scaling: Scaling, shape: tuple[int, ...], side: float
) -> tuple[FloatArray, str]:
    n = scaling.dimension
    if places.ndim != 2 or places.shape[1] != n or weights.shape != places.shape[:1]:
        expected = f"places with {n} coordinates each, and a weight for each of them"
        raise InvalidArgument("density", f"arrays of shapes {places.shape} and {weights.shape}", expected, _FIX)
    if not (np.isfinite(places).all() and np.isfinite(weights).all()):
        raise InvalidArgument("density", "values that are not finite", "finite places and weights", _FIX)
    scaled, widths = scaling.apply(places), scaling.corners[1]
    within = ((scaled >= 0) & (scaled <= widths)).all(axis=1)
    scaled, weights = scaled[within], weights[within]
    steps = raster_steps(scaled)
    if steps is not None and (steps > side).all():  # a number per square of a raster, not per point
        lower, upper = (np.clip(scaled + half, 0, widths) for half in (-steps / 2, steps / 2))
        return _of_boxes(lower, upper, weights, shape, side), "a public raster"
    squares = np.minimum((scaled / side).astype(np.int64), np.array(shape) - 1)
    flat = np.ravel_multi_index(tuple(squares.T), shape)
    return np.bincount(flat, weights, int(np.prod(shape))).astype(np.float64).reshape(shape), "public places"


def raster_steps(places: FloatArray) -> FloatArray | None:
    """Return the steps of the even raster with these places as middles; None if there is none.

    At most three quarters of its squares may be missing.
    """
    if len(places) < 9:  # a few places are on a raster by chance
        return None
    steps, squares = [], 1
    for values in places.T:
        gaps = np.diff(np.unique(values))
        gaps = gaps[gaps > 1e-6 * np.ptp(values)] if len(gaps) else gaps  # one value, but for its rounding
        if len(gaps) < 2:
            return None
        whole = np.rint(gaps / gaps.min())
        if (np.abs(gaps / gaps.min() - whole) > 0.01 * whole).any():
            return None
        steps.append(np.ptp(values) / whole.sum())
        squares *= int(whole.sum()) + 1
    distinct = len(np.unique(np.rint((places - places.min(axis=0)) / steps), axis=0))
    return np.array(steps) if distinct == len(places) and squares <= 4 * distinct else None


def _of_boxes(
    lower: FloatArray, upper: FloatArray, weights: FloatArray, shape: tuple[int, ...], side: float
) -> FloatArray:
    """Spread the weight of every box evenly over the squares it covers."""
    more = ((0, 0), (0, 3 - len(shape)))  # one square along the axes that there are not
    counts = np.zeros((*shape, 1, 1)[:3])
    first, last = (np.pad(x / side, more, constant_values=end) for x, end in ((lower, 0), (upper, 1)))
    _add_boxes(np.ascontiguousarray(first), np.ascontiguousarray(last), weights, counts)
    return counts.reshape(shape)


@jit
def _add_boxes(lower: Any, upper: Any, weights: Any, counts: Any) -> None:  # pragma: no cover
    first, last = np.empty(3, np.int64), np.empty(3, np.int64)
    for b in range(len(weights)):
        for a in range(3):
            first[a] = min(max(int(lower[b, a]), 0), counts.shape[a] - 1)
            last[a] = min(max(int(np.ceil(upper[b, a])) - 1, first[a]), counts.shape[a] - 1)
        for i in range(first[0], last[0] + 1):
            x = _share(lower[b, 0], upper[b, 0], i)
            for j in range(first[1], last[1] + 1):
                y = _share(lower[b, 1], upper[b, 1], j)
                for k in range(first[2], last[2] + 1):
                    counts[i, j, k] += weights[b] * x * y * _share(lower[b, 2], upper[b, 2], k)


@jit
def _share(low: float, high: float, square: int) -> float:  # pragma: no cover
    """Return the share of an interval in a square along an axis; 1 for a point."""
    if high <= low:
        return 1.0
    return max(min(high, square + 1.0) - max(low, float(square)), 0.0) / (high - low)
