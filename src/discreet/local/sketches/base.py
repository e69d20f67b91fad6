"""The base of the two count-mean sketches.

A sketch has k rows. A device draws one, hashes the value to one of its m buckets with the row's public function, and
reports the bucket through a row oracle. The two sketches differ in that oracle.
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet import noise
from discreet.core import IntArray, WordArray, option
from discreet.errors import InvalidArgument
from discreet.local.estimates import Estimate
from discreet.local.mechanism import KEY, REPORT_EPSILON, Mechanism
from discreet.local.sketches import _kernels as kernels
from discreet.local.support import MOST_CELLS, RowLaw, asked, rows_estimate
from discreet.local.wire.bits import Rows
from discreet.local.wire.counts import Counts
from discreet.noise import HashFamily
from discreet.noise.hashing import hash_kernels
from discreet.noise.reports import FlipLaw

#: More rows only cost memory and time.
MOST_ROWS = 2**20
#: The exact variance needs three-wise independent hashes.
_INDEPENDENCE = 3
_BYTES, _BITS = np.arange(256, dtype=np.uint64)[:, None], np.arange(8, dtype=np.uint64)
#: For every byte the word with its bit i in byte i.
_SPREAD = ((_BYTES >> _BITS & np.uint64(1)) << np.uint64(8) * _BITS).sum(axis=1, dtype=np.uint64)


class Sketch(Mechanism):
    """A count-mean sketch over some row oracle."""

    #: Number of bits in which the reports of two values differ.
    DIFFERING: ClassVar[int]

    epsilon: float = REPORT_EPSILON
    n_hashes: int = option(
        default=1024, low=1, high=MOST_ROWS, help="Number k of rows, each with a hash function of its own."
    )
    width: int = option(default=256, low=2, high=2**20, help="Number m of buckets per row.")
    key: Any = KEY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_hashes * self.width > MOST_CELLS:
            most = MOST_CELLS // self.width
            expected = f"at most {most} with width={self.width}"
            raise InvalidArgument("n_hashes", self.n_hashes, expected, f"n_hashes={most}")

    @cached_property
    def randomiser(self) -> FlipLaw:
        return FlipLaw(self._exact, self.DIFFERING)

    @cached_property
    def row_law(self) -> RowLaw:
        """The noise of the whole sketch."""
        return RowLaw(self.n_hashes, self.width, self.law)

    @cached_property
    def family(self) -> HashFamily:
        """The public hash function of every row."""
        return HashFamily(self.n_hashes, self.width, key=self.key, independence=_INDEPENDENCE)

    @cached_property
    def _terms(self) -> WordArray:
        """The coefficients of the rows' functions."""
        terms = np.empty((self.n_hashes, _INDEPENDENCE), np.uint64)
        kernels.fill_terms(terms, np.uint64(self.key & (2**64 - 1)), np.uint64(self.key >> 64))
        return terms

    def _points(self, values: Any) -> WordArray:
        """Return one number per value, the input of the rows' functions."""
        points = noise.fingerprint(values, self.key)
        hash_kernels.reduce_words(points)
        return points

    def _buckets(self, values: Any) -> IntArray:
        """Return the buckets of one value in all rows."""
        return self.family.all([values])[:, 0]

    @property
    def _limits(self) -> dict[str, int]:
        return {"row": self.n_hashes}

    def _zeros(self) -> dict[str, IntArray]:
        cells = np.zeros((self.n_hashes, self.width), np.int64)
        return {self.COUNTER: cells, "reports": np.zeros(self.n_hashes, np.int64)}

    def _support(self, cells: IntArray, reports: IntArray) -> Any:
        """Return how many reports support each bucket of some rows, given their counters and their reports."""
        return cells

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        cells, reports = counts.counters[self.COUNTER], counts.counters["reports"]

        def support(start: int, stop: int) -> Any:
            return self._support(cells[start:stop], reports[start:stop])

        return rows_estimate(self.row_law, counts, asked(candidates), self.family, reports, support)

    def variance(self, n: int, f: Any = 0, second_moment: Any = None) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold.

        ``second_moment`` is G, the sum of f'(f' - 1) over the *other* values, which measures collisions. None means n²,
        the worst case: all others hold one value. Estimates take G from the sketch.
        """
        return self.row_law.variance(n, f, second_moment)


def add_vectors(rows: Rows, group: IntArray, width: int, ones: IntArray, reports: IntArray) -> None:
    """Count reports that begin with a vector of bits, and the ones of every place, by group."""
    kernels.add_vectors(rows, group, 255 >> (-width % 8), _SPREAD, ones, reports)
