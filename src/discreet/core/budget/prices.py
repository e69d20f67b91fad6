"""Prices of releases: pure ε, ρ of zCDP, and an (ε, δ) step. Each has its own type.

Amounts are exact rationals. Prices of one type can be added, subtracted and compared, and multiplied or divided by
whole numbers and fractions. Floats, bare numbers and mixed types raise `TypeError`. Only the named conversions below
lead from one type to another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Any, Self, TypeAlias

import numpy as np

from discreet.core import checks
from discreet.core.checks import Exact
from discreet.core.output.figures import LARGEST_BUDGET
from discreet.errors import InvalidArgument

#: Shares are multiples of this part of a price, so that prices stay short rationals.
_STEPS = 2**32
#: Roots are rounded to this share of themselves, to the safe side.
_GRAIN = 2**40


def root(square: Fraction, *, up: bool = False) -> Fraction:
    """Return a rational near the square root, rounded down, or up (``up``)."""
    # √(p/q) = √(pq)/q, and whole roots are exact.
    under = square.numerator * square.denominator * _GRAIN**2
    found = math.isqrt(under)
    return Fraction(found + (up and found * found != under), square.denominator * _GRAIN)


@total_ordering
@dataclass(frozen=True, eq=False, repr=False)
class _Price:
    """Common parts of `Epsilon` and `Rho`."""

    amount: Exact

    def __add__(self, other: object) -> Self:
        return type(self)(self.amount + self._same(other))

    def __sub__(self, other: object) -> Self:
        taken = self._same(other)
        # Without a limit nothing is used up; inf - inf is undefined.
        return self if self.amount == math.inf else type(self)(self.amount - taken)

    def __mul__(self, factor: object) -> Self:
        return type(self)(self.amount * _factor(factor))

    __rmul__ = __mul__

    def __truediv__(self, factor: object) -> Self:
        return type(self)(self.amount / _factor(factor))

    def __eq__(self, other: object) -> bool:
        return self.amount == self._same(other)

    def __lt__(self, other: object) -> bool:
        return self.amount < self._same(other)

    def __bool__(self) -> bool:
        return self.amount != 0

    def __hash__(self) -> int:
        return hash((type(self), self.amount))

    def _same(self, other: object) -> Exact:
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__} cannot be combined with {type(other).__name__}")
        return other.amount

    @property
    def shown(self) -> float:
        """The amount as a float: for sizes of grids and for display, never for noise."""
        return float(self.amount)

    @property
    def infinite(self) -> bool:
        """True for an infinite price: no noise and no privacy."""
        return self.amount == math.inf

    def divide(self, weights: Any) -> list[Self]:
        """Return shares in proportion to weights, rounded to 2^-32 of the price; they add up to all of it."""
        if self.infinite:
            return [self for _ in weights]
        total = float(np.sum(weights))
        parts = [max(1, int(w / total * _STEPS)) for w in weights]
        parts[int(np.argmax(weights))] += _STEPS - sum(parts)
        return [self * Fraction(part, _STEPS) for part in parts]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.amount})"


@dataclass(frozen=True, eq=False, repr=False)
class Epsilon(_Price):
    """A price in pure ε; infinite for a run without privacy."""

    def __post_init__(self) -> None:
        if not (isinstance(self.amount, float) and self.amount == math.inf):
            object.__setattr__(self, "amount", _exact(self.amount))

    def as_rho(self) -> Rho:
        """Return the ρ that a pure ε step costs in zCDP: ε²/2 (Bun and Steinke 2016, proposition 1.4)."""
        return Rho(Fraction(self.amount) ** 2 / 2)

    def like_epsilon(self) -> Epsilon:
        """Return the price itself: see `Rho.like_epsilon`."""
        return self

    def pure(self) -> Epsilon:
        """Return the price itself: see `Rho.pure`."""
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Rho(_Price):
    """A price in ρ of zero-concentrated differential privacy (zCDP)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount", _exact(self.amount))

    def pure(self) -> Epsilon:
        """Return the ε of a pure step that this pays for: √(2ρ), rounded down."""
        return Epsilon(root(2 * Fraction(self.amount)))

    def choice(self) -> Epsilon:
        """Return the ε of one exponential-mechanism choice that this pays for: √(8ρ), rounded down.

        Its privacy loss ranges over an interval of width ε, which costs ε²/8 in zCDP (Cesar and Rogers 2021). Other
        pure steps cost ε²/2.
        """
        return Epsilon(root(8 * Fraction(self.amount)))

    def like_epsilon(self) -> Epsilon:
        """Return the ε whose Laplace noise on a count has the same variance: 2/ε² = 1/(2ρ). For sizes only."""
        return Epsilon(root(4 * Fraction(self.amount)))

    def at(self, delta: Fraction) -> float:
        """Return the ε that this amounts to at a δ."""
        return zcdp_to_epsilon(self.amount, delta)

    @classmethod
    def within(cls, epsilon: Epsilon, delta: Fraction) -> Rho:
        """Return the largest ρ found that implies (ε, δ)-differential privacy, rounded down to 15 digits."""
        found = Fraction(epsilon_to_zcdp(Fraction(epsilon.amount), delta))
        if not found:
            expected = "at least 1e-9 with a delta: less cannot be told from nothing"
            raise InvalidArgument("epsilon", epsilon.shown, expected, "epsilon=0.1")
        digits = 10 ** (15 - math.floor(math.log10(found)))
        return cls(Fraction(math.floor(found * digits), digits))


