"""The base of all perturbers: reading a table, categories by randomised response, the guarantee.

A perturber is a transformer without state: `transform` draws fresh noise for every row, and every call is one more
release about the same people. `fit` only checks the arguments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet import noise
from discreet.accounts import Reservation
from discreet.core import (
    Box,
    Categorical,
    Code,
    Date,
    Declared,
    Domain,
    Estimator,
    FloatArray,
    Guarantee,
    Integer,
    Numeric,
    Time,
    check_unit,
    checks,
    option,
    released_columns,
    row_promise,
    time_array,
)
from discreet.engines import RowWriter, WrittenTable, check_target
from discreet.engines.tables import with_format
from discreet.errors import DataSourceError, InvalidArgument, InvalidType
from discreet.metric.rows import ROWS_AT_ONCE, chunks_of, like, open_rows, read_rows
from discreet.metric.user_ledger import UserLedger, charge_rows, check_ledger
from discreet.noise.reports import Response, Together

PUBLIC_DOMAIN = "the declared bounds, categories and metric are public"
ONE_REPORT = "every person is in one row, perturbed once; further rows and further calls about a person add up"
ONE_CALL = "every row is perturbed once; further calls about a row add up"
IN_ORDER = "rows come out in the order they went in: the order itself is not protected"
ORDERS = ("shuffled", "input")

CATEGORY_EPSILON: Any = option(
    default=None, takes=("budget", "figures"), example=1.0,
    help="Budget of each categorical column, by randomised response; comes on top of ``epsilon``.",
    details="One number for all, or a dict by column.",
)  # fmt: skip

#: The neighbours of numbers in the local model.
ANY_NUMBERS = "any two values of every number"

MISSING_VALUES = (
    "missing and unreadable values are not told apart from others: whatever the rule 'missing' of a column is, a "
    "number without a value counts as the middle of its bounds, a category as one drawn at random, and no row is left "
    "out"
)


@dataclass(frozen=True)
class Spending:
    """The law of the numeric columns, and the words of its guarantee."""

    label: str
    law: Any
    neighbours: str
    parameters: Mapping[str, Any]
    assumptions: tuple[str, ...] = ()


class Perturber(Declared, Estimator, mixins=("TransformerMixin",)):
    """The base of `NDLaplace` and the mechanisms that are compared with it.

    A subclass declares its options, among them ``domain``, ``category_epsilon`` and ``random_state``, and defines
    ``_numbers(box, dates)``: the mechanism for numeric columns in that box, an object with ``spending`` and
    ``perturb(rows, stream)``.
    """

    MODEL = "metric"

    @property
    def _name(self) -> str:
        """Name of the mechanism in the guarantee."""
        return type(self).__name__

    @abstractmethod
    def _numbers(self, box: Box, dates: Sequence[bool] = ()) -> Any:
        """Return the mechanism for the numeric columns."""

    def fit(self, X: Any = None, y: Any = None) -> Perturber:
        """Check the arguments and, with a table, its columns. No row is read.

        ``X`` is needed only if the domain is a pair of bounds.
        """
        domain = self._whole(X)
        if domain is None:
            if X is None:
                raise InvalidType("domain", type(self.domain).__name__, "a Domain, or a table X with it", "fit(X)")
            domain = open_rows(X, self._declared(X))[1]
        assumed = self._about_rows(X)
        domain = released_columns(domain)
        self._set_guarantee(domain, *self._mechanisms(domain), assumed=assumed)
        return self

    def _declared(self, X: Any = None) -> Any:
        """Return the domain as declared."""
        return self.domain

    def _whole(self, X: Any = None) -> Domain | None:
        """Return the declared columns; None if a pair of bounds stands for any number of them."""
        declared = self._declared(X)
        if isinstance(declared, Mapping):
            return Domain(declared)
        return declared if isinstance(declared, Domain) else None

    def _about_rows(self, X: Any, ledger: UserLedger | None = None) -> tuple[str, ...]:
        """Return the assumptions of a promise about rows; refuse one for a table of persons unless it was asked for.

        With a ledger the promise is about users, whose rows are added up.
        """
        declared = self._whole(X)
        if ledger is not None:
            check_ledger(ledger)
            return (ledger.promise,)
        if declared is None:
            return (ONE_REPORT,)
        check_unit(declared, bounded=False)
        named = row_promise(declared)
        return (*named, ONE_CALL) if named else (ONE_REPORT,)

    def transform(self, X: Any, *, users: Any = None, ledger: UserLedger | None = None, period: Any = None) -> Any:
        """Perturb every row of a table.

        Parameters
        ----------
        X : array, data frame, table or path
            The rows. Values outside the bounds count as the nearest bound, missing numbers as the middle of the column,
            missing categories as random ones. Columns with the role identifier or person are left out; with a person,
            the domain must say ``unit="row"``, or a ledger add up the rows. In an array, dates are days since 1970.
        users, ledger, period : array, UserLedger and str, optional
            The user of every row; what is charged for every row before anything is drawn; the period, if the ledger has
            a limit for each.

        Returns
        -------
        table
            Of the kind of ``X`` (an Arrow table for a path), with the declared columns and the rows in their order.
            The order may reveal whose row it is: shuffle rows before you publish them, or use `transform_file`.
        """
        assumed = self._about_rows(X, ledger)
        rows, domain = read_rows(X, self._declared(X))
        numbers, categories = self._mechanisms(domain)
        stream = noise.generator(self.random_state, "random_state")
        self._set_guarantee(domain, numbers, categories, seeded=stream.seeded, assumed=assumed)
        if ledger is not None or users is not None:
            charge_rows(ledger, users, len(rows), self.guarantee_, period)
        chunks = (rows[start : start + ROWS_AT_ONCE] for start in range(0, max(len(rows), 1), ROWS_AT_ONCE))
        if isinstance(X, np.ndarray) and numbers is not None and not categories:
            moved = np.empty_like(rows)
            for i, chunk in enumerate(chunks):
                moved[i * ROWS_AT_ONCE : i * ROWS_AT_ONCE + len(chunk)] = numbers.perturb(chunk, stream)
            return moved
        found = [self._perturbed(chunk, domain, numbers, categories, stream) for chunk in chunks]
        columns = {name: np.concatenate([part[name] for part in found]) for name in domain.names}
        return like(X, domain.names, columns)

    def transform_file(
        self,
        X: Any,
        target: str | Path,
        *,
        users: Any = None,
        ledger: UserLedger | None = None,
        period: Any = None,
        order: str = "shuffled",
        escape_formulas: bool = False,
        csv_dialect: str = "input",
        booking: Reservation | None = None,
    ) -> WrittenTable:
        """Perturb every row and write a file, also for tables larger than memory and Spark frames.

        The rows are those of `transform` with the same seed, in random order. The file appears when it is complete,
        together with its promise, ``<name>.guarantee.json``.

        Parameters
        ----------
        X : array, data frame, table or path
            The rows, as in `transform`.
        target : str or Path
            The file: Parquet or a workbook by its suffix (``.parquet``, ``.xlsx``), else CSV.
        users, ledger, period
            As in `transform`. A first pass counts the rows to charge the ledger.
        order : {"shuffled", "input"}
            A uniformly random order (`discreet.noise.RowOrder`), or that of the input for internal tables, which the
            guarantee then states. A table larger than memory is shuffled through temporary files next to the target.
        escape_formulas : bool
            CSV: put an apostrophe before categories that a spreadsheet would run.
        csv_dialect : {"input", "plain", "excel-de", "excel-en"}
            CSV: separator and decimal mark of the declared input, of programs, or of a spreadsheet.
        booking : Reservation, optional
            A reservation of an account, made before with ``promise=mechanism.guarantee_``. The guarantee names it, and
            it is booked before the file appears.
        """
        assumed = self._about_rows(X, ledger)
        source, domain = open_rows(X, self._declared(X))
        numbers, categories = self._mechanisms(domain)
        order = checks.choice("order", order, ORDERS)
        check_target(target, promised=True, source=source)
        stream = noise.generator(self.random_state, "random_state")
        promise = self._set_guarantee(domain, numbers, categories, seeded=stream.seeded, assumed=assumed, order=order)
        self.guarantee_ = with_format(promise, target, escape_formulas, csv_dialect, booking)
        charged = None
        if ledger is not None or users is not None:
            first = domain.select([domain.names[0]])
            charged = sum(len(columns[0]) for columns in source.batches(first))
            charge_rows(ledger, users, charged, self.guarantee_, period)
        shuffled = noise.RowOrder(noise.second_stream(self.random_state, stream)) if order == "shuffled" else None
        with RowWriter(target, self.guarantee_, shuffled, book=None if booking is None else booking.book) as out:
            for chunk in chunks_of(source, domain):
                out.write(like(None, domain.names, self._perturbed(chunk, domain, numbers, categories, stream)))
            if charged is not None and out.n_rows != charged:
                raise DataSourceError(
                    "data: the table changed while it was read, or gives other rows each time; write it out first"
                )
            return out.finish()

    def _perturbed(
        self,
        rows: FloatArray,
        domain: Domain,
        numbers: Any,
        categories: Mapping[str, Response],
        stream: noise.Generator,
    ) -> dict[str, Any]:
        """Draw the noise of a chunk of rows: first the numbers, then each column of categories."""
        columns: dict[str, Any] = {}
        if numbers is not None:
            chosen = [i for i, c in enumerate(domain) if isinstance(c, Numeric)]
            own = rows if len(chosen) == len(domain) else np.ascontiguousarray(rows[:, chosen])
            moved = numbers.perturb(own, stream)
            partly = getattr(numbers, "n_sent", len(chosen)) < len(chosen)
            for j, i in enumerate(chosen):
                columns[domain.names[i]] = _values(moved[:, j], domain.columns[i], partly)
        for name, law in categories.items():
            column = domain.column(name)
            assert isinstance(column, Categorical)
            columns[name] = _respond(rows[:, domain.position(name)], column, law, stream)
        return columns

    def _mechanisms(self, domain: Domain) -> tuple[Any, dict[str, Response]]:
        for column in domain:
            if isinstance(column, Code):
                what = "columns of numbers and categories; codes have no distance"
                raise InvalidArgument("domain", column.name, what, f"leaving {column.name!r} out")
        numeric = numeric_names(domain)
        categorical = {c.name: max(len(c.categories), 2) for c in domain if isinstance(c, Categorical)}
        numbers, given = numeric_mechanism(self, domain) if numeric else None, self.read_option("category_epsilon")
        if not categorical:
            return numbers, {}
        if given is None:
            first = next(iter(categorical))
            expected = f"a budget: column {first!r} has categories, which have no distance"
            raise InvalidArgument("category_epsilon", None, expected, "category_epsilon=1.0")
        if isinstance(given, Mapping):
            absent = [name for name in categorical if name not in given]
            if absent:
                raise InvalidArgument("category_epsilon", sorted(given), f"with a budget for column {absent[0]!r}")
            budgets = {name: checks.budget(f"category_epsilon[{name!r}]", given[name]) for name in categorical}
        else:
            budgets = dict.fromkeys(categorical, checks.budget("category_epsilon", given))
        return numbers, {name: Response(budgets[name], size) for name, size in categorical.items()}

    def _set_guarantee(
        self,
        domain: Domain,
        numbers: Any,
        categories: Mapping[str, Response],
        seeded: bool | None = None,
        assumed: tuple[str, ...] = (ONE_REPORT,),
        order: str = "input",
    ) -> Guarantee:
        parts: list[tuple[str, Any]] = []
        parameters: dict[str, Any] = {"mechanism": self._name}
        numeric, assumptions = "", [PUBLIC_DOMAIN, MISSING_VALUES, *assumed]
        if numbers is not None:
            spending: Spending = numbers.spending
            parts.append((spending.label, spending.law))
            numeric = spending.neighbours
            parameters.update(spending.parameters)
            assumptions += spending.assumptions
        parameters["order"] = order
        assumptions += [IN_ORDER] if order == "input" else []
        parts += [(f"category of {name!r}", law) for name, law in categories.items()]
        if categories:
            parameters["category_epsilon"] = {name: str(law.epsilon) for name, law in categories.items()}
        self.guarantee_ = Guarantee.of_law(
            Together(tuple(parts)),
            model=self.MODEL,  # type: ignore[arg-type]
            unit="one row",
            neighbours=row_neighbours(numeric, bool(categories)),
            parameters=parameters,
            domain=domain,
            assumptions=tuple(assumptions),
            seeded=noise.generator(self.random_state, "random_state").seeded if seeded is None else seeded,
        )
        return self.guarantee_

    def __sklearn_is_fitted__(self) -> bool:
        return True  # nothing is learned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.non_deterministic = True
        return tags


def _values(numbers: FloatArray, column: Any, partly: bool) -> Any:
    """Return numbers as values of their column: dates to the day, whole numbers as such; if ``partly``, NaN stays."""
    if isinstance(column, Time):  # what the noise carried past an end of the day stays at that end
        return np.array(time_array(numbers).to_pylist(), dtype=object)
    if not isinstance(column, (Integer, Date)):
        return numbers
    unreported = np.isnan(numbers)
    whole = np.clip(np.rint(np.where(unreported, 0, numbers)), -(2.0**62), 2.0**62).astype(np.int64)
    if isinstance(column, Date):
        return np.where(unreported, np.datetime64("NaT"), whole.astype("datetime64[D]"))
    return np.where(unreported, np.nan, whole) if partly else whole


def checked_domain(perturber: Perturber) -> Domain:
    """Return the released columns of a declared domain."""
    whole = perturber._whole()
    if whole is None:
        given = type(perturber.domain).__name__
        raise InvalidType("domain", given, "a Domain with its columns", "Domain.box(0, [1, 1])")
    return released_columns(whole)


def row_neighbours(numbers: str, categories: bool) -> str:
    """Return the neighbours of a perturbed row in words, given those of its numbers, if it has any."""
    parts = [numbers, "any two categories in each of the others" if categories else ""]
    return "two values of one row: " + ", and ".join(filter(None, parts))


def numeric_names(domain: Domain) -> list[str]:
    """Return the columns that are perturbed as numbers; dates are among them, in days."""
    return [c.name for c in domain if isinstance(c, Numeric)]


def numeric_mechanism(perturber: Perturber, domain: Domain) -> Any:
    """Return the mechanism for the numeric columns of a domain."""
    numeric = domain.select(numeric_names(domain))
    return perturber._numbers(numeric.bounds, [isinstance(c, (Date, Time)) for c in numeric])


def _respond(codes: FloatArray, column: Categorical, law: Response, stream: noise.Generator) -> Any:
    """Draw categories by randomised response; codes are places on the column's axis, NaN if missing."""
    k = len(column.categories)
    names = np.array(column.categories, dtype=object if _mixed(column) else None)
    if k < 2:
        return np.repeat(names, len(codes))
    anything = np.asarray(noise.below(k, size=len(codes), rng=stream))
    own = np.where(np.isnan(codes), anything, np.nan_to_num(codes)).astype(np.int64)
    return names[law.draw(own, stream)]


def _mixed(column: Categorical) -> bool:
    return len({type(c) for c in column.categories}) > 1 or isinstance(column.categories[0], str)
