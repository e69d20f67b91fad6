"""Tables inside a synopsis of boxes: the tree above the leaves, and the cells that are left out."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.frozen import frozen_floats, frozen_ints


@dataclass(frozen=True, eq=False)
class TreeTable:
    """The nodes of a tree in level order, root first. Arrays have one entry per node.

    Parameters
    ----------
    parent, depth : array of int
        Number of the node above (-1 for the root), and level (0 for the root).
    leaf, axis : array of int
        Number of the leaf (-1 for a node that was cut), and the axis cut at this node (-1 for a leaf).
    lower, upper : array of float, shape (n, d)
        The boxes.
    estimate, variance, threshold : array of float
        Noisy count drawn to decide whether to stop (NaN where there is none), its noise variance (then infinite), and
        what it was compared with (NaN where nothing was tested).

    Examples
    --------
    >>> tree = TreeTable(parent=[-1, 0, 0], depth=[0, 1, 1], leaf=[-1, 0, 1], axis=[0, -1, -1],
    ...                  lower=[[0.0], [0.0], [0.5]], upper=[[1.0], [0.5], [1.0]], estimate=[9.0, np.nan, np.nan],
    ...                  variance=[2.0, np.inf, np.inf], threshold=[3.0, np.nan, np.nan])
    >>> tree.n_nodes, tree.height
    (3, 1)
    """

    parent: IntArray
    depth: IntArray
    leaf: IntArray
    axis: IntArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    variance: FloatArray
    threshold: FloatArray

    def __post_init__(self) -> None:
        boxes = np.shape(self.lower)
        if len(boxes) != 2 or not boxes[0]:
            raise InvalidArgument(
                "lower", boxes, "an array of shape (nodes, axes) with at least one node", "np.zeros((1, d))"
            )
        n = boxes[0]
        for name in ("parent", "depth", "leaf", "axis"):
            object.__setattr__(self, name, frozen_ints(name, getattr(self, name), (n,)))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, frozen_floats(name, getattr(self, name), boxes, gaps=True))
        for name in ("estimate", "threshold"):
            object.__setattr__(self, name, frozen_floats(name, getattr(self, name), (n,), gaps=True, infinite=True))
        object.__setattr__(self, "variance", frozen_floats("variance", self.variance, (n,), infinite=True))
        below = np.arange(n)
        if self.parent[0] != -1 or (self.parent[1:] < 0).any() or (self.parent >= np.maximum(below, 1)).any():
            raise InvalidArgument(
                "parent", self.parent[:4].tolist(), "-1 for the root and an earlier node for the others"
            )
        if (self.depth != np.where(below == 0, 0, self.depth[self.parent] + 1)).any():
            raise InvalidArgument("depth", self.depth[:4].tolist(), "one more than the parent's, 0 for the root")
        if (self.axis >= boxes[1]).any() or (self.axis < -1).any() or (self.leaf < -1).any():
            raise InvalidArgument("axis", "others", f"axes from 0 to {boxes[1] - 1} or -1, and leaf numbers or -1")

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.parent)

    @property
    def height(self) -> int:
        """Depth of the deepest node."""
        return int(self.depth[-1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeTable) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name), equal_nan=True) for f in fields(self)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeTable, tuple(getattr(self, f.name) for f in fields(self))  # checked, and read-only again

    def __hash__(self) -> int:
        return hash((self.parent.tobytes(), self.estimate.tobytes()))

    def __repr__(self) -> str:
        return f"<TreeTable: {self.n_nodes} nodes, {int((self.leaf >= 0).sum())} leaves, height {self.height}>"


@dataclass(frozen=True)
class HiddenCells:
    """A description of the cells that a grid does not list.

    Parameters
    ----------
    n_cells : int
        All cells of the grid, listed or not.
    cutoff : int
        A cell is listed if and only if its noisy count is above this.
    variance : float
        Noise variance of the counts.

    Examples
    --------
    >>> HiddenCells(n_cells=10**12, cutoff=27, variance=1.84)
    HiddenCells(n_cells=1000000000000, cutoff=27, variance=1.84)
    """

    n_cells: int
    cutoff: int
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_cells", checks.whole("n_cells", self.n_cells, low=1))
        cutoff = self.cutoff.item() if isinstance(self.cutoff, np.integer) else self.cutoff
        if isinstance(cutoff, bool) or not isinstance(cutoff, int):
            raise InvalidType("cutoff", self.cutoff, "a whole number", "cutoff=10")
        object.__setattr__(self, "cutoff", cutoff)
        variance = checks.finite("variance", self.variance)
        if variance < 0:
            raise InvalidArgument("variance", variance, "zero or more", "variance=2.0")
        object.__setattr__(self, "variance", variance)

    @property
    def noise_alone(self) -> float:
        """Largest expected number of listed cells that are empty: noise alone exceeds the cutoff."""
        if self.variance == 0:
            return 0.0
        decay = math.exp(-2 * math.asinh(1 / math.sqrt(2 * self.variance)))  # the discrete Laplace of this variance
        return float(self.n_cells * decay ** max(self.cutoff + 1, 0) / (1 + decay))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return asdict(self)
