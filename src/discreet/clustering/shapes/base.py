"""Base of the clusterers of a synopsis: a label for each leaf, and labels of the user's own rows. Post-processing.

Leaves that hold no more than noise explains are left out first (`Leaves`); the others keep their counts as weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet import engines
from discreet.clustering.central.of_synopsis import ClusterResult
from discreet.clustering.how_many.suggest import KSuggestion, suggest_k
from discreet.clustering.leaves.kmeans import mass_by
from discreet.clustering.leaves.leaves import Leaves
from discreet.core import EMPTY_UP_TO, Declared, Domain, Estimator, FloatArray, IntArray, check_fitted, jit, later
from discreet.synopses import Synopsis, bind, table

spatial = later("scipy.spatial")

#: Boxes whose representatives are nearest to a row, among which the box that it lies in is looked for first.
_CANDIDATES = 12


class LeafClusters(Declared, Estimator):
    """Clusters of the leaves of a synopsis. Methods differ in `_label` alone.

    ``labels_`` has the cluster of each leaf of ``synopsis_`` (-1 for none), ``clusters_`` means and weights of the
    clusters, ``guarantee_`` the promise of the release, ``suggestion_`` what a number of clusters rests on that was not
    given.
    """

    def fit(self, synopsis: Synopsis, y: Any = None) -> Any:
        """Cluster the leaves of a synopsis with weights as drawn; ``y`` is ignored."""
        options = self.read_options()
        leaves = Leaves.of(synopsis, options["columns"], options["scale"])
        self.suggestion_: KSuggestion | None = None
        own = self._label(leaves, options) if len(leaves.points) else np.empty(0, np.int64)
        self.labels_: IntArray = np.full(leaves.seen.n_leaves, -1)
        self.labels_[leaves.which] = _by_weight(own, leaves.weights)
        self.synopsis_, self.guarantee_ = leaves.seen, synopsis.guarantee
        self._leaves = leaves
        self.clusters_ = self._described(leaves)
        return self

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        """Return a label for each leaf that holds more than noise; -1 for none."""
        raise NotImplementedError

    @property
    def _bounded(self) -> bool:
        """True if rows beyond all boxes of a cluster belong to none."""
        return False

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that were found."""
        return len(self.clusters_.centers)

    def _wanted(self, leaves: Leaves, options: Mapping[str, Any]) -> int:
        """Return the number of clusters: as given, or as suggested; never more than there are leaves."""
        given = options["n_clusters"]
        if given == "auto":
            how = {name: options[name] for name in ("scale", "random_state", "max_clusters")}
            self.suggestion_ = suggest_k(leaves.seen, **how)
            given = self.suggestion_.n_clusters or 1
        return min(int(given), len(leaves.points))

    def _described(self, leaves: Leaves) -> ClusterResult:
        labels = self.labels_[leaves.which]
        inside = labels >= 0
        k = int(labels.max(initial=-1)) + 1
        label, weights = labels[inside], leaves.weights[inside]
        mass = mass_by(label, weights, k)
        places = leaves.points[inside] * leaves.units
        centers = np.column_stack([mass_by(label, weights * p, k) for p in places.T]) / mass[:, np.newaxis]
        errors = np.sqrt(mass_by(label, leaves.seen.variances[leaves.which][inside], k))
        doubtful = (mass <= EMPTY_UP_TO * errors) & (errors > 0)
        said = [
            "" if self.suggestion_ is None else self.suggestion_.text,
            leaves.note,
            "" if k else "no leaves hold enough rows for a cluster",
        ]
        note = "; ".join(filter(None, said))
        return ClusterResult(centers, mass, math.nan, leaves.seen, note, leaves.seen.domain.names, {}, errors, doubtful,
                             self.suggestion_)  # fmt: skip

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each row; -1 for a row of none, or with a missing value. Not for publication.

        A row belongs to the cluster of the box that it lies in. If that box holds nothing but noise, it belongs to the
        cluster of the nearest box that holds more (`DensityClusters`: to none). Values beyond the declared bounds are
        clamped.
        """
        check_fitted(self)
        domain = self.synopsis_.domain
        source = bind(engines.open(table(X)), domain, domain)
        parts = [self._of_rows(columns, domain) for columns in source.batches(domain)]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _of_rows(self, columns: Any, domain: Domain) -> IntArray:
        rows = domain.clamp(np.column_stack(list(columns)))
        placed = np.isfinite(rows).all(axis=1)
        out = np.full(len(rows), -1)
        if len(self._leaves.points):
            out[placed] = self._of_points(rows[placed] / self._leaves.units)
        return out

    def _of_points(self, points: FloatArray) -> IntArray:
        """Return the labels of points, in the units of the leaves."""
        leaves = self._leaves
        low, high = (part[leaves.which] / leaves.units for part in (leaves.seen.lower, leaves.seen.upper))
        few = min(_CANDIDATES, len(leaves.points))
        near = spatial.cKDTree(leaves.points).query(points, few)[1].reshape(len(points), few)
        beyond = np.maximum(low[near] - points[:, np.newaxis], points[:, np.newaxis] - high[near])
        gaps = (np.maximum(beyond, 0.0) ** 2).sum(axis=2)
        best = gaps.argmin(axis=1)
        rows = np.arange(len(points))
        box, gap = near[rows, best], gaps[rows, best]
        # A large box may hold a row that lies far from its representative, among those of small ones.
        far = np.flatnonzero(gap > 0)
        box[far], gap[far] = _nearest_box(points[far], low, high)
        found: IntArray = self.labels_[leaves.which][box]
        return np.where(gap > 0, -1, found) if self._bounded else found

    def plot(self, columns: tuple[str, str] | None = None) -> Any:
        """Draw the leaves of each cluster in the plane of two columns; needs Plotly (the extra ``plot``)."""
        from discreet.clustering.plots import draw_clusters

        return draw_clusters(self, columns)


@jit
def _nearest_box(points: FloatArray, low: FloatArray, high: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the box that each point is nearest to, and the square of how far it is from it: 0 inside."""
    boxes, gaps = np.empty(len(points), np.int64), np.empty(len(points))
    for i in range(len(points)):
        best, at = np.inf, 0
        for k in range(len(low)):
            gap = 0.0
            for j in range(points.shape[1]):
                beyond = max(low[k, j] - points[i, j], points[i, j] - high[k, j], 0.0)
                gap += beyond * beyond
                if gap >= best:
                    break
            if gap < best:
                best, at = gap, k
            if gap == 0.0:
                break
        boxes[i], gaps[i] = at, best
    return boxes, gaps


def _by_weight(labels: IntArray, weights: FloatArray) -> IntArray:
    """Number clusters from the heaviest on; -1 stays."""
    inside = labels >= 0
    names, place = np.unique(labels[inside], return_inverse=True)
    order = np.argsort(-mass_by(place, weights[inside], len(names)), kind="stable")
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    out = np.full(len(labels), -1)
    out[inside] = rank[place]
    return out
