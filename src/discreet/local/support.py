"""Estimators shared by oracles and sketches, and the influence of made-up reports.

*Pure oracles* (Wang, Blocki, Li, Jha 2017): a report supports its sender's value with probability p and any other with
probability q. If C of n reports support v, which f reporters hold: estimate (C - n q)/(p - q), variance [f p(1-p) +
(n-f) q(1-q)]/(p - q)².

*Sketches*: a user draws one of k rows and reports the value's bucket, one of m, through a pure oracle. N(j, b)
estimates how many reporters of row j have bucket b. Unbiased over the hash key is f = (m/(m-1)) (Σ_j N(j, h_j(v)) -
n/m). With v₁ = p(1-p)/(p-q)², v₀ = q(1-q)/(p-q)², three-wise independent hashes and G = Σ_{other values} f'(f'-1),

    Var = (m/(m-1))² [f v₁ + (n-f)(v₁/m + v₀(1-1/m))] + [(n-f) + G/k]/(m-1).

The last term comes from collisions. More reports do not lower it. G is estimated from the sketch itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from discreet.core import FloatArray, normal_width
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.wire.counts import Counts
from discreet.noise import HashFamily

#: Most counters of a state: 16 GiB.
MOST_CELLS = 2**31
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class SupportLaw:
    """The support probabilities p and q of a pure oracle, and the share of reports that speak of a given value."""

    p: float
    q: float
    share: float = 1.0

    def estimate(self, support: Any, n: Any) -> Any:
        """Return the unbiased count for a number of supporting reports, of ``n`` that speak of the value."""
        return (support - n * self.q) / (self.p - self.q) / self.share

    def variance(self, n: int, f: Any) -> Any:
        """Return the variance of that count when ``f`` of all ``n`` reporters hold the value."""
        noise = (f * self.own + (n - f) * self.other) / (self.p - self.q) ** 2
        return (noise + f * (1 - self.share)) / self.share

    @property
    def own(self) -> float:
        """Variance of the support of a holder's report."""
        return self.p * (1 - self.p)

    @property
    def other(self) -> float:
        """Variance of the support of another report."""
        return self.q * (1 - self.q)

    def interval(self, support: Any, n: int, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the score interval: the counts f within z of *their own* standard errors of the estimate.

        Better than estimate ± z errors if few reports support a value. For a share of 1.
        """
        z2 = normal_width(level) ** 2
        gap, b = self.p - self.q, self.own - self.other
        seen = np.asarray(support, np.float64) - n * self.q
        half = gap * seen + z2 * b / 2
        root = np.sqrt(np.maximum(half**2 - gap**2 * (seen**2 - z2 * n * self.other), 0.0))
        return (half - root) / gap**2, (half + root) / gap**2


@dataclass(frozen=True)
class RowLaw:
    """The noise of one report in a sketch of k rows and m buckets; ``cell`` is the law of the row oracle."""

    rows: int
    width: int
    cell: SupportLaw

    @property
    def own(self) -> float:
        """v₁, the variance of a report's contribution to its own bucket."""
        return self.cell.own / (self.cell.p - self.cell.q) ** 2

    @property
    def other(self) -> float:
        """v₀, the variance of a report's contribution to another bucket."""
        return self.cell.other / (self.cell.p - self.cell.q) ** 2

    def second_moment(self, squares: float, n: float) -> float:
        """Return G from the sum of squared distances of all bucket estimates from n_j/m."""
        m = self.width
        within = (squares - n * (self.own + (m - 1) * self.other)) / (1 - 1 / m)
        return self.rows * (within - n)

    def variance(self, n: int, f: Any, second_moment: Any = None) -> Any:
        """Return the variance of an estimated count; ``second_moment`` is G (default: n², the worst case)."""
        m, collisions = self.width, float(n) ** 2 if second_moment is None else second_moment
        noise = f * self.own + (n - f) * (self.own / m + self.other * (1 - 1 / m))
        return (m / (m - 1)) ** 2 * noise + ((n - f) + collisions / self.rows) / (m - 1)


def pure_estimate(law: SupportLaw, counts: Counts, labels: list[Any], support: Any) -> Estimate:
    """Return the estimates of a pure oracle from the number of reports that support each candidate."""
    count = np.asarray(law.estimate(support, counts.n), np.float64)
    error = np.sqrt(law.variance(counts.n, np.clip(count, 0, counts.n)))
    ends = lambda level: law.interval(support, counts.n, level)  # noqa: E731
    return Estimate(labels, count, error, counts.n, counts.guarantee, _ends=ends)


def rows_estimate(
    law: RowLaw,
    counts: Counts,
    labels: list[Any],
    family: HashFamily,
    row_reports: Any,
    support: Callable[[int, int], Any],
) -> Estimate:
    """Estimate the candidates of a sketch.

    ``family`` holds the k functions onto m buckets, ``row_reports`` the reports of each row. ``support(start, stop)``
    returns how many reports support each bucket of those rows.
    """
    n, m, k = counts.n, law.width, law.rows
    sums, squares = np.zeros(len(labels)), 0.0
    step = max(1, _AT_ONCE // max(m, len(labels), 1))
    for start in range(0, k, step):
        stop = min(start + step, k)
        table = np.asarray(law.cell.estimate(support(start, stop), row_reports[start:stop, None]))
        if labels:
            sums += np.take_along_axis(table, family.all(labels, start=start, stop=stop), axis=1).sum(axis=0)
        mean = np.asarray(row_reports[start:stop], np.float64) / m
        squares += float(((table - mean[:, None]) ** 2).sum())
    count = m / (m - 1) * (sums - n / m)
    held = np.clip(count, 0, n)
    collisions = np.clip(law.second_moment(squares, n) - held * (held - 1), 0, float(n) ** 2)
    error = np.sqrt(law.variance(n, held, collisions))
    return Estimate(labels, count, error, n, counts.guarantee)


def asked(candidates: Any) -> list[Any]:
    """Read the candidates of a mechanism without declared values: whole numbers, texts or bytes."""
    if candidates is None or isinstance(candidates, (str, bytes, dict)) or not np.ndim(candidates):
        raise InvalidType("candidates", candidates, "a list of the values to estimate", "candidates=['cat', 'dog']")
    labels = list(candidates.to_pylist() if hasattr(candidates, "to_pylist") else candidates)
    labels = [x.item() if isinstance(x, np.generic) else x for x in labels]
    for label in labels:
        if not isinstance(label, (Integral, str, bytes, bytearray, type(None))):
            raise InvalidType("candidates", label, "whole numbers, texts or bytes", "candidates=['cat', 'dog']")
    return labels


def liars_move(mechanism: Any, liars: int = 1) -> tuple[float, float]:
    """Return how far a number of made-up reports can move any estimated count, down and up.

    A report adds (1 - q)/(p - q) to an estimate if it supports the value, else -q/(p - q); K/d times as much if it
    speaks of d of the K values only. For a sketch with m buckets both are taken less 1/m, times m/(m-1).
    """
    law = getattr(mechanism, "law", None)
    if not isinstance(law, SupportLaw):
        raise InvalidArgument("mechanism", mechanism.NAME, "a frequency oracle or a sketch")
    ends = law.estimate(0, 1), law.estimate(1, 1)
    if isinstance(getattr(mechanism, "row_law", None), RowLaw):
        m = mechanism.width
        ends = m / (m - 1) * (ends[0] - 1 / m), m / (m - 1) * (ends[1] - 1 / m)
    return liars * ends[0], liars * ends[1]
