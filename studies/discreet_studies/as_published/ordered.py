"""Microaggregation with differential privacy: means of runs of k records along one public order, and Laplace noise.

After Soria-Comas, Domingo-Ferrer, Sánchez and Martínez (2014). MDAV does not qualify: one other record can change any
number of its groups altogether. Along an order that does not depend on the data it changes one record of each at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import (
    Categorical,
    Column,
    Date,
    Declared,
    Domain,
    Estimator,
    FloatArray,
    IntArray,
    Integer,
    Time,
    checks,
    date_array,
    option,
    time_array,
)
from discreet.core import options as shared
from discreet.core.budget import Epsilon
from discreet.engines import write_table
from discreet.engines.passes import CellCounts, GridMap
from discreet.errors import InvalidArgument
from discreet.mechanisms import Moves, law_for
from discreet.synopses import check_release, note_columns, open_for

#: A column is read in at most 2^16 steps, and all columns together in fewer than 2^60 cells.
_STEP_BITS, _CELL_BITS = 16, 60


class OrderedMicroaggregation(Declared, Estimator):
    """Publish a table of noisy means: records in a public order, in runs of k, each run replaced by its mean.

    For a few columns of numbers and a public number of rows, where the result should look like the table. For counts,
    clusters and many columns a synopsis or `MarginalSynopsis` is more accurate.

    Attributes
    ----------
    means_ : ndarray of shape (n_rows // k, columns)
        The noisy means in the order of the records, inside the declared bounds; those of the first column made to rise.
    sizes_ : ndarray of int
        Rows of each mean, which are public.
    scales_ : dict
        Scale of the noise of a mean of k records, by column and in its units.
    table_ : pyarrow.Table
        ``n_rows`` rows, every one the mean of its run.
    guarantee_ : Guarantee
        What is promised.

    Privacy
    -------
    Unit: one row, or one person where the domain says so (then all of this is said of rows at ε over the rows that are
    used). Neighbours: add or remove one row; one row replaced by another too.

    Every record is a tuple of m whole numbers, the steps 0..G_j of public grids. Tuples are compared number by number,
    which is a public total order: records that tie are equal in all that is published, so it does not matter which of
    them comes first. The list is brought to n records: filled up with the largest tuple, or cut at its end.

    *One record.* Let s_1 <= .. <= s_n and t_1 <= .. <= t_n be the lists of neighbours. A row that is added takes the
    place of a filled-up record, or pushes the last one out; one that is removed the other way round; so in all cases
    one record a of s is replaced by some b in t. Let a <= b, at places u <= v (else s and t change their parts). Then
    t_p = s_p before u and after v, t_p = s_{p+1} for u <= p < v, and t_v = b. The runs are public places, g = ⌊n/k⌋
    of them. Of a run that meets [u, v] the first record of s there is gone and one has come at its end, the others
    stay: its sum of column j changes by at most G_j. So all sums of column j change by at most g G_j together.

    *The first column* rises along the order, so that every term of the sum over p of (t_p - s_p) is at least 0 in it.
    They add up to b_1 - a_1: all its sums change by at most G_1 together.

    *Noise.* Integer sums of column j get discrete Laplace noise of scale D_j/ε_j with D_1 = G_1 and D_j = g G_j: the
    loss is at most Σ_j ε_j = ε. The means then have noise of scale range/(k ε_1) and about n range/(k² ε_j), so with
    several columns a k below √n would be worse than noise of scale range/ε on every record, and is refused. Budgets
    are in proportion to D_j^(2/3) for equal ranges, which makes the sum of variances least. Means, bounds and the
    rising order are taken from noisy sums and public sizes. Price: ε.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).random((10_000, 2))
    >>> model = OrderedMicroaggregation(500, 1.0, (0, 1), n_rows=10_000, random_state=1).fit(rows)
    >>> model.means_.shape, model.guarantee_.epsilon, model.table_.num_rows
    ((20, 2), 1.0, 10000)
    >>> bool(np.abs(model.means_[:, 0] - (np.arange(20) + 0.5) / 20).max() < 0.1)
    True
    """

    k: int = option(
        default=None,
        takes="whole",
        low=2,
        example=100,
        required=True,
        help="Records per mean; the last mean has up to 2k - 1.",
        details="With several columns at least the root of ``n_rows``, or noise on single records would be smaller.",
    )
    epsilon: float = shared.EPSILON
    domain: Any = shared.DOMAIN
    n_rows: int | None = option(
        default=None,
        high=2**31,
        low=2,
        example=10_000,
        required=True,
        help="The public number of rows.",
        details=(
            "A wrong one costs accuracy, never privacy: missing rows count as rows at all upper bounds, and the last "
            "of too many rows are left out."
        ),
    )
    columns: Sequence[str] | None = option(
        default=None,
        example=["age", "income"],
        help="The columns to publish; records are ordered by the first, then by the second, and so on.",
    )
    ledger: Any = shared.LEDGER
    random_state: Any = shared.RANDOM_STATE

    #: The number of rows is public, and nothing is spent on it.
    size_share = None

    def fit(self, X: Any, y: Any = None) -> OrderedMicroaggregation:
        """Release the means of a table. ``X`` is the table: what `discreet.engines.open` takes; ``y`` is ignored."""
        from sklearn.isotonic import isotonic_regression  # takes long to load

        self._public()
        opening = open_for(self, X, check=self._read, select=self._select)
        k, n = self._public()
        domain, gate = opening.domain, opening.gate
        grid = public_steps(domain)
        moves, shares = sensitivities(grid, n // k)
        noisy, scales = [], {}
        prices = [gate.left.pure() * share for share in shares]
        lines = [gate.hold(f"sums of {c}", price, "sequential") for c, price in zip(domain.names, prices, strict=True)]
        sums = run_sums(opening.source.count(grid), grid, k, n)
        sizes = run_sizes(k, n)
        for j, (column, move, line) in enumerate(zip(domain, moves, lines, strict=True)):
            found = line.numbers(sums[j], Moves(l1=move))
            mean = found.values / sizes
            mean = isotonic_regression(mean, sample_weight=sizes.astype(float)) if j == 0 else mean
            noisy.append(_values(grid, j, mean))
            width = (column.high - column.low) / grid.parts[j]
            scales[column.name] = float(found.law.scale) * width / k
        self.means_: FloatArray = np.stack(noisy, axis=1)
        self.sizes_: IntArray = sizes
        self.scales_ = scales
        facts = {"method": "OrderedMicroaggregation", "k": k, "n_rows": n, "means": len(sizes)}
        facts |= {"order": list(domain.names), "noise_of_a_mean": scales}
        if gate.person is None:
            facts["also_neighbours"] = "one row replaced by another, at the same epsilon"
        self.table_ = _table(domain, np.repeat(self.means_, sizes, axis=0))
        promise = opening.promise(facts)
        promise = promise.seal([self.means_.astype("<f8").tobytes(), sizes.astype("<i8").tobytes()])
        self.guarantee_ = opening.book(promise)
        note_columns(self, X)
        return self

    def check(self) -> None:
        """Refuse what no table could be released with: what `fit` refuses before it reads a row."""
        self._public()
        check_release(self, self._read, self._select)

    def save(self, path: str | Path) -> None:
        """Write the rows as CSV or Parquet, with the promise next to them."""
        write_table(path, self.table_, self.guarantee_)

    def _public(self) -> tuple[int, int]:
        k, n_rows = (self.read_option(name) for name in ("k", "n_rows"))
        for name, value in (("k", k), ("n_rows", n_rows)):
            if value is None:
                raise self.declared[name].wrong(None, wrong_type=True)
        return k, checks.whole("n_rows", n_rows, low=k)

    def _select(self, axes: Domain) -> Domain:
        chosen = axes if self.columns is None else axes.select(list(self.columns))
        for column in chosen:
            if isinstance(column, Categorical):
                raise InvalidArgument("columns", column.name, "numbers: categories have no mean", "MarginalSynopsis")
            if column.missing == "own":
                expected = 'declared with missing="drop": a mean has no place for missing values'
                raise InvalidArgument("domain", column.name, expected, 'missing="drop"')
        return chosen

    def _read(self, domain: Domain, per_row: Any = None) -> None:
        k, n = self._public()
        if len(domain) > 1 and k * k < n:
            least = math.isqrt(n - 1) + 1
            expected = f"at least {least}, the root of n_rows, with several columns: less would be worse than no groups"
            raise InvalidArgument("k", k, expected, f"k={least}")
        moves, shares = sensitivities(public_steps(domain), n // k)
        price = Epsilon(checks.budget("epsilon", self.epsilon if per_row is None else per_row))
        laws = (law_for(price * share, Moves(l1=move)) for move, share in zip(moves, shares, strict=True))
        if not all(law.drawable for law in laws):
            raise InvalidArgument("epsilon", self.epsilon, "so large that its noise can be drawn", "epsilon=1.0")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def public_steps(domain: Domain) -> GridMap:
    """Return the grid on which records are read: cells in the order of the records."""
    most = 2 ** min(_STEP_BITS, _CELL_BITS // len(domain))
    return GridMap(domain, [min(most, c.n_values) if isinstance(c, Integer) else most for c in domain])


def sensitivities(grid: GridMap, n_runs: int) -> tuple[list[int], list[Fraction]]:
    """Return how far all sums of a column move together, and its share of the budget; see `OrderedMicroaggregation`."""
    times = [1, *[n_runs] * (len(grid.parts) - 1)]
    weights = [Fraction(t ** (2 / 3)).limit_denominator(10**6) for t in times]
    moves = [max(t * (parts - 1), 1) for t, parts in zip(times, grid.parts, strict=True)]
    return moves, [w / sum(weights) for w in weights]


def run_sizes(k: int, n: int) -> IntArray:
    """Return the number of records of each run: k, and of the last all that are left."""
    sizes = np.full(n // k, k, np.int64)
    sizes[-1] += n - k * len(sizes)
    return sizes


def run_sums(counts: CellCounts, grid: GridMap, k: int, n: int) -> IntArray:
    """Return the sum of the steps of every run, one row per column: raw numbers, which must not leave the mechanism."""
    filled = max(n - int(counts.counts.sum()), 0)
    cells = np.append(counts.cells, grid.n_cells - 1)
    held = np.append(counts.counts, filled)
    ends = np.cumsum(held)  # of the places that a cell has in the order
    bounds = np.append(np.arange(n // k) * k, n)
    at = np.minimum(np.searchsorted(ends, bounds, side="right"), len(cells) - 1)
    found = []
    for steps in np.unravel_index(cells, grid.shape):
        before = np.concatenate([[0], np.cumsum(held * steps)])  # of all records before a cell
        first = ends[at] - held[at]
        found.append(np.diff(before[at] + (bounds - first) * steps[at]))
    return np.stack(found)


def _values(grid: GridMap, j: int, steps: FloatArray) -> FloatArray:
    """Return the values that steps stand for: the middle of a cell, in between by proportion; beyond, the outermost."""
    column = grid.domain.columns[j]
    axis = GridMap(grid.domain.select([column.name]), [grid.parts[j]])
    lower, upper = (ends[:, 0] for ends in axis.boxes(np.arange(grid.parts[j])))
    return np.interp(steps, np.arange(grid.parts[j]), (lower + upper) / 2)


def _table(domain: Domain, rows: FloatArray) -> pa.Table:
    return pa.table({c.name: _written(c, rows[:, j]) for j, c in enumerate(domain)})


def _written(column: Column, values: FloatArray) -> Any:
    if isinstance(column, Date):
        return date_array(values)
    return time_array(values) if isinstance(column, Time) else values
