"""The recursive partition as it was published and run, faults included. NOT private: for reruns only.

The faults that the printed figures show: a block without rows is a leaf without any test, boxes run from the smallest
to the largest value of the data, noise is a real number, the budget of a split that does not take place is lost, and so
is what the binary partitioner has for cuts, the median weighs with twice its budget and in doubles that underflow, the
uniform partitioner sizes its grids by the budget of one level and rounds them up (or, on two tables, cuts every block
in two at least). The product's trees have none of them. Switch one off here to see what it did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray
from discreet.errors import InvalidArgument
from discreet.noise.choice import ManyRuns, joint_cuts

#: Rows times budget for each part of a grid, and the most cells of one split.
THETA, MOST_CELLS = 10, 10**6
#: Blocks of one level that are held here. The published run had no such limit and ended without memory.
MOST_BLOCKS = 2**22
#: Cuts of the multi-quantile partitioner: the quartiles.
N_CUTS = 3
#: Candidate lines of the quartiles in one block, and in all blocks of a level.
_FEWEST_LINES, _MOST_LINES = 64, 2**16


@dataclass(frozen=True)
class Faults:
    """Which of the published faults are on.

    Attributes
    ----------
    raw_emptiness : bool
        A block without rows becomes a leaf without a noisy test: this alone breaks every ε.
    doubled_median : bool
        The median's weights are exp(-ε |L - R|): each cut costs 2ε.
    underflow : bool
        Those weights are plain doubles, 0 below e^-745. If all are, the cut is the upper end of the block.
    lost_share : bool
        The binary partitioner's third for cuts, which cost it nothing, is not moved to its tests.
    rounding : {"up", "down", "least two"}
        How the uniform partitioner makes its parts whole.
    """

    raw_emptiness: bool = True
    doubled_median: bool = True
    underflow: bool = True
    lost_share: bool = True
    rounding: str = "up"


#: What the text describes. Not private either: it tests for raw emptiness too, and bounds were read off the data.
AS_WRITTEN = Faults(doubled_median=False, underflow=False, lost_share=False, rounding="down")


@dataclass(frozen=True)
class Levels:
    """What each level has for its tests and its splits, and what a leaf is published with."""

    test: tuple[float, ...]
    split: tuple[float, ...]
    leaf: float

    @classmethod
    def thirds(cls, epsilon: float, depth: int, budget: str, *, pays_splits: bool, fan_out: float = 2.0) -> Levels:
        """Divide a budget in thirds, and each third between levels: equally, or in proportion to i + 1 or F^(i/3).

        Examples
        --------
        >>> [round(e, 4) for e in Levels.thirds(3.0, 4, "geometric", pays_splits=True).test]
        [0.171, 0.2155, 0.2715, 0.342]
        """
        rules = {"uniform": [1.0] * depth, "linear": [i + 1.0 for i in range(depth)]}
        weights = rules.get(budget, [fan_out ** (i / 3) for i in range(depth)])
        shares = [w / sum(weights) for w in weights]
        tests = epsilon / 3 if pays_splits else 2 * epsilon / 3
        splits = epsilon / 3 if pays_splits else 0.0
        return cls(tuple(tests * s for s in shares), tuple(splits * s for s in shares), epsilon / 3)

    def stopped(self, level: int) -> float:
        """Return what a leaf has that stopped at a level. As published: the split of that level is forgotten."""
        return self.leaf + sum(self.test[level + 1 :]) + sum(self.split[level + 1 :])


@dataclass
class _Blocks:
    """The blocks of one level: their boxes, and the rows with the block each lies in and how often each is there."""

    low: FloatArray
    high: FloatArray
    rows: IntArray
    block: IntArray
    times: IntArray

    def __len__(self) -> int:
        return len(self.low)

    def counts(self) -> IntArray:
        return np.bincount(self.block, self.times, len(self)).astype(np.int64)

    def only(self, kept: BoolArray) -> _Blocks:
        number = np.cumsum(kept) - 1
        inside = kept[self.block]
        own = self.rows[inside], number[self.block[inside]], self.times[inside]
        return _Blocks(self.low[kept], self.high[kept], *own)


class PublishedTree:
    """The recursive partition with a partitioner, its depth, threshold and budget.

    Examples
    --------
    >>> X = np.argwhere(np.ones((8, 8))).astype(float)
    >>> points, weights = PublishedTree("binary", depth=2, budget="uniform", threshold=10).fit(X, 1e6, seed=0)
    >>> points.tolist(), weights.round().tolist()
    ([[1.75, 1.75], [1.75, 5.25], [5.25, 1.75], [5.25, 5.25]], [16.0, 16.0, 16.0, 16.0])
    """

    def __init__(
        self, partitioner: str, *, depth: int, budget: str, threshold: float, faults: Faults | None = None
    ) -> None:
        self.partitioner, self.depth, self.budget, self.threshold = partitioner, depth, budget, threshold
        self.faults = Faults() if faults is None else faults

    def fit(
        self, X: FloatArray, epsilon: float, seed: int, times: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the centres of the leaves and their noisy counts; those that are not positive are left out.

        ``times`` says how often each row is there: a table of many equal rows is then a short one.
        """
        pays = self.partitioner != "binary" or self.faults.lost_share
        levels = Levels.thirds(epsilon, self.depth, self.budget, pays_splits=pays)
        times = np.ones(len(X), np.int64) if times is None else times
        found = list(self._leaves(X, times, levels, noise.generator(seed)))
        points, weights = (np.concatenate([part[i] for part in found]) for i in (0, 1))
        order = np.lexsort(points.T[::-1])
        return points[order], weights[order]

    def _leaves(
        self, X: FloatArray, times: IntArray, levels: Levels, stream: noise.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        n = np.arange(len(X))
        blocks = _Blocks(X.min(axis=0)[np.newaxis], X.max(axis=0)[np.newaxis], n, np.zeros_like(n), times)
        for level in range(self.depth):
            counts = blocks.counts()
            empty = (counts == 0) & self.faults.raw_emptiness
            yield _published(blocks, counts, empty, levels.leaf, stream)
            stop = ~empty & (counts + laplace(len(counts), 1 / levels.test[level], stream) <= self.threshold)
            yield _published(blocks, counts, stop, levels.stopped(level), stream)
            blocks = self._split(X, blocks.only(~(empty | stop)), level, levels.split[level], stream)
        counts = blocks.counts()
        yield _published(blocks, counts, np.ones(len(blocks), np.bool_), levels.leaf, stream)

    def _split(self, X: FloatArray, blocks: _Blocks, level: int, epsilon: float, stream: noise.Generator) -> _Blocks:
        if not len(blocks):
            return blocks
        if self.partitioner == "uniform":
            return _grids(X, blocks, epsilon, self.faults.rounding, stream)
        axis = level % X.shape[1]
        low, high, values = blocks.low[:, axis], blocks.high[:, axis], X[blocks.rows, axis]
        if self.partitioner == "binary":
            cuts = ((low + high) / 2)[:, np.newaxis]
        elif self.partitioner == "median":
            cuts = _medians(values, blocks, low, high, epsilon, self.faults, stream)[:, np.newaxis]
        else:
            cuts = _quartiles(values, blocks, low, high, epsilon, stream)
        fan_out = cuts.shape[1] + 1
        side = (values[:, np.newaxis] > cuts[blocks.block]).sum(axis=1)
        new_low, new_high = np.repeat(blocks.low, fan_out, axis=0), np.repeat(blocks.high, fan_out, axis=0)
        edges = np.column_stack([low, cuts, high])
        new_low[:, axis], new_high[:, axis] = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        return _Blocks(new_low, new_high, blocks.rows, blocks.block * fan_out + side, blocks.times)


def uniforms(n: int, stream: noise.Generator) -> FloatArray:
    """Return numbers between 0 and 1, both excluded."""
    drawn: FloatArray = (noise.below(2**52, (n,), stream) + 0.5) / 2.0**52
    return drawn


def laplace(n: int, scale: float, stream: noise.Generator) -> FloatArray:
    """Return real Laplace noise, as published: its low-order digits give values away."""
    u = uniforms(n, stream) - 0.5
    return np.asarray(-scale * np.sign(u) * np.log1p(-2 * np.abs(u)))


def parts_of_grid(wanted: FloatArray, d: int, rounding: str) -> IntArray:
    """Make the parts of an axis whole; at most floor(10^(6/d)).

    Examples
    --------
    >>> parts_of_grid(np.array([0.0, 1.2, 7.0]), 9, "up").tolist()
    [1, 2, 4]
    """
    most = math.floor(MOST_CELLS ** (1 / d) + 1e-9)
    whole = np.ceil(wanted) if rounding == "up" else np.floor(wanted)
    least = 2 if rounding == "least two" else 1
    parts: IntArray = np.minimum(np.maximum(whole, least), most).astype(np.int64)
    return parts


def _published(
    blocks: _Blocks, counts: IntArray, chosen: BoolArray, epsilon: float, stream: noise.Generator
) -> tuple[FloatArray, FloatArray]:
    weights = counts[chosen] + laplace(int(chosen.sum()), 1 / epsilon, stream)
    kept = np.flatnonzero(chosen)[weights > 0]
    return (blocks.low[kept] + blocks.high[kept]) / 2, weights[weights > 0]


def _medians(
    values: FloatArray,
    blocks: _Blocks,
    low: FloatArray,
    high: FloatArray,
    epsilon: float,
    faults: Faults,
    stream: noise.Generator,
) -> FloatArray:
    """Choose a gap between values in every block, by its length and rank, then a point in it."""
    n = len(blocks)
    number = np.arange(n)
    owner = np.concatenate([blocks.block, number, number])
    ends = np.concatenate([values, low, high])
    order = np.lexsort((ends, np.concatenate([np.ones(len(values)), np.zeros(n), np.full(n, 2)]), owner))
    ends, owner = ends[order], owner[order]
    starts = np.searchsorted(owner, number)
    counts = blocks.counts()
    place_of = np.arange(len(ends)) - starts[owner]
    held = np.concatenate([blocks.times, np.zeros(2 * n, np.int64)])[order]
    rank = np.cumsum(held)
    rank = rank - rank[starts][owner]  # rows up to here; the lower end of a block holds none
    gap = np.diff(ends, append=0.0)
    lines = np.bincount(blocks.block, minlength=n)
    inside = place_of <= lines[owner]  # the upper end of a block starts no gap
    losses = epsilon * np.abs(2 * rank - counts[owner]) / (1 if faults.doubled_median else 2)
    if not faults.underflow:
        losses = np.where(inside & (gap > 0), losses, np.inf)
        least = np.minimum.reduceat(losses, starts)
        losses = losses - np.where(np.isfinite(least), least, 0.0)[owner]
    weights = np.where(inside, np.maximum(gap, 0.0) * np.exp(-losses), 0.0)
    totals = np.add.reduceat(weights, starts)
    none = totals <= 0
    shares = weights / np.where(none, 1.0, totals)[owner]
    before = np.cumsum(shares)
    base = before[starts] - shares[starts]
    wanted = base + uniforms(n, stream) * (1 - 1e-9)
    place = np.minimum(np.searchsorted(before, wanted, side="left"), starts + lines)
    found = ends[place] + uniforms(n, stream) * gap[place]
    return np.where(none, high, np.clip(found, low, high))


def _quartiles(
    values: FloatArray, blocks: _Blocks, low: FloatArray, high: FloatArray, epsilon: float, stream: noise.Generator
) -> FloatArray:
    """Draw the quartiles of every block in one choice, for the sensitivity 2 that was published (1.5 would do)."""
    n = len(low)
    lines = max(_FEWEST_LINES, _MOST_LINES >> (n - 1).bit_length())
    width = high - low
    block = blocks.block
    cells = np.minimum((values - low[block]) / width[block] * lines, lines - 1).astype(np.int64)
    keys, which = np.unique(block * lines + np.maximum(cells, 0), return_inverse=True)
    counts = np.bincount(which, blocks.times).astype(np.int64)
    runs = ManyRuns.of_counts(keys, counts, n_lines=np.full(n, lines), stride=lines)
    cuts = joint_cuts(runs, N_CUTS, Fraction(epsilon) * 3 / 4, stream)
    return np.asarray(low[:, np.newaxis] + cuts / lines * width[:, np.newaxis])


def _grids(X: FloatArray, blocks: _Blocks, epsilon: float, rounding: str, stream: noise.Generator) -> _Blocks:
    """Cut every axis of every block into as many parts; a block with one part stays and is asked again below."""
    d = X.shape[1]
    noisy = np.maximum(epsilon * blocks.counts() + laplace(len(blocks), 1.0, stream), 0)
    parts = parts_of_grid((noisy / THETA) ** (2 / (2 + d)), d, rounding)
    sizes = parts**d
    if sizes.sum() > MOST_BLOCKS:
        raise InvalidArgument("epsilon", epsilon, f"small enough for {MOST_BLOCKS} blocks in a level", "less of it")
    starts = np.cumsum(sizes) - sizes
    low, high = np.empty((sizes.sum(), d)), np.empty((sizes.sum(), d))
    code = np.zeros(len(blocks.rows), np.int64)
    width = (blocks.high - blocks.low) / parts[:, np.newaxis]
    place = np.repeat(np.arange(len(blocks)), sizes)
    rest = np.arange(len(place)) - starts[place]
    for j in reversed(range(d)):
        rest, digit = np.divmod(rest, parts[place])
        low[:, j] = blocks.low[place, j] + digit * width[place, j]
        high[:, j] = np.where(digit + 1 == parts[place], blocks.high[place, j], low[:, j] + width[place, j])
    b = blocks.block
    for j in range(d):
        with np.errstate(invalid="ignore", divide="ignore"):
            cell = np.nan_to_num((X[blocks.rows, j] - blocks.low[b, j]) / width[b, j])
        code = code * parts[b] + np.clip(cell, 0, parts[b] - 1).astype(np.int64)
    return _Blocks(low, high, blocks.rows, starts[b] + code, blocks.times)
