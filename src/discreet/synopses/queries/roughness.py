"""The roughness of a column, from the counts of whole slabs of a grid. Post-processing of published values.

Two adjacent slabs are a leaf twice as wide whose middle is known: the excess on one side of it, compared with the slabs
further out, is the error of a cut through such a leaf. Rounded numbers can be invisible in smooth counts. Bounds are
declared with some last digit, and values may be rounded to it, unless the counts refute that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core import Categorical, FloatArray, Integer

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

#: Rows on r evenly spaced numbers per leaf are as lumpy as this over r². The cut and both edges of the leaf each lie
#: somewhere between two numbers, which has a variance of 1/12 of a number's rows, and the edges count by (1 - u)² and
#: u²: 1/12 · (1 + 2/3) on average, over 1/6, the average of u(1 - u).
_SPACED = 5 / 6
#: Beyond so many numbers per leaf it does not matter.
_FILLED = 8.0
#: Standard errors by which counts have to speak against numbers being rounded.
_REFUTED = 3.0
#: Two slabs and two pairs around them: zero on straight lines, and on curves about the middle.
_STENCIL = np.array([-1, -1, 8, -8, 1, 1]) / 8


class Axis(NamedTuple):
    """Properties of an axis, from its slabs."""

    #: Squared share of a slab's rows that may have one value; 0 if counts are smooth or too few.
    rough: float
    #: Distance of the numbers that rows may be rounded to; 0 if they are not.
    unit: float
    #: The last digit of the declared bounds, to which values may be rounded.
    digit: float

    def round(self, place: float) -> bool:
        """Return whether a place is a number that rows may be rounded to."""
        return self.digit > 0 and math.isclose(place, round(place / self.digit) * self.digit, abs_tol=1e-9 * self.digit)

    def lumps(self, width: FloatArray) -> FloatArray:
        """Return the lumpiness of leaves, from 0 to 1, if their rows have evenly spaced values."""
        if not self.unit:
            return np.zeros(len(width))
        held = np.maximum(width / self.unit, 1e-9)
        return np.where(held <= _FILLED, np.minimum(_SPACED / held**2, 1.0), 0.0)


def read(synopsis: Synopsis, axis: int) -> Axis:
    """Read an axis; trees have no slabs with counts of their own, only leaves that hold no number at all."""
    column = synopsis.domain.columns[axis]
    lower, upper = synopsis.lower[:, axis], synopsis.upper[:, axis]
    weights, variances = np.asarray(synopsis.weights, dtype=np.float64), synopsis.variances
    # No leaf cuts through a whole number or a category.
    exact = isinstance(column, (Integer, Categorical))
    unit = 0.0 if exact else 10.0 ** -max(_decimals(column.low), _decimals(column.high))
    here = ~np.isnan(lower)
    ends, slab = np.unique(lower[here], return_inverse=True)
    tops = np.unique(upper[here])
    if len(ends) != len(tops) or not (tops[slab] == upper[here]).all() or (tops <= ends).any():
        off = unit > 0 and _between(_numbers(lower, upper, unit, column.high), weights, variances)
        return Axis(0.0, 0.0 if off else unit, unit)
    rows: FloatArray = np.bincount(slab, weights[here], len(ends)).astype(np.float64)
    noise: FloatArray = np.maximum(rows, 0.0) + np.bincount(slab, variances[here], len(ends))
    wide = (tops - ends) / (tops - ends).mean()
    rough = _roughness(rows / wide, noise / wide**2)
    digit = unit
    if unit:
        held = _numbers(ends, tops, unit, column.high)
        unit = 0.0 if _between(held, rows, noise) or _refuted(held, wide, rows, noise) else unit
    return Axis(rough, unit, digit)


def _roughness(rows: FloatArray, noise: FloatArray) -> float:
    if len(rows) < 3:
        return 0.0
    if len(rows) < len(_STENCIL):
        differ, spread, mass = _bends(rows), noise[1:-1] + (noise[:-2] + noise[2:]) / 4, float((rows**2).sum())
    else:
        differ = np.convolve(rows, _STENCIL[::-1], "valid")
        spread = np.convolve(noise, _STENCIL**2, "valid")
        mass = float(((rows[2:-3] + rows[3:-2]) ** 2).sum())
    return max(float((differ**2 - spread).sum()), 0.0) / mass if mass > 0 else 0.0


def _bends(rows: FloatArray) -> FloatArray:
    return rows[1:-1] - (rows[:-2] + rows[2:]) / 2


def _between(held: FloatArray, rows: FloatArray, noise: FloatArray) -> bool:
    """Return whether rows are where there are no multiples of the unit."""
    off = held < 1
    return bool(rows[off].sum() > _REFUTED * math.sqrt(noise[off].sum()))


def _refuted(held: FloatArray, wide: FloatArray, rows: FloatArray, noise: FloatArray) -> bool:
    """Return whether counts per number are less smooth than counts per width, by more than noise explains."""
    if len(rows) < 3 or (held < 1).any():
        return False
    by_number, by_width = (_bends(rows / part) for part in (held / held.mean(), wide))
    spread = noise[1:-1] + (noise[:-2] + noise[2:]) / 4
    return bool((by_number**2 - by_width**2).sum() > _REFUTED * math.sqrt(2 * (spread**2).sum()))


def _numbers(lower: FloatArray, upper: FloatArray, unit: float, end: float) -> FloatArray:
    """Return the number of multiples of a unit in stretches; one on an edge belongs to the upper stretch."""
    last = np.where(upper >= end, np.floor(upper / unit + 1e-9) + 1, np.ceil(upper / unit - 1e-9))
    held: FloatArray = np.nan_to_num(last - np.ceil(lower / unit - 1e-9), nan=1.0)
    return held


def _decimals(bound: float) -> int:
    """Return the digits after the point that a bound was declared with."""
    return len(np.format_float_positional(bound, trim="-").partition(".")[2])
