"""Estimates from noisy means whose noise is known: post-processing of what `lift.py` publishes.

A noisy mean is shrunk towards that of all rows by as much as noise outweighs what sets means apart (empirical Bayes, in
the manner of James and Stein). Means of rows in a ball are moved into it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.clustering.leaves.kmeans import mass_by, nearest, weighted_kmeans
from discreet.core import BoolArray, FloatArray
from discreet.engines.passes import ONE, Projection

#: What the average of all columns counts for in the signal of one.
PRIOR = 4.0


@dataclass(frozen=True)
class Means:
    """Noisy counts and sums of some groups, and the noise variance of a coordinate of the sums."""

    counts: FloatArray
    sums: FloatArray
    variance: float
    count_variance: float


def merge(
    means: Means,
    held: BoolArray,
    places: FloatArray,
    projection: Projection,
    radius: int,
    k: int,
    n_init: int,
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return estimates of all groups' means and k centres, as offsets from the origin, and which groups are whose.

    On the axes of the projection a group's place is known twice, from the synopsis there and from its mean; how far the
    first can be trusted shows in how far they lie apart, without the noise of the means. Post-processing.
    """
    counts = np.maximum(means.counts, 1.0)
    mass = np.where(held, counts, 0.0)
    axes = projection.matrix / ONE
    found, blur = means.sums / counts[:, np.newaxis], means.variance / counts**2
    inside = found @ axes
    gap = places / projection.lattice.step - inside
    trust = blur / (blur + signal_of(gap, mass, blur, radius**2).mean())
    inside, inside_blur = inside + trust[:, np.newaxis] * gap, (1 - trust) * blur
    beyond = found - found @ axes @ axes.T
    parts = [_Part(beyond, mass, blur, radius), _Part(inside, mass, inside_blur, radius, alike=True)]

    def put_together(part: FloatArray) -> FloatArray:
        outside, within = (known.of(part) for known in parts)
        return in_ball(outside + within @ axes.T, radius)

    points = put_together(np.eye(len(mass)))
    merged = weighted_kmeans(points[held], mass[held], k, n_init=2 * n_init, seed=seed)
    # Where noise outweighs everything groups lie in one place, and centres there have no group of their own.
    label = np.unique(nearest(points[held], merged.centers), return_inverse=True)[1]
    heavy = mass_by(label, mass[held], int(label.max()) + 1)
    member = np.zeros((len(heavy), len(mass)))
    member[label, np.flatnonzero(held)] = 1.0
    # The centre of several groups has less noise than each of them, and is shrunk less.
    return points, put_together(member * mass / heavy[:, np.newaxis]), member


class _Part:
    """Noisy means on some columns, shrunk towards that of all rows, and that towards the origin."""

    def __init__(
        self, values: FloatArray, mass: FloatArray, blur: FloatArray, radius: float, *, alike: bool = False
    ) -> None:
        share = mass / mass.sum()
        self._blur, common = blur, share @ values
        self._apart = values - common
        whole = np.array([share**2 @ blur])
        self._common = shrunk(common[np.newaxis], signal_of(common[np.newaxis], np.ones(1), whole, radius**2), whole)
        self._signal = signal_of(self._apart, mass, blur, radius**2)
        if alike:  # axes of a projection are
            self._signal = np.full(values.shape[1], self._signal.mean())

    def of(self, part: FloatArray) -> FloatArray:
        """Return estimates of weighted means of groups."""
        return self._common + shrunk(part @ self._apart, self._signal, part**2 @ self._blur)


def signal_of(apart: FloatArray, mass: FloatArray, blur: FloatArray, most: float) -> FloatArray:
    """Return by column how far true means lie apart, squared: what noisy ones do, without the noise.

    A column has few means, so its own figure is averaged with that of all columns, which counts as `PRIOR` more. The
    sum over columns is at most ``most``: means of rows in a ball are no further apart.
    """
    d, share = apart.shape[1], mass / mass.sum()
    own = share @ (apart * apart - blur[:, np.newaxis])
    total = min(float(own.mean()), most / d)
    if total <= 0:
        return np.full(d, 1e-12)
    free = max(int((mass > 0).sum()) - 1, 0)
    mixed = np.maximum((free * own + PRIOR * total) / (free + PRIOR), 1e-12)
    return np.asarray(mixed * min(1.0, total / mixed.mean()))


def shrunk(apart: FloatArray, signal: FloatArray, blur: FloatArray) -> FloatArray:
    """Shrink noisy offsets by as much as noise outweighs the signal of their column."""
    return apart * (signal / (signal + blur[:, np.newaxis]))


def in_ball(offsets: FloatArray, radius: float) -> FloatArray:
    """Move means into the ball of their rows."""
    lengths = np.sqrt((offsets * offsets).sum(axis=1, keepdims=True))
    return np.asarray(offsets * np.minimum(1.0, radius / np.maximum(lengths, 1.0)), np.float64)
