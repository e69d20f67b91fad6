"""What every oracle over declared values shares: one table of counters, a pure law, and the estimates they give."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.core import IntArray
from discreet.errors import InvalidArgument
from discreet.local.estimates import Estimate
from discreet.local.mechanism import MOST_REPORTS, Mechanism, local_budget
from discreet.local.oracles.choices import Choices
from discreet.local.oracles.laws import SupportLaw, pure_estimate
from discreet.local.wire.bits import Rows
from discreet.local.wire.counts import Counts
from discreet.noise import Generator


@dataclass(frozen=True)
class Oracle(Mechanism):
    """A pure oracle over declared values.

    A subclass is a frozen dataclass. It has a `law`, a `layout`, `_randomise` and `_add`, and says what its counters
    are called (`COUNTER`), how many there are (`_counters`) and how many reports support a value (`_support`), where
    that is not one counter per value. If a report is one number, `OneNumber` gives the layout and counts.
    """

    COUNTER: ClassVar[str] = "reports"

    epsilon: float
    domain: Any

    def __post_init__(self) -> None:
        self._set(epsilon=local_budget("epsilon", self.epsilon), domain=Choices.read(self.domain).domain)

    @cached_property
    def choices(self) -> Choices:
        """The declared values."""
        return Choices(self.domain)

    @cached_property
    def law(self) -> SupportLaw:
        """The chances of the randomiser, which are those of the estimator."""
        raise NotImplementedError

    def _encode(self, values: Any, stream: Generator) -> Rows:
        return self._randomise(self.choices.known(values, stream), stream)

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        """Randomise the numbers of declared values, one packed report per row."""
        raise NotImplementedError

    @property
    def _counters(self) -> int:
        return self.choices.size

    def _zeros(self) -> dict[str, IntArray]:
        return {self.COUNTER: np.zeros(self._counters, np.int64)}

    def _support(self, counters: IntArray, codes: IntArray) -> IntArray:
        """Return how many reports support each of the values with these numbers."""
        return np.asarray(counters[codes])

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels, codes = self.choices.candidates(candidates)
        return pure_estimate(self.law, counts, labels, self._support(counts.counters[self.COUNTER], codes))

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold."""
        return self.law.variance(n, f)

    def total_variation(self) -> float:
        """Return p - q, for any two values: reports that support both, or neither, are as likely under either."""
        return self.law.p - self.law.q

    def _listable(self, value: Any, reports: int) -> int:
        """Return the number of a declared value, if few enough reports can be sent to list them all."""
        if reports > MOST_REPORTS:
            expected = f"small enough to list all reports, at most {MOST_REPORTS}"
            raise InvalidArgument("domain", self.choices.size, expected)
        return int(self.choices.candidates([value])[1][0])
