"""Consistency: estimates turned into possible counts. Post-processing without privacy cost, and biased.

For sums over many candidates, raw estimates are better.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import FloatArray, checks, later
from discreet.errors import InvalidArgument

special = later("scipy.special")

CHOICES = ("simplex", "base-cut", "norm-cut")
_CUT_LEVEL = 0.05


def consistent(count: npt.ArrayLike, n: int, how: str = "simplex", std_error: Any = None) -> FloatArray:
    """Make estimated counts non-negative, with the sum ``n``.

    Parameters
    ----------
    count : array of float
        Raw estimates of *all* values.
    n : int
        The sum.
    how : {"simplex", "base-cut", "norm-cut"}
        "simplex": the nearest non-negative counts with sum ``n``: all are shifted by one number, negatives become zero
        (norm-sub). "norm-cut": the largest are kept up to the sum ``n``, the others become zero. "base-cut": those
        within the noise become zero; the sum is not fixed.
    std_error : array of float, optional
        Standard errors; needed by "base-cut".

    Examples
    --------
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100).tolist()
    [65.0, 35.0, 0.0, 0.0]
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100, "norm-cut").tolist()
    [70.0, 30.0, 0.0, 0.0]
    >>> consistent([70.0, 40.0, -6.0, -4.0], 100, "base-cut", std_error=[20.0] * 4).tolist()
    [70.0, 0.0, 0.0, 0.0]
    """
    how = checks.choice("how", how, CHOICES)
    raw = checks.numeric_column("count", count)
    total = checks.whole("n", n)
    if not len(raw):
        return raw
    if how == "base-cut":
        if std_error is None:
            raise InvalidArgument("std_error", None, "the standard errors, for a base cut", "std_error=found.std_error")
        return np.where(raw > float(special.ndtri(1 - _CUT_LEVEL / len(raw))) * np.asarray(std_error), raw, 0.0)
    order = np.argsort(-raw, kind="stable")
    falling = raw[order]
    sums = np.cumsum(np.maximum(falling, 0.0) if how == "norm-cut" else falling)
    if how == "simplex":
        # The shift when the j largest stay positive; the right j is the last whose smallest does stay so.
        shifts = (total - sums) / np.arange(1, len(raw) + 1)
        last = int(np.flatnonzero(falling + shifts > 0)[-1]) if total else 0
        return np.maximum(raw + shifts[last], 0.0) if total else np.zeros(len(raw))
    kept = np.clip(total - (sums - np.maximum(falling, 0.0)), 0.0, np.maximum(falling, 0.0))
    out = np.empty(len(raw))
    out[order] = kept
    return out
