"""Declared facts in the model: combinations that cannot occur hold no rows, and columns that follow are filled in.

A fact is public, so what is done with it here is post-processing: nothing is measured of a column that is a function,
and cells that cannot hold a row are known to be empty. Bins are kept apart where a combination begins or ends, so that
it is about whole bins; a table of zeros and ones over them keeps every row of the population out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.core import AnyArray, Column, Date, FloatArray, Function, IntArray, Integer, a_choice, held
from discreet.engines.passes import AxisGrids, GroupedMarginal
from discreet.noise.stream import numpy_stream
from discreet.synopses.marginals.bins import Bins
from discreet.synopses.marginals.mixture import Factor

#: One combination: from its columns to which of their bins belong to it.
Zero = dict[int, NDArray[np.bool_]]


def kept_apart(grid: AxisGrids, column: int) -> IntArray | None:
    """Return a number for each cell of a column; cells with different ones may not share a bin. None: all may."""
    told = [one[column] for one in grid.impossible if column in one]
    return _alike(told) if told else None


def _alike(told: Sequence[NDArray[np.bool_]]) -> IntArray:
    """Number values by which of several combinations they belong to."""
    return np.asarray(np.unique(np.array(told), axis=1, return_inverse=True)[1].ravel(), np.int64)


def on_bins(grid: AxisGrids, bins: Sequence[Bins]) -> list[Zero]:
    """Return the combinations that cannot occur, by bins."""
    first = [np.unique(b.of, return_index=True)[1] for b in bins]
    return [{j: cells[first[j]] for j, cells in one.items()} for one in grid.impossible]


def as_factors(zeros: Sequence[Zero]) -> list[Factor]:
    """Return what is known of each set of columns that combinations are about: some of its cells hold no row."""
    made = []
    for columns in dict.fromkeys(tuple(sorted(one)) for one in zeros):
        told = [one for one in zeros if tuple(sorted(one)) == columns]
        groups = [
            np.unique(np.array([one[c] for one in told]), axis=1, return_inverse=True)[1].ravel() for c in columns
        ]
        marginal = GroupedMarginal(columns, groups)
        empty = no_rows(marginal, told)
        made.append(Factor(marginal, np.zeros(len(empty)), np.where(empty, 1.0, np.inf), empty))
    return made


def no_rows(marginal: GroupedMarginal, zeros: Sequence[Zero]) -> NDArray[np.bool_]:
    """Return which cells of a marginal of bins can hold no row: those of which every part is in some combination."""
    told = [one for one in zeros if set(one) <= set(marginal.columns)]
    if not told:
        return np.zeros(marginal.n_cells, bool)
    sizes = [len(g) for g in marginal.groups]
    out = np.zeros(sizes, bool)
    for one in told:
        met = np.ones((), bool)
        for c, size in zip(marginal.columns, sizes, strict=True):
            met = np.logical_and.outer(met, one.get(c, np.ones(size, bool)))
        out |= met
    cells = np.zeros((), np.int64)
    for groups, size in zip(marginal.groups, marginal.shape, strict=True):
        cells = np.add.outer(cells * size, groups)
    return np.asarray(np.bincount(cells.ravel(), weights=~out.ravel(), minlength=marginal.n_cells) == 0, bool)


def make_possible(codes: AnyArray, zeros: Sequence[Zero], root: tuple[int, int]) -> None:
    """Give rows of a population that cannot occur the columns concerned of others that can; changed in place."""
    if not zeros:
        return
    broken = np.logical_or.reduce([np.logical_and.reduce([b[codes[j]] for j, b in one.items()]) for one in zeros])
    columns = np.array(sorted({j for one in zeros for j in one}))
    whole = np.flatnonzero(~broken)
    if len(whole):
        chosen = whole[numpy_stream(*root).integers(0, len(whole), int(broken.sum()))]
        codes[np.ix_(columns, np.flatnonzero(broken))] = codes[np.ix_(columns, chosen)]
        return
    found = a_choice(zeros)
    assert found is not None  # a domain that leaves none is refused
    for j, value in found.items():
        codes[j] = value


def follow(function: Function, source: Column, column: Column, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the boxes of a column that follows from another, whose boxes are given: lower ends, then upper ones."""
    made = np.full(len(lower), np.nan)  # missing where the source is
    for low, high, place in function.pieces:
        made[held(source, lower, upper, [(low, high)])] = place
    return box_of(column, made)


def box_of(column: Column, values: FloatArray) -> FloatArray:
    """Return the boxes of single values of a column: lower ends, then upper ones."""
    half = 0.5 if isinstance(column, (Integer, Date)) or hasattr(column, "categories") else 0.0
    return np.array([np.maximum(values - half, column.low), np.minimum(values + half, column.high)])
