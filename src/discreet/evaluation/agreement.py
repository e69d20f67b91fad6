"""How well clusterings agree: labels with labels, centres with centres. Scores are scikit-learn's where it has them.

All look at the raw rows or at what was made of them: they judge a method, and published next to a release they leak.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    fowlkes_mallows_score,
    normalized_mutual_info_score,
    silhouette_samples,
    silhouette_score,
)

from discreet import noise
from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument
from discreet.evaluation.metrics import Spread, centroid_index, nicv, nicv_ratio, read_matrix, squared_distances

#: Rows that centres are compared on.
_MOST_ROWS = 20_000

#: Scores of labels against labels, and of labels on the points they were given to.
_AGAINST = {
    "ari": adjusted_rand_score,
    "ami": adjusted_mutual_info_score,
    "nmi": normalized_mutual_info_score,
    "fowlkes_mallows": fowlkes_mallows_score,
}
_ALONE = {
    "silhouette": silhouette_score,
    "calinski_harabasz": calinski_harabasz_score,
    "davies_bouldin": davies_bouldin_score,
}
_NAMES = (*_AGAINST, *_ALONE)


@dataclass(frozen=True)
class Agreement:
    """How well clusterings agree with a reference, and how they look by themselves.

    Attributes
    ----------
    ari, ami : Spread
        Adjusted Rand index and adjusted mutual information (arithmetic mean of the entropies) against the reference:
        1 for the same partition, 0 on average for a random one, possibly below. Outliers (-1) count as a cluster.
    nmi, fowlkes_mallows : Spread
        Normalised mutual information, and the geometric mean of precision and recall over pairs of records that are
        together. Both lie in [0, 1] and are *not* adjusted: many small clusters of chance score well above 0.
    silhouette, calinski_harabasz, davies_bouldin : Spread
        Of the clusterings on the points they were made of; NaN if no points were given, or for fewer than 2 or more
        than n - 1 clusters. They say how clusterable those points are, noise included: they measure no utility. Of
        Davies and Bouldin's index less is better: how wide the two most similar clusters are for their distance.

    Examples
    --------
    >>> clustering_agreement([0, 0, 1, 1], [1, 1, 0, 0])
    <Agreement: ARI 1 (1 to 1), AMI 1 (1 to 1), 1 run>
    """

    ari: Spread
    ami: Spread
    nmi: Spread
    fowlkes_mallows: Spread
    silhouette: Spread
    calinski_harabasz: Spread
    davies_bouldin: Spread
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {"runs": self.runs, **{name: getattr(self, name).to_dict() for name in _NAMES}}

    def __repr__(self) -> str:
        parts = [f"{n} {s.mean:.3g} ({s.low:.3g} to {s.high:.3g})" for n, s in (("ARI", self.ari), ("AMI", self.ami))]
        return f"<Agreement: {', '.join(parts)}, {self.runs} run{'s' * (self.runs != 1)}>"


def clustering_agreement(
    reference: Any, labels: Any, points: Any = None, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> Agreement:
    """Compare clusterings after noise with the same algorithm's clustering of the raw records.

    Parameters
    ----------
    reference : array of shape (n,)
        Labels from the raw records (or true classes).
    labels : array of shape (n,) or (runs, n)
        Labels after noise, one row for every independent draw of the noise. Several rows give Student's interval over
        the draws. A single row says nothing about the noise: its interval is a percentile bootstrap over records.
    points : array of shape (n, d) or (runs, n, d), optional
        What was clustered, for the scores of a clustering by itself.
    confidence : float, default 0.95
        Of the intervals.
    resamples, seed : int
        Of the bootstrap.

    Examples
    --------
    >>> runs = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]]
    >>> found = clustering_agreement([0, 0, 1, 1, 2, 2], runs, [[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> round(found.ari.mean, 3), round(found.fowlkes_mallows.mean, 3), found.silhouette.runs
    (0.722, 0.789, 2)
    """
    truth, runs = np.asarray(reference).ravel(), np.atleast_2d(np.asarray(labels))
    if runs.ndim != 2 or runs.shape[1] != len(truth) or len(truth) < 2:
        shapes = (truth.shape, runs.shape)
        raise InvalidArgument("labels", shapes, "one label per run for each of at least 2 records", "labels=km.labels_")
    places: list[FloatArray | None] = [None] * len(runs)
    if points is not None:
        stack = np.asarray(points, dtype=np.float64)
        stack = np.broadcast_to(stack, (len(runs), *stack.shape[-2:])) if stack.ndim in (2, 3) else stack
        if stack.ndim != 3 or stack.shape[1] != len(truth):
            raise InvalidArgument("points", stack.shape, "rows of points, once or for each run", "points=Z")
        places = list(stack)
    level = float(checks.probability("confidence", confidence))
    if len(runs) > 1:
        figures = np.array([_figures(truth, run, place) for run, place in zip(runs, places, strict=True)])
        spreads = [Spread.of(column, level) for column in figures.T]
    else:
        resamples = checks.whole("resamples", resamples, low=2)
        spreads = _bootstrapped(truth, runs[0], places[0], level, resamples, noise.generator(seed))
    return Agreement(**dict(zip(_NAMES, spreads, strict=True)), runs=len(runs))


def _figures(truth: Any, labels: Any, points: FloatArray | None, silhouette: float | None = None) -> FloatArray:
    """Return all scores in the order of their names; a silhouette that is known is not worked out again."""
    found = {name: score(truth, labels) for name, score in _AGAINST.items()}
    if points is not None and 2 <= len(np.unique(labels)) <= len(labels) - 1:
        own = {} if silhouette is None else {"silhouette": silhouette}
        found |= {name: own[name] if name in own else score(points, labels) for name, score in _ALONE.items()}
    return np.array([found.get(name, np.nan) for name in _NAMES], dtype=np.float64)


def _bootstrapped(
    truth: Any, labels: Any, points: FloatArray | None, level: float, resamples: int, stream: noise.Generator
) -> list[Spread]:
    """Bootstrap over records. A record drawn twice would be its own neighbour: each keeps its silhouette."""
    n, whole = len(truth), _figures(truth, labels, points)
    defined = points is not None and np.isfinite(whole[_NAMES.index("silhouette")])
    own = silhouette_samples(points, labels) if defined else np.full(n, np.nan)
    drawn = np.empty((resamples, len(_NAMES)))
    for i in range(resamples):
        rows = noise.below(n, (n,), stream)
        drawn[i] = _figures(
            truth[rows], labels[rows], points[rows] if points is not None and defined else None, float(own[rows].mean())
        )
    spreads = []
    for value, column in zip(whole.tolist(), drawn.T, strict=True):
        kept = column[np.isfinite(column)]
        if not np.isfinite(value) or len(kept) < 2:
            spreads.append(Spread(value, float("nan"), float("nan"), float("nan"), int(np.isfinite(value))))
            continue
        low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
        spreads.append(Spread(value, float(low), float(high), float(kept.std(ddof=1)), 1))
    return spreads


@dataclass(frozen=True, eq=False)
class CenterErrors:
    """How far centres lie from the reference centres they were matched with.

    Attributes
    ----------
    centers, reference : array of int
        Which centre was matched with which of the reference; as many pairs as the smaller set has.
    distances : array of float
        Of every pair.
    relative : array of float
        The same over the distance from the reference centre to the next one of the reference (or over ``unit``): at
        0.5 a centre is halfway to the neighbouring cluster. NaN where there is no next one.
    unmatched : int
        How many more centres one set has than the other.

    Examples
    --------
    >>> center_errors([[0.0], [11.0]], [[0.0], [10.0]]).distances.tolist()
    [0.0, 1.0]
    """

    centers: IntArray
    reference: IntArray
    distances: FloatArray
    relative: FloatArray
    unmatched: int

    @property
    def mean_relative(self) -> float:
        """Return the mean of `relative`."""
        return float(self.relative.mean())

    def __repr__(self) -> str:
        more = f", {self.unmatched} unmatched" if self.unmatched else ""
        errors = f"relative error {self.mean_relative:.3g}, largest {float(self.relative.max()):.3g}"
        return f"<CenterErrors: {len(self.distances)} pairs, {errors}{more}>"


def center_errors(centers: Any, reference: Any, *, unit: float | None = None) -> CenterErrors:
    """Match two sets of centres one to one, so that squared distances add up to least, and measure the pairs.

    Parameters
    ----------
    centers, reference : array of shape (k, d)
        Two sets of centres. The order does not matter; the numbers of centres may differ.
    unit : float, optional
        A length to measure distances in, such as the diagonal of the domain; by default every reference centre's
        distance to the next one.

    Examples
    --------
    >>> center_errors([[9.0], [1.0]], [[0.0], [10.0], [30.0]])
    <CenterErrors: 2 pairs, relative error 0.1, largest 0.1, 1 unmatched>
    """
    a = read_matrix("centers", centers)
    b = read_matrix("reference", reference, a.shape[1])
    if not len(a) or not len(b):
        raise InvalidArgument("centers", (a.shape, b.shape), "two sets of at least one centre", "centers=[[0.0]]")
    gaps = squared_distances(a, b)
    left, right = linear_sum_assignment(gaps)
    distances = np.sqrt(gaps[left, right])
    if unit is not None:
        units = np.full(len(right), float(checks.positive("unit", unit)))
    else:
        apart = squared_distances(b, b)
        np.fill_diagonal(apart, np.nan if len(b) == 1 else np.inf)
        units = np.sqrt(apart.min(axis=1))[right]
    relative = np.divide(distances, units, out=np.full(len(units), np.nan), where=units > 0)
    return CenterErrors(left, right, distances, relative, abs(len(a) - len(b)))


@dataclass(frozen=True)
class ClusterComparison:
    """Private centres beside those of k-means on the raw rows. Not private: raw rows were looked at.

    Attributes
    ----------
    nicv, nicv_ratio : float
        Mean squared distance of rows to their nearest private centre, and the same over that of raw k-means.
    centroid_index : int
        Clusters of raw k-means that were missed.
    center_error : float
        Mean distance of matched centres, over the distance of a raw centre to the next one.
    ari, nmi, fowlkes_mallows : float
        Agreement of the rows' labels by either set of centres; see `Agreement`.
    davies_bouldin, davies_bouldin_raw : float
        Of the rows by private and by raw centres; less is better.
    n_clusters, n_rows : int
        Private centres, and rows that were compared.

    Examples
    --------
    >>> compare_centers([[0.0], [0.2], [5.0], [5.2]], [[0.0], [5.1]])
    <ClusterComparison: NICV ratio 1.5, ARI 1, 0 of 2 clusters missed>
    """

    nicv: float
    nicv_ratio: float
    centroid_index: int
    center_error: float
    ari: float
    nmi: float
    fowlkes_mallows: float
    davies_bouldin: float
    davies_bouldin_raw: float
    n_clusters: int
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data; what is not defined is None."""
        return {name: None if isinstance(value, float) and not np.isfinite(value) else value
                for name, value in asdict(self).items()}  # fmt: skip

    def __repr__(self) -> str:
        missed = f"{self.centroid_index} of {self.n_clusters} clusters missed"
        return f"<ClusterComparison: NICV ratio {self.nicv_ratio:.3g}, ARI {self.ari:.3g}, {missed}>"


def compare_centers(X: Any, centers: Any, *, n_init: int = 5, seed: int = 0) -> ClusterComparison:
    """Compare private centres with as many centres of plain k-means on the raw rows.

    Parameters
    ----------
    X : array of shape (n, d)
        The raw rows. Rows with a value that is not finite are left out; of more than 20,000 that many are drawn.
    centers : array of shape (k, d)
        The private centres, in the same units.
    n_init, seed : int
        Starts and seed of plain k-means, and seed of the rows that are drawn.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> km = dc.PrivateKMeans(3, 1.0, data.domain, random_state=0).fit(data.X)
    >>> compare_centers(data.X, km.cluster_centers_).centroid_index
    0
    """
    places = read_matrix("centers", centers)
    rows = read_matrix("X", X, places.shape[1])
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) > _MOST_ROWS:
        rows = rows[np.argsort(noise.below(2**53, (len(rows),), noise.generator(seed)), kind="stable")[:_MOST_ROWS]]
    k = len(places)
    if not k or len(np.unique(rows, axis=0)) < k:
        expected = f"at least as many different rows as centres ({k}), and a centre"
        raise InvalidArgument("X", rows.shape, expected, "X=table with more rows")
    plain = KMeans(k, n_init=n_init, random_state=seed).fit(rows)
    ours = squared_distances(rows, places).argmin(axis=1)
    scores = dict(zip(_NAMES, _figures(plain.labels_, ours, rows, float("nan")).tolist(), strict=True))
    alone = 2 <= k < len(rows)
    return ClusterComparison(
        nicv(rows, places),
        nicv_ratio(rows, places, plain.cluster_centers_) if plain.inertia_ > 0 else float("nan"),
        centroid_index(places, plain.cluster_centers_),
        center_errors(places, plain.cluster_centers_).mean_relative,
        scores["ari"],
        scores["nmi"],
        scores["fowlkes_mallows"],
        scores["davies_bouldin"],
        float(davies_bouldin_score(rows, plain.labels_)) if alone else float("nan"),
        k,
        len(rows),
    )
