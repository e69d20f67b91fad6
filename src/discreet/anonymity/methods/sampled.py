"""Sampling before k-anonymity: a recoded table that is differentially private (Li, Qardaji and Su 2012)."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.accounts import Account
from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.methods.generalization import ClassesOf, Ladder, _given, _runs, ladders_of
from discreet.anonymity.release.prepare import make_plan, names_of, ordered_grids, read_hierarchies, tiers_of
from discreet.anonymity.release.release import Release, _bounds, _intervals
from discreet.anonymity.release.rows import batches
from discreet.anonymity.release.table import TablePlan
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.printed import with_legend
from discreet.anonymity.risk.rules import Rules
from discreet.core import (
    DOMAIN,
    LEDGER,
    RANDOM_STATE,
    Declared,
    Estimator,
    IntArray,
    Person,
    checks,
    option,
    write_sealed,
)
from discreet.engines import check_target
from discreet.engines.tables import format_facts
from discreet.errors import InvalidArgument, SchemaError
from discreet.mechanisms import Gate, drawn_classes, sampling_epsilon, sampling_price
from discreet.noise.stream import generator

_FIXED = (
    "levels, hierarchies, widths, thresholds and grid were fixed without looking at the rows",
    "nothing else about these rows leaves: not how many there are, who was drawn, or what was left out",
    "the declared columns, bounds and categories are public and were not chosen by looking at the data",
)


@dataclass(frozen=True, eq=False, repr=False)
class SampledRelease(Release):
    """A table of drawn and recoded rows, class by class, with its (ε, δ).

    ``rows`` is empty, ``suppressed`` and ``dropped`` are None: they would reveal something about other rows. An account
    that paid for it knows every file that `save` writes.
    """

    _account: Account | None = None

    def _book_with(self, booking: Any, target: Path) -> Any:
        account = self._account
        if account is None:
            return super()._book_with(booking, target)
        return lambda sealed: account.add_file(self.guarantee.digest, target.name, sealed.digest)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_account": None}

    @cached_property
    def bounds(self) -> pa.Table:
        """The columns for programs: lower and upper ends, or lists of categories."""
        return pa.table(_bounds(self.cells, self.cells.of))

    def __repr__(self) -> str:
        promised = f"epsilon = {self.guarantee.epsilon:.4g}, delta = {self.guarantee.delta:.3g}"
        return f"<release of {len(self)} drawn rows in {self.cells.n_cells} classes, {promised}>"


class SampledGeneralization(Declared, Estimator):
    """Draw rows at random, recode whole columns, publish the classes that hold k drawn rows.

    Every published column must be a quasi-identifier (or all plain attributes); identifiers are left out. A sensitive,
    kept or target column would be passed on unchanged and is refused.

    Attributes
    ----------
    release_ : SampledRelease
        The table with its guarantee: central model, (ε, δ).
    guarantee_ : Guarantee
        The same guarantee.

    Privacy
    -------
    Unit: one row. Neighbours: add or remove one row. A row changes the number n of rows of one class, which is fixed
    without the data, from n to n + 1 or changes nothing (a row with a missing value in a column that drops it). The
    class shows a Binomial(n, sample) number of equal rows if that is at least k, else nothing; classes are independent,
    and the table is a function of these numbers. `discreet.mechanisms.sampled` computes δ(ε) of this law exactly, with
    its proof. It is never above the bound of Li, Qardaji and Su (2012, theorem 1).
    Nothing else is released: not n, not how many rows were left out, and no table is refused for its rows. Several
    rows of one person would move several counts, so a schema with persons is refused. The recoding must be fixed
    before: `DensityTree`, `Mondrian` and levels chosen by Datafly's rule follow the data.

    Examples
    --------
    >>> import discreet as dc
    >>> people = dc.datasets.people(20_000)
    >>> domain = dc.Domain({"age": dc.Integer(0, 120), "job": list(people.domain.column("job").categories)})
    >>> method = SampledGeneralization(20, 0.1, domain=domain, levels={"age": 3, "job": 1}, random_state=1)
    >>> release = method.fit_transform(people.table)
    >>> round(release.guarantee.epsilon, 3), release.guarantee.delta
    (0.183, 1e-06)
    >>> release.table["age"][0].as_py(), len(release) < 2_000
    ('[8, 15]', True)
    """

    k: int = option(default=20, low=2, help="A class is published if at least k of its rows were drawn.")
    sample: float = option(default=0.1, above=0, below=1, help="Probability of each row to be drawn, independently.")
    delta: float = option(
        default=1e-6, above=0, below=1, help="The δ of the guarantee; ε follows from it, k and sample."
    )
    _: KW_ONLY
    domain: Any = DOMAIN
    levels: Mapping[str, int] | None = option(
        default=None, job="level", required=True, help="From column to its level; 0 if it is not named.",
        details="See `Generalization`. Levels chosen on the rows would reveal something about them.",
    )  # fmt: skip
    hierarchies: Mapping[str, Any] | None = option(
        default=None, job="hierarchy", help="From categorical column to a `Hierarchy`.",
        details='"merge" depends on the rows and is refused.',
    )  # fmt: skip
    widths: Mapping[str, Sequence[float]] | None = option(
        default=None, help="From numeric column to the widths of its intervals; see `Generalization`."
    )
    grid: Any = option(default=None, help="The public grid of numeric columns; see `Generalization`.")
    ledger: Any = LEDGER
    random_state: Any = RANDOM_STATE

    def fit(self, data: Any, y: Any = None) -> Self:
        """Draw, recode and release these rows: anything that `discreet.engines.open` takes. ``y`` is ignored."""
        self._release(data, Path("x.csv"), "text")  # so the account knows what `save` writes as CSV
        return self

    def release_file(
        self, data: Any, path: str | Path, *, form: str = "text", escape_formulas: bool = False,
        csv_dialect: str = "input",
    ) -> SampledRelease:  # fmt: skip
        """Do the same and write the table with its guarantee (see `Release.save`); an account knows that very file."""
        target = Path(path).expanduser()
        check_target(target, promised=True)
        shown = checks.choice("form", form, ("text", "bounds"))
        payload = self._release(data, target, shown, escape_formulas, csv_dialect)
        write_sealed(target, payload, self.guarantee_)
        return self.release_

    def _release(
        self, data: Any, target: Path, form: str, escape_formulas: bool = False, csv_dialect: str = "input"
    ) -> bytes:
        """Charge, draw, and book what was drawn; return the bytes of the file that is sealed."""
        stream = generator(self.random_state, "random_state")  # refused before the table is opened
        plan, ladders = self._settings(names_of(data, self.domain))
        told = format_facts(target, plan.domain, escape_formulas, csv_dialect)
        price = sampling_price(self.k, self.sample, self.delta)
        source = engines.open(data, plan.domain)
        asked = {"k": int(self.k), "sample": float(self.sample), "columns": list(plan.quasi)}
        job = {"ledger": self.ledger, "job": type(self).__name__, "unit": plan.domain.unit, "asked": asked}
        gate = Gate.open(price, random_state=stream, **job)
        groups = [ladder[self.levels_[name]] for name, ladder in zip(plan.quasi, ladders, strict=True)]
        classes, counts = _count(source, plan, groups)
        drawn = drawn_classes(gate, "drawn classes", counts, self.k, self.sample, self.delta)
        shown = drawn > 0
        first, last = _runs(groups, list(classes[shown].T))
        cells = Cells(plan.grids, first, last, np.repeat(np.arange(int(shown.sum())), drawn[shown]))
        table = pa.table(_intervals(cells, cells.of))
        facts = {
            "method": type(self).__name__, "k": int(self.k), "sample": float(self.sample), "levels": self.levels_,
            "output": "interval", "quasi_identifiers": list(plan.quasi), **cells.legend(), **told,
        }  # fmt: skip
        promise = gate.promise(facts, domain=plan.domain, assumptions=_FIXED)
        untold: Any = None
        account = self.ledger if isinstance(self.ledger, Account) else None
        made = SampledRelease(table, promise, cells, np.empty(0, np.int64), untold, untold, _account=account)
        payload = made._payload(target.suffix, form)
        self.guarantee_ = promise.seal(payload)
        gate.book(self.guarantee_)
        self.release_ = replace(made, table=with_legend(table, self.guarantee_), guarantee=self.guarantee_)
        self.n_features_in_ = len(plan.quasi)
        return payload

    def fit_transform(self, data: Any, y: Any = None) -> SampledRelease:
        """Draw, recode and release these rows; each call draws, and costs, anew."""
        release: SampledRelease = self.fit(data).release_
        return release

    def check(self) -> None:
        """Refuse what no table could be released with, by the declared columns: what `fit` refuses first."""
        if not isinstance(self.domain, tuple):
            self._settings(list)
            unit, job = getattr(self.domain, "unit", None), type(self).__name__
            Gate.check(sampling_price(self.k, self.sample, self.delta), ledger=self.ledger, unit=unit, job=job)

    def _settings(self, names: Any) -> tuple[TablePlan, list[Ladder]]:
        sampling_epsilon(self.k, self.sample, self.delta)
        plan = make_plan(self.domain, names, self.hierarchies, grid=self.grid)
        if self.levels is None:
            what = "given: levels chosen on the rows reveal something about them, and sampling then proves nothing"
            raise InvalidArgument("levels", None, what, f"levels={{{plan.quasi[0]!r}: 1}}")
        if plan.person is not None or isinstance(plan.domain.unit, Person):
            raise SchemaError(
                "the schema names a person, who may have many rows, and the promise is about one row; declare the "
                "column an identifier if everybody has one row, or use a synopsis, whose unit can be a person"
            )
        for name in plan.passed:
            role = "sensitive" if name in plan.sensitive else "target"
            raise SchemaError(
                f"column {name!r} has the role {role} and would be passed on as it is; every published column must be "
                "a quasi-identifier, so declare it one, or leave it out"
            )
        trees = read_hierarchies(self.hierarchies, plan)
        merged = [name for name, tree in trees.items() if not isinstance(tree, Hierarchy)]
        if merged:
            what = "a Hierarchy: one that merges rare categories follows the rows, and sampling then proves nothing"
            raise InvalidArgument("hierarchies", trees[merged[0]], what, "groups that are public")
        plan = replace(plan, grids=tuple(ordered_grids(plan, trees)[0]))  # type: ignore[arg-type]
        ladders = ladders_of(plan, tiers_of(plan, trees), self.widths)  # type: ignore[arg-type]
        self.levels_ = _given(self.levels, plan, ladders)
        return plan, ladders


def _count(source: engines.Source, plan: TablePlan, groups: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the classes that occur, as groups of every column in their order, and the rows of each: raw."""
    partition = ClassesOf(groups, Rules(2), 0.0, {})
    counts = np.zeros(0, np.int64)
    for bins, _, _ in batches(source, plan, []):
        found = np.bincount(partition.route(bins), minlength=len(counts))
        found[: len(counts)] += counts
        counts = found
    classes = partition.known()[: len(counts)]
    order = np.lexsort(classes.T[::-1]) if len(classes) else np.empty(0, np.int64)
    return classes[order], counts[order]
