"""What a marginal synopsis measured, and how far its answers may be off.

The leaves of such a synopsis are rows of a model. How well the model knows a question depends on the columns it is
about. Of columns that were measured together the noise is known. Of columns that were not, a noisy score tells how far
the table was from the model when it was looked at. Of three and more columns that were never measured together only
their pairs are known, and the rest is what the model assumes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import Domain, FloatArray, IntArray, Intervals
from discreet.engines.passes import AxisGrids
from discreet.errors import FormatError, InvalidArgument
from discreet.synopses.marginals.bins import public_grid

if TYPE_CHECKING:
    from discreet.synopses.artifact.evenness import Query, Terms
    from discreet.synopses.artifact.synopsis import Synopsis

#: What noise and distances leave behind in the variance of an answer. The first three are first guesses, not tuned.
#: SPLIT (groups that a question cuts) and what is taken of unseen pairs (`Marginals._distance`) were set while looking
#: at the coverage on generated tables, that of the test among them: the test guards them and does not prove them.
NOISE, DISTANCE, BEYOND, SPLIT = 1.0, 1.0, 1.5, 1.0
_SETS = ("column", "pair", "triple")


@dataclass(frozen=True)
class MeasuredMarginal:
    """Columns that were counted together.

    Attributes
    ----------
    columns : tuple of int
        Their places in the domain.
    groups : tuple of tuple of int
        For each column, the group into which each of its bins falls.
    counts : tuple of int
        Noisy counts, the last column fastest.
    variance : float
        Noise variance of each.

    Examples
    --------
    >>> MeasuredMarginal((0, 1), ((0, 1), (0, 0)), (52, 47), 4.0).counts  # the bins of the second column are one group
    (52, 47)
    """

    columns: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    variance: float


@dataclass(frozen=True, repr=False)
class Marginals:
    """What was measured, and what the model was seen to miss.

    Attributes
    ----------
    bins : tuple of tuple of int
        For each column, the bin into which each cell of its public grid falls.
    measured : tuple of MeasuredMarginal
        Single columns first, one for each, on their bins; then pairs and triples.
    scores : tuple of (columns, distance, variance, cells)
        Noisy L1 distances, in rows, between the table and the model of the last round.
    names : tuple of str
        The columns; known where a synopsis holds this.
    follows : tuple of (int, int)
        Columns that are functions of others, with those: they have no bins, and what is known of them is what is known
        of the others.

    Examples
    --------
    >>> single = [MeasuredMarginal((j,), ((0, 1),), (50, 50), 4.0) for j in range(3)]
    >>> found = Marginals(((0, 1),) * 3, (*single, MeasuredMarginal((0, 1), ((0, 1), (0, 1)), (40, 10, 10, 40), 4.0)))
    >>> found.says([0]), found.says([1, 0]), found.says([0, 2])
    ('measured', 'measured', 'held independent')
    >>> found
    <Marginals: 3 columns, 1 pair>
    """

    bins: tuple[tuple[int, ...], ...]
    measured: tuple[MeasuredMarginal, ...]
    scores: tuple[tuple[tuple[int, ...], float, float, int], ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    follows: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Refuse what cannot have been measured: a file may say anything."""
        width, sizes = len(self.bins), [len(set(b)) for b in self.bins]
        alone = [(j,) for j, b in enumerate(self.bins) if b]
        if [m.columns for m in self.measured[: len(alone)]] != alone:
            raise FormatError("single columns must come first, one for each")
        if any(sorted(set(b)) != list(range(n)) for b, n in zip(self.bins, sizes, strict=True)):
            raise FormatError("bins must be numbered from 0")
        for m in self.measured:
            known = all(0 <= c < width for c in m.columns) and list(m.columns) == sorted(set(m.columns))
            if not m.columns or not known or [len(g) for g in m.groups] != [sizes[c] for c in m.columns]:
                raise FormatError("a marginal has columns or groups that do not fit the bins")
            if len(m.counts) != math.prod(max(g) + 1 for g in m.groups) or not 0 <= m.variance < math.inf:
                raise FormatError("the counts of a marginal do not fit its groups, or their variance is none")
        for columns, far, variance, cells in self.scores:
            numbers = math.isfinite(far) and 0 <= variance < math.inf and cells >= 1
            if not numbers or not set(columns) <= set(range(width)):
                raise FormatError("a score is damaged")

    def __repr__(self) -> str:
        sizes = [len(m.columns) for m in self.measured]
        told = [
            f"{sizes.count(n)} {name}{'s' * (sizes.count(n) != 1)}" for n, name in enumerate(_SETS, 1) if n in sizes
        ]
        return f"<Marginals: {', '.join(told)}>"

    def about(self, domain: Domain) -> Marginals:
        """Return the same, told which columns it is about."""
        pairs = ((domain.position(f.column), domain.position(f.source)) for f in domain.facts.functions)
        told = replace(self, names=domain.names, follows=tuple(pairs))
        if [j for j, b in enumerate(self.bins) if not b] != sorted(j for j, _ in told.follows):
            raise FormatError("columns without bins must be those that are functions of others")
        return told

    def says(self, columns: str | Iterable[int | str]) -> str:
        """Tell how some columns are known together: measured, modelled (from pairs or a chain of them), independent.

        Columns are given by name, or by their places in the domain.
        """
        named = {self._place(c) for c in ([columns] if isinstance(columns, str) else columns)}
        asked = {dict(self.follows).get(c, c) for c in named}
        if any(asked <= told for told in self.told):
            return "measured"
        together = {c: {c} for c in asked}
        for told in self.told:
            for a, b in itertools.combinations(told, 2):
                self._join(together, a, b)
        groups = {id(together[c]) for c in asked}
        return "modelled" if len(groups) == 1 else "held independent"

    def _place(self, column: int | str) -> int:
        if isinstance(column, str) and column in self.names:
            return self.names.index(column)
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(self.bins):
            return int(column)
        if not self.names:
            raise InvalidArgument("columns", column, f"places from 0 to {len(self.bins) - 1}", "columns=[0]")
        near = get_close_matches(str(column), self.names, 1, 0.5)
        hint = f" (did you mean {near[0]!r}?)" if near else f" ({', '.join(map(repr, self.names[:20]))})"
        raise InvalidArgument(
            "columns", column, f"columns of the synopsis{hint}", f"says([{(near or self.names)[0]!r}])"
        )

    @cached_property
    def told(self) -> tuple[frozenset[int], ...]:
        """The columns that each marginal tells of: one whose bins are all in one group was not looked at."""
        pairs = (zip(m.columns, m.groups, strict=True) for m in self.measured)
        return tuple(frozenset(c for c, g in pair if max(g) > 0 or len(g) == 1) for pair in pairs)

    @cached_property
    def arrays(self) -> tuple[tuple[tuple[IntArray, ...], FloatArray], ...]:
        """Groups and counts of each marginal, to reckon with."""
        return tuple((tuple(map(np.array, m.groups)), np.array(m.counts, np.float64)) for m in self.measured)

    @staticmethod
    def _join(together: dict[int, set[int]], a: int, b: int) -> None:
        one, two = together.setdefault(a, {a}), together.setdefault(b, {b})
        if one is not two:
            one |= two
            for c in two:
                together[c] = one

    @cached_property
    def _distances(self) -> Mapping[tuple[int, ...], tuple[float, int]]:
        """Distances without the part that the scores' own noise has, by columns."""
        return {columns: (max(far, 0.3 * math.sqrt(v)), cells) for columns, far, v, cells in self.scores}

    def errors(self, asked: tuple[int, ...], part: float, total: float) -> float:
        """Return the variance that what was not measured together gives to a count of a part of the rows."""
        if len(asked) == 2:
            return self._distance(asked, part, total)
        pairs = 0.0
        for pair in itertools.combinations(asked, 2):
            known = self._noise(pair, part)
            pairs += self._distance(pair, part, total) if known is None else NOISE * known
        return BEYOND * pairs

    @cached_property
    def _usual(self) -> float:
        """Mean distance from independence of the pairs that were measured, in rows and without their noise.

        Half of all rows where no pair was: nobody looked.
        """
        found = []
        for m, told in zip(self.measured, self.told, strict=True):
            if len(m.columns) == len(told) == 2:
                y = np.reshape(m.counts, [max(g) + 1 for g in m.groups]).astype(np.float64)
                even = np.outer(y.sum(axis=1), y.sum(axis=0)) / max(float(y.sum()), 1.0)
                found.append(np.abs(y - even).sum() - y.size * math.sqrt(m.variance * 2 / math.pi))
        return max(float(np.mean(found)), 0.0) if found else 0.5 * max(float(np.sum(self.measured[0].counts)), 0.0)

    def _noise(self, asked: tuple[int, ...], part: float) -> float | None:
        """Return the variance of what was measured of these columns, all measurements taken together."""
        precision = 0.0
        for m, told in zip(self.measured, self.told, strict=True):
            if told.issuperset(asked):
                cells = len(m.counts)
                others = math.prod(len(set(g)) for c, g in zip(m.columns, m.groups, strict=True) if c not in asked)
                precision += 1 / max(max(others, part * cells) * m.variance, 1e-9)
        return 1 / precision if precision else None

    def _distance(self, asked: tuple[int, ...], part: float, total: float) -> float:
        """Return the variance that a distance over all cells gives to a part of them."""
        # Where choices were made one by one there are no scores: what was left out is taken to be like what was chosen.
        # Where there are, a pair without one was too coarse to be looked at, and may be anything.
        unseen = (0.5 * total, 8) if self.scores else (max(0.05 * total, self._usual), 16)
        far, cells = self._distances.get(asked, unseen)
        return DISTANCE * (math.pi / 2) * far**2 * max(part * (1 - part), 1 / cells) / cells

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "bins": [list(b) for b in self.bins],
            "measured": [
                {
                    "columns": list(m.columns),
                    "groups": [list(g) for g in m.groups],
                    "counts": list(m.counts),
                    "variance": m.variance,
                }
                for m in self.measured
            ],
            "scores": [[list(columns), far, variance, cells] for columns, far, variance, cells in self.scores],
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Marginals:
        """Read what `to_dict` wrote."""
        try:
            measured = tuple(
                MeasuredMarginal(
                    _whole(m["columns"]), tuple(map(_whole, m["groups"])), _whole(m["counts"]), float(m["variance"])
                )
                for m in facts["measured"]
            )
            scores = tuple((_whole(c), float(far), float(v), int(n)) for c, far, v, n in facts["scores"])
            return cls(tuple(_whole(b) for b in facts["bins"]), measured, scores)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the measured marginals are damaged: {error}") from None


