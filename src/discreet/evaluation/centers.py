"""Measures of cluster centres against the raw rows, and against the centres that plain k-means finds there.

All look at the raw rows: they judge a method, and must not be published with a release.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray, Told
from discreet.errors import InvalidArgument, InvalidType

#: Numbers held in memory at a time.
_PORTION = 2**22
#: Rows that centres are compared on.
_MOST_ROWS = 20_000


def nicv(X: Any, centers: Any) -> float:
    """Return the normalised intra-cluster variance: the mean squared distance of rows to their nearest centre.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. Rows with a value that is not finite are left out. Without any row the result is NaN.
    centers : array of shape (k, d)
        The centres, at least one.

    Examples
    --------
    >>> nicv([[0.0, 0.0], [2.0, 0.0], [9.0, 1.0]], [[1.0, 0.0], [9.0, 0.0]])
    1.0
    """
    places = read_matrix("centers", centers)
    if not len(places) or not np.isfinite(places).all():
        raise InvalidArgument("centers", places.shape, "at least one centre of finite numbers", "centers=[[0.0, 0.0]]")
    total, n = 0.0, 0
    rows = read_matrix("X", X, places.shape[1])
    size = max(1, _PORTION // max(places.shape))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        kept = part[np.isfinite(part).all(axis=1)]
        total += float(squared_distances(kept, places).min(axis=1).sum())
        n += len(kept)
    return total / n if n else float("nan")


def nicv_ratio(X: Any, centers: Any, baseline: Any) -> float:
    """Return the NICV divided by that of a non-private baseline: 1 is as good, 1.1 is ten per cent worse.

    Parameters
    ----------
    X, centers
        See `nicv`.
    baseline : array of shape (k, d) or float
        The baseline's centres, or its NICV.

    Examples
    --------
    >>> nicv_ratio([[0.0], [2.0]], [[0.0]], [[1.0]])
    2.0
    """
    return nicv(X, centers) / (float(baseline) if np.ndim(baseline) == 0 else nicv(X, baseline))


def centroid_index(centers: Any, reference: Any) -> int:
    """Return how many clusters were missed: 0 if the two sets of centres match one to one.

    Each centre is mapped to its nearest in the other set. Centres to which none is mapped are orphans. The index is
    the larger number of orphans of the two directions (Fränti, Rezaei and Zhao 2014).

    Parameters
    ----------
    centers, reference : array of shape (k, d)
        Two sets of centres, in any order.

    Examples
    --------
    >>> centroid_index([[0.0], [0.1], [9.0]], [[0.0], [5.0], [9.0]])
    1
    """
    a, b = _two_sets(centers, reference)
    gaps = squared_distances(a, b)
    orphans = len(b) - len(np.unique(gaps.argmin(axis=1))), len(a) - len(np.unique(gaps.argmin(axis=0)))
    return int(max(orphans))


@dataclass(frozen=True, eq=False)
class CenterErrors:
    """Distances of centres from the reference centres they were matched with.

    Attributes
    ----------
    centers, reference, unmatched
        The matched pairs, as many as the smaller set has centres, and how many more the other set has.
    distances, relative : array of float
        Distance of each pair; and divided by the distance from the reference centre to the next one, so that at 0.5 a
        centre is halfway to the neighbouring cluster. NaN if there is no next one.

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
        """Mean of `relative`."""
        return float(self.relative.mean())

    def __repr__(self) -> str:
        more = f", {self.unmatched} unmatched" if self.unmatched else ""
        errors = f"relative error {self.mean_relative:.3g}, largest {float(self.relative.max()):.3g}"
        return f"<CenterErrors: {len(self.distances)} pairs, {errors}{more}>"


