"""The probabilities of RAPPOR, its budgets over any number of reports, and parameters for given budgets.

A Bloom bit b is flipped once and for all with probability f/2 (the permanent bit). Each report sends a 1 with
probability q if the permanent bit is 1 and p if it is 0. So one report has a 1 with probability q* = (1 - f/2) q +
(f/2) p or p* = (1 - f/2) p + (f/2) q. Given b, T reports have the law (1 - f/2) Π_b + (f/2) Π_(1-b), where Π_1 and Π_0
are T independent bits with probabilities q and p. The likelihood ratio is largest at all ones, its inverse at all
zeros:

    α_T = g(T |ln(q/p)|),  γ_T = g(T |ln((1-p)/(1-q))|),  g(u) = ln [((1-f/2) e^u + f/2)/((f/2) e^u + 1 - f/2)].

Two values with disjoint Bloom bits differ in h bits each way, and bits are independent: T reports cost exactly h (α_T +
γ_T), less if a filter has fewer than 2h bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.core import ByteArray, Exact, IntArray, later
from discreet.noise.reports import STORED, Coin, ReportLaw, coin_bytes, log_above, stored, within
from discreet.noise.stream import Chance

optimize = later("scipy.optimize")

#: Solved parameters, and the price of one report, are multiples of 1/this.
_GRID = 10**12


@dataclass(frozen=True)
class RapporLaw(ReportLaw):
    """The three probabilities, and the cost of one report, many reports and a lifetime."""

    f: Fraction
    p: Fraction
    q: Fraction
    bits: int
    hashes: int

    @property
    def q_star(self) -> Fraction:
        """Probability of a 1 in a report if the Bloom bit is 1."""
        return self.q - self.f / 2 * (self.q - self.p)

    @property
    def p_star(self) -> Fraction:
        """Probability of a 1 in a report if the Bloom bit is 0."""
        return self.p + self.f / 2 * (self.q - self.p)

    @property
    def gap(self) -> float:
        """q* - p* = (1 - f)(q - p), by which shares of ones are scaled back."""
        return float((1 - self.f) * (self.q - self.p))

    @property
    def coins(self) -> dict[str, Coin]:
        """The coin that flips a permanent bit, and those of a 1; the last two are rounded towards each other."""
        more = self.q > self.p
        one, zero = Coin(Chance(a=self.q), up=not more), Coin(Chance(a=self.p), up=more)
        return {"stored": Coin(Chance(a=self.f / 2), up=True, digits=STORED), "one": one, "zero": zero}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the largest ratio of one report: h bits of the costlier kind and as many of the other as fit."""
        gap = heads["one"] - heads["zero"]
        ends = heads["one"] - heads["stored"] * gap, heads["zero"] + heads["stored"] * gap
        least, most = sorted(ends)
        cheap, dear = sorted((most / least, (1 - least) / (1 - most)))
        more, fewer = self._differing
        return dear**more * cheap**fewer

    @cached_property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """ε₁, the cost of one report: the least sufficient multiple of 10^-12, the same on every machine."""
        exact = self.ratio({"stored": self.f / 2, "one": self.q, "zero": self.p})
        steps = math.ceil(log_above(exact) * _GRID)
        return Fraction(steps - within(exact, Fraction(steps - 1, _GRID)), _GRID)

    @cached_property
    def permanent(self) -> PermanentLaw:
        """The law of the permanent bits: the cost of all reports of one value."""
        return PermanentLaw(self)

    @property
    def _differing(self) -> tuple[int, int]:
        """The most bits that only one of two values sets, and that only the other sets."""
        more = min(self.hashes, self.bits - 1)
        return more, min(self.hashes, self.bits - more)

    def turn(self, keys: stored.Keys, rows: ByteArray) -> None:
        """Turn Bloom bits into permanent ones, in place, as keys decide."""
        stored.flip(keys, self.coins["stored"].threshold, self.bits, rows)

    def cohorts(self, keys: stored.Keys, number: int) -> IntArray:
        """Return the cohort of every key, the same for life."""
        return stored.stored_below(keys, [number])[:, 0]

    def draw(self, permanent: ByteArray, stream: Any) -> ByteArray:
        """Draw the bits of one report from the permanent ones, packed."""
        ones, zeros = (coin_bytes(Chance(a=c), permanent.shape, stream) for c in (self.q, self.p))
        sent = (permanent & ones) | (~permanent & zeros)
        if self.bits % 8:
            sent[:, -1] &= (1 << self.bits % 8) - 1
        return sent

    @property
    def filled(self) -> float:
        """φ = 1 - (1 - 1/B)^h, the probability that a value sets a given bit."""
        return -math.expm1(self.hashes * math.log1p(-1 / self.bits))

    def variances(self) -> tuple[float, float]:
        """Return the variance of a reported bit if the Bloom bit is 1, and if it is 0."""
        return float(self.q_star * (1 - self.q_star)), float(self.p_star * (1 - self.p_star))

    def cost(self, reports: float) -> float:
        """Return the exact worst case over ``reports`` reports of one permanent response; infinity for a lifetime."""
        if reports == 0:
            return 0.0
        one, zero = sorted(self._per_bit(reports), reverse=True)
        # A value sets between 1 and h bits: h of the costlier kind, and as many of the other as fit.
        more, fewer = self._differing
        total = more * one + fewer * zero
        return total * (1 + 4e-16)  # the logarithms are right to the last bit or two: never below the true value

    def _per_bit(self, reports: float) -> tuple[float, float]:
        """Return the cost of a bit that one value sets and the other does not: if 1 is sent, and if 0 is."""
        low, high = min(self.p, self.q), max(self.p, self.q)
        if reports == 1:
            least, most = min(self.p_star, self.q_star), max(self.p_star, self.q_star)
            return _log_ratio(most, least), _log_ratio(1 - least, 1 - most)
        return tuple(self._tempered(reports * _log_ratio(*ends)) for ends in ((high, low), (1 - low, 1 - high)))  # type: ignore[return-value]

    def _tempered(self, u: float) -> float:
        """Return g(u)."""
        half = float(self.f / 2)
        if half == 0:
            return u
        away = math.exp(-u)
        return math.log1p(-half * (1 - away)) - math.log(half + (1 - half) * away)