def through(domain: Domain, query: Query) -> Query:
    """Return the same question about the columns that others are functions of, instead of those."""
    from discreet.synopses.artifact.evenness import both  # which asks this file

    for function in domain.facts.functions:
        at = domain.position(function.column)
        if at in query:
            rest = {axis: stretches for axis, stretches in query.items() if axis != at}
            before = function.before(domain.columns[at], query[at])
            query = both(rest, {domain.position(function.source): before})
    return query


def impossible(synopsis: Synopsis, query: Query) -> bool:
    """Tell whether a question is about nothing but what is declared not to occur, of a synopsis that keeps to that."""
    zeros = _zeros(synopsis) if synopsis.measured is not None and synopsis.domain.facts.impossible else ()
    asked = through(synopsis.domain, query) if zeros else query
    return any(all(axis in asked and _within(asked[axis], on) for axis, on in one.items()) for one in zeros)


@lru_cache(maxsize=64)
def _zeros(synopsis: Synopsis) -> list[dict[int, tuple[tuple[float, float], ...]]]:
    domain = synopsis.domain
    return [{domain.position(n): on for n, on in one.stretches} for one in domain.without_functions().facts.impossible]


def _within(asked: Intervals, stretches: Sequence[tuple[float, float]]) -> bool:
    return all(sum(max(0.0, min(b, d) - max(a, c)) for c, d in stretches) >= b - a for a, b in asked)


