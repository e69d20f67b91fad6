"""k-means of records that carry a known noise: estimate where the true records lie, then cluster that.

Two estimates use the law of the noise, which is public: EM over candidate places (`deconvolution.py`), for any law; and
Gaussians behind isotropic Laplace noise (`mixture.py`), followed by draws of each true record given its noisy one. If
both are possible, both are used with equal weight (``studies/measures/metric_clustering.py``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import noise
from discreet.clustering.leaves import _kmeans_kernels as kernels
from discreet.clustering.leaves.kmeans import mass_by, nearest, weighted_kmeans
from discreet.clustering.noisy import deconvolution as places
from discreet.clustering.noisy.mixture import FORMS, Bounds, Components, NoisyRecords, best_form, criterion
from discreet.clustering.options import SEED
from discreet.core import Declared, Estimator, FloatArray, IntArray, as_domain, check_fitted, checks, later, option
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric import IsotropicLaw

special = later("scipy.special")

#: Records that starts are tried on, that the form is chosen on, and points that the estimate consists of.
_TRIAL_RECORDS, _FORM_RECORDS, _POINTS = 2000, 5000, 8000
#: Steps of a trial, of the chosen start, and on all records if they are more than the form was chosen on.
_TRIAL_STEPS, _FULL_STEPS, _LAST_STEPS = 12, 60, 8
#: Most columns for which the candidates are a grid, and about how many candidates there are.
_GRID_COLUMNS, _CANDIDATES = 3, 1000
#: Points that stand for the estimate when records are labelled.
_LABEL_POINTS = 400

#: The square of a larger rate, or of the inverse of a smaller one, may not fit into doubles.
_LARGEST_RATE = 1e100


class DenoisingKMeans(Declared, Estimator, mixins=("ClusterMixin",)):
    """k-means of noisy records whose noise has a known law, such as those that `discreet.metric.NDLaplace` returns.

    The records must not have been clipped or remapped: the law holds for points as drawn.

    Attributes
    ----------
    cluster_centers_ : array of shape (clusters, columns)
        Estimated centres of the true records, in the columns' units, sorted.
    weights_ : array of shape (clusters,)
        Estimated shares of the true records nearest to each.
    labels_ : array of shape (records,)
        The most probable cluster of each true record given its noisy one.
    method_ : str
        The method that "auto" chose.
    bic_ : float
        Bayesian information criterion of the Gaussian clusters behind the noise, to compare numbers of clusters by:
        less is better. NaN for the method "places".

    Privacy
    -------
    Post-processing: noisy records, the public law and the public domain are all it sees. It costs no budget.

    Examples
    --------
    >>> import discreet as dc
    >>> rows = dc.datasets.mixture(1000, 2, 3, random_state=0)
    >>> mechanism = dc.metric.NDLaplace(epsilon=1, radius=0.1, domain=rows.domain, random_state=0)
    >>> noisy = mechanism.transform(rows.X)
    >>> km = DenoisingKMeans(3, mechanism.law, domain=rows.domain, scale="domain").fit(noisy)
    >>> km.cluster_centers_.shape, km.labels_.shape, float(km.weights_.sum().round(6))
    ((3, 2), (1000,), 1.0)
    """

    n_clusters: int = option(default=8, low=1, help="Number of clusters.")
    law: Any = option(
        default=1.0,
        help="The law of the noise: the rate of isotropic Laplace noise, an `IsotropicLaw`, or another law.",
        details="Another law is an object with ``log_density(offsets)``, the log of its density up to a constant.",
    )
    domain: Any = option(
        default=None,
        help="The declared columns: true records lie within their bounds.",
        details="Without it there is no grid, and laws other than isotropic Laplace take noisy records as candidates.",
    )
    scale: str = option(
        default="none",
        choices=("none", "domain"),
        help='Unit of the law and of distances: "none" for the columns\' own, "domain" for shares of declared ranges.',
        details='"domain" fits ``scaling="box"`` of `NDLaplace`.',
    )
    method: str = option(
        default="auto",
        choices=("auto", "places", "clusters", "both"),
        help="The estimate of the true records that is clustered.",
        details=(
            '"places" works for every law, "clusters" for isotropic Laplace noise; "auto" is both with a domain of at '
            "most three columns, else the one that exists, clusters first."
        ),
    )
    n_init: int = option(default=8, low=0, help="Random starts, besides three fixed ones; the likeliest fit wins.")
    random_state: int = SEED

    def fit(self, X: Any, y: Any = None) -> DenoisingKMeans:
        """Estimate the centres of the true records from noisy ones, one for each true record; ``y`` is ignored."""
        options = self.read_options()
        k, n_init, stream = options["n_clusters"], options["n_init"], noise.generator(options["random_state"])
        from sklearn.utils.validation import validate_data  # takes long to load

        rows = np.asarray(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), np.float64)
        law = read_law(self.law, rows.shape[1])
        self._unit, box = self._box(rows.shape[1])
        z = rows / self._unit
        self.method_ = _method(self.method, law, box)
        parts, self.bic_ = [], math.nan
        if self.method_ != "clusters":
            gridded = box is not None and len(box[0]) <= _GRID_COLUMNS
            found_places = _candidates(z, box)
            parts.append(places.deconvolve(z, found_places, law.log_density, rounds=1 if gridded else 2))
        if self.method_ != "places":
            drawn, self.bic_ = _cluster_draws(z, law, box, k, n_init, stream)
            parts.append((drawn, np.ones(len(drawn))))
        points = np.concatenate([p for p, _ in parts])
        masses = np.concatenate([m / (m.sum() * len(parts)) for _, m in parts])
        found = weighted_kmeans(points, masses, k, n_init=5, seed=int(noise.below(2**31, rng=stream)))
        self.cluster_centers_ = found.centers * self._unit
        self.weights_ = found.weights / found.weights.sum()
        self._keep_points(points, masses, found.centers)
        self.labels_ = self._labels(z, law)
        return self

    def predict(self, X: Any, *, noisy: bool = True) -> IntArray:
        """Return the likeliest cluster of each true record; with ``noisy=False`` the one with the nearest centre."""
        check_fitted(self)
        from sklearn.utils.validation import validate_data  # takes long to load

        z = np.asarray(validate_data(self, X, dtype=np.float64, reset=False), np.float64) / self._unit
        if not noisy:
            return nearest(z, self.cluster_centers_ / self._unit)
        return self._labels(z, read_law(self.law, z.shape[1]))

    def _box(self, columns: int) -> tuple[FloatArray, Bounds | None]:
        scale = self.read_option("scale")
        if self.domain is None:
            if scale == "domain":
                raise InvalidArgument("domain", None, 'declared if scale="domain"', "domain=(0, 1)")
            return np.ones(columns), None
        names = getattr(self, "feature_names_in_", [f"x{i + 1}" for i in range(columns)])
        domain = as_domain(self.domain, list(names))
        if len(domain) != columns:
            raise InvalidArgument(
                "domain", f"{len(domain)} columns", f"declared for {columns} columns", "domain=(0, 1)"
            )
        unit = domain.high - domain.low if scale == "domain" else np.ones(columns)
        return unit, (domain.low / unit, domain.high / unit)

    def units(self, columns: int) -> FloatArray:
        """Return what columns are divided by before the law holds and distances are taken."""
        return self._box(columns)[0]

    def _keep_points(self, points: FloatArray, masses: FloatArray, centers: FloatArray) -> None:
        """Keep a few points that stand for the estimate, to label records by."""
        if len(points) > _LABEL_POINTS:
            # In order, so that equal steps of mass spread over the places.
            order = np.lexsort(points.T[::-1])
            steps = (np.arange(_LABEL_POINTS) + 0.5) / _LABEL_POINTS * masses.sum()
            chosen = np.minimum(np.searchsorted(np.cumsum(masses[order]), steps), len(order) - 1)
            points, masses = points[order[chosen]], np.ones(_LABEL_POINTS)
        self._points, self._masses, self._point_labels = points, masses, nearest(points, centers)

    def _labels(self, z: FloatArray, law: Any) -> IntArray:
        k = len(self.cluster_centers_)
        member = np.zeros((len(self._points), k))
        member[np.arange(len(self._points)), self._point_labels] = self._masses
        labels = np.empty(len(z), np.int64)
        for start in range(0, len(z), 5000):
            part = places.densities(z[start : start + 5000], self._points, law.log_density) @ member
            labels[start : start + 5000] = part.argmax(axis=1)
        return labels


def read_law(law: Any, dimension: int) -> Any:
    """Return an object with ``log_density``: an `IsotropicLaw` for a rate."""
    if isinstance(law, IsotropicLaw):
        if law.dimension != dimension:
            raise InvalidArgument("law", law, f"a law of {dimension} dimensions, as the records have", "law=law.rate")
        return _usable(law)
    if callable(getattr(law, "log_density", None)):
        return law
    if isinstance(law, (str, bytes)) or np.ndim(law) != 0 or callable(law) or law is None:
        raise InvalidType("law", law, "a rate, an IsotropicLaw or an object with log_density", "law=mechanism.law")
    return _usable(IsotropicLaw(dimension, float(checks.positive("law", law))))


def _usable(law: IsotropicLaw) -> IsotropicLaw:
    """Refuse a rate whose powers do not fit into doubles."""
    if not 1 / _LARGEST_RATE <= law.rate <= _LARGEST_RATE:
        raise InvalidArgument("law", law.rate, f"a rate from {1 / _LARGEST_RATE:g} to {_LARGEST_RATE:g}", "law=1.0")
    return law


def _method(method: str, law: Any, box: Bounds | None) -> str:
    laplace = isinstance(law, IsotropicLaw)
    if method in ("clusters", "both") and not laplace:
        raise InvalidArgument("method", method, '"places" for a law that is not isotropic Laplace', 'method="auto"')
    if method != "auto":
        return method
    if not laplace:
        return "places"
    return "both" if box is not None and len(box[0]) <= _GRID_COLUMNS else "clusters"


def _candidates(z: FloatArray, box: Bounds | None) -> FloatArray:
    columns = z.shape[1]
    if box is not None and columns <= _GRID_COLUMNS:
        return places.grid(*box, max(2, round(_CANDIDATES ** (1 / columns))))
    found = places.scattered(z, _CANDIDATES)
    return found if box is None else np.clip(found, *box)


def _cluster_draws(
    z: FloatArray, law: IsotropicLaw, box: Bounds | None, k: int, n_init: int, stream: noise.Generator
) -> tuple[FloatArray, float]:
    """Fit Gaussian clusters; return draws of the true records given the noisy ones, and the fit's criterion."""
    n, d = z.shape
    order = np.argsort(_uniforms((n,), stream), kind="stable")
    records = NoisyRecords(z, law.rate, box)
    formed = records.part(order[:_FORM_RECORDS]) if n > _FORM_RECORDS else records
    whole, prior = formed.whole()
    trial = records.part(order[:_TRIAL_RECORDS]) if n > _TRIAL_RECORDS else records
    tried = (trial.climb(start, FORMS[0], _TRIAL_STEPS, prior) for start in _starts(trial, whole, k, n_init, stream))
    best = max(tried, key=lambda c: c.score)
    start = formed.climb(replace(best, score=-np.inf), FORMS[0], _FULL_STEPS, prior)
    form, fitted = best_form(formed, start, prior, _FULL_STEPS)
    if formed is not records:
        fitted = records.climb(replace(fitted, score=-np.inf), form, _LAST_STEPS, prior)
    rows = order[:_POINTS]
    per_record = max(1, _POINTS // n)
    uniforms = _uniforms((len(rows), per_record, d + 1), stream)
    drawn = records.draws(fitted, rows, np.ascontiguousarray(uniforms[..., 0]), special.ndtri(uniforms[..., 1:]))
    return drawn.reshape(-1, d), criterion(fitted, form, n)


def _starts(records: NoisyRecords, whole: Components, k: int, n_init: int, stream: noise.Generator) -> list[Components]:
    """Centres of the noisy, the clipped and the shrunk records, and random ones of the latter two."""
    clipped, shrunk = records.inside(records.z), np.ascontiguousarray(records.shrunk(whole))
    even = np.ones(len(records.z))
    sets = [weighted_kmeans(x, even, k, n_init=2).centers for x in (records.z, clipped, shrunk)]
    for i in range(n_init):
        x = (shrunk, clipped)[i % 2]
        centers = kernels.seed_centers(x, even, _uniforms((k, 1), stream))
        labels, near = np.empty(len(x), np.int64), np.empty(len(x))
        kernels.assign(x, centers, labels, near)
        kernels.lloyd(x, even, centers, labels, near, 3)
        sets.append(centers)
    return [_around(records, centers) for centers in sets]


def _around(records: NoisyRecords, centers: FloatArray) -> Components:
    """Round clusters around centres, as wide as the noise leaves unexplained."""
    z, k = records.z, len(centers)
    labels = nearest(z, centers)
    within = float(((z - centers[labels]) ** 2).sum()) / z.size
    shares = (mass_by(labels, np.ones(len(z)), k) + 1) / (len(z) + k)
    variance = max(within - records.noise, 0.02 * records.noise, records.floor)
    return Components.round(shares, records.inside(centers), variance)


def _uniforms(shape: tuple[int, ...], stream: noise.Generator) -> FloatArray:
    """Draw numbers strictly between 0 and 1."""
    drawn: FloatArray = (noise.below(2**52, shape, stream) + 0.5) / 2.0**52
    return drawn
