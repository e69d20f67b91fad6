"""Unary encoding: one bit per declared value, each randomised independently.

Wang, Blocki, Li, Jha (2017). The symmetric variant is basic RAPPOR without its permanent part.
"""

from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import IntArray, option
from discreet.local.mechanism import within
from discreet.local.oracles.base import Oracle
from discreet.local.oracles.laws import UnaryLaw
from discreet.local.support import SupportLaw
from discreet.local.wire.bits import Layout, Rows, count_ones
from discreet.noise import Generator
from discreet.noise.stream import chance_value

VARIANTS = ("optimised", "symmetric")


class UnaryEncoding(Oracle):
    """Send one noisy bit per declared value: 1 for the value held, 0 for the others.

    Privacy
    -------
    Neighbours: any two values of one user. Their vectors differ in two bits. With p and q the probabilities that the
    held bit and another one are sent as 1, the ratio is at most p(1-q)/(q(1-p)): exactly e^ε for both variants. Cost: ε
    per report.

    Examples
    --------
    >>> m = UnaryEncoding(epsilon=2, domain=["cat", "dog", "emu"])
    >>> found = m.estimate(m.aggregate(m.encode(["cat"] * 600 + ["dog"] * 400, rng=1)))
    >>> found.count.round().tolist(), found.std_error.round().tolist()
    ([580.0, 383.0, 5.0], [36.0, 33.0, 27.0])
    >>> m.report_bits, round(m.variance(1000, f=0))
    (3, 724)
    """

    NAME = "unary-encoding"
    COUNTER = "ones"

    variant: str = option(
        default="optimised", choices=VARIANTS, help="How the budget is divided between ones and zeros.",
        details=(
            '"optimised": the held bit is 1 with probability 1/2, another with 1/(e^ε + 1). "symmetric": every bit is '
            "flipped with probability 1/(e^(ε/2) + 1); better only for very frequent values (above 20 % at ε = 2)."
        ),
    )  # fmt: skip

    @cached_property
    def randomiser(self) -> UnaryLaw:
        return UnaryLaw(self._exact, self.choices.size, self.variant == "symmetric")

    @cached_property
    def law(self) -> SupportLaw:
        """The support probabilities. A report supports the values whose bits are 1."""
        held, other = self.randomiser.coins.values()
        return SupportLaw(chance_value(held.chance), chance_value(other.chance))

    @cached_property
    def layout(self) -> Layout:
        """A vector of bits, one per value."""
        return Layout((("bits", self.choices.size),))

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        return self.randomiser.draw(codes, stream)

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        count_ones(rows, counters["ones"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return within(counters["ones"], n)

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        size = self.choices.size
        own = self._code(value, 2**size)
        every = np.arange(2**size)
        chances = np.ones(2**size)
        for code in range(size):
            one = self.law.p if code == own else self.law.q
            chances *= np.where(every >> code & 1, one, 1 - one)
        return self.layout.pack(bits=every), chances
