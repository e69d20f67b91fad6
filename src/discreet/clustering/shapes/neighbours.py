"""Which leaves touch: boxes that share a face, an edge or a corner."""

import numpy as np
from scipy.spatial import cKDTree

from discreet.clustering.central.leaves import Leaves
from discreet.core.arrays import FloatArray, IntArray
from discreet.errors import InvalidArgument

#: Boxes touch if the gap between them is at most this share of the smaller one's side.
_SLACK = 1e-6


def touching(leaves: Leaves) -> tuple[IntArray, IntArray]:
    """Return the pairs of leaves whose boxes touch, each pair once, as two arrays.

    Two boxes that touch have middles no farther apart, on any axis, than the longest side of the two: so it is enough
    to look around each box as far as its own longest side (the pair is found by the one with the longer).

    Examples
    --------
    >>> import discreet as dc
    >>> s = dc.GridSynopsis(1000.0, (0, 1), 3, n_rows=90, random_state=0).fit(np.linspace(0, 1, 90)[:, None]).synopsis_
    >>> [pair.tolist() for pair in touching(Leaves.of(s))]
    [[0, 1], [1, 2]]
    """
    seen = leaves.seen
    if len(leaves.which) > 1 and set(seen.domain.names) <= set(seen.uncut):
        expected = "one that divides the columns that are clustered: what touches is told by boxes"
        fix = "WardClusters().fit(synopsis), which needs places alone"
        raise InvalidArgument("synopsis", "boxes that are all the whole domain", expected, fix)
    low, high = seen.lower[leaves.which], seen.upper[leaves.which]
    sides = high - low
    scale = np.median(sides, axis=0)
    low, high, sides = low / scale, high / scale, sides / scale
    middles: FloatArray = (low + high) / 2
    tree = cKDTree(middles)
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


def density(leaves: Leaves) -> FloatArray:
    """Return rows per volume of each leaf, relative to rows spread evenly over the domain."""
    domain = leaves.seen.domain
    share = np.prod((leaves.seen.upper - leaves.seen.lower)[leaves.which] / (domain.high - domain.low), axis=1)
    dense: FloatArray = leaves.weights / np.maximum(share, 1e-300) / leaves.weights.sum()
    return dense
