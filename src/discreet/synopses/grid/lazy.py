"""Grids with more cells than anyone would list: only those above a cutoff are kept, the empty ones drawn lazily.

Noise makes some of the empty cells exceed the cutoff too. They are drawn from their exact law without touching the
others (spec partition-synopsis 9.7), so the result is distributed as if every cell had got its noise, and nothing in
it tells which cells hold rows. The price is resolution: a cell with fewer rows than about the cutoff vanishes.
"""

import math

import numpy as np

from discreet import noise
from discreet.core.arrays import IntArray
from discreet.core.checks import Exact
from discreet.engines import CellCounts
from discreet.synopses.publishing import noise_scale


def cutoff(n_cells: int, epsilon: Exact, expected_survivors: float) -> int:
    """Return the smallest cutoff τ >= 0 that that many empty cells, or fewer, are expected to exceed.

    τ = ceil(ln(M/(σ (1+α)))/ε) - 1, a function of public values. ε = ∞: 0, which keeps the occupied cells.

    Examples
    --------
    >>> from fractions import Fraction
    >>> [cutoff(m, Fraction(1), 1) for m in (10**6, 10**12)], cutoff(10**12, Fraction(1, 10), 100)
    ([13, 27], 223)
    """
    if epsilon == math.inf:
        return 0
    rate = float(epsilon)
    return max(0, math.ceil(math.log(n_cells / (expected_survivors * (1 + math.exp(-rate)))) / rate) - 1)


def survivors(counts: CellCounts, *, epsilon: Exact, cutoff: int, stream: noise.Generator) -> tuple[IntArray, IntArray]:
    """Return the cells whose noisy count exceeds the cutoff, ascending, and those counts. The caller charges ε.

    Parameters
    ----------
    counts : CellCounts
        Raw counts of the occupied cells.
    epsilon : Fraction or inf
        The budget.
    cutoff : int
        At least 0; must not depend on the rows.
    stream : Generator
        Where the noise comes from: occupied cells first, by number, then the empty ones.

    Privacy
    -------
    Neighbours: add or remove one row. The result has the law of discrete Laplace noise of scale 1/ε on all cells
    followed by a cutoff, which is post-processing: hits of the lazy draw on occupied cells are discarded, so each
    empty cell is listed independently with its right chance, and sorting hides where a cell came from. Price: ε.

    Examples
    --------
    >>> from fractions import Fraction
    >>> cells, weights = survivors(CellCounts(10**12, [5, 7 * 10**11], [1000, 2]), epsilon=Fraction(1),
    ...                            cutoff=27, stream=noise.generator(3))
    >>> cells.tolist(), weights.tolist()
    ([5, 326751596457], [1000, 28])
    """
    scale = noise_scale(1, epsilon)
    noisy = counts.counts + noise.discrete_laplace(scale, len(counts.counts), stream)
    cells, weights = noise.exceedances(scale, cutoff, counts.n_cells, stream)
    place = np.searchsorted(counts.cells, cells)
    empty = np.append(counts.cells, -1)[place] != cells
    kept = noisy > cutoff
    found = np.concatenate([counts.cells[kept], cells[empty]])
    order = np.argsort(found)
    return found[order], np.concatenate([noisy[kept], weights[empty]])[order]
