"""Gates with a small budget of their own, for tests of what is published through them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from discreet.core.budget.prices import Epsilon, Rho, Wanted
from discreet.mechanisms import Gate, Hold, law_for


def gate_of(price: Epsilon | Rho, seed: Any = 1) -> Gate:
    """Return a gate that holds exactly this price."""
    if isinstance(price, Rho):
        wanted = Wanted(price.pure(), price, Fraction(1, 10**6))
        return Gate.open(wanted, gaussian=True, random_state=seed)
    return Gate.open(Wanted(price), random_state=seed)


def hold_of(price: Epsilon | Rho, seed: Any = 1) -> Hold:
    """Return a charged line that costs exactly this price, its noise still to be drawn."""
    return gate_of(price, seed).hold("leaves", price)


def split_chance(count: int, threshold: float, price: Epsilon | Rho) -> float:
    """Return the probability that a node with ``count`` rows passes its test: Pr[count + Z > T]."""
    return float(law_for(price).one.sf(math.floor(threshold) + 1 - count))
