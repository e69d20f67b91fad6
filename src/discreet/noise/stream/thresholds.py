"""Coins with exactly the right chance, from random bytes.

Let U be uniform in [0, 1): its base-256 digits are independent uniform bytes, and U < p has probability exactly p. To
decide it, compare the digits of U and p until they differ. A byte decides 255 of 256 cases, and nothing is rounded: p
enters only through its *exact* digits.

The chances used in this package are ``(a + b E)/(c + d E)`` with rational a, b, c, d and E = e^(-x), x rational.
`decimal` encloses E between two rationals, and so the fraction, which is monotone in E; digits are known as soon as
both ends agree on them. They agree at some precision because e^(-x) is transcendental (Lindemann), hence never a digit
boundary. A table holds 16 digits of each coin; if a draw ties with all of them (probability 2^-128), the table is
extended and the draw reads the same bytes again.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from discreet.core import ByteArray

#: Digits behind a chance as a double: enough for chances down to 256^-57.
_DIGITS = 64
_LN256 = Fraction(555, 100)  # slightly more than ln 256 = 5.545...


class ExactChance(Protocol):
    """A chance given by its exact digits."""

    def digits(self, n: int) -> bytes:
        """Return the first ``n`` base-256 digits."""


@dataclass(frozen=True)
class Chance:
    """The number ``(a + b e^(-x)) / (c + d e^(-x))``, which must be in [0, 1]."""

    a: Fraction = Fraction(0)
    b: Fraction = Fraction(0)
    c: Fraction = Fraction(1)
    d: Fraction = Fraction(0)
    x: Fraction = Fraction(0)

    def digits(self, n: int) -> bytes:
        """Return the first ``n`` base-256 digits (1 is written 0.FFFF...)."""
        if self.b == self.d == 0 or self.x == 0:
            value = (self.a + self.b) / (self.c + self.d)
            whole: int = min(math.floor(value * 256**n), 256**n - 1)
            return whole.to_bytes(n, "big")

        def enclose(precision: int) -> tuple[Fraction, Fraction]:
            if self.a == self.d == 0 and self.b == self.c:  # most tables, and fractions take long
                return enclose_exp(self.x, n, precision)
            ends = [(self.a + self.b * e) / (self.c + self.d * e) for e in enclose_exp(self.x, n, precision)]
            return min(ends), max(ends)

        return agreed_digits(n, enclose, 3 * n + 20)


def agreed_digits(n: int, enclose: Callable[[int], tuple[Fraction, Fraction]], precision: int) -> bytes:
    """Return the first ``n`` base-256 digits of a number strictly between the two ends of ``enclose(precision)``."""
    while True:
        low, high = enclose(precision)
        # The number does not reach its ends, so an end that is a whole number does not count.
        least: int = low.numerator * 256**n // low.denominator
        most: int = -(-high.numerator * 256**n // high.denominator) - 1
        if least == most:
            return least.to_bytes(n, "big")
        precision *= 2


def logistic(x: Fraction) -> Chance:
    """The chance 1/(1 + e^x)."""
    return Chance(b=Fraction(1), d=Fraction(1), x=x)


def exponential_decay(x: Fraction) -> Chance:
    """The chance e^(-x)."""
    return Chance(b=Fraction(1), x=x)


@lru_cache(maxsize=1024)
def chance_value(chance: Chance) -> float:
    """Return a chance as a double, right to the last bits even if it is tiny."""
    if chance.b == chance.d == 0:
        return float(chance.a / chance.c)
    return float(Fraction(int.from_bytes(chance.digits(_DIGITS), "big"), 256**_DIGITS))


def enclose_exp(x: Fraction, n: int, precision: int) -> tuple[Fraction, Fraction]:
    """Enclose e^(-x), x > 0, tightly enough for about ``n`` digits."""
    if x > _LN256 * (n + 16) * max(1, precision // (3 * n + 20)):
        # Below 256^-(n+16): too small to matter at this precision, and `decimal` need not write out its zeros.
        return Fraction(0), Fraction(1, 256 ** (n + 16))
    digits = precision + len(str(int(x)))
    down = Context(digits, ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    up = Context(digits, ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    # `exp` rounds to nearest whatever the context says, hence the step to the neighbouring decimal.
    low = up.divide(numerator, denominator).copy_negate().exp(down).next_minus(down)
    high = down.divide(numerator, denominator).copy_negate().exp(up).next_plus(up)
    return max(Fraction(low), Fraction(0)), Fraction(high)


def digit_rows(chances: Sequence[ExactChance], n: int) -> ByteArray:
    """Return the first ``n`` digits of each chance, one row per chance."""
    return np.frombuffer(b"".join(c.digits(n) for c in chances), np.uint8).reshape(len(chances), n)


@lru_cache(maxsize=512)
def digit_table(chances: tuple[ExactChance, ...], n: int) -> ByteArray:
    """Return `digit_rows`, kept for the next draw."""
    return digit_rows(chances, n)