@dataclass(frozen=True)
class PermanentLaw(ReportLaw):
    """The permanent bits of one value, which determine all its reports."""

    of: RapporLaw

    @property
    def epsilon(self) -> Exact:  # type: ignore[override]
        """ε∞, infinite if no bit is flipped."""
        total = self.of.cost(math.inf)
        return total if total == math.inf else Fraction(total)

    @property
    def coins(self) -> dict[str, Coin]:
        return {"stored": self.of.coins["stored"]}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        return ((1 - heads["stored"]) / heads["stored"]) ** sum(self.of._differing)

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        return (("the permanent response to one value", self.epsilon),)


def solve(epsilon_lifetime: float, epsilon_report: float, *, bits: int, hashes: int) -> RapporLaw:
    """Return the law that spends the two budgets with the least noise.

    f = 2/(1 + e^(ε∞/2h)). The pairs (p*, q*) that cost ε₁ form a curve, odds(q*) = e^(ε₁/h) odds(p*). The chosen point
    has the least noise for a bit that a share φ of the reporters set, among those that some 0 <= p < q <= 1 give. All
    are rounded on a grid of 10^-12 so that neither budget is exceeded.
    """
    f = Fraction(math.ceil(2 / (1 + math.exp(epsilon_lifetime / (2 * hashes))) * _GRID + 1), _GRID)
    half = float(f / 2)
    most = (1 - half) / half
    odds = min(math.exp(epsilon_report / hashes), most**2)
    filled = -math.expm1(hashes * math.log1p(-1 / bits))

    def upper(p_star: float) -> float:
        return odds * p_star / (1 + (odds - 1) * p_star)

    def noise(p_star: float) -> float:
        q_star = upper(p_star)
        spread = filled * q_star * (1 - q_star) + (1 - filled) * p_star * (1 - p_star)
        return spread / (q_star - p_star) ** 2

    # If p = 0 the odds ratio is at least (1 - f/2)/(f/2); below that, every point of the curve is possible.
    least = half * (odds - most) / ((1 - half) * (odds - 1)) if odds > most else 0.0
    most_p = max(least, 1 - upper(least))  # the mirror image; the same point where both budgets are equal
    best = optimize.minimize_scalar(noise, bounds=(least, most_p), method="bounded", options={"xatol": 1e-12}).x
    middle, reach = (upper(best) + best) / 2, (upper(best) - best) / (2 * (1 - float(f)))
    shrink = 0
    while True:  # rounding errors of about 1e-15 cost a step or two
        p = Fraction(min(max(math.ceil((middle - reach) * _GRID) + shrink, 0), _GRID), _GRID)
        q = Fraction(min(max(math.floor((middle + reach) * _GRID) - shrink, 0), _GRID), _GRID)
        law = RapporLaw(f, p, q, bits, hashes)
        once = q > p and all(cost <= epsilon_report for cost in (law.epsilon, law.cost(1)))
        if once and law.cost(math.inf) <= epsilon_lifetime:
            return law
        shrink = 2 * shrink + 1


def _log_ratio(above: Fraction, below: Fraction) -> float:
    """Return ln(above/below) for above >= below >= 0, accurate also if it is tiny."""
    if below == 0:
        return math.inf
    return math.log1p(float((above - below) / below))
