"""The choice of marginals to measure, how coarsely, and at what price.

A pair is worth measuring if the model is further from it than the noise would be: by a score, the L1 distance between
the table's marginal and the model's, in whole rows. Bins with few rows are joined first, by noisy counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core import AnyArray, FloatArray, IntArray
from discreet.core.budget import Epsilon, Price
from discreet.engines.passes import GroupedMarginal
from discreet.mechanisms import Gate

#: A group has at least this many rows per noise of the cells it is crossed with. Of 1 and 2 the better for pairs and
#: triples on generated tables (``benchmarks/tuning/marginals.py``).
COARSENESS = 1.0
#: How much of the noise is left after the model has drawn on it: of a measured pair, by experience.
LEFT_OF_NOISE = 0.4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A marginal that could be measured."""

    marginal: GroupedMarginal
    weight: float


def coarsen(
    columns: Sequence[int], known: Sequence[FloatArray], ordered: Sequence[bool], noise: float
) -> GroupedMarginal:
    """Join bins of columns until every group has rows enough to stand out of noise of a given size per cell.

    ``known`` are estimated counts of the bins of every column, ``ordered`` says whether neighbouring bins are alike,
    and ``noise`` is the standard deviation of a count.
    """
    groups = [np.arange(len(known[c])) for c in columns]
    for _ in range(4):
        for place, c in enumerate(columns):
            others = math.prod(int(g.max()) + 1 for q, g in enumerate(groups) if q != place)
            groups[place] = _groups(known[c], COARSENESS * noise * others, ordered[c])
    return GroupedMarginal(columns, groups)


def _groups(counts: FloatArray, need: float, ordered: bool) -> IntArray:
    if ordered:
        return _in_turn(counts, need)
    if np.count_nonzero(counts >= need) >= len(counts) - 1:
        return np.arange(len(counts))
    # Categories have no neighbours: those of about the same size share a group.
    order = np.argsort(-counts, kind="stable")
    groups = np.empty(len(counts), np.int64)
    groups[order] = _in_turn(counts[order], need)
    return groups


def _in_turn(counts: FloatArray, need: float) -> IntArray:
    groups = np.zeros(len(counts), np.int64)
    current, held, left = 0, 0.0, float(counts.sum())
    for i, count in enumerate(counts.tolist()):
        groups[i] = current
        held, left = held + count, left - count
        if held >= need and left >= need:
            current, held = current + 1, 0.0
    return groups


def distances(found: Sequence[IntArray], expected: Sequence[FloatArray]) -> IntArray:
    """Return the L1 distances between tables and what a model expects, in whole rows.

    Privacy: a row changes one count of each table by 1. What is expected follows from earlier outputs and is rounded,
    so each distance moves by at most 1, exactly.
    """
    pairs = zip(found, expected, strict=True)
    return np.array([np.abs(m - np.rint(e).astype(np.int64)).sum() for m, e in pairs], np.int64)


def chance_distance(expected: FloatArray) -> float:
    """Return the distance that rows drawn from the model itself would have: what no measurement can improve cheaply."""
    return float(np.sqrt(np.maximum(expected, 0.5) * (2 / math.pi)).sum())


def beyond_pairs(candidates: Sequence[Candidate], worth: AnyArray) -> AnyArray:
    """Return worths in which a triple has only what it adds to the most distant of its pairs.

    Privacy: if a row moves every worth by at most 1, it moves the results by at most 1 for pairs and 2 for triples.
    """
    known = {c.marginal.columns: w for c, w in zip(candidates, worth, strict=True) if len(c.marginal.columns) == 2}
    made = worth.copy()
    for i, c in enumerate(candidates):
        if len(c.marginal.columns) == 3:
            made[i] -= max(0, *(known.get(pair, 0) for pair in itertools.combinations(c.marginal.columns, 2)))
    return made


