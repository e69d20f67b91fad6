"""Ward's hierarchy of weighted leaves, with its dendrogram.

Ward (1963) joins, again and again, the two clusters whose union adds least to the squared error. Written by hand,
because neither SciPy's `linkage` nor scikit-learn's agglomeration takes weights, and a leaf stands for many rows. Found
by chains of nearest neighbours (Murtagh 1983): time grows with the square of the leaves. The result is a linkage as
SciPy has it, so that everything SciPy does with one can be done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.options import AUTO_CLUSTERS, COLUMNS, MAX_CLUSTERS, SCALE, SEED
from discreet.clustering.shapes.base import LeafClusters, for_the_heaviest
from discreet.core import FloatArray, IntArray, checks, jit, later, option

hierarchy = later("scipy.cluster.hierarchy")

#: Leaves in the hierarchy at most; lighter ones go where the nearest of them goes.
_MOST = 8000


class WardClusters(LeafClusters):
    """Ward's hierarchical clustering of the leaves of a synopsis.

    Attributes
    ----------
    linkage_ : array of shape (leaves - 1, 4)
        The hierarchy, as `scipy.cluster.hierarchy` has it, of the leaves `leaves_`.
    labels_, clusters_, synopsis_, guarantee_ : see `fit`
        Label of each leaf (-1 for none), what the clusters are, what was clustered, its promise.

    Privacy
    -------
    Post-processing of a release: nothing is charged.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.datasets.mixture(5000, 2, 4, random_state=0)
    >>> s = dc.GridSynopsis(1.0, data.domain, 16, random_state=0).fit(data.X).synopsis_
    >>> found = WardClusters().fit(s)
    >>> found.n_clusters_, found.linkage_.shape[1]
    (4, 4)
    """

    n_clusters: int | str = AUTO_CLUSTERS
    max_clusters: int = MAX_CLUSTERS
    height: float | None = option(
        default=None,
        above=0,
        example=10.0,
        help="Cut the hierarchy at this height instead.",
        details="Height is the distance of two clusters times the root of twice their reduced number of rows.",
    )
    scale: str = SCALE
    columns: Any = COLUMNS
    random_state: int = SEED

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        return for_the_heaviest(leaves, _MOST, lambda kept: self._cut(leaves, kept, options))

    def _cut(self, leaves: Leaves, kept: IntArray, options: Mapping[str, Any]) -> IntArray:
        self.leaves_: IntArray = leaves.which[kept]
        self.linkage_: FloatArray = ward_linkage(leaves.points[kept], leaves.weights[kept])
        if len(kept) < 2:
            return np.zeros(len(kept), np.int64)
        if options["height"] is None:
            at, by = float(self._wanted(leaves, options)), "maxclust"
        else:
            at, by = float(options["height"]), "distance"
        labels: IntArray = hierarchy.fcluster(self.linkage_, at, by).astype(np.int64) - 1
        return labels

    def plot_dendrogram(self, most: int = 40) -> Any:
        """Draw the upper part of the hierarchy, with at most ``most`` branches; needs Plotly (the extra ``plot``)."""
        from discreet.clustering.plots import draw_dendrogram

        return draw_dendrogram(self.linkage_, self.n_clusters_, checks.whole("most", most, low=2))


def ward_linkage(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Ward's hierarchy of weighted points as a SciPy linkage.

    Heights are sqrt(2 w v/(w + v)) |x - y| for clusters of weights w and v, as SciPy has them for weights of 1. The
    last column counts points, not their weights.
    """
    n = len(points)
    if n < 2:
        return np.empty((0, 4))
    left, right, heights = _chains(points.copy(), weights.astype(np.float64))
    order = np.argsort(heights, kind="stable")
    return _named(left[order], right[order], heights[order], n)


@jit
def _chains(centers: FloatArray, masses: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Join nearest neighbours of each other; a joined cluster goes by the number of one of its points."""
    n, d = centers.shape
    alive = np.ones(n, np.bool_)
    left, right, heights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    chain, length = np.empty(n, np.int64), 0
    for step in range(n - 1):
        if length == 0:
            for i in range(n):
                if alive[i]:
                    chain[0] = i
                    length = 1
                    break
        while True:
            a = chain[length - 1]
            before = chain[length - 2] if length > 1 else -1
            best, near = np.inf, -1
            for i in range(n):
                if not alive[i] or i == a:
                    continue
                gap = 0.0
                for j in range(d):
                    gap += (centers[a, j] - centers[i, j]) ** 2
                gap *= 2 * masses[a] * masses[i] / (masses[a] + masses[i])
                if gap < best or (gap == best and i == before):  # of equals the one before, or a chain could run round
                    best, near = gap, i
            if near == before:
                break
            chain[length] = near
            length += 1
        a, b = min(chain[length - 1], chain[length - 2]), max(chain[length - 1], chain[length - 2])
        length -= 2
        left[step], right[step], heights[step] = a, b, np.sqrt(best)
        whole = masses[a] + masses[b]
        for j in range(d):
            centers[a, j] = (masses[a] * centers[a, j] + masses[b] * centers[b, j]) / whole
        masses[a] = whole
        alive[b] = False
    return left, right, heights


@jit
def _named(left: IntArray, right: IntArray, heights: FloatArray, n: int) -> FloatArray:
    """Name joined clusters n, n + 1, … in the order of their heights, as SciPy does."""
    out = np.empty((n - 1, 4))
    parent = np.arange(n)
    name, size = np.arange(n), np.ones(n, np.int64)
    for step in range(n - 1):
        a, b = left[step], right[step]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        out[step, 0], out[step, 1] = min(name[a], name[b]), max(name[a], name[b])
        parent[b] = a
        size[a] += size[b]
        name[a] = n + step
        out[step, 2], out[step, 3] = heights[step], size[a]
    return out
