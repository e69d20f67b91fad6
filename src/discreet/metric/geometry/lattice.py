"""From rows to lattice places and back, and how far apart rounding can move two rows.

The noise is exact for lattice places; the promise is about raw rows. A row's coordinate, v steps from the corner, goes
to the nearest integer: at most half a step off, so two rows move apart by at most a step along every axis. The
coordinate is computed in doubles: clamping is exact, and subtracting the bound and dividing by unit and step (or the n
products and sums of a matrix) leave a relative error of at most (n + 8) 2^-53 of the box's width along the axis.
Together, for two rows at distance r with places at distance p: p <= r + step √n + (n + 9) 2^-52 diameter, since a
vector with entries up to a has length up to a √n.

*Reading* comes first, and r is the distance between the values as the record holds them (`reading_of`):

- A number becomes a double. Readers are off by at most one spacing of doubles at the larger bound, M = max(|low|,
  |high|): integers and text by half of one, decimal types by one. Values beyond a bound are clamped afterwards. Two
  values: at most two spacings further apart. At 1.7·10^18 (times in nanoseconds) a spacing is 256.
- A date becomes its day: |⌊a⌋ - ⌊b⌋| < |a - b| + 1. So a date column moves two records apart by one day more. A time
  of day becomes its whole second: one second more.

With e_j for column j, in its own unit, these add ‖ |S| e ‖ to c. For whole days that is more noise
than needed, by a day compared with the radius; a promise for whole days only would fail if the column has times.

The sum added to r is c, the *rounding*. Noise of rate ε/(radius + c) per unit between places makes the promise true at
the radius: at any distance r the level is at most ε (r + c)/(radius + c).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, as_it_is, at_most, jit
from discreet.metric.geometry.scaling import Scaling

#: For boxes on a sphere or rotated by a matrix, where clamping may move points apart.
WITHIN_BOUNDS = "values lie within the declared bounds; one beyond them counts as the nearest, and distances so"
OTHER_DISTANCES = "at most in proportion beyond it, below it as said of the lattice"


def rounding_of(step: Fraction, dimension: int, diameter: float, reading: float = 0.0) -> Fraction:
    """Return c, the most by which rounding moves two rows apart. See the head of this module."""
    axes = Fraction(math.isqrt(dimension << 80) + 1, 1 << 40)
    apart = Fraction(reading) * (1 + Fraction(1, 1 << 40))  # a norm in doubles, rounded up
    return short(step * axes + Fraction(diameter) * Fraction(dimension + 9, 1 << 52) + apart, step)


def reading_of(scaling: Scaling, dates: Sequence[bool] = ()) -> float:
    """Return the most by which reading moves two records apart, in the metric.

    ``dates`` marks columns of dates or times of day. See the head of this module.
    """
    apart = 2 * np.spacing(np.maximum(np.abs(scaling.box.lower), np.abs(scaling.box.upper)))
    if len(dates):
        apart = apart + np.asarray(dates, np.float64)
    return float(np.linalg.norm(np.abs(scaling.matrix) @ apart))


def how_read(reading: float, step: Fraction, dates: Sequence[bool]) -> str:
    """Describe the reading of values, if it moves them more than the lattice does."""
    if any(dates):
        return "read (of dates the day, of times the whole second) and "
    return "read as doubles and " if reading > step else ""


def short(distance: Fraction, step: Fraction) -> Fraction:
    """Round a distance up to a multiple of step/65536, to keep fractions short."""
    return step * Fraction(math.floor(distance / step * 65536) + 1, 65536)


def lattice_assumption(step: str, rounding: float, radius: float, level: Any, unit: str = "", *, read: str = "") -> str:
    """Describe the effect of reading and rounding at other distances than the radius."""
    size = f"values are {read}rounded to a lattice of step {step}"
    if level == math.inf:
        return size
    apart, near = at_most(rounding, 3), as_it_is(radius)
    return (
        f"{size}, which may move two of them apart by c = {apart}{unit}: the noise makes up for it at distance "
        f"{near}{unit} and beyond, and at a smaller distance r the level is at most (r + c)/({near} + c) of that at "
        f"{near}{unit}"
    )


def to_places(rows: FloatArray, scaling: Scaling, step: float) -> IntArray:
    """Clamp rows to the box, replace missing values by the middle, scale, and round to the lattice."""
    if scaling.kind == "matrix":
        return np.rint(scaling.forward(rows) / step).astype(np.int64)
    places = np.empty(rows.shape, np.int64)
    _to_places(rows, scaling.box.lower, scaling.box.upper, np.diag(scaling.matrix) / step, places)
    return places


def to_rows(places: IntArray, scaling: Scaling, step: float) -> FloatArray:
    """Return the rows of lattice places, in the columns' own units."""
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
