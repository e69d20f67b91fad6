"""Private quantiles: cuts chosen among the lines of a public grid, never among the data.

`quantiles` takes values and public bounds, `quantiles_from_counts` a histogram over the grid, `choose_cuts` the cell
numbers of rows in a box of a larger grid. All reduce the data to the same runs (`runs.py`), so one seed gives the same
cuts. "joint" draws all cuts at once (`joint.py`), which is better for a few quantiles. "recursive" draws the middle
one, splits the rows there and continues in both halves (Kaplan, Schnapp and Stemmer 2022): better for many quantiles.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import FloatArray, IntArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.choice.exponential import ETA, LARGEST_EPSILON, Scaled, pick, rate, weigh
from discreet.noise.choice.joint import JointLaw
from discreet.noise.choice.persons import at_most, per_value
from discreet.noise.choice.runs import Runs, rank_losses
from discreet.noise.public import PublicRandomness
from discreet.noise.stream.draw import below
from discreet.noise.stream.generator import Generator, generator

METHODS = ("auto", "joint", "recursive")
#: Up to this number of quantiles "auto" draws them jointly.
JOINT_AT_MOST = 10
LARGEST_BITS = 40


def quantiles(
    values: npt.ArrayLike,
    qs: Iterable[float | Fraction],
    *,
    epsilon: float,
    low: float,
    high: float,
    method: str = "auto",
    bits: int = 20,
    persons: Any = None,
    rows: int | None = None,
    rng: object = None,
) -> FloatArray:
    """Return private quantiles of a column, as positions of public grid lines.

    Parameters
    ----------
    values : array of float, shape (n,)
        The data. Values outside ``low..high``, also infinite ones, count as the bound; NaN rows are left out.
    qs : list of float
        The quantiles, increasing, strictly between 0 and 1. Read as written: 0.1 is 1/10.
    epsilon : float
        Budget for all quantiles together. ``math.inf`` returns exact quantiles, without privacy.
    low, high : float
        Public bounds. Do not read them off the data; `private_bounds` selects them privately.
    method : {"auto", "joint", "recursive"}, default "auto"
        All cuts in one draw, or the middle one first. "auto" is joint for up to 10 quantiles.
    bits : int, default 20
        The grid has ``2**bits`` cells between the bounds.
    persons : list or column of text or whole numbers, optional
        The person of each value. The unit of privacy is then a person; values without a person are left out.
    rows : int, optional
        With ``persons``: the most values used per person, drawn at random.
    rng : None, int or Generator
        See `discreet.noise.generator`.

    Returns
    -------
    ndarray of float
        One position per quantile, strictly increasing: ``low + k (high - low) / 2**bits`` with whole k. If the grid
        has fewer inner lines than quantiles (a public fact), all its lines, without reading the data.

    Privacy
    -------
    Neighbours: add or remove one row. One quantile q: Pr[k] is proportional to exp(-ε |L(k) - q n| / (2Δ)), L(k) of the
    n rows below line k. A new row moves L(k) - q n by 1-q or -q, so Δ = max(q, 1-q). Several, joint: the sum over
    the intervals of |rows in it - rows wanted| takes the place of the distance, and Δ = 2 (1 - the smallest share
    between neighbouring quantiles). Several, recursive: ceil(log2(m+1)) levels share ε equally; halves of one level
    hold disjoint rows and compose in parallel. Rounding is paid for from ε. The number of rows does not change which
    results are possible. Price: ε.

    With ``persons``, add or remove one person: the mechanism runs on the values used, at ε/rows. A person adds at
    most ``rows`` of them and changes nothing else, so the price is ε per person.

    Examples
    --------
    >>> ages = np.random.default_rng(0).normal(40, 12, 10_000)
    >>> quantiles(ages, [0.25, 0.5, 0.75], epsilon=1.0, low=0.0, high=120.0, rng=7).round(1).tolist()
    [32.0, 39.9, 48.3]
    """
    bits = checks.whole("bits", bits, low=1, high=LARGEST_BITS)
    low, high = _bounds(low, high, 2**bits)
    asked, price, _ = _plan(qs, epsilon, method)
    each, most = per_value(price, persons, rows)
    source = generator(rng)
    column = at_most(checks.numeric_column("values", values), persons, most, PublicRandomness(source))
    cells = cells_of(column, low, high, 2**bits)
    cuts = choose_cuts(cells, asked, epsilon=each, start=0, stop=2**bits, method=method, rng=source)
    return _positions(cuts, low, high, 2**bits)


def quantiles_from_counts(
    counts: npt.ArrayLike,
    qs: Iterable[float | Fraction],
    *,
    epsilon: float,
    low: float,
    high: float,
    cells: npt.ArrayLike | None = None,
    n_cells: int | None = None,
    method: str = "auto",
    rng: object = None,
) -> FloatArray:
    """Return private quantiles from row counts over a public grid.

    Parameters
    ----------
    counts : array of int
        Rows in each of the equal cells between ``low`` and ``high``, or in the listed ``cells`` only. Negative counts
        are taken as 0.
    cells, n_cells : array of int and int, optional
        The cell of each count, in any order, and the number of cells of the grid. Repeated cells add up; cells beyond
        the grid count as the last one. Other arguments are those of `quantiles`.

    Privacy
    -------
    As `quantiles`: a row adds 1 to one count. Price: ε.

    Examples
    --------
    >>> quantiles_from_counts([0, 50, 60, 900, 0, 0], [0.1], epsilon=1.0, low=0.0, high=6.0, rng=1).tolist()
    [3.0]
    """
    plan = _plan(qs, epsilon, method)
    rows = _whole_column("counts", counts)
    if cells is None:
        places = np.arange(len(rows))
        if n_cells is None:
            n_cells = len(rows)
    else:
        places = _whole_column("cells", cells)
    if n_cells is None:
        raise InvalidArgument("n_cells", None, "given with cells", "n_cells=2**20")
    n_cells = checks.whole("n_cells", n_cells, low=1, high=2**LARGEST_BITS)
    if len(places) != len(rows) or (cells is None and n_cells != len(rows)):
        raise InvalidArgument("counts", "another number of them", "one count for each cell", "cells=None, n_cells=None")
    low, high = _bounds(low, high, n_cells)
    cuts = _cuts(Runs.of_counts(places, rows, start=0, stop=n_cells), *plan, generator(rng))
    return _positions(cuts, low, high, n_cells)


def choose_cuts(
    cells: npt.ArrayLike,
    qs: Iterable[float | Fraction],
    *,
    epsilon: float | Fraction,
    start: int,
    stop: int,
    method: str = "auto",
    rng: object = None,
) -> IntArray:
    """Return private quantiles of integer cells as integer cuts of the box ``start <= cell < stop``.

    A row is left of cut k iff its cell is below k; cells outside the box count as the nearest inside. If the box has
    fewer inner lines than quantiles (a public fact), all of them are returned.

    Privacy
    -------
    As `quantiles`. Price: ε.
    """
    plan = _plan(qs, epsilon, method)
    start = checks.whole("start", start, low=-(2**52), high=2**52)
    stop = checks.whole("stop", stop, low=start + 1, high=start + 2**LARGEST_BITS)
    return _cuts(Runs.of_cells(_whole_column("cells", cells), start=start, stop=stop), *plan, generator(rng))


def cells_of(values: FloatArray, low: float, high: float, n_cells: int) -> IntArray:
    """Return the public grid cell of every value; NaN rows are left out."""
    kept = np.clip(values[~np.isnan(values)], low, high)
    return np.minimum((kept - low) / (high - low) * n_cells, n_cells - 1).astype(np.int64)


def _cuts(runs: Runs, qs: list[Fraction], epsilon: checks.Exact, joint: bool, source: Generator) -> IntArray:
    if runs.stop - runs.start - 1 <= len(qs):
        return np.arange(runs.start + 1, runs.stop)
    if joint and isinstance(epsilon, Fraction):
        return JointLaw(runs, qs, epsilon).draw(source)
    return _recursive_cuts(runs, qs, epsilon, source)


def _recursive_cuts(runs: Runs, qs: list[Fraction], epsilon: checks.Exact, source: Generator) -> IntArray:
    """Choose the middle cut of every block, level by level; one quantile is the single-cut mechanism."""
    m = len(qs)
    share = epsilon / m.bit_length()  # ceil(log2(m + 1)) levels
    cuts, left = np.full(m + 2, runs.start), np.zeros(m + 2, np.int64)
    cuts[-1], left[-1] = runs.stop, runs.rows
    blocks = [(0, m + 1)]
    while blocks:
        halves = []
        for a, b in blocks:
            middle = (a + b) // 2
            first, size, rows, sums = cut_law(runs, qs, share, (a, middle, b), cuts, left)
            run = pick(sums, source)
            cuts[middle] = first[run] + below(int(size[run]), rng=source)
            left[middle] = rows[run]
            halves += [half for half in ((a, middle), (middle, b)) if half[1] - half[0] > 1]
        blocks = halves
    return cuts[1:-1]


def cut_law(
    runs: Runs,
    qs: Sequence[Fraction],
    epsilon: checks.Exact,
    block: tuple[int, int, int],
    cuts: IntArray,
    left: IntArray,
) -> tuple[IntArray, IntArray, IntArray, Scaled]:
    """Return the runs that cut ``middle`` of the block between cuts a and b may be in, and their weights.

    With i cuts to come on its left and j on its right, the cut is in ``cuts[a] + 1 + i .. cuts[b] - 1 - j``: a public
    range, given the earlier cuts.
    """
    a, middle, b = block
    edges = [Fraction(0), *qs, Fraction(1)]
    q = (edges[middle] - edges[a]) / (edges[b] - edges[a])
    first, size, rows = runs.between(int(cuts[a]) + middle - a, int(cuts[b]) - (b - middle))
    if isinstance(epsilon, Fraction):
        target = int(left[a]) + q * int(left[b] - left[a])
        # The fraction of the target is rounded to 2^-53, twice.
        factor = rate(epsilon, 2 * max(q, 1 - q), ETA + min(epsilon, LARGEST_EPSILON) / 2**52)
    else:
        target = edges[middle] * runs.rows  # the rank in the whole column
        factor = math.inf
    return first, size, rows, weigh(rank_losses(rows, target), size, factor)


def _plan(qs: object, epsilon: object, method: object) -> tuple[list[Fraction], checks.Exact, bool]:
    """Check the public arguments; return exact quantiles, exact budget, and True to draw jointly."""
    fix = "qs=[0.25, 0.5, 0.75]"
    if isinstance(qs, (str, bytes)) or not isinstance(qs, Iterable):
        raise InvalidType("qs", qs, "a list of quantiles", fix)
    listed: list[Any] = list(qs)
    exact = [checks.probability(f"qs[{i}]", q) for i, q in enumerate(listed)]
    if not exact or any(a >= b for a, b in pairwise(exact)):
        raise InvalidArgument("qs", listed, "a non-empty, strictly increasing list", fix)
    budget = checks.budget("epsilon", epsilon)
    chosen = checks.choice("method", method, METHODS)
    joint = len(exact) <= JOINT_AT_MOST if chosen == "auto" else chosen == "joint"
    return exact, budget, joint and len(exact) > 1


def _bounds(low: object, high: object, n_cells: int) -> tuple[float, float]:
    a, b = checks.finite("low", low, fix="low=0.0"), checks.finite("high", high, fix="high=1.0")
    if not a < b or not math.isfinite(b - a):
        raise InvalidArgument("low, high", (a, b), "a non-empty finite interval (low < high)", "low=0.0, high=1.0")
    if (b - a) / n_cells < 2 * np.spacing(max(abs(a), abs(b))):
        raise InvalidArgument("low, high", (a, b), f"wide enough for {n_cells} distinct grid lines", "fewer bits")
    return a, b


def _positions(cuts: IntArray, low: float, high: float, n_cells: int) -> FloatArray:
    return np.asarray(low + cuts / n_cells * (high - low), np.float64)


def _whole_column(name: str, value: object) -> IntArray:
    array = checks.whole_array(name, value)
    if array.ndim != 1:
        form = f"{array.ndim} dimensions"
        raise InvalidArgument(name, form, "a one-dimensional array of whole numbers", f"{name}={name}.ravel()")
    return array
