"""The elastic metric and the law of its noise.

After an idea of Chatzikokolakis, Palamidessi and Stronati (2015), who let distances follow the crowd: a street corner
in a city hides among as many people as a valley in the country does. The exponential mechanism for any metric takes
*half* the distance as score, because the sums that make its chances add up to 1 differ from place to place. Here they
are kept nearly alike by the weights of the outcomes, and what is left of their difference is part of the metric that is
stated. That is exact instead of a factor of 2:

- d(x, z) is the length of the shortest path between cells. Chances are proportional to w(z) e^(-min(d(x, z), T)) and
  add up to N(x) before they are divided by it. Since |min(d(x, z), T) - min(d(x', z), T)| <= d(x, x'), whatever T is,

      P(z | x) <= e^(d(x, x') + |ln N(x) - ln N(x')|) P(z | x')     for all z,

  with equality at z = x or z = x' where d(x, x') < T. T bounds how small a chance can be; no cell is out of reach.
- d is a metric: lengths of shortest paths are. |ln N(x) - ln N(x')| is a pseudometric, and 2^-15 between any two cells
  is a metric. So is their sum, the *elastic metric* D. Lengths and ln N are multiples of 2^-30: sums of them are exact.
- Chances become whole numbers over 2^62 (`discreet.noise.choice.tabled`), none below 2^17: that changes their ratio by
  a factor of at most e^(2^-17) for each of two cells, doubles and the rounding of ln N by less still. 2^-15 covers it.

A point stands for its cell: two points of one cell are not told apart at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import Box, FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.metric.elastic.cells import GRAIN, Cells, cut
from discreet.metric.elastic.crowd import Crowd
from discreet.metric.points.scaling import Scaling, declared_scaling
from discreet.noise.choice import LEAST, WHOLE, ChanceTable

#: What rounding adds to the distance of any two cells.
ROUNDING = 2.0**-15
#: Rounds in which rates are fitted to the requirement, and those in which they are only lowered where it is missed;
#: steps that make the sums alike, and those of the last search.
_ROUNDS, _REPAIRS, _EVENING, _SEARCH = 4, 3, 40, 20
#: Weights of outcomes are at least this part of their mean: no chance may vanish.
_LEAST_WEIGHT = 1e-4


@dataclass(frozen=True)
class ElasticMap:
    """What an elastic metric is made of, all of it public, in a form that can be compared."""

    box: tuple[tuple[float, ...], tuple[float, ...]]
    units: tuple[float, ...]
    counts: bytes
    shape: tuple[int, ...]
    side: float
    level: float
    people: float
    cells: int

    @property
    def crowd(self) -> Crowd:
        """The numbers of people."""
        return Crowd(np.frombuffer(self.counts).reshape(self.shape), self.side, "")

    @property
    def scaling(self) -> Scaling:
        """The space in which lengths are measured."""
        return declared_scaling(list(self.units), Box(*(np.array(end) for end in self.box)))


class ElasticLaw:
    """The elastic metric of a map, and what its noise does: for forecasts before anybody's place is touched.

    Made by `ElasticLaplace.law`. Points are rows of the numeric columns, in their own units; without points, answers
    are for the middles of all cells. Distances are in the declared metric, levels in the elastic one.

    Attributes
    ----------
    lower, upper : array of shape (cells, columns)
        Corners of the cells, in the columns' own units.
    places : array of shape (cells, columns)
        Their middles: what is reported.
    people : array of shape (cells,)
        People in each, by the density.

    Examples
    --------
    >>> import discreet as dc
    >>> town = np.ones((8, 8))
    >>> town[2:4, 2:4] = 1000
    >>> noise = dc.metric.ElasticLaplace(2, 500, dc.Domain.box([0, 0], [8, 8]), density=town, cells=200)
    >>> inside, outside = noise.law.expected_error([[3, 3], [7, 7]])
    >>> bool(2 * inside < outside), bool(noise.law.crowd_level().max() <= 2)
    (True, True)
    """

    def __init__(self, source: ElasticMap) -> None:
        self._made, self._scaling, self._crowd = _make(source), source.scaling, source.people
        cells = self._made.cells
        self.lower, self.upper, self.places = (self._scaling.back(x) for x in (cells.lower, cells.upper, cells.middles))
        self.people = cells.people

    @property
    def table(self) -> ChanceTable:
        """The exact chances of every report, for every cell."""
        return self._made.table

    def draw(self, points: Any, stream: Any) -> FloatArray:
        """Report a place for every point, in the columns' own units."""
        return np.asarray(self.places[self.table.draw(self.cells(points), stream)])

    def cells(self, points: Any) -> IntArray:
        """Return the cells in which points lie; those beyond the box count as at its edge."""
        scaled = self._scaling.forward(self._points(points))
        owner = self._made.cells.owner
        squares = np.clip((scaled / self._made.side).astype(np.int64), 0, np.array(owner.shape) - 1)
        return np.asarray(owner[tuple(squares.T)])

    def distance(self, points: Any, others: Any) -> FloatArray:
        """Return the elastic distance of points from others, row by row: how much ln of any chance differs at most."""
        return self._made.distance(self.cells(points), self.cells(others))

    def people_within(self, level: float, points: Any = None) -> FloatArray:
        """Return how many people, by the density, are within an elastic distance of each point."""
        limit, made = float(checks.positive("level", level)), self._made
        found = [made.cells.people[made.row(i) <= limit].sum() for i in self._own(points)]
        return np.array(found)

    def crowd_level(self, points: Any = None) -> FloatArray:
        """Return the elastic distance within which each point finds its crowd: at most epsilon.

        This is the requirement, read off the finished metric.
        """
        return self._made.reached[self._own(points)]

    def crowd_radius(self, points: Any = None) -> FloatArray:
        """Return how far the crowd is from each point in the declared metric, to the middles of cells.

        With this radius `NDLaplace` hides the point in as large a crowd, at the same epsilon.
        """
        return _radii(self._made.cells, self._scaled(points), self._crowd)

    def expected_error(self, points: Any = None) -> FloatArray:
        """Return the mean distance of a report from each point."""
        return self._each(points, lambda chances, away: (chances * away).sum(axis=1))

    def accuracy_radius(self, delta: float, points: Any = None) -> FloatArray:
        """Return how far off each point's report is at most, but for a share ``delta`` of reports."""
        wanted = 1 - float(checks.probability("delta", delta))

        def quantile(chances: FloatArray, away: FloatArray) -> FloatArray:
            order = np.argsort(away, axis=1, kind="stable")
            sums = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
            first = np.minimum((sums < wanted).sum(axis=1), away.shape[1] - 1)
            return np.asarray(np.take_along_axis(away, order, axis=1)[np.arange(len(away)), first])

        return self._each(points, quantile)

    @property
    def largest(self) -> float:
        """The largest elastic distance of two points of the box."""
        return self._made.largest

    def _points(self, points: Any) -> FloatArray:
        rows = np.atleast_2d(np.asarray(points, np.float64))
        if rows.ndim != 2 or rows.shape[1] != self._scaling.dimension:
            expected = f"rows of {self._scaling.dimension} coordinates"
            raise InvalidArgument("points", f"an array of shape {rows.shape}", expected, "points=[[0.5, 0.5]]")
        return rows

    def _own(self, points: Any) -> IntArray:
        return np.arange(len(self._made.cells)) if points is None else self.cells(points)

    def _scaled(self, points: Any) -> FloatArray:
        return self._made.cells.middles if points is None else self._scaling.forward(self._points(points))

    def _each(self, points: Any, what: Any) -> FloatArray:
        """Work something out from the chances of all reports and their distances, some points at a time."""
        rows, own = self._own(points), self._scaled(points)
        found = np.empty(len(rows))
        for start in range(0, len(rows), 256):
            part = slice(start, start + 256)
            away = np.linalg.norm(own[part, None] - self._made.cells.middles[None], axis=2)
            found[part] = what(self.table.chances(rows[part]), away)
        return found


