"""An oracle of your own: a table of whole numbers that says how likely every report is under every value.

The table is all that a device, a collector and an auditor need, and it travels in the parameters. So a task can ask
with it, and clients in any language can check its price and answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import FloatArray, IntArray, option
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.estimates import Estimate
from discreet.local.mechanism import OneNumber
from discreet.local.oracles.base import Oracle
from discreet.local.wire.bits import Rows
from discreet.local.wire.counts import Counts
from discreet.noise import Generator
from discreet.noise.reports import ReportLaw, within
from discreet.noise.stream import enclose_exp

#: The largest sum of a row, which every language can draw below; entries of the table.
_MOST_TOTAL, _MOST_CELLS = 2**48, 2**16
#: Bits of the larger weight of `OwnOracle.odds`.
_SCALE = 32
#: The largest condition number of the equations that are solved: beyond, values are not told apart.
_MOST_CONDITION = 1e9


@dataclass(frozen=True)
class TableLaw(ReportLaw):
    """Reports by a table of weights, one row per value; all rows have the same sum."""

    epsilon: Fraction
    weights: tuple[tuple[int, ...], ...]

    @property
    def coins(self) -> dict[str, Any]:
        """None: a report is drawn by one whole number."""
        return {}

    def ratio(self, heads: Mapping[str, Fraction]) -> Fraction:
        """Return the largest ratio of two weights of one report."""
        return max(Fraction(max(column), min(column)) for column in zip(*self.weights, strict=True))

    def draw(self, codes: IntArray, stream: Any) -> IntArray:
        """Draw a report for every number: a ticket below the sum of the row, found among its running sums."""
        table = np.cumsum(np.array(self.weights, np.int64), axis=1)
        tickets, out = noise.below(int(table[0, -1]), size=len(codes), rng=stream), np.empty(len(codes), np.int64)
        for code in range(len(table)):
            mine = codes == code
            out[mine] = np.searchsorted(table[code], tickets[mine], side="right")
        return out


class OwnOracle(OneNumber, Oracle):
    """The base class of your own frequency oracles.

    Derive from it and write `probabilities`: for each value, how likely every report is, as whole numbers with the same
    sum for all values. Write `support` too, unless report y speaks for value y. Everything else follows: reports, their
    price, unbiased estimates with errors, a place in `plan(..., own=[...])`, tasks, and audits.

    Notes
    -----
    Estimates solve the linear equations between the values and the expected support, so they are unbiased for any table
    whose equations have one solution. ``weights`` and ``supports`` are the table itself; `from_dict` sets them.

    Privacy
    -------
    Neighbours: any two values of one user. Value x sends report y with probability weights[x][y]/sum, exactly. The
    largest ratio of two entries in a column is compared with e^ε in whole numbers, and a table above it is refused.
    Cost: ε per report.

    Examples
    --------
    >>> class Stars(OwnOracle):
    ...     '''A rating; the truth is likelier than a neighbour, and that likelier than the others.'''
    ...
    ...     def probabilities(self, value):
    ...         likely, unlikely = self.odds()
    ...         near = int((likely * unlikely) ** 0.5)
    ...         rest = [near if abs(value - y) == 1 else unlikely for y in range(5)]
    ...         rest[value] = likely
    ...         return [*rest, 2 * (likely + 4 * near) - sum(rest)]  # a last report, "no answer", evens out the sums
    >>> m = Stars(epsilon=2, domain=5)
    >>> found = m.estimate(m.aggregate(m.encode([4] * 3000 + [1] * 1000, rng=1)))
    >>> found.count.round(-2).tolist()
    [-100.0, 1100.0, -100.0, 100.0, 2900.0]
    """

    NAME = "own-oracle"

    weights: Any = option(default=None, help="The table; None asks `probabilities`.")
    supports: Any = option(default=None, help="For every report the values it speaks for; None asks `support`.")

    def __post_init__(self) -> None:
        super().__post_init__()
        d = self.choices.size
        # Errors name what the user wrote: methods of a class, or the table itself.
        table, spoken, names = self.weights, self.supports, ["weights", "supports"]
        if table is None:
            table, names[0] = [_listed(self.probabilities(x)) for x in range(d)], "probabilities"
        self._set(weights=_read_table(names[0], table, d))
        reports = len(self.weights[0])
        if spoken is None:
            spoken, names[1] = [_listed(self.support(y)) for y in range(reports)], "support"
        self._set(supports=_read_support(names[1], spoken, reports, d))
        if not within(self.randomiser.ratio({}), self._exact):
            expected = f"a table whose columns vary by at most e^epsilon, for epsilon {self._exact}"
            got = f"a column that varies by {float(self.randomiser.ratio({})):.12g}, above {math.exp(self._exact):.12g}"
            raise InvalidArgument(names[0], got, expected, "weights from `odds()`")
        # Devices must not pay for reports that tell nothing. With fewer reports than values, some look the same.
        if reports < d or np.linalg.cond(self._expected) > _MOST_CONDITION:
            expected = f"such that reports tell all {d} values apart, together with {names[1]}"
            raise InvalidArgument(names[0], f"{reports} reports that do not", expected)

    def probabilities(self, value: int) -> Sequence[int]:
        """Return the weight of every report, given the number of a value: whole numbers from 1 on."""
        raise InvalidArgument("weights", self.weights, "given, or made by `probabilities` of a class of your own")

    def support(self, report: int) -> Sequence[int]:
        """Return the numbers of the values that a report speaks for; by default the value with its number."""
        return [report] if report < self.choices.size else []

    def odds(self) -> tuple[int, int]:
        """Return two whole numbers whose ratio is just below e^ε: the weights of a likely and an unlikely report."""
        _, above = enclose_exp(self._exact, 24, 92)  # at least e^-ε
        return 1 << _SCALE, math.ceil(above * 2**_SCALE)

    @cached_property
    def randomiser(self) -> TableLaw:
        return TableLaw(self._exact, self.weights)

    @property
    def _counters(self) -> int:
        return len(self.weights[0])

    def _randomise(self, codes: IntArray, stream: Generator) -> Rows:
        return self.layout.pack(report=self.randomiser.draw(codes, stream))

    @cached_property
    def _chances(self) -> FloatArray:
        """The probability of every report (columns), given every value (rows)."""
        table = np.array(self.weights, np.float64)
        return np.asarray(table / table[0].sum())

    @cached_property
    def _spoken(self) -> FloatArray:
        """1 where a report (rows) speaks for a value (columns)."""
        table = np.zeros((self._counters, self.choices.size))
        for report, values in enumerate(self.supports):
            table[report, list(values)] = 1
        return table

    @property
    def _expected(self) -> FloatArray:
        """The expected support of every value (columns) by a report of every value (rows)."""
        return np.asarray(self._chances @ self._spoken)

    @cached_property
    def _worth(self) -> FloatArray:
        """What a report (rows) adds to the estimate of a value (columns): on average 1 for its own, else 0."""
        return np.asarray(self._spoken @ np.linalg.inv(self._expected))

    @cached_property
    def _spread(self) -> FloatArray:
        """The variance of that, given the value of the reporter (rows)."""
        return np.asarray(self._chances @ self._worth**2 - np.eye(self.choices.size))

    def _estimate(self, counts: Counts, candidates: Any) -> Estimate:
        labels, codes = self.choices.candidates(candidates)
        count = counts.counters[self.COUNTER] @ self._worth
        held = np.clip(count, 0, counts.n)
        error = np.sqrt(np.maximum(held * counts.n / max(held.sum(), 1) @ self._spread, 0))
        return Estimate(labels, count[codes], error[codes], counts.n, counts.guarantee)

    def variance(self, n: int, f: Any = 0) -> Any:
        """Return the variance of the estimated count of a value that ``f`` of ``n`` hold, for the worst values."""
        others = np.where(np.eye(self.choices.size, dtype=bool), 0, self._spread).max()
        return f * np.diag(self._spread).max() + (n - f) * others

    def total_variation(self) -> float | None:  # type: ignore[override]
        return None

    def report_law(self, value: Any) -> tuple[Rows, Any]:
        code = self._code(value, self._counters)
        return self.layout.pack(report=np.arange(self._counters)), self._chances[code]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnOracle) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.NAME, self.weights))


def _listed(row: Any) -> Any:
    """Return an array as a list of whole numbers; others as they are."""
    return row.tolist() if isinstance(row, np.ndarray) else row


def _read_table(name: str, table: Any, values: int) -> tuple[tuple[int, ...], ...]:
    if not isinstance(table, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in table):
        raise InvalidType(name, type(table).__name__, "lists of whole numbers, one per value", "[[3, 1], [1, 3]]")
    rows = tuple(tuple(row) for row in table)
    if len(rows) != values or len({len(row) for row in rows}) != 1 or not 2 <= len(rows[0]) <= _MOST_CELLS // values:
        expected = f"{values} rows of one length, from 2 to {_MOST_CELLS // values}"
        lengths = ", ".join(map(str, sorted({len(row) for row in rows})))
        raise InvalidArgument(name, f"{len(rows)} rows of length {lengths}", expected)
    for weight in (weight for row in rows for weight in row):
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            raise InvalidArgument(name, weight, "made of whole numbers from 1 on")
    sums = {sum(row) for row in rows}
    if len(sums) > 1 or max(sums) > _MOST_TOTAL:
        raise InvalidArgument(name, f"rows with sums from {min(sums)} to {max(sums)}", "rows of one sum up to 2**48")
    return rows


def _read_support(name: str, supports: Any, reports: int, values: int) -> tuple[tuple[int, ...], ...]:
    fit = isinstance(supports, (list, tuple)) and all(isinstance(one, (list, tuple)) for one in supports)
    rows = tuple(tuple(one) for one in supports) if fit else ()
    good = all(
        isinstance(v, int) and not isinstance(v, bool) and before < v < values
        for row in rows
        for before, v in zip((-1, *row), row, strict=False)
    )
    if len(rows) != reports or not good:
        raise InvalidArgument(name, "given", f"for each of the {reports} reports, ascending numbers below {values}")
    return rows
