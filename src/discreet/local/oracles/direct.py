"""Direct response, also called k-ary randomised response: the value itself, or another one.

Warner (1965) for two values; Kairouz, Bonawitz, Ramage (2016) for k. Beats unary encoding and local hashing while there
are fewer than about 3e^ε + 2 values (spec local-sketches, C.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core.arrays import IntArray
from discreet.local.estimates import Estimate
from discreet.local.mechanism import Mechanism, adds_up, local_budget
from discreet.local.oracles.choices import Choices
from discreet.local.oracles.laws import SupportLaw, pure_estimate
from discreet.local.oracles.likelihood import likelihood_estimate
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.noise import Generator
from discreet.noise.reports.coins import keep_chance
from discreet.noise.stream.thresholds import Chance, chance_value


@dataclass(frozen=True)
class DirectResponse(Mechanism):
    """Report the value with probability e^ε/(e^ε + d - 1), else one of the d - 1 others.

    Parameters
    ----------
    epsilon : float
        Budget of one report.
    domain : int or list
        How many values there are (0..d-1), or their labels. A value not declared is replaced by a random one.

    Privacy
    -------
    Neighbours: any two values of one user. A report y has probability e^ε/(e^ε + d - 1) under the value y and
    1/(e^ε + d - 1) under every other: the ratio is exactly e^ε. Cost: ε per report.

    Examples
    --------
    >>> m = DirectResponse(epsilon=1, domain=4)
    >>> counts = m.aggregate(m.encode([0, 0, 0, 1, 2, 2], rng=7))
    >>> m.estimate(counts).count.round(1).tolist()
    [3.2, -0.2, 6.5, -3.5]
    >>> m.report_bits, round(m.variance(1000, f=0))
    (2, 1598)
    """

    NAME = "direct-response"

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
        others, exact = Fraction(self.choices.size - 1), Fraction(self.epsilon.exact)  # type: ignore[attr-defined]
        # 1/(e^ε + d - 1) = e^(-ε)/(1 + (d - 1) e^(-ε)), from the same exact budget as the chance to keep.
        stray = Chance(b=Fraction(1), d=others, x=exact)
        return SupportLaw(chance_value(keep_chance(self.choices.size, exact)), chance_value(stray))

    @cached_property
    def layout(self) -> Layout:
        """One number."""
        return Layout((("value", bits_for(self.choices.size)),))

    def _encode(self, values: Any, stream: Generator) -> Rows:
        codes = self.choices.known(values, stream)
        sent = noise.randomized_response(codes, n_values=self.choices.size, epsilon=self.epsilon, rng=stream)
        return self.layout.pack(value=sent)

    def _zeros(self) -> dict[str, IntArray]:
        return {"reports": np.zeros(self.choices.size, np.int64)}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> int:
        sent = self.layout.unpack(rows, "value")
        sent = sent[sent < self.choices.size]
        counters["reports"] += np.bincount(sent, minlength=self.choices.size)
        return len(sent)

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return adds_up(counters["reports"], n)

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels, codes = self.choices.candidates(candidates)
        return pure_estimate(self.law, counts, labels, counts.counters["reports"][codes])

    def _likelihood(self, counts: Counts, candidates: Any) -> Estimate:
        return likelihood_estimate(self, counts, candidates, counts.counters["reports"], np.asarray, np.asarray)

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold."""
        return self.law.variance(n, f)

    def total_variation(self) -> float:
        """Return (e^ε - 1)/(e^ε + d - 1), for any two values."""
        return self.law.p - self.law.q

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        """Return every report and its probability given the value."""
        _, codes = self.choices.candidates([value])
        chances = np.full(self.choices.size, self.law.q)
        chances[codes[0]] = self.law.p
        return self.layout.pack(value=np.arange(self.choices.size)), chances
