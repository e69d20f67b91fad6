"""Errors of counts by one and two columns of a perturbed table, from the law of its noise alone."""

import math
from fractions import Fraction
from typing import Any

from discreet.core import BINS, Categorical, Column, Fitness, Guarantee, Numeric

#: Metres per degree of latitude.
_DEGREE = 111_195.0


def fitness_of(guarantee: Guarantee) -> Fitness:
    """Return the share of rows that noise moves to another cell; not known without a law of the noise on numbers."""
    columns = list(guarantee.domain or ())
    numbers = [c.name for c in columns if isinstance(c, Numeric)]
    stays = [_stays(column, numbers, guarantee.parameters) for column in columns]
    return Fitness.measure([c.name for c in columns], lambda *at: (1 - math.prod(stays[i] for i in at), False))


def _stays(column: Column, numbers: list[str], facts: Any) -> float:
    """Return the chance that a value stays in its bin."""
    if isinstance(column, Categorical):
        level = min(float(Fraction(facts["category_epsilon"][column.name])), 700)
        return 1 / (1 + (len(column.categories) - 1) * math.exp(-level))
    rate, scaling, d = facts.get("noise_rate"), facts.get("scaling", {}), int(facts.get("dimension", 2))
    if rate is None or rate == "inf":
        return math.nan if rate is None else 1.0
    # The mean part of a move along one axis, in units of the column.
    moved = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi) * d / float(rate)
    moved *= 1 / _DEGREE if scaling.get("kind") == "sphere" else scaling["units"][numbers.index(column.name)]
    wide = (column.high - column.low) / BINS
    return 1 - moved / wide * -math.expm1(-wide / moved)  # for a place anywhere in its bin, and exponential moves
