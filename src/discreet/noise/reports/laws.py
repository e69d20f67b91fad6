"""The law of a report: probabilities, price and draw in one frozen object.

A report is made of *coins* with exact probabilities (`thresholds.py`). A single device compares random bytes with a
*threshold*: the probability as an integer over 256^16 (256^8 if the coin is stored), rounded towards privacy. The
largest ratio of the probabilities of one report under two values is then rational; its logarithm, rounded up, is the
price. A law states its ``epsilon``: the exact probabilities cost that, the thresholds never more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.core import ByteArray, Exact, IntArray
from discreet.noise.reports import projective, stored
from discreet.noise.reports.bases import independent_vectors
from discreet.noise.reports.coin_bytes import coin_bytes
from discreet.noise.reports.coins import keep_chance, respond
from discreet.noise.reports.stored import Keys
from discreet.noise.reports.subsets import subsets
from discreet.noise.stream.thresholds import Chance, chance_value, enclose_exp, logistic

#: Base-256 digits of a threshold, and of one for stored coins, which are words of 64 bits.
DIGITS, STORED = 16, 8
#: Decimal digits of a price.
_PRECISION = 60


class Coin(NamedTuple):
    """A probability, and the rounding of its threshold: up if heads hide the truth, down if they reveal it."""

    chance: Chance
    up: bool
    digits: int = DIGITS

    @property
    def threshold(self) -> int:
        """The probability as an integer over 256^digits; one on that grid is exact."""
        chance, unit = self.chance, 1 << 8 * self.digits
        if chance.b == chance.d == 0 or chance.x == 0:
            value = (chance.a + chance.b) / (chance.c + chance.d) * unit
            whole = math.ceil(value) if self.up else math.floor(value)
        else:
            whole = int.from_bytes(chance.digits(self.digits), "big") + self.up  # not rational, hence not on the grid
        return min(whole, unit - 1)


def within(ratio: Fraction, epsilon: Exact) -> bool:
    """Return whether a ratio is at most e^ε: exactly."""
    if epsilon == math.inf or ratio <= 1:
        return True
    x, n = Fraction(epsilon), 32
    if x == 0:
        return False
    while True:  # e^(-x) is transcendental: the ends of some enclosure are on one side of a rational
        low, high = enclose_exp(x, n, 3 * n + 20)
        if ratio * high <= 1:
            return True
        if ratio * low > 1:
            return False
        n *= 2


def log_above(ratio: Fraction) -> Fraction:
    """Return ln of a ratio of at least 1, rounded up in the sixtieth digit."""
    up = Context(_PRECISION, ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    above = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return max(Fraction(above.ln(up).next_plus(up)), Fraction(0))


def either_way(ratio: Fraction) -> Fraction:
    """Return a ratio of probabilities or its inverse, whichever is larger."""
    return max(ratio, 1 / ratio)


class ReportLaw:
    """The base of all laws. A subclass is a frozen dataclass with ``epsilon``, `coins`, `ratio` and ``draw``."""

    epsilon: Exact

    #: See `discreet.core.budget.guarantee.Guarantee.of_law`.
    one_of = ""

    @property
    def coins(self) -> dict[str, Coin]:
        """The coins of a report, by name."""
        raise NotImplementedError

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the largest ratio of a report's probabilities under two values, given those of the coins."""
        raise NotImplementedError

    @cached_property
    def chances(self) -> dict[str, Fraction]:
        """The probabilities of heads by the thresholds of the coins."""
        return {name: Fraction(coin.threshold, 1 << 8 * coin.digits) for name, coin in self.coins.items()}

    @cached_property
    def price(self) -> Exact:
        """ln of the largest ratio by the thresholds, over both directions, rounded up."""
        if self.epsilon == math.inf:
            return math.inf
        ratio = self.ratio(self.chances)
        above = log_above(ratio)
        return min(above, Fraction(self.epsilon)) if within(ratio, self.epsilon) else above

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        return (("one report", self.epsilon),)


class GroupLaw(ReportLaw):
    """A message from a group that the value determines, or one of the others; uniform in both."""

    COIN = "keep"

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of messages in the group and outside it, or proportional to them."""
        raise NotImplementedError

    @property
    def inside(self) -> Chance:
        """The exact probability of a message of the group, e^ε a/(e^ε a + b)."""
        if self.epsilon == math.inf:
            return Chance(a=Fraction(1))
        inner, outer = self.sizes
        return Chance(a=Fraction(1), d=Fraction(outer, inner), x=Fraction(self.epsilon))

    @property
    def coins(self) -> dict[str, Coin]:
        return {self.COIN: Coin(self.inside, up=False)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the ratio of the probabilities of a message inside the group and outside it."""
        chance, (inner, outer) = heads[self.COIN], self.sizes
        return either_way(chance * outer / ((1 - chance) * inner))


@dataclass(frozen=True)
class Response(GroupLaw):
    """The number itself, or another one below ``size``: randomised response."""

    epsilon: Exact
    size: int

    @property
    def sizes(self) -> tuple[int, int]:
        return 1, self.size - 1

    @property
    def kept(self) -> float:
        """The probability that the number itself is sent."""
        return chance_value(self.inside)

    @property
    def stray(self) -> float:
        """The probability of each other number, 1/(e^ε + k - 1)."""
        return chance_value(Chance(b=Fraction(1), d=Fraction(self.size - 1), x=Fraction(self.epsilon)))

    def draw(self, values: IntArray, stream: Any) -> IntArray:
        return respond(values, self.size, keep_chance(self.size, self.epsilon), stream)


