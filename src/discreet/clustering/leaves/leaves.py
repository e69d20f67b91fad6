"""The leaves of a synopsis as weighted points, with what noise alone explains taken out. Post-processing.

What chooses a number of clusters, and every clusterer that is not k-means, starts from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.clustering.leaves.columns import cluster_columns, distance_units, left_out, view
from discreet.clustering.leaves.kmeans import mass_by
from discreet.core import FloatArray, IntArray
from discreet.errors import InvalidType
from discreet.synopses import Synopsis, refine

#: Where leaves publish means, cuts mostly fall between clusters, and rows lie nearer to their mean than if they were
#: spread evenly: this share of an even spread's variance is taken (``benchmarks/tuning/how_many.py``).
MEANS_SPREAD = 0.1


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves that hold more than noise, as weighted points.

    ``points`` are representatives over ``units``, ``within`` the variance of the rows inside each leaf as far as its
    box says, ``which`` their places in ``seen``, the synopsis of the columns that are clustered (consistent, if there
    is a tree).
    """

    points: FloatArray
    weights: FloatArray
    within: FloatArray
    which: IntArray
    seen: Synopsis
    units: FloatArray
    note: str

    @classmethod
    def of(cls, synopsis: Synopsis, columns: Sequence[str] | None = None, scale: str = "none") -> Leaves:
        """Take the leaves of a synopsis apart; for the arguments see `cluster_synopsis`."""
        if not isinstance(synopsis, Synopsis):
            fix = "GridSynopsis(...).fit(data).synopsis_"
            raise InvalidType("synopsis", type(synopsis).__name__, "a Synopsis", fix)
        axes = cluster_columns(synopsis.domain, columns)
        seen = synopsis if synopsis.tree is None else refine.consistent(synopsis)
        if axes != seen.domain.names:
            seen = view(seen, axes)
        units = distance_units(seen.domain, scale)
        weights = refine.threshold(seen).weights.astype(np.float64)
        which = np.flatnonzero((weights > 0) & np.isfinite(seen.points).all(axis=1))
        sides = (seen.upper - seen.lower)[which]
        # An axis along which a leaf was never cut says nothing of its rows, and the same of every cluster.
        even = np.where(sides < seen.domain.high - seen.domain.low, (sides / units) ** 2 / 12, 0.0)
        within = even * (MEANS_SPREAD if seen.has_means else 1.0)
        return cls(seen.points[which] / units, weights[which], within, which, seen, units,
                   left_out(synopsis.domain, axes))  # fmt: skip

    def bundled(self, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return points, weights and inner variances (summed over the axes) of at most about ``most`` bundles.

        Leaves in the same cell of a lattice become their mean. With many columns, a sample taken evenly by weight
        stands for all.
        """
        points, weights, inner = self.points, self.weights, self.within.sum(axis=1)
        if len(points) <= most:
            return points, weights, inner
        if 2 ** points.shape[1] > most:
            ends = np.cumsum(weights)
            taken = np.searchsorted(ends, (np.arange(most) + 0.5) / most * ends[-1])
            which, times = np.unique(taken, return_counts=True)
            return points[which], times * (ends[-1] / most), inner[which]
        low, span = points.min(axis=0), np.ptp(points, axis=0)
        parts = 2 ** int(np.ceil(np.log2(len(points))))
        while True:
            cells = np.floor((points - low) / np.where(span > 0, span, 1.0) * parts)
            found, label = np.unique(cells, axis=0, return_inverse=True)
            if len(found) <= most:
                break
            parts //= 2
        label = label.ravel()
        mass = mass_by(label, weights, len(found))
        means = np.column_stack([mass_by(label, weights * p, len(found)) for p in points.T]) / mass[:, np.newaxis]
        apart = ((points - means[label]) ** 2).sum(axis=1)
        return means, mass, mass_by(label, weights * (inner + apart), len(found)) / mass
