"""The elastic metric and the law of its noise.

After an idea of Chatzikokolakis, Palamidessi and Stronati (2015): distances follow the number of people. The
exponential mechanism for any metric uses *half* the distance as score, because its normalising sums differ from place
to place. Here the weights of the outcomes keep them nearly equal, and the rest of their difference is part of the
stated metric. That is exact and saves the factor of 2:

- d(x, z) is the length of the shortest path between cells. Probabilities are proportional to w(z) e^(-min(d(x, z), T))
  and have the sum N(x). Since |min(d(x, z), T) - min(d(x', z), T)| <= d(x, x') for any T,

      P(z | x) <= e^(d(x, x') + |ln N(x) - ln N(x')|) P(z | x')     for all z,

  with equality at z = x or z = x' if d(x, x') < T. T bounds how small a probability can be.
- d is a metric: lengths of shortest paths are. |ln N(x) - ln N(x')| is a pseudometric, and 2^-15 between any two cells
  is a metric. So is their sum, the *elastic metric* D. Lengths and ln N are multiples of 2^-30: their sums are exact.
- Probabilities become integers over 2^62 (`discreet.noise.choice.tabled`), none below 2^17: that changes their ratio by
  a factor of at most e^(2^-17) for each of two cells, and doubles and the rounding of ln N by less. 2^-15 covers it.

A point stands for its cell: two points of one cell are indistinguishable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.metric.elastic.cells import GRAIN, Cells, cut
from discreet.metric.elastic.people import PeopleGrid
from discreet.metric.geometry.scaling import Scaling
from discreet.noise.choice import LEAST, WHOLE, ChanceTable

#: What rounding adds to the distance of any two cells.
ROUNDING = 2.0**-15
#: Rounds in which rates are fitted to the requirement, and those in which they are only lowered where it is missed;
#: steps that make the sums alike, and those of the last search.
_ROUNDS, _REPAIRS, _EVENING, _SEARCH = 4, 3, 40, 20
#: Weights of outcomes are at least this part of their mean: no chance may vanish.
_LEAST_WEIGHT = 1e-4


class ElasticLaw:
    """The elastic metric of a map, and forecasts of its noise.

    Made by `ElasticLaplace.law`. Points are rows of the numeric columns, in their own units; without points, answers
    are for the middles of all cells. Distances are in the declared metric, levels in the elastic one.

    Attributes
    ----------
    lower, upper, places, people : array
        Corners of the cells in the columns' own units, their middles, which are reported, and the people in each.

    Examples
    --------
    >>> import discreet as dc
    >>> town = np.ones((8, 8))
    >>> town[2:4, 2:4] = 1000
    >>> noise = dc.metric.ElasticLaplace(2, 500, dc.Domain.box([0, 0], [8, 8]), density=town, cells=200)
    >>> inside, outside = noise.law.expected_error([[3, 3], [7, 7]])
    >>> bool(2 * inside < outside), bool(noise.law.people_level().max() <= 2)
    (True, True)
    """

    def __init__(self, scaling: Scaling, known: PeopleGrid, level: float, people: float, most: int) -> None:
        widths = tuple(scaling.corners[1].tolist())
        self._made = _make(known.counts.tobytes(), known.counts.shape, known.side, widths, level, people, most)
        self._scaling, self._wanted = scaling, people
        cells = self._made.cells
        self.lower, self.upper, self.places = (self._scaling.back(x) for x in (cells.lower, cells.upper, cells.middles))
        self.people = cells.people

    @property
    def table(self) -> ChanceTable:
        """The exact probabilities of every report, for every cell."""
        return self._made.table

    def draw(self, points: Any, stream: Any) -> FloatArray:
        """Report a place for every point, in the columns' own units."""
        return np.asarray(self.places[self.table.draw(self.cells(points), stream)])

    def cells(self, points: Any) -> IntArray:
        """Return the cells of points; points outside the box count as at its edge."""
        scaled = self._scaling.forward(self._points(points))
        owner = self._made.cells.owner
        squares = np.clip((scaled / self._made.side).astype(np.int64), 0, np.array(owner.shape) - 1)
        return np.asarray(owner[tuple(squares.T)])

    def distance(self, points: Any, others: Any) -> FloatArray:
        """Return the elastic distance of points from others, row by row."""
        return self._made.distance(self.cells(points), self.cells(others))

    def people_within(self, level: float, points: Any = None) -> FloatArray:
        """Return how many people, by the density, are within an elastic distance of each point."""
        limit, made = float(checks.positive("level", level)), self._made
        found = [made.cells.people[made.row(i) <= limit].sum() for i in self._own(points)]
        return np.array(found)

    def people_level(self, points: Any = None) -> FloatArray:
        """Return the elastic distance within which each point has ``min_people`` people: at most epsilon."""
        return self._made.reached[self._own(points)]

    def people_radius(self, points: Any = None) -> FloatArray:
        """Return the distance of ``min_people`` people from each point in the declared metric, to the middles of cells.

        With this radius, `NDLaplace` hides the point among as many people at the same epsilon.
        """
        return _radii(self._made.cells, self._scaled(points), self._wanted)

    def expected_error(self, points: Any = None) -> FloatArray:
        """Return the mean distance of a report from each point."""
        return self._each(points, lambda chances, away: (chances * away).sum(axis=1))

    def accuracy_radius(self, delta: float, points: Any = None) -> FloatArray:
        """Return the distance that each point's report exceeds with probability ``delta``."""
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
        """Compute a function of the probabilities of all reports and their distances, some points at a time."""
        rows, own = self._own(points), self._scaled(points)
        found = np.empty(len(rows))
        for start in range(0, len(rows), 256):
            part = slice(start, start + 256)
            away = np.linalg.norm(own[part, None] - self._made.cells.middles[None], axis=2)
            found[part] = what(self.table.chances(rows[part]), away)
        return found


