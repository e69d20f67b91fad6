"""Noise for counts and choices, in either currency: discrete Laplace for a pure ε, discrete Gaussian for zCDP.

Everything that a marginal synopsis learns from rows passes through here: it is charged, then drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core.arrays import FloatArray, IntArray
from discreet.core.checks import Exact
from discreet.core.ledger import Kind, Ledger, Scope
from discreet.synopses.prices import count_law, draw, pay, root

#: Shares are multiples of this part of a budget: prices stay short rationals.
_STEPS = 2**32


@dataclass(frozen=True)
class Purse:
    """A budget, and the stream its noise comes from.

    Parameters
    ----------
    ledger : Ledger
        In ε or in ρ; says which noise is drawn.
    stream : Generator
        Where it comes from.

    Examples
    --------
    >>> purse = Purse(Ledger(epsilon=1), noise.generator(3))
    >>> counts, variance = purse.counts(purse.ledger, "age", np.array([10, 0, 7]), Fraction(1, 2))
    >>> counts.tolist(), round(variance, 2), purse.ledger.remaining
    ([10, -2, 3], 7.84, 0.5)
    """

    ledger: Ledger
    stream: noise.Generator

    @property
    def pure(self) -> bool:
        """Whether the currency is ε."""
        return self.ledger.unit == "epsilon"

    def divide(self, whole: Exact, weights: Sequence[float] | FloatArray) -> list[Exact]:
        """Return shares of an amount in proportion to weights; together they are all of it."""
        if isinstance(whole, float):
            return [whole for _ in weights]
        total = float(np.sum(weights))
        parts = [max(1, int(w / total * _STEPS)) for w in weights]
        parts[int(np.argmax(weights))] += _STEPS - sum(parts)
        return [whole * Fraction(part, _STEPS) for part in parts]

    def spread(self, price: Exact) -> float:
        """Return the standard deviation of the noise of a count at a price, about."""
        if price == math.inf:
            return 0.0
        return math.sqrt(2) / float(price) if self.pure else math.sqrt(0.5 / float(price))

    def mean_size(self, price: Exact) -> float:
        """Return the mean absolute value of that noise, about."""
        return self.spread(price) * (math.sqrt(0.5) if self.pure else math.sqrt(2 / math.pi))

    def counts(self, scope: Scope, label: str, counts: IntArray, price: Exact) -> tuple[IntArray, float]:
        """Charge for the counts of disjoint cells, add noise, and return them with the variance of each.

        Privacy
        -------
        Neighbours: add or remove one row. It changes one of the counts by 1, so they have L1 and L2 sensitivity 1.
        Discrete Laplace noise of scale 1/ε costs ε; discrete Gaussian noise costs 1/(2σ²), σ rounded up.
        """
        return self._noisy(scope, label, counts, price, 1, "parallel", "laplace")

    def scores(self, scope: Scope, label: str, scores: IntArray, price: Exact) -> tuple[IntArray, float]:
        """Charge for many scores at once, each of sensitivity 1, and return noisy ones with their variance.

        Privacy
        -------
        Neighbours: add or remove one row. It moves each of P whole numbers by at most 1, so together they have L2
        sensitivity √P and L1 sensitivity P. Gaussian noise of variance σ² costs P/(2σ²), Laplace noise of scale s costs
        P/s.
        """
        return self._noisy(scope, label, scores, price, len(scores), "sequential", "")

    def _noisy(
        self, scope: Scope, label: str, values: IntArray, price: Exact, moved: int, kind: Kind, name: str
    ) -> tuple[IntArray, float]:
        """Add noise to whole numbers of which a row moves so many, by at most 1 each."""
        unit = self.ledger.unit
        pay(scope, label, price, unit, kind, law=name)
        law = count_law(price, unit, moved) if self.pure else count_law(price, unit, 1, moved)
        return values + draw(law, len(values), self.stream), law.variance

    def choose(self, scope: Scope, label: str, scores: IntArray, price: Exact, most: int = 1) -> int:
        """Charge for one choice of a high score, each of sensitivity ``most`` or less.

        Privacy
        -------
        Neighbours: add or remove one row, which moves every score by at most ``most`` up or down, so all changes lie in
        an interval twice as wide. The exponential mechanism with ε costs ε, and ε²/8 in zCDP: its privacy loss ranges
        over an interval of width ε, and the moments of such a loss are at most those of a Gaussian one (Hoeffding).
        """
        if isinstance(price, float) or self.pure:
            epsilon = scope.spend(label, price)
        else:
            epsilon = root(8 * Fraction(price))
            scope.spend(label, rho=price)
        return noise.exponential(scores, epsilon=epsilon, span=2 * most, rng=self.stream)  # type: ignore[arg-type]

    def better_one_by_one(self, scores: int, choices: int, price: Exact) -> bool:
        """Tell whether choices one after the other blur a ranking less than noisy scores of all, at the same price."""
        if isinstance(price, float):
            return False
        gumbel = 2 * 1.28
        if self.pure:
            return gumbel * choices < math.sqrt(2) * scores
        return gumbel * math.sqrt(choices / 8) < math.sqrt(scores / 2) / 4  # scores tell more than a ranking
