"""The estimator of a *pure* oracle: a report supports a set of values.

P(a report supports v | its sender holds v) = p, and P(it supports v | its sender holds another value) = q, the same for
every other value. With C the number of supporting reports among n (spec local-sketches, C.1),

    estimate = (C - n q)/(p - q),   variance = [f p(1-p) + (n-f) q(1-q)]/(p - q)²,

where f reporters hold v. Both chances come from the mechanism's own exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from discreet.core import ByteArray, FloatArray, IntArray
from discreet.local.estimates import Estimate
from discreet.local.oracles import _unary_kernels as kernels
from discreet.noise.reports import Coin, ReportLaw, coin_bytes, either_way, keep_chance, toss
from discreet.noise.stream import Chance, logistic

if TYPE_CHECKING:
    from discreet.local.wire.counts import Counts


@dataclass(frozen=True)
class SupportLaw:
    """The two support chances of a pure oracle and what follows from them.

    Examples
    --------
    >>> law = SupportLaw(p=0.75, q=0.25)
    >>> law.estimate(60, n=100), law.variance(100, 50)
    (70.0, 75.0)
    """

    p: float
    q: float

    def estimate(self, support: Any, n: Any) -> Any:
        """Return the unbiased count for a number of supporting reports."""
        return (support - n * self.q) / (self.p - self.q)

    def variance(self, n: int, f: Any) -> Any:
        """Return the variance of that count when ``f`` of ``n`` reporters hold the value."""
        return (f * self.own + (n - f) * self.other) / (self.p - self.q) ** 2

    @property
    def own(self) -> float:
        """Variance of the support of a holder's report."""
        return self.p * (1 - self.p)

    @property
    def other(self) -> float:
        """Variance of the support of another's report."""
        return self.q * (1 - self.q)

    def interval(self, support: Any, n: int, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the score interval: the counts f whose distance from the estimate is z of *their own* errors (C.1).

        Better than estimate ± z errors when few reports support a value by chance.
        """
        z2 = float(ndtri(0.5 + level / 2)) ** 2
        gap, b = self.p - self.q, self.own - self.other
        seen = np.asarray(support, np.float64) - n * self.q
        half = gap * seen + z2 * b / 2
        root = np.sqrt(np.maximum(half**2 - gap**2 * (seen**2 - z2 * n * self.other), 0.0))
        return (half - root) / gap**2, (half + root) / gap**2


@dataclass(frozen=True)
class UnaryLaw(ReportLaw):
    """One bit per value: 1 for the value held with one chance, for another with a smaller one.

    Examples
    --------
    >>> law = UnaryLaw(Fraction(1), 3)
    >>> law.draw(np.array([0, 1]), stream=1).tolist(), law.price <= 1
    ([[1], [0]], True)
    """

    epsilon: Fraction
    size: int
    symmetric: bool = False

    @property
    def coins(self) -> dict[str, Coin]:
        """The chances of a 1 for the value held and for another one."""
        if not self.symmetric:
            return {"held": Coin(Chance(a=Fraction(1, 2)), up=False), "other": Coin(logistic(self.epsilon), up=True)}
        half = self.epsilon / 2
        return {"held": Coin(keep_chance(2, half), up=False), "other": Coin(logistic(half), up=True)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the odds of a held bit over those of another one: two values differ in one of each kind."""
        held, other = heads["held"], heads["other"]
        return either_way(held * (1 - other) / (other * (1 - held)))

    def draw(self, codes: IntArray, stream: Any) -> ByteArray:
        """Draw a packed vector of bits for every number."""
        held, other = self.coins.values()
        rows = coin_bytes(other.chance, (len(codes), -(-self.size // 8)), stream)
        rows[:, -1] &= 255 >> (-self.size % 8)
        kernels.write_own(rows, codes, toss(held.chance, (len(codes),), stream))
        return rows


def pure_estimate(law: SupportLaw, counts: Counts, labels: list[Any], support: Any) -> Estimate:
    """Return the estimates of a pure oracle from the number of reports that support each candidate."""
    count = np.asarray(law.estimate(support, counts.n), np.float64)
    error = np.sqrt(law.variance(counts.n, np.clip(count, 0, counts.n)))
    ends = lambda level: law.interval(support, counts.n, level)  # noqa: E731
    return Estimate(labels, count, error, counts.n, counts.guarantee, _ends=ends)
