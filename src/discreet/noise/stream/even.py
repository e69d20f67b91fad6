"""Evenly spread points of the unit cube: public constants for numerical work, no noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc


def even_points(n: int, dimension: int, constant: int) -> npt.NDArray[np.float64]:
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
