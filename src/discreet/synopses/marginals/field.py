"""A field over the columns: the distribution of greatest entropy that agrees with noisy marginals, held as rows.

The model is p(x) ∝ exp Σ_r θ_r(x_r), one table θ_r per measured marginal. It minimises Σ_r Σ_c (N p_r(c) - y_r(c))² /
(2 v_r(c)) + β N KL(p ‖ independence): what the noise allows is drawn towards independence. θ climbs by stochastic
steps: a population of rows is drawn anew given θ, column by column (Gibbs), its marginals stand for those of the model,
and θ moves by what is left. Columns that nearly determine each other are drawn as pairs. Nothing bounds the shape of
the chosen set, as a junction tree would. Post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray, in_order
from discreet.engines.passes import GroupedMarginal, MarginalTally
from discreet.noise.stream import numpy_stream
from discreet.synopses.marginals import _field_kernels as kernels

#: β times the noise, for pairs and for triples: groups are made for cells of a few times the noise, so what is drawn
#: towards independence is the same share of a cell at every budget. Chosen on four generated tables of
#: ``benchmarks/tuning/marginals.py``, one or two seeds each; its full grid was not run.
INDEPENDENCE, INDEPENDENCE_OF_TRIPLES = 1.0, 2.5
#: No table entry goes beyond this: exp(12) is 160,000 to one.
_LARGEST = 12.0
#: Rows of the population that a thread takes at a time.
_AT_ONCE = 2**14
#: Steps over which marginals are averaged at the end.
_AVERAGED = 12
#: Table entries that may be read in order to even out the population: bounds what is watched.
WATCHING = 700_000_000
#: Times that every row is drawn anew for it; cells of a marginal that is watched at most, and of all of them.
EVENED, _WATCHED_CELLS, _ALL_WATCHED = 3, 10_000, 2**20


@dataclass(eq=False)
class Factor:
    """A measured marginal and its table θ.

    ``fixed`` says that the table is known: which cells can hold a row at all. ``theta`` is drawn towards ``rest`` where
    the noise allows; 0 is independence.
    """

    marginal: GroupedMarginal
    counts: FloatArray
    variances: FloatArray
    fixed: bool = False
    theta: FloatArray = field(init=False)
    rest: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.theta = np.zeros(len(self.counts))
        self.rest = np.zeros(len(self.counts))

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return self.marginal.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups per column."""
        return self.marginal.shape

    def table(self, *last: int) -> FloatArray:
        """Return exp θ with some columns as the last axes, laid out by bins instead of groups, largest entry 1."""
        made = np.moveaxis(self.theta.reshape(self.shape), [self.columns.index(c) for c in last], range(-len(last), 0))
        for k, c in enumerate(last):
            groups = self.marginal.groups[self.columns.index(c)]
            made = np.take(made, groups, axis=made.ndim - len(last) + k)
        return np.asarray(np.exp(made - made.max()).ravel(), np.float64)


class _Side:
    """Arrays with which a kernel draws one column, given the others."""

    def __init__(self, factors: Sequence[Factor], sizes: Sequence[int], column: int, starts: Sequence[int]) -> None:
        k, most = len(factors), max(sizes)
        self.factors, self.column, self.size = factors, column, sizes[column]
        self.near, self.far = np.full(k, -1, np.int64), np.full(k, -1, np.int64)
        self.steps, self.cells = np.zeros((k, 2, most), np.int64), np.zeros((k, 3, most), np.int64)
        self.own = np.zeros((k, most), np.int64)
        states = np.ones(k, np.int64)
        for i, factor in enumerate(factors):
            me = factor.columns.index(column)
            strides = [math.prod(factor.shape[q + 1 :]) for q in range(len(factor.columns))]
            self.own[i, : self.size] = factor.marginal.groups[me] * strides[me]
            self.cells[i, 2, 0] = starts[i]
            others = [q for q in range(len(factor.columns)) if q != me]
            for place, q in enumerate(others):
                groups = factor.marginal.groups[q]
                inner = math.prod(factor.shape[other] for other in others[place + 1 :])
                (self.near, self.far)[place][i] = factor.columns[q]
                self.steps[i, place, : len(groups)] = groups * inner
                self.cells[i, place, : len(groups)] = groups * strides[q]
                states[i] *= factor.shape[q]
        self.starts = np.concatenate([[0], np.cumsum(states * self.size)])[:k]

    def layout(self) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
        tables = [factor.table(self.column) for factor in self.factors]
        return self.near, self.far, self.steps, np.concatenate(tables) if tables else np.ones(1), self.starts


