"""The declared metric: the distance of two rows.

Distances between rows of different units depend on a declaration: how many years weigh as much as a thousand euros? It
is part of the promise and never taken from the data: distance(x, x') = ‖S(x - x')‖, Euclidean, where S divides every
column by its declared width, by given units, or is a matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import Box, FloatArray, option
from discreet.errors import InvalidArgument, InvalidType

SCALING: Any = option(
    default="box", help='The metric: "box", "none", a list of units, or a matrix.',
    details='"box" divides every column by its declared width. See `discreet.metric.Scaling`.',
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scaling:
    """A map from rows to the space in which distances are measured.

    Make one with `declared_scaling`.

    Attributes
    ----------
    kind, matrix, box
        "box", "none", "units" or "matrix"; S, so that rows x go to S(x - low); the bounds of the numeric columns.

    Examples
    --------
    >>> scaling = declared_scaling([10, 0.5], Box([0, 0], [100, 1]))
    >>> scaling.forward(np.array([[20.0, 1.0]])).tolist(), round(scaling.diameter, 2)
    ([[2.0, 2.0]], 10.2)
    >>> scaling.back(np.array([[2.0, 2.0]])).tolist()
    [[20.0, 1.0]]
    """

    kind: str
    matrix: FloatArray
    box: Box

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.box.lower)

    @property
    def units(self) -> FloatArray | None:
        """The difference that counts as distance 1 in each column; None for a matrix that mixes columns."""
        return None if self.kind == "matrix" else 1 / np.diag(self.matrix)

    @property
    def diameter(self) -> float:
        """The largest distance between two points of the box; for a matrix an upper bound."""
        return float(np.linalg.norm(np.abs(self.matrix) @ self.box.widths))

    @property
    def corners(self) -> tuple[FloatArray, FloatArray]:
        """Opposite corners of the smallest box of the scaled space that contains the domain."""
        parts = self.matrix * self.box.widths
        return np.minimum(parts, 0).sum(axis=1), np.maximum(parts, 0).sum(axis=1)

    def forward(self, rows: FloatArray) -> FloatArray:
        """Clamp rows to the box, replace missing values by the middle, and scale."""
        low, high = self.box.lower, self.box.upper
        return self.apply(np.clip(np.where(np.isnan(rows), (low + high) / 2, rows), low, high))

    def apply(self, rows: FloatArray) -> FloatArray:
        """Scale rows without clamping."""
        moved = rows - self.box.lower
        return np.asarray(moved @ self.matrix.T if self.kind == "matrix" else moved * np.diag(self.matrix))

    def back(self, points: FloatArray) -> FloatArray:
        """Return from the scaled space to the columns' own units."""
        moved = np.linalg.solve(self.matrix, points.T).T if self.kind == "matrix" else points / np.diag(self.matrix)
        return np.asarray(moved + self.box.lower)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        if self.units is None:
            return {"kind": self.kind, "matrix": self.matrix.tolist()}
        return {"kind": self.kind, "units": self.units.tolist()}


def declared_scaling(scaling: Any, box: Box) -> Scaling:
    """Read a ``scaling`` argument.

    "box": each column is divided by its declared width, so that the box becomes the unit cube. "none": the columns' own
    units. A list: for each column, what counts as distance 1. A matrix S: ‖S(x - x')‖.
    """
    d = len(box.lower)
    if isinstance(scaling, str):
        if scaling not in ("box", "none"):
            raise InvalidArgument("scaling", scaling, "'box', 'none', a list of units or a matrix", 'scaling="box"')
        with np.errstate(over="ignore"):
            return _of_a_size(Scaling(scaling, np.diag(1 / box.widths if scaling == "box" else np.ones(d)), box))
    try:
        given = np.array(scaling, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType("scaling", scaling, "'box', 'none', a list of units or a matrix", 'scaling="box"') from None
    if given.ndim <= 1:
        given = np.atleast_1d(given)
        if len(given) == 1 and d > 1:
            given = np.repeat(given, d)
        if len(given) != d or not np.isfinite(given).all() or (given <= 0).any():
            expected = f"{d} positive finite units, one per numeric column"
            raise InvalidArgument("scaling", scaling, expected, f"scaling={[1.0] * min(d, 4)}")
        with np.errstate(over="ignore"):
            return _of_a_size(Scaling("units", np.diag(1 / given), box))
    if given.shape != (d, d) or not np.isfinite(given).all():
        raise InvalidArgument("scaling", f"a matrix of shape {given.shape}", f"a finite {d} by {d} matrix", "np.eye(d)")
    if np.linalg.cond(given) > 1e12:
        raise InvalidArgument(
            "scaling", "a singular matrix", "a matrix with an inverse: otherwise some rows would be at distance 0",
            "np.eye(d)",
        )  # fmt: skip
    return _of_a_size(Scaling("matrix", given, box))


def _of_a_size(scaling: Scaling) -> Scaling:
    """Refuse a box whose squared diameter does not fit into doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        diameter = scaling.diameter if np.isfinite(scaling.matrix).all() else np.inf
    if not 1e-140 < diameter < 1e140:
        raise InvalidArgument(
            "scaling", scaling.kind, f"such that the box has a sensible size: its diameter is {diameter:.3g}",
            "scaling=box.widths / 10",
        )  # fmt: skip
    return scaling
