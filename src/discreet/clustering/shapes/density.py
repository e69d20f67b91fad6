"""Density clusters on weighted leaves: peaks of the released density that stand out from the noise.

HDBSCAN estimates a density from distances between rows. A synopsis has the density: count over volume. A hill is a
cluster if the rows above the saddle that joins it to a higher one exceed what noise and sampling explain, by
``prominence`` standard deviations (Chazal, Guibas, Oudot and Skraba 2013, with rows above the saddle in place of the
height, because the noise of a sum is known). Defaults: ``benchmarks/tuning/density.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clustering.leaves.hills import hills
from discreet.clustering.leaves.kmeans import mass_by
from discreet.clustering.leaves.leaves import Leaves
from discreet.clustering.options import COLUMNS, SCALE, SEED
from discreet.clustering.shapes.base import LeafClusters
from discreet.core import IntArray, later, option
from discreet.synopses import refine

spatial = later("scipy.spatial")

#: A cluster has to hold at least this share of the rows, and this many times what one empty leaf may get by noise.
_LEAST_SHARE, _LEAST_NOISE = 0.002, 2.0


class DensityClusters(LeafClusters):
    """Clusters of any shape: regions of a synopsis that are denser than what lies between them.

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
    outliers: bool = option(default=True, help="Leave rows outside of all clusters unlabelled, instead of the nearest.")
    scale: str = SCALE
    columns: Any = COLUMNS
    random_state: int = SEED

    def _label(self, leaves: Leaves, options: Mapping[str, Any]) -> IntArray:
        labels = hills(leaves, float(options["prominence"]), float(options["contrast"]))
        by_noise = _LEAST_NOISE * float(np.median(refine.noise_cut(leaves.seen)))
        mass = mass_by(labels, leaves.weights, int(labels.max(initial=-1)) + 1)
        known = mass[labels] >= max(_LEAST_SHARE * float(leaves.weights.sum()), by_noise)
        labels = np.where(known, labels, -1)
        if options["outliers"] or not known.any():
            return labels
        return np.where(known, labels, labels[known][spatial.cKDTree(leaves.points[known]).query(leaves.points)[1]])

    @property
    def _bounded(self) -> bool:
        return bool(self.outliers)
