"""Spectral clusters: weighted leaves that touch are neighbours, and clusters are parts that few paths join.

The affinity of two leaves that touch is the root of the product of their densities (Shi and Malik 2000; Ng, Jordan and
Weiss 2002). scikit-learn's `SpectralClustering` clusters the embedding without weights, and only warns where the graph
falls apart. Here parts are joined by their nearest leaves with a faint link, and the last step is weighted k-means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clustering.leaves.hills import density, touching
from discreet.clustering.leaves.kmeans import nearest, weighted_kmeans
from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.options import AUTO_CLUSTERS, COLUMNS, MAX_CLUSTERS, SCALE, SEED
from discreet.clustering.shapes.base import LeafClusters, for_the_heaviest
from discreet.core import FloatArray, IntArray, later

csgraph = later("scipy.sparse.csgraph")
linalg = later("scipy.sparse.linalg")
sparse = later("scipy.sparse")
spatial = later("scipy.spatial")

#: Leaves in the graph at most, and the strength of a link between leaves that do not touch, in the median affinity (of
#: one between parts that are not even near: that share of it again).
_MOST, _FAINT = 8000, 1e-3
#: Leaves around a leaf among which one of another part is looked for first.
_AROUND = 16
#: Most leaves for which eigenvectors are found by the dense method, which is exact.
_DENSE = 600


class SpectralClusters(LeafClusters):
    """Clusters of any shape, a given number of them: parts of a synopsis that hang together.

    Attributes
    ----------
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
    >>> SpectralClusters(4).fit(s).n_clusters_
    4
    """

    n_clusters: int | str = AUTO_CLUSTERS
    max_clusters: int = MAX_CLUSTERS
    scale: str = SCALE
    columns: Any = COLUMNS
    random_state: int = SEED

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        k = self._wanted(leaves, options)
        if k == 1:
            return np.zeros(len(leaves.points), np.int64)
        affinity = _affinity(leaves)

        def cut(kept: IntArray) -> IntArray:
            places = _embedding(_joined(affinity[kept][:, kept], leaves.points[kept]), min(k, len(kept)))
            found = weighted_kmeans(places, leaves.weights[kept], k, n_init=10, seed=options["random_state"])
            return nearest(places, found.centers)

        return for_the_heaviest(leaves, _MOST, cut)


def _affinity(leaves: Leaves) -> Any:
    """Return the affinities of leaves that touch."""
    (first, second), root, n = touching(leaves), np.sqrt(density(leaves)), len(leaves.points)
    strength = root[first] * root[second]
    both = (np.r_[strength, strength], (np.r_[first, second], np.r_[second, first]))
    return sparse.coo_matrix(both, (n, n)).tocsr()


def _joined(affinity: Any, points: FloatArray) -> Any:
    """Link leaves faintly to those around them, and parts to what is nearest until the graph hangs together."""
    faint = _FAINT * (float(np.median(affinity.data)) if affinity.nnz else 1.0)
    n = len(points)
    far, near = spatial.cKDTree(points).query(points, min(_AROUND, n))
    step = max(float(np.median(far[:, 1])), 1e-300)
    strength = faint * np.exp(-((far[:, 1:] / step) ** 2) / 2)
    ends = (np.repeat(np.arange(n), strength.shape[1]), near[:, 1:].ravel())
    links = sparse.coo_matrix((strength.ravel(), ends), (n, n)).tocsr()
    affinity = (affinity + links + links.T).tocsr()
    while True:
        parts, part = csgraph.connected_components(affinity, directed=False)
        if parts == 1:
            return affinity
        gaps = np.where(part[near] != part[:, np.newaxis], far, np.inf)
        best = gaps.argmin(axis=1)
        reach, other = gaps[np.arange(n), best], near[np.arange(n), best]
        order = np.lexsort((reach, part))
        first = order[np.unique(part[order], return_index=True)[1]]  # of each part the leaf nearest to another part
        a, b = first, other[first]
        for at in np.flatnonzero(np.isinf(reach[first])).tolist():  # parts so large that none is around their leaves
            own, rest = np.flatnonzero(part == at), np.flatnonzero(part != at)
            distance, nearby = spatial.cKDTree(points[rest]).query(points[own])
            a[at], b[at] = own[distance.argmin()], rest[nearby[distance.argmin()]]
        more = sparse.coo_matrix((np.full(2 * len(a), _FAINT * faint), (np.r_[a, b], np.r_[b, a])), affinity.shape)
        affinity = (affinity + more.tocsr()).tocsr()


def _embedding(affinity: Any, k: int) -> FloatArray:
    """Return the first k eigenvectors of the normalised affinities, each leaf's row of length one."""
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    root = sparse.diags_array(1 / np.sqrt(np.maximum(degree, 1e-300)))
    normal = (root @ affinity @ root).tocsr()
    n = normal.shape[0]
    if n <= max(_DENSE, k + 1):
        vectors = np.linalg.eigh(normal.toarray())[1][:, -k:]
    else:
        # Shifted, so that the wanted ones are the largest in size; the start is fixed, so that runs agree.
        vectors = linalg.eigsh(normal, k, which="LA", v0=np.ones(n) / np.sqrt(n), tol=1e-6)[1]
    places: FloatArray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return places
