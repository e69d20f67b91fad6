"""Coins with exactly the right chance, from random bytes.

The claim. Let p be a number in [0, 1] and U a uniform real number in [0, 1), whose base-256 digits are independent
uniform bytes. Then U < p happens with probability exactly p. To decide it, read the digits of U and of p side by
side until they differ: the smaller digit decides. A byte settles 255 cases of 256, so a coin costs about one byte
of entropy, and no rounding takes place anywhere: p enters only through its *exact* digits.

The digits. The chances used in this package are ``(a + b E)/(c + d E)`` with rational a, b, c, d and E = e^(-x), x
rational. The standard library's `decimal` encloses E between two rationals; the fraction is monotone in E, so it
is enclosed as well, and the first n digits are known as soon as both ends agree on them. They agree at some
precision because e^(-x) is transcendental for rational x other than 0 (Lindemann), hence never a digit boundary.

A table holds the first 16 digits of each coin. When a draw ties with all of them (probability 2^-128) it is
rolled back, the table is extended, and the draw reads the same bytes again: the result is exact, not exact
up to 2^-128.
"""

import math
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
    """A chance that is known by its exact digits."""

    def digits(self, n: int) -> bytes:
        """Return the first ``n`` base-256 digits."""


@dataclass(frozen=True)
class Chance:
    """The number ``(a + b e^(-x)) / (c + d e^(-x))``, which must be in [0, 1].

    Examples
    --------
    >>> Chance(a=Fraction(1, 2)).digits(2).hex()
    '8000'
    >>> inverse_e = Chance(b=Fraction(1), x=Fraction(1))          # 1/e = 0.3678794...
    >>> int.from_bytes(inverse_e.digits(4), "big") / 256**4
    0.36787944100797176
    """

    a: Fraction = Fraction(0)
    b: Fraction = Fraction(0)
    c: Fraction = Fraction(1)
    d: Fraction = Fraction(0)
    x: Fraction = Fraction(0)

    def digits(self, n: int) -> bytes:
        """Return the first ``n`` base-256 digits (1 is written 0.FFFF...)."""
        unit = 256**n
        if self.b == self.d == 0 or self.x == 0:
            value = (self.a + self.b) / (self.c + self.d)
            whole: int = min(math.floor(value * unit), unit - 1)
            return whole.to_bytes(n, "big")
        precision = 3 * n + 20
        while True:
            ends = [(self.a + self.b * e) / (self.c + self.d * e) * unit for e in enclose_exp(self.x, n, precision)]
            # The value lies strictly between the ends, so an end that is a whole number is not reached.
            least: int = math.floor(min(ends))
            most: int = math.ceil(max(ends)) - 1
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
    """Return a chance as a double, right to the last bits also when it is tiny.

    Examples
    --------
    >>> chance_value(Chance(a=Fraction(1), d=Fraction(1), x=Fraction(1)))          # e/(e + 1)
    0.7310585786300049
    """
    if chance.b == chance.d == 0:
        return float(chance.a / chance.c)
    return float(Fraction(int.from_bytes(chance.digits(_DIGITS), "big"), 256**_DIGITS))


def enclose_exp(x: Fraction, n: int, precision: int) -> tuple[Fraction, Fraction]:
    """Enclose e^(-x), x > 0, tightly enough for about ``n`` digits.

    Examples
    --------
    >>> low, high = enclose_exp(Fraction(1), 8, 40)
    >>> low < high, float(low) == float(high) == math.exp(-1)
    (True, True)
    """
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


@lru_cache(maxsize=512)
def digit_table(chances: tuple[ExactChance, ...], n: int) -> ByteArray:
    """Return the first ``n`` digits of each chance, a row each; kept for chances that come again."""
    return np.frombuffer(b"".join(c.digits(n) for c in chances), np.uint8).reshape(len(chances), n)