@dataclass(frozen=True, eq=False)
class _Made:
    """A finished metric: cells, lengths of paths, ln N, where each cell finds its crowd, and the chances."""

    cells: Cells
    side: float
    paths: FloatArray
    logs: FloatArray
    reached: FloatArray
    table: ChanceTable

    def distance(self, cells: IntArray, others: IntArray) -> FloatArray:
        apart = self.paths[cells, others] + np.abs(self.logs[cells] - self.logs[others])
        return np.asarray(apart + np.where(cells == others, 0.0, ROUNDING))

    def row(self, cell: int) -> FloatArray:
        every = np.arange(len(self.cells))
        return self.distance(np.full(len(every), cell), every)

    @cached_property
    def largest(self) -> float:
        return max(float(self.row(i).max()) for i in range(len(self.cells)))


@lru_cache(maxsize=4)
def _make(source: ElasticMap) -> _Made:
    """Fit the metric: as little noise as the requirement allows. Nothing but public numbers enters.

    At first the rate is epsilon over the straight distance of the crowd. Then, a few times, it is multiplied by epsilon
    over the elastic distance within which a cell finds its crowd; then it is lowered where cells do not find theirs, in
    all of the crowd they would need. At last all rates are scaled together until every cell finds it.
    """
    cells = cut(source.crowd, source.scaling.corners[1], source.cells)
    wanted = source.level - 2 * ROUNDING
    if wanted <= 0:
        raise InvalidArgument("epsilon", source.level, f"above {2 * ROUNDING:.2g}, what rounding costs", "epsilon=1.0")
    rates = wanted / np.maximum(_radii(cells, cells.middles, source.people), cells.sides / 2)
    fastest = 2 * wanted / cells.sides  # a cell that is a crowd by itself would ask for ever more
    for step in range(_ROUNDS + _REPAIRS):
        paths = cells.paths(rates)
        _, sums, reached = _fitted(paths, cells, rates, source.people)
        if step < _ROUNDS:
            rates = np.minimum(rates * wanted / np.maximum(reached, wanted / 2), fastest)
            continue
        slower, logs = np.ones(len(cells)), np.log(sums)
        for cell in np.flatnonzero(reached > wanted):
            crowd_of = paths[cell] + np.abs(logs - logs[cell]) <= reached[cell]
            slower[crowd_of] = np.maximum(slower[crowd_of], reached[cell] / wanted)
        rates = rates / slower
    paths = cells.paths(rates)
    low, high = 0.0, 2.0
    for _ in range(_SEARCH):
        scale = (low + high) / 2
        held = _fitted(scale * paths, cells, rates, source.people)[2].max() <= wanted
        low, high = (scale, high) if held else (low, scale)
    rates *= low * (1 - 1e-6)
    paths = cells.paths(rates)
    weights, sums, _ = _fitted(paths, cells, rates, source.people)
    # The least chance, weight · e^-T / N, is twice what the table can hold.
    reach = math.log(weights.min() / sums.max() * WHOLE / (2 * LEAST))
    kernel = np.exp(-np.minimum(paths, reach)) * weights
    sums = kernel.sum(axis=1)
    logs = np.rint(np.log(sums) / GRAIN) * GRAIN
    reached = _reached(paths, logs, cells.people, source.people)
    reached = np.where(reached > 0, reached + ROUNDING, 0.0)
    if reached.max() > source.level:
        raise ArithmeticError("the elastic metric does not meet its requirement")  # never seen; never released
    table = ChanceTable(kernel / sums[:, None], np.arange(len(cells)))
    return _Made(cells, source.side, paths, logs, reached, table)


