"""Expected errors of methods, without any data.

Everything follows from public numbers: rows, columns, clusters, ε. There are three questions, whose errors are shares
of different quantities:

- **counts**: rows with a value, or in a box. The error is a standard error, as a share of all rows.
- **places**: positions of rows. The error is the distance of the published row from the true one, in declared ranges.
- **clusters**: k centres. The error is the excess of the squared error over that of k-means on the raw rows.

Compare methods within a question only.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pyarrow as pa

from discreet import local
from discreet.clustering.central import auto, lift, planned
from discreet.core import BINS, MEAN_NOISE, SURE_DELTA, Domain, Fitness, Frames, cells_of, checks
from discreet.core.budget import Epsilon, Price, epsilon_to_zcdp
from discreet.errors import InvalidArgument
from discreet.metric import IsotropicLaw
from discreet.noise import DiscreteLaplace
from discreet.synopses import AUTO_ROWS, TreeSynopsis, count_variance
from discreet.synopses.boxes.grid import rules
from discreet.synopses.boxes.tree import LevelBudgets as Division
from discreet.synopses.marginals import PURE_SCORES, PURE_SINGLE, SCORES, SINGLE, public_grid

__all__ = ["Expectation", "Outlook", "RowBound", "outlook"]


def __dir__() -> list[str]:
    return __all__


#: Budgets at which the curves are drawn.
CURVE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
#: Share of the budget that estimates the number of rows, by default.
_SIZE_SHARE = Fraction(3, 100)
#: A typical question to a synopsis: a box with this share of its cells, "a tenth" in the readings below.
_BOX = 0.1
_MOST_ROWS, _MOST_AXES = 10**15, 500
#: Where a budget for a target error is looked for.
_LEAST, _MOST = 0.001, 100.0


@dataclass(frozen=True)
class Expectation:
    """One method: the question it answers, its name, the model of its promise, what is released, and the error.

    ``error`` is a share, ``sense`` says if it is "about" the error, "at most" or "at least", and ``reading`` what
    exactly it is. ``needed_epsilon`` is about the smallest ε, from 0.001 to 100, that reaches the target (None: there
    is none), ``curve`` the error at each ε of `Outlook.budgets`.

    Examples
    --------
    >>> found = outlook(10_000, 2, epsilon=1.0)
    >>> found["central histogram"].model
    'central'
    """

    question: str
    method: str
    model: str
    release: str
    error: float
    sense: str
    reading: str
    needed_epsilon: float | None
    curve: tuple[float, ...]


@dataclass(frozen=True)
class RowBound:
    """The cost of using at most ``rows`` rows of each person, if the guarantee is about persons.

    ``lost`` is the share of rows that are not used. ``bias``, ``noise`` and ``error`` are those of the count of one
    value, as shares of all rows: what is missing, the standard error of the noise, and both together.

    Examples
    --------
    >>> found = outlook(100_000, 2, epsilon=1.0, persons=10_000)
    >>> [(bound.rows, round(bound.lost, 2)) for bound in found.bounds][:3]
    [(1, 0.9), (2, 0.81), (3, 0.73)]
    >>> min(found.bounds, key=lambda bound: bound.error).rows
    32
    """

    rows: int
    lost: float
    bias: float
    noise: float
    error: float


#: People in a group of a tree's first table, in multiples of k: a group of 2k is split.
_GROUP = 1.4


def _later(n: int, k: int, leave: float, come: float) -> dict[str, Any]:
    """Forecast later tables: groups of the first one are too small to leave a group behind, so they go as a whole."""
    size = _GROUP * k
    lost = 1 - (1 - leave) ** size - leave
    group = min(n, math.ceil(k / come)) if come else math.ceil(size)
    wait = math.ceil(k / (leave * size)) if leave else None
    return {"second": round(lost, 2), "sixth": round(1 - (1 - lost) ** 5, 2), "group": group, "wait": wait}


@dataclass(frozen=True, repr=False)
class Outlook(Frames):
    """Expected errors of all methods; `to_arrow`, `to_pandas` and `to_polars` give one row per method.

    ``rows`` has an `Expectation` per method, ``budgets`` the ε of their curves. With ``persons``, ``bounds`` has a
    `RowBound` for each bound on the rows of a person. With ``leave`` or ``come``, ``later`` has the shares of people of
    a first anonymous table who are left out of the ``second`` and the ``sixth``, so that those who leave or change
    hide among them; the people per ``group`` if all newcomers are published; and how many tables to ``wait`` until k
    of a group have left by themselves. Other attributes are what was asked.

    Examples
    --------
    >>> found = outlook(10_000, 2, epsilon=1.0, target_error=0.001)
    >>> [row.method for row in found.rows if row.question == "counts"]
    ['central histogram', 'grid synopsis', 'tree synopsis', 'marginal synopsis', 'local reports']
    >>> 0.1 < found["central histogram"].needed_epsilon < 0.2
    True
    >>> outlook(10_000, 2, k=5, leave=0.02, come=0.1).later
    {'second': 0.11, 'sixth': 0.45, 'group': 50, 'wait': 36}
    """

    n: int
    d: int
    clusters: int
    k: int
    values: int
    epsilon: float
    radius: float
    target_error: float | None
    budgets: tuple[float, ...]
    rows: tuple[Expectation, ...]
    persons: int | None = None
    bounds: tuple[RowBound, ...] = ()
    delta: float = 0.0
    later: dict[str, Any] | None = None
    rows_each: int = 1
    heaviest: float = 1.0

    def __getitem__(self, method: str) -> Expectation:
        """Return a method by name."""
        for row in self.rows:
            if row.method == method:
                return row
        names = ", ".join(row.method for row in self.rows)
        raise InvalidArgument("method", method, f"one of {names}", f"[{self.rows[0].method!r}]")

    def to_arrow(self) -> pa.Table:
        """Return one row per method, without the curves."""
        return pa.Table.from_pylist([{k: v for k, v in asdict(row).items() if k != "curve"} for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        said = f"{len(self.rows)} methods for {self.n:,} rows of {self.d:,} columns, epsilon {self.epsilon:g}"
        return f"<Outlook: {said}>"


def outlook(
    n: int,
    d: int,
    *,
    clusters: int = 8,
    k: int = 10,
    values: int = 100,
    epsilon: float = 1.0,
    delta: float = 0.0,
    radius: float = 0.1,
    target_error: float | None = None,
    persons: int | None = None,
    leave: float | None = None,
    come: float | None = None,
    rows_each: int = 1,
    heaviest: float = 1.0,
    only: str | None = None,
) -> Outlook:
    """Return the expected error of each method. No data are read.

    Parameters
    ----------
    n, d : int
        Rows, or people; columns, all numeric and scaled to their declared ranges.
    clusters, k, values : int, default 8, 10 and 100
        Clusters to be found; group size of anonymous tables; values of a column whose frequencies are estimated.
    epsilon, delta : float, default 1 and 0
        The budget. δ makes a marginal synopsis more accurate; other methods ignore it.
    radius : float, default 0.1
        Metric privacy: the distance at which ε holds, as a share of the declared widths.
    target_error : float, optional
        A wanted error (a share): adds the ε that each method needs for it.
    persons : int, optional
        A public guess of the number of persons: adds the cost of bounding the rows of each, if their numbers of rows
        follow a geometric law.
    leave, come : float, optional
        The shares of people who leave or change, and who come, from one anonymous table to the next: adds what to
        expect of later tables about the same people.
    rows_each : int, default 1
        The most rows of one person that are counted: central noise is that much wider.
    heaviest : float, default 1.0
        The largest declared weight over the mean weight: noise of weighted histograms is that much wider. A model
        holds weights as a column, so its noise stays that of rows.
    only : str, optional
        The only method to forecast, which is faster.

    Examples
    --------
    >>> found = outlook(100_000, 2, clusters=15, epsilon=0.5)
    >>> found["metric noise"].error                                     # d times the radius over epsilon
    0.4
    >>> found["private k-means"].release
    'a grid of 72 x 72 cells'
    """
    n = checks.whole("n", n, low=1, high=_MOST_ROWS)
    d = checks.whole("d", d, low=1, high=_MOST_AXES)
    clusters = checks.whole("clusters", clusters, low=1)
    k = checks.whole("k", k, low=1)
    if k > n:
        raise InvalidArgument("k", k, f"at most the number of rows ({n})", "k=10")
    values = checks.whole("values", values, low=2, high=2**32)
    budget = float(checks.positive("epsilon", epsilon))
    if not _LEAST <= budget <= _MOST:
        raise InvalidArgument("epsilon", epsilon, f"from {_LEAST:g} to {_MOST:g} for a forecast", "epsilon=1.0")
    slack = float(checks.probability("delta", delta, closed=True))
    if slack > SURE_DELTA:
        raise InvalidArgument("delta", delta, f"at most {SURE_DELTA:g} for a forecast", "delta=1e-6")
    checks.warn_of_delta(Fraction(slack), n)
    distance = float(checks.positive("radius", radius))
    target = None if target_error is None else float(checks.positive("target_error", target_error))
    each = checks.whole("rows_each", rows_each, low=1)
    heaviest = max(1.0, float(checks.positive("heaviest", heaviest)))
    part = each * heaviest  # an ε of average rows is that part of an ε of persons

    def expect(
        question: str, method: str, model: str, release: str, reading: str, error: _Law, sense: str = "about"
    ) -> Expectation | None:
        if only not in (None, method):
            return None
        needed = None if target is None else _needed(error, target)
        curve = tuple(error(e) for e in CURVE)
        return Expectation(question, method, model, release, error(budget), sense, reading, needed, curve)

    few = d <= auto.FEW_AXES
    leaves = 2 ** TreeSynopsis().settings().max_depth
    best = local.plan(budget, values, n).best
    spread, said = (k / n) ** (1 / d), f"at delta {slack:g}" if slack else "without a delta"
    found = (
        expect("counts", "central histogram", "central", f"{values:,} noisy counts", "of one value",
               lambda e: _count_error(e / part) / n),
        expect(
            "counts", "grid synopsis", "central", f"{_cells(_grid(n, d, clusters, budget / part))} cells",
            "noise of a box of a tenth of the cells; rows that a cut cell divides come on top",
            lambda e: _box_error(n, d, clusters, e / part) / n,
        ),
        expect(
            "counts", "tree synopsis", "central", f"up to {leaves:,} leaves that follow the rows",
            "noise of a box of a tenth of the leaves, none pruned; rows that a cut leaf divides come on top",
            lambda e: _leaf_error(n, d, e / part) * math.sqrt(_BOX * leaves) / n,
        ),
        expect(
            "counts", "marginal synopsis", "central",
            f"about {_pairs(d):,} of {d * (d - 1) // 2:,} pairs of columns, and a model" if d > 1 else "one column",
            f"of one cell of a pair that was measured, {said}; what the model assumes comes on top",
            lambda e: each * _pair_error(d, e, slack) / n,
        ),
        expect(
            "counts", "local reports", "local", f"{best.mechanism}, {best.report_bits} bits per report",
            f"of one rare value among {values:,}; the collector never sees the raw rows",
            lambda e: _rare_error(e, values, n),
        ),
        expect(
            "places", "metric noise", "metric", f"every row, moved; epsilon holds within {distance:g}",
            "mean distance that a row is moved, all columns together",
            lambda e: IsotropicLaw(d, e / distance).expected_error,
        ),
        None if only not in (None, "anonymous table") else Expectation(
            "places", "anonymous table", "syntactic", f"at most {n // k:,} groups of {k:,} or more", spread, "about",
            "width of a group along each column, were the rows spread evenly; promises no epsilon",
            None, (spread,) * len(CURVE),
        ),
        expect(
            "clusters", "private k-means", "central", _chosen(n, d, clusters, budget / part, slack)[0].words(d),
            "for clusters that fill the domain evenly" if few else "from the noise of the means alone",
            lambda e: _excess(n, d, clusters, e / part, slack),
            "at most" if few else "at least",
        ),
    )  # fmt: skip
    rows = tuple(row for row in found if row is not None)
    if not rows:
        raise InvalidArgument("only", only, "the name of a method", 'only="grid synopsis"')
    people = None if persons is None else checks.whole("persons", persons, low=1, high=n)
    bounds = () if people is None else tuple(_bound(n, people, values, budget, rows) for rows in AUTO_ROWS)
    shares = [float(checks.probability(n, v or 0.0, closed=True)) for n, v in (("leave", leave), ("come", come))]
    later = None if leave is None and come is None else _later(people or n, k, *shares)
    asked = (n, d, clusters, k, values, budget, distance, target, CURVE, rows, people, bounds, slack, later)
    return Outlook(*asked, each, heaviest)


_Law = Callable[[float], float]


def _pairs(d: int) -> int:
    """Return how many pairs of columns a marginal synopsis measures, about."""
    return max(1, min(d * (d - 1) // 2, math.ceil(1.5 * d)))


@lru_cache(maxsize=256)
def _pair_error(d: int, epsilon: float, delta: float, ways: int = 2) -> float:
    """Return the standard error of a cell of a pair, or of one column, at the share of the budget that it gets.

    Gaussian noise of variance 1/(2 ρ) where there is a δ: a row changes one cell of each pair by one.
    """
    single, scores = (SINGLE, SCORES) if delta else (PURE_SINGLE, PURE_SCORES)
    share = float((1 - single) * (1 - scores)) / _pairs(d) if ways > 1 else float(single) / d
    if delta:
        return math.sqrt(1 / (2 * share * epsilon_to_zcdp(epsilon, delta)))
    return _count_error(epsilon * share)


def fitness(domain: Domain, found: Outlook) -> Fitness:
    """Return what counts by one and two columns of a marginal synopsis would be good for; pairs as if measured.

    With a number of persons, each has as many rows as the best bound uses.
    """
    each = min(found.bounds, key=lambda bound: bound.error).rows if found.bounds else found.rows_each
    # Rules replace columns by differences, and leave out sums: as if such columns were counted in the finest cells.
    made, cells = domain.modelled(), [cells_of(column) for column in domain]
    fine = dict(zip(made.names, public_grid(domain).sizes, strict=True))
    one, two = (_pair_error(len(made), found.epsilon, found.delta, ways) for ways in (1, 2))

    def error(*axes: int) -> tuple[float, bool]:
        size, noise = math.prod(cells[axis] for axis in axes), two
        if len(axes) == 1:  # counted in finer cells, of which few hold most rows, or by adding up those of a pair
            own = one * math.sqrt(min(max(fine.get(domain.names[axes[0]], math.inf) / size, 1), 4))
            noise = min(own, two * math.sqrt(BINS)) if len(cells) > 1 else own
        return MEAN_NOISE * each * size * noise / found.n, False

    return Fitness.measure(domain.names, error)


def _left(epsilon: float) -> float:
    """Return the budget that is left after the number of rows was estimated."""
    return epsilon * float(1 - _SIZE_SHARE)


@lru_cache(maxsize=256)
def _rare_error(epsilon: float, values: int, n: int) -> float:
    """Return the error of the best local mechanism; kept, since comparing them all takes longest of everything here."""
    return local.plan(epsilon, values, n).best.rare_error


def _count_error(epsilon: float) -> float:
    """Return the standard error of a noisy count."""
    return math.sqrt(DiscreteLaplace(1 / Fraction(repr(epsilon))).variance)


def _bound(n: int, persons: int, values: int, epsilon: float, rows: int) -> RowBound:
    """Return what a bound costs the count of one of the values, all equally frequent.

    With n/persons rows on average and a geometric law, a person's i-th row is there with probability (1 - p)^(i-1),
    p = persons/n: a bound b loses the share (1 - p)^b of all rows.
    """
    lost = (1 - persons / n) ** rows
    bias, noise = lost / values, _count_error(epsilon / rows) / n
    return RowBound(rows, lost, bias, noise, math.hypot(bias, noise))


def _leaf_error(n: int, d: int, epsilon: float) -> float:
    """Return the standard error of the count of a deepest leaf of a tree with default settings."""
    settings, left = TreeSynopsis().settings(), Epsilon(Fraction(repr(_left(epsilon))))
    axis = settings.axis_rule(d)
    division = Division.make(
        left, depth=settings.max_depth, first_test=settings.first_test(left, float(n), d, axis), shares=settings.shares,
        kind=settings.budget, fan_out=settings.fan_out, paid_splits=settings.pays_splits(axis),
    )  # fmt: skip
    return _count_error(division.left(settings.max_depth).shown)


def _grid(n: int, d: int, clusters: int, epsilon: float) -> tuple[int, ...]:
    """Return the parts per axis that a grid synopsis would take."""
    return rules.axis_parts(
        lambda e, axes, k: rules.rugnik(n, e, axes, k), Domain.box([0.0] * d, 1.0), n=float(n), epsilon=_left(epsilon),
        k=clusters, max_cells=2**20,
    )  # fmt: skip


def _box_error(n: int, d: int, clusters: int, epsilon: float) -> float:
    """Return the standard error of a box of a tenth of a grid's cells."""
    return _count_error(_left(epsilon)) * math.sqrt(max(1.0, _BOX * math.prod(_grid(n, d, clusters, epsilon))))


