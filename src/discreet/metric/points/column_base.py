"""What the mechanisms that report column by column share: how a row's budget is divided, and the reports themselves."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet import noise
from discreet.core import Box, Exact, FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.metric.perturber import Perturber, Spending, checked_domain, numeric_mechanism
from discreet.noise.reports import NoNoise, Sampled, numbers_sent, places_of

#: Budgets outside mean nothing, and the doubles that reports are turned into would lose their digits.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**4), 10**5
#: Rows worked on at a time, which bounds the memory; the result does not depend on it.
_ROWS_AT_ONCE = 1 << 18


class NumberLaw(Protocol):
    """The law of one number's report: chances for a place on the public grid, price, and what reports stand for."""

    @property
    def epsilon(self) -> Exact:
        """What a report may cost."""

    @property
    def price(self) -> Exact:
        """What it costs."""

    @property
    def values(self) -> FloatArray:
        """The number each report stands for, where the column is [-1, 1]."""

    def draw(self, places: IntArray, rng: object) -> IntArray:
        """Draw a report for every place."""

    def probabilities(self, place: int) -> FloatArray:
        """Return the chance of every report given the place."""

    def variance(self, t: Any) -> Any:
        """Return the variance of a report's value given t."""


def local_epsilon(value: object) -> Exact:
    """Check the total budget of a row: a sensible number, or ``math.inf``.

    Examples
    --------
    >>> local_epsilon(0.5)
    Fraction(1, 2)
    """
    number = checks.budget("epsilon", value)
    if number != math.inf and not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        expected = f"from {float(SMALLEST_EPSILON):g} to {LARGEST_EPSILON:g} (or math.inf for a run without privacy)"
        raise InvalidArgument("epsilon", value, expected, "epsilon=1.0")
    return number


def clamped(rows: FloatArray, box: Box) -> FloatArray:
    """Move rows into the box and put the middle where a value is missing: what is reported without noise."""
    middle = box.lower + box.widths / 2
    return np.asarray(np.clip(np.where(np.isnan(rows), middle, rows), box.lower, box.upper))


@dataclass(eq=False, repr=False)
class Columnwise(Perturber):
    """The base of the mechanisms that report numbers one by one. A subclass has ``_law(epsilon)``."""

    MODEL = "local"
    #: Whether reports are right in the mean.
    UNBIASED = True

    epsilon: float = 1.0
    domain: Any = None
    attributes: str = "all"
    _: KW_ONLY
    category_epsilon: Any = None
    random_state: Any = None

    @abstractmethod
    def _law(self, epsilon: Fraction) -> NumberLaw:
        """Return the law of one number's report with a budget of its own; checks the other arguments."""

    @property
    def n_sent(self) -> int:
        """How many numbers of a row are reported; the domain must be declared with its columns."""
        return self._reports().n_sent

    @property
    def law(self) -> NumberLaw:
        """The law of one number's report, on [-1, 1]; the domain must be declared with its columns."""
        return self._reports().law

    def _reports(self) -> ColumnReports:
        found: ColumnReports = numeric_mechanism(self, checked_domain(self))
        return found

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ColumnReports:
        epsilon = local_epsilon(self.epsilon)
        attributes = checks.choice("attributes", self.attributes, ("all", "sample"))
        self._law(Fraction(1))  # the other arguments, also where no noise is asked for
        return ColumnReports(epsilon, box, attributes, self._law, self.UNBIASED)


@dataclass(frozen=True)
class ColumnReports:
    """The mechanism with all its arguments checked."""

    epsilon: Exact
    box: Box
    attributes: str
    make: Callable[[Fraction], NumberLaw]
    unbiased: bool

    @property
    def n_sent(self) -> int:
        """How many numbers of a row are reported, k."""
        d = len(self.box.lower)
        if self.attributes == "all" or self.epsilon == math.inf:
            return d
        return numbers_sent(d, Fraction(self.epsilon))

    @property
    def each(self) -> Exact:
        """The budget of each number that is reported, ε/k."""
        return math.inf if self.epsilon == math.inf else Fraction(self.epsilon) / self.n_sent

    @property
    def law(self) -> NumberLaw:
        """The law of one number's report."""
        if self.epsilon == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite: without noise there is no law", "epsilon=1.0")
        return self.make(Fraction(self.each))

    @property
    def sampled(self) -> Sampled:
        """The law of a whole row's report."""
        return Sampled(self.law, self.n_sent, len(self.box.lower))

    @property
    def spending(self) -> Spending:
        """What a row costs: k numbers with ε/k each."""
        d, k = len(self.box.lower), self.n_sent
        law = NoNoise() if self.each == math.inf else self.sampled
        return Spending(
            label=f"{k} of {d} numbers, equal parts",
            law=law,
            neighbours="any two values of every number",
            parameters={
                "dimension": d,
                "attributes": self.attributes,
                "reported": k,
                "epsilon_each": "inf" if self.each == math.inf else str(self.each),
            },
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Report on rows in the columns' own units."""
        if self.epsilon == math.inf:
            return clamped(rows, self.box)
        n, d = rows.shape
        chosen = None
        if self.n_sent < d:
            chosen = self.sampled.chosen(n, stream)
        law, out = self.law, np.empty(rows.shape)
        for start in range(0, n, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            out[part] = self._report(rows[part], None if chosen is None else chosen[part], law, stream)
        return out

    def _report(self, rows: FloatArray, chosen: IntArray | None, law: NumberLaw, stream: noise.Generator) -> FloatArray:
        half = self.box.widths / 2
        middle = self.box.lower + half
        if chosen is None:
            places = places_of(rows, self.box.lower, self.box.upper)
            said = law.values[law.draw(places.ravel(), stream)].reshape(rows.shape)
            said *= half
            said += middle
            return said
        told = np.take_along_axis(rows, chosen, axis=1)
        places = places_of(told, self.box.lower[chosen], self.box.upper[chosen])
        said = law.values[law.draw(places.ravel(), stream)].reshape(chosen.shape) * half[chosen]
        if not self.unbiased:
            out = np.full(rows.shape, np.nan)
        else:
            # Right in the mean: d/k times the report where one is made, the middle where none is.
            out = np.tile(middle, (len(rows), 1))
            said *= rows.shape[1] / self.n_sent
        np.put_along_axis(out, chosen, middle[chosen] + said, axis=1)
        return out
