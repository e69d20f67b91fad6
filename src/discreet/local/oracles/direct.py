"""Direct response, also called k-ary randomised response: send the value itself, or another one.

Warner (1965) for two values; Kairouz, Bonawitz, Ramage (2016) for k. The most accurate oracle for up to about 2e^ε
values.
"""

from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import IntArray
from discreet.local.mechanism import OneNumber
from discreet.local.oracles.base import Oracle
from discreet.local.support import SupportLaw
from discreet.local.wire.bits import Rows
from discreet.noise import Generator
from discreet.noise.reports import Response


class DirectResponse(OneNumber, Oracle):
    """Report the value with probability e^ε/(e^ε + d - 1), else one of the d - 1 others.

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
    FIELD = "value"

    @cached_property
    def randomiser(self) -> Response:
        return Response(self._exact, self.choices.size)

    @cached_property
    def law(self) -> SupportLaw:
        return SupportLaw(self.randomiser.kept, self.randomiser.stray)

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        return self.layout.pack(value=self.randomiser.draw(codes, stream))

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        _, codes = self.choices.candidates([value])
        chances = np.full(self.choices.size, self.law.q)
        chances[codes[0]] = self.law.p
        return self.layout.pack(value=np.arange(self.choices.size)), chances
