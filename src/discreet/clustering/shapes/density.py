"""Density clusters on weighted leaves: heights of the released density that stand out of valleys and of the noise.

DBSCAN and HDBSCAN estimate a density from distances between rows. A synopsis has the density: count over volume. What
is left of them is the hierarchy of its level sets, on the graph of leaves that touch:

- at one **level** (``level=``): leaves above it that hang together are a cluster, as in DBSCAN;
- over all levels (default), as in HDBSCAN: a hill is a cluster if the rows above the saddle that joins it to a higher
  one exceed what noise and sampling explain, by ``prominence`` standard deviations. Hills are followed from the top
  down, each leaf joins the hill of its densest neighbour (Chazal, Guibas, Oudot and Skraba 2013, with rows above the
  saddle in place of the height, because the noise of a sum is known).

Both defaults were chosen on generated shapes (``benchmarks/tuning/density.py``).

Written by hand: the clusterers of scikit-learn take rows, and estimate the density that is known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clustering.leaves.hills import density, hills, touching
from discreet.clustering.leaves.kmeans import mass_by
from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.options import COLUMNS, SCALE, SEED
from discreet.clustering.shapes.base import LeafClusters
from discreet.core import FloatArray, IntArray, later, option
from discreet.synopses import refine

csgraph = later("scipy.sparse.csgraph")
sparse = later("scipy.sparse")
spatial = later("scipy.spatial")

#: A cluster has to hold at least this share of the rows, and this many times what one empty leaf may get by noise.
_LEAST_SHARE, _LEAST_NOISE = 0.002, 2.0


class DensityClusters(LeafClusters):
    """Clusters of any shape: regions of a synopsis that are denser than what lies between them.

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
    >>> s = dc.GridSynopsis(1.0, data.domain, 24, random_state=0).fit(data.X).synopsis_
    >>> found = DensityClusters().fit(s)
    >>> found.n_clusters_, found.predict(data.X).shape
    (4, (5000,))
    """

    prominence: float = option(
        default=4.0,
        above=0,
        help="Height of a hill above the saddle, in standard deviations of noise and sampling, to be a cluster.",
        details="A larger number gives fewer clusters.",
    )
    contrast: float = option(
        default=1.6,
        above=0,
        help="Mean density of a hill over that of the saddle, at least.",
        details="The cells of a grid cut a curve into hills of their own, which noise does not explain.",
    )
    level: float | None = option(
        default=None,
        above=0,
        example=2.0,
        help="Use one density level instead: least density of a leaf, relative to uniform rows.",
        details="Those that touch are one cluster.",
    )
    min_rows: float | None = option(
        default=None,
        above=0,
        example=50,
        help="Smaller clusters are noise.",
        details="By default 0.2 % of the rows, and twice what noise may give to an empty leaf.",
    )
    outliers: bool = option(default=True, help="Leave rows outside of all clusters unlabelled, instead of the nearest.")
    scale: str = SCALE
    columns: Any = COLUMNS
    random_state: int = SEED

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        if options["level"] is not None:
            dense, (first, second) = density(leaves), touching(leaves)
            n = len(dense)
            # Rows spread evenly are exactly as dense as themselves, but for rounding.
            above = dense >= float(options["level"]) * (1 - 1e-9)
            kept = above[first] & above[second]
            graph = sparse.csr_matrix((np.ones(int(kept.sum())), (first[kept], second[kept])), (n, n))
            labels = np.where(above, csgraph.connected_components(graph, directed=False)[1], -1)
        else:
            labels = hills(leaves, float(options["prominence"]), float(options["contrast"]))
        labels = _heavy(labels, leaves.weights, _least(leaves, options["min_rows"]))
        if options["outliers"] or not (labels >= 0).any():
            return labels
        known = labels >= 0
        return np.where(known, labels, labels[known][spatial.cKDTree(leaves.points[known]).query(leaves.points)[1]])

    @property
    def _bounded(self) -> bool:
        return bool(self.outliers)


def _least(leaves: Leaves, min_rows: Any) -> float:
    if min_rows is not None:
        return float(min_rows)
    by_noise = _LEAST_NOISE * float(np.median(refine.noise_cut(leaves.seen)))
    return max(_LEAST_SHARE * float(leaves.weights.sum()), by_noise)


def _heavy(labels: IntArray, weights: FloatArray, least: float) -> IntArray:
    """Drop clusters with fewer rows."""
    inside = labels >= 0
    mass = mass_by(labels[inside], weights[inside], int(labels.max(initial=-1)) + 1)
    out = labels.copy()
    out[inside] = np.where(mass[labels[inside]] >= least, labels[inside], -1)
    return out
