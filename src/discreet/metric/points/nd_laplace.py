"""n-dimensional Laplace noise: points within a distance look alike (Andrés and others 2013; metric privacy, 2013).

Published code for three and more dimensions draws directions that are not uniform, and truncates with the raw points.
Here the direction is uniform in any dimension, noise and points are on a public lattice, and `remap` uses the noisy
point only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import Box, Exact, FloatArray, checks, option
from discreet.errors import InvalidArgument
from discreet.metric.at_distance import AtDistance, LatticeNoise
from discreet.metric.geometry.lattice import how_read, reading_of, rounding_of, to_places, to_rows
from discreet.metric.geometry.laws import IsotropicLatticeLaw, IsotropicLaw
from discreet.metric.geometry.scaling import SCALING, Scaling, declared_scaling
from discreet.metric.perturber import Spending, checked_domain, numeric_mechanism, numeric_names
from discreet.metric.remap import maps as remaps
from discreet.metric.rows import read_rows

#: Lattice steps in one standard deviation of a coordinate: rounding then adds nothing that could be seen.
_FINENESS = 2**14
#: Rounding to the default lattice moves two points apart by at most this part of the radius: noise grows by as little.
_SLACK = 2**14
#: Most steps from end to end; with more, doubles cannot separate neighbouring lattice points.
_MOST_STEPS = 2**50
#: Noise of a larger scale in steps would be settled digit by digit in most rows, and end beyond the whole numbers.
_LARGEST_SCALE = 2**40
#: Rates beyond this, or below its inverse, would not fit into doubles.
_LARGEST_RATE = Fraction(2) ** 400
#: Larger steps, times the width of a column, may not fit into doubles.
_LARGEST_STEP = 1e100


class NDLaplace(AtDistance):
    """Perturb points so that any two within ``radius`` of each other are indistinguishable at level ``epsilon``.

    Numeric columns are perturbed together, as a point.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`. Its ε is the level at distance ``radius``. Its parameters contain the rates, the
        effect of rounding and, for comparison with local privacy, the level between the two farthest points of the box.

    Privacy
    -------
    Neighbours: two values of one row, at distance D. A point is clamped to the box and rounded to a public lattice, a
    function of that point alone. Isotropic Laplace noise, rounded to the lattice, is added: two lattice points at
    distance p give every result with probabilities within e^(p · noise rate) of each other
    (`discreet.noise.vector.isotropic`). Reading and rounding move two points apart by at most c, a little more than
    step·√n, a day per date column and a second per column of times (`discreet.metric.geometry.lattice`), and the noise
    rate is epsilon/(radius + c). Clamping moves no two points apart, unless a matrix rotates the box: D is then the
    distance of the clamped points. Cost: epsilon (D + c)/(radius + c), which is epsilon at distance ``radius`` and at
    most proportional beyond it; each category its own ε. With "resample", P(z|x) is divided by the probability A(x) to
    end in the box, and A(x) <= e^(p · noise rate) A(x'): the rate is at most doubled.

    Examples
    --------
    >>> import discreet as dc
    >>> points = np.array([[0.2, 0.3], [0.8, 0.9], [0.5, 0.5]])
    >>> mechanism = dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=(0, 1), random_state=4)
    >>> mechanism.transform(points).round(3).tolist()
    [[0.224, 0.322], [0.851, 0.905], [0.49, 0.519]]
    >>> mechanism.guarantee_.epsilon, mechanism.rate
    (2.0, 20.0)
    """

    _: KW_ONLY
    scaling: Any = SCALING
    loss: str = option(
        default="squared", choices=("squared", "euclidean"), help='For "bayes": the loss that the guess minimises.'
    )

    @property
    def law(self) -> IsotropicLaw:
        """The law of the noise, in the declared metric; the domain must be declared with its columns."""
        numbers: PointNoise = numeric_mechanism(self, checked_domain(self))
        return IsotropicLaw(numbers.scaling.dimension, float(numbers.rate))

    def scale(self, X: Any) -> FloatArray:
        """Return the numeric columns of any table in the space in which distances are measured.

        Nothing is clamped, so it also takes released tables.
        """
        rows, domain = read_rows(X, self.domain)
        numeric = numeric_names(domain)
        scaling = declared_scaling(self.scaling, domain.select(numeric).bounds)
        return scaling.apply(rows[:, [domain.position(name) for name in numeric]])

    def plot(self, point: Any = None, *, reports: int = 400, delta: float = 0.05) -> Any:
        """Draw where ``reports`` of one place land, with the circles of accuracy and of indistinguishability.

        ``point`` is a public place, in the order of the numeric columns; by default the middle of the box. ``delta`` is
        the share of reports outside the circle of accuracy.
        """
        from discreet.metric.plots import draw_point_noise

        return draw_point_noise(self, point, reports, delta)

    def _check_rate(self, rate: Fraction) -> None:
        if not 1 / _LARGEST_RATE < rate < _LARGEST_RATE:
            raise InvalidArgument("radius", self.radius, "of a size that compares with epsilon", "radius=0.1")

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> PointNoise:
        self._rate()
        scaling = declared_scaling(self.scaling, box)
        checked, loss = self._checked(box), self.read_option("loss")
        if checked["remap"] == "resample" and scaling.kind == "matrix":
            raise InvalidArgument("remap", "resample", "another one: a matrix turns the box", 'remap="clip"')
        reading = reading_of(scaling, dates)
        step = _step(self.step, scaling, self._rate(Fraction(reading)), float(self.radius) + reading)
        rounding = rounding_of(step, scaling.dimension, scaling.diameter, reading)
        checked |= {"rate": self._rate(rounding), "rounding": rounding, "reading": reading}
        return PointNoise(**checked, read=how_read(reading, step, dates), scaling=scaling, step=step, loss=loss)


@dataclass(frozen=True, kw_only=True)
class PointNoise(LatticeNoise):
    """Noise on points of a declared box."""

    LABEL = "point, at distance {}"
    NEIGHBOURS = "points at distance {} in the declared metric"

    scaling: Scaling
    step: Fraction
    loss: str

    @property
    def box(self) -> Box:
        """The numeric columns' bounds."""
        return self.scaling.box

    @property
    def noise_law(self) -> IsotropicLatticeLaw:
        """The law that noise is drawn from and that prices it."""
        again, reach = self.remap == "resample", (self.radius + self.rounding) / self.step
        scale = Fraction(0) if self.rate == math.inf else 1 / (Fraction(self.rate) * self.step)
        return IsotropicLatticeLaw(self.level * (2 if again else 1), scale, reach, again)

    @property
    def spending(self) -> Spending:
        """The cost at distance ``radius``."""
        metric = {"dimension": self.scaling.dimension, "scaling": self.scaling.to_dict()}
        step, moves = float(self.step), self.scaling.kind == "matrix"
        return self._spending(metric, step, f"{step:.3g}", self.scaling.diameter, moves)

    def distance(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return the distance of clamped rows from others, in the metric."""
        return np.asarray(np.linalg.norm(self.scaling.forward(rows) - self.scaling.apply(others), axis=1))

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Add noise to rows in the columns' own units."""
        step = float(self.step)
        corners = [np.trunc(x / step) for x in self.scaling.corners]
        places = self.noise_law.draw(to_places(rows, self.scaling, step), stream, corners)
        if self.remap in ("none", "resample"):
            return to_rows(places, self.scaling, step)
        return self._remapped(np.multiply(places, step, dtype=np.float64))

    def _remapped(self, points: FloatArray) -> FloatArray:
        """Post-process noisy points; return rows in the columns' own units."""
        scaling, box = self.scaling, self.box
        if self.remap == "bayes" and self.prior is not None:
            if self.rate == math.inf:
                return scaling.back(points)
            known = replace(self.prior, places=scaling.apply(self.prior.places))
            return scaling.back(remaps.bayes(points, float(self.rate), known, *scaling.corners, self.loss))
        if self.remap == "clip":
            return remaps.clip(scaling.back(points), box.lower, box.upper)
        if isinstance(self.grid, int):
            return remaps.to_grid(scaling.back(points), box.lower, box.upper, self.grid)
        assert self.grid is not None
        return np.asarray(self.grid[remaps.nearest_places(points, scaling.apply(self.grid))])


def _step(given: Any, scaling: Scaling, rate: Exact, radius: float) -> Fraction:
    if given is not None:
        step = checks.positive("step", given, fix="step=0.001")
        if step > _LARGEST_STEP:
            raise InvalidArgument("step", given, f"a positive number of at most {_LARGEST_STEP:g}", "step=None")
    elif rate == math.inf:
        step = Fraction(2) ** (math.floor(math.log2(scaling.diameter)) - 40)
    else:
        n = scaling.dimension
        # Small compared with the noise and the radius, so that rounding has little effect and costs little noise.
        fine = min(math.sqrt(n + 1) / float(rate) / _FINENESS, radius / (_SLACK * math.sqrt(n)))
        step = Fraction(2) ** math.floor(math.log2(fine))
    if rate != math.inf and rate * step * _LARGEST_SCALE < 1:
        if given is None:  # the step is that of the radius
            expected = f"at least {2 * _SLACK * math.sqrt(scaling.dimension) / _LARGEST_SCALE:.1g}"
            raise InvalidArgument("epsilon", float(rate) * radius, expected, "epsilon=0.1")
        expected = f"at least {float(1 / (Fraction(rate) * _LARGEST_SCALE)):.3g}, a share of the noise's size"
        raise InvalidArgument("step", given, expected, "step=None")
    if scaling.diameter / float(step) > _MOST_STEPS:
        name = "radius" if given is None else "step"
        word = "a rate beyond double precision"
        raise InvalidArgument(name, given or word, "larger compared with the box", f"{name}=0.1")
    return step
