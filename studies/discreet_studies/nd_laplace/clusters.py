"""Any clustering algorithm after metric privacy: the noisy records are ordinary points, only the parameters change."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, OPTICS, AffinityPropagation, AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from discreet.clustering import DenoisingKMeans
from discreet.clustering.noisy import read_law
from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.metric import IsotropicLaw

ALGORITHMS = ("k-means", "noise-aware", "affinity", "dbscan", "optics", "hierarchical")
#: Dampings that affinity propagation tries in turn until it stops oscillating.
_DAMPINGS = (0.5, 0.7, 0.9, 0.97)
#: Steps it is given with each.
_STEPS = 500
#: Preferences of affinity propagation that are worked out from the similarities.
PREFERENCES = ("median", "minimum")


@dataclass(frozen=True, eq=False)
class NoisyClusters:
    """Clusters of noisy records.

    Attributes
    ----------
    algorithm : str
        What found them.
    labels : array of shape (records,)
        Cluster of each record; -1 is an outlier of a density method.
    centers : array of shape (clusters, columns)
        Centres in the columns' units: those of the algorithm, or the means of the clusters where it has none.
    parameters : dict
        What the rules came to, such as the radius of DBSCAN.

    Examples
    --------
    >>> cluster_after_noise([[0.0], [0.1], [5.0], [5.1]], "hierarchical", n_clusters=2)
    <NoisyClusters: 2 by hierarchical>
    """

    algorithm: str
    labels: IntArray
    centers: FloatArray
    parameters: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<NoisyClusters: {len(self.centers)} by {self.algorithm}>"


def cluster_after_noise(
    Z: Any,
    algorithm: str = "k-means",
    *,
    n_clusters: int | None = None,
    law: Any = None,
    domain: Any = None,
    scale: str = "none",
    standardize: bool = True,
    radius: float | str = "k-distance",
    min_points: int | None = None,
    preference: float | str = "median",
    random_state: int = 0,
) -> NoisyClusters:
    """Cluster noisy records with a common algorithm, with rules for its parameters that look at nothing but them.

    Parameters
    ----------
    Z : array or data frame of shape (records, columns)
        Noisy records, of n columns.
    algorithm : {"k-means", "noise-aware", "affinity", "dbscan", "optics", "hierarchical"}
        "k-means": k-means++ starts, the best of 10. "noise-aware": `DenoisingKMeans`, which needs ``law`` and should
        get ``domain``. "affinity": affinity propagation with ``preference``, damping 0.5, raised while it oscillates.
        "dbscan" and "optics": ``min_points`` neighbours; for DBSCAN ``radius``, for OPTICS clusters of at least a tenth
        of the records. "hierarchical": Ward's linkage.
    n_clusters : int
        For k-means, noise-aware and hierarchical clustering; the others find their own number.
    law, domain, scale
        Of the noise; see `DenoisingKMeans`. DBSCAN with ``radius="noise"`` needs the law, too.
    standardize : bool, default True
        Give all columns of Z variance 1 before, as is usual *after* noise. "noise-aware" and ``radius="noise"`` work
        in the units of the law and do not.
    radius : "k-distance", "noise" or float
        For DBSCAN. "k-distance": the elbow of the sorted distances to the (2n-1)-th neighbour. "noise": the mean
        length of the noise, n/rate, from the law alone. A number is taken in the units clustered in: a radius chosen
        for raw records is too small after noise.
    min_points : int, optional
        For DBSCAN and OPTICS; 2n by default.
    preference : "median", "minimum" or float, default "median"
        For affinity propagation: how willing records are to be the centre of a cluster, on the scale of similarities,
        minus squared distances in the units clustered in. "median": the median of all similarities, a middling number
        of clusters. "minimum": the smallest, few clusters. Larger numbers make more clusters.
    random_state : int, default 0
        Seed of the search.

    Returns
    -------
    NoisyClusters
        Labels, centres, and the parameters that the rules came to.

    Privacy
    -------
    Post-processing: nothing but noisy records and public facts enters.

    Examples
    --------
    >>> import discreet as dc
    >>> rows = dc.datasets.mixture(300, 2, 3, random_state=1)
    >>> noisy = dc.metric.NDLaplace(epsilon=2, radius=0.02, domain=(0, 1), random_state=1).transform(rows.X)
    >>> cluster_after_noise(noisy, "k-means", n_clusters=3)
    <NoisyClusters: 3 by k-means>
    >>> cluster_after_noise(noisy, "dbscan", law=100.0, radius="noise").parameters
    {'radius': 0.02, 'min_points': 4}
    >>> few, many = (len(cluster_after_noise(noisy, "affinity", preference=p).centers) for p in ("minimum", "median"))
    >>> few, few < many
    (3, True)
    """
    algorithm = checks.choice("algorithm", algorithm, ALGORITHMS)
    seed = checks.whole("random_state", random_state, high=2**32 - 1)
    if algorithm in ("k-means", "noise-aware", "hierarchical"):
        if n_clusters is None:
            raise InvalidArgument("n_clusters", None, f"a whole number for {algorithm}", "n_clusters=3")
        n_clusters = checks.whole("n_clusters", n_clusters, low=1)
    if algorithm == "noise-aware":
        if law is None:
            raise InvalidArgument("law", None, "the law of the noise for noise-aware", "law=mechanism.law")
        aware = DenoisingKMeans(n_clusters or 1, law, domain=domain, scale=scale, random_state=seed).fit(Z)
        return NoisyClusters(algorithm, aware.labels_, aware.cluster_centers_, {"method": aware.method_})
    rows = _rows(Z)
    by_noise = algorithm == "dbscan" and isinstance(radius, str) and radius == "noise"
    unit = _unit(rows, domain, scale, standardize=standardize and not by_noise)
    points = rows / unit
    points -= points.mean(axis=0)
    if algorithm in ("dbscan", "optics"):
        labels, parameters = _dense(points, algorithm, law, radius, min_points)
    elif algorithm == "affinity":
        labels, parameters = _affinity(points, preference, seed)
    else:
        labels, parameters = _SIMPLE[algorithm](points, n_clusters, seed)
    found = np.unique(labels[labels >= 0])
    centers = np.array([rows[labels == label].mean(axis=0) for label in found]).reshape(-1, rows.shape[1])
    return NoisyClusters(algorithm, labels.astype(np.int64), centers, parameters)


def _rows(Z: Any) -> FloatArray:
    rows = np.asarray(Z, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise InvalidArgument("Z", rows.shape, "a table of at least two noisy records", "Z=mechanism.transform(X)")
    if not np.isfinite(rows).all():
        raise InvalidArgument("Z", "values that are not finite", "finite numbers", "Z=Z[np.isfinite(Z).all(axis=1)]")
    return rows


def _unit(rows: FloatArray, domain: Any, scale: str, *, standardize: bool) -> FloatArray:
    if standardize:
        deviation = rows.std(axis=0)
        return np.where(deviation > 0, deviation, 1.0)
    return DenoisingKMeans(domain=domain, scale=scale).units(rows.shape[1])


def _kmeans(points: FloatArray, n_clusters: int | None, seed: int) -> tuple[IntArray, dict[str, Any]]:
    found = KMeans(n_clusters or 1, n_init=10, random_state=seed).fit(points)
    return found.labels_, {"n_clusters": n_clusters}


def _ward(points: FloatArray, n_clusters: int | None, seed: int) -> tuple[IntArray, dict[str, Any]]:
    return AgglomerativeClustering(n_clusters).fit(points).labels_, {"n_clusters": n_clusters}


def _affinity(points: FloatArray, preference: float | str, seed: int) -> tuple[IntArray, dict[str, Any]]:
    similar = -euclidean_distances(points, squared=True)
    own = _preference(similar, preference)
    labels, used = np.zeros(len(points), np.int64), _DAMPINGS[0]
    for used in _DAMPINGS:
        way = AffinityPropagation(
            damping=used, max_iter=_STEPS, preference=own, affinity="precomputed", random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next damping is the answer to it
            labels = way.fit(similar).labels_
        # What oscillates to the last step may have labels all the same: whatever were centres in that step.
        if way.n_iter_ < _STEPS and (labels >= 0).all():
            break
    return labels, {"damping": used, "preference": own}


def _preference(similar: FloatArray, given: float | str) -> float:
    if isinstance(given, str):
        return float((np.median if checks.choice("preference", given, PREFERENCES) == "median" else np.min)(similar))
    expected = "'median', 'minimum' or a finite number, such as minus a squared distance"
    if isinstance(given, bool) or not isinstance(given, (int, float, np.integer, np.floating)):
        raise InvalidType("preference", given, expected, 'preference="median"')
    if not np.isfinite(given):
        raise InvalidArgument("preference", given, expected, 'preference="median"')
    return float(given)


_SIMPLE: dict[str, Callable[[FloatArray, int | None, int], tuple[IntArray, dict[str, Any]]]] = {
    "k-means": _kmeans,
    "hierarchical": _ward,
}


def _dense(
    points: FloatArray, algorithm: str, law: Any, radius: float | str, min_points: int | None
) -> tuple[IntArray, dict[str, Any]]:
    n = points.shape[1]
    least = 2 * n if min_points is None else checks.whole("min_points", min_points, low=2)
    least = min(least, len(points))
    if algorithm == "optics":
        size = max(least, len(points) // 10)
        labels = OPTICS(min_samples=least, min_cluster_size=size).fit(points).labels_
        return labels, {"min_points": least, "min_cluster_size": size}
    if not isinstance(radius, str):
        reach = float(checks.positive("radius", radius))
    elif checks.choice("radius", radius, ("k-distance", "noise")) == "noise":
        known = read_law(law, n)
        if not isinstance(known, IsotropicLaw):
            raise InvalidArgument("radius", radius, "a number for this law", "radius=0.1")
        reach = known.expected_error
    else:
        reach = _elbow(points, max(2, 2 * n - 1))
    labels = DBSCAN(eps=reach, min_samples=least).fit(points).labels_
    return labels, {"radius": reach, "min_points": least}


def _elbow(points: FloatArray, k: int) -> float:
    """Return the k-distance at the elbow of their sorted curve: the point farthest below the chord from end to end."""
    k = min(k, len(points) - 1)
    return elbow_of(np.sort(NearestNeighbors(n_neighbors=k).fit(points).kneighbors()[0][:, -1]))


def elbow_of(reaches: FloatArray) -> float:
    """Return the elbow of a sorted curve; never 0."""
    chord = np.linspace(reaches[0], reaches[-1], len(reaches))
    elbow = float(reaches[int(np.argmax(chord - reaches))])
    return elbow if elbow > 0 else max(float(reaches[-1]), 1e-12)
