"""From rows to noisy marginals and a model: the whole of what a marginal synopsis does with a table.

One pass counts every column on a fine public grid; noisy, that gives bins and the number of rows. Then come rounds.
In each, candidates (pairs, later perhaps triples) are coarsened by what is known and counted, pairs in one pass for all
rounds; noisy scores estimate how far the model is from each; the best are measured; the model is fitted to them all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import AnyArray, Categorical, FloatArray, IntArray, one_blas_thread, stage
from discreet.core.budget import Epsilon, Price
from discreet.engines.passes import AxisGrids, GroupedMarginal, MarginalsPass
from discreet.mechanisms import Moves
from discreet.noise import numpy_stream
from discreet.synopses.marginals import choice, target
from discreet.synopses.marginals.bins import Bins, consistent, levels, make_bins, most_bins, public_grid
from discreet.synopses.marginals.differences import differences, matched, short_end, wider
from discreet.synopses.marginals.facts import Zero, as_factors, kept_apart, make_possible, no_rows, on_bins
from discreet.synopses.marginals.mixture import Factor, Mixture
from discreet.synopses.marginals.population import draw, draw_column, even_rows
from discreet.synopses.opening import OpenRelease

#: Shares of the budget: for single columns; of the rest for scores; of what is left for each round.
SINGLE, SCORES = Fraction(3, 20), Fraction(1, 10)
#: The same where prices add up as ε does, not as its square.
PURE_SINGLE, PURE_SCORES = Fraction(1, 5), Fraction(1, 10)
ROUNDS = (Fraction(1, 2), Fraction(1, 2))
#: The population: as many rows as the table is said to have, but within these.
FEWEST, MOST = 2_000, 2**16
#: How much more errors of marginals with the target matter. 8 makes classifiers slightly better on generated tables
#: (``benchmarks/results/marginals_target_weight.json``), but pairs of 40 columns worse by 11 %.
TARGET_WEIGHT = 5.0
#: How much coarser they are than others: a classifier needs rows in every group.
TARGET_COARSER = 2.0
#: How many pairs are worth a look: the noise that one may have, as a share of the rows (the second where prices add up
#: as ε does), and its cells. With 0.01 only two pairs of a small table were measured; of 0.01 to 0.3 none did better
#: than 0.1 on generated tables of 3,000 rows (``benchmarks/results/marginals_tolerated.json``).
TOLERATED, PURE_TOLERATED, USUAL_CELLS = 0.1, 0.01, 20
#: How much of the distance that chance alone makes is not worth correcting, unless noise is small.
CHANCE = 0.6
#: Few triples add to their pairs. So many may look as if they did by the noise of their scores alone.
FALSE_TRIPLES = 20
#: Triples that are counted and scored at most; all of them up to 30 columns.
MOST_TRIPLES = 4096
#: Triples are considered once the noise of what was measured is below this share of the rows, on average.
FINE = 0.02


@dataclass(frozen=True)
class MarginalSettings:
    """The workload, the place of the target column, and the most counts held at a time."""

    workload: str = "pairs"
    target: int | None = None
    max_cells: int = 2**22


@dataclass(frozen=True)
class Measured:
    """A marginal that was measured."""

    marginal: GroupedMarginal
    counts: IntArray
    variance: float


@dataclass
class Findings:
    """All noisy measurements, and the model fitted to them. Nothing in it is raw."""

    grid: AxisGrids
    bins: list[Bins]
    total: float
    total_variance: float
    zeros: list[Zero] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    #: Columns, noisy distance in rows between a marginal and the model of that round, its variance, cells.
    scores: list[tuple[tuple[int, ...], float, float, int]] = field(default_factory=list)
    codes: AnyArray = field(default_factory=lambda: np.zeros((0, 0), np.int16))
    known: list[FloatArray] = field(default_factory=list)
    root: int = 0
    #: Columns of measured marginals that the model misses by more than their noise.
    missed: list[tuple[int, ...]] = field(default_factory=list)


def find(opening: OpenRelease, settings: MarginalSettings) -> Findings:
    """Publish marginals with all that is left, and fit the model.

    Privacy: counts of single columns, scores and counts of chosen marginals are charged where they are drawn (`Gate`);
    prices are fixed shares of the budget and functions of earlier outputs.
    """
    with one_blas_thread():  # several add in another order, and a seed would give other rows
        return _find(opening, settings)


def _find(opening: OpenRelease, settings: MarginalSettings) -> Findings:
    gate, whole = opening.gate, opening.gate.left
    grid = public_grid(opening.domain)
    alone = len(grid.domain) < 2
    found = _single(opening, grid, whole if alone else whole * (PURE_SINGLE if gate.pure else SINGLE))
    rows = max(found.total, 1.0)
    found.known = [onto_simplex(b.counts, rows) for b in found.bins]
    root = found.root = gate.free.root()
    found.codes = even_rows(found.known, int(min(max(round(rows), FEWEST), MOST)), (root, 0))
    if alone:
        make_possible(found.codes, found.zeros, (root, len(ROUNDS) + 2))
        return found
    rest = gate.left
    sizes = [b.size for b in found.bins]
    factors = [_of_column(j, b) for j, b in enumerate(found.bins)]
    floors = [0.02 * np.sqrt(f.variances) + 1e-3 for f in factors]
    shares = [np.maximum(k, floor) for k, floor in zip(found.known, floors, strict=True)]
    model = Mixture(sizes, [k / k.sum() for k in shares], (root, 1))
    if found.zeros:  # what they alone make of the columns need not be measured
        factors += as_factors(found.zeros)
        model.fit(factors, rows)
    counter = _Counter(opening, grid, found.bins, settings.max_cells)
    for number, share in enumerate(ROUNDS):
        new = _round(counter, found, settings, rest * share, number, model)
        factors += [Factor(m.marginal, m.counts.astype(np.float64), np.full(len(m.counts), m.variance)) for m in new]
        factors += [wide for m in new for wide in wider(m, grid.domain)]
        stage("model")
        model.fit(factors, rows)
        found.known = [onto_simplex(p * rows, rows) for p in model.expected(f.marginal for f in factors[: len(sizes)])]
    found.missed = model.missed
    found.codes = draw(model, found.codes.shape[1], found.zeros, settings.target, (root, len(ROUNDS) + 2))
    if (at := settings.target) is not None and sizes[at] == 2:
        likely = target.chances(found.codes, at, found.known[at], factors, found.zeros)
        draw_column(found.codes, at, likely, sizes, found.zeros, (root, len(ROUNDS) + 5))
    return found


def refined(found: Findings) -> AnyArray:
    """Return the population on the fine grids: the cells of a bin get their shares of its rows, as whole rows can."""
    stream = numpy_stream(found.root, len(ROUNDS) + 1)
    fine = np.empty(found.codes.shape, np.int32)
    for j, bins in enumerate(found.bins):
        order = stream.permutation(found.codes.shape[1])
        order = order[np.argsort(found.codes[j, order], kind="stable")]
        first = 0
        for b, size in enumerate(np.bincount(found.codes[j], minlength=bins.size).tolist()):
            cells = np.flatnonzero(bins.of == b)
            ends = np.rint(np.cumsum(bins.within[cells]) * size).astype(np.int64)
            ends[-1] = size
            fine[j, order[first : first + size]] = np.repeat(cells, np.diff(ends, prepend=0))
            first += size
    matched(found, fine)
    return fine


def _single(opening: OpenRelease, grid: AxisGrids, price: Price) -> Findings:
    """Measure every column by itself: bins, and the number of rows unless it is public."""
    sizes = grid.sizes
    names = grid.domain.names
    asked = tuple(GroupedMarginal([j], [np.arange(size)]) for j, size in enumerate(sizes))
    job = MarginalsPass(grid, asked)
    prices = price.divide(np.exp2(np.rint(np.log2([min(size, 64) for size in sizes]) * 4 / 3) / 2))
    most = most_bins(len(sizes))
    bins, sums, blur = [], np.zeros(len(sizes)), np.zeros(len(sizes))
    raw = opening.source.marginals(job)
    with opening.gate.sequential("columns") as columns:
        for j, (column, counts, paid) in enumerate(zip(grid.domain, raw, prices, strict=True)):
            groups = levels(column, len(counts), grid.boxes(j)[0])
            # Half for the finest level, the rest for the wider ones.
            parts: Any = paid.divide([max(len(groups) - 1, 1), *[1] * (len(groups) - 1)])
            told = [
                columns.counts(
                    names[j] if of is groups[0] else f"{names[j]} in {int(of[-1]) + 1} parts",
                    np.bincount(of, weights=counts).astype(np.int64),
                    part,
                )
                for of, part in zip(groups, parts, strict=True)
            ]
            y, v = told[0].values, told[0].variance
            sums[j], blur[j] = y.sum(), max(len(y) * v, 1e-12)
            if len(groups) == 1 or v == 0:  # without noise the finest level says all
                bins.append(make_bins(column, y, v, most, kept_apart(grid, j)))
                continue
            fine, covariance = consistent(groups, [t.values for t in told], [t.variance for t in told])
            typical = float(np.mean(np.diag(covariance)))
            bins.append(make_bins(column, fine, typical, most, kept_apart(grid, j), covariance))
            sums[j], blur[j] = fine.sum(), max(float(covariance.sum()), 1e-12)
    for j in differences(grid.domain):
        bins[j] = short_end(bins[j], grid.domain.columns[j].missing == "own")
    if math.isnan(opening.n_rows):
        total, variance = float((sums / blur).sum() / (1 / blur).sum()), float(1 / (1 / blur).sum())
        variance = 0.0 if variance < 1e-9 else variance
    else:
        total, variance = opening.n_rows, 0.0
    return Findings(grid, bins, total, variance, on_bins(grid, bins))


class _Counter:
    """Raw counts of marginals. Pairs are counted once, bin by bin, if half of ``most`` counts are enough for that."""

    def __init__(self, opening: OpenRelease, grid: AxisGrids, bins: Sequence[Bins], most: int) -> None:
        self.gate, self._source, self._grid, self._bins = opening.gate, opening.source, grid, bins
        pairs: list[tuple[int, ...]] = list(itertools.combinations(range(len(bins)), 2))
        finest = [GroupedMarginal(two, [np.arange(bins[c].size) for c in two]) for two in pairs]
        cells = sum(m.n_cells for m in finest)
        self._pairs = dict(zip(pairs, self._read(finest), strict=True)) if 2 * cells <= most else {}
        self.room = most - (cells if self._pairs else 0)

    def counts(self, marginals: Sequence[GroupedMarginal]) -> list[IntArray]:
        """Return the counts of marginals of bins, in a pass over the rows if they are not known."""
        new = [m for m in marginals if m.columns not in self._pairs]
        read = iter(self._read(new) if new else ())
        return [self._sums(m) if m.columns in self._pairs else next(read) for m in marginals]

    def _sums(self, marginal: GroupedMarginal) -> IntArray:
        cells = (marginal.groups[0][:, None] * marginal.shape[1] + marginal.groups[1]).ravel()
        return np.bincount(cells, self._pairs[marginal.columns], marginal.n_cells).astype(np.int64)

    def _read(self, marginals: Sequence[GroupedMarginal]) -> list[IntArray]:
        every = [[g[self._bins[j].of] for j, g in zip(m.columns, m.groups, strict=True)] for m in marginals]
        on_cells = (GroupedMarginal(m.columns, groups) for m, groups in zip(marginals, every, strict=True))
        return self._source.marginals(MarginalsPass(self._grid, tuple(on_cells)))


def _round(
    counter: _Counter, found: Findings, settings: MarginalSettings, budget: Price, number: int, model: Mixture
) -> list[Measured]:
    """Score all candidates and measure the best."""
    width = len(found.bins)
    looking = budget * (PURE_SCORES if counter.gate.pure else SCORES)
    paying = budget - looking
    sets = _candidates(found, settings, number)
    guess = choice.spread(paying / max(6, math.ceil(1.5 * width)))
    candidates = _coarse(sets, found, settings, guess, counter.room)
    raw = counter.counts([c.marginal for c in candidates])
    rows = max(found.total, 1.0)
    expected = _expected([c.marginal for c in candidates], found, rows, number, model)
    gate = counter.gate.sequential(f"round {number + 1}")
    far = choice.distances(raw, expected)
    plain = 0.0 if _is_fine(found) else CHANCE
    triple = np.array([len(c.marginal.columns) > 2 for c in candidates])
    by_chance = np.where(triple, 1.0, plain) * np.array([choice.chance_distance(e) for e in expected])
    few = max(1, round(min(len(candidates), affordable(paying, rows))))
    if choice.better_one_by_one(len(candidates), few, looking):
        cost = np.array([c.marginal.n_cells * choice.mean_size(paying / few) for c in candidates])
        worth = choice.beyond_pairs(candidates, far) - np.rint(by_chance + choice.LEFT_OF_NOISE * cost).astype(np.int64)
        chosen, prices = choice.pick_one_by_one(gate, candidates, worth, looking, paying, few)
    else:
        # A row moves each of P distances by at most 1: together by P in l1, and by √P in l2.
        noisy, law = gate.numbers("scores", far, looking, Moves(l1=len(far), l2_squared=len(far)))
        looked = zip([c.marginal for c in candidates], noisy, strict=True)
        found.scores = [(_told(m), float(y), law.variance, m.n_cells) for m, y in looked]
        by_chance[triple] += math.sqrt(law.variance) * _highest(int(triple.sum()))
        chosen, prices = choice.pick(candidates, choice.beyond_pairs(candidates, noisy - by_chance), paying)
    measured = []
    for i, price in zip(chosen, prices, strict=True):
        marginal = candidates[i].marginal
        name = " by ".join(found.grid.domain.names[c] for c in marginal.columns)
        made = gate.counts(name, raw[i], price)
        made.values[no_rows(marginal, found.zeros)] = 0
        measured.append(Measured(marginal, made.values, made.variance))
    found.measured += measured
    return measured


def _highest(n: int) -> float:
    """Return what all but `FALSE_TRIPLES` of n scores of pure noise stay below, in standard deviations."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(1 - FALSE_TRIPLES / n) if n > 2 * FALSE_TRIPLES else 0.0


