"""Errors of counts by one and two columns of a model, from its measurements. Post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import MEAN_NOISE, Code, FloatArray, IntArray, bin_of, cells_of

if TYPE_CHECKING:
    from discreet.synopses.marginals.measured import MeasuredMarginal
    from discreet.synopses.marginals.synopsis import ModelSynopsis


def of_model(synopsis: ModelSynopsis) -> Callable[..., tuple[float, bool]]:
    """Return a function that gives the error of the counts by some columns, and if they were not measured together.

    Noise of deviation s moves a count m of the model by at most min(2 m, 0.8 s) on average, because counts are not
    negative and add up. To this come the model's distance from the measurement beyond the noise and, where measured
    groups are coarser than what is counted, dependence inside them, taken to be as strong as between them. The error of
    other pairs is the noisy score of the model's distance from the table.
    """
    known, total = synopsis.measured, max(synopsis.total, 1.0)
    weight, given = total / max(synopsis.n_leaves, 1), synopsis._given
    # What rules give was not counted: the column that it starts from stands for it.
    source = {c: next(j for j in others if j not in given) for c, others in known.follows}

    @cache
    def placed(axis: int) -> tuple[IntArray, IntArray]:
        """Return the measured bin of each model row, and where counts by this column have it."""
        lower, upper, _, bins = synopsis._axis(axis)
        cells, rows = ((a + b) / 2 for a, b in ((lower, upper), (synopsis.lower[:, axis], synopsis.upper[:, axis])))
        at = np.minimum(
            np.searchsorted(np.nan_to_num(cells, nan=np.inf), np.nan_to_num(rows, nan=np.inf)), len(cells) - 1
        )
        return np.asarray(bins)[at], bin_of(synopsis.domain.columns[axis], rows)

    def measured(m: MeasuredMarginal, arrays: Any, asked: tuple[int, ...]) -> float:
        (groups, counts), own = arrays, [m.columns.index(c) for c in asked]
        sizes = [int(of.max()) + 1 for of in groups]
        others = tuple(i for i in range(len(sizes)) if i not in own)
        noisy = counts.reshape(sizes).sum(axis=others)
        at = np.ravel_multi_index([groups[i][placed(c)[0]] for i, c in zip(own, asked, strict=True)], noisy.shape)
        variance: Any = np.full(noisy.size, m.variance * math.prod(sizes[i] for i in others))
        if len(m.columns) == 1:  # a bin has the noise of its cells; the variance is the mean of the bins
            cells = np.bincount(np.array(known.bins[asked[0]]))
            variance *= cells / cells.mean()
        there = np.bincount(at, minlength=noisy.size)
        # Parts: the model rows of one group in one cell of the counts.
        shape = [noisy.size, *(cells_of(synopsis.domain.columns[c]) + 1 for c in asked)]
        codes = np.ravel_multi_index([at, *(placed(c)[1] for c in asked)], shape)
        parts, rows = np.unique(codes, return_counts=True)
        group, of = np.divmod(parts, math.prod(shape[1:]))
        share = rows / there[group]
        model = weight * np.bincount(of, rows)
        spread = MEAN_NOISE * np.sqrt(np.bincount(of, share**2 * variance[group]))
        noise = float(np.minimum(2 * model, spread).sum())
        off = max(float((np.abs(model - np.bincount(of, share * noisy.ravel()[group])) - spread).sum()), 0.0)
        apart = dependence(weight * there.reshape(noisy.shape))
        if len(asked) == 1 and isinstance(synopsis.domain.columns[asked[0]], Code):
            apart = 1.0  # few codes of a pattern occur
        divided = apart * weight * float(rows @ (1 - share))
        return (noise + off + divided) / total

    @cache
    def error(*axes: int) -> tuple[float, bool]:
        asked = tuple(sorted({source.get(c, c) for c in axes}))
        every = zip(known.measured, known.told, known.arrays, strict=True)
        found = [measured(m, arrays, asked) for m, told, arrays in every if told.issuperset(asked)]
        alone = math.hypot(*(error(c)[0] for c in asked)) if len(asked) > 1 else 0.0
        if found:
            return max(min(found), alone), bool(given.keys() & set(axes))
        return math.hypot(alone, known.distance(asked, total)[0] / total), True

    return error


def dependence(counts: FloatArray) -> float:
    """Return the share of rows that would have to move to make two columns independent; of one column half."""
    if counts.ndim < 2:
        return 0.5
    even = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(float(counts.sum()), 1e-9)
    return float(np.abs(counts - even).sum()) / max(2 * float(counts.sum()), 1e-9)
