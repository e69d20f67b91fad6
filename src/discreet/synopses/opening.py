"""The beginning of every central release: read the form of the table, open the ledger, estimate the number of rows.

If the unit is a person, the table is first replaced by one in which no person has more than a stated number of rows
(`discreet.engines.persons`). What is ε-DP for one row is rows·ε-DP for one person by the triangle inequality for the
privacy loss, and ρ-zCDP for one row is rows²·ρ-zCDP. With weights, a row is then replaced by at most 64 copies
(`discreet.engines.persons.weighted`), which multiply in the same way; counts are published in copies and stated in
weights. Nothing here has a δ of its own: that would not multiply so.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import engines, noise
from discreet.accounts import check_ledger
from discreet.core import (
    CAUSES,
    SURE,
    Categorical,
    Domain,
    FloatArray,
    Guarantee,
    IntArray,
    Person,
    Unit,
    as_domain,
    at_most,
    check_unit,
    checks,
    dialect_of,
    doubts,
    options,
    readable_error,
    released_columns,
    row_promise,
)
from discreet.core.budget import Approx, Epsilon, Price, Rho, Wanted, wanted_of
from discreet.engines.passes import AxisGrids, CellCounts, GridMap, GroupedMarginal, MarginalsPass, RowMap, batch_rows
from discreet.engines.persons import PersonTable, Weights, check_person
from discreet.errors import BudgetExceeded, DataSourceError, DiscreetWarning, InvalidArgument, InvalidType, SchemaError
from discreet.mechanisms import Gate, Moves, law_for

#: Of a central release. Below, noise for a share of the budget would be wider than can be drawn.
SMALLEST_EPSILON = Epsilon(Fraction(1, 10**9))
#: A bound on rows per person that is selected privately: its share of the budget, and the few candidates.
AUTO_SHARE = Fraction(1, 20)
AUTO_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
#: Of two that do equally well the smaller is four times as likely: a larger one costs noise and gains nothing.
AUTO_WEIGHTS = tuple(4 ** (len(AUTO_ROWS) - i) for i in range(len(AUTO_ROWS)))
AUTO_SPAN = 18
AUTO_LABEL = "rows per person"
PUBLIC_DOMAIN = "the declared bounds and categories are public"
CALIBRATED = (
    "the weight in column {!r} is an attribute of its row: weights that were calibrated to population totals depend on "
    "other rows too, and what they show about those is not covered"
)
PUBLIC_SIZE = "the number of rows, N, was given as public"


@dataclass(frozen=True)
class OpenRelease:
    """A release that has begun: what `open_release` returns.

    ``source`` is the table, matched with ``domain``: the columns that may be released, of all ``declared`` ones.
    ``gate`` is the only way to publish anything about the rows. ``n_rows`` is noisy (with ``n_rows_variance``) or
    public. ``counts`` are raw counts of a grid that was known beforehand: as sensitive as the rows. ``parts`` are noisy
    counts of disjoint parts of the table that add up to ``n_rows``, if a method asked for them.
    """

    source: engines.Source
    domain: Domain
    declared: Domain
    gate: Gate
    n_rows: float
    n_rows_variance: float | None = None
    assumptions: tuple[str, ...] = ()
    counts: CellCounts | None = None
    parts: FloatArray | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # about the guess and the check, for the guarantee
    weights: Weights | None = None

    @property
    def step(self) -> float:
        """The weight that a count of 1 stands for."""
        return 1.0 if self.weights is None else self.weights.step

    def weighed(self, synopsis: Any) -> Any:
        """Return a synopsis whose counts are in weights."""
        if self.weights is None:
            return synopsis
        said = synopsis.guarantee.parameters.get("n_rows")
        facts = {"n_rows": said * self.step} if isinstance(said, (int, float)) else {}
        return synopsis.replace(facts=facts, **in_weights(synopsis, self.step, synopsis.parts))

    @property
    def apart(self) -> bool:
        """True if no cell of a grid holds rows of two of a person's groups: grouping columns are categories."""
        person = self.gate.person
        if person is None or not person.group:
            return False
        axes = {c.name: c for c in self.domain}
        return all(isinstance(axes.get(name), Categorical) for name in person.group)

    def promise(self, parameters: Mapping[str, Any]) -> Guarantee:
        """Return what is promised once all is spent."""
        told = {} if self.weights is None else {"weight": dataclasses.asdict(self.weights)}
        parameters = {**parameters, **self.facts, **told}
        return self.gate.promise(parameters, domain=self.domain, assumptions=self.assumptions)

    def book(self, promise: Guarantee) -> Guarantee:
        """Write into the account, if there is one, that this is published."""
        return self.gate.book(promise)


