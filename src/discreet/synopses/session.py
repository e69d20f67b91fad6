"""Questions one by one, against a budget: a session that answers with noise and refuses when the account is empty.

For a few questions that are known beforehand. A synopsis answers any number of questions for one price.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounts import Account, check_ledger
from discreet.core import (
    Categorical,
    Column,
    Domain,
    Exact,
    FloatArray,
    Guarantee,
    IntArray,
    Integer,
    Ledger,
    at_most,
    checks,
    stretches_of,
)
from discreet.core.budget import Epsilon
from discreet.engines.passes import GridMap, WhereMap, WhereSum
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms import LARGEST_SCALE, Gate, Law, Moves, reach
from discreet.noise.stream import generator
from discreet.synopses.opening import OpenRelease, open_release
from discreet.synopses.queries.answers import wide

#: Numbers are added up on a public grid, as fine as its noise can be drawn: of at most so many steps (the second) from
#: 0, or from the middle, to the farther bound. A grid of fewer than the first between the bounds is refused. Quantiles
#: are looked for in 2^10 cells.
_STEPS, _FINEST, _QUANTILE_LEVELS = 2**16, 2**32, 10

Ends = Callable[[float], tuple[Any, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A noisy answer and how sure one can be.

    ``value`` is the answer, or one number per cell of a histogram; ``labels`` its categories, or the lower ends of its
    bins (None last where missing values have a cell); ``guarantee`` what is promised, and what this answer cost.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dc
    >>> session = dc.QuerySession(np.arange(1000.0)[:, None], dc.Ledger(epsilon=1), domain=(0, 1000), random_state=1)
    >>> answer = session.count(epsilon=0.5)
    >>> answer
    Answer(999: 95 % interval 993 to 1005, epsilon 0.5)
    >>> answer.value, answer.interval(0.95)
    (999.0, (993.0, 1005.0))
    """

    value: Any
    guarantee: Guarantee
    labels: list[Any] = field(default_factory=list)
    _ends: Ends | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        level = at_most(self.guarantee.epsilon or 0.0)
        if self.labels:
            cells = [f"{label} {value:.6g}" for label, value in zip(self.labels, self.value, strict=False)]
            more = f", {len(cells) - 4} more" if len(cells) > 4 else ""
            return f"Answer({', '.join(cells[:4])}{more}: epsilon {level})"
        shown = "{:.6g}".format if isinstance(self.value, (int, float)) else str
        ends = "" if self._ends is None else f"95 % interval {' to '.join(map(shown, self.interval()))}, "
        return f"Answer({shown(self.value)}: {ends}epsilon {level})"

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of a confidence interval, of every cell by itself; over the noise, the rows being fixed."""
        confidence = float(checks.probability("level", level))
        assert self._ends is not None
        return self._ends(confidence)


class QuerySession:
    """Ask a table questions one by one, each charged to an account before rows are read.

    Parameters
    ----------
    table : array, data frame, table or path
        What `discreet.engines.open` takes.
    account : Account or Ledger
        What pays. A question that it cannot pay is refused with `BudgetExceeded`, and no row is read.
    domain : Domain, mapping or (low, high)
        The declared columns: bounds, categories, and the unit of privacy.
    random_state : None, int or Generator
        None is secure; anything else marks the guarantees as seeded.

    Privacy
    -------
    Neighbours: add or remove one row, or one person with all their rows where the domain's unit is a `Person`: then at
    most ``rows`` of them are used, and what follows is said of rows at ε/rows. Each question is ε-differentially
    private with its own ε, and questions add up (adaptive composition).

    *count*: a row changes it by 1; discrete Laplace noise of scale 1/ε. *histogram*: a row changes one of the disjoint
    cells by 1; the same noise on each, ε in total. *sum*: values are clamped and rounded to multiples of a public step
    (2^-32 of the bound that is farther from 0, coarser for ε below 0.005; whole numbers are their own grid), so a row
    changes the sum by at most D steps, those of that bound; noise of scale D/ε in steps. *mean*: ε/2 for the number of
    rows with a value, ε/2 for the sum counted from the middle. *quantile*: ε/2 for the exponential mechanism on grid
    lines (`discreet.noise.quantiles_from_counts`), ε/2 for its interval: counts of a binary tree of cells, in each of
    whose levels a row changes one count by 1.

    If the domain has a column of role ``weight``, all answers are weighted: counts and sums by the weights, means and
    quantiles of the weighted rows. A row counts as up to 64 copies (`discreet.engines.persons.weighted`), so all of
    this is said of copies at ε/64, and a count has the noise of the declared maximum weight over ε.

    Which rows a condition leaves out is decided row by row. Whether a question is refused depends on arguments, schema
    and account alone.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.patients()
    >>> account = dc.Ledger(epsilon=1)
    >>> session = QuerySession(people.to_arrow(), account, domain=people.domain, random_state=1)
    >>> answer = session.mean(people.domain.names[0], epsilon=0.5)
    >>> low, high = answer.interval(0.95)
    >>> bool(low < answer.value < high), answer.guarantee.epsilon, float(account.remaining)
    (True, 0.5, 0.5)
    """

    def __init__(self, table: Any, account: Any, *, domain: Any, random_state: Any = None) -> None:
        if not isinstance(account, (Ledger, Account)):
            raise InvalidType("account", type(account).__name__, "an Account or a Ledger", "account=Ledger(epsilon=1)")
        check_ledger(account)
        self.account, self.domain, self._table = account, domain, table
        # One stream for all questions: with one seed, noise of two answers must not be the same.
        self._stream = generator(random_state)

    # ---- questions

    def count(self, where: Mapping[str, Any] | None = None, *, epsilon: float) -> Answer:
        """Count rows for ``epsilon``.

        ``where`` maps columns to ``(low, high)`` or a list of categories, as in `Synopsis.count`.
        """
        opening, rows = self._read("count", None, where, epsilon)
        line = opening.gate.hold("count", opening.gate.left, "sequential")
        found = line.numbers(lambda: int(opening.source.count(rows).counts.sum()))
        step, value = opening.step, opening.step * float(found.values)
        return _answer(opening, "count", value, lambda level: _around(value, step * reach(found.law, level)))

    def histogram(
        self, column: str, bins: int = 10, where: Mapping[str, Any] | None = None, *, epsilon: float
    ) -> Answer:
        """Count rows by category, or by bins of equal width between the declared bounds."""
        opening, cells = self._read("histogram", (column, bins), where, epsilon)
        assert cells.grid is not None
        gate = opening.gate
        found = gate.counts(f"histogram of {column}", lambda: opening.source.count(cells).dense(), gate.left)
        step, noisy = opening.step, opening.step * found.values.astype(np.float64)
        labels = _labels(cells.grid, opening.domain.column(column))
        return _answer(
            opening, "histogram", noisy, lambda level: _around(noisy, step * reach(found.law, level)), labels
        )

    def sum(self, column: str, where: Mapping[str, Any] | None = None, *, epsilon: float) -> Answer:
        """Add up the values of a column of numbers, clamped to its declared bounds."""
        opening, rows = self._read("sum", (column, _STEPS), where, epsilon)
        axis, price = opening.domain.column(column), opening.gate.left
        far, step, _ = _grid(axis, Fraction(0), price.amount)
        base = round((Fraction(axis.low) + Fraction(axis.high)) / 2 / step)  # sums from here stay small
        job = WhereSum(rows, float(base * step), float(step), -far - base, far - base)

        def steps() -> int:
            n_rows, added = opening.source.where_sum(job)
            return base * n_rows + added

        found = opening.gate.numbers(f"sum of {column}", steps, price, Moves(l1=far))
        unit = float(step) * opening.step
        value = float(int(found.values) * step) * opening.step
        return _answer(opening, "sum", value, lambda level: _around(value, reach(found.law, level) * unit))

    def mean(self, column: str, where: Mapping[str, Any] | None = None, *, epsilon: float) -> Answer:
        """Return the mean of a column of numbers, clamped to its declared bounds.

        The interval holds both noises at once: it is the whole range of the column where few rows are counted.
        """
        opening, kept = self._read("mean", (column, _STEPS), where, epsilon)
        axis, gate = opening.domain.column(column), opening.gate
        half = gate.left / 2
        counting = gate.hold(f"rows with {column}", half, "sequential")
        adding = gate.hold(f"sum of {column}", half, "sequential")
        center = (Fraction(axis.low) + Fraction(axis.high)) / 2
        far, fine, rounded = _grid(axis, center, half.amount)
        middle, step = float(center), float(fine)
        n_rows, held = opening.source.where_sum(WhereSum(kept, middle, step, -far, far))
        counted, summed = counting.numbers(n_rows), adding.numbers(held, Moves(l1=far))
        rows, added = int(counted.values), int(summed.values)

        def place(number: float) -> float:
            return float(min(max(middle + number * step, axis.low), axis.high))

        def ends(level: float) -> tuple[float, float]:
            each = (1 + level) / 2  # both hold together with at least this level
            least, most = (added + sign * reach(summed.law, each) for sign in (-1, 1))
            few, many = rows - reach(counted.law, each), rows + reach(counted.law, each)
            if few < 1:
                return float(axis.low), float(axis.high)
            ends = least / (few if least < 0 else many) - rounded, most / (few if most > 0 else many) + rounded
            return place(ends[0]), place(ends[1])

        return _answer(opening, "mean", place(added / max(rows, 1)), ends)

    def quantile(
        self, column: str, q: float = 0.5, where: Mapping[str, Any] | None = None, *, epsilon: float
    ) -> Answer:
        """Return a quantile of a column of numbers, to a 1024th of its range; 0.5 is the median."""
        asked = checks.probability("q", q)
        opening, cells = self._read("quantile", (column, 2**_QUANTILE_LEVELS), where, epsilon)
        assert cells.grid is not None
        axis, parts = opening.domain.column(column), cells.grid.parts[0]
        gate = opening.gate
        half = gate.left.pure() / 2
        gate.check_price(f"quantile of {column}", half)
        counts = opening.source.count(cells)
        kept = counts.cells < parts  # not the cell of missing values
        value = gate.quantile(
            f"quantile of {column}", lambda: (counts.cells[kept], counts.counts[kept]), asked, half,
            low=axis.low, high=axis.high, n_cells=parts,
        )  # fmt: skip
        below, law, n_nodes = _noisy_ranks(gate, f"cells of {column}", counts.dense()[:parts], half)
        lines = axis.low + np.arange(parts + 1) * (axis.high - axis.low) / parts
        excess = below - float(asked) * below[-1]
        # A line's rank is a sum of some nodes, the whole is another: Laplace tails of their sum are no wider than this.
        spread = np.sqrt(law.variance * (n_nodes + float(asked) ** 2 * n_nodes[-1]))

        def ends(level: float) -> tuple[float, float]:
            far = wide(level) * spread
            possible = np.flatnonzero((excess[:-1] <= far[:-1]) & (excess[1:] >= -far[1:]))
            first, last = (possible[0], possible[-1] + 1) if len(possible) else (0, parts)
            return float(min(lines[first], value)), float(max(lines[last], value))

        return _answer(opening, "quantile", value, ends)

    # ---- what they share

    def _read(
        self, job: str, counted: tuple[str, int] | None, where: Any, epsilon: Any
    ) -> tuple[OpenRelease, WhereMap]:
        """Charge the account; return which rows the conditions are true of, and the cells of the column if needed."""
        checks.budget("epsilon", epsilon)
        if where is not None and not isinstance(where, Mapping):
            raise InvalidType("where", type(where).__name__, "conditions by column", 'where={"age": (30, 40)}')
        conditions = dict(where or {})
        number = job in ("sum", "mean", "quantile")

        def select(axes: Domain) -> Domain:
            names = [] if counted is None else [counted[0]]
            names += [name for name in conditions if name not in names]
            for name in names:
                axes.position(name)  # refuses a column that is not declared
            if counted is not None and number and isinstance(axes.column(counted[0]), Categorical):
                raise InvalidArgument("column", counted[0], "a column of numbers", f"histogram({counted[0]!r})")
            return axes.select(names or axes.names[:1])

        told = {"where": json.dumps(conditions, default=str, sort_keys=True)} if conditions else {}
        if counted is not None:
            checks.whole("bins", counted[1], low=1, high=2**20)
            told["column"] = counted[0]
        checked: list[WhereMap] = []

        def check(axes: Domain, per_row: Any) -> None:
            grid = None
            if counted is not None and job not in ("sum", "mean"):
                grid = GridMap(axes.select([counted[0]]), [_parts(axes.column(counted[0]), counted[1])])
            # How far one row moves what is asked, with shares of the budget taken in: noise for it must be possible.
            moves: Fraction = Fraction({"mean": 2 * _STEPS, "quantile": 2 * (_QUANTILE_LEVELS + 1)}.get(job, 1))
            if job == "sum":
                moves = _coarsest(axes.columns[0], Fraction(0))
            if moves > LARGEST_SCALE * Fraction(per_row if per_row < 1 else 1):
                expected = "so large that its noise can be drawn: bounds far from 0 make sums noisy"
                raise InvalidArgument("epsilon", epsilon, expected, "epsilon=1.0, or bounds nearer to 0")
            stretches = ((axes.position(n), tuple(stretches_of(axes.column(n), v))) for n, v in conditions.items())
            checked.append(WhereMap(axes, grid, tuple(stretches)))

        opening = open_release(
            self._table, self.domain, epsilon, self._stream, size_share=None, check=check, select=select,
            ledger=self.account, job=job, asked=told,
        )  # fmt: skip
        return opening, checked[0]


def _around(value: Any, by: float) -> tuple[Any, Any]:
    return value - by, value + by


def _parts(column: Column, wanted: int) -> int:
    """Return the cells of a column: one per category or, of few whole numbers, per number."""
    if isinstance(column, Categorical):
        return len(column.categories)
    return min(wanted, column.n_values) if isinstance(column, Integer) else wanted


def _ends(column: Column) -> tuple[Fraction, Fraction]:
    """Return the least and the largest value."""
    if isinstance(column, Integer):
        return Fraction(column.least), Fraction(column.most)
    return Fraction(column.low), Fraction(column.high)


def _coarsest(column: Column, origin: Fraction) -> Fraction:
    """Return how many steps from the origin the farther bound must be: `_STEPS` between bounds, or whole numbers."""
    low, high = _ends(column)
    far, most = max(abs(low - origin), abs(high - origin)), Fraction(_STEPS)
    if isinstance(column, Integer):
        most = min(most, high - low)
    return far * most / (high - low) if high > low else far


def _grid(column: Column, origin: Fraction, price: Exact) -> tuple[int, Fraction, float]:
    """Return the farther bound in steps from the origin, a step, and how far rounding moves a value, in steps."""
    low, high = _ends(column)
    far = max(abs(low - origin), abs(high - origin))
    finest = _FINEST if isinstance(price, float) else min(_FINEST, math.floor(LARGEST_SCALE * price))
    finest = max(finest, math.ceil(_coarsest(column, origin)), 1)
    whole = Fraction(1, origin.denominator)
    if isinstance(column, Integer) and far / whole <= finest:
        return max(int(far / whole), 1), whole, 0.0
    return finest, far / finest, 0.5


def _labels(grid: GridMap, column: Column) -> list[Any]:
    missing = [None] * (grid.shape[0] - grid.parts[0])
    if isinstance(column, Categorical):
        return [*column.categories, *missing]
    return [*grid.boxes(np.arange(grid.parts[0]))[0][:, 0].tolist(), *missing]


def _noisy_ranks(gate: Gate, label: str, counts: IntArray, price: Epsilon) -> tuple[FloatArray, Law, IntArray]:
    """Return the noisy number of rows below every grid line, the noise of a node, and how many nodes make each up.

    In a binary tree over the cells a row changes one count by 1 in each level: an l1 norm of the number of levels.
    """
    levels = max(math.ceil(math.log2(len(counts))), 0)
    trees = [np.zeros(2**levels, np.int64)]
    trees[0][: len(counts)] = counts
    for _ in range(levels):  # from single cells up to the whole
        trees.append(trees[-1].reshape(-1, 2).sum(axis=1))
    found = gate.numbers(label, np.concatenate(trees), price, Moves(l1=levels + 1))
    lines, start = np.arange(len(counts) + 1), 0
    below, used = np.zeros(len(lines)), np.zeros(len(lines), np.int64)
    for level, nodes in enumerate(trees):
        noisy = found.values[start : start + len(nodes)]
        taken = (lines >> level) & 1 == 1
        below[taken] += noisy[(lines[taken] >> level) - 1]
        used[taken] += 1
        start += len(nodes)
    return below, found.law, used


def _answer(opening: OpenRelease, job: str, value: Any, ends: Ends, labels: list[Any] | None = None) -> Answer:
    """Seal the promise over the answer, and book it."""
    promised = opening.promise({"method": "QuerySession", "question": job})
    sealed = promised.seal(np.asarray(value, np.float64).tobytes())
    return Answer(value, opening.book(sealed), labels or [], ends)
