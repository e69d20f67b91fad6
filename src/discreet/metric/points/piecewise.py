"""Numbers of a table reported column by column, with a promise for *any* two rows of the box.

To compare with `NDLaplace`, use its ``epsilon_at_diameter`` as the total. Published comparisons spent the whole ε on
every column, so that a row of d columns cost dε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import DOMAIN, RANDOM_STATE, Box, Exact, FloatArray, IntArray, checks, option
from discreet.errors import InvalidArgument
from discreet.metric.perturber import (
    ANY_NUMBERS,
    CATEGORY_EPSILON,
    Perturber,
    Spending,
    checked_domain,
    numeric_mechanism,
)
from discreet.noise.reports import MeanLaw, NoNoise, Sampled, SquareWaveLaw, mean_law, numbers_sent, places_of

#: Outside this range reports would lose their digits in doubles.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**4), 10**5

ROW_EPSILON: Any = option(
    default=1.0, takes="budget", example=1.0, help="Budget of the numbers of a row, between any two rows.",
    details="``math.inf`` adds no noise and gives no privacy.",
)  # fmt: skip
#: Half the points of a piecewise report: its variance is within 0.1 % of the continuous one's up to ε = 5.
STEPS = 1 << 12
#: Buckets of a column's range for the square wave.
BUCKETS = 1024
_NAMES = {"piecewise": "Piecewise", "hybrid": "Hybrid", "duchi": "Duchi", "square_wave": "SquareWave"}
#: Rows that are worked on at a time; the result does not depend on it.
_ROWS_AT_ONCE = 1 << 18


class Piecewise(Perturber):
    """Report every number as a point that is more likely near it than far from it.

    Wang and others (2019), on integers; with other methods Duchi, Jordan, Wainwright (2018) and Li and others (2020).
    To collect reports from devices, see `discreet.local.MeanResponse` and `discreet.local.SquareWave`.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local".

    Privacy
    -------
    Neighbours: any two values of one row, which may differ in every column. A number is clamped to its bounds and put
    on a public grid. Then every report has a probability between Q and e^(ε/k) Q, exact and on integers
    (`discreet.noise.reports.means`), so k reports are within e^ε. Which numbers are reported does not depend on the
    row. Cost: ε per row, and the categories' own. The published baseline spent ε on *every* column: dε per row.

    Examples
    --------
    >>> import discreet as dc
    >>> import numpy as np
    >>> mechanism = dc.metric.Piecewise(epsilon=8, domain={"x": (0, 1), "y": (0, 10)}, random_state=1)
    >>> mechanism.transform(np.array([[0.2, 3.0], [0.8, 9.0]])).round(2).tolist()
    [[0.2, 3.21], [0.85, 10.35]]
    >>> mechanism.guarantee_.epsilon, mechanism.guarantee_.model, mechanism.n_sent
    (8.0, 'local', 2)
    >>> for method in ("piecewise", "hybrid", "duchi"):
    ...     law = dc.metric.Piecewise(epsilon=2, domain={"x": (-1, 1)}, method=method).law
    ...     print(method, [round(float(law.variance(t)), 2) for t in (0, 1)])
    piecewise [0.65, 1.23]
    hybrid [1.04, 1.04]
    duchi [1.72, 0.72]
    """

    MODEL = "local"

    epsilon: float = ROW_EPSILON
    domain: Any = DOMAIN
    attributes: str = option(
        default="all",
        choices=("all", "sample"),
        help="Report all numbers of a row, or a few drawn at random.",
        details=(
            '"all": every one of d numbers, with ε/d; for clustering and other uses of rows. "sample": k = max(1, '
            "min(d, ⌊ε/2.5⌋)) numbers, drawn for every row, with ε/k; better for column means. Their distance from the "
            "middle is multiplied by d/k and the others are reported as the middle (square wave: as missing)."
        ),
    )
    _: KW_ONLY
    method: str = option(
        default="piecewise",
        choices=tuple(_NAMES),
        help="The law of a report.",
        details=(
            '"duchi": one of two points. "hybrid": a mixture of both with the smallest worst-case variance. '
            '"square_wave": a bucket near the true one; it shows the distribution best, but its mean is biased towards '
            "the middle. The other three are unbiased."
        ),
        job="-",
    )
    category_epsilon: Any = CATEGORY_EPSILON
    random_state: Any = RANDOM_STATE

    @property
    def _name(self) -> str:
        return _NAMES[self.read_option("method")]

    @property
    def n_sent(self) -> int:
        """Number of reported numbers per row; the domain must be declared with its columns."""
        return self._reports().n_sent

    @property
    def law(self) -> MeanLaw | SquareWaveLaw:
        """The law of one number's report, on [-1, 1]; the domain must be declared with its columns."""
        return self._reports().law

    def _reports(self) -> ColumnReports:
        found: ColumnReports = numeric_mechanism(self, checked_domain(self))
        return found

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ColumnReports:
        given = self.read_options()
        return ColumnReports(local_epsilon(self.epsilon), box, given["attributes"], given["method"])


