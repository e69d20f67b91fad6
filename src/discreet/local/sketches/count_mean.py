"""The private count-mean sketch: one noisy vector of bits per report, for values from any domain.

Apple Differential Privacy Team, "Learning with Privacy at Scale" (2017). The collector keeps ones per cell and reports
per row, and scales them when it estimates.
"""

from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import IntArray
from discreet.local.mechanism import adds_up, rows_within
from discreet.local.sketches import _kernels as kernels
from discreet.local.sketches.base import Sketch, add_vectors
from discreet.local.support import SupportLaw
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.noise import Generator
from discreet.noise.stream import expanded

#: Reports whose coins are drawn together: their vectors then stay in the processor's cache.
_BYTES_AT_ONCE = 1 << 19


class CountMeanSketch(Sketch):
    """Report a row of the sketch and a noisy bit per bucket: is the value in this bucket?

    Notes
    -----
    The values need not be known beforehand: any whole number, text or bytes. Collisions under one key are the same
    however many report. They limit the accuracy, and intervals hold on average over keys.

    Privacy
    -------
    Neighbours: any two values of one user. The row does not depend on the value. Given the row, the vectors of two
    values differ in at most two bits. Each bit is flipped with probability 1/(e^(ε/2) + 1) and contributes a ratio of
    e^(ε/2), together e^ε. Cost: ε per report.

    Examples
    --------
    >>> m = CountMeanSketch(epsilon=4, n_hashes=64, width=64, key=7)
    >>> counts = m.aggregate(m.encode(["cat"] * 700 + ["dog"] * 300, rng=2))
    >>> found = m.estimate(counts, ["cat", "dog", "emu"])
    >>> found.count.round().tolist(), found.std_error.round().tolist()
    ([696.0, 315.0, 15.0], [15.0, 18.0, 19.0])
    >>> m.report_bits, round(m.variance(1000, f=0, second_moment=0))
    (70, 203)
    """

    NAME = "count-mean-sketch"
    COUNTER = "ones"
    DIFFERING = 2

    @cached_property
    def law(self) -> SupportLaw:
        """The probabilities of a 1 in the value's bucket and in another."""
        return SupportLaw(p=self.randomiser.kept, q=self.randomiser.flipped)

    @cached_property
    def layout(self) -> Layout:
        """The vector (bit b is 1 for the sign +1 at bucket b), then the row."""
        return Layout((("vector", self.width), ("row", bits_for(self.n_hashes))))

    def _encode(self, values: Any, stream: Generator) -> Rows:
        points, stream = self._points(values), expanded(stream)
        n, size = len(points), -(-self.width // 8)
        drawn = noise.below(self.n_hashes, size=n, rng=stream)
        buckets = np.empty(n, np.int64)
        kernels.hash_rows(points, drawn, self._terms, np.uint64(self.width), buckets)
        reports = np.empty((n, self.layout.size), np.uint8)
        last = 255 >> (-self.width % 8)
        step = max(1, _BYTES_AT_ONCE // size)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            flips = self.randomiser.draw((part.stop - start, size), stream)
            kernels.vector_reports(flips, buckets[part], drawn[part], self.width, last, reports[part])
        return reports

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        add_vectors(rows, self.layout.unpack(rows, "row"), self.width, counters["ones"], counters["reports"])

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        return adds_up(counters["reports"], n) and rows_within(counters["ones"], counters["reports"])

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        self._listable("width", self.n_hashes << self.width)
        vectors = np.arange(2**self.width)
        rows, chances = [], []
        for row, bucket in enumerate(self._buckets(value)):
            flipped = np.bitwise_count((vectors ^ (1 << int(bucket))).astype(np.uint64)).astype(np.float64)
            chances.append(self.law.q**flipped * self.law.p ** (self.width - flipped) / self.n_hashes)
            rows.append(self.layout.pack(vector=vectors, row=np.full(len(vectors), row)))
        return np.concatenate(rows), np.concatenate(chances)
