"""What counts by one and two columns of a perturbed table are good for, from the law of its noise alone."""

import math
from fractions import Fraction
from typing import Any

from discreet.core import BINS, SAFE, Categorical, Column, Fitness, Guarantee, Numeric

#: Metres per degree of latitude.
_DEGREE = 111_195.0


def fitness_of(guarantee: Guarantee) -> Fitness:
    """Return the share of rows that noise moves to another cell, which counts are off by.

    Some moves cancel, so the error is rarely larger. For noise on numbers without a known law it is not known.
    """
    columns = list(guarantee.domain or ())
    numbers = [c.name for c in columns if isinstance(c, Numeric)]

    def error(*axes: int) -> tuple[float, bool]:
        return SAFE * (1 - math.prod(_stays(columns[at], numbers, guarantee.parameters) for at in axes)), False

    return Fitness.measure([c.name for c in columns], error)


def _stays(column: Column, numbers: list[str], facts: Any) -> float:
    """Return the chance that a value stays in its bin."""
    if isinstance(column, Categorical):
        others = len(column.categories) - 1
        return 1 / (1 + others * math.exp(-min(float(Fraction(facts["category_epsilon"][column.name])), 700)))
    rate, scaling = facts.get("noise_rate"), facts.get("scaling", {})
    if rate == "inf":
        return 1.0
    if rate is None:
        return math.nan
    d = int(facts.get("dimension", 2))
    along = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)  # mean part along one axis
    moved = along * d / float(rate)
    if scaling.get("kind") == "sphere":
        moved /= _DEGREE
    elif "units" in scaling:
        moved *= scaling["units"][numbers.index(column.name)]
    wide = (column.high - column.low) / BINS
    return 1 - moved / wide * -math.expm1(-wide / moved)  # for a place anywhere in its bin, and exponential moves