Price: TypeAlias = Epsilon | Rho


@dataclass(frozen=True)
class Approx:
    """The price of an (ε, δ) step."""

    epsilon: Epsilon
    delta: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Epsilon) or not isinstance(self.delta, Fraction) or not 0 < self.delta < 1:
            raise TypeError("Approx takes an Epsilon and a Fraction between 0 and 1")


@dataclass(frozen=True)
class Wanted:
    """A budget as the user gave it: ε, (ε, δ), or ρ with the δ at which its ε is stated.

    (ε, δ) allows pure ε or the largest ρ that implies it; ρ allows pure ε = √(2ρ) or ρ itself. Gaussian noise grows
    with the *Euclidean* length of a row's change, so it is better if a row changes many numbers. Each method compares
    variances, from public values, before it reads rows.
    """

    pure: Epsilon
    rho: Rho | None = None
    delta: Fraction | None = None

    @classmethod
    def read(cls, epsilon: Any, rho: Any, delta: Any, rows: Any = None) -> Wanted:
        """Check the arguments; the default ``epsilon`` of 1 does not contradict ``rho``. Warn of a large delta."""
        delta = None if checks.is_real(delta) and delta == 0 else delta  # a pure release has a δ of 0
        if rho is None and delta is None:
            return cls(Epsilon(checks.budget("epsilon", epsilon)))
        if delta is None:
            raise InvalidArgument("delta", delta, "given with rho: where its epsilon is stated", "delta=1e-6")
        share = checks.slack(delta, rows, "a number from 0 to below 1" if rho is None else "")
        if rho is None:
            pure = Epsilon(checks.positive("epsilon", epsilon))
            return cls(pure, Rho.within(pure, share), share)
        if epsilon is not None and not (checks.is_real(epsilon) and epsilon == 1):
            raise InvalidArgument("epsilon", epsilon, "left out with rho", "epsilon=None")
        price = Rho(checks.positive("rho", rho))
        return cls(price.pure(), price, share)


def wanted_of(model: Any) -> Wanted:
    """Return the budget of an estimator."""
    rho, delta, rows = (getattr(model, name, None) for name in ("rho", "delta", "n_rows"))
    return Wanted.read(model.epsilon, rho, delta, rows)


def _exact(amount: object) -> Fraction:
    if isinstance(amount, bool) or not isinstance(amount, (int, Fraction)):
        raise TypeError(f"a price is a whole number or a Fraction, got {type(amount).__name__}")
    if amount < 0:
        raise ValueError(f"a price is not negative, got {amount}")
    return Fraction(amount)


def _factor(factor: object) -> Fraction:
    if isinstance(factor, bool) or not isinstance(factor, (int, Fraction)):
        raise TypeError(f"prices are multiplied by whole numbers and Fractions, got {type(factor).__name__}")
    return Fraction(factor)


# ρ-zCDP bounds the Rényi divergence of every order α > 1 by ρα (Bun and Steinke 2016). Each order gives a valid
# (ε, δ) pair, so the best of many orders is valid too (Canonne, Kamath, Steinke 2020, proposition 12):
#
#     ε(δ) = min over α > 1 of  ρα + ln(1 - 1/α) - (ln δ + ln α)/(α - 1)
# Results are rounded to the safe side by one part in 10^9 and 10^-14, far above the rounding errors of the evaluation.

_SAFETY = 1e-9
#: Covers the rounding of terms that cancel when the result is tiny.
_SLACK = 1e-14


def zcdp_to_epsilon(rho: checks.Number, delta: checks.Number) -> float:
    """Return an ε such that ρ-zCDP implies (ε, δ)-differential privacy."""
    share = float(checks.probability("delta", delta))
    if share == 0:
        raise InvalidArgument("delta", delta, "at least the smallest positive double", "delta=1e-9")
    if isinstance(rho, float) and math.isinf(rho) and rho > 0:
        return math.inf
    exact = checks.exact("rho", rho, "a number of at least 0", "rho=0.5")
    if not 0 <= exact <= LARGEST_BUDGET:
        raise InvalidArgument("rho", rho, "a number of at least 0", "rho=0.5")
    if exact == 0:
        return 0.0
    number = max(float(exact), 1e-290)  # a larger rho is the safe side
    # The best order is near 1 + sqrt(ln(1/δ)/ρ); a fine grid around it loses nothing visible, and any order is valid.
    center = math.sqrt(max(-math.log(share), 1e-3) / number)
    gap = center * np.geomspace(1e-3, 1e3, 6001)
    order = 1 + gap
    bound = number * order - np.log1p(1 / gap) - (math.log(share) + np.log1p(gap)) / gap
    return max(0.0, float(bound.min())) * (1 + _SAFETY) + _SLACK


def epsilon_to_zcdp(epsilon: checks.Number, delta: checks.Number) -> float:
    """Return the largest ρ found such that ρ-zCDP implies (ε, δ)-differential privacy."""
    target = float(checks.positive("epsilon", epsilon))
    low, high = 0.0, target + 1.0
    while zcdp_to_epsilon(high, delta) <= target:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if zcdp_to_epsilon(middle, delta) <= target:
            low = middle
        else:
            high = middle
    return low
