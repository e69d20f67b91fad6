"""A refinement that uses the known noise: fit Gaussians to the *signed* noisy counts, and read the counts off the fit.

Cells far from all rows hold pure noise; negative and positive noise cancel in a least-squares fit. K Gaussians are
integrated over the leaves (rows outside the domain were clamped, so border leaves reach to infinity) and fitted to the
weights as drawn, by least squares weighted with their noise. The starts are the clusters of the synopsis thresholded at
several heights. Clusters need not be Gaussian: a weight that differs from the fit by more than ln(cells)/ε stays as
drawn. The constants were tried on generated tables (``benchmarks/tuning/auto.py --section mixture``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from discreet.clustering.leaves import _mixture_kernels as kernels
from discreet.clustering.leaves.columns import distance_units
from discreet.clustering.leaves.kmeans import mass_by, nearest, weighted_kmeans
from discreet.core import BoolArray, FloatArray, IntArray, checks, later, one_blas_thread
from discreet.synopses import Synopsis, refine

optimize = later("scipy.optimize")
special = later("scipy.special")

#: Most leaves times clusters for which a mixture is fitted, because of time.
MIXTURE_WORK = 400_000
#: Shares of the rows that the thresholded starts keep at least.
_START_SHARES: tuple[float, ...] = (0.5, 0.8, 1.0)
#: Steps of the optimiser that each start gets, and that the best one gets on top.
_TRIAL_STEPS, _FINAL_STEPS = 30, 150
#: How strongly the spreads of the components are tied together, in units of the noise's own squared deviations. The
#: signal grows with ε², so this fades where the spreads differ clearly.
_TIE = 10.0
#: Bounds of a spread: a part of the narrowest leaf, and half of the domain.
_NARROWEST, _WIDEST = 0.25, 0.5
_TAIL = 1 / np.sqrt(2 * np.pi)


class MixtureFit(NamedTuple):
    """The refined synopsis; rows, means and spreads of the components, in the domain's coordinates.

    Empty if nothing could be fitted; then `synopsis` is the thresholded one.
    """

    synopsis: Synopsis
    masses: FloatArray
    means: FloatArray
    spreads: FloatArray


def fit_mixture(
    synopsis: Synopsis, n_clusters: int, *, scale: str = "none", n_init: int = 10, random_state: int = 0
) -> MixtureFit:
    """Refine a synopsis by a fitted mixture of Gaussians, one for each cluster, with axis-parallel spreads.

    Parameters
    ----------
    synopsis : Synopsis
        With weights as drawn, or consistent ones.
    n_clusters : int
        Number of components.
    scale, n_init, random_state
        Of the k-means that gives the start; see `cluster_synopsis`.

    Returns
    -------
    MixtureFit
        The refined ``synopsis``; ``masses``, ``means`` and ``spreads`` of the components. A list of survivors
        (`Synopsis.hidden`), a synopsis without noise and one with fewer heavy leaves than clusters are thresholded.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(5000, 2, 3, random_state=0)
    >>> release = dc.GridSynopsis(1.0, data.domain, 20, random_state=0).fit(data.X).synopsis_
    >>> fit_mixture(release, 3).means.shape
    (3, 2)
    """
    n_clusters = checks.whole("n_clusters", n_clusters, low=1)
    domain = synopsis.domain
    units = domain.high - domain.low
    distance = distance_units(domain, scale)
    placed: BoolArray = np.asarray(np.isfinite(synopsis.points).all(axis=1))
    starts = []
    if synopsis.hidden is None and synopsis.total > 0 and (synopsis.variances > 0).any():
        tried = (_start(synopsis, placed, n_clusters, s, distance, n_init, random_state) for s in _START_SHARES)
        starts = [start for start in tried if start is not None]
    if not starts:
        empty = np.empty((0, len(units)))
        return MixtureFit(refine.threshold(synopsis), np.empty(0), empty, empty)
    problem = _Problem(synopsis, placed)
    best = min((problem.solve(*start, _TRIAL_STEPS) for start in starts), key=lambda fit: fit.loss)
    best = problem.solve(best.masses, best.means, best.spreads, _FINAL_STEPS)
    return MixtureFit(_refined(synopsis, placed, problem, best), best.masses, best.means * units, best.spreads * units)


def misfits(
    synopsis: Synopsis,
    fits: Sequence[tuple[FloatArray, FloatArray, FloatArray]],
    steps: int,
    least: FloatArray | None = None,
) -> FloatArray:
    """Return half the squared residual that a mixture leaves, in units of the noise, from each of several starts."""
    units = synopsis.domain.high - synopsis.domain.low
    problem = _Problem(synopsis, np.asarray(np.isfinite(synopsis.points).all(axis=1)), least)
    return np.array([problem.solve(n, mean / units, spread / units, steps).loss for n, mean, spread in fits])


def _refined(synopsis: Synopsis, placed: BoolArray, problem: _Problem, fit: _Components) -> Synopsis:
    """Return the synopsis with weights and representatives of the fit, and residuals beyond noise."""
    drawn = synopsis.weights.astype(np.float64)
    fitted = np.zeros(len(drawn))
    fitted[placed] = problem.expected(fit)
    gap = drawn - fitted
    weights: FloatArray = np.maximum(np.where(np.abs(gap) > refine.noise_cut(synopsis), drawn, fitted), 0.0)
    points = synopsis.points.copy()
    if not synopsis.has_means:  # those of the fit beat the middles
        inside = problem.leaf_means(fit) * (synopsis.domain.high - synopsis.domain.low)
        explained = np.minimum(fitted, weights)[placed] / np.where(weights > 0, weights, 1.0)[placed]
        points[placed] += explained[:, np.newaxis] * (inside - points[placed])
    note = f"mixture: {len(fit.masses)} Gaussians, residuals beyond noise"
    return synopsis.replace(weights=weights, points=points, note=note)


@dataclass(frozen=True, eq=False)
class _Components:
    """Components in units of the domain's widths, and the residual they leave."""

    masses: FloatArray
    means: FloatArray
    spreads: FloatArray
    loss: float


