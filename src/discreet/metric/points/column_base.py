"""Budgets of mechanisms that protect any two rows, and values without noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Box, Exact, FloatArray, checks, option
from discreet.errors import InvalidArgument

#: Outside this range reports would lose their digits in doubles.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**4), 10**5

ROW_EPSILON: Any = option(
    default=1.0, takes="budget", example=1.0, help="Budget of the numbers of a row, between any two rows.",
    details="``math.inf`` adds no noise and gives no privacy.",
)  # fmt: skip


def local_epsilon(value: object) -> Exact:
    """Check the total budget of a row."""
    number = checks.budget("epsilon", value)
    if number != math.inf and not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        expected = f"from {float(SMALLEST_EPSILON):g} to {LARGEST_EPSILON:g} (or math.inf for a run without privacy)"
        raise InvalidArgument("epsilon", value, expected, "epsilon=1.0")
    return number


def clamped(rows: FloatArray, box: Box) -> FloatArray:
    """Move rows into the box and replace missing values by the middle: the report without noise."""
    middle = box.lower + box.widths / 2
    return np.asarray(np.clip(np.where(np.isnan(rows), middle, rows), box.lower, box.upper))
