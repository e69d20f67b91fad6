"""What the two count-mean sketches share: their parameters, the rows' hashes, the estimator (spec local-sketches, C.2).

A sketch has k rows. A device draws one, hashes the value to one of its m buckets with the row's public function, and
reports the bucket through a row oracle; what the oracle is makes the difference between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import checks
from discreet.core.arrays import FloatArray, IntArray, WordArray
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.mechanism import MOST_REPORTS, Mechanism
from discreet.local.oracles.laws import SupportLaw
from discreet.local.sketches import _kernels as kernels
from discreet.local.sketches.shared_rows import RowLaw, rows_estimate
from discreet.local.wire.counts import Counts
from discreet.noise import HashFamily
from discreet.noise.hashing import hash_kernels

#: Rows beyond this only cost memory and time (spec, Annex B.4).
MOST_ROWS = 2**20
#: Cells of a state: 16 GiB of counters.
MOST_CELLS = 2**31
#: The exact variance needs three-wise independent hashes.
_INDEPENDENCE = 3


class Sketch(Mechanism):
    """A count-mean sketch over some row oracle."""

    n_hashes: int
    width: int
    key: int | None

    @cached_property
    def law(self) -> SupportLaw:
        """The support chances of the row oracle, from the chances of the randomiser."""
        raise NotImplementedError

    @cached_property
    def row_law(self) -> RowLaw:
        """The noise of the whole sketch."""
        return RowLaw.of(self.law, rows=self.n_hashes, width=self.width)

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

    def _estimate_rows(
        self, counts: Counts, candidates: Any, bucket_estimates: Callable[[int, int], FloatArray]
    ) -> Estimate:
        labels = asked(candidates)
        return rows_estimate(self.row_law, counts, labels, self.family, counts.counters["reports"], bucket_estimates)

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


def shape_of(n_hashes: object, width: object, *, most: int) -> tuple[int, int]:
    """Check the numbers of rows and of buckets."""
    rows = checks.whole("n_hashes", n_hashes, low=1, high=MOST_ROWS)
    buckets = checks.whole("width", width, low=2, high=most)
    if rows * buckets > MOST_CELLS:
        most_rows = MOST_CELLS // buckets
        raise InvalidArgument("n_hashes", rows, f"at most {most_rows} with width={buckets}", f"n_hashes={most_rows}")
    return rows, buckets


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
