"""The column that is to be predicted, drawn anew: by a model of it given the other columns, and of nothing else.

The mixture meets the marginals with the target, but between them its chances of the target are jagged: noise makes
components differ. Here the chances given the other columns of a row are p(y | x) ∝ p(y) exp(Σ_r θ_r(x, y)), with a
number for each cell of each measured marginal r with the target. θ minimises

    Σ_i log Σ_y p(y) exp(Σ_r θ_r(x_i, y)) - Σ_r θ_r · c_r + (λ / 2) Σ_r σ_r |θ_r|²

over the rows i of the population. That is the model nearest to independence among those that meet the noisy counts c_r,
where a number θ may move a count away from what was measured by λ θ standard deviations σ_r of its noise: a logistic
regression of which only noisy counts are known. λ is smaller for little noise. Post-processing.

A target of more than two values stays as the mixture has it: of 40 columns with five values each, pairs with such a
target came out worse, because the mixture learns from all columns what noise hides in each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray, later
from discreet.synopses.marginals.facts import Zero
from discreet.synopses.marginals.mixture import Factor

optimize = later("scipy.optimize")
#: λ where the noise of a cell is as large as its rows; it falls with the square root of that ratio. Of 2.5, 5 and 10
#: the best for classifiers on fourteen generated tables at ε = 1; that it must grow with noise was seen on four at 0.1.
DRAWN = 5.0
#: Steps of the fit, and how many numbers one may look at; more rows than that are not looked at.
STEPS, LOOKED = 60, 6_000_000


class _Part:
    """What a measured marginal says about the target: noisy counts by cells of the other columns and groups of it."""

    def __init__(self, factor: Factor, target: int, codes: AnyArray, rows: float) -> None:
        marginal, n = factor.marginal, codes.shape[1]
        at = marginal.columns.index(target)
        self.groups = np.asarray(marginal.groups[at])
        self._others = [(c, g) for c, g in zip(marginal.columns, marginal.groups, strict=True) if c != target]
        self._shape = [size for q, size in enumerate(marginal.shape) if q != at]
        last = [np.moveaxis(x.reshape(marginal.shape), at, -1) for x in (factor.counts, factor.variances)]
        counts, variances = (x.reshape(-1, marginal.shape[at]) for x in last)
        self.cells, self.shape = self.cells_of(codes), counts.shape
        # Only shares of the target are to be learnt: what is measured of the others is the population's.
        own = np.bincount(self.cells, minlength=len(counts))
        self.goal = counts * (n / rows)
        self.goal += ((own - self.goal.sum(axis=1)) / self.shape[1])[:, None]
        noise = np.sqrt(variances)  # the pull is stronger where noise is large beside the rows of a cell
        self.pull = (DRAWN * n / rows) * noise * np.sqrt(noise * counts.size / rows) + 1e-6

    def cells_of(self, codes: AnyArray) -> IntArray:
        """Return the cell of the other columns that every row is in."""
        made = np.zeros(codes.shape[1], np.int64)
        for (c, groups), size in zip(self._others, self._shape, strict=True):
            made = made * size + groups[codes[c]]
        return made


def chances(
    codes: AnyArray, target: int, known: FloatArray, factors: Sequence[Factor], zeros: Sequence[Zero]
) -> FloatArray:
    """Return, for every row of a population, the chances of the bins of the target given its other columns.

    ``known`` are the estimated counts of these bins, and ``factors`` what was measured: those without the target say
    nothing here. What ``zeros`` rule out has no chance.
    """
    size, rows = len(known), float(known.sum())
    alone = np.log(np.maximum(known, 0.5) / rows)
    told = [f for f in factors if target in f.columns and np.isfinite(f.variances).all()]
    step = -(-codes.shape[1] * size * len(told) // LOOKED)
    some = codes[:, ::step]  # rows are ordered by components, so these are like all
    parts = [_Part(f, target, some, rows) for f in told]
    goal, pull = (np.concatenate(x) for x in ([p.goal.ravel() for p in parts], [p.pull.ravel() for p in parts]))
    ends = np.cumsum([0, *(p.goal.size for p in parts)]).tolist()
    before = alone + _barred(some, target, size, zeros)

    def scores(theta: FloatArray, cells: Sequence[IntArray], before: FloatArray) -> tuple[FloatArray, FloatArray]:
        made = np.zeros((len(cells[0]), size)) + before
        for p, own, a, b in zip(parts, cells, ends, ends[1:], strict=False):
            made += theta[a:b].reshape(p.shape)[:, p.groups][own]
        top = made.max(axis=1, keepdims=True)
        odds = np.exp(made - top)
        whole = odds.sum(axis=1, keepdims=True)
        return odds / whole, np.log(whole) + top

    def missed(theta: FloatArray) -> tuple[float, FloatArray]:
        likely, whole = scores(theta, [p.cells for p in parts], before)
        slopes = []
        for p in parts:
            by_bin = [np.bincount(p.cells, own, p.shape[0]) for own in likely.T]
            slopes.append((np.stack(by_bin, axis=1) @ (p.groups[:, None] == np.arange(p.shape[1]))).ravel())
        slope = np.concatenate(slopes) - goal + pull * theta
        return float(whole.sum() - theta @ goal + theta @ (pull * theta) / 2) / len(likely), slope / len(likely)

    found = optimize.minimize(missed, np.zeros(len(goal)), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return scores(found.x, [p.cells_of(codes) for p in parts], alone + _barred(codes, target, size, zeros))[0]


def _barred(codes: AnyArray, target: int, size: int, zeros: Sequence[Zero]) -> FloatArray | float:
    """Return what keeps rows out of bins that facts rule out: a score of nearly minus infinity."""
    about = [one for one in zeros if target in one]
    if not about:
        return 0.0
    made = np.zeros((codes.shape[1], size))
    for one in about:
        met = np.logical_and.reduce(
            [np.ones(codes.shape[1], bool), *(b[codes[c]] for c, b in one.items() if c != target)]
        )
        made[np.ix_(met, one[target])] = -1e3
    return made
