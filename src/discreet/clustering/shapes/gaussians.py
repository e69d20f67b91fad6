"""Mixtures of Gaussians with covariances on weighted leaves, by expectation and maximisation.

A leaf is not a point: its rows vary inside it. Their inner variances V enter both steps: a component with covariance S
explains a leaf by the mean log density of its rows, ln N(x; m, S) - tr(S⁻¹ V)/2, and takes V into its covariance.
Written by hand, because scikit-learn's `GaussianMixture` takes neither weights nor such variances. (The mixture behind
`refine="mixture"` is another: axis-parallel, fitted to signed counts, to take the noise out.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clustering.leaves.kmeans import nearest, weighted_kmeans
from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.options import AUTO_CLUSTERS, COLUMNS, MAX_CLUSTERS, N_INIT, SCALE, SEED
from discreet.clustering.shapes.base import LeafClusters
from discreet.core import FloatArray, IntArray, later

linalg = later("scipy.linalg")
special = later("scipy.special")

_STEPS, _ENOUGH = 200, 1e-5
#: A covariance has at least this share of the mean inner variance of a leaf on every axis.
_FLOOR = 0.25
#: A Gaussian is at least this share of the domain wide: leaves may all lie in one place, or on one line.
_LEAST_WIDTH = 1e-6


class GaussianClusters(LeafClusters):
    """A mixture of Gaussians of any direction and length, fitted to the leaves of a synopsis.

    Attributes
    ----------
    means_, covariances_, shares_ : array
        Of the Gaussians, in the units of the columns; shares add up to 1. In the order of `clusters_`; Gaussians that
        explain no leaf best come last.
    labels_, clusters_, synopsis_, guarantee_
        Label of each leaf (-1 for none), the clusters, what was clustered, its promise.

    Privacy
    -------
    Post-processing of a release: nothing is charged.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(5000, 2, 4, random_state=0)
    >>> s = dc.GridSynopsis(1.0, data.domain, 16, random_state=0).fit(data.X).synopsis_
    >>> found = GaussianClusters(4).fit(s)
    >>> found.covariances_.shape, round(float(found.shares_.sum()), 6)
    ((4, 2, 2), 1.0)
    """

    n_clusters: int | str = AUTO_CLUSTERS
    max_clusters: int = MAX_CLUSTERS
    n_init: int = N_INIT
    scale: str = SCALE
    columns: Any = COLUMNS
    random_state: int = SEED

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        k, seed = self._wanted(leaves, options), options["random_state"]
        points, weights = leaves.points, leaves.weights
        # Long Gaussians side by side are cut across by k-means, but not where all directions count alike.
        starts = [
            nearest(places, weighted_kmeans(places, weights, k, n_init=options["n_init"], seed=seed).centers)
            for places in (points, _sphered(points, leaves.within, weights))
        ]
        span = (leaves.seen.domain.high - leaves.seen.domain.low) / leaves.units
        least = (_LEAST_WIDTH * span) ** 2
        fits = [_fitted(points, leaves.within, weights, np.eye(k)[start], least) for start in starts]
        _, shares, means, covariances = max(fits, key=lambda fit: fit[0])
        labels: IntArray = _explained(points, leaves.within, shares, means, covariances).argmax(axis=1)
        held = np.bincount(labels, weights, minlength=len(shares))
        order = np.lexsort((-shares, -held))
        self.shares_, self._means, self._covariances = shares[order], means[order], covariances[order]
        self.means_ = self._means * leaves.units
        self.covariances_ = self._covariances * np.outer(leaves.units, leaves.units)
        return labels

    def _of_points(self, points: FloatArray) -> IntArray:
        found: IntArray = _explained(
            points, np.zeros_like(points), self.shares_, self._means, self._covariances
        ).argmax(axis=1)
        return found


def _sphered(points: FloatArray, within: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the points in units in which they vary alike in all directions."""
    share = weights / weights.sum()
    gap = points - share @ points
    varied = (gap * share[:, np.newaxis]).T @ gap + np.diag(share @ within + 1e-300)
    values, axes = np.linalg.eigh(varied)
    sphered: FloatArray = gap @ axes / np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    return sphered


def _fitted(
    points: FloatArray, within: FloatArray, weights: FloatArray, owned: FloatArray, least: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Return mean log density, shares, means and covariances, from which component owns which leaf."""
    d = points.shape[1]
    whole = weights.sum()
    middle = weights @ points / whole
    spread = weights @ (points - middle) ** 2 / whole
    floor = np.diag(_FLOOR * (weights @ within / whole) + 1e-9 * spread + least)
    before = -np.inf
    for _ in range(_STEPS):
        mass = owned.T @ weights + 1e-9 * whole
        # From the middle: a component without leaves is there, and far from 0 no digits are lost.
        means = middle + (owned * weights[:, np.newaxis]).T @ (points - middle) / mass[:, np.newaxis]
        covariances = np.empty((len(mass), d, d))
        for j in range(len(mass)):
            w, gap = owned[:, j] * weights, points - means[j]
            own = (gap * w[:, np.newaxis]).T @ gap + np.diag(w @ within)
            covariances[j] = own / mass[j] + floor
        shares = mass / mass.sum()
        logs = _explained(points, within, shares, means, covariances)
        each = special.logsumexp(logs, axis=1)
        owned = np.exp(logs - each[:, np.newaxis])
        now = float(weights @ each) / whole
        if now - before < _ENOUGH:
            break
        before = now
    return now, shares, means, covariances


def _explained(
    points: FloatArray, within: FloatArray, shares: FloatArray, means: FloatArray, covariances: FloatArray
) -> FloatArray:
    """Return ln share + mean log density of each leaf's rows under each component, up to a constant."""
    out = np.empty((len(points), len(shares)))
    for j, (share, mean, covariance) in enumerate(zip(shares, means, covariances, strict=True)):
        root = np.linalg.cholesky(covariance)
        inverse = linalg.solve_triangular(root, np.eye(len(root)), lower=True)
        far = (((points - mean) @ inverse.T) ** 2).sum(axis=1) + within @ (inverse**2).sum(axis=0)
        out[:, j] = np.log(share) - np.log(np.diag(root)).sum() - far / 2
    return out
