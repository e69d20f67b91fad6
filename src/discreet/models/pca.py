"""Principal components of a private covariance matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.core import Categorical, Declared, FloatArray, option
from discreet.core import options as shared
from discreet.models.estimator import COLUMNS, PrivateModel, names_of, units_of
from discreet.models.moments import publish_moments
from discreet.models.solving import centred


class PrivatePCA(Declared, PrivateModel, mixins=("ClassNamePrefixFeaturesOutMixin", "TransformerMixin")):
    """Principal components with differential privacy: eigenvectors of a noisy covariance matrix.

    Categories take no part: a direction through them has no unit.

    Attributes
    ----------
    components_ : array of shape (components, columns)
        Directions, the widest first.
    explained_variance_, explained_variance_ratio_ : array of shape (components,)
        Variance along each, and its share in the variance of all columns.
    explained_variance_std_ : array of shape (components,)
        Standard error of these variances, from noise and (as of normal data) from the choice of rows.
    mean_ : array of shape (columns,)
    moments_ : Moments
        What was released. Everything else follows from it.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. Columns are clamped to -1..1 by their declared bounds. The release is one vector
    of sums of products (`discreet.models.moments.publish_moments`): with d columns a row changes (d + 1)(d + 2)/2 of
    them, each by at most 1. One draw of noise pays for all. The rest is post-processing. If the domain declares a
    person as the unit, at most ``unit.rows`` rows of a person are used, and the noise is that of ε/rows, or ρ/rows².

    Examples
    --------
    >>> import discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 5000)
    >>> X = np.column_stack([t, t / 2 + rng.uniform(-0.2, 0.2, 5000)])
    >>> pca = PrivatePCA(1.0, dc.Domain.box([-1, -1], 1), n_components=1, random_state=0).fit(X)
    >>> pca.components_.round(2).tolist(), pca.guarantee_.epsilon
    ([[0.89, 0.46]], 1.0)
    """

    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    n_components: int | None = option(
        default=None, takes="whole", low=1, example=2, help="Number of components; by default as many as columns."
    )
    scale: str = option(
        default="none",
        choices=("none", "domain"),
        help='Unit of variances: "none" for the columns\' own units, "domain" for shares of their declared ranges.',
    )
    columns: Any = COLUMNS
    random_state: Any = shared.RANDOM_STATE
    rho: Any = shared.RHO
    delta: Any = shared.DELTA
    expect_rows: int | None = shared.EXPECT_ROWS
    check_first: float | None = shared.CHECK_FIRST
    ledger: Any = shared.LEDGER
    _supervised = False

    def fit(self, X: Any, y: Any = None) -> PrivatePCA:
        """Publish the moments and find the directions. ``y`` is ignored."""
        opening, design = self._open(X, None)
        moments = publish_moments(opening, design, opening.gate.left)
        found = centred(moments, last=False)
        centres, halves = units_of(design)
        self._units = halves if self.scale == "none" else np.full(len(halves), 0.5)
        covariance = found.scatter / found.n * np.outer(self._units, self._units)
        values, vectors = np.linalg.eigh(covariance)
        count = min(self.n_components or len(halves), len(halves))
        order = np.argsort(-values, kind="stable")[:count]
        directions = vectors[:, order].T
        largest = directions[np.arange(count), np.abs(directions).argmax(axis=1)]
        self.components_ = directions * np.where(largest < 0, -1.0, 1.0)[:, np.newaxis]
        self.explained_variance_ = np.maximum(values[order], 0.0)
        whole = float(np.maximum(values, 0.0).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / (whole or 1.0)
        self.explained_variance_std_ = np.array([
            self._error(moments, found.n, found.means, v * self._units, variance)
            for v, variance in zip(self.components_, self.explained_variance_, strict=True)
        ])  # fmt: skip
        self.n_components_, self.moments_ = count, moments
        scaled = self._units * found.means[1:]
        self.mean_ = scaled + (centres if self.scale == "none" else 0.0)
        self._shift = found.means[1:]
        self.names_ = names_of(design)
        self._finish(X, opening, design, {"components": count, "scale": self.scale}, moments.values)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the coordinates of rows along the components; NaN for a missing value. Not for publication."""
        rows = self._spread(X, lambda z: z[:, 1:])
        return np.asarray((rows - self._shift) * self._units @ self.components_.T, np.float64)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the places, in the units of the columns, that coordinates along the components stand for."""
        centres, halves = units_of(self._design)
        rows = np.asarray(X, np.float64) @ self.components_ / self._units + self._shift
        return np.asarray(centres + halves * rows, np.float64)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _apart(self, column: Any) -> bool:
        return super()._apart(column) or isinstance(column, Categorical)

    @staticmethod
    def _error(moments: Any, n: float, means: FloatArray, v: FloatArray, variance: float) -> float:
        """Return the standard error of the variance along a direction, to first order."""
        with_mean = np.append(-float(means[1:] @ v), v)  # (z - mean)'v of a row, intercept first
        noise = moments.variance * float((moments.weights(with_mean, with_mean) ** 2).sum())
        return math.sqrt(noise / n**2 + 2 * variance**2 / n)
