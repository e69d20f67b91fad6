"""Directions, and points through them: PrivUnit (Bhowmick and others 2018; its best cap: Asi, Feldman, Talwar 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import DOMAIN, RANDOM_STATE, Box, Exact, FloatArray, IntArray, option
from discreet.errors import InvalidArgument
from discreet.metric.perturber import (
    ANY_NUMBERS,
    CATEGORY_EPSILON,
    Perturber,
    Spending,
    checked_domain,
    numeric_mechanism,
)
from discreet.metric.points.piecewise import ROW_EPSILON, SMALLEST_EPSILON, clamped, local_epsilon
from discreet.noise.reports import NoNoise
from discreet.noise.vector import CapLaw, cap_law, unit

#: A direction is put on the whole numbers up to this, so it is known to nine digits.
_FINENESS = 1 << 30


class PrivUnit(Perturber):
    """Report a direction that is more likely in a cap around the true one, without bias.

    Of all unbiased mechanisms that promise ε between any two unit vectors, PrivUnit with the best cap has the least
    squared error (Asi, Feldman, Talwar 2022).

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`; its model is "local". Its parameters name the cap and the coin.

    Privacy
    -------
    Neighbours: any two values of one row. The direction is rounded to a vector of integers, a function of the row
    alone. An exact coin decides whether the report is in the cap around it, and the report is drawn from one public law
    of integer vectors, given that it is, or is not. The coin is set for the smallest share that any cap can have under
    that law, so the ratio is at most e^ε for any two directions; every comparison is exact
    (`discreet.noise.vector.caps`). The duration of a draw depends on the coin and must not be observed. Cost: ε per
    row, and the categories' own.

    Examples
    --------
    >>> import discreet as dc
    >>> mechanism = dc.metric.PrivUnit(epsilon=8, domain={"x": (0, 1), "y": (0, 10)}, random_state=1)
    >>> mechanism.transform(np.array([[0.2, 3.0], [0.8, 9.0]])).round(2).tolist()
    [[0.27, 1.97], [0.97, 8.14]]
    >>> mechanism.guarantee_.epsilon, mechanism.guarantee_.model
    (8.0, 'local')
    >>> round(mechanism.law.error, 3)
    0.076
    """

    MODEL = "local"

    epsilon: float = ROW_EPSILON
    domain: Any = DOMAIN
    inputs: str = option(
        default="points", choices=("points", "directions"), help="Rows are points of the box, or unit vectors.",
        details=(
            '"points": a point, scaled to t in [-1, 1]^d, is lifted to the unit vector (t, √(d - ‖t‖²))/√d in d + 1 '
            "dimensions; the report's first d coordinates, scaled back, are unbiased. \"directions\": rows are scaled "
            "to length 1 in the columns' own units; a row of zeros becomes a random axis. Reports have the length 1/m."
        ),
    )  # fmt: skip
    _: KW_ONLY
    category_epsilon: Any = CATEGORY_EPSILON
    random_state: Any = RANDOM_STATE

    @property
    def law(self) -> CapLaw:
        """The law of a direction's report; the domain must be declared with its columns."""
        reports: DirectionReports = numeric_mechanism(self, checked_domain(self))
        return reports.law

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> DirectionReports:
        epsilon = local_epsilon(self.epsilon)
        inputs = self.read_option("inputs")
        if epsilon < 10 * SMALLEST_EPSILON:
            least = f"at least {float(10 * SMALLEST_EPSILON):g}: below, the cap's share would have to be known better"
            raise InvalidArgument("epsilon", self.epsilon, least, "epsilon=1.0")
        if inputs == "directions" and len(box.lower) < 2:
            raise InvalidArgument("inputs", inputs, "'points': one number has no direction", 'inputs="points"')
        return DirectionReports(epsilon, box, inputs == "points")


@dataclass(frozen=True)
class DirectionReports:
    """The mechanism with checked arguments."""

    epsilon: Exact
    box: Box
    lifted: bool

    @property
    def law(self) -> CapLaw:
        """The law of a direction's report."""
        if self.epsilon == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite: without noise there is no law", "epsilon=1.0")
        return cap_law(Fraction(self.epsilon), len(self.box.lower) + int(self.lifted))

    @property
    def spending(self) -> Spending:
        """The cost of a row."""
        inputs = "points" if self.lifted else "directions"
        parameters: dict[str, Any] = {"dimension": len(self.box.lower), "inputs": inputs}
        if self.epsilon != math.inf:
            law = self.law
            parameters |= {"cap_cosine": float(law.gamma), "cap_share": law.share, "cap_chance": law.chance}
        return Spending(
            label="one direction",
            law=NoNoise() if self.epsilon == math.inf else self.law,
            neighbours=ANY_NUMBERS,
            parameters=parameters,
            assumptions=("how long the drawing took is not seen: it depends on the report's coin",),
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Report on rows in the columns' own units."""
        inside = clamped(rows, self.box)
        if self.lifted:
            if self.epsilon == math.inf:
                return inside
            half, d = self.box.widths / 2, rows.shape[1]
            middle = self.box.lower + half
            law, directions = self.law, self._lift((inside - middle) / half)
            return np.asarray(middle + unit(law.draw(directions, stream))[:, :d] * (half * (math.sqrt(d) / law.shrink)))
        directions = self._snap(inside, stream)
        if self.epsilon == math.inf:
            return unit(directions)
        return unit(self.law.draw(directions, stream)) / self.law.shrink

    def _lift(self, t: FloatArray) -> IntArray:
        n, d = t.shape
        up = np.empty((n, d + 1))
        up[:, :d] = t / math.sqrt(d)
        up[:, d] = np.sqrt(np.maximum(1 - np.einsum("ij,ij->i", up[:, :d], up[:, :d]), 0))
        return np.asarray(np.rint(up * _FINENESS), np.int64)

    def _snap(self, rows: FloatArray, stream: noise.Generator) -> IntArray:
        """Scale rows so that their largest coordinate is the lattice bound; a row of zeros gets a random axis."""
        n, d = rows.shape
        axes = noise.below(2 * d, size=n, rng=stream)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        some = largest > 0
        scaled = np.zeros((n, d))
        scaled[some] = rows[some] / largest[some, None]
        scaled[~some, axes[~some] // 2] = 1 - 2 * (axes[~some] % 2)
        return np.asarray(np.rint(scaled * _FINENESS), np.int64)
