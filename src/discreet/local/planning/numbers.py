"""Compare the mechanisms for a number before a collection. No data are used.

Errors of means follow from the laws. Those of a fitted distribution are measured on simulated collections of a
reference, a bell in the middle of the scale, an eighth of its length wide. The seed is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.local.mechanism import Mechanism, local_budget
from discreet.local.numbers.means import METHODS, MeanResponse
from discreet.local.numbers.square_wave import SquareWave

_RUNS, _MOST_SIMULATED = 40, 10**6


@dataclass(frozen=True)
class NumberPlanRow:
    """One mechanism: what it estimates, standard errors of mean and median, and the size of a report.

    Errors are in the unit of the values; on a log scale that of the median is a share of it. The mean's is the largest
    for any values, the median's that of the reference. None: not estimated.
    """

    mechanism: str
    settings: dict[str, Any]
    estimates: str
    mean_error: float | None
    median_error: float | None
    report_bits: int
    _made: Mechanism = field(repr=False, compare=False)

    def make(self) -> Any:
        """Return the mechanism."""
        return self._made


@dataclass(frozen=True)
class NumberPlan:
    """Mechanisms for a number: its distribution first, then its mean, the smallest error first."""

    rows: tuple[NumberPlanRow, ...]
    epsilon: float
    n: int

    @property
    def best(self) -> NumberPlanRow:
        """The first row."""
        return self.rows[0]

    def __str__(self) -> str:
        rows = self.to_rows()
        lines = [list(rows[0]), *(list(row.values()) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def to_rows(self) -> list[dict[str, str]]:
        """Return the rows as text, for printing."""
        rows = []
        for row in self.rows:
            median = "" if row.median_error is None else f"{row.median_error:.3g}"
            if median and row.settings.get("scale") == "log":
                median = f"{100 * float(median):.3g} %"
            rows.append({
                "mechanism": row.mechanism,
                "settings": ", ".join(f"{k}={v}" for k, v in row.settings.items()),
                "estimates": row.estimates,
                "error of the mean": "" if row.mean_error is None else f"{row.mean_error:.3g}",
                "error of the median": median,
                "bits": f"{row.report_bits:,}",
            })  # fmt: skip
        return rows


def plan_numbers(epsilon: float, n: int, low: float, high: float, *, scale: str = "linear") -> NumberPlan:
    """Compare the mechanisms for a number in a public range.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    n : int
        Expected reports.
    low, high : float
        The public range.
    scale : {"linear", "log"}
        "log" for times and sizes, which span several powers of ten. Means are of the values themselves.

    Examples
    --------
    >>> found = plan_numbers(epsilon=2, n=100_000, low=1, high=60_000, scale="log")
    >>> found.best.mechanism, round(100 * found.best.median_error, 1), found.best.report_bits
    ('square-wave', 1.5, 9)
    >>> print(str(found).splitlines()[1])
    square-wave    buckets=256, scale=log  distribution                     1.48 %               9
    """
    budget, reports = local_budget("epsilon", epsilon), checks.whole("n", n, low=1, high=10**15)
    wave = SquareWave(budget, low, high, scale=scale)
    rows = [NumberPlanRow(
        wave.NAME, {"buckets": wave.buckets, "scale": scale}, "distribution", None, _median_error(wave, reports),
        wave.report_bits, wave,
    )]  # fmt: skip
    means = [MeanResponse(budget, low, high, method) for method in METHODS]
    for m in sorted(means, key=lambda m: float(m.variance(1))):
        error = math.sqrt(m.variance(reports))
        rows.append(NumberPlanRow(m.NAME, {"method": m.method}, "mean", error, None, m.report_bits, m))
    return NumberPlan(tuple(rows), budget, reports)


def _median_error(m: SquareWave, n: int) -> float:
    """Return the standard error of the median of the reference; a log scale gives the share of the median."""
    places = (np.arange(m.buckets) + 0.5) / m.buckets
    bell = np.exp(-0.5 * ((places - 0.5) * 8) ** 2)
    small = min(n, _MOST_SIMULATED)
    found = m.simulated(bell / bell.sum(), small, _RUNS, rng=0)
    medians = np.array([float(one.quantile(0.5)) for one in found])
    true = math.sqrt(m.low * m.high) if m.scale == "log" else (m.low + m.high) / 2
    errors = np.log(medians / true) if m.scale == "log" else medians - true
    return float(np.sqrt(np.mean(errors**2)) * math.sqrt(small / n))
