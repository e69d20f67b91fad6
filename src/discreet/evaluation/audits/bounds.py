"""Lower bounds on ε from counts, and the size of leak that they would have shown.

An event has the rate p on one input and q on its neighbour. (ε, δ)-differential privacy promises p <= e^ε q + δ, so
ε >= ln((p - δ)/q). A lower bound on p and an upper bound on q, each at half the error probability, give a bound on ε.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import FloatArray, checks, clopper_pearson, later, wilson
from discreet.errors import InvalidArgument

stats = later("scipy.stats")

#: Chance from which a leak counts as detectable.
_SURE = 0.9
_PLACES = 64


def lower_bound(hits: int, other_hits: int, trials: int, miss: float, delta: float) -> float:
    """Return the lower bound on ε from an event's counts on the two inputs; 0 if they show nothing."""
    low = float(clopper_pearson(hits, trials, miss / 2)[0])
    high = float(clopper_pearson(other_hits, trials, miss / 2)[1])
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def quick_bounds(
    hits: FloatArray, other_hits: FloatArray, trials: tuple[int, int], miss: float, delta: float
) -> FloatArray:
    """Return `lower_bound` for many events with Wilson's ends: fast, for choosing an event and not for proof."""
    low, high = wilson(hits, trials[0], 1 - miss)[0], wilson(other_hits, trials[1], 1 - miss)[1]
    found: FloatArray = np.log(np.maximum(low - delta, 1e-300) / high)
    return found


@dataclass(frozen=True, eq=False)
class Power:
    """Chance that an audit of this size detects a larger true ε, in an event as frequent as the one counted.

    For true values ``epsilons``, ``chances`` are those that the lower bound exceeds the claim (0 without a claim).
    ``detectable`` is the smallest true ε that is detected with chance 0.9; infinite if there is none.

    Examples
    --------
    >>> power = power_curve(5000, 2500, 1500, claimed=0.5, miss=0.01, delta=0.0)
    >>> round(power.detectable, 2), bool((power.chances[1:] >= power.chances[:-1]).all())
    (0.63, True)
    """

    epsilons: FloatArray
    chances: FloatArray
    detectable: float

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        lists = {"epsilons": self.epsilons.tolist(), "chances": self.chances.tolist()}
        return {**lists, "detectable": self.detectable}


def power_curve(trials: int, hits: int, other_hits: int, *, claimed: float, miss: float, delta: float) -> Power:
    """Return the chances of exceeding a claim for a grid of true ε, if the event keeps its mean rate.

    With mean rate s, an event that attains (ε, δ) has q = (2s - δ)/(1 + e^ε), p = 2s - q.
    """
    mean = min(max((hits + other_hits) / (2 * trials), 1 / trials, delta), 1.0)
    top = max(2.0 * claimed, claimed + 6.0)
    grid = claimed + (top - claimed) * np.linspace(0.0, 1.0, 49) ** 2
    chances = np.maximum.accumulate([_chance(trials, mean, e, claimed, miss, delta) for e in grid])
    sure = np.flatnonzero(chances >= _SURE)
    if not len(sure):
        return Power(grid, chances, math.inf)
    place = int(sure[0])
    if place == 0:
        return Power(grid, chances, float(grid[0]))
    share = (_SURE - chances[place - 1]) / (chances[place] - chances[place - 1])
    return Power(grid, chances, float(grid[place - 1] + share * (grid[place] - grid[place - 1])))


def _chance(n: int, mean: float, epsilon: float, claimed: float, miss: float, delta: float) -> float:
    q = max(2 * mean - delta, 0.0) / (1 + math.exp(min(epsilon, 700.0)))
    p = 2 * mean - q
    if p > 1:  # no event is that frequent: the likelier side of a rarer complement is taken
        p, q = 1.0, min(max((1 - delta) * math.exp(-epsilon), 0.0), 1.0)
    hits = stats.binom.ppf((np.arange(_PLACES) + 0.5) / _PLACES, n, p)
    low = clopper_pearson(hits, n, miss / 2)[0]
    most = np.clip((low - delta) * math.exp(-claimed), 0.0, 1.0)
    # Largest count of the other side whose upper bound stays below `most`: the one with Pr[count or fewer] <= miss/2.
    allowed = stats.binom.ppf(miss / 2, n, most)
    allowed = np.where(stats.binom.cdf(allowed, n, most) <= miss / 2, allowed, allowed - 1)
    return float(np.where(most > 0, stats.binom.cdf(allowed, n, q), 0.0).mean())


def read_claim(epsilon: object) -> float | None:
    """Check a claimed ε, which may be 0 or infinite; None without a claim."""
    if epsilon is None:
        return None
    if isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and epsilon == 0:
        return 0.0
    return float(checks.budget("epsilon", epsilon))


def read_delta(delta: object) -> float:
    """Check a δ from 0 to below 1."""
    number = float(checks.probability("delta", delta, closed=True))
    if number == 1:
        raise InvalidArgument("delta", delta, "less than 1", "delta=1e-6")
    return number
