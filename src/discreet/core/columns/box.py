"""Boxes: an interval on every axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.arrays import FloatArray
from discreet.errors import InvalidArgument, InvalidType


@dataclass(frozen=True, eq=False)
class Box:
    """An axis-parallel box between two corners, half open: ``lower <= x < upper`` on every axis.

    Examples
    --------
    >>> box = Box([0, 0], [2, 1])
    >>> box.center.tolist(), box.volume
    ([1.0, 0.5], 2.0)
    """

    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        lower, upper = vector("lower", self.lower), vector("upper", self.upper)
        if lower.shape != upper.shape or np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
            given, expected = (lower.tolist(), upper.tolist()), "two corners of one length with lower <= upper"
            raise InvalidArgument("box", given, expected, "Box([0], [1])")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Box)
            and np.array_equal(self.lower, other.lower)
            and np.array_equal(self.upper, other.upper)
        )

    def __hash__(self) -> int:
        return hash((self.lower.tobytes(), self.upper.tobytes()))

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()})"

    @property
    def widths(self) -> FloatArray:
        """Length of the box on every axis."""
        return self.upper - self.lower

    @property
    def center(self) -> FloatArray:
        """Middle of the box."""
        return self.lower + self.widths / 2

    @property
    def volume(self) -> float:
        """Product of the widths."""
        return float(np.prod(self.widths))


def vector(name: str, value: Any) -> FloatArray:
    """Read a number or a list of them."""
    fix = f"{name}={1 if name in ('high', 'upper') else 0}"
    try:
        vector = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidType(name, value, "a number or a list of numbers", fix) from None
    if vector.ndim != 1 or not vector.size:
        raise InvalidArgument(name, value, "a number or a non-empty list of numbers", fix)
    return vector
