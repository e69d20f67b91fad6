"""The estimator of a *pure* oracle: a report supports a set of values.

P(a report supports v | its sender holds v) = p, and P(it supports v | its sender holds another value) = q, the same for
every other value. With C the number of supporting reports among n (spec local-sketches, C.1),

    estimate = (C - n q)/(p - q),   variance = [f p(1-p) + (n-f) q(1-q)]/(p - q)²,

where f reporters hold v. Both chances come from the mechanism's own exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from discreet.core.arrays import FloatArray
from discreet.local.estimates import Estimate

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


def pure_estimate(law: SupportLaw, counts: Counts, labels: list[Any], support: Any) -> Estimate:
    """Return the estimates of a pure oracle from the number of reports that support each candidate."""
    count = np.asarray(law.estimate(support, counts.n), np.float64)
    error = np.sqrt(law.variance(counts.n, np.clip(count, 0, counts.n)))
    ends = lambda level: law.interval(support, counts.n, level)  # noqa: E731
    return Estimate(labels, count, error, counts.n, counts.guarantee, _ends=ends)