@dataclass(frozen=True, eq=False)
class _Made:
    """A finished metric: cells, lengths of paths, ln N, the level at which each cell has its people, and the table."""

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
def _make(counts: bytes, shape: Any, side: float, widths: Any, level: float, people: float, most: int) -> _Made:
    """Fit the metric from public numbers: as little noise as the requirement allows.

    The rate starts as epsilon over the straight distance of ``min_people`` people. A few times it is multiplied by
    epsilon over the elastic distance at which a cell has its people. Then it is lowered around cells that do not have
    theirs. At last all rates are scaled together until every cell has them.
    """
    cells = cut(PeopleGrid(np.frombuffer(counts).reshape(shape), side, ""), np.array(widths), most)
    wanted = level - 2 * ROUNDING
    if wanted <= 0:
        raise InvalidArgument("epsilon", level, f"above {2 * ROUNDING:.2g}, what rounding costs", "epsilon=1.0")
    rates = wanted / np.maximum(_radii(cells, cells.middles, people), cells.sides / 2)
    fastest = 2 * wanted / cells.sides  # a cell with enough people by itself would ask for ever more
    for step in range(_ROUNDS + _REPAIRS):
        paths = cells.paths(rates)
        _, sums, reached = _fitted(paths, cells, rates, people)
        if step < _ROUNDS:
            rates = np.minimum(rates * wanted / np.maximum(reached, wanted / 2), fastest)
            continue
        slower, logs = np.ones(len(cells)), np.log(sums)
        for cell in np.flatnonzero(reached > wanted):
            near = paths[cell] + np.abs(logs - logs[cell]) <= reached[cell]
            slower[near] = np.maximum(slower[near], reached[cell] / wanted)
        rates = rates / slower
    paths = cells.paths(rates)
    low, high = 0.0, 2.0
    for _ in range(_SEARCH):
        scale = (low + high) / 2
        held = _fitted(scale * paths, cells, rates, people)[2].max() <= wanted
        low, high = (scale, high) if held else (low, scale)
    rates *= low * (1 - 1e-6)
    paths = cells.paths(rates)
    weights, sums, _ = _fitted(paths, cells, rates, people)
    # The least chance, weight · e^-T / N, is twice what the table can hold.
    reach = math.log(weights.min() / sums.max() * WHOLE / (2 * LEAST))
    kernel = np.exp(-np.minimum(paths, reach)) * weights
    sums = kernel.sum(axis=1)
    logs = np.rint(np.log(sums) / GRAIN) * GRAIN
    reached = _reached(paths, logs, cells.people, people)
    reached = np.where(reached > 0, reached + ROUNDING, 0.0)
    if reached.max() > level:
        raise ArithmeticError("the elastic metric does not meet its requirement")  # never seen; never released
    table = ChanceTable(kernel / sums[:, None], np.arange(len(cells)))
    return _Made(cells, side, paths, logs, reached, table)


def _fitted(
    paths: FloatArray, cells: Cells, rates: FloatArray, people: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights of the outcomes, the sums N, and the level at which each cell has its people.

    Weights start as a cell's size in the elastic metric; a few steps of Richardson and Lucy make the sums more equal.
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
    """Return for each cell the distance, without rounding, within which so many people are."""
    found = np.empty(len(paths))
    for i in range(len(paths)):
        apart = paths[i] + np.abs(logs - logs[i])
        found[i] = apart[_reaching(apart, people, wanted)]
    return found


def _reaching(apart: FloatArray, people: FloatArray, wanted: float) -> int:
    """Return the nearest cell with which, and all nearer ones, so many people are reached."""
    order = np.argsort(apart, kind="stable")
    return int(order[min(int(np.searchsorted(np.cumsum(people[order]), wanted)), len(order) - 1)])