def center_errors(centers: Any, reference: Any) -> CenterErrors:
    """Match two sets of centres one to one with the least sum of squared distances, and measure the pairs.

    Parameters
    ----------
    centers, reference : array of shape (k, d)
        Two sets of centres, in any order; their numbers may differ.

    Examples
    --------
    >>> center_errors([[9.0], [1.0]], [[0.0], [10.0], [30.0]])
    <CenterErrors: 2 pairs, relative error 0.1, largest 0.1, 1 unmatched>
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    a, b = _two_sets(centers, reference)
    gaps = squared_distances(a, b)
    left, right = linear_sum_assignment(gaps)
    distances = np.sqrt(gaps[left, right])
    apart = squared_distances(b, b)
    np.fill_diagonal(apart, np.nan if len(b) == 1 else np.inf)
    units = np.sqrt(apart.min(axis=1))[right]
    relative = np.divide(distances, units, out=np.full(len(units), np.nan), where=units > 0)
    return CenterErrors(left, right, distances, relative, abs(len(a) - len(b)))


@dataclass(frozen=True)
class ClusterComparison(Told):
    """Private centres compared with those of k-means on the raw rows. Not private.

    `nicv`, `nicv_ratio` and `centroid_index` are the functions of these names. `center_error` is the mean relative
    error of `center_errors`. `ari`, `nmi` and `fowlkes_mallows` compare the labels of the rows by either set of
    centres. `davies_bouldin` is that of the private labels, `davies_bouldin_raw` that of the raw ones.

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
        """Return all figures as plain data; undefined ones are None."""
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
        The raw rows. Rows with a value that is not finite are left out. At most 20,000 rows are drawn.
    centers : array of shape (k, d)
        The private centres, in the same units.
    n_init, seed : int
        Starts and seed of plain k-means; the seed also draws the rows.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(2000, 2, 3, random_state=0)
    >>> km = dc.PrivateKMeans(3, 1.0, data.domain, random_state=0).fit(data.X)
    >>> compare_centers(data.X, km.cluster_centers_).centroid_index
    0
    """
    from sklearn import metrics  # takes long to import
    from sklearn.cluster import KMeans

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

    def davies_bouldin(labels: Any) -> float:
        defined = 2 <= len(np.unique(labels)) < len(rows)
        return float(metrics.davies_bouldin_score(rows, labels)) if defined else float("nan")

    return ClusterComparison(
        nicv(rows, places),
        nicv_ratio(rows, places, plain.cluster_centers_) if plain.inertia_ > 0 else float("nan"),
        centroid_index(places, plain.cluster_centers_),
        center_errors(places, plain.cluster_centers_).mean_relative,
        float(metrics.adjusted_rand_score(plain.labels_, ours)),
        float(metrics.normalized_mutual_info_score(plain.labels_, ours)),
        float(metrics.fowlkes_mallows_score(plain.labels_, ours)),
        davies_bouldin(ours),
        davies_bouldin(plain.labels_),
        k,
        len(rows),
    )


def read_matrix(name: str, value: Any, width: int | None = None) -> FloatArray:
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(name, type(value).__name__, "a table of numbers", f"{name}=np.zeros((n, d))") from None
    if matrix.ndim != 2 or (width is not None and matrix.shape[1] != width):
        wanted = "two-dimensional" if width is None else f"a table with {width} columns"
        raise InvalidArgument(name, matrix.shape, wanted, f"{name}=np.zeros((n, {width or 'd'}))")
    return matrix


def _two_sets(centers: Any, reference: Any) -> tuple[FloatArray, FloatArray]:
    a = read_matrix("centers", centers)
    b = read_matrix("reference", reference, a.shape[1])
    if not len(a) or not len(b):
        raise InvalidArgument("centers", (a.shape, b.shape), "two sets of at least one centre", "centers=[[0.0]]")
    return a, b


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return all squared distances, computed from differences: the expanded square would cancel far from 0."""
    out = np.zeros((len(a), len(b)))
    for axis in range(a.shape[1]):
        gap = a[:, axis, None] - b[None, :, axis]
        out += gap * gap
    return out