class Field:
    """The model and its population ``codes`` (columns by rows), changed in place with randomness from ``root``.

    ``sizes`` are bins per column; ``factors`` of single columns come first, one per column. ``pairs`` of columns are
    drawn together. `settle` frees the ``watched`` marginals of the scatter of drawn rows.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        factors: Sequence[Factor],
        total: float,
        codes: AnyArray,
        root: tuple[int, int],
        pairs: Sequence[tuple[int, int]] = (),
        watched: Sequence[GroupedMarginal] = (),
    ) -> None:
        self._watched = [Factor(m, np.zeros(m.n_cells), np.zeros(m.n_cells)) for m in watched]
        self.sizes, self.factors, self.total, self.codes = list(sizes), list(factors), total, codes
        self._stream = numpy_stream(*root)
        ends = np.concatenate([[0], np.cumsum([len(f.counts) for f in factors])])
        self._ends = ends
        start = {id(f): int(e) for f, e in zip(factors, ends, strict=False)}
        self._at = [[f for f in factors if j in f.columns] for j in range(len(sizes))]
        self._sides = [_Side(at, sizes, j, [start[id(f)] for f in at]) for j, at in enumerate(self._at)]
        self._pairs = [self._pair(a, b) for a, b in pairs]

    def _pair(self, a: int, b: int) -> tuple[_Side, _Side, list[Factor], IntArray, IntArray, IntArray]:
        apart = [
            _Side([f for f in self._at[j] if other not in f.columns], self.sizes, j, [0] * len(self._at[j]))
            for j, other in ((a, b), (b, a))
        ]
        shared = [f for f in self._at[a] if b in f.columns]
        third = np.full(len(shared), -1, np.int64)
        steps = np.zeros((len(shared), max(self.sizes)), np.int64)
        states = np.ones(len(shared), np.int64)
        for i, factor in enumerate(shared):
            for q, c in enumerate(factor.columns):
                if c not in (a, b):
                    groups = factor.marginal.groups[q]
                    third[i], steps[i, : len(groups)], states[i] = c, groups, factor.shape[q]
        starts = np.concatenate([[0], np.cumsum(states * self.sizes[a] * self.sizes[b])])[: len(shared)]
        return apart[0], apart[1], shared, third, steps, starts

    def sweep(self) -> None:
        """Draw every column of every row anew, and the columns that go together once more."""
        for side in self._sides:
            alone = (side.column, side.size, *side.layout())
            self._draw(kernels.draw_column, alone, 1)
        for one, two, shared, third, steps, starts in self._pairs:
            joint = np.concatenate([f.table(one.column, two.column) for f in shared])
            names = one.column, two.column, one.size, two.size
            self._draw(kernels.draw_pair, (*names, *one.layout(), *two.layout(), third, steps, joint, starts), 2)

    def _draw(self, kernel: Callable[..., None], arguments: tuple[Any, ...], each: int) -> None:
        """Run a kernel over parts of the population, whose rows know nothing of each other, in several threads."""
        n = self.codes.shape[1]
        uniform = np.asarray(self._stream.random(each * n))

        def work(a: int) -> None:
            b = min(a + _AT_ONCE, n)
            kernel(self.codes[:, a:b], *arguments, uniform[each * a : each * b])

        for _ in in_order(work, range(0, n, _AT_ONCE)):
            pass

    def marginals(self) -> list[FloatArray]:
        """Return the population's counts of every factor, scaled to the number of rows."""
        scale = self.total / self.codes.shape[1]
        return [found * scale for found in count_codes(self.codes, [f.marginal for f in self.factors])]

    def fit(self, sweeps: int, first: float, last: float) -> list[FloatArray]:
        """Climb with steps that shrink from ``first`` to ``last``; return the model's marginals, averaged."""
        crowd = [sum(not f.fixed for f in at) for at in self._at]
        # Factors that share columns would all close the same gap at once.
        shares = [3 / (2 + max(crowd[c] for c in f.columns)) for f in self.factors]
        sums = [np.zeros(len(f.counts)) for f in self.factors]
        averaged = min(_AVERAGED, math.ceil(0.8 * sweeps))
        for t in range(sweeps):
            self.sweep()
            if t >= sweeps - averaged and self._watched:
                every = count_codes(self.codes, [f.marginal for f in self._watched])
                for factor, rows in zip(self._watched, every, strict=True):
                    factor.counts += rows / averaged
            step = first * (last / first) ** (t / max(sweeps - 1, 1))
            for factor, share, found, summed in zip(self.factors, shares, self.marginals(), sums, strict=True):
                if t >= sweeps - averaged:
                    summed += found
                if factor.fixed:
                    continue
                beta = (INDEPENDENCE, INDEPENDENCE, INDEPENDENCE_OF_TRIPLES)[len(factor.columns) - 1]
                pull = beta * np.sqrt(factor.variances)
                least = np.maximum(np.maximum(found, factor.counts), 0.5 * np.sqrt(factor.variances) + 0.5)
                gap = factor.counts - found - pull * (factor.theta - factor.rest)
                factor.theta += step * share * gap / (least + pull)
                np.clip(factor.theta, -_LARGEST, _LARGEST, out=factor.theta)
        return [summed / averaged for summed in sums]

    def settle(self, goals: Sequence[FloatArray], times: int = EVENED) -> None:
        """Move the population onto the model's own marginals: what drawing rows at random had blurred is gone.

        Rows drawn one by one scatter about every marginal; here each is drawn with an eye on what the others left
        short. Seen are the marginals of the factors and those that are watched, as they were on average of many draws.
        """
        n = self.codes.shape[1]
        wide = {f.columns for f in self._watched}
        # What a watched marginal says of the same columns is finer.
        own = [
            Factor(f.marginal, goal * (n / self.total), f.variances)
            for f, goal in zip(self.factors, goals, strict=True)
            if f.columns not in wide
        ]
        seen = [*own, *self._watched]
        ends = np.concatenate([[0], np.cumsum([len(f.counts) for f in seen])]).tolist()
        goal = np.concatenate([f.counts for f in seen])
        weights = 1 / (np.maximum(goal, 0.0) + 1.0)
        sides = []
        for j in range(len(self.sizes)):
            at = [i for i, f in enumerate(seen) if j in f.columns]
            sides.append(_Side([seen[i] for i in at], self.sizes, j, [ends[i] for i in at]))
        for _ in range(times):
            found = np.concatenate(count_codes(self.codes, [f.marginal for f in seen]))
            drive = (found - goal) * weights
            for side, eye in zip(self._sides, sides, strict=True):
                uniform = np.asarray(self._stream.random(n))
                alone: Any = (side.column, side.size, *side.layout(), uniform)
                watch: Any = (eye.near, eye.far, eye.cells, eye.own, drive, weights)
                kernels.even_column(self.codes, *alone, *watch)


def to_watch(sizes: Sequence[int], rows: int, target: int | None = None) -> Iterator[GroupedMarginal]:
    """Yield the marginals that a population is evened out on: pairs, triples with the target, then others.

    The smallest come first, and as many as there is time for.
    """
    every = [np.arange(size) for size in sizes]
    left, room = WATCHING / max(rows * EVENED, 1), _ALL_WATCHED
    for order in (2, 3):
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
