"""Local hashing: hash the value to a few buckets with a random function, and send the bucket by direct response.

Optimal local hashing: Wang, Blocki, Li, Jha (2017). Fast local hashing, with a pool of functions: Cormode, Maddock,
Maple (2021); it is a sketch with direct-response rows.
"""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import IntArray, jit, option
from discreet.errors import FormatError, InvalidArgument
from discreet.local.estimates import Estimate
from discreet.local.mechanism import KEY, REPORT_EPSILON, Mechanism, adds_up, count_places, within
from discreet.local.oracles.choices import Choices
from discreet.local.support import MOST_CELLS, RowLaw, SupportLaw, asked, pure_estimate, rows_estimate
from discreet.local.wire.bits import Layout, Rows, bits_for
from discreet.local.wire.counts import Counts
from discreet.noise import Generator, HashFamily
from discreet.noise.hashing import hash_kernels
from discreet.noise.reports import Response

#: Number of functions without a pool: a seed has 63 bits.
SEEDS = 2**63
MOST_BUCKETS = 2**32
#: Bound on how far the share of the 2^63 functions that separate two values is from 1 - 1/g. It fails for any of the
#: 2^121 pairs of points with probability below 2^-200 (Hoeffding).
_SPREAD = 2.0**-28


class LocalHashing(Mechanism):
    """Draw a public hash function, hash the value to one of g buckets, and send the bucket by direct response.

    Privacy
    -------
    Neighbours: any two values of one user. The function does not depend on the value. Given it, a report is a direct
    response over g buckets: ratio e^ε, reached if the function separates the two values. Cost: ε per report. Function
    and key are public.

    Notes
    -----
    Estimates are unbiased because two values share a bucket under a random function with probability 1/g. Without a
    pool a report has 63 + ⌈log₂ g⌉ bits. Add reports in large parts: each part is merged with all earlier ones.

    Examples
    --------
    >>> m = LocalHashing(epsilon=3, key=7)
    >>> m.width, m.report_bits, round(m.variance(1000), 1)
    (21, 68, 220.6)
    >>> found = m.estimate(m.aggregate(m.encode(["cat"] * 500 + ["dog"] * 300, rng=1)), ["cat", "dog", "emu"])
    >>> found.count.round().tolist()
    [518.0, 306.0, -5.0]
    >>> fast = LocalHashing(epsilon=3, pool=1000, key=7)
    >>> fast.report_bits, round(fast.variance(1000, second_moment=1e5), 1)
    (15, 225.6)
    """

    NAME = "local-hashing"

    epsilon: float = REPORT_EPSILON
    width: Any = option(
        default=None, takes="whole", low=2, high=MOST_BUCKETS, help="Number g of buckets.",
        details="None: about e^ε + 1, the best.",
    )  # fmt: skip
    candidates: Any = option(
        default=None, help="The values that will be estimated, if known beforehand: a number of values, or labels.",
        details=(
            "The state is then one counter per candidate. Otherwise it holds all reports, 16 bytes each. Reports do "
            "not depend on this option."
        ),
    )  # fmt: skip
    pool: Any = option(
        default=None, takes="whole", low=1, help='Number of functions of a pool ("fast local hashing").',
        details=(
            "The state is then ``pool`` times g counters, and candidates may be named later. Collisions add variance "
            "that more reports do not lower; see `variance`."
        ),
    )  # fmt: skip
    key: Any = KEY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width is None:
            self._set(width=best_width(self.epsilon))
        if self.pool is not None:
            self._set(pool=self._within("pool", high=max(1, MOST_CELLS // self.width)))
        if self.candidates is not None:
            if self.pool is not None:
                raise InvalidArgument("candidates", "given", "None with a pool: name them when estimating")
            self._set(candidates=Choices.read(self.candidates).domain)

    @cached_property
    def family(self) -> HashFamily:
        """The public hash functions; three-wise independent in a pool, as the variance requires."""
        if self.pool is None:
            return HashFamily(SEEDS, self.width, key=self.key, independence=2)
        return HashFamily(self.pool, self.width, key=self.key, independence=3)

    @cached_property
    def choices(self) -> Choices | None:
        """The candidates that were named beforehand."""
        return None if self.candidates is None else Choices(self.candidates)

    @cached_property
    def randomiser(self) -> Response:
        return Response(self._exact, self.width)

    @cached_property
    def row_law(self) -> SupportLaw:
        """The probabilities with which a bucket is sent: the true one, and any other."""
        return SupportLaw(self.randomiser.kept, self.randomiser.stray)

    @cached_property
    def law(self) -> SupportLaw:
        """The probabilities that a report supports its sender's value, and any other: E/(E+g-1) and 1/g."""
        return SupportLaw(self.row_law.p, 1 / self.width)

    @cached_property
    def layout(self) -> Layout:
        """The number of the function and the bucket."""
        return Layout((("seed", 63 if self.pool is None else bits_for(self.pool)), ("bucket", bits_for(self.width))))

    def same_as(self, other: Mechanism, what: str) -> None:
        """Refuse reports or counts made with other parameters. Candidates make no difference to reports."""
        if what == "reports" and isinstance(other, LocalHashing):
            other = replace(other, candidates=self.candidates) if other.pool is None else other
        super().same_as(other, what)

    def _encode(self, values: Any, stream: Generator) -> Rows:
        points = noise.fingerprint(values, self.family.key)
        hash_kernels.reduce_words(points)
        if self.pool is None:
            seeds = stream.bytes(8 * len(points)).view(np.dtype("<u8")) >> np.uint64(1)  # 63 of 64 uniform bits
        else:
            seeds = noise.below(self.pool, size=len(points), rng=stream).astype(np.uint64)
        buckets = np.empty(len(points), np.int64)
        hash_kernels.hash_pairs(points, seeds, *self.family._parameters(), buckets)
        return self.layout.pack(seed=seeds, bucket=self.randomiser.draw(buckets, stream))

    def _zeros(self) -> dict[str, IntArray]:
        if self.pool is not None:
            return {"reports": np.zeros((self.pool, self.width), np.int64)}
        if self.choices is not None:
            return {"support": np.zeros(self.choices.size, np.int64)}
        return {"seed": np.zeros(0, np.int64), "bucket": np.zeros(0, np.int64)}

    @property
    def _limits(self) -> dict[str, int]:
        return {"bucket": self.width} if self.pool is None else {"seed": self.pool, "bucket": self.width}

    def _add(self, counters: dict[str, IntArray], rows: Rows) -> None:
        seed, bucket = self.layout.unpack(rows, "seed"), self.layout.unpack(rows, "bucket")
        if self.pool is not None:
            count_places(counters["reports"].reshape(-1), seed * self.width + bucket)
        elif self.choices is not None:
            counters["support"] += self.family.support(self.choices.candidates(None)[0], seed, bucket)
        else:
            order = np.lexsort((bucket, seed))
            counters.update(self._merge(counters, {"seed": seed[order], "bucket": bucket[order]}))

    def _merge(self, one: dict[str, IntArray], two: dict[str, IntArray]) -> dict[str, IntArray]:
        if "seed" not in one:
            return super()._merge(one, two)
        both = {name: np.empty(len(one[name]) + len(two[name]), np.int64) for name in one}
        _merge_sorted(one["seed"], one["bucket"], two["seed"], two["bucket"], both["seed"], both["bucket"])
        return both

    def _unpack_counters(self, numbers: IntArray, n: int) -> dict[str, IntArray]:
        if "seed" not in self._zeros():
            return super()._unpack_counters(numbers, n)
        if len(numbers) != 2 * n:
            raise FormatError(f"a state damaged: {n} reports do not fill {len(numbers)} numbers")
        seed, bucket = numbers[:n], numbers[n:]
        ordered = (seed[:-1] < seed[1:]) | ((seed[:-1] == seed[1:]) & (bucket[:-1] <= bucket[1:]))
        if n and not (seed[0] >= 0 and bucket.min() >= 0 and bucket.max() < self.width and ordered.all()):
            raise FormatError("a state damaged: reports that cannot be, or not in order")
        return {"seed": seed, "bucket": bucket}

    def _possible(self, counters: dict[str, IntArray], n: int) -> bool:
        if "support" in counters:
            return within(counters["support"], n)
        return "reports" not in counters or adds_up(counters["reports"], n)

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        if self.choices is not None:
            labels, codes = self.choices.candidates(candidates)
            return pure_estimate(self.law, counts, labels, counts.counters["support"][codes])
        labels = asked(candidates)
        if self.pool is None:
            support = self.family.support(labels, counts.counters["seed"], counts.counters["bucket"])
            return pure_estimate(self.law, counts, labels, support)
        table = counts.counters["reports"]
        sums = table.sum(axis=1)
        return rows_estimate(self._rows, counts, labels, self.family, sums, lambda start, stop: table[start:stop])

    @cached_property
    def _rows(self) -> RowLaw:
        return RowLaw(self.pool, self.width, self.row_law)

    def variance(self, n: int, f: Any = 0, second_moment: Any = None) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` reporters hold.

        ``second_moment`` as in `CountMeanSketch.variance`; it matters only with a pool.
        """
        return self.law.variance(n, f) if self.pool is None else self._rows.variance(n, f, second_moment)

    def total_variation(self) -> float | None:
        """Return (e^ε - 1)/(e^ε + g - 1) times the share of functions that separate two values, 1 - 1/g + 2^-28.

        Those of a pool separate some pairs more often than others.
        """
        apart = 1 - 1 / self.width + _SPREAD
        return None if self.pool is not None else (self.row_law.p - self.row_law.q) * apart

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        self._listable("pool", (self.pool or SEEDS) * self.width)
        truth = self.family.all([value])[:, 0]
        seeds, buckets = np.divmod(np.arange(self.pool * self.width), self.width)
        chances = np.where(buckets == truth[seeds], self.row_law.p, self.row_law.q) / self.pool
        return self.layout.pack(seed=seeds, bucket=buckets), chances


def best_width(epsilon: float) -> int:
    """Return the number of buckets with the smallest variance (E+g-1)²/((g-1)(E-1)²), E = e^ε."""
    e = math.exp(epsilon)
    near = [min(max(g, 2), MOST_BUCKETS) for g in (math.floor(e + 1), math.ceil(e + 1))]
    return min(near, key=lambda g: (e + g - 1) ** 2 / (g - 1))


@jit
def _merge_sorted(
    seed: Any, bucket: Any, more_seed: Any, more_bucket: Any, out_seed: Any, out_bucket: Any
) -> None:  # pragma: no cover
    """Merge two sorted lists of pairs."""
    i, j = 0, 0
    for k in range(len(out_seed)):
        first = j == len(more_seed) or (
            i < len(seed) and (seed[i] < more_seed[j] or (seed[i] == more_seed[j] and bucket[i] <= more_bucket[j]))
        )
        if first:
            out_seed[k], out_bucket[k] = seed[i], bucket[i]
            i += 1
        else:
            out_seed[k], out_bucket[k] = more_seed[j], more_bucket[j]
            j += 1
