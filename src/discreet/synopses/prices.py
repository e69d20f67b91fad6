"""What a price buys: discrete Laplace noise for ε, discrete Gaussian noise for ρ of zCDP; and which a budget goes to.

A budget is ε alone, (ε, δ), or ρ with the δ at which its ε is stated. Every one of the latter two buys either kind of
noise. For (ε, δ): pure ε, or the largest ρ that implies (ε, δ). For ρ: pure ε = √(2ρ), which implies ρ-zCDP (Bun and
Steinke 2016, proposition 1.4), or ρ itself. Laplace noise on one count has about twice the variance at the same ρ and
far less at the same (ε, δ); Gaussian noise grows with the *Euclidean* length of what one row changes, so it wins where
a row changes many numbers. What is better is told by variances, from public values, before a row is read.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import noise
from discreet.core import checks
from discreet.core.checks import Exact
from discreet.core.guarantee import Ledger, Scope
from discreet.core.ledger import Kind
from discreet.core.zcdp import epsilon_to_zcdp
from discreet.errors import InvalidArgument

#: What a ledger counts in: "epsilon" or "rho".
Law = noise.DiscreteLaplace | noise.DiscreteGaussian
#: Roots are rounded to this share of themselves, to the safe side.
_GRAIN = 2**40


@dataclass(frozen=True)
class Wanted:
    """A budget as its user gave it.

    Attributes
    ----------
    pure : Fraction or inf
        The ε of a pure release that the budget pays for.
    rho : Fraction or None
        The ρ of a zCDP release that it pays for; None where only pure ones are wanted.
    delta : Fraction or None
        The δ of such a release.

    Examples
    --------
    >>> Wanted.read(1.0, None, None)
    Wanted(pure=Fraction(1, 1), rho=None, delta=None)
    >>> wanted = Wanted.read(None, 0.5, 1e-6)
    >>> float(wanted.pure), wanted.rho
    (1.0, Fraction(1, 2))
    """

    pure: Exact
    rho: Fraction | None = None
    delta: Fraction | None = None

    @classmethod
    def read(cls, epsilon: Any, rho: Any, delta: Any, rows: Any = None) -> "Wanted":
        """Check the three arguments; ``epsilon`` left at its default of 1 does not contradict ``rho``.

        A large delta is warned of, also one that is large for a public number of ``rows``.
        """
        delta = None if not isinstance(delta, str) and delta == 0 else delta  # a pure release has a δ of 0
        if rho is None and delta is None:
            return cls(checks.budget("epsilon", epsilon))
        if delta is None:
            raise InvalidArgument("delta", delta, "given with rho: where its epsilon is stated", "delta=1e-6")
        share = checks.slack(delta, rows)
        if rho is None:
            pure = checks.positive("epsilon", epsilon)
            return cls(pure, Fraction(repr(epsilon_to_zcdp(pure, share))), share)
        if epsilon is not None and epsilon != 1:
            raise InvalidArgument("epsilon", epsilon, "left out with rho", "epsilon=None")
        price = checks.positive("rho", rho)
        return cls(root(2 * price), price, share)

    def ledger(self, *, gaussian: bool) -> Ledger:
        """Open a ledger in the unit of the noise that was chosen."""
        if gaussian and self.rho is not None:
            return Ledger(rho=self.rho, delta=self.delta)
        return Ledger(self.pure)


def wanted_of(model: Any) -> Wanted:
    """Return the budget of an estimator."""
    rho, delta, rows = (getattr(model, name, None) for name in ("rho", "delta", "n_rows"))
    return Wanted.read(model.epsilon, rho, delta, rows)


def root(square: Fraction, *, up: bool = False) -> Fraction:
    """Return a rational near the root, no larger than it is, or (``up``) no smaller.

    Examples
    --------
    >>> root(Fraction(2)) ** 2 <= 2 <= root(Fraction(2), up=True) ** 2, root(Fraction(9, 4))
    (True, Fraction(3, 2))
    """
    # √(p/q) = √(pq)/q, and whole roots are exact.
    under = square.numerator * square.denominator * _GRAIN**2
    found = math.isqrt(under)
    return Fraction(found + (up and found * found != under), square.denominator * _GRAIN)


def count_law(price: Exact, unit: str = "epsilon", sensitivity: int = 1, n_numbers: int = 1) -> Law:
    """Return the law of the noise that a price buys for numbers that a row changes by at most the sensitivity each.

    Privacy
    -------
    Neighbours: add or remove one row. In ε, for one number: discrete Laplace noise of scale sensitivity/ε is ε-DP. In
    ρ, for ``n_numbers`` of them: the Euclidean length of the change is at most sensitivity √n, and discrete Gaussian
    noise with σ² >= sensitivity² n/(2ρ) on each is ρ-zCDP (Canonne, Kamath, Steinke 2020, theorem 4). σ is rounded up.

    Examples
    --------
    >>> count_law(Fraction(1, 2)).variance > 7, round(count_law(Fraction(1, 8), "rho").variance, 6)
    (True, 4.0)
    """
    if price == math.inf:
        return noise.DiscreteLaplace(0)
    if unit == "epsilon":
        return noise.DiscreteLaplace(sensitivity / Fraction(price))
    return noise.DiscreteGaussian(root(Fraction(sensitivity**2 * n_numbers) / (2 * Fraction(price)), up=True))


def draw(law: Law, size: Any, stream: noise.Generator) -> Any:
    """Draw noise."""
    if isinstance(law, noise.DiscreteGaussian):
        return noise.discrete_gaussian(law.sigma, size, stream)
    return noise.discrete_laplace(law.scale, size, stream)


def like_epsilon(price: Exact, unit: str) -> Exact:
    """Return the ε at which Laplace noise on a count is about as wide as what a price buys: for the rules of sizes.

    2/ε² = 1/(2ρ), so ε = 2√ρ.

    Examples
    --------
    >>> like_epsilon(Fraction(1, 4), "rho"), like_epsilon(Fraction(1, 4), "epsilon")
    (Fraction(1, 1), Fraction(1, 4))
    """
    return price if unit == "epsilon" or isinstance(price, float) else root(4 * price)


def pure_part(price: Exact, unit: str) -> Exact:
    """Return the ε of a pure step that a price buys: ε itself, or √(2ρ)."""
    return price if unit == "epsilon" or isinstance(price, float) else root(2 * price)


def pay(scope: Scope, label: str, price: Exact, unit: str, kind: Kind = "parallel", *, law: str = "") -> None:
    """Charge a step in the unit of its ledger, and name the law of its loss where a row moves one count by one.

    That is what ``law="laplace"`` says; the noise is Gaussian in a ledger in ρ. Sums that a row moves further lose more
    than such a count of the same ρ.
    """
    if unit == "rho":
        scope.spend(label, rho=price, kind=kind, law="gaussian" if law == "laplace" else "")
    else:
        scope.spend(label, price, kind, law=law)
