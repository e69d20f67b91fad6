"""Laplace noise on the globe: places within a given number of metres of each other look alike.

The planar Laplace mechanism of Andrés and others (2013) uses a flat map, which is wrong at large scales, near the poles
and across the date line. Here the noise is on the sphere itself, and the promise holds for any two places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import DOMAIN, Box, Domain, Exact, FloatArray, checks, option
from discreet.errors import InvalidArgument, SchemaError
from discreet.metric.at_distance import AtDistance, LatticeNoise
from discreet.metric.geometry.laws import SphereLatticeLaw
from discreet.metric.perturber import Spending, numeric_names
from discreet.metric.sphere import globe
from discreet.noise.reports import Response

WORLD = ((-90.0, 90.0), (-180.0, 180.0))
_LATITUDES, _LONGITUDES = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
#: The radius as an exact number: it is part of the rate.
_EARTH = Fraction("6371008.8")
_FINENESS = 2**14
#: Rounding to the default lattice moves two places apart by at most this part of the radius, if a step can be so fine.
_SLACK = 2**10
#: Steps of 10^-3 to 10^-11 degrees, 100 m to a micrometre, are chosen by default; finer ones are refused.
_DIGITS = (3, 11)
#: Below this rate·radius of the earth the noise would cover the globe evenly, and most tries would be in vain.
_LEAST = Fraction(1, 4)


class SphericalLaplace(AtDistance):
    """Perturb places on the globe so that any two within ``radius`` metres are indistinguishable at level ``epsilon``.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`.

    Privacy
    -------
    Neighbours: two places of one row, at great-circle distance D. A place is clamped to the declared box and rounded to
    a public lattice of latitudes and longitudes, a function of that place alone. The noisy place has density
    proportional to e^(-rate·distance) on the sphere, with one constant for all places, and is rounded to the lattice:
    two lattice places at distance p give every result with probabilities within e^(p · noise rate) of each other,
    exactly (`discreet.noise.vector.spherical`). Rounding moves two places apart by at most c, a little more than √2
    steps (`discreet.metric.sphere.globe.rounding_of`), and the noise rate is epsilon/(radius + c). Clamping to a part
    of the world may move places further apart, across the date line or near a pole: D is then the distance in the box.
    Cost: epsilon (D + c)/(radius + c), which is epsilon at distance ``radius``, at most proportional beyond it.

    Examples
    --------
    >>> import discreet as dc
    >>> towns = np.array([[48.8583, 2.2945], [-16.8, 179.99], [89.999, 0.0]])
    >>> mechanism = dc.metric.SphericalLaplace(epsilon=1.4, radius=200, random_state=4)
    >>> mechanism.transform(towns).round(4).tolist()
    [[48.8603, 2.2982], [-16.7983, 179.9956], [89.9972, -5.5584]]
    >>> mechanism.guarantee_.epsilon, round(mechanism.expected_error)
    (1.4, 286)
    """

    radius: float = option(
        default=200.0, takes="number", above=0, example=200,
        help="That distance, in metres along the great circle of a sphere of radius 6,371,008.8 m.",
    )  # fmt: skip
    domain: Any = replace(
        DOMAIN,
        help="Latitude and longitude in degrees, and categorical columns.",
        details="By default the whole world.",
    )
    remap: str = option(
        default="none", choices=("none", "grid", "bayes"), help="Post-processing of noisy places, without cost.",
        details='"grid": to the nearest value of ``grid``. "bayes": to the best guess given ``prior``.',
    )  # fmt: skip
    _: KW_ONLY
    step: Any = option(
        default=None, takes="number", above=0, example=0.001,
        help="Distance of neighbouring lattice points in degrees; 90 must be a multiple of it.",
        details=(
            "By default a power of ten, at most 1/16,384 of the noise along an axis and 1/1024 of the radius, from "
            "10^-11 to 0.001. A coarse step needs more noise."
        ),
    )  # fmt: skip
    latitude: str | None = option(
        default=None, example="lat", help='Name of the column of latitudes; by default "latitude" or "lat".'
    )
    longitude: str | None = option(
        default=None, example="lon", help='Name of the column of longitudes; by default "longitude", "lon" or "lng".',
        details="Columns without names are latitude and longitude in this order.",
    )  # fmt: skip

    @property
    def expected_error(self) -> float:
        """Mean distance in metres between a place and its noisy one; nearly 2/rate."""
        rate = self._noise()[0]
        if rate == math.inf:
            return 0.0
        a = float(rate * _EARTH)
        fall = math.exp(-a * math.pi)
        return globe.EARTH * (2 * a / (1 + a * a) + math.pi * fall / (1 + fall))

    def _check_rate(self, rate: Fraction) -> None:
        if rate * _EARTH < _LEAST:
            most = float(checks.budget("epsilon", self.epsilon) * _EARTH / _LEAST)
            raise InvalidArgument("radius", self.radius, f"at most {most:,.0f} metres at this epsilon", "radius=200")

    def _noise(self) -> tuple[Exact, int, Fraction]:
        """Return the noise's ε per metre, the lattice steps in 90 degrees, and the effect of rounding."""
        rate = self._rate()
        quarter = _quarter(self.step, rate, float(self.radius))
        rounding = globe.rounding_of(quarter)
        rate = self._rate(rounding)
        if rate * _EARTH < _LEAST:
            expected = f"finer at this radius: noise that hides {float(rounding):,.0f} metres more covers the globe"
            raise InvalidArgument("step", self.step, expected, "step=None")
        return rate, quarter, rounding

    def _declared(self, X: Any = None) -> Any:
        """Return the domain, the whole world if none was given."""
        if self.domain is not None:
            return self.domain
        if isinstance(X, (np.ndarray, list, tuple)) and self.latitude is None and self.longitude is None:
            low, high = zip(*WORLD, strict=True)
            return Domain.box(low, high)
        names = (self.latitude or _LATITUDES[0], self.longitude or _LONGITUDES[0])
        return Domain(dict(zip(names, WORLD, strict=True)))

    def _mechanisms(self, domain: Domain) -> tuple[Any, dict[str, Response]]:
        columns = self._columns(domain)
        numbers, categories = super()._mechanisms(domain)
        return replace(numbers, turned=columns[0] > columns[1]), categories

    def _columns(self, domain: Domain) -> tuple[int, int]:
        """Find latitude and longitude among the declared columns, and check their bounds."""
        numeric = numeric_names(domain)
        names = numeric[:2]
        if domain.named:
            asked = ("latitude", self.latitude, _LATITUDES), ("longitude", self.longitude, _LONGITUDES)
            names = [self._column(role, given, usual, numeric) for role, given, usual in asked]
        if len(numeric) != 2 or len(set(names)) != 2:
            raise SchemaError(
                f"a place has two numeric columns, latitude and longitude, but {len(numeric)} are declared: "
                f"{', '.join(map(repr, numeric[:20]))}; perturb the others by NDLaplace, with a budget of its own"
            )
        for name, what, (low, high) in zip(names, ("latitude", "longitude"), WORLD, strict=True):
            column = domain.column(name)
            if column.low < low or column.high > high:
                raise InvalidArgument(
                    f"bounds of column {name!r}", (column.low, column.high),
                    f"within [{low:g}, {high:g}]: it is a {what} in degrees", f"({low:g}, {high:g})",
                )  # fmt: skip
        return domain.position(names[0]), domain.position(names[1])

    @staticmethod
    def _column(role: str, given: Any, usual: tuple[str, ...], numeric: list[str]) -> str:
        if given is not None:
            return checks.choice(role, given, numeric)
        found = [name for name in numeric if name.lower() in usual]
        if len(found) != 1:
            raise SchemaError(
                f"which column is the {role}? Declared are {', '.join(map(repr, numeric[:20]))}; "
                f'name it: {role}="{numeric[0] if numeric else usual[0]}"'
            )
        return found[0]

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> PlaceNoise:
        rate, quarter, rounding = self._noise()
        return PlaceNoise(**self._checked(box), rate=rate, rounding=rounding, quarter=quarter, box=box)


@dataclass(frozen=True, kw_only=True)
class PlaceNoise(LatticeNoise):
    """Noise on places of the globe, with ``quarter`` lattice steps in 90 degrees.

    ``turned``: longitude is declared before latitude.
    """

    LABEL = "place, at distance {} m"
    NEIGHBOURS = "places {} metres apart"
    UNIT = " m"
    ASSUMES = ("the earth is a sphere: true distances differ by up to 0.56 %",)

    quarter: int
    box: Box
    turned: bool = False

    @property
    def _order(self) -> list[int]:
        return [1, 0] if self.turned else [0, 1]

    @property
    def _place_box(self) -> Box:
        return Box(self.box.lower[self._order], self.box.upper[self._order])

    @property
    def box_is_part(self) -> bool:
        """True if the declared box is smaller than the world."""
        low, high = zip(*WORLD, strict=True)
        return bool((self._place_box.lower > low).any() or (self._place_box.upper < high).any())

    @property
    def noise_law(self) -> SphereLatticeLaw:
        """The law that noise is drawn from and priced by; angles on the sphere."""
        scale = Fraction(0) if self.rate == math.inf else 1 / (Fraction(self.rate) * _EARTH)
        return SphereLatticeLaw(self.level, scale, (self.radius + self.rounding) / _EARTH, self.quarter)

    @property
    def spending(self) -> Spending:
        """The cost at distance ``radius``."""
        metric = {"scaling": {"kind": "sphere", "radius": globe.EARTH, "unit": "metre"}}
        step = 90 / self.quarter
        return self._spending(metric, step, f"{step:g} degrees", globe.diameter(self._place_box), self.box_is_part)

    def clean(self, rows: FloatArray) -> FloatArray:
        """Return rows in the declared box, as (latitude, longitude)."""
        return globe.cleaned(rows[:, self._order], self._place_box)

    def distance(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Return how far rows, put into the box, are from others, in metres."""
        return globe.great_circle(self.clean(rows), others[:, self._order])

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Move rows by noise."""
        places = self.noise_law.draw(globe.to_places(self.clean(rows), self.quarter), stream)
        return self._remapped(globe.to_rows(places, self.quarter))[:, self._order]

    def _remapped(self, rows: FloatArray) -> FloatArray:
        """Post-process: from here on nothing raw is in sight."""
        if self.prior is not None:
            rate = 1e250 if self.rate == math.inf else float(self.rate)
            return globe.bayes(rows, rate, self.prior.places[:, self._order], self.prior.weights)
        if isinstance(self.grid, int):
            return globe.to_grid(rows, self._place_box, self.grid)
        return rows if self.grid is None else globe.nearest(rows, self.grid)


def _quarter(given: Any, rate: Exact, radius: float) -> int:
    """Return the number of lattice steps in 90 degrees."""
    if given is None:
        least, most = _DIGITS
        digits = most
        if rate != math.inf:
            metres = min(math.sqrt(3) / float(rate) / _FINENESS, radius / (_SLACK * math.sqrt(2)))
            degrees = math.degrees(metres / globe.EARTH)
            digits = min(max(math.ceil(-math.log10(degrees)), least), most)
        steps: int = 90 * 10**digits
        return steps
    quarter: Fraction = 90 / checks.positive("step", given, fix="step=1e-7")
    if quarter.denominator != 1 or quarter > 90 * 10 ** _DIGITS[1]:
        raise InvalidArgument("step", given, "a part of 90 degrees, of at least 1e-11", "step=1e-7")
    return quarter.numerator
