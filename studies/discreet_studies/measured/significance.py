"""Tests of a difference: two proportions, paired runs with overlapping training parts, and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from discreet_studies.harness.study import Estimate


def z_score(one: float, other: float, n: int) -> float:
    """Return |z| of two proportions of n records each (Kuncheva 2004).

    Examples
    --------
    >>> round(z_score(0.77, 0.89, 100), 2), round(z_score(0.77, 0.89, 300), 2)
    (2.26, 3.91)
    """
    middle = (one + other) / 2
    spread = 2 * middle * (1 - middle) / n
    return abs(one - other) / math.sqrt(spread) if spread > 0 else 0.0


def two_sided(z: float) -> float:
    """Return the chance of so large a |z| if there is no difference.

    Examples
    --------
    >>> round(two_sided(1.96), 3)
    0.05
    """
    return float(2 * ndtr(-abs(z)))


def paired(differences: Sequence[float], overlap: float = 0.0) -> tuple[float, Estimate]:
    """Return p of Student's test on paired differences, and their mean with its interval.

    Parameters
    ----------
    differences : sequence of float
        One a draw, or one a fold.
    overlap : float
        Test records over training records, where training parts overlap: folds of one table are not independent, and
        their variance counts for so much more (Nadeau and Bengio 2003; Bouckaert and Frank 2004 for repeated folds).

    Examples
    --------
    >>> p, mean = paired([0.02, 0.03, 0.01, 0.02])
    >>> round(p, 3), round(mean.mean, 3)
    (0.016, 0.02)
    >>> round(paired([0.02, 0.03, 0.01, 0.02], 1 / 9)[0], 3)
    0.027
    """
    found = np.array(differences, dtype=np.float64)
    n = len(found)
    if n < 2:
        return math.nan, Estimate.of(found)
    mean, error = float(found.mean()), float(found.std(ddof=1) * math.sqrt(1 / n + overlap))
    half = float(stdtrit(n - 1, 0.975)) * error
    p = float(2 * stdtr(n - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return p, Estimate(mean, mean - half, mean + half, n)


def adjusted(values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values as they count when all are tested (Holm 1979).

    Examples
    --------
    >>> adjusted({"a": 0.001, "b": 0.03, "c": 0.04})
    {'a': 0.003, 'b': 0.06, 'c': 0.06}
    """
    order = sorted((name for name in values if not math.isnan(values[name])), key=lambda name: values[name])
    found, least = {}, 0.0
    for i, name in enumerate(order):
        least = max(least, min(1.0, values[name] * (len(order) - i)))
        found[name] = least
    return {name: found.get(name, math.nan) for name in values}


def holm(values: Mapping[str, float], level: float = 0.05) -> list[str]:
    """Return the names whose p-values stay significant when all are tested.

    Examples
    --------
    >>> holm({"a": 0.001, "b": 0.03, "c": 0.04})
    ['a']
    """
    return [name for name, p in adjusted(values).items() if p <= level]
