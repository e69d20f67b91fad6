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
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.arrays import FloatArray
from discreet.errors import FormatError, InvalidArgument

if TYPE_CHECKING:
    from discreet.synopses.artifact.evenness import Terms
    from discreet.synopses.artifact.synopsis import Synopsis

#: What noise and distances leave behind in the variance of an answer. First guesses, not tuned; a test looks at the
#: coverage on one generated table.
NOISE, DISTANCE, BEYOND = 1.0, 1.0, 1.5
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

    def __post_init__(self) -> None:
        """Refuse what cannot have been measured: a file may say anything."""
        width, sizes = len(self.bins), [len(set(b)) for b in self.bins]
        if [m.columns for m in self.measured[:width]] != [(j,) for j in range(width)]:
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

    def says(self, columns: str | Iterable[int | str]) -> str:
        """Tell how some columns are known together: measured, modelled (from pairs or a chain of them), independent.

        Columns are given by name, or by their places in the domain.
        """
        asked = {self._place(c) for c in ([columns] if isinstance(columns, str) else columns)}
        if any(asked <= set(m.columns) for m in self.measured):
            return "measured"
        together = {c: {c} for c in asked}
        for m in self.measured:
            for a, b in itertools.combinations(m.columns, 2):
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

    def errors(self, axes: Iterable[int], share: float, total: float, total_variance: float) -> tuple[float, float]:
        """Return the variances of noise and of model of a count of some columns that covers a share of the rows.

        A share p of the rows is taken as p of the cells: what is measured finer than it is asked adds up more noise.
        """
        asked = tuple(sorted(set(axes)))
        p = min(max(share, 0.0), 1.0)
        part = min(p, 1 - p)
        noise = self._noise(asked, part)
        apart = p * p * total_variance
        if noise is not None:
            coarse = self._distance(asked, part) if len(asked) > 1 else 0.0
            return NOISE * noise + apart, min(coarse, NOISE * noise)
        if len(asked) == 2:
            return apart, self._distance(asked, part, total)
        pairs = 0.0
        for pair in itertools.combinations(asked, 2):
            known = self._noise(pair, part)
            pairs += self._distance(pair, part, total) if known is None else NOISE * known
        return apart, BEYOND * pairs

    def _noise(self, asked: tuple[int, ...], part: float) -> float | None:
        """Return the variance of what was measured of these columns, all measurements taken together."""
        precision = 0.0
        for m in self.measured:
            if set(asked) <= set(m.columns):
                cells = len(m.counts)
                others = math.prod(len(set(g)) for c, g in zip(m.columns, m.groups, strict=True) if c not in asked)
                precision += 1 / max(max(others, part * cells) * m.variance, 1e-9)
        return 1 / precision if precision else None

    def _distance(self, asked: tuple[int, ...], part: float, total: float = 0.0) -> float:
        """Return the variance that a distance over all cells gives to a part of them."""
        far, cells = self._distances.get(asked, (0.05 * total, 16))
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


def noise_variance(synopsis: Synopsis, terms: Terms, covered: FloatArray, leaves: Any = slice(None)) -> float:
    """Return the variance that noise gives to a sum of questions which covers these shares of the leaves."""
    if synopsis.measured is None:
        return float(covered**2 @ synopsis.variances[leaves])
    return of_model(synopsis, terms, covered, leaves)[0]


def of_model(synopsis: Synopsis, terms: Terms, covered: FloatArray, leaves: Any = slice(None)) -> tuple[float, float]:
    """Return the variances of noise and of model of a sum of questions to a marginal synopsis."""
    assert synopsis.measured is not None
    axes = {axis for _, query in terms for axis in query}
    share = float(np.abs(covered) @ synopsis.weights[leaves]) / max(synopsis.total, 1.0)
    return synopsis.measured.errors(axes, share, synopsis.total, synopsis.total_variance)


def spread_of_mean(
    synopsis: Synopsis, axis: int, terms: Terms, covered: FloatArray, variance: float
) -> tuple[float, float]:
    """Return what noise and model may do to a sum of values of a column, given the variance of those values.

    Rows that change sides between the lower and the upper half of the values move the sum by two deviations each.
    """
    half = tuple((c, {**query, axis: [(-math.inf, math.inf)]}) for c, query in terms)
    noisy, assumed = of_model(synopsis, half, covered / 2)
    apart = 2 * math.sqrt(max(variance, 0.0))
    return apart * math.sqrt(noisy), apart * math.sqrt(assumed)


def _whole(values: Sequence[Any]) -> tuple[int, ...]:
    if any(int(v) != v for v in values):
        raise ValueError("a whole number is not whole")
    return tuple(int(v) for v in values)
