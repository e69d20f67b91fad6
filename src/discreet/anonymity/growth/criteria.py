"""Measures of a good split. They only choose: the rules decide which splits are allowed.

`cell` is the gain in integrated squared error (Ram and Gray 2011), `spread` the drop in the sum of squares over all
columns, as in k-means, `factor` the same along what the columns have in common, `width` the drop in the mean width of
the published cells, `label` the information gain on a target. Larger is better. Of equal splits, the one on the earlier
column is taken, then the lower one.

Kernels rate the splits of one column.
"""

from typing import Any

import numpy as np

from discreet.anonymity.growth._count_kernels import CUT_LEFT, CUT_SUMS, GAIN, TOTAL
from discreet.core import inlined, jit

CELL, MONDRIAN, SPREAD, LABEL, FACTOR, WIDTH = 0, 1, 2, 3, 4, 5
NAMES = ("cell", "mondrian", "spread", "label", "factor", "width")


def cell_gain(size: Any, left: Any, share: Any) -> Any:
    """Return δ²/(r_L r_R) with δ = c_L - r_L c; over N² V_t it is the drop of the error (identities I1 to I3).

    The difference of the three squares, which is the same, loses its digits where both sides are equally dense.
    """
    gap = left - share * size
    return gap * gap / (share * (1.0 - share))


def moments(rows: Any, places: Any) -> Any:
    """Return the sums of products by pair of columns of the places, with a column of ones first: whole numbers of any
    size, so exact; those of two sets of rows add up.
    """
    d = rows.shape[1]
    # Words of 32 bits, the lower one never negative: a product has 50 bits, and a block of them no more than 63.
    words = np.zeros((2, d + 1, d), np.int64)
    _add_products(rows, places, words)
    high, low = words.astype(object)
    own = high * 2**32 + low
    return np.block([[np.array([[len(rows)]], object), own[d:]], [own[d:].T, own[:d]]])


@jit
def _add_products(rows: Any, places: Any, words: Any) -> None:
    n, d = rows.shape
    own, place = np.zeros((d + 1, d), np.int64), np.empty(d, np.int64)
    for start in range(0, n, 1 << 12):
        own[:] = 0
        for i in range(start, min(start + (1 << 12), n)):
            for m in range(d):
                place[m] = places[m, rows[i, m]]
                own[d, m] += place[m]
            for j in range(d):
                for m in range(d):
                    own[j, m] += place[j] * place[m]
        for j in range(d + 1):
            for m in range(d):
                words[0, j, m] += own[j, m] >> 32
                words[1, j, m] += own[j, m] & 0xFFFFFFFF


def common_axes(found: Any) -> Any:
    """Return the axes A along which `factor` adds up squares: the correlations of the columns, over their deviations.

    A standardised column x_m becomes Σ_j corr(m, j) x_j: what it has in common with others counts more than what is
    its own, so columns of noise, which have nothing in common, hardly count. Units do not matter. Scaled so that the
    sum of squares of all records is 1: a gain is the share of it that a cut takes away. Columns of one value get 0.
    """
    n, sums, products = found[0, 0], found[0, 1:], found[1:, 1:]
    d, spread = len(sums), ((n * products - np.outer(sums, sums)) / n**2).astype(np.float64)
    deviation = np.sqrt(np.diag(spread))
    over = np.divide(1.0, deviation, out=np.zeros(d), where=deviation > 0)
    shared = spread * np.outer(over, over)
    total = n * np.trace(shared @ shared @ shared)  # of the records along A: cov(A x) = C C C
    return np.ascontiguousarray(shared * over / np.sqrt(total)) if total > 0 else np.zeros((d, d))


@inlined
def square_gains(plain: bool, n_cuts: int, size: int, axes: Any, held: Any, rated: Any, node: Any) -> None:
    """Write |A Σ_{i∈L} (x_i - mean)|² (1/c_L + 1/c_R). Sums to the left, by column and cut, count units.

    If ``plain``, A is diagonal: ``axes[0]`` are the units of the columns.
    """
    for c in range(n_cuts):
        rated[GAIN, c] = 0.0
    if plain:
        for m in range(node.shape[1]):
            mean, unit = node[TOTAL, m] / size, axes[0, m]
            for c in range(n_cuts):
                gap = (rated[CUT_SUMS + m, c] - held[CUT_LEFT, c] * mean) * unit
                rated[GAIN, c] += gap * gap
    else:
        for m in range(node.shape[1]):
            mean = node[TOTAL, m] / size
            for c in range(n_cuts):
                rated[CUT_SUMS + m, c] -= held[CUT_LEFT, c] * mean
        for c in range(n_cuts):
            for q in range(axes.shape[0]):
                along = 0.0
                for m in range(node.shape[1]):
                    along += axes[q, m] * rated[CUT_SUMS + m, c]
                rated[GAIN, c] += along * along
    for c in range(n_cuts):
        rated[GAIN, c] *= 1.0 / held[CUT_LEFT, c] + 1.0 / (size - held[CUT_LEFT, c])


@inlined
def label_gains(n_cuts: int, size: int, order: Any, ids: Any, target: Any, classes: Any, held: Any, rated: Any) -> None:
    """Write minus c times the entropy of the label given the side: the information gain up to a constant.

    ``classes`` holds the counts of the labels in the node, and gets those to the left of the last cut.
    """
    walked = 0
    for s in range(classes.shape[1]):
        classes[1, s] = 0
    for c in range(n_cuts):
        for p in range(walked, held[CUT_LEFT, c]):
            classes[1, target[ids[order[p]]]] += 1
        walked = held[CUT_LEFT, c]
        total = -walked * np.log(walked) - (size - walked) * np.log(size - walked)
        for s in range(classes.shape[1]):
            one = classes[1, s]
            other = classes[0, s] - one
            if one > 0:
                total += one * np.log(one)
            if other > 0:
                total += other * np.log(other)
        rated[GAIN, c] = total
