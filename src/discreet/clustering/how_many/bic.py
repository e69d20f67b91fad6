"""The BIC of mixtures of Gaussians on signed counts, against *one* cluster of several shapes. Post-processing.

The loss is half the squared residual in units of the known noise, plus half of ln(leaves) for each of 2d + 1 parameters
per cluster, divided by what the best fit leaves (as for overdispersed counts). One cluster may have any covariance, be
flat or have long tails; rows spread evenly over the domain are one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.clustering.leaves.kmeans import mass_by, nearest
from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.leaves.mixture import MIXTURE_WORK, misfits
from discreet.core import FloatArray, later

linalg = later("scipy.linalg")
optimize = later("scipy.optimize")
special = later("scipy.special")

#: Steps of the mixture's optimiser; points in all leaves, and least and most in one, at which one cluster is looked at.
_STEPS, _POINTS, _FEWEST, _MOST = 40, 30_000, 8, 25
#: Shares of a leaf's even spread that may be part of the cluster's (0: rows of a leaf lie at its middle, as where a
#: narrow cluster crosses it), and factors on the covariance (what noise covers of the outskirts is missing in it).
_WITHIN, _SCALES = (1.0, 0.0), (0.9, 1.1, 1.3)
#: Profiles of one cluster (see `_one_cluster`); up to how many columns it is fitted, and steps of that; how little it
#: may leave unexplained not to be.
_POWERS, _FITTED_AXES, _FIT_STEPS = (0.6, 1.0, 4.0), 3, 12
_GOOD = 0.9


def mixture_bic(leaves: Leaves, fits: Sequence[FloatArray]) -> tuple[FloatArray, float]:
    """Return half the BIC of a mixture for each number of clusters, and what one cluster leaves unexplained.

    The latter is the mean squared residual of a leaf in units of the noise: 1 where one cluster explains all. NaN where
    counts are exact, not listed or too many. ``fits`` are the centres to start from: one, two, and so on.
    """
    seen, top = leaves.seen, len(fits)
    n, d = seen.n_leaves, len(seen.domain)
    flat = set(seen.domain.names) <= set(seen.uncut) or not (seen.variances > 0).any()
    if flat or seen.hidden is not None or n * top > MIXTURE_WORK:
        return np.full(top, np.nan), math.nan
    starts = []
    for centers in fits:
        labels, k = nearest(leaves.points, centers), len(centers)
        masses = np.maximum(mass_by(labels, leaves.weights, k), 1e-9)
        apart = (leaves.points - centers[labels]) ** 2 + np.maximum(leaves.within, 1e-12)
        spreads = np.column_stack([mass_by(labels, leaves.weights * a, k) for a in apart.T]) / masses[:, np.newaxis]
        starts.append((masses, centers * leaves.units, np.sqrt(np.maximum(spreads, 1e-12)) * leaves.units))
    drawn, ones = seen.weights.astype(np.float64), _one_cluster(leaves)
    losses = _losses(ones, drawn, seen.variances + np.maximum(drawn, 0.0))
    # Counts that came out low would weigh more, because fewer rows vary less, and a fit would follow them down: where
    # one cluster expects more, the count varies by that.
    least = ones[int(np.argmin(losses))]
    one = _losses(ones, drawn, seen.variances + np.maximum(drawn, least)).min()
    losses, parameters = misfits(seen, starts, _STEPS, least), (2 * d + 1) * np.arange(1, top + 1)
    losses[0] = min(losses[0], one)
    best = int(np.argmin(losses))
    excess = max(1.0, 2 * losses[best] / max(n - parameters[best], 0.1 * n))
    return losses / excess + parameters * math.log(max(n, 2)) / 2, 2 * float(losses[0]) / n


def _losses(expected: FloatArray, drawn: FloatArray, variances: FloatArray) -> FloatArray:
    out: FloatArray = ((expected - drawn) ** 2 / np.maximum(variances, 1.0)).sum(axis=1) / 2
    return out


def _one_cluster(leaves: Leaves) -> FloatArray:
    """Return what each leaf would hold if all rows were one cluster; one row for each shape it may have.

    Even rows, and ellipsoids whose density falls as exp(-r^2p/2): p = 1 is a Gaussian, more is flatter, less has longer
    tails. With few columns the best of them is fitted further.
    """
    seen, d = leaves.seen, len(leaves.seen.domain)
    span, sides = seen.domain.high - seen.domain.low, seen.upper - seen.lower
    share = np.nan_to_num(np.prod(sides / span, axis=1))
    points, weights = leaves.points * leaves.units / span, leaves.weights / leaves.weights.sum()
    middle = weights @ points
    across = (points - middle).T @ ((points - middle) * weights[:, np.newaxis])
    inside = np.diag(weights @ (leaves.within * (leaves.units / span) ** 2))
    at = (np.nan_to_num(seen.lower)[:, np.newaxis] + _spots(leaves) * np.nan_to_num(sides)[:, np.newaxis]) / span
    drawn = seen.weights.astype(np.float64)
    variances = np.maximum(seen.variances + np.maximum(drawn, 0.0), 1.0)

    def held(apart: FloatArray, power: float) -> FloatArray:
        # Beyond e^-600 nothing is held, and powers of more would not be finite.
        mean = np.exp(-(np.minimum((apart**2).sum(axis=2), 1e6) ** power) / 2).mean(axis=1) * share
        out: FloatArray = seen.total * mean / max(float(mean.sum()), 1e-300)
        return out

    def loss(counts: FloatArray) -> float:
        return float(((counts - drawn) ** 2 / variances).sum() / 2)

    out = [seen.total * share]
    best = loss(out[0]), at, 1.0
    for part in _WITHIN:
        root = np.linalg.cholesky(across + part * inside + 1e-9 * np.eye(d))
        flat = linalg.solve_triangular(root, (at - middle).reshape(-1, d).T, lower=True)
        apart = np.ascontiguousarray(flat.T).reshape(at.shape)
        for power in _POWERS:
            # So that the covariance is that of the rows: the mean of r² is d.
            unit = math.exp(
                (math.log(2) / power + special.gammaln((d + 2) / 2 / power) - special.gammaln(d / 2 / power))
                - math.log(d)
            )
            for scale in _SCALES:
                near = apart * math.sqrt(unit / scale)
                out.append(held(near, power))
                best = min(best, (loss(out[-1]), near, power), key=lambda tried: tried[0])
    if d <= _FITTED_AXES and best[0] > _GOOD * seen.n_leaves / 2:
        lower = np.tril_indices(d)

        def moved(x: FloatArray) -> FloatArray:
            turn = np.eye(d)
            turn[lower] += x[d:-1]
            return held(best[1] @ turn.T - x[:d], best[2] * math.exp(float(np.clip(x[-1], -1.5, 1.5))))

        start = np.zeros(d + len(lower[0]) + 1)
        fit = optimize.minimize(lambda x: loss(moved(x)), start, method="BFGS", options={"maxiter": _FIT_STEPS})
        out.append(moved(fit.x))
    return np.stack(out)


def _spots(leaves: Leaves) -> FloatArray:
    """Return places in a unit box, spread evenly in any dimension: multiples of irrational numbers."""
    d = len(leaves.seen.domain)
    count = int(np.clip(_POINTS // leaves.seen.n_leaves, _FEWEST, _MOST))
    ratio = 1.5
    for _ in range(40):  # the root of ratio^(d+1) = ratio + 1, which is the golden one for d = 1
        ratio = (1 + ratio) ** (1 / (d + 1))
    out: FloatArray = (0.5 + np.outer(np.arange(1, count + 1), ratio ** -np.arange(1.0, d + 1))) % 1
    return out
