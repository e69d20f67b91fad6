"""Errors of counts by one and two columns of a synopsis, from its boxes and their noise. Post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.core import MEAN_NOISE, FloatArray, cells_of, spread

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis


def of_boxes(synopsis: Synopsis) -> Callable[..., tuple[float, bool]]:
    """Return a function that gives the error of the counts by some columns: NaN if one was never split.

    Noise: Σ|noise| over C cells is at most √C times its root sum of squares. Rows of a box that several cells divide
    are counted evenly, and some of them in a wrong cell (`discreet.core.spread`).
    """
    columns = synopsis.domain.columns
    unlisted = 0.0 if synopsis.unlisted is None else max(synopsis.unlisted.value, 0.0)

    @cache
    def inside(axis: int) -> tuple[FloatArray, FloatArray]:
        return spread(columns[axis], synopsis.lower[:, axis], synopsis.upper[:, axis])

    def error(*axes: int) -> tuple[float, bool]:
        if any(columns[axis].name in synopsis.uncut for axis in axes):
            return math.nan, False
        squares, right = np.prod([inside(axis) for axis in axes], axis=0)
        cells = min(math.prod(cells_of(columns[axis]) for axis in axes), float((1 / squares).sum()))
        noise = MEAN_NOISE * math.sqrt(cells * float(synopsis.variances @ squares))
        uneven = float(np.maximum(synopsis.weights, 0.0) @ (1 - right))
        return (noise + uneven + unlisted) / max(synopsis.total, 1.0), False

    return error
