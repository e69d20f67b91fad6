"""Between zero-concentrated differential privacy (ρ-zCDP) and (ε, δ)-differential privacy.

ρ-zCDP bounds the Rényi divergence of every order α > 1 by ρα (Bun and Steinke 2016). Each order gives a valid
(ε, δ) pair, so the best of many orders is valid too (Canonne, Kamath, Steinke 2020, proposition 12):

    ε(δ) = min over α > 1 of  ρα + ln(1 - 1/α) - (ln δ + ln α)/(α - 1)

Results are rounded to the safe side by one part in 10^9 and 10^-14, far above the rounding errors of the evaluation.
"""

import math

import numpy as np

from discreet.core import checks
from discreet.core.output.figures import LARGEST_BUDGET
from discreet.errors import InvalidArgument

_SAFETY = 1e-9
#: Covers the rounding of terms that cancel when the result is tiny.
_SLACK = 1e-14


def zcdp_to_epsilon(rho: checks.Number, delta: checks.Number) -> float:
    """Return an ε such that ρ-zCDP implies (ε, δ)-differential privacy."""
    share = float(checks.probability("delta", delta))
    if share == 0:
        raise InvalidArgument("delta", delta, "at least the smallest positive double", "delta=1e-9")
    if isinstance(rho, float) and math.isinf(rho) and rho > 0:
        return math.inf
    exact = checks.exact("rho", rho, "a number of at least 0", "rho=0.5")
    if not 0 <= exact <= LARGEST_BUDGET:
        raise InvalidArgument("rho", rho, "a number of at least 0", "rho=0.5")
    if exact == 0:
        return 0.0
    number = max(float(exact), 1e-290)  # a larger rho is the safe side
    # The best order is near 1 + sqrt(ln(1/δ)/ρ); a fine grid around it loses nothing visible, and any order is valid.
    center = math.sqrt(max(-math.log(share), 1e-3) / number)
    gap = center * np.geomspace(1e-3, 1e3, 6001)
    order = 1 + gap
    bound = number * order - np.log1p(1 / gap) - (math.log(share) + np.log1p(gap)) / gap
    return max(0.0, float(bound.min())) * (1 + _SAFETY) + _SLACK


def epsilon_to_zcdp(epsilon: checks.Number, delta: checks.Number) -> float:
    """Return the largest ρ found such that ρ-zCDP implies (ε, δ)-differential privacy."""
    target = float(checks.positive("epsilon", epsilon))
    low, high = 0.0, target + 1.0
    while zcdp_to_epsilon(high, delta) <= target:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if zcdp_to_epsilon(middle, delta) <= target:
            low = middle
        else:
            high = middle
    return low