@dataclass(frozen=True, eq=False)
class _Axes:
    """The distinct intervals of the leaves on each axis, in units of the domain's widths."""

    low: FloatArray
    high: FloatArray
    inner: FloatArray
    index: IntArray
    axis: IntArray

    @classmethod
    def of(cls, synopsis: Synopsis, placed: BoolArray, unit: FloatArray) -> _Axes:
        domain, lower, upper = synopsis.domain, synopsis.lower[placed], synopsis.upper[placed]
        lows, highs, axes, index = [], [], [], np.empty(lower.shape, np.int64)
        inner: list[FloatArray] = []
        offset = 0
        for j in range(len(domain)):
            pairs = np.column_stack([lower[:, j], upper[:, j]])
            distinct, which = np.unique(pairs, axis=0, return_inverse=True)
            index[:, j] = which.ravel() + offset
            offset += len(distinct)
            # Rows beyond the bounds were clamped into the border leaves.
            lows.append(np.where(distinct[:, 0] <= domain.low[j], -np.inf, distinct[:, 0] / unit[j]))
            highs.append(np.where(distinct[:, 1] >= domain.high[j], np.inf, distinct[:, 1] / unit[j]))
            inner.append(distinct / unit[j])
            axes.append(np.full(len(distinct), j))
        return cls(np.concatenate(lows), np.concatenate(highs), np.concatenate(inner), index, np.concatenate(axes))

    def shares(self, means: FloatArray, spreads: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return each component's share of each interval and its derivatives by mean and log spread."""
        mean, spread = means.T[self.axis], spreads.T[self.axis]
        a, b = (self.low[:, None] - mean) / spread, (self.high[:, None] - mean) / spread
        tail_a, tail_b = _TAIL * np.exp(-(a**2) / 2), _TAIL * np.exp(-(b**2) / 2)
        finite_a, finite_b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
        # From the nearer tail: a difference of two numbers next to 1 has no digits left.
        share = np.where(a > 0, special.ndtr(-a) - special.ndtr(-b), special.ndtr(b) - special.ndtr(a))
        return share, (tail_a - tail_b) / spread, finite_a * tail_a - finite_b * tail_b

    def places(self, means: FloatArray, spreads: FloatArray) -> FloatArray:
        """Return the mean of each component's rows in each interval; those beyond the bounds lie on them."""
        whole, _, _ = self.shares(means, spreads)
        low, high = self.inner[:, :1], self.inner[:, 1:]
        share, by_mean, _ = replace(self, low=low[:, 0], high=high[:, 0]).shares(means, spreads)
        mean, spread = means.T[self.axis], spreads.T[self.axis]
        below = np.where(np.isinf(self.low)[:, None], special.ndtr((low - mean) / spread), 0.0)
        above = np.where(np.isinf(self.high)[:, None], special.ndtr((mean - high) / spread), 0.0)
        sums = mean * share + spread**2 * by_mean + low * below + high * above
        return np.clip(np.where(whole > 1e-12, sums / np.maximum(whole, 1e-300), (low + high) / 2), low, high)


class _Problem:
    """Weighted least squares: Σ (expected - drawn)²/(noise + sampling variance), with spreads tied together."""

    def __init__(self, synopsis: Synopsis, placed: BoolArray, least: FloatArray | None = None) -> None:
        low, high = synopsis.domain.low, synopsis.domain.high
        self.axes = _Axes.of(synopsis, placed, high - low)
        # Sorted by the interval on the first axis, for the kernels; results are put back in the leaves' own order.
        self.order = np.argsort(self.axes.index[:, 0], kind="stable")
        self.index = self.axes.index[self.order]
        self.starts = np.append(np.unique(self.index[:, 0], return_index=True)[1], len(self.index))
        self.drawn, self.total = synopsis.weights[placed].astype(np.float64)[self.order], synopsis.total
        # A count of n rows varies by about n from one sample of people to the next: no fit needs to follow that.
        # Noise far below one row would make the weights of empty leaves huge, hence the floor.
        floor = 0.0 if least is None else least[placed][self.order]
        self.precision = 1 / np.maximum(synopsis.variances[placed][self.order] + np.maximum(self.drawn, floor), 1.0)
        self.narrowest = max(_NARROWEST * float((self.axes.inner[:, 1] - self.axes.inner[:, 0]).min()), 1e-6)
        self.box = list(zip(low / (high - low), high / (high - low), strict=True))

    def solve(self, masses: FloatArray, means: FloatArray, spreads: FloatArray, steps: int) -> _Components:
        k, d = means.shape
        unit_mass, unit_mean = self.total / k, float(np.median(spreads))

        def unpack(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            return x[:k] * unit_mass, x[k : k + k * d].reshape(k, d) * unit_mean, x[k + k * d :].reshape(k, d)

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            n, mean, logs = unpack(x)
            share, by_mean, by_spread = self.axes.shares(mean, np.exp(logs))
            gap = kernels.expected(self.starts, self.index, share, n, np.zeros(len(self.index))) - self.drawn
            pull = self.precision * gap
            to_mass, to_mean, to_spread = into = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
            kernels.gradient(self.starts, self.index, share, by_mean, by_spread, n, pull, *into)
            apart = logs - logs.mean(axis=0)
            loss = (pull @ gap + _TIE * (apart**2).sum()) / 2
            slopes = (to_mass * unit_mass, to_mean * unit_mean, to_spread + _TIE * apart)
            return float(loss), np.concatenate([part.ravel() for part in slopes])

        logs = np.log(np.clip(spreads, self.narrowest, _WIDEST))
        x0 = np.concatenate([masses / unit_mass, means.ravel() / unit_mean, logs.ravel()])
        # A mean stays in the box: beyond it the border leaves, which reach to infinity, would not hold it back.
        bounds: list[Any] = [(0.0, None)] * k + [(a / unit_mean, b / unit_mean) for a, b in self.box] * k
        bounds += [(np.log(self.narrowest), np.log(_WIDEST))] * (k * d)
        options = {"maxiter": steps, "maxcor": 20}
        with one_blas_thread():
            found: Any = optimize.minimize(objective, x0, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        n, mean, logs = unpack(found.x)
        return _Components(n, mean, np.exp(logs), float(found.fun))

    def expected(self, fit: _Components) -> FloatArray:
        share, _, _ = self.axes.shares(fit.means, fit.spreads)
        counts = np.empty(len(self.order))
        counts[self.order] = kernels.expected(self.starts, self.index, share, fit.masses, np.zeros(len(self.index)))
        return counts

    def leaf_means(self, fit: _Components) -> FloatArray:
        share, _, _ = self.axes.shares(fit.means, fit.spreads)
        middles = self.axes.inner.mean(axis=1)[self.axes.index]
        places, index = self.axes.places(fit.means, fit.spreads), self.axes.index
        total, out = np.zeros(len(index)), np.zeros(middles.shape)
        for k, mass in enumerate(fit.masses):
            inside = np.full(len(index), mass)
            for axis in index.T:
                inside *= share[axis, k]
            inside[inside < kernels.NEGLIGIBLE] = 0.0
            total += inside
            out += inside[:, None] * places[index, k]
        some = (total > 0.0)[:, None]
        return np.where(some, np.divide(out, total[:, None], out=np.zeros(out.shape), where=some), middles)


def _start(
    synopsis: Synopsis, placed: BoolArray, n_clusters: int, share: float, distance: FloatArray, n_init: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the clusters of the thresholded synopsis as components; None if too few leaves are left."""
    cut = np.minimum(refine.noise_cut(synopsis), refine.share_cut(synopsis, share))
    heavy = placed & (synopsis.weights > 0) & (synopsis.weights >= cut)
    points, weights = synopsis.points[heavy], synopsis.weights[heavy].astype(np.float64)
    found = weighted_kmeans(points / distance, weights, n_clusters, n_init=n_init, seed=seed)
    if len(found.centers) < n_clusters:
        return None
    labels = nearest(points / distance, found.centers)
    units = synopsis.domain.high - synopsis.domain.low
    gaps = ((points - found.centers[labels] * distance) / units) ** 2
    # A lone leaf has no spread of its own: within a leaf of width w it is w/sqrt(12).
    inside = ((synopsis.upper - synopsis.lower)[heavy] / units) ** 2 / 12
    own = np.column_stack([mass_by(labels, weights * g, n_clusters) for g in (gaps + inside).T])
    return found.weights, found.centers * distance / units, np.sqrt(own / found.weights[:, None])
