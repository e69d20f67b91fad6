"""The estimator of sketches with shared rows: count-mean over any row oracle (spec local-sketches, C.2).

A user draws one of k rows, hashes the value to one of its m buckets and reports the bucket through a row oracle with
support chances p and q. From a row's support counts, N(j, b) = (support - n_j q)/(p - q) estimates how many of its
reporters fell into bucket b, and a value v, in bucket h_j(v) of row j, has the estimate

    f = (m/(m-1)) (Σ_j N(j, h_j(v)) - n/m),

unbiased over the draw of the hash key. With v₁ = p(1-p)/(p-q)², v₀ = q(1-q)/(p-q)² and three-wise hashes,

    Var = (m/(m-1))² [f v₁ + (n-f)(v₁/m + v₀(1-1/m))] + [(n-f) + G/k]/(m-1),   G = Σ_{other values} f'(f'-1).

The last term is collisions: more reports do not lower it. G is estimated from the sketch itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.local.estimates import Estimate
from discreet.local.oracles.laws import SupportLaw
from discreet.local.wire.counts import Counts
from discreet.noise import HashFamily

#: Entries of a table that are worked on at once.
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class RowLaw:
    """The noise of one report in a row of a sketch: k rows of m buckets, and the chances of the row oracle.

    Examples
    --------
    >>> law = RowLaw(rows=8, width=16, cell=SupportLaw(p=0.75, q=0.25))
    >>> round(law.own, 3), round(law.variance(2000, 900, second_moment=8e5))
    (0.75, 8447)
    """

    rows: int
    width: int
    cell: SupportLaw

    @property
    def own(self) -> float:
        """v₁, the variance of what a report adds to its own bucket."""
        return self.cell.own / (self.cell.p - self.cell.q) ** 2

    @property
    def other(self) -> float:
        """v₀, the variance of what a report adds to another bucket."""
        return self.cell.other / (self.cell.p - self.cell.q) ** 2

    def second_moment(self, squares: float, n: float) -> float:
        """Return G from the squared distances of all bucket estimates from n_j/m, added up."""
        m = self.width
        within = (squares - n * (self.own + (m - 1) * self.other)) / (1 - 1 / m)
        return self.rows * (within - n)

    def variance(self, n: int, f: Any, second_moment: Any = None) -> Any:
        """Return the variance of an estimated count; ``second_moment`` is G (default: n², the worst case)."""
        m, collisions = self.width, float(n) ** 2 if second_moment is None else second_moment
        noise = f * self.own + (n - f) * (self.own / m + self.other * (1 - 1 / m))
        return (m / (m - 1)) ** 2 * noise + ((n - f) + collisions / self.rows) / (m - 1)


def rows_estimate(
    law: RowLaw,
    counts: Counts,
    labels: list[Any],
    family: HashFamily,
    row_reports: Any,
    support: Callable[[int, int], Any],
) -> Estimate:
    """Estimate the candidates of a sketch.

    Parameters
    ----------
    labels : list
        The candidates.
    family : HashFamily
        The k functions onto m buckets.
    row_reports : array of int
        Reports of each row, n_j.
    support : callable
        ``support(start, stop)`` returns how many reports support each bucket of those rows, one row each.
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
