"""Standard errors of the weights of clusters, from the released counts, and clusters that may be noise alone."""

import math
from collections.abc import Sequence

import numpy as np

from discreet.clustering.leaves.kmeans import mass_by, nearest
from discreet.core import BoolArray, FloatArray
from discreet.synopses import Synopsis
from discreet.synopses.queries import EMPTY_UP_TO


def noise_of_weights(
    synopsis: Synopsis, columns: Sequence[str], centers: FloatArray, units: FloatArray, weights: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the standard error of each cluster's weight, and whether that weight may be noise alone.

    A leaf belongs to the centre nearest to its representative; the error is that of the sum of their released counts. A
    weight may be noise alone if it, or the sum as drawn, is within its noise of zero (one empty cluster in a hundred
    exceeds that). Survivors of a cutoff count only by what they exceed a typical empty survivor. Post-processing.
    """
    axes = [synopsis.domain.position(name) for name in columns]
    placed = np.isfinite(synopsis.points[:, axes]).all(axis=1)
    if not placed.any():
        return np.zeros(len(centers)), np.ones(len(centers), dtype=bool)
    labels = nearest(synopsis.points[placed][:, axes] / units, centers / units)
    errors = np.sqrt(mass_by(labels, synopsis.variances[placed].astype(np.float64), len(centers)))
    counts = synopsis.weights[placed].astype(np.float64)
    hidden = synopsis.hidden
    if hidden is not None and hidden.noise_alone >= 1:
        # Beyond its cutoff an empty cell's count falls off geometrically: scale, the mean of what it exceeds it by.
        counts = counts - (hidden.cutoff + math.sqrt(hidden.variance / 2))
    drawn = mass_by(labels, counts, len(centers))
    return errors, (np.minimum(weights, drawn) <= EMPTY_UP_TO * errors) & (errors > 0)
