"""Questions one by one, against a budget: a session that answers with noise and refuses when the account is empty.

For a few questions that are known beforehand. A synopsis answers any number of questions for one price.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.accounts import Account, check_ledger
from discreet.core import LARGEST_BUDGET, Categorical, Domain, Ledger, Person, as_domain, checks, dialect_of
from discreet.core.budget import Approx, Epsilon, Wanted
from discreet.engines.persons import PersonKeys, Weights
from discreet.engines.readers import column_batches
from discreet.errors import InvalidArgument, InvalidType
from discreet.mechanisms import SMALLEST_SELECTION, Gate, selected_words
from discreet.noise.stream import generator
from discreet.synopses.opening import check_columns, of_row, open_release, table
from discreet.synopses.session.answer import Answer
from discreet.synopses.session.measures import Count, Deviation, Distinct, Mean, Measure, Quantiles, Sum, Variance
from discreet.synopses.session.plan import Lookup, Plan, QueryPlan, rounded_up
from discreet.synopses.session.plan import names_of as _names

#: The share of ε that pays for keys that are selected privately; δ pays for nothing else.
_KEY_SHARE = Fraction(1, 4)
#: The group of a purchase for which no key was selected.
_NO_KEYS = "(no key was selected)"


class QuerySession:
    """Ask a table for noisy figures one by one, each charged to an account before rows are read.

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

    Notes
    -----
    All questions take these options:

    ``where``
        Which rows: a condition as `Synopsis.ask` takes it (``"age > 30 and sex = 'f'"``), or a mapping from columns to
        ``(low, high)`` or categories. A row without a value in a column that takes part is left out, unless the
        column's rule is "own".
    ``by``, ``bins``
        Columns to group by: categories, up to 128 whole numbers, or bins, as edges or their number (a mapping by column
        if there are several), or "month", "quarter" or "year" for dates. A bin holds its lower edge, and rows outside
        the edges are in no group (``note`` says so). All groups together cost one price.
    ``keys="private"``
        Groups by columns of text that the domain does not declare. A quarter of ``epsilon``, and ``delta``, select the
        keys that enough rows or persons have (`private_categories`); the guarantee includes both.
    ``epsilon``, ``delta``
        The price. With ``delta``, Gaussian noise is used where it is narrower, as it can be for persons with many rows.
    ``error``, ``of``, ``rows``
        Instead of ``epsilon``: the standard error that is wanted, or with ``of`` a share of that number or earlier
        answer. Means and variances need ``rows``, a public guess of the rows per group or an earlier count.
    ``explain=True``
        Spend nothing: return what `explain` returns.

    Privacy
    -------
    Neighbours: add or remove one row, or one person with all their rows where the domain's unit is a `Person`: then at
    most ``rows`` of them are used, and what follows is said of rows at ε/rows. Each question is ε-differentially
    private with its own ε, and questions add up (adaptive composition). Groups are disjoint and their keys do not
    depend on rows, so a row changes the figures of one group only. `discreet.synopses.session.measures` derives the
    sensitivity and noise of every figure.

    With ``Person("user", rows=g*r, group="town", per_group=r)``, a person has at most r rows in each of g towns: in ε
    the noise grows with g r, in ρ with √g r, if towns are what is grouped by.

    If the domain has a column of role ``weight``, all answers are weighted: counts and sums by the weights, means and
    quantiles of the weighted rows. A row counts as up to 64 copies (`discreet.engines.persons.weighted`), so all of
    this is said of copies at ε/64, and a count has the noise of the declared maximum weight over ε. Intervals allow for
    rounding to copies if rows weigh at least a 64th of the maximum; a sum of values of both signs then has no ends.

    Which rows a condition leaves out is decided row by row. Whether a question is refused depends on arguments, schema
    and account alone.

    Examples
    --------
    >>> import discreet as dc
    >>> rows = {"age": [25, 31, 40, 62] * 50, "sex": ["f", "m"] * 100}
    >>> domain = dc.Domain({"age": dc.Integer(17, 90), "sex": ["f", "m"]})
    >>> account = dc.Ledger(epsilon=20)
    >>> session = QuerySession(pa.table(rows), account, domain=domain, random_state=1)
    >>> session.histogram("sex", epsilon=2), session.top_k("sex", 1, epsilon=2)
    (Answer(f 99, m 100: epsilon 2), Answer(m 101: epsilon 2))
    >>> session.crosstab("sex", "age", bins=[17, 50, 91], epsilon=2)
    Answer(f/17 to 49 99, f/50 to 90 0, m/17 to 49 50, m/50 to 90 49; 1 with few rows: epsilon 2)
    >>> session.sum("age", epsilon=2), session.mean("age", epsilon=2)
    (Answer(7889: 95 % interval 7754 to 8024, epsilon 2), Answer(39.641: 95 % interval 39.2348 to 40.0437, epsilon 2))
    >>> round(session.variance("age", epsilon=2).value, 2), round(session.std("age", epsilon=2).value, 2)
    (207.96, 14.17)
    >>> session.distinct("age", epsilon=2), session.quantile("age", epsilon=2)
    (Answer(4: 95 % interval 3 to 5, epsilon 2), Answer(39: 95 % interval 27 to 48, epsilon 2))
    >>> answer = session.quantiles("age", [0.25, 0.75], by="sex", epsilon=2)
    >>> answer, answer.guarantee.epsilon, float(account.remaining)
    (Answer(f (25, 40), m (31, 62): epsilon 2), 2.0, 0.0)
    """

    _dry = False

    def __init__(self, table: Any, account: Any, *, domain: Any, random_state: Any = None) -> None:
        if not isinstance(account, (Ledger, Account)):
            raise InvalidType("account", type(account).__name__, "an Account or a Ledger", "account=Ledger(epsilon=1)")
        check_ledger(account)
        self.account, self.domain, self._table = account, domain, table
        # One stream for all questions: with one seed, noise of two answers must not be the same.
        self._stream = generator(random_state, "random_state")

    def __repr__(self) -> str:
        return f"QuerySession({', '.join(self._declared().names)}: {self.account!r})"

    # ---- questions

    def count(self, where: Any = None, *, column: str | None = None, **how: Any) -> Any:
        """Count rows; with ``column``, those that have a value in it.

        Examples
        --------
        >>> import discreet as dc
        >>> rows = {"age": [25, 31, 40, 62] * 50, "sex": ["f", "m"] * 100}
        >>> domain = dc.Domain({"age": dc.Integer(17, 90), "sex": ["f", "m"]})
        >>> session = dc.QuerySession(pa.table(rows), dc.Ledger(epsilon=5), domain=domain, random_state=1)
        >>> session.count("age > 30 and sex = 'm'", epsilon=1)
        Answer(99: 95 % interval 96 to 102, epsilon 1)
        >>> session.count(by=["sex", "age"], bins=[17, 30, 90], epsilon=1)
        Answer(f/17 to 29 52, f/30 to 89 50, m/17 to 29 4, m/30 to 89 99; 1 with few rows: epsilon 1)
        """
        return self._buy({"count": Count(column)}, where, **how)

    def histogram(self, column: str, bins: Any = None, where: Any = None, **how: Any) -> Any:
        """Count rows by category, or by bins between the declared bounds: their number (10) or edges."""
        axes = self._released()
        if bins is None and column in axes.names and not isinstance(axes.column(column), Categorical):
            bins = 10
        cut = bins if bins is None or isinstance(bins, Mapping) else {column: bins}
        return self._buy({"histogram": Count()}, where, by=[*_names(how.pop("by", None)), column], bins=cut, **how)

    def crosstab(self, first: str, second: str, *more: str, where: Any = None, **how: Any) -> Any:
        """Count rows by two or more columns."""
        by = [*_names(how.pop("by", None)), first, second, *more]
        return self._buy({"crosstab": Count()}, where, by=by, **how)

    def top_k(self, column: str, k: int = 10, where: Any = None, **how: Any) -> Any:
        """Return the ``k`` most frequent values of a column with their counts, by noisy counts of all values.

        All values are counted for one price, so the noise does not grow with ``k``.
        """
        k, by = checks.whole("k", k, low=1), [*_names(how.pop("by", None)), column]
        found = self._buy({"top_k": Count()}, where, by=by, **how)
        return found.largest(k, len(by) > 1) if isinstance(found, Answer) else found

    def distinct(self, column: str, where: Any = None, **how: Any) -> Any:
        """Count how many declared categories or whole numbers occur in a column, or how many persons there are.

        Privacy
        -------
        Persons are counted by one row of each, so one person more changes the number by 1: discrete Laplace noise of
        scale 1/ε, however many rows the unit allows. Rows without a person count as the unit says.
        """
        if isinstance(unit := self._declared().unit, Person) and column == unit.column:
            if where is not None or how.get("by"):  # the one row that is used need not be among those asked for
                raise InvalidArgument("column", column, "counted without where and by: it is the person", "count(...)")
            once = copy.copy(self)
            once.domain = self._declared().with_unit(replace(unit, rows=1, group=(), per_group=None))
            return once._buy({"distinct": Count()}, **how)
        if weights := self._declared().weights:
            raise InvalidArgument("column", column, f"asked without the weight {weights[0]!r}", "another domain")
        return self._buy({"distinct": Distinct(column)}, where, **how)

    def sum(self, column: str, where: Any = None, **how: Any) -> Any:
        """Add up the values of a column of numbers, clamped to its declared bounds."""
        return self._buy({"sum": Sum(column)}, where, **how)

    def mean(self, column: str, where: Any = None, **how: Any) -> Any:
        """Return the mean of a column of numbers, clamped to its declared bounds.

        If the noisy number of rows is small, the interval is the whole range of the column.
        """
        return self._buy({"mean": Mean(column)}, where, **how)

    def variance(self, column: str, where: Any = None, **how: Any) -> Any:
        """Return the variance of a column of numbers, clamped to its declared bounds; divided by the number of rows."""
        return self._buy({"variance": Variance(column)}, where, **how)

    def std(self, column: str, where: Any = None, **how: Any) -> Any:
        """Return the standard deviation of a column of numbers: the root of its variance."""
        return self._buy({"std": Deviation(column)}, where, **how)

    def quantile(self, column: str, q: float = 0.5, where: Any = None, **how: Any) -> Any:
        """Return a quantile of a column of numbers, to a 1024th of its range; 0.5 is the median."""
        return self._buy({"quantile": Quantiles(column, (checks.probability("q", q),))}, where, **how)

    def quantiles(self, column: str, qs: Any = (0.25, 0.5, 0.75), where: Any = None, **how: Any) -> Any:
        """Return several quantiles of a column of numbers for one price; whole numbers stay whole."""
        return self._buy({"quantiles": Quantiles(column, _shares(qs))}, where, **how)

    def sql(self, query: str, *, tables: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """Answer a SELECT statement: it compiles to the questions above.

        Aggregates are COUNT, COUNT(DISTINCT ...), SUM, AVG, VARIANCE, STDDEV, MEDIAN and PERCENTILE_CONT; several share
        the price equally. WHERE takes the conditions of `Synopsis.ask`, GROUP BY columns, LEFT JOIN a public table of
        ``tables`` with a unique key. ORDER BY and LIMIT apply to the noisy answer. Everything else is refused by name.
        Needs ``sqlglot`` (extra "sql").

        Examples
        --------
        >>> import discreet as dc
        >>> rows = {"age": [25, 31, 40, 62] * 50, "town": ["Ash", "Birch"] * 100}
        >>> domain = dc.Domain({"age": dc.Integer(17, 90), "town": ["Ash", "Birch"]})
        >>> session = dc.QuerySession(pa.table(rows), dc.Ledger(epsilon=5), domain=domain, random_state=1)
        >>> session.sql("SELECT town, AVG(age) FROM t WHERE age > 30 GROUP BY town", epsilon=4)
        Answer(Ash 40.0048, Birch 46.1062: epsilon 4)
        """
        from discreet.synopses.session import sql

        asked = sql.compiled(query, self._released(), {} if tables is None else tables)
        whose = getattr(self._declared().unit, "column", None)
        if whose in [m.column for m in asked.measures.values() if isinstance(m, Distinct)]:
            if len(asked.measures) > 1 or asked.where or asked.by:
                expected = "persons alone: COUNT(DISTINCT ...) of them has no WHERE, GROUP BY or second figure"
                raise InvalidArgument("query", query, expected, f"distinct({whose!r})")
            return self.distinct(str(whose), **how)
        try:
            found = self._buy(asked.measures, asked.where, by=asked.by, lookups=asked.lookups, **how)
        except InvalidArgument as error:
            names = [*self._released().names, *(one.column.name for one in asked.lookups)]
            raise asked.restated(error, names) from None
        return found.ordered(asked.order, asked.limit) if isinstance(found, Answer) else found

    def explain(self, question: str, *arguments: Any, **how: Any) -> QueryPlan:
        """Return price, unit, noise and expected error of a question, and spend nothing.

        Parameters
        ----------
        question : str
            The name of a question ("mean"), or a SELECT statement.
        *arguments, **how
            Its arguments. ``rows`` is a public guess of the rows per group.

        Examples
        --------
        >>> import discreet as dc
        >>> domain = dc.Domain({"age": dc.Integer(17, 90), "sex": ["f", "m"]})
        >>> session = dc.QuerySession(pa.table({"age": [30], "sex": ["f"]}), dc.Ledger(epsilon=1), domain=domain)
        >>> session.explain("mean", "age", by="sex", epsilon=0.5, rows=1000)
        QueryPlan(2 groups for epsilon 0.5; mean of age: max-norm noise, standard error about 0.206 with 1,000 rows per group)
        """  # noqa: E501
        dry = copy.copy(self)
        dry._dry = True
        if isinstance(question, str) and question.strip().lower().startswith("select"):
            made = dry.sql(question, *arguments, **how)
        else:
            checks.choice("question", question, _QUESTIONS)
            made = getattr(dry, question)(*arguments, **how)
        assert isinstance(made, QueryPlan)
        return made

    # ---- what they share

    def _released(self) -> Domain:
        """Return the declared columns that may be released; no row is read."""
        return check_columns(self._declared())

    def _declared(self) -> Domain:
        if isinstance(self.domain, tuple):
            return as_domain(self.domain, engines.open(table(self._table, None, ())).names)
        return as_domain(self.domain, ())

    def _buy(
        self, measures: Mapping[str, Measure], where: Any = None, *, by: Any = (), bins: Any = None, keys: Any = None,
        epsilon: Any = None, delta: Any = None, error: Any = None, of: Any = None, rows: Any = None,
        explain: bool = False, lookups: tuple[Lookup, ...] = (), **unknown: Any,
    ) -> Answer | QueryPlan:  # fmt: skip
        """Charge the account, then read rows and release every figure; or explain what that would cost."""
        if unknown:
            near = checks.nearest(next(iter(unknown)), _OPTIONS) or "epsilon"
            raise InvalidType("option", next(iter(unknown)), f"one of {', '.join(_OPTIONS)}", f"{near}=...")
        job, guess = next(iter(measures)) if len(measures) == 1 else "sql", _guess("rows", rows)
        asked: dict[str, Any] = {"measures": measures, "by": by, "bins": bins, "where": where, "lookups": lookups}
        declared, selected = self._declared(), self._open_keys(keys, by, delta)
        if selected:  # as if no key was found
            declared = _with(declared, dict.fromkeys(selected, ()))
        plan, share = Plan.of(check_columns(declared), **asked), 1 - _KEY_SHARE * bool(selected)
        if error is not None:
            epsilon = self._price(plan, declared, epsilon, error, of, guess, share)
        spare = None if selected else delta  # δ pays for keys alone
        wanted = Wanted.read(epsilon, None, spare)
        pure, rho = wanted.pure if wanted.pure.infinite else wanted.pure * share, wanted.rho
        price, wide = _per_row(declared, plan, pure), False
        auto = isinstance(declared.unit, Person) and declared.unit.rows == "auto"
        if rho is not None and not auto:
            gaussian = _per_row(declared, plan, rho)
            price, wide = (gaussian, True) if plan.wide(price, gaussian) else (price, False)
        plan.check(price, epsilon, error)
        if selected and wanted.pure.amount * _KEY_SHARE < SMALLEST_SELECTION * len(selected):
            raise InvalidArgument("epsilon", epsilon, "large enough to select keys with a quarter of it", "epsilon=1.0")
        if self._dry or explain:
            unit = declared.unit.describe() if isinstance(declared.unit, Person) else "one row"
            said = f"epsilon {float(epsilon):.6g}" + (f", delta {delta:g}" if delta else "")
            shown = plan.explained(price, unit, said, guess, math.nan if auto else _step(declared))
            return replace(shown, epsilon=float(epsilon))
        told: dict[str, Any] = {"columns": plan.asked}
        if job == "distinct" and not plan.asked and isinstance(declared.unit, Person):
            told["columns"] = [declared.unit.column]
        if where is not None:
            told["where"] = where if isinstance(where, str) else json.dumps(where, default=str)
        opening = open_release(
            self._table, declared if selected else self.domain, epsilon, self._stream, size_share=None,
            select=plan.reading, ledger=self.account, job=job,
            asked=told | ({"by": ", ".join(plan.edges)} if plan.edges else {}), delta=delta, gaussian=lambda *_: wide,
            keys=partial(_select_keys, declared, selected, wanted.pure, delta) if selected else None,
        )  # fmt: skip
        if selected:
            plan = Plan.of(check_columns(opening.declared), **asked)
        found = plan.take(opening)
        stated = replace(opening, domain=plan.stated(opening.declared))
        promised = stated.promise({"method": "QuerySession", "question": job})
        sealed = promised.seal(b"".join(np.asarray(one.value, np.float64).tobytes() for one in found.values()))
        shares = {n: tuple(map(float, m.qs)) for n, m in measures.items() if isinstance(m, Quantiles) and len(m.qs) > 1}
        person = opening.gate.person if told["columns"] == plan.asked else None  # persons are counted, not their rows
        note = " ".join(filter(None, [plan.note, f"O{person.used[1:]}." if person else ""]))
        return Answer(opening.book(sealed), found, plan.keys(), shares, note)

    def _price(
        self, plan: Plan, declared: Domain, epsilon: Any, error: Any, of: Any, rows: float | None, share: Fraction
    ) -> Fraction:
        """Return the least ε, to three digits, whose noise has the wanted error: it depends on arguments alone."""
        wanted = float(checks.positive("error", error)) * (1.0 if of is None else _guess("of", of) or 0.0)
        if epsilon is not None:
            raise InvalidArgument("epsilon", epsilon, "left out with error", "epsilon=None")
        if not wanted:
            raise InvalidArgument("of", of, "a number that is not 0", "of=1000")
        if isinstance(declared.unit, Person) and declared.unit.rows == "auto":
            raise InvalidArgument("error", error, "given with a declared number of rows per person", "epsilon=1.0")

        def errors(paid: Fraction) -> list[float | None]:
            price = _per_row(declared, plan, Epsilon(paid * share))
            return [e for *_, e in plan.explained(price, "", "", rows, _step(declared)).lines]

        small = Fraction(1, 1000)  # errors are as large there as 1/ε says, and smaller for large ε
        known = [e for e in errors(small) if e is not None]
        if len(known) < len(plan.measures):
            quantiles = any(isinstance(m, (Quantiles, Deviation)) for m in plan.measures.values())
            expected = "left out for this figure" if quantiles else "given with a guess of the rows per group"
            raise InvalidArgument("error", error, expected, "epsilon=1.0" if quantiles else "rows=1000")
        found, less = rounded_up(max(known) / 1000 / wanted), Fraction(0)
        if found > LARGEST_BUDGET:
            said = f"so large that an epsilon of {LARGEST_BUDGET:.0e} pays for it"
            raise InvalidArgument("error", error, said, f"error={max(known):.2g}")
        while found > small and (middle := rounded_up(float(found + less) / 2)) < found:
            if max(e or 0.0 for e in errors(middle)) <= wanted:
                found = middle
            else:
                less = middle
            if found - less <= found / 500:
                break
        return found

    def _open_keys(self, keys: Any, by: Any, delta: Any) -> list[str]:
        """Return the columns whose keys are to be selected."""
        if keys is None:
            return []
        checks.choice("keys", keys, ("private",))
        if delta is None:
            raise InvalidArgument("delta", None, "given with keys='private'", "delta=1e-6")
        missing = [name for name in _names(by) if name not in self._declared().names]
        if not missing:
            raise InvalidArgument("keys", keys, "used if a column of by is not declared", "leaving it out")
        return missing


#: Options of every question.
_OPTIONS = ("where", "by", "bins", "keys", "epsilon", "delta", "error", "of", "rows", "explain")
#: What can be asked by name.
_QUESTIONS = (
    "count", "histogram", "crosstab", "top_k", "distinct", "sum", "mean", "variance", "std", "quantile", "quantiles",
)  # fmt: skip


def _with(domain: Domain, words: Mapping[str, Sequence[str]]) -> Domain:
    """Return a domain with more columns: those of selected keys."""
    kept = [column for column in domain.columns if column.name not in words]
    made = [Categorical(name, tuple(found) or (_NO_KEYS,)) for name, found in words.items()]
    return Domain._of([*kept, *made], named=True, unit=domain.unit, source=dialect_of(domain), facts=domain.facts)


def _select_keys(
    declared: Domain, names: Sequence[str], price: Epsilon, delta: Any, gate: Gate, source: engines.Source
) -> Domain:
    """Select the keys of columns privately; return the domain that declares them.

    Privacy
    -------
    Neighbours: as the domain's unit. `discreet.mechanisms.private_categories` for each column, where a person counts
    for one word with all their rows. Price: equal shares of a quarter of ε and of δ, lines of the same gate.
    """
    each = Approx(price if price.infinite else price * _KEY_SHARE / len(names), checks.slack(delta) / len(names))
    unit, found = declared.unit, {}
    whose = unit.column if isinstance(unit, Person) else None
    column = declared.column(whose) if whose in declared.names else None
    persons = PersonKeys(column, source.dialect, gate.free.key(8))
    for name in names:
        own: Any = {} if whose is None else {whose: column}
        read = [batch for _, batch in column_batches(source, [name, *own], persons=own)]
        words = pa.chunked_array([batch[name].cast(pa.large_string()) for batch in read], pa.large_string())
        units: Any = np.arange(len(words))
        if whose is not None:
            units = pa.chunked_array([persons.texts(batch[whose]) for batch in read], pa.large_string())
        found[name] = selected_words(gate, f"keys of {name}", words.combine_chunks(), units, each)
    return _with(declared, found)


def _per_row(domain: Domain, plan: Plan, price: Any) -> Any:
    """Return the price of one row, or copy of a row, for that of one unit."""
    copies = 1 if (weights := Weights.of(domain)) is None else weights.units
    row = of_row(price, domain.unit, grouped=plan.apart(domain.unit))
    return row / (copies if isinstance(price, Epsilon) else copies**2)


def _step(domain: Domain) -> float:
    weights = Weights.of(domain)
    return 1.0 if weights is None else weights.step


def _guess(name: str, value: Any) -> float | None:
    """Read a public guess: a number, or the smallest figure of an earlier answer that is not marked."""
    if value is None:
        return None
    if not isinstance(value, Answer):
        return abs(float(checks.finite(name, value)))
    if isinstance(value.value, dict):
        raise InvalidArgument(name, value, "a number or an answer with one figure", f"{name}=1000")
    figures = np.abs(np.atleast_1d(np.asarray(value.value, np.float64)))
    few = np.zeros(len(figures), bool) if value.few is None else np.atleast_1d(value.few)
    kept = figures[~few] if figures.shape == few.shape and not few.all() else figures
    return float(kept.min())


def _shares(qs: Any) -> tuple[Fraction, ...]:
    fix = "qs=[0.25, 0.5, 0.75]"
    if isinstance(qs, (str, bytes)) or not isinstance(qs, (Sequence, np.ndarray)):
        raise InvalidType("qs", qs, "a list of quantiles", fix)
    made = tuple(checks.probability(f"qs[{i}]", q) for i, q in enumerate(qs))
    if not made or any(a >= b for a, b in pairwise(made)):
        raise InvalidArgument("qs", list(qs), "a non-empty, strictly increasing list", fix)
    return made
