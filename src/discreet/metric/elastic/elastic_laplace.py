"""Noise that grows where few people live: as many people are near a report in the country as in the city."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet import noise
from discreet.core import DOMAIN, EPSILON, RANDOM_STATE, Box, Exact, FloatArray, as_it_is, checks, option
from discreet.errors import InvalidArgument
from discreet.metric.elastic.law import ROUNDING, ElasticLaw
from discreet.metric.elastic.people import FINENESS, PeopleGrid, read_density
from discreet.metric.geometry.lattice import how_read
from discreet.metric.geometry.scaling import SCALING, Scaling, declared_scaling
from discreet.metric.perturber import CATEGORY_EPSILON, Perturber, Spending, checked_domain, numeric_mechanism

#: Larger levels run as this one: noise is then far below the size of a cell.
_LARGEST_LEVEL = 64


def elastic_neighbours(level: float, people: float) -> str:
    """Return the neighbours of a report among people, in words."""
    return (
        f"points at elastic distance {as_it_is(level)}; within it of every point live at least {as_it_is(people)} "
        "people by the declared density (elsewhere the level is that distance)"
    )


class ElasticLaplace(Perturber):
    """Perturb points so that each looks like the places of at least `min_people` people, at level ``epsilon``.

    In a city little noise is enough for that; in the country the people are miles away. `NDLaplace` has one radius for
    both: either the country is not protected, or the city gets too much noise.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`. Its ε is the level among those people; its parameters contain a digest of the map,
        and the level between the two farthest points of the box.

    Privacy
    -------
    Neighbours: two values of one row. Each is clamped to the box and put into its cell of a public map, a function of
    that point alone. Cells have an elastic distance D, a metric that is exact in doubles, and P(z|x) <= e^D(x, x')
    P(z|x') for every report z and all points x, x' (`discreet.metric.elastic.law` has the proof). The table of
    probabilities consists of integers over 2^62 and is sampled exactly. D is fitted so that at least `min_people`
    people, by the density, are within distance epsilon of every point, which is checked before anything is drawn. Cost:
    epsilon among those people, D(x, x') in general; each category its own ε. The number of people is as true as the
    density; the guarantee in D holds for any density.

    Notes
    -----
    Chatzikokolakis, Palamidessi, Stronati, "Constructing elastic distinguishability metrics for location privacy"
    (2015). The map is flat: for latitude and longitude use units of a place in the middle, over a country at most.

    Examples
    --------
    >>> import discreet as dc, numpy as np
    >>> people = np.ones((8, 8))  # public: how many live in each square
    >>> people[2:4, 2:4] = 1000
    >>> noise = dc.metric.ElasticLaplace(2, 500, dc.Domain.box([0, 0], [8, 8]), density=people, cells=200,
    ...                                  scaling="none", random_state=1)
    >>> noise.transform(np.array([[3.0, 3.0], [7.0, 7.0]])).round(1).tolist()
    [[3.4, 3.1], [3.0, 1.0]]
    >>> noise.law.expected_error([[3, 3], [7, 7]]).round(1).tolist()
    [0.4, 5.7]
    """

    epsilon: float = replace(EPSILON, help="Level of indistinguishability from the places of ``min_people`` people.")
    min_people: float = option(
        default=1000.0, takes="number", above=0, example=1000,
        help="Number of people among whom every place is hidden, at level epsilon.",
    )  # fmt: skip
    domain: Any = replace(DOMAIN, help="The declared columns, one to three of them numeric.")
    _: KW_ONLY
    density: Any = option(
        default=None, help="Where people live, **publicly**: a synopsis, (places, weights), or counts on an even grid.",
        details=(
            "A `discreet.Synopsis` of the numeric columns was released with its own budget; a grid has one axis per "
            "numeric column. Never the points that are perturbed."
        ),
    )  # fmt: skip
    scaling: Any = SCALING
    cells: int = option(
        default=1024, low=2, high=2048, help="Number of cells of the map.",
        details=(
            "Points of one cell look exactly alike; use a few cells per ``min_people`` people. Time and memory grow "
            "with the square."
        ),
    )  # fmt: skip
    category_epsilon: Any = CATEGORY_EPSILON
    random_state: Any = RANDOM_STATE

    @property
    def law(self) -> ElasticLaw:
        """The elastic metric and the law of its noise; the domain must be declared with its columns."""
        numbers: ElasticNoise = numeric_mechanism(self, checked_domain(self))
        return numbers.law

    def plot(self, point: Any = None) -> Any:
        """Draw the mean error over the map of two numeric columns, and where reports of one public place land.

        ``point`` is in the order of the numeric columns; by default the fullest cell.
        """
        from discreet.metric.plots import draw_elastic_noise

        return draw_elastic_noise(self, point)

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ElasticNoise:
        level = checks.budget("epsilon", self.epsilon)
        people = self.read_option("min_people")
        if len(box.lower) not in FINENESS:
            expected = "with one to three numeric columns: more would need too many cells"
            raise InvalidArgument("domain", f"{len(box.lower)} numeric columns", expected, '{"x": (0, 1), "y": (0, 1)}')
        scaling = declared_scaling(self.scaling, box)
        if scaling.kind == "matrix":
            raise InvalidArgument("scaling", "a matrix", "'box', 'none' or a list of units", 'scaling="box"')
        known = read_density(self.density, scaling)
        if float(people) > known.counts.sum():
            expected = f"at most the number of people in the density, {float(known.counts.sum()):,.6g}"
            fix = f"min_people={math.floor(known.counts.sum() / 10) or 1}"
            raise InvalidArgument("min_people", self.min_people, expected, fix)
        cells, read = self.read_option("cells"), tuple(dates)
        return ElasticNoise(level=level, people=float(people), scaling=scaling, known=known, cells=cells, dates=read)


@dataclass(frozen=True, kw_only=True)
class ElasticNoise:
    """The mechanism with checked arguments."""

    level: Exact
    people: float
    scaling: Scaling
    known: PeopleGrid
    cells: int
    dates: tuple[bool, ...] = ()

    @cached_property
    def law(self) -> ElasticLaw:
        """The law; it is made once per map and kept."""
        if self.level == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite: without noise there is no law", "epsilon=1.0")
        scaling = declared_scaling(self.scaling.units, self.scaling.box)
        return ElasticLaw(scaling, self.known, float(min(self.level, _LARGEST_LEVEL)), self.people, self.cells)

    @property
    def epsilon(self) -> Exact:
        """The stated cost of a report among the people."""
        return self.level

    @property
    def price(self) -> Exact:
        """Its true cost: the largest elastic distance within which a place has its people."""
        return math.inf if self.level == math.inf else Fraction(float(self.law.people_level().max()))

    @property
    def spending(self) -> Spending:
        """The cost among the people."""
        metric = {"dimension": self.scaling.dimension, "scaling": self.scaling.to_dict()}
        parameters: dict[str, Any] = {**metric, "min_people": self.people, "density": self.known.describe()}
        assumptions = ["the density is public, or was released with a budget of its own; people are counted by it"]
        if self.level != math.inf:
            law = self.law
            parameters |= {"cells": len(law.lower), "epsilon_at_diameter": law.largest, "rounding": ROUNDING}
            read = how_read(0.0, Fraction(1), self.dates)
            assumptions.append(
                f"values are {read}put into one of {len(law.lower):,} cells of a public map; the level between two of "
                "them is their elastic distance, which follows from the parameters and the density"
            )
        return Spending(
            label=f"point, among at least {as_it_is(self.people)} people",
            law=self,
            neighbours=elastic_neighbours(float(self.level), self.people),
            parameters=parameters,
            assumptions=tuple(assumptions),
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Report a cell for each row, in the columns' own units."""
        if self.level == math.inf:
            return self.scaling.back(self.scaling.forward(rows))
        return self.law.draw(rows, stream)
