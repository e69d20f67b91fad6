"""How every central release begins: read the form of the table, open the ledger, buy a rough number of rows.

Where the unit is a person, the table is replaced by one in which nobody has more than a stated number of rows, before
anything else sees it (`discreet.engines.persons.bounded`). All that follows is about rows of that table, at a price per
row, and the promise multiplies it. A person changes at most ``rows`` rows of it, so by the triangle inequality for
privacy loss what is ε-differentially private for one row is rows·ε-differentially private for one person, and ρ-zCDP
for one row is rows²·ρ-zCDP. Nothing here has a δ of its own: that would not multiply so.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from discreet import engines, noise
from discreet.accounts import Reservation, check_ledger, reserve
from discreet.core import checks
from discreet.core.arrays import IntArray
from discreet.core.checks import Exact
from discreet.core.domain import Categorical, Domain, as_domain, dialect_of
from discreet.core.guarantee import Guarantee, Ledger, Line
from discreet.core.people import check_unit, released_columns, row_promise
from discreet.core.unit import PERSON_NEIGHBOURS, Person, Unit
from discreet.engines.passes.cells import GridMap, RowMap
from discreet.engines.passes.counts import CellCounts
from discreet.engines.passes.lattice import batch_rows
from discreet.engines.persons.bounded import PersonTable, check_person
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.noise.integer.laplace import LARGEST_SCALE
from discreet.synopses.prices import Wanted, count_law, draw, pay, pure_part, wanted_of

#: Of a central release. Below, noise for a share of the budget would be wider than can be drawn.
SMALLEST_EPSILON = Fraction(1, 10**9)
#: A bound on rows per person that is bought: its share of the budget, and what it can be: few numbers, as every one
#: more can be the wrong one.
AUTO_SHARE = Fraction(1, 20)
AUTO_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
#: Of two that do equally well the smaller is four times as likely: a larger one costs noise and gains nothing.
AUTO_WEIGHTS = tuple(4 ** (len(AUTO_ROWS) - i) for i in range(len(AUTO_ROWS)))
AUTO_SPAN = 18
AUTO_LABEL = "rows per person"
PUBLIC_DOMAIN = "the declared bounds and categories are public"
PUBLIC_SIZE = "the number of rows, N, was given as public"


@dataclass(frozen=True)
class OpenRelease:
    """A release that has begun.

    Attributes
    ----------
    source : Source
        The table, its columns matched with the domain.
    domain : Domain
        The columns that may be released: the declared ones without identifiers and persons.
    declared : Domain
        All declared columns.
    ledger : Ledger
        What is left to spend.
    stream : Generator
        Where all noise comes from.
    n_rows : float
        A noisy or public number of rows; may be negative.
    n_rows_variance : float or None
        Its noise variance, None if it was given as public.
    assumptions : tuple of str
        For the guarantee.
    counts : CellCounts or None
        The raw counts of the grid that was known beforehand, if there was one: as sensitive as the rows.
    reserved : Reservation or None
        What an account has set aside for it.
    person : Person or None
        The unit, if it is a person: with the number of rows that was bought, if it was.
    paid : tuple of Line
        What was bought at a price for a person; the ledger's prices are for a row.
    """

    source: engines.Source
    domain: Domain
    declared: Domain
    ledger: Ledger
    stream: noise.Generator
    n_rows: float
    n_rows_variance: float | None = None
    assumptions: tuple[str, ...] = ()
    counts: CellCounts | None = None
    reserved: Reservation | None = None
    person: Person | None = None
    paid: tuple[Line, ...] = ()

    @property
    def cells_gain(self) -> Fraction:
        """How much more than a row's price, in zCDP, cells may spend where no cell holds rows of two groups.

        A person then puts at most ``per_group`` rows into one cell, so all cells together move by no more than the root
        of `Person.l2_squared`, instead of by ``rows``. Axes of categories are always cut into all of their categories.
        """
        person = self.person
        if person is None or self.ledger.unit == "epsilon" or not person.group:
            return Fraction(1)
        axes = {c.name: c for c in self.domain}
        apart = all(isinstance(axes.get(name), Categorical) for name in person.group)
        return Fraction(person.l2_squared(grouped=False), person.l2_squared()) if apart else Fraction(1)

    def book(self, promise: Guarantee) -> Guarantee:
        """Write into the account, if there is one, that this is published."""
        if self.reserved is not None:
            self.reserved.book(promise)
        return promise

    def promise(self, parameters: Mapping[str, Any]) -> Guarantee:
        """Return what is promised once all is spent: to one row, or, at as many times the price, to one person."""
        if self.ledger.unit == "rho":
            parameters = {**parameters, "noise": "gaussian"}
        if self.reserved is not None:
            parameters = {**parameters, "account": self.reserved.facts}
        facts = {"parameters": parameters, "domain": self.domain, "assumptions": self.assumptions}
        promise = Guarantee.from_ledger(self.ledger, model="central", seeded=self.stream.seeded, **facts)
        if self.person is None:
            return promise
        times = self.person.l1 if self.ledger.unit == "epsilon" else self.person.l2_squared(grouped=False)
        return dataclasses.replace(
            promise,
            unit=self.person.describe(),
            neighbours=PERSON_NEIGHBOURS,
            ledger=(*self.paid, *(line.times(times) for line in promise.ledger)),
        )


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
    gaussian: Callable[[Domain, Exact, Fraction], bool] | None = None,
) -> OpenRelease:
    """Check the arguments that all central methods share, and buy a noisy number of rows.

    Parameters
    ----------
    X : array, data frame, table or path
        The table; what `discreet.engines.open` takes, or nested lists of numbers.
    domain : Domain, mapping or (low, high)
        The declared columns. Those with the role identifier or person are left out: they are never released. A domain
        that names a person must say its unit: a `Person`, or ``unit="row"`` if rows are meant.
    epsilon : float or Fraction
        The whole budget, for one row or one person; ``math.inf`` for a run without privacy.
    random_state : None, int or Generator
        None is secure; anything else marks the guarantee as seeded.
    n_rows : float, optional
        A public number of rows (of those that are used, where the unit is a person). It is believed: a wrong one costs
        accuracy, never privacy.
    size_share : float or None, default 0.03
        Share of the budget that buys the number of rows otherwise. None buys nothing: the number is NaN, and the method
        finds it out by itself.
    check : callable, optional
        Refuses a domain, and what there is to spend on one row, by raising, before anything is spent or read.
    grid : callable, optional
        Returns the grid whose cells will be released, if it does not depend on the number of rows. Then its counts are
        taken at once, and their sum is that number: one pass instead of two.
    select : callable, optional
        Returns the columns that take part, of those that may be released; a function of the declaration alone.
    ledger : Ledger or Account, optional
        Charged with all of ε when everything is checked and before the first row is read.
    job, asked : str, mapping
        What an account writes about it.
    rho, delta : float or Fraction
        With δ beside ε, or with ρ and δ in its place, the release may be zCDP (`prices.py`).
    gaussian : callable, optional
        Told the columns and the pure ε and the ρ that the budget pays for, says whether Gaussian noise is better.

    Privacy
    -------
    Neighbours: add or remove one row. The number of rows with a cell changes by at most 1; it gets discrete Laplace
    noise of scale 1/(share ε), or discrete Gaussian noise for that share of ρ. Price: that share, or nothing with a
    public number. Counts that are handed on are raw; whoever releases them pays for them. Where the unit is a person,
    all of this is said of the bounded table at ε/rows, and holds for persons at ε (see above); or at ρ/rows², and holds
    at ρ (Bun and Steinke 2016, proposition 1.9).

    Examples
    --------
    >>> opening = open_release([[0.5], [0.7]], (0, 1), math.inf, None)
    >>> opening.n_rows, opening.domain
    (2.0, Domain({'x0': (0.0, 1.0)}))
    """
    wanted = Wanted.read(epsilon, rho, delta, n_rows)
    own, share, public, stream = _shared(wanted, random_state, n_rows, size_share)
    check_ledger(ledger)
    source = engines.open(table(X, _declared_width(domain)), dialect=dialect_of(domain))
    if isinstance(domain, tuple):
        source.check_numbers()
    declared = as_domain(domain, source.names)
    axes = check_columns(declared, select=select)
    groups = declared.unit.group if isinstance(declared.unit, Person) else ()
    source = bind(source, declared, declared.select(list(dict.fromkeys([*axes.names, *groups]))) if groups else axes)
    assumed = (PUBLIC_DOMAIN, *row_promise(declared))
    if isinstance(declared.unit, Person):
        check_person(source, declared.unit)
    per_row = _per_row(own.total.exact, declared.unit)
    _check_prices(per_row, float(wanted.pure), share, size_share, public)
    if check is not None:
        check(axes, per_row if isinstance(declared.unit, Person) or rho is not None else epsilon)
    if gaussian is not None and wanted.rho is not None and gaussian(axes, wanted.pure, wanted.rho):
        own = wanted.ledger(gaussian=True)
    reserved = reserve(ledger, job, own, unit=declared.unit, asked={**(asked or {}), "columns": list(axes.names)})
    person: Person | None = None
    paid: tuple[Line, ...] = ()
    if isinstance(declared.unit, Person):
        source, person, own, paid = _bounded(source, declared, axes, declared.unit, own, stream)
        axes, declared = axes.with_unit(person), declared.with_unit(person)
    if public is not None:
        assumed = (*assumed, PUBLIC_SIZE)
        return OpenRelease(source, axes, declared, own, stream, public, None, assumed, None, reserved, person, paid)
    if size_share is None:
        return OpenRelease(source, axes, declared, own, stream, math.nan, None, assumed, None, reserved, person, paid)
    whole = own.total.exact
    price = whole if whole == math.inf else whole * share
    pay(own, "number of rows", price, own.unit, "sequential", law="laplace")
    law = count_law(price, own.unit)
    known = None if grid is None else grid(axes)
    counts = source.count(RowMap(axes), batch_size=batch_rows(len(axes))) if known is None else source.count(known)
    noisy = float(int(counts.counts.sum()) + draw(law, None, stream))
    kept = None if known is None else counts
    return OpenRelease(source, axes, declared, own, stream, noisy, law.variance, assumed, kept, reserved, person, paid)


def _per_row(epsilon: Exact, unit: Unit | None) -> Exact:
    """Return what a whole budget is for one row; the most it can be where the number of rows is to be bought."""
    if not isinstance(unit, Person):
        return epsilon
    return epsilon * (1 - AUTO_SHARE) if unit.rows == "auto" else epsilon / unit.rows


def _bounded(
    source: engines.Source, declared: Domain, axes: Domain, person: Person, ledger: Ledger, stream: noise.Generator
) -> tuple[engines.Source, Person, Ledger, tuple[Line, ...]]:
    """Return the table of the rows that are used, the unit, a ledger per row, and what was paid for the bound.

    Privacy
    -------
    Neighbours: add or remove one person, with all their rows. The bound, if it is bought, is a private quantile of the
    persons' numbers of rows: a person is one entry of that list. It is drawn by the exponential mechanism
    (`discreet.noise.exponential`) with the scores of `bound_scores`, for `AUTO_SHARE` of the budget. What is left,
    divided by the bound, is the price per row of the bounded table. The key of the choice is drawn from the release's
    stream and told nobody.
    """
    paid: tuple[Line, ...] = ()
    if person.rows == "auto":
        whole = ledger.total.exact
        price = pure_part(whole if whole == math.inf else whole * AUTO_SHARE, ledger.unit)
        ledger.spend(AUTO_LABEL, price)
        paid = ledger.lines
    halves = noise.below(2**32, size=16, rng=stream).astype(np.uint64)
    people = PersonTable(source, person, declared, axes, (halves[:8] << np.uint64(32)) | halves[8:])
    if person.rows == "auto":
        scores = bound_scores(people.histogram(AUTO_ROWS[-1] + 1))
        chosen = noise.exponential(scores, epsilon=cast(float, price), span=AUTO_SPAN, counts=AUTO_WEIGHTS, rng=stream)
        person = dataclasses.replace(person, rows=AUTO_ROWS[chosen])
    left = ledger.remaining.exact
    if isinstance(left, float):
        per_row = Ledger(left)
    elif ledger.unit == "epsilon":
        per_row = Ledger(left / person.l1)
    else:
        per_row = Ledger(rho=left / person.l2_squared(grouped=False), delta=Fraction(repr(ledger.delta)))
    return people.bounded(person.l1), person, per_row, paid


def bound_scores(histogram: IntArray) -> IntArray:
    """Score the numbers that a bound can be: how near to nine in ten are the persons with no more rows.

    With L persons of n that have no more, the score is -|10 L - 9 n|. Another person changes what is between the bars
    by 1 or by -9, so all scores change by -9 to 9: `AUTO_SPAN`.

    Examples
    --------
    >>> crowd = np.zeros(AUTO_ROWS[-1] + 1, np.int64)
    >>> crowd[4] = 10  # ten persons with five rows each
    >>> bound_scores(crowd)[:6].tolist()
    [-90, -90, -90, -90, -10, -10]
    """
    within = np.cumsum(histogram)[np.array(AUTO_ROWS) - 1]
    return np.asarray(-np.abs(10 * within - 9 * int(histogram.sum())), np.int64)


def open_for(model: Any, X: Any, **checks: Any) -> OpenRelease:
    """Open a release with the arguments of an estimator; ``checks`` as in `open_release`."""
    plain = (str, int, float, bool)
    # Never the seed.
    left = ("random_state", "domain", "ledger", "columns", "epsilon")
    asked = {k: v for k, v in model.get_params(deep=False).items() if isinstance(v, plain) and k not in left}
    charged: dict[str, Any] = {"ledger": getattr(model, "ledger", None), "job": type(model).__name__, "asked": asked}
    charged |= {"rho": getattr(model, "rho", None), "delta": getattr(model, "delta", None)} | checks
    return open_release(X, model.domain, model.epsilon, model.random_state, model.n_rows, model.size_share, **charged)


def check_release(
    model: Any, check: Callable[[Domain, Any], object], select: Callable[[Domain], Domain] | None = None
) -> None:
    """Check all that `open_release` would of an estimator, against its declared columns: no table is needed.

    Of a domain ``(low, high)`` with two scalars the columns are not known; then all but what depends on them.
    """
    own, share, public, _ = _shared(wanted_of(model), model.random_state, model.n_rows, model.size_share)
    check_ledger(getattr(model, "ledger", None), own, getattr(model.domain, "unit", None), type(model).__name__)
    width = _declared_width(model.domain)
    if width is not None or not isinstance(model.domain, tuple):
        declared = as_domain(model.domain, [f"x{i}" for i in range(width or 1)])
        axes = check_columns(declared, select=select)
        per_row = _per_row(own.total.exact, declared.unit)
        _check_prices(per_row, float(own.total), share, model.size_share, public)
        stated = isinstance(declared.unit, Person) or getattr(model, "rho", None) is not None
        check(axes, per_row if stated else model.epsilon)


def check_columns(declared: Domain, *, select: Callable[[Domain], Domain] | None = None) -> Domain:
    """Return the columns that may be released and take part; refuse a promise about rows that was not meant."""
    check_unit(declared)
    if isinstance(declared.unit, Person):
        for name in declared.unit.group:
            declared.position(name)  # refuses a column that is not declared
    axes = released_columns(declared)
    return axes if select is None else select(axes)


def _shared(
    wanted: Wanted, random_state: Any, n_rows: Any, size_share: Any
) -> tuple[Ledger, Fraction, float | None, noise.Generator]:
    """Check the arguments that need no columns."""
    ledger = wanted.ledger(gaussian=False)
    share = Fraction(1) if size_share is None else checks.probability("size_share", size_share)
    public = None if n_rows is None else _size(n_rows)
    _check_prices(wanted.pure, float(wanted.pure), share, size_share, public)
    return ledger, share, public, noise.generator(random_state)


def _check_prices(per_row: Exact, epsilon: Any, share: Fraction, size_share: Any, public: float | None) -> None:
    """Refuse a budget so small, for one row, that its noise cannot be drawn."""
    if per_row < SMALLEST_EPSILON:
        expected = f"at least {float(SMALLEST_EPSILON):g} for one row: noise for less hides a thousand million rows"
        raise InvalidArgument("epsilon", epsilon, expected, "epsilon=0.1")
    if public is None and per_row * share * LARGEST_SCALE < 1:
        expected = f"large enough to buy the number of rows from epsilon={epsilon!r}"
        raise InvalidArgument("size_share", size_share, expected, "size_share=0.03")


def bind(source: engines.Source, declared: Domain, axes: Domain) -> engines.Source:
    """Match a table with the columns that may be released.

    By name they are all that is looked for; by place the other declared columns have to be counted in, a person's too.
    """
    return engines.open(source, axes if source.named and declared.named else declared)


def table(X: Any, width: int | None = None) -> Any:
    """Return what `engines.open` can read: lists become arrays, and what is not a table is refused by its form.

    ``width`` is the number of declared columns, if it is known. Without it the first row of a list that is a sequence
    tells it.
    """
    # Of the type: a frame of Spark Connect takes any name for a column.
    if hasattr(type(X), "toarray") and hasattr(type(X), "nnz"):
        raise InvalidType("X", type(X), "a dense table; sparse input is not supported", "X=X.toarray()")
    if isinstance(X, (list, tuple)):
        paths = len(X) > 0 and all(isinstance(x, (str, Path)) for x in X)
        return X if paths else _listed(X, width)
    # Objects that know how to become an array but are no table of a library the engines know by name.
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray) and not hasattr(X, "columns"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "c":
            raise InvalidType("X", X.dtype, "real numbers: Complex data not supported", "X=X.real")
        if X.ndim != 2:
            fix = "Reshape your data: X.reshape(-1, 1) for one column"
            # Not the shape: the number of rows is a raw count.
            raise InvalidArgument("X", f"{X.ndim}D array", "a table of rows by columns; expected 2D array", fix)
        if not X.shape[1]:
            raise SchemaError("X has 0 feature(s) while a minimum of 1 is required")
    return X


def _listed(rows: Sequence[Any], width: int | None) -> npt.NDArray[np.object_]:
    """Lay lists out as an array of objects: NumPy would find one type for all rows, by all of their values.

    A row that is no sequence is a row of one value. A row of another length than the columns is missing altogether.
    """
    if width is None:
        first = next((row for row in rows if _is_row(row)), None)
        if first is None and len(rows):
            fix = "Reshape your data: X.reshape(-1, 1) for one column"
            raise InvalidArgument("X", "1D list", "a table of rows by columns; expected 2D array", fix)
        width = (len(first) if first is not None else 0) or 1
    laid = np.full((len(rows), width), None, dtype=object)
    for i, row in enumerate(rows):
        values = row if _is_row(row) else (row,)
        if len(values) == width:
            for j, value in enumerate(values):
                laid[i, j] = value
    return laid


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _declared_width(domain: Any) -> int | None:
    """Return the number of columns that a user's ``domain`` declares, None where two scalars hold for any number."""
    if isinstance(domain, (Domain, Mapping)):
        return len(domain)
    if isinstance(domain, tuple) and len(domain) == 2:
        sizes = [len(end) for end in domain if _is_row(end)]
        return max((size for size in sizes if size > 1), default=None)
    return None


def note_columns(estimator: Any, X: Any) -> None:
    """Set what scikit-learn expects an estimator to remember of its columns: their number, and names if any."""
    domain = getattr(estimator, "domain", None)
    source = engines.open(table(X, _declared_width(domain)), dialect=dialect_of(domain))
    estimator.n_features_in_ = len(source.names)
    # Polars has names that are texts, and of a lazy frame it warns whoever asks for them.
    names = () if hasattr(type(X), "collect_schema") else getattr(X, "columns", ())
    if source.named and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(source.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # left from an earlier fit


def _size(n_rows: Any) -> float:
    number = checks.finite("n_rows", n_rows, fix="n_rows=1000, or None to buy it")
    if number < 0:
        raise InvalidArgument("n_rows", n_rows, "a public number of rows, at least 0", "n_rows=1000, or None to buy it")
    return number
