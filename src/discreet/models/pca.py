"""Principal components of a private covariance matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import Categorical, Code, Domain, FloatArray, check_fitted, option
from discreet.errors import InvalidArgument
from discreet.models.estimator import PrivateModel
from discreet.models.solving import centred
from discreet.synopses import OpenRelease


class PrivatePCA(PrivateModel, mixins=("ClassNamePrefixFeaturesOutMixin", "TransformerMixin")):
    """Principal components with differential privacy: eigenvectors of a noisy covariance matrix.

    Categories take no part: a direction through them has no unit.

    Attributes
    ----------
    components_ : array of shape (components, columns)
        Directions, the widest first.
    explained_variance_, explained_variance_ratio_ : array of shape (components,)
        Variance along each published direction, and its share in the variance of all columns.
    explained_variance_std_ : array of shape (components,)
        Standard error of these variances, from noise, its reduction, and the choice of rows: about the most it can be.
    note_ : str
        Says which directions may be noise alone; empty if none.
    mean_ : array of shape (columns,)
    moments_ : Moments
        What was released. Everything else follows from it.
    guarantee_ : Guarantee
        Its promise.

    Privacy
    -------
    Neighbours: add or remove one row. Columns are clamped to -1..1 by their declared bounds. The release is one vector
    of sums of products (`discreet.models.moments.publish`): with d columns a row changes (d + 1)(d + 2)/2 of
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

    n_components: int | None = option(
        default=None, takes="whole", low=1, example=2, help="Number of components; by default as many as columns."
    )
    scale: str = option(
        default="none",
        choices=("none", "domain"),
        help='Unit of variances: "none" for the columns\' own units, "domain" for shares of their declared ranges.',
    )
    _apart = (Code, Categorical)

    def _solve(self, opening: OpenRelease) -> tuple[dict[str, Any], list[FloatArray]]:
        found, (centres, halves) = centred(self.moments_, last=False), self._design.units
        own = self.scale == "none"
        self._units = halves if own else np.full(len(halves), 0.5)
        values, vectors = np.linalg.eigh(found.scatter / found.n * np.outer(self._units, self._units))
        self.n_components_ = count = self.n_components or len(halves)
        order = np.argsort(-values, kind="stable")[:count]
        directions = vectors[:, order].T
        largest = directions[np.arange(count), np.abs(directions).argmax(axis=1)]
        self.components_ = directions * np.where(largest < 0, -1.0, 1.0)[:, np.newaxis]
        self.explained_variance_ = np.maximum(values[order], 0.0)
        whole = float(np.maximum(values, 0.0).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / (whole or 1.0)
        self._shift = found.means[1:]
        self.mean_ = self._units * self._shift + (centres if own else 0.0)
        # To first order. A square u² of rows with |u| <= r and mean v has a variance of at most v(r² - v) in any
        # case. A weight counts as its share in the largest one: there are at least so many rows.
        rows = max(found.n / (self._weights.units if self._weights else 1), 1.0)
        along = np.column_stack([-self.components_ @ (self._units * self._shift), self.components_ * self._units])
        noise = [self.moments_.variance * float((self.moments_.weights(v, v) ** 2).sum()) for v in along]
        farthest = np.abs(self.components_ * self._units) @ (1 + np.abs(self._shift))
        chance = self.explained_variance_ * np.maximum(farthest**2 - self.explained_variance_, 0.0)
        # Shrinking moved it: as far as it is from what the moments say of the same direction.
        moved = self.explained_variance_ - np.einsum("ij,jk,ik->i", along, self.moments_.matrix, along) / found.n
        self.explained_variance_std_ = np.sqrt(np.array(noise) / found.n**2 + chance / rows + moved**2)
        drowned = np.flatnonzero(self.explained_variance_ < 2 * np.sqrt(noise) / found.n) + 1
        self.note_ = ""
        if len(drowned):  # from released figures alone
            said = f"component{'s' * (len(drowned) > 1)} {', '.join(map(str, drowned))}"
            self.note_ = f"The noise hides the variance along {said}: such a direction may be a plain axis or chance. "
            self.note_ += "Use fewer columns, a larger epsilon or narrower bounds."
        return {"components": count, "scale": self.scale}, []

    def transform(self, X: Any) -> FloatArray:
        """Return the coordinates of rows along the components; NaN for a missing value. Not for publication."""
        return np.asarray((self._spread(X)[:, 1:] - self._shift) * self._units @ self.components_.T, np.float64)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the places, in the units of the columns, that coordinates along the components stand for."""
        check_fitted(self)
        centres, halves = self._design.units
        return np.asarray(centres + halves * (np.asarray(X) @ self.components_ / self._units + self._shift), np.float64)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _fits(self, domain: Domain, epsilon: Any) -> None:
        if self.n_components is not None and self.n_components > len(domain):
            expected = f"at most the number of columns, {len(domain)}"
            raise InvalidArgument("n_components", self.n_components, expected, f"n_components={len(domain)}")
        super()._fits(domain, epsilon)
