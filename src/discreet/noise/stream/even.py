"""Evenly spread points of the unit cube: public constants for numerical work, no noise."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from discreet.core.arrays import FloatArray


def even_points(n: int, dimension: int, constant: int) -> FloatArray:
    """Return the first points of a scrambled Halton sequence; ``constant`` names which.

    Privacy
    -------
    None: the same for everyone, so nothing may be hidden by it.

    Examples
    --------
    >>> bool(np.array_equal(even_points(4, 2, 7), even_points(4, 2, 7)))
    True
    """
    return np.asarray(qmc.Halton(dimension, scramble=True, seed=constant).random(n), np.float64)
