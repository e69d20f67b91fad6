"""Exact audits of mechanisms whose distribution is known: no runs, no confidence."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import FloatArray, Told, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.evaluation.audits.result import read_claim

_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class ExactAudit(Told):
    """The exact privacy loss between two distributions.

    Attributes
    ----------
    epsilon, delta, claimed
        The smallest ε at δ for which both directions hold, infinite if an outcome with more than δ of the mass is
        possible on one input only; that δ; and the claim.
    ratio, outcome
        e^epsilon, exact if the law was given in fractions and δ is 0, None if infinite; an outcome that has it.
    first, second : ndarray
        Probabilities of the outcomes under the two inputs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> flip = {0: Fraction(3, 4), 1: Fraction(1, 4)}
    >>> found = exact_audit(lambda bit: {b: flip[b ^ bit] for b in (0, 1)}, 0, 1, epsilon=1)
    >>> found.ratio, round(found.epsilon, 4), found.passed, found.delta_at(0.0)
    (Fraction(3, 1), 1.0986, False, 0.5)
    """

    epsilon: float
    delta: float
    claimed: float | None
    ratio: Fraction | float | None
    outcome: Any
    first: FloatArray = field(repr=False)
    second: FloatArray = field(repr=False)

    @property
    def passed(self) -> bool | None:
        """True if the claim holds for these two inputs; None without a claim."""
        return None if self.claimed is None else self.epsilon <= self.claimed * (1 + 1e-12)

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest δ at an ε: the hockey-stick divergence max Σ max(0, p - e^ε q) over both directions."""
        factor = math.exp(checks.finite("epsilon", epsilon))
        p, q = self.first, self.second
        return float(max(np.maximum(p - factor * q, 0.0).sum(), np.maximum(q - factor * p, 0.0).sum()))

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε at a δ.

        With outcomes sorted by falling p/q and P, Q the sums over the first k of them, it is the largest ln((P - δ)/Q)
        over k and both directions.
        """
        slack = float(checks.probability("delta", delta, closed=True))
        return max(_epsilon(self.first, self.second, slack), _epsilon(self.second, self.first, slack))

    def curve(self, epsilons: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return δ(ε) on a grid; by default from 0 to where it ends, or to 10."""
        if epsilons is None:
            worst = self.epsilon_at(0.0)
            epsilons = np.linspace(0.0, min(worst if math.isfinite(worst) else 10.0, 50.0) or 1.0, 101)
        grid = np.atleast_1d(np.asarray(epsilons, np.float64))
        return grid, np.array([self.delta_at(e) for e in grid])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        names = ("epsilon", "delta", "claimed", "passed")
        figures = {name: getattr(self, name) for name in names}
        return {**figures, "outcome": repr(self.outcome), "outcomes": len(self.first)}

    def __str__(self) -> str:
        text = f"ε = {self.epsilon:.6g} at δ = {self.delta:.3g}, exactly, worst at {self.outcome!r}"
        if self.claimed is not None:
            text += f"; claimed {self.claimed:.6g}: " + ("holds for these two inputs" if self.passed else "REFUTED")
        return text


def exact_audit(
    law: Callable[[Any], Any], data: Any, neighbour: Any, *, epsilon: float | None = None, delta: float = 0.0
) -> ExactAudit:
    """Return the exact ε between two inputs of a mechanism with a known discrete distribution.

    Parameters
    ----------
    law : callable
        ``law(data)`` returns the probabilities of all outcomes: a mapping from outcome to probability, or an array
        whose positions are the outcomes. Fractions stay exact.
    data, neighbour : object
        The two inputs.
    epsilon : float, optional
        The claim.
    delta : float, default 0
        The δ at which ε is stated.

    Examples
    --------
    >>> law = lambda n: [0.5, 0.5, 0.0] if n else [0.25, 0.5, 0.25]
    >>> found = exact_audit(law, 1, 0, delta=0.25)
    >>> round(found.epsilon, 4), found.epsilon_at(0.1), found.delta_at(0.0)
    (0.0, inf, 0.25)
    """
    if not callable(law):
        raise InvalidType("law", law, "a function from data to the chances of outcomes", "law=lambda data: {...}")
    claimed = read_claim(epsilon)
    slack = float(checks.probability("delta", delta, closed=True))
    here, there = _chances(law(data)), _chances(law(neighbour))
    outcomes = list(dict.fromkeys([*here, *there]))
    pairs = [(here.get(o, 0), there.get(o, 0)) for o in outcomes]
    worst, ratio = _worst(pairs)
    first, second = (np.array([float(pair[i]) for pair in pairs]) for i in (0, 1))
    found = max(_epsilon(first, second, slack), _epsilon(second, first, slack))
    if slack == 0:
        found = math.inf if ratio is None else math.log(ratio)
    exact = ratio if slack == 0 else (None if math.isinf(found) else math.exp(found))
    return ExactAudit(max(found, 0.0), slack, claimed, exact, outcomes[worst], first, second)


def _chances(law: Any) -> dict[Any, Any]:
    if isinstance(law, Mapping):
        found = dict(law)
    elif isinstance(law, (list, tuple, np.ndarray)):
        found = dict(enumerate(np.ravel(law).tolist() if isinstance(law, np.ndarray) else law))
    else:
        raise InvalidType("law", type(law).__name__, "a function that returns a mapping or an array of chances")
    values = list(found.values())
    if not values or any(isinstance(v, bool) or not isinstance(v, (int, float, Fraction, np.number)) for v in values):
        raise InvalidType("law", values[:3], "a function that returns numbers", "law=lambda data: {0: 0.5, 1: 0.5}")
    total = sum(values)
    if any(not v >= 0 for v in values) or abs(total - 1) > _CLOSE:
        raise InvalidArgument("law", float(total), "chances of at least 0 that add up to 1", "normalising them")
    return {k: v.item() if isinstance(v, np.number) else v for k, v in found.items()}


def _worst(pairs: list[tuple[Any, Any]]) -> tuple[int, Any]:
    place, worst = 0, Fraction(1)
    for i, (p, q) in enumerate(pairs):
        low, high = min(p, q), max(p, q)
        if high > 0 and low == 0:
            return i, None
        if high > 0:
            exact = isinstance(high, (int, Fraction)) and isinstance(low, (int, Fraction))
            ratio = Fraction(high) / Fraction(low) if exact else high / low
            if ratio > worst:
                place, worst = i, ratio
    return place, worst


def _epsilon(p: FloatArray, q: FloatArray, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0, p / q, 0.0), kind="stable")
        above, below = np.cumsum(p[order]), np.cumsum(q[order])
        excess = above - delta
        # Sums carry a rounding error of a few units: what is left of δ after it is no excess.
        ratios = np.where(excess > 1e-15, excess / below, 0.0)
    worst = float(ratios.max())
    return math.log(worst) if worst > 0 and math.isfinite(worst) else (math.inf if worst > 0 else 0.0)
