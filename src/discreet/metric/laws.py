"""The laws of noise on lattices: one frozen object for the scale, the price and the draw.

Two neighbours are put on lattice places that are at most ``reach`` apart. Noise of a scale is added; places at a
distance D give every result with chances within e^(D/scale) of each other (`discreet.noise.vector.isotropic`,
`discreet.noise.vector.spherical`). So a report costs reach/scale, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import noise
from discreet.core import Exact, FloatArray, IntArray
from discreet.metric.points.resampling import resample
from discreet.noise.vector import IsotropicNoise, SphericalNoise


@dataclass(frozen=True)
class LatticeLaw:
    """What noise of a scale costs.

    Parameters
    ----------
    epsilon : Fraction or math.inf
        What a report is said to cost.
    scale : Fraction
        Of the noise, in lattice steps (on the sphere, in radians); 0 is no noise.
    reach : Fraction
        How far apart the places of two neighbours can be, in the same unit.
    """

    epsilon: Exact
    scale: Fraction
    reach: Fraction

    #: How often a report pays for the distance.
    times = 1

    @property
    def price(self) -> Exact:
        """What a report costs, in either direction."""
        return self.times * self.reach / self.scale if self.scale else math.inf


@dataclass(frozen=True)
class IsotropicLatticeLaw(LatticeLaw):
    """Isotropic Laplace noise on points, drawn again until they lie between ``corners``, if there are any.

    Drawing again looks at the raw point a second time: it pays twice (`discreet.metric.points.resampling`).

    Examples
    --------
    >>> import numpy as np
    >>> law = IsotropicLatticeLaw(Fraction(2), Fraction(500), Fraction(1000))
    >>> law.price, law.draw(np.zeros((2, 2), np.int64), stream=3).tolist()
    (Fraction(2, 1), [[1382, 1075], [1889, 895]])
    """

    resampled: bool = False

    @property
    def times(self) -> int:  # type: ignore[override]
        """How often a report pays for the distance."""
        return 2 if self.resampled else 1

    def draw(self, places: IntArray, stream: Any, corners: Sequence[FloatArray] = ()) -> IntArray:
        """Add noise to lattice places, in place unless it is drawn again."""
        if not self.scale:
            return places
        if self.resampled:
            return resample(places, self.scale, corners, stream)
        IsotropicNoise.draw(places.shape[1], self.scale, stream).add(places)
        return places


@dataclass(frozen=True)
class AxesLatticeLaw(LatticeLaw):
    """Discrete Laplace noise on every coordinate; distances are summed over the coordinates."""

    def draw(self, places: IntArray, stream: Any) -> IntArray:
        """Add noise to lattice places, in place."""
        if self.scale:
            places += noise.discrete_laplace(self.scale, size=places.shape, rng=stream)
        return places


@dataclass(frozen=True)
class SphereLatticeLaw(LatticeLaw):
    """Laplace noise on the sphere, with ``quarter`` lattice steps in 90 degrees."""

    quarter: int = 90

    def draw(self, places: IntArray, stream: Any) -> IntArray:
        """Move lattice places, in place."""
        if self.scale:
            SphericalNoise.draw(self.scale, self.quarter, stream).move(places)
        return places


@dataclass(frozen=True)
class TrajectoryLaw:
    """Tests and fresh places of one user, within a budget.

    ``test`` and ``place`` are what one of each costs. No step begins that could not be paid, so a transcript costs at
    most the budget, as long as each costs what is charged for it.
    """

    budget: Fraction
    test: AxesLatticeLaw
    place: LatticeLaw

    one_of = ""

    @property
    def epsilon(self) -> Fraction:
        """What a whole trajectory may cost."""
        return self.budget

    @property
    def price(self) -> Exact:
        """What it costs: the budget, times what a test or a place costs above its charge."""
        return self.budget * max(Fraction(law.price) / Fraction(law.epsilon) for law in (self.test, self.place))

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        """One line for all."""
        return (("tests and fresh places of one user, together at most", self.budget),)