def _fitted(
    paths: FloatArray, cells: Cells, rates: FloatArray, people: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights of the outcomes, the sums N under them, and where each cell finds its crowd.

    Weights begin as a cell's size in the elastic metric; a few steps of Richardson and Lucy make the sums more alike.
    """
    kernel, weights = np.exp(-paths), cells.volumes * rates ** cells.lower.shape[1]
    weights, total = weights / weights.sum(), kernel.sum(axis=0)
    for _ in range(_EVENING):
        weights = weights * (kernel @ (1 / (kernel @ weights))) / total
    weights = np.maximum(weights, _LEAST_WEIGHT * weights.mean())
    sums = kernel @ weights
    return weights, sums, _reached(paths, np.log(sums), cells.people, people)


def _radii(cells: Cells, points: FloatArray, people: float) -> FloatArray:
    """Return for each point the distance within which so many people are, to the middles of their cells."""
    found = np.empty(len(points))
    for i, point in enumerate(points):
        away = np.linalg.norm(cells.middles - point, axis=1)
        found[i] = away[_reaching(away, cells.people, people)]
    return found


def _reached(paths: FloatArray, logs: FloatArray, people: FloatArray, wanted: float) -> FloatArray:
    """Return for each cell the distance, but for rounding, within which so many people are."""
    found = np.empty(len(paths))
    for i in range(len(paths)):
        apart = paths[i] + np.abs(logs - logs[i])
        found[i] = apart[_reaching(apart, people, wanted)]
    return found


def _reaching(apart: FloatArray, people: FloatArray, wanted: float) -> int:
    """Return the nearest cell with which, and all nearer ones, so many people are reached."""
    order = np.argsort(apart, kind="stable")
    return int(order[min(int(np.searchsorted(np.cumsum(people[order]), wanted)), len(order) - 1)])
