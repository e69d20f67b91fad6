"""The law and scale of the noise that a price pays for. Plans and draws use the same `Law`.

====================  ==============================  =================================
sensitivity           price in ε                      price in ρ
====================  ==============================  =================================
l1                    discrete Laplace, l1/ε          discrete Gaussian, σ² >= l2²/(2ρ)
linf (a vector)       max-norm Laplace, linf/ε        the same
l2 only (a vector)    isotropic Laplace, l2/ε         the same
====================  ==============================  =================================

Roots are rounded to the safe side, so the noise is never narrower than the price requires.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet import noise
from discreet.core import normal_width
from discreet.core.budget import Draw, Price, Rho, root
from discreet.noise.integer import LARGEST_SCALE, max_norm_variance, smallest_scale


@dataclass(frozen=True)
class Moves:
    """Sensitivity: bounds on the change when one row is added or removed, in whole numbers."""

    #: Sum of absolute changes, if every number gets independent noise.
    l1: int | None = None
    #: Largest change of an entry, if a whole vector gets one joint draw.
    linf: int | None = None
    #: Sum of squared changes; needed for prices in ρ. Alone, it means isotropic noise in ε.
    l2_squared: int | None = None


#: Gaussian noise that is wider than this is as good as continuous.
_WIDE = 1000

#: A row changes one of the disjoint counts by 1.
COUNT = Moves(l1=1, l2_squared=1)


@dataclass(frozen=True)
class Law:
    """The law of the noise that a price pays for: scale (σ for "gaussian", 0 without noise), and sensitivity."""

    name: Literal["laplace", "gaussian", "max-norm", "isotropic"]
    scale: Fraction
    moves: Fraction
    dimension: int = 1

    @property
    def one(self) -> noise.DiscreteLaplace | noise.DiscreteGaussian:
        """The law of a single number, with its chances and thresholds."""
        return noise.DiscreteGaussian(self.scale) if self.name == "gaussian" else noise.DiscreteLaplace(self.scale)

    @property
    def variance(self) -> float:
        """The variance of every number, or of every entry of a vector."""
        if self.name == "max-norm":
            return max_norm_variance(self.scale, self.dimension)
        if self.name == "isotropic":
            # A direction is uniform, so every entry has the same share of E‖y‖² = D (D + 1) s².
            return float(self.scale) ** 2 * (self.dimension + 1)
        return self.one.variance

    @property
    def too_narrow(self) -> bool:
        """True if the lattice is too coarse to draw it."""
        return self.name == "max-norm" and 0 < self.scale < smallest_scale(self.dimension)

    @property
    def drawable(self) -> bool:
        """True if the samplers can draw it: a public fact."""
        return self.scale <= LARGEST_SCALE and not self.too_narrow

    def draw(self, rows: int, number: int) -> Draw:
        """Return the draw that a ledger line states, for units that count ``rows`` times."""
        return Draw(self.name, self.scale, self.moves, rows, number)


def law_for(price: Price, moves: Moves = COUNT, dimension: int = 1) -> Law:
    """Return the law that a price per row pays for, given the sensitivity.

    Privacy
    -------
    Neighbours: add or remove one row. In ε: discrete Laplace noise of scale l1/ε on every number, max-norm noise of
    scale linf/ε on a vector, or isotropic noise of scale l2/ε on it, is ε-differentially private
    (`discreet.noise.discrete_laplace`, `max_norm_laplace`, `discreet.noise.vector.isotropic`). In ρ: discrete Gaussian
    noise with σ² >= l2²/(2ρ) on every number is ρ-zCDP (Canonne, Kamath, Steinke 2020, theorem 4).

    Examples
    --------
    >>> from discreet.core.budget.prices import Epsilon, Rho
    >>> law_for(Epsilon(Fraction(1, 2)), Moves(l1=3)).scale, law_for(Rho(Fraction(1, 8))).scale
    (Fraction(6, 1), Fraction(2, 1))
    >>> law_for(Epsilon(math.inf)).variance
    0.0
    """
    if isinstance(price, Rho):
        if moves.l2_squared is None:
            raise TypeError("a price in rho needs the squared l2 sensitivity")
        square = Fraction(moves.l2_squared)
        return Law("gaussian", root(square / (2 * Fraction(price.amount)), up=True), square, dimension)
    name: Literal["laplace", "max-norm", "isotropic"]
    if moves.l1 is not None:
        name, far, length = "laplace", Fraction(moves.l1), Fraction(moves.l1)
    elif moves.linf is not None:
        name, far, length = "max-norm", Fraction(moves.linf), Fraction(moves.linf)
    elif moves.l2_squared is not None:
        name, far = "isotropic", Fraction(moves.l2_squared)
        length = root(far, up=True)
    else:
        raise TypeError("no sensitivity is given")
    scale = Fraction(0) if price.infinite else length / Fraction(price.amount)
    return Law(name, scale, far, dimension)


def reach(law: Law, level: float) -> int:
    """Return the smallest whole number t with P(|noise| <= t) >= level, for the noise of a single number."""
    if law.name == "gaussian" and law.scale > _WIDE:
        return math.ceil(normal_width(level) * float(law.scale)) + 1
    return law.one.threshold((1 - level) / 2)
