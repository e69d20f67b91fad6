"""Plain sketches, WITHOUT privacy, from Apache DataSketches: the yardstick for private ones.

What they keep tells whether an item can have been there (a theta sketch even keeps hashes of items), so they stay with
whoever may see the items. The extra ``sketches`` brings the library.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from discreet.core import FloatArray, Guarantee, Line, checks
from discreet.core.budget import Draw
from discreet.errors import InvalidArgument, InvalidType, MissingExtra
from discreet.local.distinct.bitmaps import DistinctEstimate
from discreet.local.distinct.items import item_words

_KINDS = ("hyperloglog", "theta")


def _library() -> Any:
    try:
        import datasketches
    except ImportError:
        raise MissingExtra("plain sketches", "sketches") from None
    return datasketches


def _known(items: Any) -> list[int]:
    """Return signed 64-bit fingerprints, the numbers that the library takes; missing items are left out."""
    words, missing = item_words(items, 0)
    kept: list[int] = words[~missing].view(np.int64).tolist()
    return kept


class PlainDistinct:
    """Count different items WITHOUT privacy, by HyperLogLog or a theta sketch.

    Parameters
    ----------
    kind : {"hyperloglog", "theta"}
        HyperLogLog is the smaller one; of theta sketches intersections and differences can be taken as well.
    log2_size : int, default 12
        Registers, or hashes that are kept, as a power of two; from 4 (theta: 5) to 21.

    Examples
    --------
    >>> morning = PlainDistinct("theta").add(range(3000))
    >>> evening = PlainDistinct("theta").add(range(2000, 5000))
    >>> [round(x.estimate().count) for x in (morning, morning | evening, morning & evening, morning - evening)]
    [3000, 5029, 1000, 2000]
    >>> print(morning.estimate().guarantee.epsilon)
    inf
    """

    def __init__(self, kind: str = "hyperloglog", log2_size: int = 12) -> None:
        self.kind = checks.choice("kind", kind, _KINDS)
        theta = self.kind == "theta"
        self.log2_size = checks.whole("log2_size", log2_size, low=5 if theta else 4, high=21)
        made = _library()
        self._state = made.update_theta_sketch(self.log2_size) if theta else made.hll_sketch(self.log2_size, made.HLL_8)

    def add(self, items: Any) -> PlainDistinct:
        """Put items in, in place: numbers, text or bytes. Missing ones are left out."""
        if not hasattr(self._state, "update"):
            raise InvalidArgument("items", "given", "put into the sketches that this one was made from", "a.add(items)")
        deque(map(self._state.update, _known(items)), maxlen=0)
        return self

    def __or__(self, other: PlainDistinct) -> PlainDistinct:
        made = _library()
        union = made.theta_union(self.log2_size) if self.kind == "theta" else made.hll_union(self.log2_size)
        for sketch in (self, self._alike(other)):
            union.update(sketch._state)
        return self._of(union.get_result() if self.kind == "theta" else union.get_result(made.HLL_8))

    def __and__(self, other: PlainDistinct) -> PlainDistinct:
        both = self._theta().theta_intersection()
        for sketch in (self, self._alike(other)):
            both.update(sketch._state)
        return self._of(both.get_result())

    def __sub__(self, other: PlainDistinct) -> PlainDistinct:
        return self._of(self._theta().theta_a_not_b().compute(self._state, self._alike(other)._state))

    def estimate(self) -> DistinctEstimate:
        """Estimate how many different items were put in; the standard error is half the distance to two of them."""
        state = self._state
        error = (state.get_upper_bound(2) - state.get_lower_bound(2)) / 4
        return DistinctEstimate(state.get_estimate(), error, _no_promise())

    def _theta(self) -> Any:
        if self.kind != "theta":
            expected = "'theta': of registers only unions can be taken"
            raise InvalidArgument("kind", self.kind, expected, 'PlainDistinct("theta")')
        return _library()

    def _alike(self, other: Any) -> PlainDistinct:
        if not isinstance(other, PlainDistinct) or other.kind != self.kind:
            got = getattr(other, "kind", type(other).__name__)
            raise InvalidType(
                "other", got, f"a plain sketch of the kind {self.kind!r}", f"PlainDistinct({self.kind!r})"
            )
        return other

    def _of(self, state: Any) -> PlainDistinct:
        made = PlainDistinct(self.kind, self.log2_size)
        made._state = state
        return made

    def __repr__(self) -> str:
        return f"<plain {self.kind} of 2^{self.log2_size}, NO privacy>"


class PlainFrequencies:
    """Count how often items occur WITHOUT privacy, by a count-min sketch. Estimates are never too low.

    Parameters
    ----------
    hashes, width : int
        Rows and columns of counters.

    Examples
    --------
    >>> counted = PlainFrequencies(width=1024).add(["cat"] * 30 + ["dog"] * 12)
    >>> counted.estimate(["cat", "dog", "emu"]).tolist()
    [30.0, 12.0, 0.0]
    """

    def __init__(self, hashes: int = 5, width: int = 1024) -> None:
        rows, columns = checks.whole("hashes", hashes, low=1, high=64), checks.whole("width", width, low=3, high=2**24)
        self._state = _library().count_min_sketch(rows, columns)

    def add(self, items: Any) -> PlainFrequencies:
        """Count items, in place: numbers, text or bytes. Missing ones are left out."""
        deque(map(self._state.update, _known(items)), maxlen=0)
        return self

    def merge(self, other: PlainFrequencies) -> PlainFrequencies:
        """Add the counts of another sketch of the same size, in place."""
        if not isinstance(other, PlainFrequencies):
            raise InvalidType("other", type(other).__name__, "a count-min sketch", "PlainFrequencies()")
        if other is self:
            raise InvalidArgument("other", "the sketch itself", "another sketch", "PlainFrequencies()")
        mine, theirs = ((s._state.num_hashes, s._state.num_buckets) for s in (self, other))
        if mine != theirs:
            fix = f"PlainFrequencies(hashes={mine[0]}, width={mine[1]})"
            raise InvalidArgument("other", f"{theirs[0]} x {theirs[1]}", f"of {mine[0]} x {mine[1]} counters", fix)
        self._state.merge(other._state)
        return self

    def estimate(self, candidates: Any) -> FloatArray:
        """Return how often each candidate occurs, at most; one that is missing counts as never."""
        words, missing = item_words(candidates, 0, "candidates")
        found = np.array([self._state.get_estimate(word) for word in words.view(np.int64).tolist()], np.float64)
        return np.where(missing, 0.0, found)

    @property
    def excess(self) -> float:
        """By how much an estimate exceeds the truth at most, in most cases: e/width of all that was counted."""
        return float(math.e / self._state.num_buckets * self._state.total_weight)


def _no_promise() -> Guarantee:
    line = Line("a plain sketch", math.inf, draws=(Draw("report", epsilon=math.inf),))
    return Guarantee("central", ledger=(line,), assumptions=("only those who may see the items may see it",))
