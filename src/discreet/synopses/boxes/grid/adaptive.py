"""Two-level adaptive grids: each cell of a coarse grid is divided according to its own noisy count.

"adaptive" is the adaptive grid of Qardaji, Yang and Li (2013) in any number of dimensions: the two noisy views of each
coarse cell are reconciled. "dpkfm" publishes the fine counts as drawn and leaves the coarse ones in the tree, for a
refinement to use.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import Categorical, Exact, FloatArray, IntArray, Integer
from discreet.engines import GridMap
from discreet.engines.passes import NestedMap
from discreet.synopses.boxes.grid.rules import second_level
from discreet.synopses.boxes.grid.settings import GridSettings
from discreet.synopses.boxes.tables import HiddenCells, TreeTable
from discreet.synopses.opening import OpenRelease
from discreet.synopses.publishing import PublishedLeaves, publish

#: Of Qardaji, Yang and Li: the first level's share of the budget, and rows times ε per part of the second.
FIRST_SHARE, C2 = Fraction(1, 2), 5.0


@dataclass(frozen=True)
class GridRelease:
    """The published cells of a grid, ``n_cells`` with those that are not listed.

    ``total`` is the number of rows by the cells; its variance is infinite if they do not show it.
    """

    lower: FloatArray
    upper: FloatArray
    leaves: PublishedLeaves
    n_cells: int
    total: float
    total_variance: float
    hidden: HiddenCells | None = None
    tree: TreeTable | None = None


def two_levels(opening: OpenRelease, grid: GridMap, settings: GridSettings) -> GridRelease:
    """Count on a grid, divide its cells by what was counted, count again.

    Privacy
    -------
    Neighbours: add or remove one row. Cells of a level are disjoint, and all get noise. The second grid is a function
    of the noisy counts of the first. Price: everything that is left, a share for each level.
    """
    source, gate = opening.source, opening.gate
    whole = gate.left.pure()
    line = gate.hold("first level", whole * FIRST_SHARE)
    coarse = publish(line, source.count(grid).dense())
    rest = whole - whole * FIRST_SHARE
    line = gate.hold("second level", rest)
    most = min(settings.max_cells, settings.most_nested(len(grid.domain)) - grid.n_cells)
    parts = _inner_parts(grid, coarse.weights, rest.amount, most)
    nested = NestedMap(grid, parts)
    if settings.wants_means(opening.n_rows, nested.n_cells, rest.amount, len(grid.domain)):
        counts, sums = source.sums(nested).dense()
    else:
        counts, sums = source.count(nested).dense(), None
    fine = publish(line, counts, sums)
    reconciled, total, spread = _reconcile(nested, coarse, fine)
    as_drawn = settings.rule == "dpkfm"
    boxes = nested.boxes(np.arange(nested.n_cells))
    tree = _tree(nested, coarse, boxes, usable=as_drawn)
    return GridRelease(*boxes, fine if as_drawn else reconciled, nested.n_cells, total, spread, tree=tree)


def _inner_parts(grid: GridMap, counts: Any, epsilon: Exact, max_cells: int) -> IntArray:
    """Return the parts of each coarse cell; the constant is raised until all cells fit the limit."""
    d = sum(not isinstance(c, (Categorical, Integer)) for c in grid.domain)
    if d == 0 or epsilon == math.inf:
        return np.ones(len(counts), np.int64)
    values, places, times = np.unique(counts, return_inverse=True, return_counts=True)
    c2 = C2
    while True:
        parts = [second_level(v, float(epsilon), d, c2) for v in values.tolist()]
        if max(parts) == 1 or sum(n * p**d for n, p in zip(times.tolist(), parts, strict=True)) <= max_cells:
            return np.array(parts, np.int64)[places]
        c2 *= 1.25


def _reconcile(
    nested: NestedMap, coarse: PublishedLeaves, fine: PublishedLeaves
) -> tuple[PublishedLeaves, float, float]:
    """Weigh each coarse count against the sum of its fine ones by their variances, and spread the difference.

    Returns the reconciled fine counts, their sum and its variance.
    """
    size = np.diff(nested.starts)
    sums = np.add.reduceat(fine.weights, nested.starts[:-1]).astype(np.float64)
    one, own = float(fine.variances[0]), float(coarse.variances[0])
    if one == 0:
        return fine, float(sums.sum()), 0.0
    both = 1 / (1 / own + 1 / (size * one))
    agreed = both * (coarse.weights / own + sums / (size * one))
    weights = fine.weights + np.repeat((agreed - sums) / size, size)
    variances = np.repeat(one - one / size + both / size**2, size)
    return PublishedLeaves(weights, variances, fine.offsets), float(agreed.sum()), float(both.sum())


def _tree(
    nested: NestedMap, coarse: PublishedLeaves, inner: tuple[FloatArray, FloatArray], *, usable: bool
) -> TreeTable:
    """Return root, coarse and fine cells; coarse counts that went into the leaves already are not offered again."""
    n, m = nested.grid.n_cells, nested.n_cells
    bounds = nested.domain.bounds
    middle = nested.grid.boxes(np.arange(n))
    estimate, variance = np.full(1 + n + m, np.nan), np.full(1 + n + m, np.inf)
    if usable:
        estimate[1 : n + 1], variance[1 : n + 1] = coarse.weights, coarse.variances

    def stack(root: FloatArray, side: int) -> FloatArray:
        return np.concatenate([root[np.newaxis], middle[side], inner[side]])

    return TreeTable(
        parent=np.concatenate([[-1], np.zeros(n, np.int64), 1 + nested.outer(np.arange(m))]),
        depth=np.repeat([0, 1, 2], [1, n, m]),
        leaf=np.concatenate([np.full(n + 1, -1), np.arange(m)]),
        axis=np.full(1 + n + m, -1),
        lower=stack(bounds.lower, 0),
        upper=stack(bounds.upper, 1),
        estimate=estimate,
        variance=variance,
        threshold=np.full(1 + n + m, np.nan),
    )
