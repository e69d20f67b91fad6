"""Amplification by shuffling: if only the set of all reports is seen, each report hides among the others.

The smaller of two certified bounds on the central (ε, δ). *Clones* (Feldman, McMillan, Talwar 2021): every ε₀-private
report is, with probability c = e^(-ε₀)/2 each, one of the two extreme answers of the victim. *Total variation*: if the
reports of any two values are β apart, then with p = β/(e^ε₀ - 1) the victim's report differs only with probability
(e^ε₀ + 1) p, and every other report is a clone with probability p each. Both use one function, δ(ε; n, c). The formula
of the 2022 paper is not used: one of its steps is invalid (its authors issued an erratum).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from discreet.core import FloatArray, at_most, checks, later
from discreet.errors import InvalidType
from discreet.local.mechanism import LARGEST_EPSILON, Mechanism, local_budget

special = later("scipy.special")
stats = later("scipy.stats")

#: Standard deviations of the number of clones that are looked at one by one; the rest is added to δ.
_REACH = 10
#: Runs of clone numbers that are taken as one, the fewest of the run.
_RUNS = 2000
#: Binomial tails in double precision were within 1.3e-11 of 50-digit values up to this many clones. Of more, this many
#: are used: a smaller n only raises the bound.
_MOST_CLONES = 10**9
_SLACK = 1e-10


@dataclass(frozen=True)
class ShuffledBound:
    """The promise of shuffled reports.

    Attributes
    ----------
    epsilon, delta : float
        Central privacy of the shuffled reports.
    n, local_epsilon : int, float
        Honest reports of a batch, the victim's among them; and the promise of each without a shuffler.
    method : {"clones", "total variation", "local", "stored"}
        The bound. "local" means that no amplification could be shown, "stored" that there is none.
    reports : int
        Reports of one user.

    Examples
    --------
    >>> print(shuffled(4.0, n=100_000, delta=1e-6))
    (0.1698, 1e-06)-differential privacy in the shuffled model (neighbours: one user's value replaced), from 100,000
    honest reports of local epsilon 4 each. By the clones bound. It assumes that the reports are shuffled by someone who
    does not collude with the collector, carry nothing else that tells their senders apart, and that 100,000 senders
    follow the protocol.
    """

    epsilon: float
    delta: float
    n: int
    local_epsilon: float
    method: str
    reports: int = 1

    model = "shuffled"
    neighbours = "one user's value replaced"

    def repeated(self, times: int) -> ShuffledBound:
        """Return the promise about ``times`` reports of one user, in one batch or in several.

        Privacy
        -------
        Replace the reports one after the other: every step is (ε, δ)-private, so all of them are (kε, δ(1 + e^ε + ...
        + e^((k-1)ε)))-private (group privacy). This holds for reports that are drawn afresh; stored responses can be
        recognised in every batch.

        Examples
        --------
        >>> three = shuffled(2.0, n=1_000_000, delta=1e-8).repeated(3)
        >>> round(three.epsilon, 4), round(three.delta, 10)
        (0.0527, 3.05e-08)
        """
        k = checks.whole("times", times, low=1)
        if k == 1:
            return self
        total = k * self.epsilon
        steps = math.expm1(total) / math.expm1(self.epsilon) if 0 < total < 700 else k if total == 0 else math.inf
        return replace(self, epsilon=total, delta=min(1.0, self.delta * steps * (1 + _SLACK)), reports=k)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {"model": self.model, "neighbours": self.neighbours, **asdict(self)}

    def __str__(self) -> str:
        if self.method == "local":
            why = "Shuffling so few reports adds nothing to the local promise."
        elif self.method == "stored":
            why = "Devices store their responses and can be recognised in every batch: shuffling adds nothing."
        else:
            why = f"By the {self.method} bound."
        return (
            f"({at_most(self.epsilon, 4)}, {self.delta:.3g})-differential privacy in the {self.model} model "
            f"(neighbours: {self.neighbours}), from {self.n:,} honest reports of local epsilon {self.local_epsilon:g} "
            f"each. {why} It assumes that the reports are shuffled by someone who does not collude with the collector, "
            f"carry nothing else that tells their senders apart, and that {self.n:,} senders follow the protocol."
        )


def shuffled(mechanism: Any, n: int, delta: float) -> ShuffledBound:
    """Return an upper bound on the central ε of shuffled reports at ``delta``.

    Parameters
    ----------
    mechanism : Mechanism or float
        The local mechanism, or the ε of any mechanism without stored responses.
    n : int
        Honest reports, one per user.
    delta : float
        Probability that the promise may fail; well below 1/n.

    Privacy
    -------
    Neighbours: one user's value replaced. Nothing is spent: the bound is about reports that exist already.

    Examples
    --------
    >>> bound = shuffled(2.0, n=1_000_000, delta=1e-8)
    >>> round(bound.epsilon, 5), bound.method
    (0.01756, 'clones')
    >>> from discreet.local import DirectResponse
    >>> shuffled(DirectResponse(epsilon=4, domain=2), n=100_000, delta=1e-6).method
    'total variation'
    """
    local, apart = _local(mechanism)
    size = checks.whole("n", n, low=1)
    chance = float(checks.probability("delta", delta))
    stores = getattr(mechanism, "stores", False)
    if stores or local > LARGEST_EPSILON:
        return ShuffledBound(local, chance, size, local, "stored" if stores else "local")
    found, method = _solve(local, size, chance, None), "clones"
    if apart is not None:
        nearer = _solve(local, size, chance, apart)
        if nearer < found:
            found, method = nearer, "total variation"
    if found >= local:
        found, method = local, "local"
    return ShuffledBound(found, chance, size, local, method)


def _local(mechanism: Any) -> tuple[float, tuple[float, float] | None]:
    """Return the local ε, and bounds on the total variation if it is the same for any two values."""
    if not isinstance(mechanism, Mechanism):
        if not isinstance(mechanism, Real) or isinstance(mechanism, bool):
            raise InvalidType("mechanism", mechanism, "a local mechanism or an epsilon", "mechanism=1.0")
        return float(local_budget("mechanism", mechanism)), None
    local, beta = float(mechanism.guarantee.epsilon or 0.0), mechanism.total_variation()
    if beta is None:
        return local, None
    largest = math.tanh(local / 2)
    beta = min(beta, largest)
    # A hair to both sides for the rounding of the chances, and of hash functions that are even but for 2^-32 g.
    return local, (beta * (1 - 1e-6), min(beta * (1 + 1e-6), largest))


def _solve(local: float, n: int, delta: float, apart: tuple[float, float] | None) -> float:
    """Return the upper end of a bisection for the ε at which δ is reached."""
    if _delta(0.0, local, n, apart) <= delta:
        return 0.0
    low, high = min(1e-12, local / 2), local
    if _delta(low, local, n, apart) <= delta:
        return low
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        if _delta(middle, local, n, apart) <= delta:
            high = middle
        else:
            low = middle
    return high


def _delta(epsilon: float, local: float, n: int, apart: tuple[float, float] | None) -> float:
    """Return the certified δ of the clones bound, or of the bound by total variation within a narrow range."""
    if epsilon >= local:
        return 0.0
    if apart is None:
        return _core(epsilon, local, n, math.exp(-local))
    # δ falls in p, for clones can be added afterwards: the largest factor with the fewest clones bounds the range.
    least = _core(epsilon, local, n, 2 * apart[0] / math.expm1(local))
    return min(apart[1] / math.tanh(local / 2) * least, 1.0)


def _core(epsilon: float, local: float, n: int, chance: float) -> float:
    """Return δ(ε; n, c) for 2c = ``chance``, rounded up: omitted numbers of clones and all rounding are added.

    With C clones, all fair coins, and the victim's own answer with probability w = E₀/(E₀ + 1) or 1 - w, δ_C =
    A·P[Bin(C, ½) >= τ - 1] - B·P[Bin(C, ½) >= τ]. It falls with C.
    """
    clones, weight, rest = _clones(n, chance)
    # A = w - e^ε (1 - w) and B = e^ε w - (1 - w), without the cancellation near ε = ε₀.
    other = 1 / (math.exp(local) + 1)
    a = other * math.exp(epsilon) * math.expm1(local - epsilon)
    b = other * math.expm1(local + epsilon)
    # τ = ⌊(C + 1) B/(A + B)⌋ + 1, counted from above: A may be far below B, and must not be rounded away.
    least = clones + 2 - np.ceil((clones + 1) * (a / (a + b)))
    first, second = a * _tail(clones, least - 1), b * _tail(clones, least)
    found = float(weight @ np.maximum(first - second, 0.0))
    slack = _SLACK * float(weight @ (first + second))
    return min(found + slack + rest, 1.0)


def _tail(clones: FloatArray, least: FloatArray) -> FloatArray:
    """Return P[Bin(C, ½) >= τ]."""
    inside = (least > 0) & (least <= clones)
    some = np.where(inside, least, 1.0)
    found = special.betainc(some, np.where(inside, clones - least + 1, 1.0), 0.5)
    return np.where(inside, found, (least <= 0).astype(np.float64))


@lru_cache(maxsize=64)
def _clones(n: int, chance: float) -> tuple[FloatArray, FloatArray, float]:
    """Return numbers of clones with their probabilities, and the probability of fewer than the least of them.

    Neighbouring numbers form one run, counted as its least: with fewer clones δ only grows.
    """
    others = min(n - 1, int(_MOST_CLONES / chance))
    mean = others * chance
    reach = _REACH * math.sqrt(mean * (1 - chance)) + 5 * _REACH
    low, high = max(0, math.floor(mean - reach)), min(others, math.ceil(mean + reach))
    numbers = np.arange(low, high + 1)
    chances = stats.binom.pmf(numbers, others, chance)
    starts = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _RUNS)).astype(np.int64))
    weight = np.add.reduceat(chances, starts)
    # What lies above has at least as many clones as the last run.
    weight[-1] += float(stats.binom.sf(high, others, chance))
    rest = float(stats.binom.cdf(low - 1, others, chance)) if low else 0.0
    return numbers[starts].astype(np.float64), weight * (1 + _SLACK), rest * (1 + _SLACK)
