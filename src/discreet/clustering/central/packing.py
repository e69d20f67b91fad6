"""Starting centres that do not look at the data: spheres packed into the public box."""

import numpy as np

from discreet.core import FloatArray
from discreet.noise import PublicRandomness

#: Failures in a row after which the spheres are made half as large.
_PATIENCE = 100


def pack(n_centers: int, n_axes: int, random: PublicRandomness) -> FloatArray:
    """Return random points in the unit box that keep a distance from each other and from the walls (Su et al. 2016).

    The radius starts at half the box; after 100 failures in a row it is halved and all points are drawn anew.
    """
    radius = 0.5
    while True:
        found = _try(n_centers, n_axes, radius, random)
        if found is not None:
            return found
        radius /= 2


def _try(n_centers: int, n_axes: int, radius: float, random: PublicRandomness) -> FloatArray | None:
    centers = np.empty((n_centers, n_axes))
    for i in range(n_centers):
        drawn = random.below(2**53, (_PATIENCE, n_axes)) / 2.0**53
        tries = radius + (1 - 2 * radius) * drawn
        gaps = np.sqrt(((tries[:, None] - centers[None, :i]) ** 2).sum(axis=2)).min(axis=1, initial=np.inf)
        good = np.flatnonzero(gaps >= 2 * radius)
        if not good.size:
            return None
        centers[i] = tries[good[0]]
    return centers