def _cells(parts: tuple[int, ...]) -> str:
    return " x ".join(map(str, parts)) if len(parts) <= 3 else f"{math.prod(parts):,}"


@lru_cache(maxsize=1024)
def _chosen(n: int, d: int, clusters: int, epsilon: float, delta: float) -> tuple[auto.Choice, Price]:
    """Return which synopsis private k-means would take, and with what."""
    return planned(float(n), d, clusters, epsilon, delta, _SIZE_SHARE)


def _excess(n: int, d: int, clusters: int, epsilon: float, delta: float) -> float:
    """Return the expected excess of the squared error of private k-means.

    Plain k-means on evenly filled cubes of side K^(-1/d) has a mean squared error of d K^(-2/d)/12. With few axes the
    rise is at most d h(m)/(4 N) (`grid_rules.rugnik_bound`, r = 1/2). With many it is at least that of centres that
    miss by the noise of a mean of N/K rows: in the box, or where they are lifted in the ball of that squared radius.
    """
    if d <= auto.FEW_AXES:
        parts = _grid(n, d, clusters, epsilon)[0]
        bound = rules.rugnik_bound(parts, float(n), _left(epsilon), d, clusters)
        return float(3 * clusters ** (2 / d) * bound / n)
    choice, left = _chosen(n, d, clusters, epsilon, delta)
    if choice.method == "lift":
        return lift.added_noise(left, n / clusters, d)
    variance = count_variance(Epsilon(Fraction(repr(_left(epsilon)))), d, means=True)
    std = math.sqrt(variance) / (2 * n / clusters)  # in declared widths
    return float(12 * clusters ** (2 / d) * std * std)


def _needed(error: _Law, target: float) -> float | None:
    """Return an ε whose error is at most the target, and a thousandth less is not enough: errors fall with ε.

    They may jump where a grid gets more cells; then it is one of the places where the target is crossed.
    """
    if error(_MOST) > target:
        return None
    low, high = _LEAST, _MOST
    if error(low) <= target:
        return low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if error(middle) <= target else (middle, high)
    return high
