"""The laws of noise on lattices: scale, price and draw in one frozen object.

Two neighbours are on lattice places that are at most ``reach`` apart. Places at a distance D give every result with
probabilities within e^(D/scale) of each other (`discreet.noise.vector.isotropic`, `discreet.noise.vector.spherical`).
So a report costs exactly reach/scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import Exact, FloatArray, IntArray, checks, later
from discreet.errors import InvalidArgument
from discreet.noise.vector import IsotropicNoise, SphericalNoise, isotropic_laplace

special = later("scipy.special")

#: If fewer than this share of a corner's noise ends in the box, drawing would take for ever.
_LEAST_ACCEPTANCE = 1e-3


@dataclass(frozen=True)
class LatticeLaw:
    """The cost of noise of a scale, in lattice steps (on the sphere, in radians); 0 is no noise.

    ``epsilon`` is the stated cost of a report, ``reach`` the largest distance of the places of two neighbours.
    """

    epsilon: Exact
    scale: Fraction
    reach: Fraction

    #: How often a report pays for the distance.
    times = 1

    @property
    def price(self) -> Exact:
        """The cost of a report."""
        return self.times * self.reach / self.scale if self.scale else math.inf


@dataclass(frozen=True)
class IsotropicLatticeLaw(LatticeLaw):
    """Isotropic Laplace noise on points, drawn again until they are between ``corners``, if given.

    Drawing again uses the raw point a second time and costs twice.
    """

    resampled: bool = False

    @property
    def times(self) -> int:  # type: ignore[override]
        """Number of times that a report pays for the distance."""
        return 2 if self.resampled else 1

    def draw(self, places: IntArray, stream: Any, corners: Sequence[FloatArray] = ()) -> IntArray:
        """Add noise to lattice places, in place unless it is drawn again."""
        if not self.scale:
            return places
        if self.resampled:
            return _resample(places, self.scale, corners, stream)
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

    ``test`` and ``place`` are the laws of one of each. No step starts that could not be paid, so a transcript costs at
    most the budget.
    """

    budget: Fraction
    test: AxesLatticeLaw
    place: LatticeLaw

    one_of = ""

    @property
    def epsilon(self) -> Fraction:
        """The most that a whole trajectory may cost."""
        return self.budget

    @property
    def price(self) -> Exact:
        """Its cost: the budget, scaled by the true cost of a test or place over its charge."""
        return self.budget * max(Fraction(law.price) / Fraction(law.epsilon) for law in (self.test, self.place))

    @property
    def lines(self) -> tuple[tuple[str, Exact], ...]:
        return (("tests and fresh places of one user, together at most", self.budget),)


def _resample(places: IntArray, scale: Fraction, corners: Sequence[FloatArray], stream: noise.Generator) -> IntArray:
    """Draw noise for every place until all are between two corners; in rounds over those that are not.

    The law of the result is f(z|x)/A(x), where A(x) is the probability that a noisy x is in the box. A(x) changes by a
    factor of up to e^(rate D) over a distance D, so the rate is at most doubled. This is not post-processing: it uses
    the raw point again, and a point in a corner takes longer. `clip` costs nothing.
    """
    low, high = corners
    # Public draws with a fixed seed: the answer depends on the arguments alone.
    drawn = np.abs(isotropic_laplace(20_000, len(low), scale, rng=1))
    share = float((drawn <= high - low).all(axis=1).mean()) / 2 ** len(low)
    if share < _LEAST_ACCEPTANCE:
        expected = f"another one here: noise in a corner ends in the box with a chance of {share:.1g} only"
        raise InvalidArgument("remap", "resample", expected, 'remap="clip"')
    found = places.copy()
    waiting = np.arange(len(places))
    while len(waiting):
        tried = np.ascontiguousarray(places[waiting])
        IsotropicNoise.draw(tried.shape[1], scale, stream).add(tried)
        inside = ((tried >= low) & (tried <= high)).all(axis=1)
        found[waiting[inside]] = tried[inside]
        waiting = waiting[~inside]
    return found


@dataclass(frozen=True)
class IsotropicLaw:
    """Noise with density proportional to e^(-rate ‖y‖) in n dimensions.

    Its length has the Gamma(n) law with mean n/rate, its direction is uniform. Distances are in the declared metric
    (see `discreet.metric.Scaling`). ``rate`` is ε per unit of distance.

    Examples
    --------
    >>> law = IsotropicLaw(dimension=7, rate=2.0)
    >>> law.expected_error, round(law.coordinate_std, 3)
    (3.5, 1.414)
    >>> round(law.accuracy_radius(0.05), 2), law.indistinguishable(1.0)
    (5.92, 0.5)
    """

    dimension: int
    rate: float

    @property
    def expected_error(self) -> float:
        """Mean length of the noise, n/rate."""
        return self.dimension / self.rate

    @property
    def coordinate_std(self) -> float:
        """Standard deviation along each axis, √(n + 1)/rate."""
        return math.sqrt(self.dimension + 1) / self.rate

    def log_density(self, offsets: Any) -> FloatArray:
        """Return ln of the density at each offset (rows by n): ln(rate^n Γ(n/2)/(2 π^(n/2) Γ(n))) - rate ‖y‖."""
        n = self.dimension
        front = n * math.log(self.rate) + special.gammaln(n / 2) - math.log(2) - n / 2 * math.log(math.pi)
        front -= special.gammaln(n)
        return np.asarray(front - self.rate * np.linalg.norm(np.asarray(offsets, np.float64), axis=-1))

    def accuracy_radius(self, delta: float) -> float:
        """Return α such that the noise is longer than α with probability δ: the (α, δ)-accuracy."""
        return float(special.gammaincinv(self.dimension, 1 - float(checks.probability("delta", delta)))) / self.rate

    def indistinguishable(self, level: float) -> float:
        """Return the radius within which two points differ by at most a factor e^level: level/rate."""
        return float(checks.positive("level", level)) / self.rate

    def best_guess_bound(self, distance: float) -> float:
        """Return the largest excess of hits over false alarms for two points at a distance: tanh(εD/2)."""
        return math.tanh(self.rate * float(distance) / 2)
