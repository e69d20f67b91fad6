"""The base of noise with a level at a distance: its options, its rate, and its guarantee.

Places are rounded to a public lattice, which moves two of them apart by at most c. Noise of rate epsilon/(radius + c)
per unit between lattice places makes the promise true at the radius.
"""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import DOMAIN, EPSILON, RANDOM_STATE, Box, Exact, FloatArray, as_it_is, checks, option
from discreet.errors import InvalidArgument
from discreet.metric.geometry.lattice import OTHER_DISTANCES, WITHIN_BOUNDS, lattice_assumption
from discreet.metric.geometry.laws import LatticeLaw
from discreet.metric.perturber import CATEGORY_EPSILON, Perturber, Spending
from discreet.metric.remap.prior import PlacePrior, read_prior


class AtDistance(Perturber):
    """The base of `NDLaplace` and `SphericalLaplace`: level ``epsilon`` at distance ``radius``."""

    epsilon: float = replace(EPSILON, help="Level of indistinguishability at distance ``radius``.")
    radius: float = option(
        default=0.1, takes="number", above=0, help="Distance at which epsilon holds, by default in declared ranges.",
        details="The rate, ε per unit of distance, is epsilon/radius.",
    )  # fmt: skip
    domain: Any = DOMAIN
    remap: str = option(
        default="none", choices=("none", "clip", "grid", "bayes", "resample"), help="Post-processing of noisy points.",
        details=(
            '"clip": move into the box. "grid": to the nearest point of ``grid``. "bayes": to the best guess given '
            '``prior``. These cost nothing. "resample": draw again until the point is in the box; this uses the raw '
            "point and costs twice the ε."
        ),
    )  # fmt: skip
    _: KW_ONLY
    grid: Any = option(
        default=12, help='For "grid": points per axis, or an array of public places in the columns\' own units.'
    )
    prior: Any = option(
        default=None, help='For "bayes": public places, (places, weights), or a `discreet.Synopsis`.',
        details="A synopsis was released with its own budget.",
    )  # fmt: skip
    category_epsilon: Any = CATEGORY_EPSILON
    step: Any = option(
        default=None, takes="number", above=0, example=0.001, help="Distance of neighbouring lattice points.",
        details=(
            "By default a power of 2, at most 1/16,384 of the noise along an axis and of the radius. A coarse step "
            "needs more noise."
        ),
    )  # fmt: skip
    random_state: Any = RANDOM_STATE

    @property
    def rate(self) -> float:
        """Promised ε per unit of distance, epsilon/radius; the noise has a little less, for rounding."""
        return float(self._rate())

    @abstractmethod
    def _check_rate(self, rate: Fraction) -> None:
        """Refuse an impossible rate."""

    def _rate(self, rounding: Fraction = Fraction(0)) -> Exact:
        """Return ε per unit of distance: promised, or of the noise with room for rounding."""
        level = checks.budget("epsilon", self.epsilon)
        radius = checks.positive("radius", self.radius, fix=f"radius={type(self).radius:g}")
        if level == math.inf:
            return level
        rate = Fraction(level) / (radius + rounding)
        if not rounding:
            self._check_rate(rate)
        return rate

    def _checked(self, box: Box) -> dict[str, Any]:
        """Return the arguments of `LatticeNoise` that do not depend on the lattice."""
        method = self.read_option("remap")
        return {
            "level": checks.budget("epsilon", self.epsilon),
            "radius": checks.positive("radius", self.radius),
            "remap": method,
            "grid": read_grid(self.grid, box) if method == "grid" else None,
            "prior": read_prior(self.prior, box) if method == "bayes" else None,
        }


@dataclass(frozen=True, kw_only=True)
class LatticeNoise:
    """The mechanism with checked arguments.

    ``rate`` is that of the noise. ``rounding`` is how far apart the lattice can move two places, ``reading`` the part
    of it that comes from reading values, described in ``read``.
    """

    #: Words of the guarantee: ledger line, neighbours, unit of distances, assumptions.
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

    @classmethod
    def apart(cls, radius: float) -> str:
        """Return the neighbours at a radius, in words."""
        return f"{cls.NEIGHBOURS.format(as_it_is(radius))} ({OTHER_DISTANCES})"

    @property
    def noise_law(self) -> LatticeLaw:
        """The law that noise is drawn from and that prices it."""
        raise NotImplementedError

    def _spending(self, metric: dict[str, Any], step: float, shown_step: str, diameter: float, moves: bool) -> Spending:
        """Return the cost at distance ``radius``; ``moves``: clamping may move places apart."""
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
            neighbours=self.apart(radius),
            parameters=parameters,
            assumptions=tuple(assumptions),
        )


def read_grid(given: Any, box: Box) -> int | FloatArray:
    """Read a ``grid`` argument: a number of points per axis, or public places."""
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
