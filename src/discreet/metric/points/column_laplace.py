"""Laplace noise column by column, on a public lattice: the metric is the sum of the columns' distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import DOMAIN, RANDOM_STATE, Box, Exact, FloatArray, as_it_is, checks, option
from discreet.errors import InvalidArgument
from discreet.metric.geometry.lattice import (
    OTHER_DISTANCES,
    how_read,
    lattice_assumption,
    reading_of,
    rounding_of,
    to_places,
    to_rows,
)
from discreet.metric.geometry.laws import AxesLatticeLaw
from discreet.metric.geometry.scaling import SCALING, Scaling, declared_scaling
from discreet.metric.perturber import CATEGORY_EPSILON, Perturber, Spending, checked_domain, numeric_mechanism
from discreet.metric.points.column_base import ROW_EPSILON, local_epsilon
from discreet.noise.integer import LARGEST_SCALE

#: Lattice steps in the noise's scale: rounding then adds less than a millionth to its variance.
_FINENESS = 2**10
#: Rounding to the default lattice moves two rows apart by at most this part of the radius: noise grows by as little.
_SLACK = 2**14
_MOST_STEPS = 2**50
#: A noise's scale beyond this would not fit into doubles.
_LARGEST = Fraction(2) ** 400


class ColumnLaplace(Perturber):
    """Add discrete Laplace noise to every number, independently.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`. Its model is "metric" with a radius and "local" without.

    Privacy
    -------
    Neighbours: two values of one row. A row is clamped to the box and rounded to a public lattice. Exact discrete
    Laplace noise of one scale b, in steps, keeps two lattice points that are D steps apart, summed over the columns,
    within e^(D/b). Without a radius D is at most the sum L of the columns' widths in steps and b = L/ε: any two rows
    are within e^ε. With one, b = (radius + c)/(ε step), where c, a little more than d steps, a day per date column and
    a second per column of times, is how far apart reading and rounding can move two rows
    (`discreet.metric.geometry.lattice`): rows at distance r are within e^(ε (r + c)/(radius + c)), which is ε at
    distance radius and at most proportional beyond it. Cost: ε per row, and the categories' own.

    Examples
    --------
    >>> import discreet as dc
    >>> mechanism = dc.metric.ColumnLaplace(epsilon=8, domain={"x": (0, 1), "y": (0, 10)}, random_state=1)
    >>> mechanism.transform(np.array([[0.2, 3.0], [0.8, 9.0]])).round(2).tolist()
    [[0.47, 3.56], [0.91, 9.94]]
    >>> mechanism.rate, mechanism.guarantee_.epsilon, mechanism.guarantee_.model
    (4.0, 8.0, 'local')
    """

    epsilon: float = replace(
        ROW_EPSILON, help="With ``radius``: level at that distance. Without: level between any two rows of the box."
    )
    domain: Any = DOMAIN
    radius: Any = option(
        default=None, takes="number", above=0, example=0.1,
        help="A distance: the *sum* over columns of the differences in the declared units.",
        details="None means the whole box.",
    )  # fmt: skip
    _: KW_ONLY
    scaling: Any = SCALING
    category_epsilon: Any = CATEGORY_EPSILON
    step: Any = option(
        default=None, takes="number", above=0, example=0.001, help="Distance of neighbouring lattice points.",
        details=(
            "By default a power of 2 near 1/1024 of the noise's scale or of the narrowest column, and at most 1/16,384 "
            "of the radius. A coarse step needs more noise."
        ),
    )  # fmt: skip
    random_state: Any = RANDOM_STATE

    @property
    def MODEL(self) -> str:  # type: ignore[override]  # noqa: N802
        """With a radius the promise depends on distance; without, it holds for any two rows."""
        return "local" if self.radius is None else "metric"

    @property
    def rate(self) -> float:
        """Promised ε per unit of distance; the domain must be declared with its columns."""
        return float(numeric_mechanism(self, checked_domain(self)).rate)

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ColumnNoise:
        scaling = declared_scaling(self.scaling, box)
        if scaling.kind == "matrix":
            raise InvalidArgument("scaling", "a matrix", "'box', 'none' or a list of units", 'scaling="box"')
        widths = np.diag(scaling.matrix) * box.widths
        span = float(widths.sum())
        reading = reading_of(scaling, dates, summed=True)
        if self.radius is None:
            level, radius = local_epsilon(self.epsilon), None
            expected_scale = Fraction(span) / level if level != math.inf else Fraction(0)
        else:
            level, radius = checks.budget("epsilon", self.epsilon), checks.positive("radius", self.radius)
            expected_scale = (radius + Fraction(reading)) / level if level != math.inf else Fraction(0)
            if expected_scale > _LARGEST:
                raise InvalidArgument("epsilon", self.epsilon, "of a size that compares with radius", "epsilon=1.0")
        hidden = None if radius is None else radius + Fraction(reading)
        step = self._step(float(widths.min()), span, float(expected_scale), hidden, len(widths))
        tops = to_places(box.upper[None], scaling, float(step))
        if (tops == 0).any():
            raise InvalidArgument("step", self.step, "smaller than every column's width", "step=0.001")
        rounding = rounding_of(step, len(widths), span, reading, summed=True)
        reach = Fraction(int(tops.sum())) if radius is None else (radius + rounding) / step
        law = AxesLatticeLaw(level, Fraction(0) if level == math.inf else reach / Fraction(level), reach)
        return ColumnNoise(law, radius, scaling, step, span, rounding, how_read(reading, step, dates))

    def _step(self, narrowest: float, span: float, scale: float, radius: Fraction | None, columns: int) -> Fraction:
        if self.step is not None:
            step = checks.positive("step", self.step, fix="step=0.001")
        elif scale == 0:
            step = Fraction(2) ** (math.floor(math.log2(narrowest)) - 40)
        else:
            fine = min(scale, narrowest) / _FINENESS
            if radius is not None:
                fine = min(fine, float(radius) / (_SLACK * columns))
            step = Fraction(2) ** math.floor(math.log2(fine))
        if span / float(step) > _MOST_STEPS or scale / float(step) > LARGEST_SCALE:
            name = "step" if self.step is not None else "scaling" if self.radius is None else "radius"
            expected = f"of a size that compares with the box and the noise ({span:g} and {scale:g} in the metric)"
            raise InvalidArgument(name, getattr(self, name), expected, 'scaling="box"')
        return step


@dataclass(frozen=True)
class ColumnNoise:
    """The mechanism with checked arguments. ``rounding`` is how far apart the lattice can move two rows."""

    noise_law: AxesLatticeLaw
    radius: Fraction | None
    scaling: Scaling
    step: Fraction
    span: float
    rounding: Fraction
    read: str = ""

    @property
    def level(self) -> Exact:
        """The promised level."""
        return self.noise_law.epsilon

    @property
    def scale(self) -> Fraction:
        """The noise's scale, in steps."""
        return self.noise_law.scale

    @property
    def rate(self) -> float:
        """Promised ε per unit of distance."""
        if not self.scale:
            return math.inf
        return self.noise_rate if self.radius is None else float(Fraction(self.level) / self.radius)

    @property
    def noise_rate(self) -> float:
        """ε per unit of distance between lattice places."""
        return float(1 / (self.scale * self.step)) if self.scale else math.inf

    @property
    def spending(self) -> Spending:
        """The cost between any two rows, or at distance ``radius``."""
        parameters: dict[str, Any] = {
            "dimension": self.scaling.dimension,
            "rate": self.rate if self.scale else "inf",
            "scaling": self.scaling.to_dict(),
            "step": float(self.step),
            "diameter": self.span,
            "epsilon_at_diameter": float(self.level) if self.scale else "inf",
        }
        if self.radius is None:
            neighbours = "any two values of every number"
            return Spending("all numbers, between any two rows", self.noise_law, neighbours, parameters)
        radius, rounding = float(self.radius), float(self.rounding)
        parameters |= {"radius": radius, "noise_rate": self.noise_rate if self.scale else "inf", "rounding": rounding}
        if self.scale:
            parameters["epsilon_at_diameter"] = self.noise_rate * (self.span + rounding)
        distance = f"distance {as_it_is(radius)}"
        return Spending(
            label=f"all numbers, at {distance}",
            law=self.noise_law,
            neighbours=f"rows at {distance}, summed over the columns in the declared units ({OTHER_DISTANCES})",
            parameters=parameters,
            assumptions=(lattice_assumption(f"{float(self.step):.3g}", rounding, radius, self.level, read=self.read),),
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Add noise to rows in the columns' own units."""
        places = to_places(rows, self.scaling, float(self.step))
        return to_rows(self.noise_law.draw(places, stream), self.scaling, float(self.step))
