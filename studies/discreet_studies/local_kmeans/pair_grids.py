"""k-means under pure local ε, one report per device: grids of pairs of columns, and a mixture fitted to all of them.

The reports are those of TDG (Yang, Wang, Li, Cheng, Su 2020, "Answering multi-dimensional range queries under local
differential privacy"): a device draws a pair of columns and reports the cell of its row in the grid of that pair, with
all of ε, by an optimal frequency oracle. The number of cells grows with the square of the bins, not with their power to
the number of columns. Clusters are found by a fit of our own: k components with independent columns, normal for numbers
and free for categories, whose pairs agree best with all noisy grids at once (weighted least squares).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri, softmax

from discreet import noise
from discreet.clustering import weighted_kmeans
from discreet.core import FloatArray, IntArray
from discreet.evaluation.attacks import draws
from discreet.local import DirectResponse, ProjectiveGeometry

#: Bins of a number: this factor times the sixth root of the exact reports that one grid is worth, within these ends.
#: Chosen on generated tables with seeds that the study does not use.
_FACTOR, _FEWEST, _MOST = 1.65, 4, 12
#: Starts of the fit, their steps, and steps of the best two.
_STARTS, _STEPS, _LAST_STEPS = 16, 40, 300
#: What holds the fit where noise covers the clusters, in shares of a column's range: deviation of a mean about the
#: middle, usual deviation of a cluster and by how much (in logarithms) it varies, deviation of a category's logit.
_MEAN, _USUAL, _VARIES, _LOGIT = 0.35, 0.1, 0.7, 2.0
#: Components beyond the number of clusters: clusters of real tables are not normal. Points that stand for each.
_MORE, _POINTS = 2, 500


@dataclass(frozen=True)
class PairGrids:
    """The public parameters of a collection, and its devices.

    Parameters
    ----------
    epsilon : float
        Budget of a report.
    numbers : int
        Numeric columns, in [0, 1].
    categories : tuple of int
        How many values each categorical column has.
    bins : int
        Bins of a numeric column.

    Privacy
    -------
    Neighbours: any two rows of one device, which may differ in every column. The pair is drawn without looking at the
    row. Given the pair, the report is that of a frequency oracle about one of finitely many cells, with a ratio of at
    most e^ε. So a report (pair, answer) is at most e^ε times as likely under one row as under another. Cost: ε per
    device; it reports once. Everything after that is post-processing.

    Examples
    --------
    >>> grids = PairGrids(1.0, 2, (3,), 4)
    >>> grids.sizes, grids.pairs
    ((4, 4, 3), [(0, 1), (0, 2), (1, 2)])
    """

    epsilon: float
    numbers: int
    categories: tuple[int, ...] = ()
    bins: int = 8

    @classmethod
    def planned(cls, epsilon: float, numbers: int, categories: tuple[int, ...], n: int) -> PairGrids:
        """Choose the bins from public facts alone: ε, the columns and the number of devices."""
        columns = numbers + len(categories)
        answers = n / math.comb(columns, 2)
        worth = answers / oracle(epsilon, 36).variance(1, 1 / 36)
        return cls(epsilon, numbers, categories, int(np.clip(round(_FACTOR * worth ** (1 / 6)), _FEWEST, _MOST)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each column once it is cut into bins."""
        return (self.bins,) * self.numbers + self.categories

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of columns."""
        return list(combinations(range(len(self.sizes)), 2))

    def codes(self, X: FloatArray, labels: IntArray) -> IntArray:
        """Return the bins of the numbers, followed by the categories."""
        cut = np.clip((np.asarray(X) * self.bins).astype(np.int64), 0, self.bins - 1)
        return np.concatenate([cut, labels], axis=1)

    def oracle(self, pair: tuple[int, int]) -> Any:
        """The oracle of the cells of a pair."""
        return oracle(self.epsilon, self.sizes[pair[0]] * self.sizes[pair[1]])

    def report_law(self, row: IntArray) -> list[tuple[Any, FloatArray]]:
        """Return, for every pair, all answers and the probabilities of (pair, answer) given a row of codes."""
        found = []
        for a, b in self.pairs:
            answers, chances = self.oracle((a, b)).report_law(int(row[a] * self.sizes[b] + row[b]))
            found.append((answers, np.asarray(chances) / len(self.pairs)))
        return found

    def collect(self, codes: IntArray, seed: int) -> tuple[FloatArray, FloatArray]:
        """Report on rows and estimate all grids: shares and their precisions, as blocks of one symmetric matrix."""
        stream, ends = noise.generator(seed), np.concatenate([[0], np.cumsum(self.sizes)])
        drawn = noise.below(len(self.pairs), size=len(codes), rng=stream)
        shares, precision = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
        for place, (a, b) in enumerate(self.pairs):
            own = codes[drawn == place]
            n = len(own)
            if not n:
                continue
            made = self.oracle((a, b))
            reports = made.encode(own[:, a] * self.sizes[b] + own[:, b], rng=stream)
            found = made.estimate(made.aggregate(reports)).count.reshape(self.sizes[a], self.sizes[b]) / n
            first, second = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
            shares[first, second], shares[second, first] = found, found.T
            precise = n**2 / float(made.variance(n, n / found.size))
            precision[first, second] = precision[second, first] = precise
        return shares, precision


def oracle(epsilon: float, cells: int) -> Any:
    """Return the oracle with the smaller error for a value of average frequency."""
    made = (DirectResponse(epsilon, cells), ProjectiveGeometry(epsilon, cells))
    return min(made, key=lambda m: float(m.variance(1, 1 / cells)))


@dataclass(frozen=True)
class _Fit:
    """Components with independent columns against the pairs that were collected."""

    grids: PairGrids
    shares: FloatArray
    precision: FloatArray
    k: int

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, list[FloatArray]]:
        """Return logits of the shares, means, log deviations, and logits of each categorical column."""
        rows, d = x.reshape(self.k, -1), self.grids.numbers
        ends = 1 + 2 * d + np.cumsum((0, *self.grids.categories))
        logits = [rows[:, a:b] for a, b in pairwise(ends)]
        return rows[:, 0], rows[:, 1 : 1 + d], rows[:, 1 + d : 1 + 2 * d], logits

    def loss(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return half the weighted squares, with what holds the parameters, and the gradient."""
        weights, means, logs, logits = self.parts(x)
        k, d, g = self.k, self.grids.numbers, self.grids.bins
        widths = np.exp(np.clip(logs, -4, 1))[:, :, None]
        z = (np.arange(1, g) / g - means[:, :, None]) / widths
        below = np.concatenate([np.zeros((k, d, 1)), ndtr(z), np.ones((k, d, 1))], axis=2)
        held = np.concatenate(
            [np.diff(below, axis=2).reshape(k, d * g), *(softmax(part, axis=1) for part in logits)], axis=1
        )
        share = softmax(weights)[:, None]
        apart = held.T @ (share * held) - self.shares
        pulled = held @ (self.precision * apart)
        # Every pair is in the matrix twice.
        value = float((self.precision * apart**2).sum()) / 4
        slope = np.empty((k, x.size // k))
        by_share = (pulled * held).sum(axis=1, keepdims=True) / 2
        slope[:, :1] = share * (by_share - float((share * by_share).sum())) + weights[:, None]
        by_held = share * pulled
        by_edge = -np.diff(by_held[:, : d * g].reshape(k, d, g), axis=2)
        bell = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        slope[:, 1 : 1 + d] = (-by_edge * bell / widths).sum(axis=2) + (means - 0.5) / _MEAN**2
        usual = math.log(_USUAL)
        slope[:, 1 + d : 1 + 2 * d] = (-by_edge * bell * z).sum(axis=2) + (logs - usual) / _VARIES**2
        value += float((weights**2).sum() + ((means - 0.5) ** 2).sum() / _MEAN**2) / 2
        value += float(((logs - usual) ** 2).sum()) / 2 / _VARIES**2
        place = d * g
        for part in logits:
            own, by = held[:, place : place + part.shape[1]], by_held[:, place : place + part.shape[1]]
            at = 1 + 2 * d + place - d * g
            slope[:, at : at + part.shape[1]] = own * (by - (own * by).sum(axis=1, keepdims=True)) + part / _LOGIT**2
            value += float((part**2).sum()) / 2 / _LOGIT**2
            place += part.shape[1]
        return value, slope.ravel()

    def best(self, stream: noise.Generator) -> FloatArray:
        """Climb from several starts; go on with the best two."""

        def climb(start: FloatArray, steps: int) -> Any:
            return minimize(self.loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})

        d, tried = self.grids.numbers, []
        for _ in range(_STARTS):
            drawn = draws.uniforms((self.k, 1 + 2 * d + sum(self.grids.categories)), stream)
            start = ndtri(drawn) / 2
            start[:, 0], start[:, 1 : 1 + d], start[:, 1 + d : 1 + 2 * d] = 0, 0.1 + 0.8 * drawn[:, 1 : 1 + d], -1.6
            tried.append(climb(start.ravel(), _STEPS))
        tried.sort(key=lambda found: float(found.fun))
        last = [climb(found.x, _LAST_STEPS) for found in tried[:2]]
        return np.asarray(min(last, key=lambda found: float(found.fun)).x)


def pair_grid_kmeans(
    X: FloatArray, labels: IntArray, categories: tuple[int, ...], k: int, epsilon: float, seed: int, weight: float
) -> FloatArray:
    """Return k centres of rows from one report per row.

    ``X`` has numbers in [0, 1], ``labels`` the numbers of categories; a mismatch in a category costs ``weight``. The
    centres hold the numbers, then the shares of every category, as `encoded` has them.

    Examples
    --------
    >>> X = np.repeat([[0.2, 0.3], [0.8, 0.6]], 5000, axis=0)
    >>> pair_grid_kmeans(X, np.empty((10_000, 0), int), (), 2, 4.0, 1, 0.1).round(1).tolist()
    [[0.2, 0.3], [0.8, 0.6]]
    """
    grids = PairGrids.planned(epsilon, X.shape[1], categories, len(X))
    shares, precision = grids.collect(grids.codes(X, labels), seed)
    stream = noise.generator(seed + 10**6)
    parts = k + _MORE
    fit = _Fit(grids, shares, precision, parts)
    weights, means, logs, logits = fit.parts(fit.best(stream))
    drawn = draws.uniforms((parts, _POINTS, X.shape[1] + len(categories)), stream)
    numbers = means[:, None] + np.exp(np.clip(logs, -4, 1))[:, None] * ndtri(drawn[:, :, : X.shape[1]])
    held = [softmax(part, axis=1).cumsum(axis=1)[:, None, :-1] for part in logits]
    codes = [(drawn[:, :, X.shape[1] + j, None] > part).sum(axis=2).reshape(-1) for j, part in enumerate(held)]
    points = np.clip(numbers, 0, 1).reshape(-1, X.shape[1])
    chosen = np.stack(codes, axis=1) if codes else np.empty((len(points), 0), np.int64)
    found = weighted_kmeans(
        encoded(points, chosen, categories, weight), np.repeat(softmax(weights), _POINTS), k, n_init=4, seed=0
    )
    return np.asarray(found.centers)


def encoded(X: FloatArray, labels: IntArray, categories: tuple[int, ...], weight: float) -> FloatArray:
    """Return numbers and marks for categories, such that two rows with different categories are ``weight`` apart.

    Examples
    --------
    >>> encoded(np.array([[0.5]]), np.array([[1]]), (2,), 0.5).tolist()
    [[0.5, 0.0, 0.5]]
    """
    marks = [math.sqrt(weight / 2) * np.eye(size)[labels[:, j]] for j, size in enumerate(categories)]
    return np.concatenate([X, *marks], axis=1)
