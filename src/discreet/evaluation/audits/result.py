"""The result of an audit: a lower bound on ε, the event that shows it, and the power of the run."""

import json
import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import FloatArray, Told, checks, clopper_pearson, later, wilson
from discreet.errors import InvalidArgument

# An event has the rate p on one input and q on its neighbour. (ε, δ)-differential privacy promises p <= e^ε q + δ, so
# ε >= ln((p - δ)/q). A lower bound on p and an upper bound on q, each at half the error probability, give a bound on ε.

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
    return np.asarray(np.log(np.maximum(low - delta, 1e-300) / high))


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
    if epsilon is None:
        return None
    if isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and epsilon == 0:
        return 0.0
    return float(checks.budget("epsilon", epsilon))


def read_delta(delta: object) -> float:
    number = float(checks.probability("delta", delta, closed=True))
    if number == 1:
        raise InvalidArgument("delta", delta, "less than 1", "delta=1e-6")
    return number


_NO_PROOF = "This is not a proof of privacy: only these two inputs, features and runs were examined."


@dataclass(frozen=True, eq=False)
class AuditResult(Told):
    """Result of an audit.

    Attributes
    ----------
    epsilon_lower : float
        The true ε is at least this, at the stated δ and confidence.
    claimed, confidence, delta
        The claimed ε or None, the confidence of the bound, and the δ of the claim.
    trials, counted : int
        Runs on each input, and those on which the event was counted.
    event, likelier, counts
        The event in words, the input on which it is more frequent, and its occurrences on ``data`` and ``neighbour``.
    estimate : float
        ln((p - δ)/q) from the shares; not a bound. Infinite if the event never occurred on one input.
    features, seconds
        The features that were examined, and the running time.

    Examples
    --------
    >>> import discreet as dc
    >>> def count(data, rng):
    ...     return len(data) + dc.noise.discrete_laplace(scale=1, rng=rng)
    >>> found = dc.evaluation.audit(count, [1, 2], [1], trials=4000, epsilon=1, random_state=1)
    >>> found.passed, 0.7 < found.epsilon_lower < 1, found.counted
    (True, True, 2000)
    """

    epsilon_lower: float
    claimed: float | None
    confidence: float
    delta: float
    trials: int
    counted: int
    event: str
    likelier: str
    counts: dict[str, int]
    estimate: float
    features: tuple[str, ...] = field(default=(), repr=False)
    seconds: float = field(default=0.0, repr=False)

    @property
    def passed(self) -> bool | None:
        """True if the bound is within the claim; None without a claim. A pass is not a proof."""
        return None if self.claimed is None else self.epsilon_lower <= self.claimed

    @cached_property
    def power(self) -> Power:
        """The leaks that a run of this size would have detected."""
        claimed = self.claimed if self.claimed is not None and math.isfinite(self.claimed) else 0.0
        hits = self.counts["data"], self.counts["neighbour"]
        return power_curve(self.counted, *hits, claimed=claimed, miss=1 - self.confidence, delta=self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        more = {"passed": self.passed, "power": self.power.to_dict(), "features": list(self.features)}
        return {**asdict(self), **more}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; infinite numbers become null."""
        return json.dumps(_finite(self.to_dict()), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        promise = f" at δ = {self.delta:.3g}" if self.delta else ""
        text = f"ε is at least {self.epsilon_lower:.4g}{promise} with {self.confidence:.4g} confidence"
        if self.claimed is not None:
            text += f"; claimed {self.claimed:.6g}: " + ("not refuted" if self.passed else "REFUTED")
        rates = f"{self.counts['data']:,} and {self.counts['neighbour']:,} of {self.counted:,} runs on the two inputs"
        text += f". Event: {self.event}, in {rates} ({self.trials:,} runs on each in total)."
        if self.passed is False:
            return text
        reach = self.power.detectable
        if math.isfinite(reach):
            against = "claim" if self.claimed is not None else "value 0"
            text += f" A true ε of {reach:.3g} in an event this frequent would exceed the {against} nine times in ten."
        return f"{text} {_NO_PROOF}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
