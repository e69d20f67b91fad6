"""The measurements behind a marginal synopsis, and the noisy scores of what its model was seen to miss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core import Domain, FloatArray, IntArray
from discreet.errors import FormatError, InvalidArgument

#: How much more the variance of three and more columns is than that of their pairs. A first guess, not tuned.
BEYOND = 1.5
_SETS = ("column", "pair", "triple")


@dataclass(frozen=True)
class MeasuredMarginal:
    """Columns that were counted together, by position in the domain.

    ``groups`` has, for each column, the group into which each of its bins falls; ``counts`` are noisy counts, the last
    column fastest, each of noise variance ``variance``.

    Examples
    --------
    >>> MeasuredMarginal((0, 1), ((0, 1), (0, 0)), (52, 47), 4.0).counts  # the bins of the second column are one group
    (52, 47)
    """

    columns: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    counts: tuple[float, ...]
    variance: float


@dataclass(frozen=True, repr=False)
class Marginals:
    """Measured marginals, and noisy scores of what the model missed.

    Attributes
    ----------
    bins : tuple of tuple of int
        For each column, the bin into which each cell of its public grid falls.
    measured : tuple of MeasuredMarginal
        Single columns first, one for each, on their bins; then pairs and triples.
    scores : tuple of (columns, distance, variance, cells)
        Noisy L1 distances, in rows, between the table and the model of the last round.
    names, follows : tuples
        The columns, and those that follow from others (by a function or a rule), with these others.

    Examples
    --------
    >>> single = [MeasuredMarginal((j,), ((0, 1),), (50, 50), 4.0) for j in range(3)]
    >>> found = Marginals(((0, 1),) * 3, (*single, MeasuredMarginal((0, 1), ((0, 1), (0, 1)), (40, 10, 10, 40), 4.0)))
    >>> found.says([0]), found.says([1, 0]), found.says([0, 2])
    ('measured', 'measured', 'held independent')
    """

    bins: tuple[tuple[int, ...], ...]
    measured: tuple[MeasuredMarginal, ...]
    scores: tuple[tuple[tuple[int, ...], float, float, int], ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    follows: tuple[tuple[int, tuple[int, ...]], ...] = field(default=(), compare=False)

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
            fits = len(m.counts) == math.prod(max(g) + 1 for g in m.groups) and all(map(math.isfinite, m.counts))
            if not fits or not 0 <= m.variance < math.inf:
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
        rules, at = domain.facts.rules, domain.position
        made = {
            at(name): tuple(sorted(at(n) for n, _, own in plan.steps if own is not None))
            for name, (_, plan) in rules.replaced.items()
        }
        told = {at(name) for name, (own, _) in rules.replaced.items() if own is None}
        for f in domain.facts.functions:
            made[at(f.column)] = made.get(at(f.source), (at(f.source),))
            told.add(at(f.column))
        if {j for j, b in enumerate(self.bins) if not b} != told:
            raise FormatError("columns without bins must be those that follow from others")
        return replace(self, names=domain.names, follows=tuple(made.items()))

    def says(self, columns: str | Iterable[int | str]) -> str:
        """Return how some columns are known together: measured, modelled (from pairs or a chain of them), independent.

        Columns are given by name, or by position in the domain.
        """
        named = {self._place(c) for c in ([columns] if isinstance(columns, str) else columns)}
        asked = {source for c in named for source in dict(self.follows).get(c, (c,))}
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
        """The columns that each marginal measures; a column with all bins in one group is not measured."""
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
        return BEYOND * sum(self.pair_error(pair, part, total) for pair in itertools.combinations(asked, 2))

    def pair_error(self, pair: tuple[int, ...], part: float, total: float) -> float:
        """Return the variance that the noise of a pair gives to a part of the rows, or its distance if not measured."""
        known = self._noise(pair, part)
        return self._distance(pair, part, total) if known is None else known

    @cached_property
    def _usual(self) -> float:
        """Mean distance from independence of the pairs that were measured, in rows and without their noise.

        Half of all rows if no pair was measured.
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
        far, cells = self.distance(asked, total)
        return (math.pi / 2) * far**2 * max(part * (1 - part), 1 / cells) / cells

    def distance(self, asked: tuple[int, ...], total: float) -> tuple[float, int]:
        """Return the L1 distance of the model from the table, in rows, over how many cells."""
        # Where choices were made one by one there are no scores: what was left out is taken to be like what was chosen.
        # Where there are, a pair without one was too coarse to be looked at, and may be anything.
        unseen = (0.5 * total, 8) if self.scores else (max(0.05 * total, self._usual), 16)
        return self._distances.get(asked, unseen)

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
                    _whole(m["columns"]), tuple(map(_whole, m["groups"])), tuple(m["counts"]), float(m["variance"])
                )
                for m in facts["measured"]
            )
            scores = tuple((_whole(c), float(far), float(v), int(n)) for c, far, v, n in facts["scores"])
            return cls(tuple(_whole(b) for b in facts["bins"]), measured, scores)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the measured marginals are damaged: {error}") from None


def _whole(values: Sequence[Any]) -> tuple[int, ...]:
    if any(int(v) != v for v in values):
        raise ValueError("a whole number is not whole")
    return tuple(int(v) for v in values)