def of_model(
    synopsis: Synopsis, terms: Terms, covered: FloatArray, leaves: Any = slice(None), everything: float = 0.0
) -> tuple[float, float]:
    """Return the variances of noise and of model of a sum of questions to a marginal synopsis.

    The questions cover these shares of the leaves; ``everything`` of all rows comes on top, with its noise.

    What was measured of the columns answers the question too, with noise that is known. The model should not be further
    from that answer than the noise: by as much as it is, it errs. Of columns that were not measured together every
    single one is held against its own counts in this way, and what they have to do with each other is guessed.
    """
    known = synopsis.measured
    assert known is not None
    terms = tuple((c, through(synopsis.domain, query)) for c, query in terms)
    asked = tuple(sorted({axis for _, query in terms for axis in query}))
    total = max(synopsis.total, 1.0)
    share = min(float(np.abs(covered) @ synopsis.weights[leaves]) / total, 1.0)
    part = min(share, 1 - share)
    if known.says(asked) == "measured":
        counted, noise, cut = _counted(synopsis, terms, asked)
        off = (float(covered @ synopsis.weights[leaves]) - counted) ** 2
        # One distance tells little of how far the model is: even where noise explains it, half may be the model's.
        return NOISE * noise, max(off - noise, off / 2, cut)
    if everything:
        noisy = of_model(synopsis, terms, covered + everything, leaves)[0]
        return noisy, of_model(synopsis, terms, covered, leaves)[1]
    noise, beyond = share**2 * synopsis.total_variance, known.errors(asked, part, total)
    alone = {j: [((1.0, {j: query[j]}),) for _, query in terms if j in query] for j in asked}
    shares = {j: [_share(synopsis, j, t[0][1][j]) for t in every] for j, every in alone.items()}
    for j, every in alone.items():
        others = math.prod(max(shares[i]) for i in asked if i != j)
        found = []
        for term, own in zip(every, shares[j], strict=True):
            counted, spread, cut = _counted(synopsis, term, (j,))
            reach = min(max(share / max(own, 1 / total), others), 1.0) ** 2
            found.append((reach * spread, reach * max((own * total - counted) ** 2 - spread, cut)))
        noise += max(x for x, _ in found)
        beyond += max(x for _, x in found)
    return noise, beyond


