"""Figures that a session releases per group: how far a row moves them, which noise they get, and how sure they are.

Groups are disjoint, so a row is in one of them, and one price pays for all (parallel composition). Each figure has one
line at the gate. A person with at most r rows pays r times the price of a row, whichever groups these rows are in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.core import (
    AnyArray,
    BoolArray,
    Categorical,
    Code,
    Column,
    FloatArray,
    IntArray,
    Integer,
    even_edges,
    later,
    normal_width,
)
from discreet.core.budget import Price, Rho, root
from discreet.engines.passes import GroupMap, GroupSums
from discreet.mechanisms import COUNT, LARGEST_SCALE, Gate, Law, Moves, law_for, reach
from discreet.synopses.opening import OpenRelease
from discreet.synopses.queries import wide

special = later("scipy.special")

#: Numbers are added up on a public grid, as fine as its noise can be drawn: of at most so many steps from 0 (sums), or
#: from the middle (means), to the farther bound. A grid of fewer than `_STEPS` between the bounds is refused.
_STEPS, _FINEST_SUM, _FINEST_MEAN = 2**16, 2**32, 2**30
#: Quantiles are looked for in so many cells of so many parts, with counts of a binary tree over the cells.
_CELLS, _PARTS = 2**10, 2**4
#: Variance that rounding a weight to whole copies adds, at most, for each copy of rows with at least one: f(1 - f) of
#: 1 + f, with f the fraction.
_ROUNDED = 3 - 2 * math.sqrt(2)
#: Distinct values that are told apart at most.
_MOST_VALUES = 2**20
#: Parts of a range whose ends are tested together for the interval of a quantile.
_COARSE = 16

Ends = Callable[[float], tuple[Any, ...]]


@dataclass(frozen=True)
class Found:
    """Noisy figures, one per group (and quantile): standard errors, intervals, and groups with few rows."""

    value: AnyArray
    std_error: AnyArray
    ends: Ends
    few: BoolArray | None = None

    def taken(self, at: IntArray) -> Found:
        """Return the figures of some groups."""
        few = None if self.few is None else self.few[at]
        return Found(self.value[at], self.std_error[at], lambda level: tuple(e[at] for e in self.ends(level)), few)


@dataclass(frozen=True)
class Rows:
    """The rows that a figure is about: their groups, and the column that is measured."""

    opening: OpenRelease
    groups: GroupMap
    at: int = -1
    apart: bool = False

    @property
    def gate(self) -> Gate:
        return self.opening.gate

    @property
    def column(self) -> Any:
        return self.groups.known.columns[self.at]

    @property
    def rounding(self) -> float:
        """The variance, for each copy, of rounding weights to copies; 0 where weights are whole."""
        weights = self.opening.weights
        return 0.0 if weights is None or weights.step == 1 else _ROUNDED

    def counts(self, edges: FloatArray) -> Any:
        """Return a function that counts rows by group and by cells of the column."""
        cells = replace(self.groups, axes=(*self.groups.axes, (self.at, edges)))
        return lambda: self.opening.source.count(cells)


@dataclass(frozen=True)
class Measure:
    """A figure. ``column`` is what is measured."""

    column: str | None = None
    kind: ClassVar[str] = ""
    #: Whether Gaussian noise can pay for it.
    gaussian: ClassVar[bool] = True
    #: Groups of a purchase at most.
    most_groups: ClassVar[int] = 2**20

    @property
    def label(self) -> str:
        return self.kind if self.column is None else f"{self.kind} of {self.column}"

    def refused(self, column: Column) -> tuple[str, str] | None:
        """Return what a column must be, and what to do instead, if it cannot be measured."""
        if isinstance(column, (Categorical, Code)):
            return "a column of numbers", f"histogram({column.name!r})"
        return None

    def law(self, column: Any, price: Price) -> Law:
        """Return the noise of every number for a price per row."""
        return law_for(price)

    def drawable(self, column: Any, price: Price) -> bool:
        """Return whether its noise can be drawn: a public fact."""
        return _limit(price) >= 1

    def error(self, column: Any, price: Price, rows: float | None) -> float | None:
        """Return the expected standard error for a price per row, with so many rows per group; None if not known."""
        return math.sqrt(self.law(column, price).variance)

    def take(self, rows: Rows, price: Price) -> Found:
        """Release it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(Measure):
    """The number of rows, or of those with a value.

    Privacy
    -------
    A row changes one of the disjoint counts by 1.
    """

    kind: ClassVar[str] = "count"

    def refused(self, column: Column) -> None:
        return None

    def take(self, rows: Rows, price: Price) -> Found:
        groups = rows.groups if rows.at < 0 else replace(rows.groups, present=(rows.at,))
        found = rows.gate.counts(self.label, lambda: rows.opening.source.count(groups).dense(), price, apart=rows.apart)
        step, number = rows.opening.step, found.values.astype(np.float64)
        rounded = step * np.sqrt(rows.rounding * np.maximum(number, 0))
        return _numbers(step * number, found.law, step, rounded, count=True)


