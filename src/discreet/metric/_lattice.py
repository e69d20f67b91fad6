"""From rows to lattice places and back, in one pass each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet._jit import jit
from discreet.domain import FloatArray
from discreet.metric.scaling import Scaling
from discreet.noise._draw import IntArray

#: Where moving points into the box may move them apart: the box is not square to the metric, or lies on a sphere.
WITHIN_BOUNDS = "values lie within the declared bounds; one beyond them counts as the nearest, and distances so"


def lattice_assumption(step: float, rate: Any, steps: float, words: str = "") -> str:
    """Say what rounding to a lattice of some step adds to ε, if it moves two points apart by at most so many steps."""
    size = words or f"{step:.3g}"
    if isinstance(rate, str):  # "inf": without noise
        return f"values are rounded to a lattice of step {size}"
    more = f"{rate * step * steps:.2g}"
    return f"values are rounded to a lattice of step {size}, which may add up to {more} to epsilon in each report"


def to_places(rows: FloatArray, scaling: Scaling, step: float) -> IntArray:
    """Clamp rows to the box, put the middle where a value is missing, scale, and round to the lattice.

    Examples
    --------
    >>> from discreet.metric.scaling import declared_scaling
    >>> from discreet.domain import Box
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