@dataclass(frozen=True)
class ParityLaw(Response):
    """Parities of a number of ``length`` bits with public vectors, sent as one word of ``size`` possible ones."""

    length: int = 1

    def vectors(self, n: int, stream: Any) -> IntArray:
        """Draw the linearly independent vectors of ``n`` reports; they do not depend on any number."""
        return independent_vectors(n, bits=self.length, count=self.size.bit_length() - 1, rng=stream)


@dataclass(frozen=True)
class SubsetLaw(GroupLaw):
    """A set of ``taken`` of ``size`` numbers that contains the true one, or does not."""

    COIN = "hold"

    epsilon: Fraction
    size: int
    taken: int

    @property
    def sizes(self) -> tuple[int, int]:
        """Sets with the number and without it are in the ratio w to d - w."""
        return self.taken, self.size - self.taken

    def draw(self, values: IntArray, stream: Any) -> IntArray:
        return subsets(values, n_values=self.size, size=self.taken, chance=self.inside, rng=stream)


@dataclass(frozen=True)
class HyperplaneLaw(GroupLaw):
    """A point of a finite geometry, on the hyperplane of the value or off it."""

    COIN = "on"

    epsilon: Fraction
    order: int
    length: int
    points: int
    on: int

    @property
    def sizes(self) -> tuple[int, int]:
        return self.on, self.points - self.on

    def draw(self, values: IntArray, stream: Any) -> IntArray:
        return projective.projective_response(
            values, order=self.order, length=self.length, chance=self.inside, rng=stream
        )


@dataclass(frozen=True)
class FlipLaw(ReportLaw):
    """Bits that are flipped by independent coins; two values differ in ``differing`` of them."""

    epsilon: Fraction
    differing: int = 1
    stored: bool = False

    @property
    def _name(self) -> str:
        return "stored" if self.stored else "flip"

    @property
    def flip(self) -> Chance:
        """The exact probability that a bit is flipped, 1/(e^b + 1) if it spends b."""
        return logistic(self.epsilon / self.differing)

    @property
    def flipped(self) -> float:
        """That probability as a float."""
        return chance_value(self.flip)

    @property
    def kept(self) -> float:
        """The probability that a bit stays, e^b/(e^b + 1)."""
        return chance_value(keep_chance(2, self.epsilon / self.differing))

    @property
    def coins(self) -> dict[str, Coin]:
        return {self._name: Coin(self.flip, up=True, digits=STORED if self.stored else DIGITS)}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the ratio of a bit that stays and one that is flipped, once per differing bit."""
        chance = heads[self._name]
        return either_way((1 - chance) / chance) ** self.differing

    def draw(self, shape: tuple[int, ...], stream: Any) -> ByteArray:
        """Draw bytes whose bits mark what is flipped."""
        return coin_bytes(self.flip, shape, stream)

    def turn(self, keys: Keys, n_bits: int, rows: ByteArray) -> None:
        """Flip bits in place as keys decide: the same every time."""
        stored.flip(keys, Coin(self.flip, up=True, digits=STORED).threshold, n_bits, rows)


@dataclass(frozen=True)
class BitFlipLaw(FlipLaw):
    """Flipped answers about ``taken`` of ``size`` values, chosen independently of the value."""

    size: int = 2
    taken: int = 1

    def chosen(self, n: int, stream: Any) -> IntArray:
        """Draw the values of each of ``n`` reports, ascending."""
        return stored.fresh_subsets(self.size, self.taken, n, stream)

    def kept_choice(self, keys: Keys) -> IntArray:
        """Return the values of the reports of each key: the same every time."""
        return stored.subsets(self.size, self.taken, keys)


@dataclass(frozen=True)
class Together(ReportLaw):
    """Several reports at once, or one of several, chosen independently of the value."""

    parts: tuple[tuple[str, Any], ...]
    one_of: str = ""

    @cached_property
    def epsilon(self) -> Exact:  # type: ignore[override]
        """The sum of the stated costs of the parts, or the largest."""
        return self._added([part.epsilon for _, part in self.parts])

    @cached_property
    def price(self) -> Exact:
        return self._added([part.price for _, part in self.parts])

    @property
    def coins(self) -> dict[str, Coin]:
        return {name: coin for _, part in self.parts for name, coin in part.coins.items()}

    def _added(self, amounts: list[Exact]) -> Exact:
        if math.inf in amounts:
            return math.inf
        return max(amounts) if self.one_of else sum(amounts, Fraction(0))

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        return tuple((label, part.epsilon) for label, part in self.parts)


@dataclass(frozen=True)
class NoNoise:
    """Values without noise or privacy, for comparisons."""

    epsilon = math.inf
    price = math.inf


@dataclass(frozen=True)
class Sampled(ReportLaw):
    """Reports on ``taken`` of ``size`` numbers, chosen independently of them."""

    each: Any
    taken: int
    size: int

    @property
    def epsilon(self) -> Exact:  # type: ignore[override]
        return Fraction(self.each.epsilon * self.taken)

    @property
    def price(self) -> Exact:
        return Fraction(self.each.price * self.taken)

    @property
    def coins(self) -> dict[str, Coin]:
        coins: dict[str, Coin] = self.each.coins
        return coins

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        return ((f"{self.taken} of {self.size} numbers, equal parts", self.epsilon),)

    def chosen(self, n: int, stream: Any) -> IntArray:
        """Draw for each of ``n`` rows which numbers are reported, ascending."""
        # The value is a number that is never held, so the subset contains others only.
        beyond = np.full(n, self.size)
        return subsets(beyond, n_values=self.size + 1, size=self.taken, chance=Chance(), rng=stream)

    def draw(self, places: IntArray, stream: Any) -> IntArray:
        return np.asarray(self.each.draw(places, stream))
