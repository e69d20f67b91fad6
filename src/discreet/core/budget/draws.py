"""The noise of a ledger line, and the price that it requires.

A `Draw` states the law of the noise, how far one row moves the values, and the scale. Anyone can compute the price from
these, without the data and without trusting the author of the line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.core.budget.prices import Approx, Epsilon, Rho, root
from discreet.core.checks import Exact
from discreet.errors import FormatError

Law = Literal[
    "laplace", "gaussian", "max-norm", "isotropic", "choice", "choices", "privtree", "flip", "selection", "sampling",
    "report",
]  # fmt: skip
#: How a file names what one row moves, by law.
_MOVES: Mapping[str, str] = {
    "laplace": "l1", "flip": "l1", "privtree": "l1", "max-norm": "linf", "isotropic": "l2_squared",
    "gaussian": "l2_squared", "choice": "span", "choices": "span",
}  # fmt: skip
#: Laws that state their (ε, δ) themselves.
_STATED = ("selection", "sampling", "report")
#: What the floating-point terms of PrivTree's loss may be off by, relative to their sum; see `privtree_loss`.
_ROUNDING = Fraction(1, 2**36)


@dataclass(frozen=True)
class Draw:
    """Noise that was drawn for a line."""

    law: str
    scale: Fraction = Fraction(0)  # σ for "gaussian"; 0: no noise
    moves: Fraction = Fraction(1)  # by how much one row changes the values at most, in the norm of `_MOVES`
    rows: int = 1  # rows of a person; for "gaussian" the largest sum of squares of their rows in one cell
    number: int | None = None  # numbers or vectors drawn; None where that is not public
    bias: int = 0  # of PrivTree, per level
    epsilon: Exact = Fraction(0)  # stated by laws that have no scale
    delta: Fraction = Fraction(0)

    @property
    def price(self) -> Epsilon | Rho | Approx:
        """The least that this draw costs.

        Laplace and max-norm noise: moves · rows / scale. Isotropic noise: the same with the root of the squared norm,
        rounded up. Gaussian noise: moves · rows / (2σ²), in ρ. A choice: span · rows / scale.
        """
        if self.law in _STATED:
            return Approx(Epsilon(self.epsilon), self.delta) if self.delta else Epsilon(self.epsilon)
        if self.scale == 0:
            return Epsilon(math.inf)
        if self.law == "gaussian":
            return Rho(self.moves * self.rows / (2 * self.scale**2))
        if self.law == "privtree":
            return Epsilon(privtree_loss(self.scale, self.bias) * self.rows)
        moves = root(self.moves, up=True) if self.law == "isotropic" else self.moves
        return Epsilon(moves * self.rows / self.scale)

    def cost(self, accounting: str) -> Fraction | float:
        """Return the price in a ledger's unit; `FormatError` if it has none there: Gaussian noise has no pure ε."""
        price = self.price
        if isinstance(price, Approx):
            if accounting == "rho":
                raise FormatError(f"{self.law} is an (epsilon, delta) step, which zCDP cannot state")
            price = price.epsilon
        if isinstance(price, Rho):
            if accounting == "epsilon":
                raise FormatError("Gaussian noise has no price in pure epsilon")
            return price.amount
        if accounting == "epsilon" or price.infinite:
            return price.amount
        return Fraction(price.amount) ** 2 / (8 if self.law == "choice" else 2)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, rationals as text."""
        facts: dict[str, Any] = {"law": self.law}
        if self.law in _STATED:
            facts["epsilon"] = str(self.epsilon)
            facts |= {"delta": str(self.delta)} if self.delta else {}
        else:
            facts |= {_MOVES[self.law]: str(self.moves), "rows": self.rows, "scale": str(self.scale)}
        facts |= {"bias": self.bias} if self.law == "privtree" else {}
        return facts | ({} if self.number is None else {"number": self.number})

    @classmethod
    def from_dict(cls, facts: Any) -> Draw:
        if not isinstance(facts, Mapping) or facts.get("law") not in (*_MOVES, *_STATED):
            raise FormatError("a ledger line has a draw of an unknown law")
        law, number = facts["law"], facts.get("number")
        moves = _MOVES.get(law, "")
        known = {"law", "number", "epsilon", "delta"} if law in _STATED else {"law", "number", "rows", "scale", moves}
        whole = [facts.get("rows", 1), facts.get("bias", 0), 0 if number is None else number]
        if set(facts) - known - {"bias"} or any(type(x) is not int or x < 0 for x in whole) or whole[0] < 1:
            raise FormatError(f"a ledger line has a damaged draw of the law {law!r}")
        exact: dict[str, Any] = {
            name: math.inf if (name, facts[name]) == ("epsilon", "inf") else Fraction(facts[name])
            for name in ("scale", "epsilon", "delta", moves)
            if name in facts
        }
        needed = {"epsilon"} if law in _STATED else {"scale", moves}
        if not needed <= set(exact) or any(value < 0 for value in exact.values()):
            raise FormatError(f"a ledger line has a damaged draw of the law {law!r}")
        return cls(law, moves=exact.pop(moves, Fraction(1)), rows=whole[0], number=number, bias=whole[1], **exact)


def privtree_loss(scale: Fraction, bias: int) -> Fraction:
    """Return a number that PrivTree's worst loss does not exceed, rounding included.

    With rate 1/λ and α = e^(-1/λ) the worst path loses L(λ, δ) = 2/λ + Σ_{j>=1} ρ(1 + jδ), where
    ρ(1 + jδ) = ln(1 + q_j (1-α)/(1+α-q_j)) and q_j = α^(jδ) (see `discreet.mechanisms.privtree`). 2/λ is exact. The
    exponent of q_j is off by a relative 2^-51 and below 745 (where q_j is 0), so q_j is off by a relative 2^-41; 1-α
    comes from ``expm1``, 1+α-q_j lies in [1, 2], and the logarithm is steepest at 0. So every term, and their sum, is
    off by less than 2^-36 of itself. What is left out after the last term J is at most (1-α) Σ_{j>J} q_j <= (1-α) q_J
    <= 4 ρ(1 + Jδ), as α^δ <= 1/b <= 1/2, 1+α-q_J <= 2 and ln(1+z) >= z/2 up to z = 1; an exponential that underflows
    is below 2^-1000.
    """
    terms = privtree_terms(scale, bias)
    tail = 4 * terms[-1] + 2.0**-1000
    return 2 / scale + Fraction(math.fsum([*terms, tail])) * (1 + _ROUNDING)


def privtree_terms(scale: Fraction, bias: int) -> list[float]:
    """Return ρ(1 + jδ) for j = 1, 2, ... as far as they count."""
    if bias < 1:
        raise FormatError("PrivTree needs a bias of at least 1")
    rate = float(1 / scale)
    alpha, gap = math.exp(-rate), -math.expm1(-rate)
    terms: list[float] = []
    while not terms or terms[-1] > 2.0**-60 * rate:
        q = math.exp(-(len(terms) + 1) * bias * rate)
        terms.append(math.log1p(q * gap / (1 + alpha - q)))
    return terms
