"""Hadamard response: a few signs of a random transform of the value.

One bit: Bassily and Smith (2015), Nguyên et al. (2016). Several bits are sent as one direct response over a random
projection and reach the optimal error with about log₂ e^ε signs.
"""

import math
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet.core import BoolArray, IntArray, jit, option
from discreet.local.mechanism import within
from discreet.local.oracles.base import Oracle
from discreet.local.support import SupportLaw
from discreet.local.walsh_hadamard import walsh_hadamard
from discreet.local.wire.bits import Layout, Rows, bits_for, odd, read_bits
from discreet.noise import Generator
from discreet.noise.reports import ParityLaw, reduce_vector
from discreet.noise.stream import Chance, chance_value

#: The collector makes 2^t additions per report.
MOST_BITS = 20


class HadamardResponse(Oracle):
    """Estimate how often each of many categories occurs, from short reports and with little work for the collector.

    Each user draws t random vectors of bits and sends them with t noisy parities of the number of their category.

    Privacy
    -------
    Neighbours: any two values of one user. The vectors do not depend on the value. Given them, the t parities are one
    of 2^t words, sent by direct response: the true word with probability e^ε/(e^ε + 2^t - 1), every other with 1/(e^ε +
    2^t - 1). The ratio is exactly e^ε. Cost: ε per report.

    Notes
    -----
    A report has t (⌈log₂ d⌉ + 1) bits. The collector keeps 2^⌈log₂ d⌉ whole numbers, makes 2^t additions per report and
    one fast transform at the end.

    Examples
    --------
    >>> m = HadamardResponse(epsilon=3, domain=1024)
    >>> m.bits, m.report_bits, round(m.variance(1000), 1)
    (4, 44, 223.2)
    >>> found = m.estimate(m.aggregate(m.encode([7] * 500 + [8] * 300, rng=1)), [7, 8, 9])
    >>> found.count.round().tolist()
    [522.0, 285.0, -11.0]
    """

    NAME = "hadamard-response"
    COUNTER = "spectrum"

    bits: Any = option(
        default=None, takes="whole", low=1, high=MOST_BITS, help="Number t of parities, 1 to ⌈log₂ d⌉.",
        details="None minimises the error for rare values, about log₂(e^ε + 1). 1 is the one-bit mechanism.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        most = min(self.length, MOST_BITS)
        if self.bits is None:
            best = min(range(1, most + 1), key=lambda t: support_law(self._exact, self.length, t).variance(1, 0))
            self._set(bits=best)
        else:
            self._set(bits=self._within("bits", high=most))

    @cached_property
    def length(self) -> int:
        """Bits of a value's number, ⌈log₂ d⌉."""
        return bits_for(self.choices.size)

    @cached_property
    def randomiser(self) -> ParityLaw:
        return ParityLaw(self._exact, 2**self.bits, self.length)

    @cached_property
    def law(self) -> SupportLaw:
        """The support probabilities. A report supports the values whose parities agree with all its signs."""
        return support_law(self._exact, self.length, self.bits)

    @cached_property
    def layout(self) -> Layout:
        """The vectors, then the word of parities."""
        return Layout(tuple((f"vector{i}", self.length) for i in range(self.bits)) + (("parities", self.bits),))

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        vectors = self.randomiser.vectors(len(codes), stream)
        words = np.empty(len(codes), np.int64)
        _parities(codes, vectors, words)
        return self._pack(vectors, self.randomiser.draw(words, stream))

    def _pack(self, vectors: IntArray, words: IntArray) -> Rows:
        return self.layout.pack(**{f"vector{i}": vectors[:, i] for i in range(self.bits)}, parities=words)

    @property
    def _counters(self) -> int:
        return 1 << self.length

    def possible(self, rows: Rows) -> BoolArray:
        """Return which packed reports are valid: their vectors are independent."""
        good = self.layout.padded(rows)
        _check_independent(rows, self.length, self.bits, good)
        return good

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        _add_products(rows, self.length, self.bits, counters["spectrum"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return bool(counters["spectrum"][0] == n) and within(np.abs(counters["spectrum"]), n)

    def _support(self, counters: IntArray, codes: IntArray) -> IntArray:
        return np.asarray((walsh_hadamard(counters[None].copy())[0] >> self.bits)[codes])  # whole numbers, exactly

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        t, m = self.bits, 2**self.length
        bases = math.prod(m - 2**i for i in range(t))
        own = self._code(value, max(m**t, bases * 2**t))
        vectors = np.array([v for v in product(range(m), repeat=t) if _independent(v)], np.int64)
        truth = np.empty(len(vectors), np.int64)
        _parities(np.full(len(vectors), own), vectors, truth)
        words = np.tile(np.arange(2**t), len(vectors))
        rows, law = self._pack(np.repeat(vectors, 2**t, axis=0), words), self.randomiser
        return rows, np.where(words == np.repeat(truth, 2**t), law.kept, law.stray) / bases


def support_law(epsilon: Fraction, length: int, t: int) -> SupportLaw:
    """Return p = e^ε/(e^ε + 2^t - 1) and q = ρ p + (1 - ρ)/(e^ε + 2^t - 1).

    ρ = (2^(b-t) - 1)/(2^b - 1) is the probability that two different numbers of b bits agree on t random independent
    parities.
    """
    same = Fraction(2 ** (length - t) - 1, 2**length - 1)
    other = Chance(a=same, b=1 - same, d=Fraction(2**t - 1), x=epsilon)
    return SupportLaw(ParityLaw(epsilon, 2**t).kept, chance_value(other))


def _independent(vectors: tuple[int, ...]) -> bool:
    reduced: list[int] = []
    for vector in vectors:
        for one in reduced:
            vector = min(vector, vector ^ one)
        reduced.append(vector)
    return all(reduced)


@jit
def _parities(codes: Any, vectors: Any, out: Any) -> None:  # pragma: no cover
    """Write bit i of ``out`` as the parity of (vector i AND code), for every report."""
    for row in range(len(codes)):
        word = np.int64(0)
        for i in range(vectors.shape[1]):
            word |= np.int64(odd(np.uint64(vectors[row, i] & codes[row]))) << i
        out[row] = word


@jit
def _add_products(rows: Any, bits: int, count: int, spectrum: Any) -> None:  # pragma: no cover
    """Add, for every subset of a report's vectors, the product of their signs to the entry of their sum.

    Subsets come in Gray-code order: each differs from the previous one in one vector.
    """
    vectors = np.empty(count, np.int64)
    for row in range(rows.shape[0]):
        for i in range(count):
            vectors[i] = read_bits(rows, row, i * bits, bits)
        signs = read_bits(rows, row, count * bits, count)
        place, odd = 0, 0
        spectrum[0] += 1
        for step in range(1, 1 << count):
            turned = 0
            while not (step >> turned) & 1:
                turned += 1
            place ^= vectors[turned]
            odd ^= (signs >> turned) & 1
            spectrum[place] += 1 - 2 * odd


@jit
def _check_independent(rows: Any, bits: int, count: int, good: Any) -> None:  # pragma: no cover
    reduced = np.empty(count, np.int64)
    for row in range(rows.shape[0]):
        for i in range(count):
            reduced[i] = reduce_vector(read_bits(rows, row, i * bits, bits), reduced, i)
            good[row] &= reduced[i] != 0
