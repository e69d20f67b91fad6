"""The chances of RAPPOR, its budgets over any number of reports, and parameters solved from budgets.

A Bloom bit b is flipped once and for all with probability f/2 (the permanent bit); each report sends a 1 with
probability q if the permanent bit is 1 and p if it is 0. So one report has a 1 with probability q* or p*,

    q* = (1 - f/2) q + (f/2) p,   p* = (1 - f/2) p + (f/2) q        (spec local-sketches, 3.C.4).

T reports of one permanent bit. Given b, the T bits sent have the law (1 - f/2) Π_b + (f/2) Π_(1-b), Π_1 and Π_0 being T
independent bits with chances q and p. The likelihood ratio of b = 1 against b = 0 depends on the ratio Π_1/Π_0 only and
rises with it, so it is largest at all ones, where that ratio is (q/p)^T, and its inverse at all zeros:

    α_T = g(T |ln(q/p)|),  γ_T = g(T |ln((1-p)/(1-q))|),  g(u) = ln [((1-f/2) e^u + f/2)/((f/2) e^u + 1 - f/2)].

Two values whose Bloom bits are disjoint differ in h bits each way, and bits are independent: the T reports cost exactly
h (α_T + γ_T) (spec C.12.5); fewer if a filter has less than 2h bits.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from discreet.noise.stream.thresholds import Chance

#: Solved parameters are multiples of this.
_GRID = 10**12


@dataclass(frozen=True)
class RapporLaw:
    """The three chances, and what one report, many reports and a lifetime cost.

    Examples
    --------
    >>> law = RapporLaw(Fraction(1, 2), Fraction(1, 2), Fraction(3, 4), bits=128, hashes=2)
    >>> float(law.q_star), float(law.p_star)
    (0.6875, 0.5625)
    >>> [round(law.epsilon(t), 3) for t in (1, 2, 5, 50)], round(law.epsilon(math.inf), 3)
    ([1.074, 2.017, 3.656, 4.394], 4.394)
    """

    f: Fraction
    p: Fraction
    q: Fraction
    bits: int
    hashes: int

    @property
    def q_star(self) -> Fraction:
        """Chance of a 1 in a report where the Bloom bit is 1."""
        return self.q - self.f / 2 * (self.q - self.p)

    @property
    def p_star(self) -> Fraction:
        """Chance of a 1 in a report where the Bloom bit is 0."""
        return self.p + self.f / 2 * (self.q - self.p)

    @property
    def gap(self) -> float:
        """q* - p* = (1 - f)(q - p), by which shares of ones are scaled back."""
        return float((1 - self.f) * (self.q - self.p))

    @property
    def permanent(self) -> Chance:
        """The chance that a permanent bit is not the Bloom bit."""
        return Chance(a=self.f / 2)

    @property
    def filled(self) -> float:
        """φ = 1 - (1 - 1/B)^h, the chance that a value sets a given bit."""
        return -math.expm1(self.hashes * math.log1p(-1 / self.bits))

    def variances(self) -> tuple[float, float]:
        """Return the variance of a reported bit where the Bloom bit is 1, and where it is 0."""
        return float(self.q_star * (1 - self.q_star)), float(self.p_star * (1 - self.p_star))

    def epsilon(self, reports: float) -> float:
        """Return the exact worst case over ``reports`` reports of one permanent response; infinity for a lifetime."""
        if reports == 0:
            return 0.0
        one, zero = sorted(self._per_bit(reports), reverse=True)
        # A value sets between 1 and h bits: h of the dearer kind, and as many of the other as there is room for.
        more = min(self.hashes, self.bits - 1)
        total = more * one + min(self.hashes, self.bits - more) * zero
        return total * (1 + 4e-16)  # the logarithms are right to the last bit or two: never below the true value

    def _per_bit(self, reports: float) -> tuple[float, float]:
        """Return what a bit costs that one value sets and the other does not: if 1 is sent, and if 0 is."""
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

    def total_variation(self) -> float:
        """Return the total variation between the reports of two values with disjoint Bloom bits.

        Only the number of ones among the bits of either value matters, so two binomial laws do.
        """
        more = min(self.hashes, self.bits - 1)
        fewer = min(self.hashes, self.bits - more)
        q, p = float(self.q_star), float(self.p_star)

        def joint(first: float, second: float) -> np.ndarray:
            mine, theirs = binom.pmf(np.arange(more + 1), more, first), binom.pmf(np.arange(fewer + 1), fewer, second)
            return np.outer(mine, theirs)

        return float(np.abs(joint(q, p) - joint(p, q)).sum() / 2)


def solve(epsilon_lifetime: float, epsilon_report: float, *, bits: int, hashes: int) -> RapporLaw:
    """Return the law that spends the two budgets with the least noise.

    f = 2/(1 + e^(ε∞/2h)) (annex B.9). The pairs (p*, q*) that cost ε₁ form a curve, odds(q*) = e^(ε₁/h) odds(p*); the
    point is taken where the noise of a bit that a share φ of the reporters set is least, among those that some
    0 <= p < q <= 1 give. All are rounded on a grid of 10^-12 so that neither budget is passed.

    Examples
    --------
    >>> law = solve(4, 1, bits=128, hashes=2)
    >>> round(law.epsilon(1), 6), round(law.epsilon(math.inf), 6), round(float(law.q_star), 3)
    (1.0, 4.0, 0.502)
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

    # Where p = 0 the odds ratio is at least (1 - f/2)/(f/2): below that, every point of the curve can be had.
    least = half * (odds - most) / ((1 - half) * (odds - 1)) if odds > most else 0.0
    most_p = max(least, 1 - upper(least))  # the mirror image; the same point where both budgets are equal
    best = minimize_scalar(noise, bounds=(least, most_p), method="bounded", options={"xatol": 1e-12}).x
    middle, reach = (upper(best) + best) / 2, (upper(best) - best) / (2 * (1 - float(f)))
    shrink = 0
    while True:  # rounding errors of about 1e-15 cost a step or two
        p = Fraction(min(max(math.ceil((middle - reach) * _GRID) + shrink, 0), _GRID), _GRID)
        q = Fraction(min(max(math.floor((middle + reach) * _GRID) - shrink, 0), _GRID), _GRID)
        law = RapporLaw(f, p, q, bits, hashes)
        if q > p and law.epsilon(1) <= epsilon_report and law.epsilon(math.inf) <= epsilon_lifetime:
            return law
        shrink = 2 * shrink + 1


def _log_ratio(above: Fraction, below: Fraction) -> float:
    """Return ln(above/below) for above >= below >= 0, right also when it is tiny."""
    if below == 0:
        return math.inf
    return math.log1p(float((above - below) / below))
