"""A model of many columns: a mixture of product distributions that agrees with noisy marginals.

p(x) = (1/K) Σ_k Π_j q_kj(x_j). Each component is a soft row. The fit minimises

    Σ_r Σ_c (N p_r(c) - y_r(c))² / (2 v_r(c)) + λ N Σ_k (1/K) Σ_j KL(q_kj ‖ q_j)

over all measured marginals r, by Adam; q_j is the mean of the q_kj. The second term bounds the distance from
independence from above: what the noise allows is drawn towards independence. λ follows the discrepancy principle: it
falls while the marginals are missed by more than their noise, and rises while they are met more closely than noise
allows. Single marginals that stay missed get more weight. All pairs together are one matrix product, so nothing limits
which marginals are measured, as a junction tree would. RAP (Aydöre et al. 2021) and GEM (Liu et al. 2021) fit such
models by a fixed number of steps, without the second term. Post-processing.

The model does not have the greatest entropy. Pairs that were not measured and follow from others come out somewhat too
dependent; the second round measures those that matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.core import FloatArray, IntArray
from discreet.engines.passes import GroupedMarginal
from discreet.noise.stream import numpy_stream

#: Constants of this file were tried on a few generated tables, one to three seeds each, not on the fourteen of
#: ``benchmarks/tuning/marginals.py``.
#: Components at most and at least, and the multiplications of one matrix product for all pairs.
COMPONENTS, FEWEST_COMPONENTS, PRODUCT = 1024, 256, 1_500_000_000
#: Steps: at least, at most, and those over which the last ones shrink. The size of a step, in log-probabilities.
LEAST, LIMIT, LAST, STEP = 60, 300, 40, 0.1
#: Scatter of the first components about independence, as a standard deviation of log-probabilities.
SCATTER = 2.0
#: The residual aimed at, as a share of the mean noise: the truth has 1, and the fit takes up some of the noise.
AIM = 0.95
#: λ at first, its least and largest value, and by what share it moves in a step. The unit is one over the noise. A
#: large λ at first would draw all components to one point, from which a dependence of three columns is not seen.
PULL, MOVES, RATE = 0.1, (0.02, 4.0), 0.05
#: How much more weight than its noise allows a marginal gets at most, while it is missed.
PRESSURE = 30.0
#: A marginal of c cells is missed if its residual is above 1 + ALLOWED / √c times its mean noise.
ALLOWED = 3.0
Floats = NDArray[np.float32]


@dataclass(eq=False)
class Factor:
    """A measured marginal: its counts and their variances. An infinite variance is a count that is not known."""

    marginal: GroupedMarginal
    counts: FloatArray
    variances: FloatArray
    #: Which cells hold no row: a declared fact, not a measurement.
    empty: NDArray[np.bool_] | None = field(default=None)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return self.marginal.columns


class Mixture:
    """The model of columns with ``sizes`` bins each; ``alone`` are their estimated shares, the start of the fit."""

    def __init__(self, sizes: Sequence[int], alone: Sequence[FloatArray], root: tuple[int, int]) -> None:
        self.sizes = np.array(sizes)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        cells = int(self.sizes.sum())
        self.components = int(np.clip(PRODUCT // cells**2, FEWEST_COMPONENTS, COMPONENTS))
        stream = numpy_stream(*root)
        scatter = stream.normal(size=(self.components, cells)).astype(np.float32)
        self._theta: Floats = np.log(np.concatenate(alone)).astype(np.float32) + np.float32(SCATTER) * scatter
        self.chances = self._softmax()
        #: Columns of the factors that the last fit missed by more than their noise.
        self.missed: list[tuple[int, ...]] = []

    def fit(self, factors: Sequence[Factor], total: float) -> None:
        """Fit the model to factors, single columns first; note those whose residuals stay above their noise."""
        goals = _Goals(self, factors, total)
        first, second = np.zeros_like(self._theta), np.zeros_like(self._theta)
        pull, left = PULL, LAST
        for t in range(1, LIMIT + LAST + 1):
            gradient = goals.gradient(self.chances)
            near = bool(np.all(goals.residuals <= goals.allowed))
            if left < LAST or t > LIMIT or (t > LEAST and near and abs(goals.residual - AIM) < 0.03):
                left -= 1
            if t > LEAST / 2:
                goals.press()
                pull *= 1 + RATE * float(np.clip((AIM - goals.residual) / 0.05, -1, 1))
            pull = min(max(pull, MOVES[0]), MOVES[1])
            centre = np.log(self.chances.mean(axis=0))  # a move of all components costs nothing
            gradient += np.float32(pull * goals.unit) * (np.log(np.maximum(self.chances, 1e-9)) - centre)
            slope = self.chances * (gradient - self._spread(self._sums(gradient * self.chances)))
            first += np.float32(0.1) * (slope - first)
            second += np.float32(0.01) * (slope * slope - second)
            size = STEP * 10 ** (-2 * (1 - left / LAST)) / (1 - 0.9**t) * math.sqrt(1 - 0.99**t)
            self._theta -= np.float32(size) * first / (np.sqrt(second) + np.float32(1e-12))
            self.chances = self._softmax()
            if left == 0:
                break
        goals.gradient(self.chances)
        late = np.flatnonzero(goals.residuals > goals.allowed).tolist()
        self.missed = [factors[i].columns for i in late]

    def expected(self, marginals: Iterable[GroupedMarginal]) -> list[FloatArray]:
        """Return the shares that the model gives to the cells of marginals."""
        return [self._expected(m) for m in marginals]

    def _expected(self, marginal: GroupedMarginal) -> FloatArray:
        *before, last = [self.grouped(c, g) for c, g in zip(marginal.columns, marginal.groups, strict=True)]
        made = np.asarray((_crossed(before).T @ last).ravel() / len(last) if before else last.mean(axis=0), np.float64)
        return np.asarray(made / made.sum(), np.float64)

    def column(self, column: int) -> Floats:
        """Return the chances of the bins of a column in every component."""
        return self.chances[:, self.starts[column] : self.starts[column] + self.sizes[column]]

    def grouped(self, column: int, groups: IntArray, chances: Floats | None = None) -> Floats:
        """Return the chances of groups of bins of a column in every component."""
        start = self.starts[column]
        own = (self.chances if chances is None else chances)[:, start : start + len(groups)]
        n = int(groups.max()) + 1
        return own if n == len(groups) and (groups == np.arange(n)).all() else own @ _member(groups)

    def _softmax(self) -> Floats:
        tops = np.maximum.reduceat(self._theta, self.starts, axis=1)
        made = np.exp(self._theta - self._spread(tops))
        return np.asarray(made / self._spread(self._sums(made)), np.float32)

    def _sums(self, x: Floats) -> Floats:
        return np.asarray(np.add.reduceat(x, self.starts, axis=1), np.float32)

    def _spread(self, x: Floats) -> Floats:
        return np.repeat(x, self.sizes, axis=1)


class _Goals:
    """The factors as flat arrays: shares, precisions, and where their cells lie in the matrix of all pairs."""

    def __init__(self, model: Mixture, factors: Sequence[Factor], total: float) -> None:
        self._model, self._cells = model, int(model.sizes.sum())
        ends = np.concatenate([[0], np.cumsum([len(f.counts) for f in factors])]).astype(np.int64)
        self._ends = ends
        self._goal = np.concatenate([f.counts for f in factors]) / total
        variances = np.concatenate([f.variances for f in factors]) / total**2
        self._precision = 1 / np.maximum(variances, (1e-3 / self._cells) ** 2)
        noise = np.sqrt(np.where(self._precision > 0, 1 / np.maximum(self._precision, 1e-300), 0.0) * (2 / math.pi))
        self._noise = np.add.reduceat(noise, ends[:-1])
        self._together = np.array([len(f.columns) > 1 and f.empty is None for f in factors])
        self.allowed = 1 + ALLOWED / np.sqrt([len(f.counts) for f in factors])
        roots = [np.sqrt(self._precision[ends[i] : ends[i + 1]]) for i in np.flatnonzero(self._together)]
        #: One over the noise of a count, as a share of all rows: the unit of λ.
        self.unit = float(np.mean(np.concatenate(roots))) if roots else 1.0
        rows, columns, cells = [], [], []
        for f, start in zip(factors, ends, strict=False):
            if len(f.columns) == 2:
                (a, b), (one, two) = f.columns, f.marginal.groups
                rows.append(np.repeat(model.starts[a] + np.arange(len(one)), len(two)))
                columns.append(np.tile(model.starts[b] + np.arange(len(two)), len(one)))
                cells.append(start + (one[:, None] * f.marginal.shape[1] + two).ravel())
        empty = np.zeros(0, np.int64)
        self._pairs = np.concatenate([empty, *rows]) * self._cells + np.concatenate([empty, *columns])
        self._of = np.concatenate([empty, *cells])
        self._more = [(f, int(a)) for f, a in zip(factors, ends, strict=False) if len(f.columns) == 3]
        self.residual, self.residuals = 1.0, np.zeros(len(factors))
        self._pressure, self._lengths = np.ones(len(factors)), np.diff(ends)

    def press(self) -> None:
        """Give marginals that are missed by more than their noise more weight, and others less again."""
        late = self.residuals > self.allowed
        self._pressure = np.clip(self._pressure * np.where(late, 1 + RATE, 1 - RATE / 2), 1.0, PRESSURE)

    def gradient(self, chances: Floats) -> Floats:
        """Return the gradient by the components' chances, times K; and note the residuals."""
        k, model = len(chances), self._model
        both = (chances.T @ chances) / np.float32(k)
        # Of no pairs at all, NumPy counts in whole numbers.
        found = np.bincount(self._of, weights=both.ravel()[self._pairs], minlength=int(self._ends[-1])).astype(
            np.float64
        )
        found[: self._cells] = chances.mean(axis=0)  # single columns come first
        crossed = []
        for f, a in self._more:
            sides = [model.grouped(c, g, chances) for c, g in zip(f.columns, f.marginal.groups, strict=True)]
            pair = _crossed(sides[:2])
            found[a : a + len(f.counts)] = (pair.T @ sides[2]).ravel() / k
            crossed.append((sides, pair))
        off = np.where(self._precision > 0, found - self._goal, 0.0)
        self.residuals = np.add.reduceat(np.abs(off), self._ends[:-1]) / np.maximum(self._noise, 1e-300)
        if self._together.any():
            self.residual = float(np.average(self.residuals[self._together], weights=self._noise[self._together]))
        drive = off * self._precision * np.repeat(self._pressure, self._lengths)
        square = self._cells * self._cells
        into = np.bincount(self._pairs, weights=drive[self._of], minlength=square).reshape(self._cells, self._cells)
        made = chances @ (into + into.T).astype(np.float32)
        made += drive[: self._cells].astype(np.float32)
        for (f, a), (sides, pair) in zip(self._more, crossed, strict=True):
            shape = f.marginal.shape
            table = drive[a : a + len(f.counts)].astype(np.float32).reshape(-1, shape[2])
            inner = (sides[2] @ table.T).reshape(k, shape[0], shape[1])
            slopes = np.einsum("kab,kb->ka", inner, sides[1]), np.einsum("kab,ka->kb", inner, sides[0]), pair @ table
            for c, groups, slope in zip(f.columns, f.marginal.groups, slopes, strict=True):
                made[:, model.starts[c] : model.starts[c] + len(groups)] += slope[:, groups]
        return np.asarray(made, np.float32)


def _member(groups: IntArray) -> Floats:
    return np.asarray(groups[:, None] == np.arange(int(groups.max()) + 1), np.float32)


def _crossed(sides: Sequence[Floats]) -> Floats:
    made = sides[0]
    for side in sides[1:]:
        made = (made[:, :, None] * side[:, None, :]).reshape(len(made), -1)
    return made
