"""The mean of one number in a public range, without bias.

Duchi, Jordan, Wainwright (2018); Wang and others (2019). The laws are in `discreet.noise.reports.means`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import FloatArray, Guarantee, IntArray, Numeric, checks, normal_width, option
from discreet.engines.tables import Encoder, arrow_kind
from discreet.errors import InvalidType
from discreet.local.mechanism import REPORT_EPSILON, OneNumber
from discreet.local.numbers.scales import HIGH, LOW, Scale
from discreet.local.wire.bits import Rows
from discreet.noise import Generator
from discreet.noise.reports import HALF, DuchiLaw, MeanLaw, best_half, mean_law, places_of

METHODS = ("hybrid", "piecewise", "duchi")
#: Half the points of the piecewise law: its variance is within 0.4 % of the continuous one's up to ε = 3.
STEPS = 128

METHOD: Any = option(
    default="hybrid", choices=METHODS, help="The law of a report.",
    details=(
        '"duchi": one of two values; best for small ε. "piecewise": a point that is more likely near the value; best '
        'for large ε. "hybrid": a mixture with the smallest worst-case variance.'
    ),
)  # fmt: skip
POINTS: Any = option(
    default=STEPS, low=1, high=2**20, help="Half the number of points of a piecewise report.",
    details="More points make longer reports and a slightly smaller variance.",
)  # fmt: skip
WINDOW: Any = option(
    default=None, low=0, high=2**20, help="Points on either side of the likeliest one that are as likely.",
    details="None: the best number.",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """An estimated mean with its error; arrays if there are several attributes.

    Attributes
    ----------
    mean : float or ndarray
        Unbiased estimate of the reporters' mean. It may be outside the range.
    std_error : float or ndarray
        Standard error over the noise, for fixed values of the reporters.
    population_error : float or ndarray
        Standard error if the reporters are a sample of a population whose mean is estimated.
    n : int
        Number of reports.
    guarantee : Guarantee
        The promise to every reporter.

    Examples
    --------
    >>> m = MeanResponse(epsilon=1, low=0, high=100)
    >>> found = m.estimate(m.aggregate(m.encode([20.0, 30.0] * 5000, rng=1)))
    >>> round(found.mean, 1), round(found.std_error, 2)
    (25.0, 1.04)
    >>> [round(float(end), 1) for end in found.interval(0.95)]
    [23.0, 27.1]
    """

    mean: Any
    std_error: Any
    population_error: Any
    n: int
    guarantee: Guarantee

    def interval(self, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Return the ends of a confidence interval, for the mean of the reporters or of the population."""
        error = self.population_error if population else self.std_error
        reach = normal_width(float(checks.probability("level", level))) * error
        return self.mean - reach, self.mean + reach


class MeanResponse(OneNumber):
    """Report one number so that the mean of all reports is unbiased.

    Values outside the bounds count as the nearest bound; missing ones as the middle. For a whole table instead of
    devices, see `discreet.metric.Piecewise`.

    Privacy
    -------
    Neighbours: any two values of one user. A value is put on a public grid. Given its place, every report has a
    probability between Q and e^ε Q, exact and independent of floating point (`discreet.noise.reports.means`): the ratio
    is exactly e^ε. Cost: ε per report.

    Examples
    --------
    >>> m = MeanResponse(epsilon=2, low=0, high=10)
    >>> counts = m.aggregate(m.encode([1.0, 2.0, 3.0] * 2000, rng=4))
    >>> round(m.estimate(counts).mean, 2), m.report_bits
    (1.95, 9)
    >>> [round(MeanResponse(1, -1, 1, method).variance(1), 2) for method in ("hybrid", "piecewise", "duchi")]
    [4.29, 5.22, 4.68]
    """

    NAME = "mean-response"

    epsilon: float = REPORT_EPSILON
    low: float = LOW
    high: float = HIGH
    method: str = METHOD
    steps: int = POINTS
    window: int | None = WINDOW

    def __post_init__(self) -> None:
        super().__post_init__()
        scale = Scale.read(self.low, self.high)
        self._set(low=scale.low, high=scale.high, window=half_window(self, self._exact))

    @cached_property
    def law(self) -> MeanLaw:
        """The probabilities of the reports and the numbers they stand for, on [-1, 1]."""
        return mean_law(self.method, self._exact, self.steps, self.window)

    @property
    def _counters(self) -> int:
        return len(self.law.values)

    def _encode(self, values: Any, stream: Generator) -> Rows:
        return self.layout.pack(report=self.law.draw(places_of(numbers(values), self.low, self.high), stream))

    def estimate(self, counts: Any) -> MeanEstimate:  # type: ignore[override]
        """Estimate the mean of the reporters' values from the result of `aggregate`."""
        counts = self._own(counts)
        centre, error, wide = moments(self.law, counts.counters["reports"][None])
        scale = (self.high - self.low) / 2
        mean = self.low + scale + scale * centre[0]
        return MeanEstimate(float(mean), float(scale * error[0]), float(scale * wide[0]), counts.n, counts.guarantee)

    def variance(self, n: int, value: Any = None) -> Any:
        """Return the variance of the estimated mean of ``n`` reporters who all hold ``value`` (None: the worst)."""
        scale = (self.high - self.low) / 2
        if value is None:
            flat, growth = self.law.second
            return scale**2 * max(flat, flat + growth - 1) / n
        t = places_of(np.asarray(value, np.float64), self.low, self.high) / HALF - 1
        return scale**2 * self.law.variance(t) / n

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        place = int(places_of(numbers([value]), self.low, self.high)[0])
        return self.layout.pack(report=np.arange(len(self.law.values))), self.law.probabilities(place)


def moments(law: MeanLaw, reports: IntArray, sampled: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return means on [-1, 1] with their errors, for the reporters and for their population, of every row of counts.

    ``sampled`` is the share of the reporters who reported the attribute. A report's value has E[value²] = a + b t². The
    mean of t² over the reporters is estimated from it, between mean² and 1. A sign contains no information on it (b =
    0), so mean² is used: the error is then too large rather than too small.
    """
    n = reports.sum(axis=1)
    some = np.maximum(n, 1)
    mean = reports @ law.values / some
    squared = np.minimum(mean**2, 1.0)
    flat, growth = law.second
    if isinstance(law, DuchiLaw):
        second = squared
    else:
        second = np.clip((reports @ law.values**2 / some - flat) / growth, squared, 1.0)
    # Over the mechanism and over who spoke: E[value²] - mean², less what fixed values do not vary by.
    wide = np.maximum(flat + growth * second - squared, 0.0)
    fixed = np.maximum(wide - sampled * (second - squared), 0.0)
    with np.errstate(divide="ignore"):
        return mean, np.sqrt(fixed / n), np.sqrt(wide / n)


def half_window(mechanism: Any, epsilon: Fraction) -> int:
    """Return the declared half-width of the window, or the best one; fewer than the points on a side."""
    if mechanism.window is None:
        return best_half(epsilon, mechanism.steps)
    return int(mechanism._within("window", high=mechanism.steps - 1))


def numbers(values: Any) -> FloatArray:
    """Read one number per row; anything else is NaN. Types may be refused, rows may not."""
    if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
        values = pa.chunked_array(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        if arrow_kind(values.type) == "other":
            raise InvalidType("values", str(values.type), "a column of numbers", "values=column.cast(pa.float64())")
        return Encoder(Numeric("values", 0, 1)).arrow(values)
    return checks.numeric_column("values", values)