@dataclass(frozen=True)
class ColumnReports:
    """The mechanism with checked arguments."""

    epsilon: Exact
    box: Box
    attributes: str
    method: str

    @property
    def n_sent(self) -> int:
        """Number k of reported numbers per row."""
        d = len(self.box.lower)
        if self.attributes == "all" or self.epsilon == math.inf:
            return d
        return numbers_sent(d, Fraction(self.epsilon))

    @property
    def each(self) -> Exact:
        """The budget of each reported number, ε/k."""
        return math.inf if self.epsilon == math.inf else Fraction(self.epsilon) / self.n_sent

    @property
    def law(self) -> MeanLaw | SquareWaveLaw:
        """The law of one number's report."""
        if self.epsilon == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite: without noise there is no law", "epsilon=1.0")
        if self.method == "square_wave":
            return SquareWaveLaw(Fraction(self.each), BUCKETS)
        return mean_law(self.method, Fraction(self.each), STEPS)

    @property
    def sampled(self) -> Sampled:
        """The law of a whole row's report."""
        return Sampled(self.law, self.n_sent, len(self.box.lower))

    @property
    def spending(self) -> Spending:
        """The cost of a row: k numbers with ε/k each."""
        d, k, each = len(self.box.lower), self.n_sent, "inf" if self.each == math.inf else str(self.each)
        return Spending(
            label=f"{k} of {d} numbers, equal parts",
            law=NoNoise() if self.each == math.inf else self.sampled,
            neighbours=ANY_NUMBERS,
            parameters={"dimension": d, "attributes": self.attributes, "reported": k, "epsilon_each": each},
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Report on rows in the columns' own units."""
        if self.epsilon == math.inf:
            return clamped(rows, self.box)
        n, d = rows.shape
        chosen = self.sampled.chosen(n, stream) if self.n_sent < d else None
        law, out = self.law, np.empty(rows.shape)
        for start in range(0, n, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            out[part] = self._report(rows[part], None if chosen is None else chosen[part], law, stream)
        return out

    def _report(self, rows: FloatArray, chosen: IntArray | None, law: Any, stream: noise.Generator) -> FloatArray:
        half = self.box.widths / 2
        middle = self.box.lower + half
        if chosen is None:
            places = places_of(rows, self.box.lower, self.box.upper)
            said = law.values[law.draw(places.ravel(), stream)].reshape(rows.shape)
            said *= half
            said += middle
            return np.asarray(said)
        taken = np.take_along_axis(rows, chosen, axis=1)
        places = places_of(taken, self.box.lower[chosen], self.box.upper[chosen])
        said = law.values[law.draw(places.ravel(), stream)].reshape(chosen.shape) * half[chosen]
        if self.method == "square_wave":
            out = np.full(rows.shape, np.nan)
        else:  # unbiased: d/k times the report if there is one, else the middle
            out = np.tile(middle, (len(rows), 1))
            said *= rows.shape[1] / self.n_sent
        np.put_along_axis(out, chosen, middle[chosen] + said, axis=1)
        return out


def local_epsilon(value: object) -> Exact:
    """Check the total budget of a row."""
    number = checks.budget("epsilon", value)
    if number != math.inf and not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        expected = f"from {float(SMALLEST_EPSILON):g} to {LARGEST_EPSILON:g} (or math.inf for a run without privacy)"
        raise InvalidArgument("epsilon", value, expected, "epsilon=1.0")
    return number


def clamped(rows: FloatArray, box: Box) -> FloatArray:
    """Move rows into the box and replace missing values by the middle: the report without noise."""
    middle = box.lower + box.widths / 2
    return np.asarray(np.clip(np.where(np.isnan(rows), middle, rows), box.lower, box.upper))
