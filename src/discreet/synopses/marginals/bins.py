"""Bins that fit: the cells of a column are joined by its own noisy counts, and rows find their values again.

Neighbouring cells of a fine public grid are joined into bins of about equal mass, values that stand out (zero, a cap,
"999") stay alone, and inside a bin values are spread as the noisy counts say. Post-processing of noisy counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core import Categorical, Code, Column, Date, Domain, FloatArray, IntArray, Integer
from discreet.engines.passes import AxisGrids

#: Cells of the public grid of a numeric column at most.
FINEST = 512
#: Bins that a column has in any case, at most, and all columns together about: the fit multiplies all by all.
#: Of a column with more categories, the most frequent keep a bin of their own.
FEW_BINS, MOST_BINS, ALL_BINS = 32, 128, 1536
#: Rows of a bin at least, in standard deviations of its count.
STANDS_OUT_OF_NOISE = 6.0
#: A column of more cells than this is counted in wider cells too, each level so many times as wide as the last.
FLAT, WIDER = 128, 8


def has_ends(column: Column) -> bool:
    """Return whether the bounds of a column get cells of their own: where its grid is coarser than its values."""
    if isinstance(column, (Categorical, Date, Code)):
        return False
    return not isinstance(column, Integer) or column.n_values > FINEST


def fine_parts(column: Column) -> int:
    """Return the cells of the public grid of a column, without the one for missing values."""
    if isinstance(column, Categorical):
        return len(column.categories)
    if isinstance(column, Integer):  # the prefixes of codes are not of one size: they are cut from a whole
        return 1 if isinstance(column, Code) else min(column.n_values, FINEST)
    return int(min(column.high - column.low + 1, FINEST)) if isinstance(column, Date) else FINEST


def public_grid(domain: Domain) -> AxisGrids:
    """Return the grids on which the columns of a domain are counted."""
    made = domain.modelled()
    return AxisGrids(made, tuple(map(fine_parts, made)), tuple(map(has_ends, made)), None if made is domain else domain)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a column: groups of its fine cells.

    ``of`` is the bin of each fine cell and ``within`` its share in that bin; ``counts`` and ``variances`` are those of
    bins.
    """

    of: IntArray
    counts: FloatArray
    variances: FloatArray
    within: FloatArray

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.counts)


