"""From rows to lattice places and back, in one pass each, and how far apart rounding can move two rows.

The noise is exact for lattice places, the promise is about raw rows. So it must be known how far apart the places of
two rows can be. A row's coordinate, v steps from the corner, goes to the nearest whole number: at most half a step off,
and for two rows at most a step along every axis. The coordinate is worked out in doubles: clamping is exact, and
subtracting the bound, dividing by unit and step (or the n products and sums of a matrix) leave a relative error of at
most (n + 8) 2^-53, so that v is off by that share of the box's width along the axis. Together, for two rows at distance
r with places at distance p:

- Euclidean: p <= r + step √n + (n + 9) 2^-52 diameter, since a vector with entries up to a has length up to a √n;
- summed: p <= r + step n + (n + 9) 2^-52 diameter, the diameter being the sum of the widths.

*Reading* comes before that, and r is the distance between the values as the record holds them (`reading_of`):

- A number becomes a double. Readers are off by at most one spacing of doubles at the larger bound, M = max(|low|,
  |high|): whole numbers and text by half of one, decimal types by one. What lies beyond a bound is clamped after, and
  reading keeps the order, so it ends on the same bound. Two values: at most two spacings further apart. Beside small
  bounds that is nothing; at 1.7·10^18 (times in nanoseconds) a spacing is 256.
- A date becomes its day: |⌊a⌋ - ⌊b⌋| < |a - b| + 1. Two times, two seconds apart around midnight, are a day apart once
  they are read. So a date column moves two records apart by one day more. A time of day becomes its whole second, so a
  column of times moves them apart by one second more.

With e_j for column j, in its own unit, these add ‖ |S| e ‖ to c, or the sum of |S| e: nothing that was read is then
told apart by more than is promised of the records themselves. For whole days it is more noise than needed, by a day
beside the radius; a promise that held only for whole days would break for who keeps times in the column.

What is added to r is c, the *rounding*. Noise of rate ε/(radius + c) for each unit between places makes the promise
true at the radius: at any distance r the level is at most ε (r + c)/(radius + c).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, as_it_is, jit
from discreet.metric.points.scaling import Scaling

#: Where moving points into the box may move them apart: the box is not square to the metric, or lies on a sphere.
WITHIN_BOUNDS = "values lie within the declared bounds; one beyond them counts as the nearest, and distances so"


#: What a guarantee's neighbours say of other distances.
OTHER_DISTANCES = "at most in proportion beyond it, below it as said of the lattice"


def rounding_of(
    step: Fraction, dimension: int, diameter: float, reading: float = 0.0, *, summed: bool = False
) -> Fraction:
    """Return c: by how much more than two rows their lattice places can lie apart. See the head of this module.

    Examples
    --------
    >>> float(rounding_of(Fraction(1, 8), 4, 2.0)), float(rounding_of(Fraction(1, 8), 4, 4.0, summed=True))
    (0.2500019073486328, 0.5000019073486328)
    """
    axes = Fraction(dimension) if summed else Fraction(math.isqrt(dimension << 80) + 1, 1 << 40)
    apart = Fraction(reading) * (1 + Fraction(1, 1 << 40))  # a norm in doubles, rounded up
    return short(step * axes + Fraction(diameter) * Fraction(dimension + 9, 1 << 52) + apart, step)


def reading_of(scaling: Scaling, dates: Sequence[bool] = (), *, summed: bool = False) -> float:
    """Return by how much more than two records apart what is read of them can lie, in the metric.

    ``dates`` says which columns hold dates or times of day. See the head of this module.

    Examples
    --------
    >>> from discreet.metric.points.scaling import declared_scaling
    >>> from discreet.core.domain import Box
    >>> days = declared_scaling("none", Box([0], [366]))
    >>> reading_of(days) < 1e-12, round(reading_of(days, [True]), 6)
    (True, 1.0)
    >>> reading_of(declared_scaling("none", Box([1.7e18], [1.8e18])))
    512.0
    """
    apart = 2 * np.spacing(np.maximum(np.abs(scaling.box.lower), np.abs(scaling.box.upper)))
    if len(dates):
        apart = apart + np.asarray(dates, np.float64)
    scaled = np.abs(scaling.matrix) @ apart
    return float(scaled.sum() if summed else np.linalg.norm(scaled))


def how_read(reading: float, step: Fraction, dates: Sequence[bool]) -> str:
    """Say how values are read, where that moves them by more than the lattice does; empty where it does not."""
    if any(dates):
        return "read (of dates the day, of times the whole second) and "
    return "read as doubles and " if reading > step else ""


def short(distance: Fraction, step: Fraction) -> Fraction:
    """Round a distance up to a multiple of step/65536, so that what is reckoned with it stays short."""
    return step * Fraction(math.floor(distance / step * 65536) + 1, 65536)


def lattice_assumption(step: str, rounding: float, radius: float, level: Any, unit: str = "", *, read: str = "") -> str:
    """Say what reading and rounding to a lattice mean for the promise at a distance other than the radius."""
    size = f"values are {read}rounded to a lattice of step {step}"
    if level == math.inf:
        return size
    apart, near = _up(rounding), as_it_is(radius)
    return (
        f"{size}, which may move two of them apart by c = {apart}{unit}: the noise makes up for it at distance "
        f"{near}{unit} and beyond, and at a smaller distance r the level is at most (r + c)/({near} + c) of that at "
        f"{near}{unit}"
    )


def _up(number: float) -> str:
    """Write a positive number with three digits, rounded up."""
    text = f"{number:.2e}"
    if float(text) < number:
        text = f"{number + 10.0 ** (math.floor(math.log10(number)) - 2):.2e}"
    return f"{float(text):.3g}"


def to_places(rows: FloatArray, scaling: Scaling, step: float) -> IntArray:
    """Clamp rows to the box, put the middle where a value is missing, scale, and round to the lattice.

    Examples
    --------
    >>> from discreet.metric.points.scaling import declared_scaling
    >>> from discreet.core.domain import Box
    >>> to_places(np.array([[5.0], [99.0], [np.nan]]), declared_scaling("box", Box([0], [10])), 0.25).tolist()
    [[2], [4], [2]]
    """
    if scaling.kind == "matrix":
        return np.rint(scaling.forward(rows) / step).astype(np.int64)
    places = np.empty(rows.shape, np.int64)
    _to_places(rows, scaling.box.lower, scaling.box.upper, np.diag(scaling.matrix) / step, places)
    return places


def to_rows(places: IntArray, scaling: Scaling, step: float) -> FloatArray:
    """Return the rows that lattice places stand for, in the columns' own units."""
    if scaling.kind == "matrix":
        return scaling.back(np.multiply(places, step, dtype=np.float64))
    rows = np.empty(places.shape)
    _to_rows(places, scaling.box.lower, step / np.diag(scaling.matrix), rows)
    return rows


@jit
def _to_places(rows: Any, low: Any, high: Any, factor: Any, out: Any) -> None:  # pragma: no cover
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            x = rows[i, j]
            if math.isnan(x):
                x = (low[j] + high[j]) / 2
            out[i, j] = np.int64(np.rint((min(max(x, low[j]), high[j]) - low[j]) * factor[j]))


@jit
def _to_rows(places: Any, low: Any, factor: Any, out: Any) -> None:  # pragma: no cover
    n, d = places.shape
    for i in range(n):
        for j in range(d):
            out[i, j] = low[j] + places[i, j] * factor[j]