def _counted(synopsis: Synopsis, terms: Terms, asked: Sequence[int]) -> tuple[float, float, float]:
    """Answer a sum of questions by the noisy counts alone, all that tell of these columns together.

    Also return the variances of their noise and of how rows lie in groups that the question cuts: as the model has them
    or evenly, whatever differs more.
    """
    known = synopsis.measured
    assert known is not None
    found = []
    held = [{c: _held(synopsis, c, intervals) for c, intervals in query.items()} for _, query in terms]
    for m, told, (groups, counts) in zip(known.measured, known.told, known.arrays, strict=True):
        if not told.issuperset(asked):
            continue
        weights = np.zeros((2, len(counts)))
        for (factor, _), inside in zip(terms, held, strict=True):
            made = np.full((2, 1), factor)
            for c, of in zip(m.columns, groups, strict=True):
                side = _sides(of, *inside[c]) if c in inside else np.ones((2, int(of.max()) + 1))
                made = (made[:, :, np.newaxis] * side[:, np.newaxis]).reshape(2, -1)
            weights += made
        # Of a single column the mean variance is kept; each of its bins has it by the number of its cells.
        cells = np.bincount(_axis(synopsis, m.columns[0])[3]) if len(m.columns) == 1 else np.ones(1)
        size = np.abs(weights)
        noise = size.max(axis=0) ** 2 * (cells / cells.mean()) * m.variance
        part = np.minimum(size, np.abs(1 - size)).max(axis=0)
        cut = (SPLIT * part * np.maximum(counts, math.sqrt(m.variance))) ** 2
        found.append((float(weights[0] @ counts), max(float(noise.sum()), 1e-9), float(cut.sum())))
    answers, noises, cuts = np.array(found).T
    trust = 1 / (noises + cuts)
    trust /= trust.sum()
    # Noises are independent; how rows lie inside of groups is the same guess for all of them, and does not average out.
    return float(trust @ answers), float(trust**2 @ noises), float((trust @ np.sqrt(cuts)) ** 2)


