"""Noise that grows where few people live: as many people within reach of a report in the country as in the city."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import Box, Exact, FloatArray, as_it_is, checks
from discreet.errors import InvalidArgument
from discreet.metric.elastic.crowd import FINENESS, Crowd, read_density
from discreet.metric.elastic.law import ROUNDING, ElasticLaw, ElasticMap
from discreet.metric.perturber import Perturber, Spending, checked_domain, numeric_mechanism
from discreet.metric.points.lattice import how_read
from discreet.metric.points.scaling import Scaling, declared_scaling

#: More cells than that would fill the memory: what is kept grows with their square.
MOST_CELLS = 2048
#: Larger levels run as this one, and cost what was asked: noise is far below the size of a cell.
_LARGEST_LEVEL = 64


@dataclass(eq=False, repr=False)
class ElasticLaplace(Perturber):
    """Perturb points so that each looks like the places of at least `min_people` people, at level ``epsilon``.

    In a city those people are round the corner, and little noise hides a person among them; in the country they are
    miles away. `NDLaplace` has one radius for both: either the country is not protected, or the city is drowned.

    Parameters
    ----------
    epsilon : float
        Level of indistinguishability within the crowd. ``math.inf`` adds no noise.
    min_people : float
        How many people make a crowd: of every point so many, by ``density``, are within elastic distance ``epsilon``.
    domain : Domain, mapping or (low, high)
        The declared columns, one to three of them numeric; categorical ones need ``category_epsilon``.
    density : synopsis, (places, weights) or array
        Where people live, **publicly**: a `discreet.Synopsis` of the numeric columns (released with a budget of its
        own), public places with the number of people at each, or counts on an even grid over the box, one axis per
        numeric column. Never the points that are perturbed.
    scaling : {"box", "none"} or list
        What is far on the map; see `discreet.metric.Scaling`.
    cells : int, default 1024
        Cells that the map is cut into, at most 2,048. Points of one cell look exactly alike; there should be a few
        cells for each crowd. Making the table takes seconds of one core, once per map; time and memory grow with the
        square of their number.
    category_epsilon, random_state
        See `NDLaplace`.

    Attributes
    ----------
    guarantee_ : Guarantee
        After `fit` or `transform`. Its ε is the level within the crowd; its parameters name the map by a digest, and
        the level between the two farthest points of the box.

    Privacy
    -------
    Neighbours: two values of one row. Each is put into the box and into its cell of a public map, a function of that
    point alone. Cells have an elastic distance D, a metric that is exact in doubles, and P(z|x) <= e^D(x, x') P(z|x')
    for every report z and all points x, x' (`discreet.metric.elastic.law` has the proof). The table of chances is of
    whole numbers over 2^62 and is drawn from exactly. D is fitted to the requirement that at least `min_people` people,
    by the density, are within distance epsilon of every point, and is checked against it before anything is drawn.
    Cost: epsilon within the crowd, D(x, x') in general; each category its own ε. Who the crowd is, is as true as the
    density; the guarantee in D holds whatever the density is.

    Notes
    -----
    Chatzikokolakis, Palamidessi, Stronati, "Constructing elastic distinguishability metrics for location privacy"
    (2015). Columns are flat: of latitude and longitude take units of a place in the middle, over a country at most.

    Examples
    --------
    >>> import discreet as dc
    >>> people = np.ones((8, 8))  # public: how many live in each square
    >>> people[2:4, 2:4] = 1000
    >>> noise = dc.metric.ElasticLaplace(2, min_people=500, domain=dc.Domain.box([0, 0], [8, 8]), density=people, cells=200,
    ...                                  scaling="none", random_state=1)
    >>> noise.transform(np.array([[3.0, 3.0], [7.0, 7.0]])).round(1).tolist()
    [[3.4, 3.1], [3.0, 1.0]]
    >>> noise.law.expected_error([[3, 3], [7, 7]]).round(1).tolist()
    [0.4, 5.7]
    """

    epsilon: float = 1.0
    min_people: float = 1000.0
    domain: Any = None
    _: KW_ONLY
    density: Any = None
    scaling: Any = "box"
    cells: int = 1024
    category_epsilon: Any = None
    random_state: Any = None

    @property
    def law(self) -> ElasticLaw:
        """The elastic metric and the law of its noise; the domain must be declared with its columns."""
        numbers: ElasticNoise = numeric_mechanism(self, checked_domain(self))
        return numbers.law

    def plot(self, point: Any = None) -> Any:
        """Draw how far reports are off on average over the map, and where those of one place land.

        Parameters
        ----------
        point : sequence of float, optional
            A public place, in the order of the numeric columns; by default the fullest cell.

        Returns
        -------
        plotly.graph_objects.Figure
            Of two numeric columns.
        """
        from discreet.metric.elastic import plot as _plot

        return _plot.draw(self, point)

    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> ElasticNoise:
        level = checks.budget("epsilon", self.epsilon)
        people = checks.positive("min_people", self.min_people, fix="min_people=1000")
        if len(box.lower) not in FINENESS:
            expected = "with one to three numeric columns: a map of more would have too many cells"
            raise InvalidArgument("domain", f"{len(box.lower)} numeric columns", expected, '{"x": (0, 1), "y": (0, 1)}')
        scaling = declared_scaling(self.scaling, box)
        if scaling.kind == "matrix":
            raise InvalidArgument("scaling", "a matrix", "'box', 'none' or a list of units", 'scaling="box"')
        known = read_density(self.density, scaling)
        if float(people) > known.counts.sum():
            expected = f"at most the number of people in the density, {float(known.counts.sum()):,.6g}"
            raise InvalidArgument(
                "min_people", self.min_people, expected, f"min_people={math.floor(known.counts.sum() / 10) or 1}"
            )
        return ElasticNoise(
            level=level,
            people=float(people),
            scaling=scaling,
            known=known,
            cells=checks.whole("cells", self.cells, low=2, high=MOST_CELLS),
            dates=tuple(dates),
        )


@dataclass(frozen=True, kw_only=True)
class ElasticNoise:
    """The mechanism with all its arguments checked."""

    level: Exact
    people: float
    scaling: Scaling
    known: Crowd
    cells: int
    dates: tuple[bool, ...] = ()

    @cached_property
    def law(self) -> ElasticLaw:
        """The law; that of a map is made once and kept."""
        if self.level == math.inf:
            raise InvalidArgument("epsilon", math.inf, "finite: without noise there is no law", "epsilon=1.0")
        source = ElasticMap(
            box=(tuple(self.scaling.box.lower.tolist()), tuple(self.scaling.box.upper.tolist())),
            units=tuple(np.asarray(self.scaling.units).tolist()),
            counts=self.known.counts.tobytes(),
            shape=self.known.counts.shape,
            side=self.known.side,
            level=float(min(self.level, _LARGEST_LEVEL)),
            people=self.people,
            cells=self.cells,
        )
        return ElasticLaw(source)

    @property
    def epsilon(self) -> Exact:
        """What a report is said to cost within the crowd."""
        return self.level

    @property
    def price(self) -> Exact:
        """What it costs there: the elastic distance within which the loneliest place finds its crowd."""
        return math.inf if self.level == math.inf else Fraction(float(self.law.crowd_level().max()))

    @property
    def spending(self) -> Spending:
        """What it costs within the crowd's radius."""
        known = self.known.describe()
        parameters: dict[str, Any] = {
            "dimension": self.scaling.dimension,
            "scaling": self.scaling.to_dict(),
            "min_people": self.people,
            "density": known,
        }
        assumptions = ["the density is public, or was released with a budget of its own; the crowd is of its people"]
        if self.level != math.inf:
            law = self.law
            parameters |= {
                "cells": len(law.lower),
                "epsilon_at_diameter": law.largest,
                "rounding": ROUNDING,
            }
            read = how_read(0.0, Fraction(1), self.dates)
            assumptions.append(
                f"values are {read}put into one of {len(law.lower):,} cells of a public map; the level between two of "
                "them is their elastic distance, which follows from the parameters and the density"
            )
        people = as_it_is(self.people)
        return Spending(
            label=f"point, in a crowd of {people}",
            law=self,
            neighbours=f"points at elastic distance {as_it_is(float(self.level))}; within it of every point live at "
            f"least {people} people by the declared density (elsewhere the level is that distance)",
            parameters=parameters,
            assumptions=tuple(assumptions),
        )

    def perturb(self, rows: FloatArray, stream: noise.Generator) -> FloatArray:
        """Report a cell for each row, in the columns' own units."""
        if self.level == math.inf:
            return self.scaling.back(self.scaling.forward(rows))
        return self.law.draw(rows, stream)