def pick(candidates: Sequence[Candidate], worth: FloatArray, budget: Price) -> tuple[list[int], list[Price]]:
    """Choose what to measure by noisy worths, and divide a budget: post-processing.

    With c cells and weight w the sum of errors is least with ρ ∝ (w c)^(2/3), or ε ∝ √(w c). Candidates are taken in
    the order of their worth by price as long as what is left out and what the noise adds together fall.
    """
    weights = np.array([c.weight for c in candidates])
    cells = np.array([float(c.marginal.n_cells) for c in candidates])
    order = [int(i) for i in np.argsort(-worth * weights / np.cbrt(cells), kind="stable")]
    chosen: list[int] = []
    gained = 0.0
    best = math.inf
    for i in order:
        tried = [*chosen, i]
        left = -(gained + max(float(worth[i]), 0.0) * weights[i])
        added = _noise(cells[tried], weights[tried], budget)
        if not chosen or left + added < best:
            chosen, best = tried, left + added
            gained += max(float(worth[i]), 0.0) * weights[i]
    return chosen, [*budget.divide(_power(budget, weights[chosen] * cells[chosen]))]


def pick_one_by_one(
    gate: Gate, candidates: Sequence[Candidate], worth: IntArray, looking: Price, budget: Price, most: int
) -> tuple[list[int], list[Price]]:
    """Choose what to measure by the exponential mechanism, one after the other, and divide a budget.

    Privacy: ``worth`` is a distance less public numbers. A row moves it by at most 1 up or down, or by 2 if triples are
    there (`beyond_pairs`), times its weight: all changes lie in an interval of twice that, the span of the choice.
    Every choice is charged.
    """
    reach = max(len(c.marginal.columns) for c in candidates) - 1
    weights = np.array([round(c.weight) for c in candidates], np.int64)
    cells = np.array([float(c.marginal.n_cells) for c in candidates])
    scores, left = worth * weights, np.arange(len(candidates))
    chosen: list[int] = []
    for price in looking.divide(np.ones(most)):
        at = gate.choose(f"choice {len(chosen) + 1}", scores[left], price, 2 * reach * int(weights.max()))
        chosen.append(int(left[at]))
        left = np.delete(left, at)
    return chosen, [*budget.divide(_power(budget, weights[chosen] * cells[chosen]))]


def spread(price: Price) -> float:
    """Return the standard deviation of the noise of a count for a price, about."""
    amount = price.shown
    if math.isinf(amount):
        return 0.0
    return math.sqrt(2) / amount if isinstance(price, Epsilon) else math.sqrt(0.5 / amount)


def mean_size(price: Price) -> float:
    """Return the mean absolute value of that noise, about."""
    return spread(price) * (math.sqrt(0.5) if isinstance(price, Epsilon) else math.sqrt(2 / math.pi))


def better_one_by_one(scores: int, choices: int, price: Price) -> bool:
    """Return whether choices one after the other blur a ranking less than noisy scores of all, at the same price."""
    if price.infinite:
        return False
    gumbel = 2 * 1.28
    if isinstance(price, Epsilon):
        return gumbel * choices < math.sqrt(2) * scores
    return gumbel * math.sqrt(choices / 8) < math.sqrt(scores / 2) / 4  # scores hold more than a ranking


def _power(price: Price, sizes: FloatArray) -> FloatArray:
    """Return shares of a budget; rounded to powers of √2, because every new width of noise has tables to be made."""
    return np.exp2(np.rint(2 * np.log2(sizes) * (0.5 if isinstance(price, Epsilon) else 2 / 3)) / 2)


def _noise(cells: FloatArray, weights: FloatArray, budget: Price) -> float:
    shares = _power(budget, weights * cells)
    shares = shares / shares.sum()
    sizes = mean_size(budget) * shares ** (-1.0 if isinstance(budget, Epsilon) else -0.5)
    return LEFT_OF_NOISE * float(weights @ (cells * sizes))
