"""Two questions before a collection: what can be found with a budget, and what budget an error needs (annex B)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from discreet.core import checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.mechanism import Mechanism

_MOST_REPORTS = 10**15


def detection_limit(
    mechanism: Mechanism, n: int, candidates: int, *, level: float = 0.05, power: float = 0.98
) -> float:
    """Return how many of ``n`` reporters must hold a value for it to be found.

    A value counts as found when its estimate exceeds z standard errors of an absent one, z for all candidates at once
    (`Estimate.significant`; annex B.6).

    Parameters
    ----------
    mechanism : Mechanism
        A frequency mechanism. Of a sketch, collisions are taken at their worst.
    n : int
        Reports.
    candidates : int
        Values asked for.
    level : float
        Chance that any absent value counts as found.
    power : float
        Chance that a value held by the returned number is found.

    Examples
    --------
    >>> from discreet.local import DirectResponse
    >>> round(detection_limit(DirectResponse(epsilon=2, domain=10), 10_000, 10))
    290
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidType("mechanism", mechanism, "a local mechanism", "mechanism=plan(...).best.make(domain)")
    reports = checks.whole("n", n, low=1, high=_MOST_REPORTS)
    asked = checks.whole("candidates", candidates, low=1)
    cut = float(ndtri(1 - float(checks.probability("level", level)) / asked))
    sure = float(ndtri(float(checks.probability("power", power))))
    threshold = cut * math.sqrt(float(np.max(mechanism.variance(reports, 0))))
    held = threshold
    # The spread of a held value's estimate depends on how many hold it: solved by repeating, it changes slowly.
    for _ in range(60):
        held = threshold + sure * math.sqrt(float(np.max(mechanism.variance(reports, min(max(held, 0.0), reports)))))
    return held


def needed_epsilon(n: int, std_error: float, mechanism: str = "optimal") -> float:
    """Return the ε at which the estimated *count* of a rare value has a standard error, collisions left aside.

    Parameters
    ----------
    n : int
        Reports.
    std_error : float
        Wanted standard error of a count.
    mechanism : {"optimal", "count-mean-sketch", "hadamard-sketch"}
        "optimal" is the least that any ε-private mechanism of many values needs: local hashing, subset selection,
        projective geometry, optimised unary encoding.

    Examples
    --------
    >>> round(needed_epsilon(50_000, 300, "count-mean-sketch"), 2), round(needed_epsilon(50_000, 300), 2)
    (1.46, 1.38)
    """
    reports = checks.whole("n", n, low=1, high=_MOST_REPORTS)
    kind = checks.choice("mechanism", mechanism, ("optimal", "count-mean-sketch", "hadamard-sketch"))
    ratio = float(checks.positive("std_error", std_error)) ** 2 / reports
    if kind == "hadamard-sketch":
        if ratio <= 1:
            floor = math.sqrt(reports)
            expected = f"above {floor:.6g}, the square root of n: one random sign says no more, whatever epsilon is"
            raise InvalidArgument("std_error", std_error, expected, f"std_error={2 * floor:.3g}")
        return math.log((math.sqrt(ratio) + 1) / (math.sqrt(ratio) - 1))
    # a/(a - 1)² = r, with a = e^(ε/2) (B.1); the optimum is 4E/(E - 1)² = r.
    r = ratio if kind == "count-mean-sketch" else ratio / 4
    a = (2 * r + 1 + math.sqrt(4 * r + 1)) / (2 * r)
    return math.log(a) * (2 if kind == "count-mean-sketch" else 1)
