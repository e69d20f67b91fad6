"""Along which axis to cut: by a public rule, or privately by how far rows lie from the middle of their box.

A public rule looks at boxes only. "widest" takes the axis on which a box is widest in units of the declared range;
ties, which are the rule, go by a public hash of the column name, so that the order of columns never matters. Private
spread chooses the axis whose halving lowers the quantisation error most.
"""

import numpy as np

from discreet import noise
from discreet.core import Domain, FloatArray, IntArray
from discreet.engines.passes import SPREAD_UNITS

#: The key of the hash that breaks ties. Public and fixed, so that everyone gets the same tree.
_TIE_KEY = 0x64697363726565742D74696573
#: Squared ratios of widths are rounded down to multiples of 1/RATIOS: scores are then whole numbers.
RATIOS = 2**16
_SCORE_UNIT = RATIOS * 4 * SPREAD_UNITS


def tie_order(domain: Domain) -> IntArray:
    """Return the columns in the order in which they win ties: by hash of the name, whatever their places."""
    marks = noise.fingerprint(list(domain.names), _TIE_KEY)
    return np.array(sorted(range(len(domain)), key=lambda j: (int(marks[j]), domain.names[j])))


def widest_axis(widths: IntArray, cells: IntArray, order: IntArray) -> IntArray:
    """Return the axis on which each box is widest, relative to the ``cells`` of the axis; one cell cannot be cut."""
    relative = np.where(widths > 1, widths / cells, 0.0)
    return np.asarray(order[np.argmax(relative[:, order], axis=1)])


def spread_scores(counts: IntArray, sums: IntArray, widths: IntArray, cells: IntArray) -> IntArray:
    """Return the score g_j of every axis in every box, in units of 1/(4 * 256 * 2^16); all whole numbers.

    g_j = (h_j/H)² Σ_rows (|x_j - middle_j|/h_j - 1/4): the fall of the squared quantisation error when the axis is
    halved, over H²; h_j is half the width on axis j in units of the declared range, H the largest that can be cut.
    """
    relative = np.where(widths > 1, widths / cells, 0.0)
    ratios = (relative / np.maximum(relative.max(axis=1, keepdims=True), 1e-300)) ** 2
    whole = np.minimum(np.floor(ratios * RATIOS), RATIOS).astype(np.int64)
    return np.asarray(whole * (4 * sums - SPREAD_UNITS * counts[:, np.newaxis]))


def spread_losses(counts: IntArray, sums: IntArray, widths: IntArray, cells: IntArray) -> FloatArray:
    """Return how far the score of every axis is below the best of its box; 0 for axes that cannot be cut.

    Every box needs an axis that can be cut.
    """
    scores, can = spread_scores(counts, sums, widths, cells), widths > 1
    best = np.where(can, scores, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    return np.asarray(np.where(can, best - scores, 0) / _SCORE_UNIT)