def _held(synopsis: Synopsis, axis: int, intervals: Any) -> tuple[FloatArray, FloatArray]:
    """Return what some intervals hold of each bin of a column, and all of it: the model's rows, and cells."""
    from discreet.synopses.artifact.evenness import axis_share  # which asks this file

    lower, upper, rows, bins = _axis(synopsis, axis)
    inside = axis_share(lower, upper, intervals, synopsis.domain.columns[axis])
    every = [np.bincount(bins, weights=w) for w in (rows * inside, inside, rows, np.ones(len(rows)))]
    return np.array(every[:2]), np.array(every[2:])


def _sides(groups: IntArray, inside: FloatArray, whole: FloatArray) -> FloatArray:
    """Return which part of each group is held: as the model's rows lie, and evenly."""
    pairs = zip(inside, whole, strict=True)
    return np.array([np.bincount(groups, weights=a) / np.bincount(groups, weights=b) for a, b in pairs])


def _share(synopsis: Synopsis, axis: int, intervals: Any) -> float:
    """Return the share of the model's rows that some intervals of a column hold."""
    from discreet.synopses.artifact.evenness import axis_share

    lower, upper, rows, _ = _axis(synopsis, axis)
    return float(rows @ axis_share(lower, upper, intervals, synopsis.domain.columns[axis]) / rows.sum())


@lru_cache(maxsize=8)
def _grids(synopsis: Synopsis) -> AxisGrids:
    return public_grid(synopsis.domain)


@lru_cache(maxsize=1024)
def _axis(synopsis: Synopsis, axis: int) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return the cells of the public grid of a column, how many of the model's rows lie in each, and their bins."""
    grid = _grids(synopsis)
    assert synopsis.measured is not None
    if grid.sizes[axis] != len(synopsis.measured.bins[axis]):
        raise FormatError("the bins of a marginal synopsis do not fit its columns")
    lower, upper = grid.boxes(axis)
    # Missing values have no place; their cell is the last.
    places, rows = (np.nan_to_num((a + b) / 2, nan=np.inf) for a, b in ((lower, upper), _ends(synopsis, axis)))
    at = np.minimum(np.searchsorted(places, rows), len(places) - 1)
    rows = np.bincount(at, minlength=len(places)).astype(np.float64) + 1e-3
    return lower, upper, rows, np.array(synopsis.measured.bins[axis])


def _ends(synopsis: Synopsis, axis: int) -> tuple[FloatArray, FloatArray]:
    return synopsis.lower[:, axis], synopsis.upper[:, axis]


def spread_of_mean(
    synopsis: Synopsis, axis: int, terms: Terms, covered: FloatArray, variance: float
) -> tuple[float, float]:
    """Return what noise and model may do to a sum of values of a column, given the variance of those values.

    Rows that change sides between the lower and the upper half of the values move the sum by two deviations each.
    """
    half = tuple((c / 2, {**query, axis: [(-math.inf, math.inf)]}) for c, query in terms)
    noisy, assumed = of_model(synopsis, half, covered / 2)
    apart = 2 * math.sqrt(max(variance, 0.0))
    return apart * math.sqrt(noisy), apart * math.sqrt(assumed)


def _whole(values: Sequence[Any]) -> tuple[int, ...]:
    if any(int(v) != v for v in values):
        raise ValueError("a whole number is not whole")
    return tuple(int(v) for v in values)