def most_bins(width: int) -> int:
    """Return how many bins a column of a table with so many columns has at most."""
    return min(max(ALL_BINS // width, FEW_BINS), MOST_BINS)


def levels(column: Column, size: int, starts: FloatArray) -> list[IntArray]:
    """Return into which cells of each level the fine cells of a column fall; the first level are those cells.

    ``starts`` are the lower ends of the cells. Codes are counted by every length of prefix. Long stretches of an axis
    are often empty: the noise of two wide cells is far less than that of a hundred fine ones.
    """
    made = [np.arange(size)]
    if isinstance(column, Code):
        known = starts[~np.isnan(starts)]
        wide = [n for n, count in column.codes.cuts.items() if 1 < count <= len(known) / 2]
        wider = (np.searchsorted(column.codes.borders(n), known + 0.5, side="right") - 1 for n in reversed(wide))
        return made + [np.append(w, np.full(size - len(w), w[-1] + 1)) for w in wider]  # missing values stay alone
    if isinstance(column, Categorical) or size <= FLAT:
        return made
    while int(made[-1][-1]) >= 2 * WIDER:
        made.append(made[-1] // WIDER)
    return made


def consistent(
    groups: Sequence[IntArray], counts: Sequence[IntArray], variances: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return the counts of fine cells that agree best with the noisy counts of every level, and their covariance.

    Weighted least squares: unbiased, and of the least variance among linear estimates.
    """
    precision = sum((g[:, None] == g) / max(v, 1e-9) for g, v in zip(groups, variances, strict=True))
    covariance = np.linalg.inv(np.asarray(precision, np.float64))
    told = sum(y[g] / max(v, 1e-9) for g, y, v in zip(groups, counts, variances, strict=True))
    return np.asarray(covariance @ told, np.float64), covariance


def make_bins(
    column: Column,
    noisy: IntArray | FloatArray,
    variance: float,
    most: int,
    apart: IntArray | None = None,
    covariance: FloatArray | None = None,
) -> Bins:
    """Join fine cells by their noisy counts into at most so many bins (of categories, twice as many).

    ``noisy`` are counts of fine cells; the last one is that of missing values if they have a cell of their own. Cells
    with different numbers in ``apart`` stay in different bins. Without ``covariance`` their noise is independent.
    """
    y = noisy.astype(np.float64)
    own = column.missing == "own"
    plain = y[:-1] if own else y
    categories = isinstance(column, Categorical)
    if len(plain) <= (2 * most if categories else FEW_BINS):
        of = np.arange(len(plain))
    elif isinstance(column, Categorical) and not column.ordered:
        of = _frequent(plain, 2 * most)
    else:
        of = _stretches(plain, variance, most)
    if apart is not None:
        both = np.unique(np.stack([of, apart[: len(of)]]), axis=1, return_inverse=True)[1].ravel()
        alike = isinstance(column, Categorical) and not column.ordered
        of = both if alike else np.concatenate([[0], np.cumsum(np.diff(both) != 0)])
    if own:
        of = np.append(of, of.max() + 1)
    n = int(of.max()) + 1
    sizes = np.bincount(of, minlength=n)
    counts: FloatArray = np.asarray(np.bincount(of, weights=y, minlength=n), np.float64)
    spread: FloatArray = np.asarray(sizes * variance, np.float64)
    if covariance is not None:
        member = of[:, None] == np.arange(n)
        spread = np.einsum("ib,ij,jb->b", member, covariance, member, optimize=True)
    return Bins(of, counts, spread, _within(y, of, variance))


def _frequent(y: FloatArray, most: int) -> IntArray:
    """Keep the most frequent categories apart; the others share a bin."""
    kept = np.sort(np.argsort(-y, kind="stable")[: most - 1])
    of = np.full(len(y), len(kept), np.int64)
    of[kept] = np.arange(len(kept))
    return of


def _stretches(y: FloatArray, variance: float, most: int) -> IntArray:
    """Cut an axis where enough rows have gone by; a cell that holds as many alone stays alone."""
    least = STANDS_OUT_OF_NOISE * variance**0.5
    alone = y >= max(float(y.sum()) / most, least, 1.0)
    # What stands alone leaves the others to be divided among the bins that are left.
    others = max(float(y[~alone].sum()), 1.0)
    enough = max(others / max(most - int(alone.sum()), 1), least, 1.0)
    of = np.zeros(len(y), np.int64)
    current, held, begun = 0, 0.0, False
    for i, count in enumerate(y.tolist()):
        if count >= enough:
            current += begun
            of[i] = current
            current, held, begun = current + 1, 0.0, False
            continue
        of[i], begun = current, True
        held += count
        if held >= enough:
            current, held, begun = current + 1, 0.0, False
    return of


def _within(y: FloatArray, of: IntArray, variance: float) -> FloatArray:
    """Return the share of each cell in its bin: what stands out of the noise keeps it, the rest is spread evenly."""
    sizes = np.bincount(of)
    stands = y > 2.5 * variance**0.5
    total = np.maximum(np.bincount(of, weights=y), 0.0)
    kept = np.bincount(of, weights=np.where(stands, y, 0.0))
    others = np.bincount(of, weights=~stands)
    spare = np.where(others > 0, np.maximum(total - kept, 0.05 * np.maximum(total, 1.0)) / np.maximum(others, 1), 0.0)
    share = np.where(stands, y, spare[of])
    whole = np.bincount(of, weights=share)
    even = whole[of] <= 0
    return np.where(even, 1.0 / sizes[of], share / np.where(even, 1.0, whole[of]))
