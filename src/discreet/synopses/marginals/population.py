"""Rows that follow a model: drawn evenly from its components, then moved onto the model's own marginals.

Rows drawn at random scatter about every marginal. Here each component has its share of the rows and every column its
share of a component's rows, and then each value is drawn anew with an eye on what other rows left short.
Post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray
from discreet.engines.passes import GroupedMarginal, MarginalTally
from discreet.noise.stream import numpy_stream
from discreet.synopses.marginals import _population_kernels as kernels
from discreet.synopses.marginals.facts import Zero, as_factors, make_possible
from discreet.synopses.marginals.mixture import Mixture

#: Table entries that may be read in order to even out the population: bounds what is watched.
WATCHING = 700_000_000
#: Times that every row is drawn anew for it; cells of a marginal that is watched at most, and of all of them.
EVENED, _WATCHED_CELLS, _ALL_WATCHED = 3, 10_000, 2**20

#: How strongly rows are drawn to cells that lack as many rows as chance would leave out.
SHARP = 2.0


class _Side:
    """Arrays with which a kernel finds the cells of marginals, given the other columns of a row."""

    def __init__(self, marginals: Sequence[GroupedMarginal], sizes: Sequence[int], column: int, starts: Sequence[int]):
        k, most = len(marginals), max(sizes)
        self.one, self.two = np.full(k, -1, np.int64), np.full(k, -1, np.int64)
        self.cells, self.own = np.zeros((k, 3, most), np.int64), np.zeros((k, most), np.int64)
        for i, m in enumerate(marginals):
            me = m.columns.index(column)
            strides = [math.prod(m.shape[q + 1 :]) for q in range(len(m.columns))]
            self.own[i, : sizes[column]] = m.groups[me] * strides[me]
            self.cells[i, 2, 0] = starts[i]
            for place, q in enumerate(q for q in range(len(m.columns)) if q != me):
                (self.one, self.two)[place][i] = m.columns[q]
                self.cells[i, place, : len(m.groups[q])] = m.groups[q] * strides[q]

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        return self.one, self.two, self.cells, self.own


def draw(model: Mixture, n: int, zeros: Sequence[Zero], target: int | None, root: tuple[int, int]) -> AnyArray:
    """Return n rows of a model (columns by rows) whose marginals follow it closely, none of them impossible."""
    sizes, stream = model.sizes.tolist(), numpy_stream(*root)
    # Every component has the same share of the rows, every bin its share of a component's rows.
    of = ((np.arange(n) + stream.random()) * (model.components / n)).astype(np.int64) % model.components
    first = np.searchsorted(of, np.arange(model.components))
    many = np.bincount(of, minlength=model.components)
    codes = np.empty((len(sizes), n), np.int16)
    for j, size in enumerate(sizes):
        order = np.argsort(of + stream.random(n), kind="stable")
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        at = (place - first[of] + stream.random(n)) / many[of]
        codes[j] = np.minimum((at[:, None] >= np.cumsum(model.column(j), axis=1)[of]).sum(axis=1), size - 1)
    make_possible(codes, zeros, (root[0], root[1] + 1))
    watched = list(to_watch(sizes, n, target))
    goal = np.concatenate([p * n for p in model.expected(watched)])
    eyes = _Eyes(sizes, watched, zeros, range(len(sizes)), goal)
    for _ in range(EVENED):
        drive = eyes.drive(codes)
        for j in range(len(sizes)):
            eyes.draw(
                codes, j, of, np.ascontiguousarray(model.column(j), np.float64), np.asarray(stream.random(n)), drive
            )
    return codes


def draw_column(
    codes: AnyArray, j: int, chances: FloatArray, sizes: Sequence[int], zeros: Sequence[Zero], root: tuple[int, int]
) -> None:
    """Draw a column of every row anew by the chances of that row; evenly, by pairs and triples. Changed in place."""
    n, stream = codes.shape[1], numpy_stream(*root)
    watched = [m for m in to_watch(sizes, n, j) if j in m.columns]
    goal = []
    for m in watched:
        others = [c for c in m.columns if c != j]
        shape = [sizes[c] for c in others]
        cell = np.ravel_multi_index([codes[c] for c in others], shape) if others else np.zeros(n, np.int64)
        made = [np.bincount(cell, own, math.prod(shape)).reshape(shape) for own in chances.T]
        goal.append(np.stack(made, axis=m.columns.index(j)).ravel())
    eyes = _Eyes(sizes, watched, zeros, [j], np.concatenate(goal))
    for _ in range(EVENED):
        eyes.draw(codes, j, np.arange(n), chances, np.asarray(stream.random(n)), eyes.drive(codes))


class _Eyes:
    """Watched marginals and how many rows their cells should have, to draw some columns anew by."""

    def __init__(
        self,
        sizes: Sequence[int],
        watched: Sequence[GroupedMarginal],
        zeros: Sequence[Zero],
        columns: Iterable[int],
        goal: FloatArray,
    ) -> None:
        banned = as_factors(zeros)
        self._watched, self._goal = watched, goal
        self._allowed = np.concatenate([np.ones(0), *(1.0 - f.empty for f in banned if f.empty is not None)])
        self._weights = SHARP / (np.sqrt(goal * (sum(len(m.columns) for m in watched) / len(sizes))) + 1.0)
        starts = np.concatenate([[0], np.cumsum([m.n_cells for m in watched])]).tolist()
        begins = np.concatenate([[0], np.cumsum([f.marginal.n_cells for f in banned])]).tolist()
        self._sides = {}
        for j in columns:
            at = [i for i, m in enumerate(watched) if j in m.columns]
            shut = [i for i, f in enumerate(banned) if j in f.columns]
            fixed = _Side([banned[i].marginal for i in shut], sizes, j, [begins[i] for i in shut])
            self._sides[j] = _Side([watched[i] for i in at], sizes, j, [starts[i] for i in at]), fixed

    def drive(self, codes: AnyArray) -> FloatArray:
        """Return by how many rows each cell has too many, times its weight."""
        return np.asarray((np.concatenate(count_codes(codes, self._watched)) - self._goal) * self._weights, np.float64)

    def draw(
        self, codes: AnyArray, j: int, of: IntArray, chances: FloatArray, uniform: FloatArray, drive: FloatArray
    ) -> None:
        """Draw a column of every row anew; ``chances[of[i]]`` are those of row i. ``drive`` is kept up to date."""
        eye, fixed = self._sides[j]
        kernels.even_column(
            codes, j, of, chances, *fixed.arrays, self._allowed, uniform, *eye.arrays, drive, self._weights
        )


def to_watch(sizes: Sequence[int], rows: int, target: int | None = None) -> Iterator[GroupedMarginal]:
    """Yield the marginals that a population is evened out on: columns, pairs, triples with the target, then others.

    The smallest come first, and as many as there is time for.
    """
    every = [np.arange(size) for size in sizes]
    left, room = WATCHING / max(rows * EVENED, 1), _ALL_WATCHED
    for order in (1, 2, 3):
        if math.comb(len(sizes), order) > 2**20:
            return
        sets = itertools.combinations(range(len(sizes)), order)
        known = [(order == 3 and target not in s, math.prod(sizes[c] for c in s), s) for s in sets]
        for _, cells, columns in sorted(known):
            if cells > _WATCHED_CELLS:
                continue
            left, room = left - sum(sizes[c] for c in columns), room - cells
            if left < 0 or room < 0:
                return
            yield GroupedMarginal(columns, [every[c] for c in columns])


def even_rows(shares: Sequence[FloatArray], n: int, root: tuple[int, int]) -> AnyArray:
    """Return a population of independent columns whose own counts follow shares as closely as whole rows can."""
    stream = numpy_stream(*root)
    codes = np.empty((len(shares), n), np.int16)
    for j, share in enumerate(shares):
        ends = np.rint(np.cumsum(share) / np.sum(share) * n).astype(np.int64)
        codes[j] = stream.permutation(np.repeat(np.arange(len(share)), np.diff(ends, prepend=0)))
    return codes


def count_codes(codes: AnyArray, marginals: Sequence[GroupedMarginal]) -> list[IntArray]:
    """Return the counts of marginals of a population, by the kernel that counts those of a table."""
    tally = MarginalTally(marginals)
    tally.add(codes)
    return np.split(tally.counts, np.cumsum([m.n_cells for m in marginals])[:-1])
