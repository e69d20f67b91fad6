"""What noise with a level at a distance shares: its arguments, its rate, and what its guarantee says.

Places are rounded to a public lattice, which moves two of them apart by at most c; noise of rate epsilon/(radius + c)
for each unit between lattice places makes the promise true at the radius.
"""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import Box, Exact, FloatArray, as_it_is, checks
from discreet.errors import InvalidArgument
from discreet.metric.laws import LatticeLaw
from discreet.metric.perturber import Perturber, Spending
from discreet.metric.points.lattice import OTHER_DISTANCES, WITHIN_BOUNDS, lattice_assumption
from discreet.metric.remap.prior import PlacePrior


@dataclass(eq=False, repr=False)
class AtDistance(Perturber):
    """The base of `NDLaplace` and `SphericalLaplace`: level ``epsilon`` at distance ``radius``."""

    epsilon: float = 1.0
    radius: float = 0.1
    domain: Any = None
    remap: str = "none"
    _: KW_ONLY
    grid: Any = 12
    prior: Any = None
    category_epsilon: Any = None
    step: Any = None
    random_state: Any = None

    @property
    def rate(self) -> float:
        """Promised ε per unit of distance, epsilon/radius: the noise has a little less, for rounding."""
        return float(self._rate())

    @abstractmethod
    def _check_rate(self, rate: Fraction) -> None:
        """Refuse a rate that no noise can have."""

    def _rate(self, rounding: Fraction = Fraction(0)) -> Exact:
        """Return ε per unit of distance: promised, or of the noise that allows for rounding."""
        level = checks.budget("epsilon", self.epsilon)
        radius = checks.positive("radius", self.radius, fix=f"radius={type(self).radius:g}")
        if level == math.inf:
            return level
        rate = Fraction(level) / (radius + rounding)
        if not rounding:
            self._check_rate(rate)
        return rate


@dataclass(frozen=True, kw_only=True)
class LatticeNoise:
    """The mechanism with all its arguments checked.

    ``rate`` is that of the noise; ``rounding`` is how far apart the lattice can move two places, and ``reading`` the
    part of it that comes from how values are read, which ``read`` says in words.
    """

    #: The ledger's line, the neighbours, the unit of distances, and what else is assumed.
    LABEL: ClassVar[str]
    NEIGHBOURS: ClassVar[str]
    UNIT: ClassVar[str] = ""
    ASSUMES: ClassVar[tuple[str, ...]] = ()

    level: Exact
    radius: Fraction
    rate: Exact
    rounding: Fraction
    remap: str
    grid: int | FloatArray | None
    prior: PlacePrior | None
    reading: float = 0.0
    read: str = ""

    @property
    def noise_law(self) -> LatticeLaw:
        """The law that noise is drawn from and priced by."""
        raise NotImplementedError

    def _spending(self, metric: dict[str, Any], step: float, shown_step: str, diameter: float, moves: bool) -> Spending:
        """Say what it costs at distance ``radius``; ``moves``: putting places into the box may move them apart."""
        rate, rounding, radius = float(self.rate), float(self.rounding), float(self.radius)
        times = self.noise_law.times
        parameters = {
            **metric,
            "radius": radius,
            "rate": float(self.level * times) / radius if rate < math.inf else "inf",
            "noise_rate": rate if rate < math.inf else "inf",
            "rounding": rounding,
            "step": step,
            "diameter": diameter,
            "epsilon_at_diameter": rate * times * (diameter + rounding) if rate < math.inf else "inf",
            "remap": self.remap,
        }
        lattice = lattice_assumption(shown_step, rounding, radius, self.level, self.UNIT, read=self.read)
        assumptions = [lattice, *self.ASSUMES, *([WITHIN_BOUNDS] if moves else [])]
        if self.prior is not None:
            parameters["prior"] = self.prior.describe()
            assumptions.append("the prior is public, or was released with a budget of its own")
        if self.remap == "resample":
            assumptions.append("how long the drawing took is not seen: it depends on the point")
        return Spending(
            label=self.LABEL.format(as_it_is(radius)),
            law=self.noise_law,
            neighbours=f"{self.NEIGHBOURS.format(as_it_is(radius))} ({OTHER_DISTANCES})",
            parameters=parameters,
            assumptions=tuple(assumptions),
        )


def read_grid(given: Any, box: Box) -> int | FloatArray:
    """Read what a user may pass as ``grid``: a number of points per axis, or public places."""
    if np.ndim(given) == 0:
        return checks.whole("grid", given, low=2, high=2**31)
    try:
        places = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        places = np.empty(0)
    columns = len(box.lower)
    if places.ndim != 2 or places.shape[1] != columns or not len(places) or not np.isfinite(places).all():
        expected = f"a number of points per axis, or public places with {columns} finite coordinates each"
        raise InvalidArgument("grid", f"an array of shape {places.shape}", expected, "grid=12")
    return places
