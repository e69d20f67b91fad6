"""Spectral clusters: weighted leaves that touch are neighbours, and clusters are parts that few paths join.

The affinity of two leaves that touch is the root of the product of their densities: paths lead where rows are. (Shi and
Malik 2000; Ng, Jordan and Weiss 2002.) scikit-learn's `SpectralClustering` would do but for two things: it clusters the
embedding without weights, and it only warns where the graph falls apart, as it does wherever a cluster stands alone. So
the embedding is SciPy's, parts are joined by their nearest leaves with a faint link, and the last step is our weighted
k-means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

from discreet.clustering.central.leaves import Leaves
from discreet.clustering.kmeans import nearest, weighted_kmeans
from discreet.clustering.shapes.base import LeafClusters, for_the_heaviest
from discreet.clustering.shapes.neighbours import density, touching
from discreet.core.arrays import FloatArray, IntArray

#: Leaves in the graph at most, and the strength of a link between parts that do not touch, in the median affinity.
_MOST, _FAINT = 8000, 1e-3
#: Up to this many leaves eigenvectors are found by the dense method, which is exact.
_DENSE = 600


class SpectralClusters(LeafClusters):
    """Clusters of any shape, a given number of them: parts of a synopsis that hang together.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        Their number; "auto" asks `suggest_k`, which looks for round ones.
    max_clusters : int, default 20
        The most that "auto" looks for.
    scale, columns, random_state
        See `cluster_synopsis`.

    Attributes
    ----------
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
    >>> SpectralClusters(4).fit(s).n_clusters_
    4
    """

    def __init__(
        self,
        n_clusters: int | str = "auto",
        max_clusters: int = 20,
        scale: str = "none",
        columns: Any = None,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.scale = scale
        self.columns = columns
        self.random_state = random_state

    def _label(self, leaves: Leaves) -> IntArray:
        k = self._wanted(leaves, self.n_clusters, self.max_clusters)
        if k == 1:
            return np.zeros(len(leaves.points), np.int64)
        affinity = _affinity(leaves)

        def cut(kept: IntArray) -> IntArray:
            places = _embedding(_joined(affinity[kept][:, kept], leaves.points[kept]), min(k, len(kept)))
            found = weighted_kmeans(places, leaves.weights[kept], k, n_init=10, seed=self.random_state)
            return nearest(places, found.centers)

        return for_the_heaviest(leaves, _MOST, cut)


def _affinity(leaves: Leaves) -> csr_matrix:
    """Return the affinities of leaves that touch."""
    (first, second), root, n = touching(leaves), np.sqrt(density(leaves)), len(leaves.points)
    strength = root[first] * root[second]
    both = (np.r_[strength, strength], (np.r_[first, second], np.r_[second, first]))
    return coo_matrix(both, (n, n)).tocsr()


def _joined(affinity: csr_matrix, points: FloatArray) -> csr_matrix:
    """Link every part of the graph to the leaf nearest to it, until the graph hangs together."""
    faint = _FAINT * (float(np.median(affinity.data)) if affinity.nnz else 1.0)
    while True:
        parts, part = connected_components(affinity, directed=False)
        if parts == 1:
            return affinity
        links = []
        for number in range(parts):
            own = np.flatnonzero(part == number)
            others = np.flatnonzero(part != number)
            far, near = cKDTree(points[others]).query(points[own])
            at = int(np.argmin(far))
            links.append((own[at], others[near[at]]))
        a, b = np.array(links).T
        more = coo_matrix((np.full(2 * len(a), faint), (np.r_[a, b], np.r_[b, a])), affinity.shape)
        affinity = (affinity + more.tocsr()).tocsr()


def _embedding(affinity: csr_matrix, k: int) -> FloatArray:
    """Return the first k eigenvectors of the normalised affinities, each leaf's row of length one."""
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    root = diags_array(1 / np.sqrt(np.maximum(degree, 1e-300)))
    normal = (root @ affinity @ root).tocsr()
    n = normal.shape[0]
    if n <= max(_DENSE, k + 1):
        vectors = np.linalg.eigh(normal.toarray())[1][:, -k:]
    else:
        # Shifted, so that the wanted ones are the largest in size; the start is fixed, so that runs agree.
        vectors = eigsh(normal, k, which="LA", v0=np.ones(n) / np.sqrt(n), tol=1e-6)[1]
    places: FloatArray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return places