@dataclass(frozen=True)
class Distinct(Measure):
    """The number of different values that occur, of declared categories or whole numbers.

    Privacy
    -------
    A row is in one group, where it can add one value or none: the numbers change by at most 1 altogether.
    """

    kind: ClassVar[str] = "distinct values"

    def refused(self, column: Column) -> tuple[str, str] | None:
        if not isinstance(column, (Categorical, Integer)) or len(_values(column)) > _MOST_VALUES:
            return f"a column of categories, or of at most {_MOST_VALUES:,} whole numbers", f"count({column.name!r})"
        return None

    def take(self, rows: Rows, price: Price) -> Found:
        edges = _values(rows.column)
        count, n_groups = rows.counts(edges), rows.groups.n_cells

        def occupied() -> IntArray:
            found = count()
            group, cell = np.divmod(found.cells, found.n_cells // n_groups)
            return np.bincount(group[cell < len(edges) - 1], minlength=n_groups)

        found = rows.gate.numbers(self.label, occupied, price, COUNT, "parallel", apart=rows.apart)
        return _numbers(found.values.astype(np.float64), found.law, 1.0, most=len(edges) - 1.0)


@dataclass(frozen=True)
class Sum(Measure):
    """The sum of a column, clamped to its bounds.

    Privacy
    -------
    Values are rounded to multiples of a public step (2^-32 of the bound that is farther from 0, coarser for small ε;
    whole numbers are their own grid). A row changes the sum of one group by at most D steps, those of that bound.
    """

    kind: ClassVar[str] = "sum"

    def drawable(self, column: Column, price: Price) -> bool:
        return _limit(price) >= _coarsest(column)

    def law(self, column: Column, price: Price) -> Law:
        far = _grid(column, price)[0]
        return law_for(price, Moves(l1=far, l2_squared=far**2))

    def error(self, column: Column, price: Price, rows: float | None) -> float | None:
        return float(_grid(column, price)[1]) * math.sqrt(self.law(column, price).variance)

    def take(self, rows: Rows, price: Price) -> Found:
        far, step = _grid(rows.column, price)
        low, high = _ends(rows.column)
        base = round((low + high) / 2 / step)  # sums from here stay small
        job = GroupSums(rows.groups, rows.at, float(base * step), float(step), -far - base, far - base)

        def steps() -> IntArray:
            number, added = rows.opening.source.group_sums(job)
            return np.asarray(base * number + added)

        moves = Moves(l1=far, l2_squared=far**2)
        found = rows.gate.numbers(self.label, steps, price, moves, "parallel", apart=rows.apart)
        unit = float(step) * rows.opening.step
        value = np.array([float(int(v) * step) for v in found.values]) * rows.opening.step
        # Σ w x² is at most the farther bound times |Σ w x|, unless values have both signs: then it is not known.
        most = float(max(map(abs, (low, high)))) * np.abs(value) if low >= 0 or high <= 0 else np.inf
        rounded = np.sqrt(rows.rounding * rows.opening.step * most) if rows.rounding else 0.0
        return _numbers(value, found.law, unit, rounded)


@dataclass(frozen=True)
class Mean(Measure):
    """The mean of a column over rows that have a value.

    Privacy
    -------
    With t in [-1, 1] for the place of a value between the bounds, a row adds (1, t), in D steps each, to the vector of
    one group: no entry changes by more than D. One joint draw of max-norm noise of scale D/ε pays for number and sum
    together: variance 4 (D/ε)² of each, where two halves of ε would pay for 8 (D/ε)². In ρ, the squared length is at
    most 2 D².
    """

    kind: ClassVar[str] = "mean"
    #: Entries of a group's vector.
    size: ClassVar[int] = 2

    def drawable(self, column: Column, price: Price) -> bool:
        return _limit(price) >= _STEPS

    def law(self, column: Column, price: Price) -> Law:
        return law_for(price, _vector(_centred(column, price), self.size), self.size)

    def error(self, column: Column, price: Price, rows: float | None) -> float | None:
        if rows is None:
            return None
        low, high = _ends(column)
        whole = _centred(column, price).whole
        return float(high - low) / 2 * math.sqrt(2 * self.law(column, price).variance) / whole / max(rows, 1.0)

    def read(self, rows: Rows, price: Price) -> tuple[FloatArray, Law, _Centred]:
        """Release the vectors; return them in units of one row."""
        grid = _centred(rows.column, price)
        square = grid.whole * (self.size > 2)
        job = GroupSums(rows.groups, rows.at, float(grid.middle), float(grid.step), -grid.far, grid.far, square)

        def vectors() -> IntArray:
            found = rows.opening.source.group_sums(job)
            found[0] *= grid.whole
            found[1] *= grid.times
            return np.ascontiguousarray(found.T)

        found = rows.gate.vectors(self.label, vectors, price, _vector(grid, self.size), apart=rows.apart)
        return found.values / grid.whole, found.law, grid

    def take(self, rows: Rows, price: Price) -> Found:
        vectors, law, grid = self.read(rows, price)
        number, added = vectors.T
        low, high = map(float, _ends(rows.column))
        middle, half, noise = float(grid.middle), (high - low) / 2, math.sqrt(law.variance) / grid.whole
        ratio = np.clip(added / np.maximum(number, 1), -1, 1)
        error = np.minimum(half * noise * np.sqrt(1 + ratio**2) / np.maximum(number, 1), half)
        rounded = grid.rounded * float(grid.step)
        copied = half * np.sqrt(rows.rounding * (1 - ratio**2) / np.maximum(number, 1))

        def ends(level: float) -> tuple[FloatArray, FloatArray]:
            """Return the means m that the noise of sum - m number does not contradict (Fieller 1954)."""
            at, far = _far(law, level)
            far = far / grid.whole
            least, made = max(far[-1], 1e-9), []
            inside = _inside(added, number)
            for sign in (-1, 1):
                m = ratio
                for _ in range(60):  # a contraction: far grows by less than the number of rows
                    m = np.clip((inside + sign * np.interp(np.abs(m), at, far)) / np.maximum(number, least), -1, 1)
                m = np.where(number > far[-1], m, sign)
                by = np.hypot(half * (m - ratio), normal_width(level) * copied) + rounded
                made.append(np.clip(middle + half * ratio + sign * by, low, high))
            return made[0], made[1]

        return Found(middle + half * ratio, error, ends, _few(number, noise))


@dataclass(frozen=True)
class Variance(Mean):
    """The variance of a column over rows that have a value: the mean square less the squared mean.

    Privacy
    -------
    As `Mean`, of vectors (1, t, 2t² - 1): max-norm noise of scale D/ε, or in ρ a squared length of at most 3 D².
    """

    kind: ClassVar[str] = "variance"
    size: ClassVar[int] = 3

    def error(self, column: Column, price: Price, rows: float | None) -> float | None:
        # At most, by the derivatives of `take`: |∂| <= (1.5, 2, 0.5) over the number of rows.
        mean = super().error(column, price, rows)
        low, high = _ends(column)
        return None if mean is None else mean / math.sqrt(2) * float(high - low) / 2 * math.sqrt(6.5)

    def take(self, rows: Rows, price: Price) -> Found:
        vectors, law, grid = self.read(rows, price)
        number, added, squares = vectors.T
        low, high = _ends(rows.column)
        most, noise = float((high - low) / 2) ** 2, math.sqrt(law.variance) / grid.whole
        n = np.maximum(number, 1)
        m, q = np.clip(added / n, -1, 1), np.clip(squares / n, -1, 1)
        slopes = np.sqrt((2 * m**2 - q / 2) ** 2 + 4 * m**2 + 0.25)
        error = np.minimum(most * noise * slopes / n, most)
        # A value is off by half a step, its square by two halves, and the stored square is rounded as well.
        rounded = 3 * grid.rounded / grid.far + 0.5 / grid.whole
        found = np.clip((q + 1) / 2 - m**2, 0, 1)
        copied = np.sqrt(rows.rounding * found * (4 - found) / n)  # (t - m)² is from 0 to 4, and its mean is found

        def ends(level: float) -> tuple[FloatArray, FloatArray]:
            far = _together(law, level, 3) / grid.whole
            few, many = np.maximum(number - far, 1), np.maximum(number + far, 1)
            once, twice = _inside(added, number), _inside(squares, number)
            square = [((twice + s * far) / np.where(s * (twice + s * far) > 0, few, many) + 1) / 2 for s in (-1, 1)]
            near = np.maximum(np.abs(once) - far, 0) / many
            wide = (np.abs(once) + far) / few
            least, largest = square[0] - np.minimum(wide, 1) ** 2, np.minimum(square[1], 1) - near**2
            largest = np.maximum(largest, far / many)  # a mean that contradicts the squares is no sign of certainty
            known, by = number - far >= 1, rounded + normal_width(level) * copied
            return (
                np.where(known, most * np.clip(least - by, 0, 1), 0.0),
                np.where(known, most * np.clip(largest + by, 0, 1), most),
            )

        return Found(most * found, error, ends, _few(number, noise))


@dataclass(frozen=True)
class Deviation(Variance):
    """The standard deviation of a column: the root of its variance, which is post-processing."""

    kind: ClassVar[str] = "standard deviation"

    def error(self, column: Column, price: Price, rows: float | None) -> None:
        return None

    def take(self, rows: Rows, price: Price) -> Found:
        found = super().take(rows, price)
        value, (low, high) = np.sqrt(found.value), _ends(rows.column)
        error = np.minimum(found.std_error / np.maximum(2 * value, 1e-300), float(high - low) / 2)
        return Found(value, error, lambda level: tuple(np.sqrt(end) for end in found.ends(level)), found.few)


@dataclass(frozen=True)
class Quantiles(Measure):
    """Quantiles of a column over rows that have a value, to a 1024th of its range; whole numbers stay whole.

    Equal values fill a cell, and a cut inside it is as good as its rank: so the rows of each cell are dealt out evenly
    to its parts, one after the other.

    Privacy
    -------
    A row more in a cell is a row more in one of its parts. ε/2 for the exponential mechanism on the lines of a public
    grid (`Gate.quantiles`), ε/2 for intervals: counts of a binary tree of cells, in each of whose levels a row changes
    one count by 1.
    """

    qs: tuple[Fraction, ...] = (Fraction(1, 2),)
    kind: ClassVar[str] = "quantiles"
    gaussian: ClassVar[bool] = False
    most_groups: ClassVar[int] = 2**14  # memory: a group has all cells, and a tree over them

    @property
    def label(self) -> str:
        return super().label if len(self.qs) > 1 else f"quantile of {self.column}"

    def drawable(self, column: Column, price: Price) -> bool:
        return _limit(price) >= 2 * (_CELLS.bit_length() + 1)

    def law(self, column: Column, price: Price) -> Law:
        levels = math.ceil(math.log2(max(len(even_edges(column, _CELLS)) - 1, 1)))
        return law_for(price / 2, Moves(l1=levels + 1))

    def error(self, column: Column, price: Price, rows: float | None) -> None:
        return None

    def take(self, rows: Rows, price: Price) -> Found:
        column, gate, half = rows.column, rows.gate, price.pure() / 2
        edges = even_edges(column, _CELLS)
        parts, n_groups, whole = len(edges) - 1, rows.groups.n_cells, isinstance(column, Integer)
        gate.check_price(self.label, half)
        dense = rows.counts(edges)().dense().reshape(n_groups, -1)[:, :parts]

        def groups() -> list[tuple[IntArray, IntArray]]:
            # The rows of a cell are dealt out evenly to its parts: a row more is one more in one part.
            dealt = ((own[:, None] // _PARTS + (np.arange(_PARTS) < own[:, None] % _PARTS)).ravel() for own in dense)
            return [(at, counts[at]) for counts in dealt for at in [np.flatnonzero(counts)]]

        lines = gate.quantiles(self.label, groups, self.qs, half, parts * _PARTS)
        below, law, used = noisy_ranks(gate, f"cells of {self.column}", dense, half)
        number, shares = below[:, -1:], np.array([float(q) for q in self.qs])
        first = np.ceil(edges) if whole else edges
        if whole:  # between two numbers, the one on the side where the rank lies
            cell, within = np.divmod(lines, _PARTS)
            lower = (within == 0) & (np.take_along_axis(below, cell, axis=1) >= shares * number)
            value = np.maximum.accumulate(np.clip(first[cell] - lower, column.least, column.most), axis=1)
        else:
            value = column.low + lines / (parts * _PARTS) * (column.high - column.low)

        # The few lines that are sums of the fewest nodes, for the second test below.
        apart = max(2 ** math.ceil(math.log2(max(parts, 1))) // _COARSE, 1)
        coarse = np.arange(apart, parts, apart)

        def ends(level: float) -> tuple[FloatArray, FloatArray]:
            made, missed = [], (1 - level) / 2
            for j, q in enumerate(shares):
                excess = below - q * number
                # A line's rank is a sum of some nodes, the whole is another: tails of their sum are no wider than this.
                copied = rows.rounding * q * (1 - q) * np.maximum(number, 0)
                error = np.sqrt(law.variance * (used + q**2 * used[-1]) + copied)
                far = wide(1 - missed) * error
                possible = (excess[:, :-1] <= far[:, :-1]) & (excess[:, 1:] >= -far[:, 1:])
                none = ~possible.any(axis=1)
                start = np.where(none, 0, possible.argmax(axis=1))
                stop = np.where(none, parts, parts - possible[:, ::-1].argmax(axis=1))
                # Where noise is wide, some far line passes by chance. So every coarse line that is surely too low ends
                # the interval from below, and one that is too high from above: one-sided tests, all of them together.
                if len(coarse):
                    sure = wide(1 - 2 * missed / len(coarse)) * error[:, coarse]
                    low = np.where(excess[:, coarse] < -sure, coarse, 0).max(axis=1)
                    high = np.where(excess[:, coarse] > sure, coarse, parts).min(axis=1)
                    start, stop = np.maximum(start, low), np.minimum(stop, high)
                    crossed = start >= stop  # one of the tests erred
                    start, stop = np.where(crossed, 0, start), np.where(crossed, parts, stop)
                made.append((np.minimum(first[start], value[:, j]), np.maximum(first[stop] - whole, value[:, j])))
            return np.column_stack([low for low, _ in made]), np.column_stack([high for _, high in made])

        least, most = ends(0.6827)
        return Found(value, (most - least) / 2, ends, _few(number[:, 0], math.sqrt(law.variance)))


def noisy_ranks(gate: Gate, label: str, counts: IntArray, price: Price) -> tuple[FloatArray, Law, IntArray]:
    """Return the noisy rows of each group below every line, the noise of a node, and how many nodes make each up.

    In a binary tree over the cells a row changes one count by 1 in each level: an l1 norm of the number of levels.
    """
    parts = counts.shape[1]
    levels = max(math.ceil(math.log2(parts)), 0)
    trees = [np.pad(counts, ((0, 0), (0, 2**levels - parts)))]
    for _ in range(levels):  # from single cells up to the whole
        trees.append(trees[-1].reshape(len(counts), -1, 2).sum(axis=2))
    found = gate.numbers(label, np.concatenate(trees, axis=1), price, Moves(l1=levels + 1), "parallel")
    lines, start = np.arange(parts + 1), 0
    below, used = np.zeros((len(counts), len(lines))), np.zeros(len(lines), np.int64)
    for level, nodes in enumerate(trees):
        noisy = found.values[:, start : start + nodes.shape[1]]
        taken = (lines >> level) & 1 == 1
        below[:, taken] += noisy[:, (lines[taken] >> level) - 1]
        used[taken] += 1
        start += nodes.shape[1]
    return below, found.law, used


# ---- grids of numbers


@dataclass(frozen=True)
class _Centred:
    """A public grid from the middle of the bounds: ``far`` steps to a bound, each ``times`` lattice steps."""

    middle: Fraction
    far: int
    step: Fraction
    times: int = 1
    rounded: float = 0.5  # how far a value is moved, in steps

    @property
    def whole(self) -> int:
        """Lattice steps to a bound."""
        return self.far * self.times


def _centred(column: Column, price: Price) -> _Centred:
    low, high = _ends(column)
    middle, half, finest = (low + high) / 2, (high - low) / 2, max(min(_FINEST_MEAN, _limit(price)), 1)
    one = Fraction(1, middle.denominator)
    if isinstance(column, Integer) and half / one <= finest:
        far = max(int(half / one), 1)
        return _Centred(middle, far, one, finest // far, 0.0)
    return _Centred(middle, finest, half / finest)


def _vector(grid: _Centred, size: int) -> Moves:
    return Moves(linf=grid.whole, l2_squared=size * grid.whole**2)


def _limit(price: Price) -> int:
    """Return the largest sensitivity whose noise can be drawn for a price; in ρ of up to three numbers together."""
    if price.infinite:
        return _FINEST_SUM
    amount = root(2 * Fraction(price.amount)) / 2 if isinstance(price, Rho) else Fraction(price.amount)
    return math.floor(LARGEST_SCALE * amount)


def _ends(column: Column) -> tuple[Fraction, Fraction]:
    """Return the least and the largest value."""
    if isinstance(column, Integer):
        return Fraction(column.least), Fraction(column.most)
    return Fraction(column.low), Fraction(column.high)


def _values(column: Any) -> FloatArray:
    """Return the edges of the single values of a column."""
    return np.arange(column.low, column.high + 0.25)


def _coarsest(column: Column) -> Fraction:
    """Return how many steps from 0 the farther bound must be: `_STEPS` between bounds, or whole numbers."""
    low, high = _ends(column)
    far, most = max(abs(low), abs(high)), Fraction(_STEPS)
    if isinstance(column, Integer):
        most = min(most, high - low)
    return far * most / (high - low) if high > low else far


def _grid(column: Column, price: Price) -> tuple[int, Fraction]:
    """Return the farther bound in steps from 0, and a step."""
    far = max(map(abs, _ends(column)))
    finest = max(min(_FINEST_SUM, _limit(price)), math.ceil(_coarsest(column)), 1)
    if isinstance(column, Integer) and far <= finest:
        return max(int(far), 1), Fraction(1)
    return finest, far / finest


# ---- how sure figures are


def _few(number: FloatArray, noise: float) -> BoolArray:
    """Return the groups whose noisy number of rows is below three times its noise."""
    return np.asarray(number < max(3 * noise, 1))


def _inside(added: FloatArray, number: FloatArray) -> FloatArray:
    """Return noisy sums moved to what as many values between -1 and 1 can add up to.

    Beyond it, no mean agrees with the noise at the level, and an interval would shrink to a bound as if it were sure.
    Moved sums only widen intervals.
    """
    return np.clip(added, -np.abs(number), np.abs(number))


def _numbers(
    value: FloatArray, law: Law, unit: float, rounded: Any = 0.0, *, count: bool = False, most: float = math.inf
) -> Found:
    """Return figures that have independent noise, ``unit`` per whole number, and errors of rounded weights."""
    error = np.full(len(value), unit * math.sqrt(law.variance))
    least = 0.0 if math.isfinite(most) else -math.inf

    def ends(level: float) -> tuple[FloatArray, FloatArray]:
        by = np.hypot(unit * reach(law, level), normal_width(level) * rounded)
        return np.clip(value - by, least, most), np.clip(value + by, least, most)

    return Found(value, error, ends, _few(value, float(error[0])) if count and len(error) else None)


def _far(law: Law, level: float) -> tuple[FloatArray, FloatArray]:
    """Return numbers m in [0, 1], and how far |z - m w| is at the level, for the noises z and w of sum and number."""
    at = np.linspace(0, 1, 9)
    if law.name == "gaussian" or not law.scale:
        return at, normal_width(level) * float(law.scale) * np.sqrt(1 + at**2)
    return at, _square(level) * float(law.scale)


@lru_cache(maxsize=16)
def _square(level: float) -> FloatArray:
    """Return the same for max-norm noise of scale 1.

    In two dimensions it is a gamma(3) radius times a uniform point (u, v) of the square, and |u - m v| is at most x
    with chance x up to 1 - m, then 1 - (1 + m - x)²/(4m).
    """
    radius, m = special.gammaincinv(3, (np.arange(4000) + 0.5) / 4000), np.linspace(0, 1, 9)[:, None]
    low, high = np.zeros(9), np.full(9, 2 * radius[-1])
    for _ in range(40):
        middle = (low + high) / 2
        x = middle[:, None] / radius
        beyond = np.clip(1 + m - x, 0, None) ** 2 / np.maximum(4 * m, 1e-300)
        held = np.where(x <= 1 - m, x, 1 - np.minimum(beyond, 1)).mean(axis=1)
        low, high = np.where(held < level, middle, low), np.where(held < level, high, middle)
    return high


def _together(law: Law, level: float, size: int) -> float:
    """Return how far all entries of a vector are at most, at the level."""
    if law.name == "gaussian":
        return normal_width(1 - (1 - level) / size) * float(law.scale)
    return float(special.gammaincinv(size, level)) * float(law.scale)  # the largest entry has a gamma law
