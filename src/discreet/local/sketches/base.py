"""What the two count-mean sketches share: their parameters, the rows' hashes, the estimator (spec local-sketches, C.2).

A sketch has k rows. A device draws one, hashes the value to one of its m buckets with the row's public function, and
reports the bucket through a row oracle; what the oracle is makes the difference between the two.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from discreet import noise
from discreet.core import IntArray, WordArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.mechanism import MOST_REPORTS, Mechanism, local_budget, public_key
from discreet.local.oracles.laws import SupportLaw
from discreet.local.sketches import _kernels as kernels
from discreet.local.sketches.shared_rows import RowLaw, rows_estimate
from discreet.local.wire.counts import Counts
from discreet.noise import HashFamily
from discreet.noise.hashing import hash_kernels
from discreet.noise.reports import FlipLaw

#: Rows beyond this only cost memory and time (spec, Annex B.4).
MOST_ROWS = 2**20
#: Cells of a state: 16 GiB of counters.
MOST_CELLS = 2**31
#: The exact variance needs three-wise independent hashes.
_INDEPENDENCE = 3


@dataclass(frozen=True)
class Sketch(Mechanism):
    """A count-mean sketch over some row oracle."""

    #: The most buckets of a row, and what its counters are called.
    WIDEST: ClassVar[int]
    COUNTER: ClassVar[str]
    #: In how many bits the reports of two values differ.
    DIFFERING: ClassVar[int]

    epsilon: float
    n_hashes: int = 1024
    width: int = 256
    key: int | None = None

    def __post_init__(self) -> None:
        rows = checks.whole("n_hashes", self.n_hashes, low=1, high=MOST_ROWS)
        width = checks.whole("width", self.width, low=2, high=self.WIDEST)
        if rows * width > MOST_CELLS:
            most = MOST_CELLS // width
            raise InvalidArgument("n_hashes", rows, f"at most {most} with width={width}", f"n_hashes={most}")
        self._set(epsilon=local_budget("epsilon", self.epsilon), n_hashes=rows, width=width, key=public_key(self.key))

    @cached_property
    def randomiser(self) -> FlipLaw:
        """The law by which the bits of a report are turned over and priced."""
        return FlipLaw(self._exact, self.DIFFERING)

    @cached_property
    def law(self) -> SupportLaw:
        """The support chances of the row oracle, from the chances of the randomiser."""
        raise NotImplementedError

    @cached_property
    def row_law(self) -> RowLaw:
        """The noise of the whole sketch."""
        return RowLaw(self.n_hashes, self.width, self.law)

    @cached_property
    def family(self) -> HashFamily:
        """The public hash function of every row."""
        assert self.key is not None
        return HashFamily(self.n_hashes, self.width, key=self.key, independence=_INDEPENDENCE)

    @cached_property
    def _terms(self) -> WordArray:
        """The coefficients of the rows' functions."""
        assert self.key is not None
        terms = np.empty((self.n_hashes, _INDEPENDENCE), np.uint64)
        kernels.fill_terms(terms, np.uint64(self.key & (2**64 - 1)), np.uint64(self.key >> 64))
        return terms

    def _points(self, values: Any) -> WordArray:
        """Return what the rows' functions take: one number per value."""
        assert self.key is not None
        points = noise.fingerprint(values, self.key)
        hash_kernels.reduce_words(points)
        return points

    def _buckets(self, values: Any) -> IntArray:
        """Return the buckets of one value in all rows."""
        return self.family.all([values])[:, 0]

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

        Parameters
        ----------
        n : int
            Number of reports.
        f : int or array
            How many hold the value.
        second_moment : float, optional
            G, the sum of f'(f' - 1) over the *other* values: how strongly they collide. None takes n², the worst case
            (all others hold one value). The estimates themselves read it off the sketch.
        """
        return self.row_law.variance(n, f, second_moment)

    def total_variation(self) -> float:
        """Return the total variation between the reports of two values that no row sends to one bucket."""
        return self.law.p - self.law.q

    def _few(self, reports: int) -> None:
        """Refuse to list more reports than are worth it."""
        if reports > MOST_REPORTS:
            expected = f"small enough that its {reports:.3g} reports are at most {MOST_REPORTS}"
            raise InvalidArgument("width", self.width, expected, "width=8")


def asked(candidates: Any) -> list[Any]:
    """Read the candidates of a mechanism that has no declared values: any number of whole numbers, texts or bytes."""
    if candidates is None or isinstance(candidates, (str, bytes, dict)) or not np.ndim(candidates):
        raise InvalidType("candidates", candidates, "a list of the values to estimate", "candidates=['cat', 'dog']")
    labels = list(candidates.to_pylist() if hasattr(candidates, "to_pylist") else candidates)
    labels = [x.item() if isinstance(x, np.generic) else x for x in labels]
    for label in labels:
        if not isinstance(label, (Integral, str, bytes, bytearray, type(None))):
            raise InvalidType("candidates", label, "whole numbers, texts or bytes", "candidates=['cat', 'dog']")
    return labels
