"""Leaves that touch (boxes that share a face, an edge or a corner), and the hills of their density."""

import numpy as np

from discreet.clustering.leaves.leaves import Leaves
from discreet.core import FloatArray, IntArray, jit, later
from discreet.errors import InvalidArgument

sparse = later("scipy.sparse")
spatial = later("scipy.spatial")

#: Boxes touch if the gap between them is at most this share of the smaller one's side.
_SLACK = 1e-6


def touching(leaves: Leaves) -> tuple[IntArray, IntArray]:
    """Return the pairs of leaves whose boxes touch, each pair once, as two arrays.

    Such boxes have middles no farther apart, on any axis, than the longer of their longest sides: look around each that
    far.
    """
    seen = leaves.seen
    if len(leaves.which) > 1 and set(seen.domain.names) <= set(seen.uncut):
        expected = "one that divides the columns that are clustered: boxes show which leaves touch"
        fix = "GaussianClusters().fit(synopsis), which needs places alone"
        raise InvalidArgument("synopsis", "boxes that are all the whole domain", expected, fix)
    low, high = seen.lower[leaves.which], seen.upper[leaves.which]
    sides = high - low
    scale = np.median(sides, axis=0)
    low, high, sides = low / scale, high / scale, sides / scale
    middles: FloatArray = (low + high) / 2
    tree = spatial.cKDTree(middles)
    reach = sides.max(axis=1) * (1 + _SLACK)
    around = tree.query_ball_point(middles, reach, p=np.inf)
    first = np.repeat(np.arange(len(middles)), [len(a) for a in around])
    second = np.concatenate([np.asarray(a, np.int64) for a in around])
    keep = first != second
    first, second = first[keep], second[keep]
    gap = np.maximum(low[first] - high[second], low[second] - high[first])
    touch = (gap <= _SLACK * np.minimum(sides[first], sides[second])).all(axis=1)
    pairs = np.unique(np.sort(np.column_stack([first[touch], second[touch]]), axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def hills(leaves: Leaves, prominence: float, contrast: float) -> IntArray:
    """Return the hill that each leaf belongs to, named by its peak: from the top down, as `DensityClusters` says.

    A hill is one of its own if its rows above the saddle exceed zero by ``prominence`` standard deviations, and if it
    is ``contrast`` times as dense as the saddle.
    """
    seen, (first, second) = leaves.seen, touching(leaves)
    share = np.prod((seen.upper - seen.lower)[leaves.which] / (seen.domain.high - seen.domain.low), axis=1)
    dense = leaves.weights / np.maximum(share, 1e-300) / leaves.weights.sum()  # of rows spread evenly it is 1
    n = len(dense)
    both = sparse.csr_matrix((np.ones(2 * len(first)), (np.r_[first, second], np.r_[second, first])), (n, n))
    noise, order = seen.variances[leaves.which] + leaves.weights, np.argsort(-dense, kind="stable")
    found: IntArray = _hills(order, dense, leaves.weights, noise, both.indptr, both.indices, prominence, contrast)
    return found


@jit
def _hills(
    order: IntArray,
    dense: FloatArray,
    weights: FloatArray,
    noise: FloatArray,
    starts: IntArray,
    touched: IntArray,
    prominence: float,
    contrast: float,
) -> IntArray:
    """Return the hill of each leaf; ``noise`` has variances, ``starts`` and ``touched`` the neighbours of each leaf."""
    n = order.size
    parent = np.full(n, -1, np.int64)  # -1: not reached yet; hills are named by their peaks
    mass, volume, spread = np.zeros(n), np.zeros(n), np.zeros(n)
    for place in range(n):
        i = order[place]
        best = -1
        for e in range(starts[i], starts[i + 1]):
            j = touched[e]
            if parent[j] >= 0 and (best < 0 or dense[j] > dense[best]):
                best = j
        hill = i if best < 0 else _top(parent, best)
        parent[i] = hill
        mass[hill] += weights[i]
        volume[hill] += weights[i] / dense[i]
        spread[hill] += noise[i]
        for e in range(starts[i], starts[i + 1]):
            j = touched[e]
            if parent[j] < 0:
                continue
            hill, other = _top(parent, i), _top(parent, j)
            if hill == other:
                continue
            if dense[other] > dense[hill]:
                hill, other = other, hill
            above = min(mass[hill] - dense[i] * volume[hill], mass[other] - dense[i] * volume[other])
            which = other if mass[other] - dense[i] * volume[other] == above else hill
            level = contrast * dense[i]
            flat = mass[hill] < level * volume[hill] or mass[other] < level * volume[other]
            if flat or above < prominence * np.sqrt(spread[which]):
                parent[other] = hill
                mass[hill] += mass[other]
                volume[hill] += volume[other]
                spread[hill] += spread[other]
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = _top(parent, i)
    return out


@jit
def _top(parent: IntArray, i: int) -> int:
    while parent[i] != i:
        i = parent[i]
    return i