#: The counts in a synopsis and in its parts, and their variances.
_COUNTS = ("weights", "total", "estimate", "threshold", "cutoff", "counts", "center_weights")
_SPREADS = ("variances", "total_variance", "variance", "center_variances")


def in_weights(part: Any, step: float, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the parts that hold counts, multiplied by the weight of one."""
    found: dict[str, Any] = {}
    for name in names or [f.name for f in dataclasses.fields(part)]:
        held, power = getattr(part, name), 1 if name in _COUNTS else 2 if name in _SPREADS else 0
        if power:
            found[name] = tuple(x * step for x in held) if isinstance(held, tuple) else held * step**power
            found[name] = int(found[name]) if isinstance(held, int) else found[name]
        elif dataclasses.is_dataclass(held):
            found[name] = dataclasses.replace(held, **in_weights(held, step))  # type: ignore[type-var]
    return found


def open_release(
    X: Any,
    domain: Any,
    epsilon: Any,
    random_state: Any,
    n_rows: Any = None,
    size_share: Any = 0.03,
    check: Callable[[Domain, Any], object] | None = None,
    grid: Callable[[Domain], GridMap | None] | None = None,
    select: Callable[[Domain], Domain] | None = None,
    ledger: Any = None,
    job: str = "release",
    asked: Mapping[str, Any] | None = None,
    rho: Any = None,
    delta: Any = None,
    gaussian: Callable[[Domain, Epsilon, Rho], bool] | None = None,
    copies: bool = True,
    expect_rows: Any = None,
    check_first: Any = None,
    keys: Callable[[Gate, engines.Source], Domain] | None = None,
    parts: Callable[[Domain], Callable[[engines.Source], IntArray] | None] | None = None,
) -> OpenRelease:
    """Check the arguments that all central methods share, and estimate the number of rows with noise.

    ``check`` refuses a domain, or the budget of one row, before anything is spent or read. ``grid`` returns the grid
    whose cells will be released, if it does not depend on the number of rows: then one pass counts cells and rows.
    ``select`` returns the columns that take part, ``gaussian`` decides whether Gaussian noise is better; both see
    public values only. Without ``copies`` weights are a column like others. With ``size_share=None`` the method
    estimates the number of rows itself. A wrong ``n_rows`` costs accuracy, never privacy. ``keys`` pays for categories
    that are selected privately, with ``delta`` and a share of ε, and returns the domain that declares them. ``parts``
    returns a function that counts the rows in disjoint parts: then these counts are published instead of their sum.

    Privacy
    -------
    Neighbours: add or remove one row. The number of rows with a cell changes by at most 1, and so does the count of one
    of several disjoint parts; each gets discrete Laplace noise of scale 1/(share ε), or discrete Gaussian noise for
    that share of ρ. Price: that share, or nothing with a public number. Counts that are handed on are raw; the
    method that releases them pays for them. If the unit is a person, all of this is said of the bounded table at
    ε/rows, or ρ/rows² (Bun and Steinke 2016, proposition 1.9).

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(1000)
    >>> opening = open_release(people.table, people.domain.select(["town"]), 1.0, 3, size_share=None)
    >>> cells = dc.engines.GridMap(opening.domain, 1)
    >>> towns = opening.gate.counts("towns", lambda: opening.source.count(cells).dense(), opening.gate.left)
    >>> int(towns.values.sum()), opening.promise({"method": "towns"}).epsilon
    (998, 1.0)
    """
    wanted = Wanted.read(epsilon, rho, None if keys else delta, n_rows)
    share, public, stream = _shared(wanted, random_state, n_rows, size_share)
    check_ledger(ledger)
    source = raw = engines.open(table(X, _declared_width(domain), _declared_names(domain)), dialect=dialect_of(domain))
    if isinstance(domain, tuple):
        source.check_numbers()
    declared = as_domain(domain, source.names)
    axes = check_columns(declared, select=select, copies=copies)
    unit = declared.unit
    groups = unit.group if isinstance(unit, Person) else ()
    weights = Weights.of(declared) if copies else None
    more = [*groups, *declared.weights]

    def bound() -> engines.Source:
        return bind(raw, declared, declared.select(list(dict.fromkeys([*axes.names, *more]))) if more else axes)

    source = bound()
    if keys is not None and source.remote:
        raise SchemaError("keys of a Spark frame cannot be selected privately; declare the categories")
    assumed = (PUBLIC_DOMAIN, *row_promise(declared), *map(CALIBRATED.format, declared.weights))
    units = 1 if weights is None else weights.units
    if isinstance(unit, Person):
        check_person(source, unit)
    per_row = _per_row(wanted.pure, unit) / units
    _check_prices(per_row, wanted.pure.shown, share, size_share, public)
    if weights is not None and check_first is not None:
        raise InvalidArgument("check_first", check_first, "left out where rows are counted by weight", "leaving it out")
    if check is not None:
        check(axes, per_row.amount if isinstance(unit, Person) or weights or rho is not None else epsilon)
    wide = _is_wide(gaussian, axes, wanted)
    expected = n_rows if expect_rows is None else expect_rows
    checking = _check_of_table(check_first, wanted, len(axes), unit, expected, wide=wide)
    asked = {"columns": list(axes.names), **(asked or {})}
    charged = {"random_state": stream, "ledger": ledger, "job": job, "asked": asked, "copies": units}
    whole_price = wanted if keys is None else Approx(wanted.pure, checks.slack(delta))
    gate = Gate.open(whole_price, gaussian=wide, unit=unit, **charged)
    if keys is not None:
        declared = keys(gate, source)
        axes = check_columns(declared, select=select, copies=copies)
        source = bound()
    wanted_axes = Domain._of([*axes, *declared.select(declared.weights)], named=axes.named) if weights else axes
    whole = source
    if isinstance(unit, Person):
        source, person = _bounded(source, declared, wanted_axes, unit, gate)
        axes, declared = axes.with_unit(person), declared.with_unit(person)
    if weights is not None:
        source = weights.table(source, wanted_axes, gate.free.key(8))
    facts = {} if expect_rows is None else {"expected_rows": expect_rows}
    if checking is not None:
        facts |= {"checked": _look_first(whole, declared, axes, gate, checking, expected)}
    opening = OpenRelease(source, axes, declared, gate, math.nan, assumptions=assumed, facts=facts, weights=weights)
    if public is not None:
        return dataclasses.replace(opening, n_rows=public / opening.step, assumptions=(*assumed, PUBLIC_SIZE))
    if size_share is None:
        return opening
    known, read = None if grid is None else grid(axes), []
    divided = None if parts is None else parts(axes)
    if divided is not None:
        each = gate.counts("number of rows, in parts", lambda: divided(source), gate.left * share)
        spread, values = len(each.values) * each.variance, np.asarray(each.values, np.float64)
        return dataclasses.replace(opening, n_rows=float(values.sum()), n_rows_variance=spread, parts=values)

    def rows() -> int:
        batch = batch_rows(len(axes))
        read.append(source.count(RowMap(axes), batch_size=batch) if known is None else source.count(known))
        return int(read[0].counts.sum())

    found = gate.hold("number of rows", gate.left * share, "sequential").numbers(rows)
    kept = None if known is None else read[0]
    return dataclasses.replace(opening, n_rows=float(found.values), n_rows_variance=found.variance, counts=kept)


def _check_of_table(
    check_first: Any, wanted: Wanted, n_axes: int, unit: Unit | None, expected: float | None, *, wide: bool
) -> Price | None:
    """Return the price of a check before a release, for one unit; refuse one that could not find a misread table."""
    if check_first is None:
        return None
    stated = Epsilon(checks.budget("check_first", check_first))
    price = Rho.within(stated, wanted.delta) if wide and wanted.delta else stated
    whole, moves = wanted.rho if isinstance(price, Rho) else wanted.pure, Moves(l1=n_axes + 1, l2_squared=n_axes + 1)
    if not price < whole or not law_for(price, moves).drawable:
        said = f"a small part of the budget of epsilon {wanted.pure.shown:g}"
        raise InvalidArgument("check_first", check_first, said, f"check_first={wanted.pure.shown / 10:g}")
    error = math.sqrt(law_for(of_row(price, unit), moves).variance)
    if expected and error > (most := readable_error(expected)):
        more = Fraction(error / most)
        enough = (price * more**2).at(wanted.delta) if isinstance(price, Rho) and wanted.delta else stated.shown * more
        said = f"enough to tell {expected:,.0f} rows from none: its noise would be about ±{error:,.0f} rows"
        fix = f"check_first={at_most(float(enough), 2)}" if enough < wanted.pure.shown else "leaving it out"
        raise InvalidArgument("check_first", check_first, said, fix)
    return price


def of_row(price: Price, unit: Unit | None, *, grouped: bool = False) -> Price:
    """Return what a price of one unit is for one row; the most it can be where the number of rows is to be found."""
    if not isinstance(unit, Person) or unit.rows == "auto":
        return price
    return price / (unit.l2_squared(grouped=grouped) if isinstance(price, Rho) else unit.l1)


def _look_first(
    source: engines.Source, declared: Domain, axes: Domain, gate: Gate, price: Price, expected: float | None
) -> dict[str, Any]:
    """Count rows and the missing values of each column with noise; raise if the table looks wrong by these numbers.

    Privacy
    -------
    Neighbours: add or remove one row. It changes the number of rows, and of missing values in each of d columns, by at
    most 1: discrete Laplace noise of scale (d + 1)/ε on each, or in a ρ budget discrete Gaussian noise of variance
    (d + 1)/(2ρ), for the ρ that implies (ε, δ). Of persons, as many rows are used as in the release.
    Whether it raises follows from the noisy numbers. Price: that ε or ρ, which stays charged if it raises.
    """
    every = Domain({c.name: {**declared.to_dict()[c.name], "missing": "own"} for c in released_columns(declared)})
    own, person = every.select(axes.names), gate.person
    line = gate.hold("check: rows and missing values", of_row(price, person), "sequential")
    if person is not None:
        source = PersonTable(source, person, every, own, gate.free.key(8)).bounded(person.l1)
    grid = AxisGrids(own, (1,) * len(own), (False,) * len(own))
    last = [np.arange(size) == size - 1 for size in grid.sizes]  # missing values
    job = MarginalsPass(grid, tuple(GroupedMarginal([j], [gap]) for j, gap in enumerate(last)))
    counted = source.marginals(job)
    moves = Moves(l1=len(own) + 1, l2_squared=len(own) + 1)
    noisy = line.numbers(np.array([counted[0].sum(), *(cells[1] for cells in counted)]), moves)
    rows, *missing = noisy.values.tolist()
    gaps = dict(zip(own.names, missing, strict=True))
    said = doubts(rows, noisy.variance, expected, {n: (m, noisy.variance) for n, m in gaps.items()}, axes.unit)
    error = math.sqrt(noisy.variance)
    if not said and (rows <= SURE * error or (expected and error > readable_error(expected))):
        said = (f"about {max(rows, 0.0):,.0f} rows were counted, ±{error:,.0f}: the noise hides if values can be read",)
    if said:
        rest = "was charged to the ledger, too" if gate.charged_at_once else "was not spent"
        spent = gate.book(gate.promise({}))
        raise DataSourceError(
            f"the check stopped the release: {'; '.join(said)}. {CAUSES}. This cost epsilon {spent.epsilon:.4g}"
            f"{f' with delta {spent.delta:g}' if spent.delta else ''}, which stays spent; the rest {rest}"
        )
    return {"rows": rows, "missing": gaps, "std_error": error}


def _per_row(price: Epsilon, unit: Unit | None) -> Epsilon:
    """Return what a whole budget is for one row; the most it can be where the number of rows is to be found."""
    if not isinstance(unit, Person):
        return price
    return price * (1 - AUTO_SHARE) if unit.rows == "auto" else price / unit.rows


def _bounded(
    source: engines.Source, declared: Domain, axes: Domain, person: Person, gate: Gate
) -> tuple[engines.Source, Person]:
    """Return the table of the rows that are used, and the unit.

    Privacy
    -------
    Neighbours: add or remove one person, with all their rows. A bound that is not given is a private quantile of the
    persons' numbers of rows, by the exponential mechanism for `AUTO_SHARE` of the budget: a person is one entry of that
    list. The key that decides which rows of a person are used is published nowhere.
    """
    line = None
    if person.rows == "auto":  # charged before rows are read
        line = gate.hold(AUTO_LABEL, (gate.whole * AUTO_SHARE).pure(), "sequential", per="unit")
    people = PersonTable(source, person, declared, axes, gate.free.key(8))
    if line is not None:
        chosen = line.choose(lambda: bound_scores(people.histogram(AUTO_ROWS[-1] + 1)), AUTO_SPAN, AUTO_WEIGHTS)
        person = dataclasses.replace(person, rows=AUTO_ROWS[chosen])
    gate.bound(person)
    return people.bounded(person.l1), person


def bound_scores(histogram: IntArray) -> IntArray:
    """Score the numbers that a bound can be: -|10 L - 9 n|, with L persons of n that have no more rows.

    Another person changes what is between the bars by 1 or by -9, so all scores change by -9 to 9: `AUTO_SPAN`.
    """
    within = np.cumsum(histogram)[np.array(AUTO_ROWS) - 1]
    return np.asarray(-np.abs(10 * within - 9 * int(histogram.sum())), np.int64)


#: Options that `open_release` checks together.
_TOGETHER = ("epsilon", "rho", "delta", "n_rows", "size_share")


def method_options(model: Any) -> dict[str, Any]:
    """Check the options of a method and return them in their clean form; `open_release` checks budget and rows."""
    return {name: model.read_option(name) for name in model.declared if name not in _TOGETHER}


def open_for(model: Any, X: Any, **checks: Any) -> OpenRelease:
    """Open a release with the arguments of an estimator; ``checks`` as in `open_release`."""
    plain = (str, int, float, bool)
    # Never the seed.
    left = ("random_state", "domain", "ledger", "columns", "epsilon")
    asked = {k: v for k, v in model.get_params(deep=False).items() if isinstance(v, plain) and k not in left}
    charged: dict[str, Any] = {"ledger": getattr(model, "ledger", None), "job": type(model).__name__, "asked": asked}
    charged |= {name: getattr(model, name, None) for name in ("expect_rows", "check_first")}
    charged |= {"rho": getattr(model, "rho", None), "delta": getattr(model, "delta", None)} | checks
    return open_release(X, model.domain, model.epsilon, model.random_state, model.n_rows, model.size_share, **charged)


def check_release(
    model: Any,
    check: Callable[[Domain, Any], object],
    select: Callable[[Domain], Domain] | None = None,
    *,
    copies: bool = True,
    gaussian: Callable[[Domain, Epsilon, Rho], bool] | None = None,
) -> None:
    """Check all that `open_release` would of an estimator, against its declared columns: no table is needed.

    Of a domain ``(low, high)`` with two scalars the columns are not known; then all but what depends on them. A budget
    with a δ is refused then if the account could pay for neither kind of noise.
    """
    wanted = wanted_of(model)
    share, public, _ = _shared(wanted, model.random_state, model.n_rows, model.size_share)
    charged: dict[str, Any] = {"ledger": getattr(model, "ledger", None), "job": type(model).__name__}
    charged["unit"] = getattr(model.domain, "unit", None)
    width = _declared_width(model.domain)
    if width is None and isinstance(model.domain, tuple):
        if gaussian is not None and wanted.rho is not None:
            with suppress(BudgetExceeded):
                Gate.check(wanted, gaussian=True, **charged)
                return
        Gate.check(wanted, **charged)
        return
    declared = as_domain(model.domain, [f"x{i}" for i in range(width or 1)])
    axes = check_columns(declared, select=select, copies=copies)
    units = weights.units if copies and (weights := Weights.of(declared)) else 1
    per_row = _per_row(wanted.pure, declared.unit) / units
    _check_prices(per_row, wanted.pure.shown, share, model.size_share, public)
    stated = isinstance(declared.unit, Person) or units > 1 or getattr(model, "rho", None) is not None
    check(axes, per_row.amount if stated else model.epsilon)
    wide, expected = _is_wide(gaussian, axes, wanted), getattr(model, "expect_rows", None) or public
    _check_of_table(getattr(model, "check_first", None), wanted, len(axes), declared.unit, expected, wide=wide)
    Gate.check(wanted, gaussian=wide, **charged)


def _is_wide(gaussian: Callable[[Domain, Epsilon, Rho], bool] | None, axes: Domain, wanted: Wanted) -> bool:
    return gaussian is not None and wanted.rho is not None and gaussian(axes, wanted.pure, wanted.rho)


def check_columns(declared: Domain, *, select: Callable[[Domain], Domain] | None = None, copies: bool = True) -> Domain:
    """Return the columns that may be released and take part; refuse a promise about rows that was not meant."""
    check_unit(declared)
    if isinstance(declared.unit, Person):
        for name in declared.unit.group:
            declared.position(name)  # refuses a column that is not declared
    axes = released_columns(declared, weights=not copies)
    return axes if select is None else select(axes)


def _shared(
    wanted: Wanted, random_state: Any, n_rows: Any, size_share: Any
) -> tuple[Fraction, float | None, noise.Generator]:
    """Check the arguments that need no columns."""
    share = Fraction(1) if size_share is None else checks.probability("size_share", size_share)
    public = None if n_rows is None else _size(n_rows)
    _check_prices(wanted.pure, wanted.pure.shown, share, size_share, public)
    return share, public, noise.generator(random_state, "random_state")


def _check_prices(per_row: Epsilon, epsilon: Any, share: Fraction, size_share: Any, public: float | None) -> None:
    """Refuse a budget so small, for one row, that its noise cannot be drawn."""
    if per_row < SMALLEST_EPSILON:
        expected = f"at least {SMALLEST_EPSILON.shown:g} for one row: noise for less hides a thousand million rows"
        raise InvalidArgument("epsilon", epsilon, expected, "epsilon=0.1")
    if public is None and not law_for(per_row * share).drawable:
        expected = f"large enough to estimate the number of rows from epsilon={epsilon!r}"
        raise InvalidArgument("size_share", size_share, expected, "size_share=0.03")


def bind(source: engines.Source, declared: Domain, axes: Domain) -> engines.Source:
    """Match a table with the columns that may be released.

    By name they are all that is looked for; by place the other declared columns have to be counted in, a person's too.
    """
    return engines.open(source, axes if source.named and declared.named else declared)


def table(X: Any, width: int | None = None, names: Sequence[str] = ()) -> Any:
    """Return what `engines.open` can read: lists become arrays, and what is not a table is refused by its form.

    ``width`` is the number of declared columns, if it is known, and ``names`` what they are called. Without a width the
    first row of a list that is a sequence shows it.
    """
    # Of the type: a frame of Spark Connect takes any name for a column.
    if hasattr(type(X), "toarray") and hasattr(type(X), "nnz"):
        raise InvalidType("X", type(X), "a dense table; sparse input is not supported", "X=X.toarray()")
    if isinstance(X, (list, tuple)):
        paths = len(X) > 0 and all(isinstance(x, (str, Path)) for x in X)
        return X if paths or (engines.is_records(X) and not names) else _listed(X, width, names)
    # Objects that know how to become an array but are no table of a library the engines know by name.
    if hasattr(X, "__array__") and not any(hasattr(X, name) for name in ("columns", "to_frame")):
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "c":
            raise InvalidType("X", X.dtype, "real numbers: Complex data not supported", "X=X.real")
        if X.ndim != 2:
            fix = "Reshape your data: X=np.reshape(X, (-1, 1)) for one column"
            # Not the shape: the number of rows is a raw count.
            raise InvalidArgument("X", f"{X.ndim}D array", "a table of rows by columns; expected 2D array", fix)
        if not X.shape[1]:
            raise SchemaError("X has 0 feature(s) while a minimum of 1 is required")
    return X


def _listed(rows: Sequence[Any], width: int | None, names: Sequence[str] = ()) -> npt.NDArray[np.object_]:
    """Lay lists out as an array of objects, so that no row changes how others are read.

    A mapping is read by the names of the declared columns, a row that is not a sequence as one value. A row of another
    length is missing. Refused for their form: a flat list for several columns, and rows that all have one other length.
    """
    if names:
        rows = [[row.get(name) for name in names] if isinstance(row, Mapping) else row for row in rows]
    first = next((row for row in rows if _is_row(row)), None)
    if first is None and any(row is not None for row in rows) and width != 1:
        fix = "Reshape your data: X=np.reshape(X, (-1, 1)) for one column"
        raise InvalidArgument("X", "1D list", "a table of rows by columns; expected 2D array", fix)
    if width is None:
        width = (len(first) if first is not None else 0) or 1
    lengths = {len(row) if _is_row(row) else None for row in rows}
    if len(lengths) == 1 and None not in lengths and lengths != {width}:
        expected = f"rows of {width} values, one per declared column"
        raise InvalidArgument("X", f"rows of {lengths.pop()} values", expected, "X=table")
    laid = np.full((len(rows), width), None, dtype=object)
    for i, row in enumerate(rows):
        values = row if _is_row(row) else (row,)
        if len(values) == width:
            for j, value in enumerate(values):
                laid[i, j] = value
    return laid


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _declared_names(domain: Any) -> list[str]:
    """Return what the declared columns are called; nothing where they have no names."""
    if isinstance(domain, Domain):
        return list(domain.names) if domain.named else []
    return [str(name) for name in domain] if isinstance(domain, Mapping) else []


def _declared_width(domain: Any) -> int | None:
    """Return the number of columns that a user's ``domain`` declares, None where two scalars hold for any number."""
    if isinstance(domain, (Domain, Mapping)):
        return len(domain)
    if isinstance(domain, tuple) and len(domain) == 2:
        sizes = [len(end) for end in domain if _is_row(end)]
        return max((size for size in sizes if size > 1), default=None)
    return None


def note_columns(estimator: Any, X: Any) -> None:
    """Set what scikit-learn expects an estimator to remember of its columns: their number, and names if any.

    The last step of a fit: it also warns if the release looks empty.
    """
    domain = getattr(estimator, "domain", None)
    source = engines.open(table(X, _declared_width(domain), _declared_names(domain)), dialect=dialect_of(domain))
    estimator.n_features_in_ = len(source.names)
    # Polars has names that are texts, and a lazy frame warns about asking for them.
    names = () if hasattr(type(X), "collect_schema") else getattr(X, "columns", ())
    if source.named and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(source.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # left from an earlier fit
    made = getattr(estimator, "synopsis_", None)
    if made is not None and made.looks_empty:  # from released figures alone
        warnings.warn(made.warnings[0], DiscreetWarning, stacklevel=3)


def _size(n_rows: Any) -> float:
    fix = "n_rows=1000, or None to estimate it"
    number = checks.finite("n_rows", n_rows, fix=fix)
    if not 0 <= number <= options.MOST_ROWS:
        raise InvalidArgument("n_rows", n_rows, f"a public number of rows, from 0 to {options.MOST_ROWS:.0e}", fix)
    return number
