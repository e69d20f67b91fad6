"""The base of the oracles over declared values."""

from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import IntArray
from discreet.local.estimates import Estimate
from discreet.local.mechanism import REPORT_EPSILON, VALUES, Mechanism
from discreet.local.oracles.choices import Choices
from discreet.local.support import pure_estimate
from discreet.local.wire.bits import Rows
from discreet.local.wire.counts import Counts
from discreet.noise import Generator


class Oracle(Mechanism):
    """A pure oracle over declared values.

    A subclass has a `law`, a `layout`, `_randomise` and `_add`. It names its counters (`COUNTER`) and, unless there is
    one counter per value, defines their number (`_counters`) and the support of a value (`_support`).
    """

    epsilon: float = REPORT_EPSILON
    domain: Any = VALUES

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(domain=Choices.read(self.domain).domain)

    @cached_property
    def choices(self) -> Choices:
        """The declared values."""
        return Choices(self.domain)

    def _encode(self, values: Any, stream: Generator) -> Rows:
        return self._randomise(self.choices.known(values, stream), stream)

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        """Randomise the numbers of declared values, one packed report per row."""
        raise NotImplementedError

    @property
    def _counters(self) -> int:
        return self.choices.size

    def _support(self, counters: IntArray, codes: IntArray) -> IntArray:
        """Return how many reports support each of the values with these numbers."""
        return np.asarray(counters[codes])

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels, codes = self.choices.candidates(candidates)
        return pure_estimate(self.law, counts, labels, self._support(counts.counters[self.COUNTER], codes))

    def variance(self, n: int, f: Any = 0) -> Any:
        return self.law.variance(n, f)

    def total_variation(self) -> float:
        """Return p - q, for any two values: a report that supports both or neither is equally likely under both."""
        return float(self.law.p - self.law.q)

    def _code(self, value: Any, reports: int) -> int:
        """Return the number of a declared value, or refuse if there are too many reports to list."""
        self._listable("domain", reports)
        return int(self.choices.candidates([value])[1][0])
