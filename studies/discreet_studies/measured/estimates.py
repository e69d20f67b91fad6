"""How far estimated counts are from true ones: over values, and in which values are found at all.

Counts are given as arrays in one order, or as mappings from value to count, which are matched by value: a value that
one of them does not have counts as 0 there. (Two lists in different orders correlate with nothing.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument, InvalidType


def mean_error(truth: Any, estimate: Any) -> float:
    """Return the mean distance of estimates from true counts.

    Parameters
    ----------
    truth, estimate : array of numbers, or mapping from value to number
        In the same order, or matched by value.

    Examples
    --------
    >>> mean_error({"cat": 30, "dog": 10}, {"dog": 14, "cow": 2})
    12.0
    """
    gap = _gap(truth, estimate)
    return float(np.abs(gap).mean())


def rmse(truth: Any, estimate: Any, *, normalised: bool = False) -> float:
    """Return the root of the mean squared error; ``normalised``, over the range of the true counts.

    Parameters
    ----------
    truth, estimate : array of numbers, or mapping from value to number
        In the same order, or matched by value.
    normalised : bool, default False
        Divide by the largest minus the smallest true count; NaN if they are equal.

    Examples
    --------
    >>> rmse([30, 10], [33, 14]), rmse([30, 10], [33, 14], normalised=True)
    (3.5355339059327378, 0.1767766952966369)
    """
    one, _ = _matched(truth, estimate)
    root = math.sqrt(float((_gap(truth, estimate) ** 2).mean()))
    if not checks.choice("normalised", normalised, (False, True)):
        return root
    span = float(np.ptp(one))
    return root / span if span else float("nan")


def correlation(truth: Any, estimate: Any) -> float:
    """Return Pearson's coefficient of true and estimated counts; NaN where one of them does not vary.

    Parameters
    ----------
    truth, estimate : array of numbers, or mapping from value to number
        In the same order, or matched by value.

    Examples
    --------
    >>> correlation({"a": 1, "b": 2, "c": 3}, {"c": 6, "b": 4, "a": 2})
    1.0
    """
    found = _matched(truth, estimate)
    # By the range: the mean of equal numbers may be rounded, and they would seem to vary.
    if not all(np.ptp(values) for values in found):
        return float("nan")
    one, other = (values / np.abs(values).max() for values in found)  # squares of large counts are too large
    one, other = one - one.mean(), other - other.mean()
    scale = math.sqrt(float((one**2).sum())) * math.sqrt(float((other**2).sum()))
    return min(max(float((one * other).sum()) / scale, -1.0), 1.0)


def recall_at(truth: Any, estimate: Any, n: int) -> float:
    """Return the share of the n most frequent values that are among the n highest estimates.

    Whoever is as frequent as the n-th counts as one of them. If fewer than n values occur, the share of those. Where
    estimates are equal at the n-th place, the mean over which of them are taken: the order of values does not matter.

    Parameters
    ----------
    truth, estimate : array of numbers, or mapping from value to number
        In the same order, or matched by value. A value that was not found may be missing from the estimates.
    n : int
        How many values are looked for.

    Examples
    --------
    >>> recall_at({"cat": 30, "dog": 10, "cow": 9, "pig": 1}, {"cat": 25, "pig": 12}, 3)
    0.3333333333333333
    """
    hits, _, wanted = _hits(truth, estimate, n)
    return hits / wanted if wanted else float("nan")


def precision_at(truth: Any, estimate: Any, n: int) -> float:
    """Return the share of the n highest estimates that belong to the n most frequent values.

    If fewer than n values have an estimate above zero, the share of those: what was found, and how much of it rightly.

    Parameters
    ----------
    truth, estimate : array of numbers, or mapping from value to number
        As in `recall_at`.
    n : int
        How many values are looked for.

    Examples
    --------
    >>> precision_at({"cat": 30, "dog": 10, "cow": 9, "pig": 1}, {"cat": 25, "pig": 12}, 3)
    0.5
    """
    hits, found, _ = _hits(truth, estimate, n)
    return hits / found if found else float("nan")


def _hits(truth: Any, estimate: Any, n: int) -> tuple[float, int, int]:
    """Return how many were found rightly, how many were found, and how many there were to find."""
    one, other = _matched(truth, estimate)
    size = checks.whole("n", n, low=1)
    there, found = np.flatnonzero(one > 0), np.flatnonzero(other > 0)
    wanted, taken = min(size, len(there)), min(size, len(found))
    if not wanted or not taken:
        return 0, taken, wanted
    right, last = one >= np.sort(one[there])[-wanted], np.sort(other[found])[-taken]
    above, level = other > last, (other == last) & (other > 0)
    sure, equal, among = int((right & above).sum()), int(level.sum()), int((right & level).sum())
    places = np.arange(min(among, taken - int(above.sum())) + 1)
    # Of ``equal`` values so many are taken as places are left; how many of them are right is hypergeometric.
    chance = hypergeom(equal, among, taken - int(above.sum())).pmf(places)
    return float(np.minimum(sure + places, wanted) @ chance), taken, wanted


def _gap(truth: Any, estimate: Any) -> FloatArray:
    one, other = _matched(truth, estimate)
    return other - one


def _matched(truth: Any, estimate: Any) -> tuple[FloatArray, FloatArray]:
    """Return both as numbers in one order."""
    if isinstance(truth, Mapping) != isinstance(estimate, Mapping):
        expected = "of the same form as truth: two arrays, or two mappings from value to count"
        raise InvalidArgument("estimate", type(estimate).__name__, expected, "estimate=dict(...)")
    if isinstance(truth, Mapping):
        values = list(dict.fromkeys([*truth, *estimate]))
        truth, estimate = ([counts.get(value, 0) for value in values] for counts in (truth, estimate))
    found = []
    for name, given in (("truth", truth), ("estimate", estimate)):
        try:
            found.append(np.asarray(given, np.float64))
        except (TypeError, ValueError):
            raise InvalidType(name, type(given).__name__, "numbers", f"{name}=[3, 1]") from None
        if found[-1].ndim != 1 or not len(found[-1]) or not np.isfinite(found[-1]).all():
            raise InvalidArgument(name, found[-1].shape, "one finite number per value", f"{name}=[3, 1]")
    if len(found[0]) != len(found[1]):
        raise InvalidArgument("estimate", len(found[1]), f"as long as truth, {len(found[0])}", "mappings by value")
    return found[0], found[1]
