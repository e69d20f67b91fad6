"""Subset selection: send a random set of values that is more likely to contain the true one.

Ye and Barg (2018); Wang et al. (2016). The smallest error of all oracles at any frequency, with long reports.
"""

import math
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discreet.core import BoolArray, IntArray, jit, option
from discreet.local.mechanism import adds_up, within
from discreet.local.oracles.base import Oracle
from discreet.local.support import SupportLaw
from discreet.local.wire.bits import Layout, Rows, bits_for, check_ascending, count_ones, packed_numbers
from discreet.noise import Generator
from discreet.noise.reports import SubsetLaw
from discreet.noise.stream import Chance, chance_value

#: Numbers of subsets that are drawn at once: bounds the memory, not the result.
_AT_ONCE = 1 << 22


class SubsetSelection(Oracle):
    """Send a set of w values that contains the true one with probability w e^ε/(w e^ε + d - w).

    Privacy
    -------
    Neighbours: any two values of one user. The set contains x and w - 1 of the *other* d - 1 values, or w of the other
    ones. All sets with x are equally likely, all sets without it too, and the former are e^ε times as likely as the
    latter: the ratio is exactly e^ε. (Filling up from all d values would cost ln(1 + e^ε d/(d-w)).) Cost: ε per report.

    Notes
    -----
    A report is the sorted list of its values, w times ⌈log₂ d⌉ bits, or d bits if that is shorter. With w = 1 it is
    direct response.

    Examples
    --------
    >>> m = SubsetSelection(epsilon=3, domain=1024)
    >>> m.size, m.report_bits, round(m.variance(1000), 1)
    (49, 490, 218.2)
    >>> found = m.estimate(m.aggregate(m.encode([7] * 500 + [8] * 300, rng=1)), [7, 8, 9])
    >>> found.count.round().tolist()
    [515.0, 297.0, 22.0]
    """

    NAME = "subset-selection"
    COUNTER = "support"

    size: Any = option(
        default=None, takes="whole", low=1, help="Number w of values in a set, below d.",
        details="None minimises the mean squared error over all declared values, about d/(e^ε + 1).",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(size=self._best_size() if self.size is None else self._within("size", high=self.choices.size - 1))

    def _best_size(self) -> int:
        d = self.choices.size
        near = math.floor(d / (math.exp(self.epsilon) + 1))
        sizes = {min(max(w, 1), d - 1) for w in (near, near + 1)}
        # The mean over all declared values, whose shares add up to one: 1/d each, on average.
        return min(sorted(sizes), key=lambda w: support_law(self._exact, d, w).variance(1, 1 / d))

    @cached_property
    def randomiser(self) -> SubsetLaw:
        return SubsetLaw(self._exact, self.choices.size, self.size)

    @cached_property
    def law(self) -> SupportLaw:
        return support_law(self._exact, self.choices.size, self.size)

    @cached_property
    def layout(self) -> Layout:
        """The subset: a list of numbers, or one bit per value."""
        return Layout((("subset", min(self.size * bits_for(self.choices.size), self.choices.size)),))

    @property
    def _listed(self) -> bool:
        return bool(self.layout.bits == self.size * bits_for(self.choices.size))

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        rows = np.zeros((len(codes), self.layout.size), np.uint8)
        step = max(1, _AT_ONCE // self.size)
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            rows[part] = self._packed(self.randomiser.draw(codes[part], stream))
        return rows

    def _packed(self, chosen: IntArray) -> Rows:
        if self._listed:
            return packed_numbers(chosen, bits_for(self.choices.size))
        rows = np.zeros((len(chosen), self.layout.size), np.uint8)
        _write_marks(chosen, rows)
        return rows

    def possible(self, rows: Rows) -> BoolArray:
        good = self.layout.padded(rows)
        if self._listed:
            check_ascending(rows, bits_for(self.choices.size), self.size, self.choices.size, good)
            return good
        return np.asarray(good & (np.bitwise_count(rows).sum(axis=1, dtype=np.int64) == self.size))

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        if self._listed:
            _count_lists(rows, bits_for(self.choices.size), self.size, counters["support"])
        else:
            count_ones(rows, counters["support"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return within(counters["support"], n) and adds_up(counters["support"], n * self.size)

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        d, w = self.choices.size, self.size
        own = self._code(value, math.comb(d, w))
        chosen = np.array(list(combinations(range(d), w)), np.int64)
        ratio = Fraction(d - w, w)
        without = chance_value(Chance(b=ratio, d=ratio, x=self._exact)) / math.comb(d - 1, w)
        holds = (chosen == own).any(axis=1)
        return self._packed(chosen), np.where(holds, self.law.p / math.comb(d - 1, w - 1), without)


def support_law(epsilon: Fraction, d: int, w: int) -> SupportLaw:
    """Return p and q = (w - p)/(d - 1)."""
    ratio = Fraction(d - w, w)
    other = Chance(Fraction(w - 1), w * ratio, Fraction(d - 1), (d - 1) * ratio, epsilon)
    return SupportLaw(chance_value(SubsetLaw(epsilon, d, w).inside), chance_value(other))


@jit
def _write_marks(subsets: Any, rows: Any) -> None:  # pragma: no cover
    """Set the bit of every number of a subset."""
    for i in range(subsets.shape[0]):
        for k in range(subsets.shape[1]):
            rows[i, subsets[i, k] >> 3] |= np.uint8(1 << (subsets[i, k] & 7))


@jit
def _count_lists(rows: Any, bits: int, size: int, out: Any) -> None:  # pragma: no cover
    """Count the numbers in the reports."""
    mask = (1 << bits) - 1
    for i in range(rows.shape[0]):
        place, held, word = 0, 0, 0
        for _ in range(size):
            while held < bits:
                word |= int(rows[i, place]) << held
                held += 8
                place += 1
            out[word & mask] += 1
            word >>= bits
            held -= bits