def _told(marginal: GroupedMarginal) -> tuple[int, ...]:
    """Return the columns that a marginal measures; a column with all bins in one group is not measured."""
    every = zip(marginal.columns, marginal.shape, marginal.groups, strict=True)
    return tuple(c for c, size, of in every if size > 1 or len(of) == 1)


def affordable(budget: Price, rows: float) -> float:
    """Return how many pairs of a usual size a budget measures with noise that is tolerated in each."""
    if budget.infinite:
        return math.inf
    pure = isinstance(budget, Epsilon)
    tolerated = PURE_TOLERATED if pure else TOLERATED
    size = tolerated * rows / (choice.LEFT_OF_NOISE * USUAL_CELLS)  # of the noise of a cell
    alone = choice.mean_size(budget)
    return size / alone if pure else (size / alone) ** 2


def _candidates(found: Findings, settings: MarginalSettings, number: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the sets of columns that may be measured in a round, with their weights."""
    width = len(found.grid.domain)
    sets: list[tuple[int, ...]] = list(itertools.combinations(range(width), 2))
    if number > 0:
        if settings.workload == "triples" or _is_fine(found):
            sets += _triples(found, width)
        elif settings.target is not None:
            others = [c for c in range(width) if c != settings.target]
            sets += [tuple(sorted((settings.target, *two))) for two in itertools.combinations(others, 2)]
    return [(s, TARGET_WEIGHT if settings.target in s else 1.0) for s in sets]


def _triples(found: Findings, width: int) -> list[tuple[int, ...]]:
    """Return all triples, or of a wide table those that measured pairs hold together: 200 columns have 1.3 million."""
    if math.comb(width, 3) <= MOST_TRIPLES:
        return list(itertools.combinations(range(width), 3))
    pairs = {m.marginal.columns for m in found.measured if len(m.marginal.columns) == 2}
    near = [sorted({c for pair in pairs if j in pair for c in pair if c != j}) for j in range(width)]
    paths = {tuple(sorted((j, *two))) for j in range(width) for two in itertools.combinations(near[j], 2)}
    held = {s: sum(two in pairs for two in itertools.combinations(s, 2)) for s in paths}
    return sorted(sorted(paths, key=lambda s: (-held[s], s))[:MOST_TRIPLES])


def _is_fine(found: Findings) -> bool:
    """Return whether what was measured so far has so little noise that more can be measured."""
    noise = [m.marginal.n_cells * math.sqrt(m.variance) for m in found.measured]
    return bool(noise) and float(np.mean(noise)) < FINE * max(found.total, 1.0)


def _coarse(
    sets: Sequence[tuple[tuple[int, ...], float]], found: Findings, settings: MarginalSettings, noise: float, most: int
) -> list[choice.Candidate]:
    """Coarsen candidates until all of their counts fit."""
    ordered = [not isinstance(c, Categorical) or c.ordered for c in found.grid.domain]
    while True:
        blur = [noise * (TARGET_COARSER if settings.target in s else 1) for s, _ in sets]
        groups = [choice.coarsen(s, found.known, ordered, size) for (s, _), size in zip(sets, blur, strict=True)]
        made = [choice.Candidate(g, weight) for g, (_, weight) in zip(groups, sets, strict=True)]
        made = [c for c in made if min(c.marginal.shape) > 1] or made[:1]
        if sum(c.marginal.n_cells for c in made) <= most:
            return made
        noise = 1.5 * max(noise, 1.0)


def _expected(
    marginals: Sequence[GroupedMarginal], found: Findings, rows: float, number: int, model: Mixture
) -> list[FloatArray]:
    """Return what the model makes of marginals; at first all columns are independent, but for what cannot occur."""
    if number > 0:
        return [p * rows for p in model.expected(marginals)]
    tied = [sum(any(c in one for one in found.zeros) for c in m.columns) > 1 for m in marginals]
    return [
        model.expected([m])[0] * rows if t else _independent(m, found.known, rows)
        for m, t in zip(marginals, tied, strict=True)
    ]


def _independent(marginal: GroupedMarginal, known: Sequence[FloatArray], rows: float) -> FloatArray:
    made = np.array([rows])
    for c, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        made = np.outer(made, np.bincount(groups, weights=known[c], minlength=size) / rows).ravel()
    return made


def _of_column(j: int, bins: Bins) -> Factor:
    return Factor(GroupedMarginal([j], [np.arange(bins.size)]), bins.counts, np.maximum(bins.variances, 1e-6))


def onto_simplex(y: FloatArray, total: float) -> FloatArray:
    """Return the nearest non-negative numbers with a given sum."""
    down = np.sort(y)[::-1]
    excess = (np.cumsum(down) - total) / np.arange(1, len(y) + 1)
    last = np.flatnonzero(down > excess)[-1]
    return np.asarray(np.maximum(y - excess[last], 0.0), np.float64)
