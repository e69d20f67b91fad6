"""Axes in column order, as published: a partitioner of one's own on the product's trees.

The product cuts along the widest axis, or along one that it bought. Published trees take the columns in turn, which
makes a result depend on their order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.synopses import Boxes, Cuts, OwnPartitioner
from discreet.synopses.boxes.tree import Offers


class InTurn(OwnPartitioner):
    """Axis ``depth mod d``, or the next one that can be cut; there the middle, or ``n_cuts`` private quantiles.

    Examples
    --------
    >>> import discreet as dc
    >>> rows = dc.datasets.s_like(1, random_state=0)
    >>> tree = dc.TreeSynopsis(1.0, rows.domain, InTurn(1), max_depth=2, random_state=0).fit(rows.X)
    >>> tree.synopsis_.n_leaves, tree.guarantee_.epsilon
    (4, 1.0)
    """

    def __init__(self, n_cuts: int = 0) -> None:
        self.n_cuts, self.fan_out, self.paid = n_cuts, max(1, n_cuts) + 1, n_cuts > 0

    @classmethod
    def of(cls, partitioner: str) -> InTurn:
        """Return the one that goes with a published partitioner."""
        return cls({"binary": 0, "median": 1, "quantile": 3}[partitioner])

    def cut(self, boxes: Boxes, offers: Offers) -> Cuts:
        """Cut along the axis whose turn it is."""
        axis = turns(boxes.widths, boxes.depth)
        return offers.quantiles(axis, self.n_cuts, offers.epsilon) if self.n_cuts else offers.middles(axis)


def turns(widths: npt.NDArray[np.int64], depth: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return axis ``depth mod d`` of every box, or the next one of more than one cell."""
    d = widths.shape[1]
    order = (depth[:, np.newaxis] + np.arange(d)) % d
    can = np.take_along_axis(widths, order, axis=1) > 1
    return np.asarray(order[np.arange(len(order)), np.argmax(can, axis=1)])
