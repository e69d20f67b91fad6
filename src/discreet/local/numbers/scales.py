"""Numbers on a public scale, found by whole numbers alone: every language puts a value into the same bucket.

A bound is the decimal number that was written, a value the double nearest to it; both are rationals. A *linear* scale
has buckets of equal width. A *log* scale has 2^k buckets and is halved k times at the geometric middle, an integer
square root in units of low/2^64. Privacy does not depend on the scale: a report depends on the bucket only.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf, isnan, isqrt, nextafter
from typing import Any

import numpy as np

from discreet.core import FloatArray, checks, option
from discreet.errors import InvalidArgument
from discreet.noise.reports import HALF

_UNIT = 2**64

LOW: Any = option(
    takes="number", example=0.0, help="Lower bound. Values outside the bounds count as the nearest bound."
)
HIGH: Any = option(takes="number", example=1.0, help="Upper bound.")


def double(value: Any) -> float | None:
    """Return the double nearest to a number; None for anything else. Truth values are 0 and 1."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    return None if isnan(found) else found


@dataclass(frozen=True)
class Scale:
    """A public range, with buckets of equal width or of equal ratio."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def read(cls, low: object, high: object, *, log: bool = False) -> "Scale":
        """Check declared bounds: finite, the lower one first; on a log scale positive, at least a factor of 2 apart."""
        lower = checks.finite("low", low, fix="low=0.0") + 0.0
        upper = checks.finite("high", high, fix="high=1.0") + 0.0
        if log and lower <= 0:
            raise InvalidArgument("low", lower, "above 0 on a log scale", "low=0.001")
        if not lower < upper or not np.isfinite(upper - lower):
            raise InvalidArgument(
                "high", upper, f"above low ({lower:g}), with a finite distance", f"high={lower + max(1, abs(lower)):g}"
            )
        if log and upper < 2 * lower:
            raise InvalidArgument("high", upper, "at least twice low on a log scale", f"high={2 * lower:g}")
        return cls(lower, upper, log)

    @cached_property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds as exact numbers: the decimals that were written."""
        return Fraction(repr(self.low)), Fraction(repr(self.high))

    def share(self, value: float, parts: int) -> int:
        """Return how many whole parts of the range lie below a value, from 0 to ``parts``."""
        low, high = self.bounds
        if value in (inf, -inf):
            return parts if value > 0 else 0
        return min(max((Fraction(value) - low) * parts // (high - low), 0), parts)

    def place(self, value: Any) -> int:
        """Return the place of a value on the public grid of 2^31 steps; the middle if it is not a number."""
        found = double(value)
        return HALF if found is None else (self.share(found, 4 * HALF) + 1) >> 1

    def bucket(self, value: Any, buckets: int) -> int:
        """Return the bucket of a value, -1 if it is not a number."""
        found = double(value)
        if found is None:
            return -1
        if not self.log:
            return min(self.share(found, buckets), buckets - 1)
        low, high = self.bounds
        first, last = _UNIT, high * _UNIT // low
        x = (last if found > 0 else 0) if found in (inf, -inf) else Fraction(found) * _UNIT // low
        number = 0
        for _ in range(buckets.bit_length() - 1):
            middle = isqrt(first * last)
            number = 2 * number + (x >= middle)
            first, last = (middle, last) if x >= middle else (first, middle)
        return number

    def edges(self, buckets: int) -> FloatArray:
        """Return the ends of the buckets."""
        return np.array([float(edge) for edge in _edges(self, buckets)])

    def cuts(self, buckets: int) -> FloatArray:
        """Return the least double of every bucket but the first."""
        return _cuts(self, buckets)


def _edges(scale: Scale, buckets: int) -> list[Fraction]:
    low, high = scale.bounds
    if not scale.log:
        return [low + (high - low) * k / buckets for k in range(buckets + 1)]
    ends = [_UNIT, high * _UNIT // low]
    while len(ends) <= buckets:
        middles = [isqrt(a * b) for a, b in pairwise(ends)]
        ends = [end for pair in zip(ends, middles, strict=False) for end in pair] + ends[-1:]
    return [low, *(low * end / _UNIT for end in ends[1:-1]), high]


@lru_cache(maxsize=64)
def _cuts(scale: Scale, buckets: int) -> FloatArray:
    inner = [(float(edge), edge) for edge in _edges(scale, buckets)[1:-1]]
    return np.array([near if near >= edge else nextafter(near, inf) for near, edge in inner])
