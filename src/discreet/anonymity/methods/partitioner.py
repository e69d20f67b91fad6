"""What the partitioning methods share: read, grow on the build records, then enforce on every release."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from discreet import engines
from discreet.anonymity.growth.frontier import enforce, refuse_root
from discreet.anonymity.growth.grid import make_grid
from discreet.anonymity.growth.grow import GrownTree, grow_tree
from discreet.anonymity.growth.hierarchy import Hierarchy
from discreet.anonymity.growth.outside import grow_outside
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.masking.masked import refuse_coded
from discreet.anonymity.methods.blind import check_blind, check_settings, growth_rules
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.framed import FramedTable, framed
from discreet.anonymity.release.record import following_column, read_previous
from discreet.anonymity.release.release import Release, publish
from discreet.anonymity.release.spilled import MEMORY, SpilledTable, is_large, spilled
from discreet.anonymity.release.table import Table, TablePlan, read_table, without_values
from discreet.anonymity.release.together import enforce_together, read_past
from discreet.anonymity.risk.rules import Rules, stacked
from discreet.core import Categorical, EstimatorHtml, IntArray, Person, as_domain, checks, dialect_of
from discreet.errors import InvalidArgument, InvalidType

#: What is assumed of a release that was checked against earlier ones.
TOGETHER = (
    "the earlier releases that were named are all there are about these people, and an attacker who holds them knows "
    "no more than who was in which, their quasi-identifiers and who was suppressed"
)
#: Records to grow a partition on: in memory, in a file, or on Spark.
BuildRecords: TypeAlias = Table | SpilledTable | FramedTable
R = TypeVar("R", Table, SpilledTable, FramedTable)
#: Asks for a hierarchy that merges rare categories, built on the records.
MERGE = "merge"


class Partitioner(EstimatorHtml, BaseEstimator):  # type: ignore[misc]
    """Read, fit, transform. A subclass says how to grow (`_grow`) and what to tell of it (`_facts`)."""

    k: Any
    l_diversity: Any
    t_closeness: Any
    domain: Any
    sensitive: Any
    target: Any
    grid: Any
    l_kind: Any
    t_kind: Any
    c: Any
    hierarchies: Any
    suppress: Any
    keep: Any
    person: Any = None
    blind: Any = False
    #: Whether k can count persons; a method that cannot refuses a person column.
    _counts_persons = True
    #: Whether a declared top or bottom is kept; a method that publishes values refuses it.
    _codes_ends = True
    #: Bytes that build records may take in memory: only time depends on it.
    _memory = MEMORY

    plan_: TablePlan
    rules_: Rules
    tree_: Tree
    hierarchies_: dict[str, Hierarchy]

    def fit(self, data: Any, y: Any = None) -> Any:
        """Grow the partition on the build records.

        Parameters
        ----------
        data : array, data frame, table or path
            The records: what `discreet.engines.open` takes.
        y : ignored
        """
        plan, trees = self._plan(data)
        source = engines.open(data, plan.domain)
        if self._grows_outside and source.remote:
            with framed(source, plan, self.rules_) as records:
                self._partition(*self._ready(source, records, trees))
        elif self._grows_outside and is_large(source, plan, self._memory):
            with spilled(source, plan, self.rules_, max(1, self._memory // 2)) as rows:
                self._partition(*self._ready(source, rows, trees))
        else:
            self._refuse_larger(source, plan)
            self._partition(*self._ready(source, read_table(source, plan), trees))
        return self

    def _refuse_larger(self, source: engines.Source, plan: TablePlan) -> None:
        """Refuse what needs all rows in memory of a table that does not fit."""

    def is_large(self, data: Any) -> bool:
        """Tell whether `fit` takes these records from a file of bins, by what is known before they are read.

        The partition is the same either way. A table that is not held in memory is best released with
        `transform_file`.
        """
        plan, _ = self._plan(data)
        return self._grows_outside and is_large(engines.open(data, plan.domain), plan, self._memory)

    def transform(
        self,
        data: Any,
        output: str = "interval",
        *,
        random_state: Any = None,
        previous: Any = None,
        order: str = "shuffled",
        identifiers: str = "drop",
        key: bytes | None = None,
    ) -> Release:
        """Release records. Acts on the release as a whole: it is checked again, cells are merged where it must be.

        Parameters
        ----------
        data : array, data frame, table or path
            All records that are handed out together.
        output : {"interval", "center", "sample"}
            What stands for the quasi-identifiers; see `discreet.anonymity.Release`.
        random_state : None, int or Generator
            For drawing and shuffling; None is secure.
        previous : Release, ReleaseRecord, ReleaseHistory, path, or list of these, optional
            All earlier releases about some of the same people, by any partition: their `ReleaseHistory`, or the release records
            that they wrote (`Release.save_record`). Then whatever can be told apart by intersecting and subtracting the
            tables keeps the rules too: cells are merged for that, and people who were never published may be
            suppressed. The schema must name an identifier or a person. See docs/releasing-again.md.
        order, identifiers, key
            See `discreet.anonymity.release.delivery.Delivery`.

        Raises
        ------
        InvalidArgument
            If the release cannot keep the rules, with the value reached.
        """
        check_is_fitted(self, "tree_")
        table = read_table(data, self.plan_)
        delivery = Delivery(output, random_state, order, identifiers, key)
        return self._release(table, self.tree_.route(table.bins), previous, delivery)

    def fit_transform(
        self, data: Any, y: Any = None, output: str = "interval", *, previous: Any = None, **delivery: Any
    ) -> Release:
        """Grow the partition on these records and release them. Parameters as in `transform`."""
        return self._release(*self._fit(data), previous, Delivery(output, **delivery))

    def _grow(self, table: BuildRecords, tiers: Mapping[int, IntArray], rules: Rules) -> GrownTree:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        raise NotImplementedError

    def _notes(self) -> list[str]:
        return []

    def _fit(self, data: Any) -> tuple[Table, IntArray]:
        """Grow on records that are to be released from memory; return them and their leaves."""
        table, tiers = self._read(data)
        return table, self._partition(table, tiers)

    @property
    def _grows_outside(self) -> bool:
        """Whether counts are all that growth looks at, so that rows need not be in memory."""
        return False

    def _partition(self, table: BuildRecords, tiers: Mapping[int, IntArray]) -> IntArray:
        """Grow; return the leaf of every row that is in memory."""
        rules = growth_rules(self.rules_, self.blind)
        grown = self._grow(table, tiers, rules)
        persons = table.entries.persons
        if persons is not None:
            # Growth counts rows. Cells of k rows, and cells of as many rows as k persons have on average, both merged
            # until k persons are in each; the finer partition is kept.
            rows = math.ceil(rules.k * table.n / len(np.unique(persons)))
            other = self._grow(table, tiers, replace(rules, k=max(rows, rules.k)))
            found = [_with_persons(g, table, rules) for g in (grown, other)]
            grown = max(found, key=lambda g: g.tree.n_leaves)
        self.tree_ = grown.tree
        self.leaf_counts_ = grown.counts[grown.tree.leaves]
        self.n_features_in_ = len(self.plan_.quasi)
        return grown.leaf

    def _read(self, data: Any) -> tuple[Table, dict[int, IntArray]]:
        """Check the arguments, read the build records, and refuse what no partition can make anonymous."""
        plan, trees = self._plan(data)
        return self._ready(data, read_table(data, plan), trees)

    def _plan(self, data: Any) -> tuple[TablePlan, dict[str, Hierarchy | str]]:
        """Check the arguments."""
        rules, plan, trees = self._settings(lambda: engines.open(data, dialect=dialect_of(self.domain)).names)
        sensitive = {n: t for n, t in trees.items() if isinstance(t, Hierarchy) and n in plan.sensitive}
        self.rules_ = replace(rules, hierarchies=sensitive)
        return plan, trees

    def _ready(self, data: Any, table: R, trees: Mapping[str, Hierarchy | str]) -> tuple[R, dict[int, IntArray]]:
        """Put categories in the order of their hierarchies, and refuse what no partition can make anonymous."""
        plan = table.plan
        given = {name: tree for name, tree in trees.items() if isinstance(tree, Hierarchy)}
        _refuse_missing(data, table)
        for j, name in enumerate(plan.quasi):
            if trees.get(name) == MERGE:
                given[name] = _merging(table, j)
        table = _reordered(table, given)
        self.plan_ = table.plan
        self.hierarchies_ = given
        whole = table.entries
        good = self.rules_.measure(whole.place, whole.sensitive, whole.persons, whole.rows).ok
        refuse_root(self.rules_, whole.sensitive, np.ones(len(whole.rows), bool), good, whole.persons, whole.rows)
        return table, self._tiers()

    def _tiers(self) -> dict[int, IntArray]:
        """Return where the hierarchies of the quasi-identifiers may be cut."""
        trees = self.hierarchies_
        columns = ((j, name) for j, name in enumerate(self.plan_.quasi) if name in trees)
        return {j: trees[name].tiers(_categories(self.plan_, j)) for j, name in columns}

    def check(self) -> None:
        """Refuse what no table could be released with, by the declared columns: what `fit` refuses first.

        Of a domain ``(low, high)`` the columns are not known; then all but what depends on them.
        """
        self._settings(self._possible_names)

    def _possible_names(self) -> list[str]:
        """Return names that the columns of a domain without names may have: those spoken of, and some others."""
        if not isinstance(self.domain, tuple):
            return []
        mappings = (self.grid, self.hierarchies, getattr(self, "widths", None))
        listed = [self.sensitive, self.target, self.keep, self.person, *(m for m in mappings if isinstance(m, Mapping))]
        spoken = [n for given in listed if given is not None for n in ([given] if isinstance(given, str) else given)]
        names = list(dict.fromkeys(spoken))
        sizes = [len(end) for end in self.domain if isinstance(end, (list, tuple)) or np.ndim(end) == 1]
        width = max(sizes, default=1)  # one number holds for any number of columns
        fresh = (name for i in itertools.count() if (name := f"x{i}") not in names)
        return names + list(itertools.islice(fresh, max(width - len(names), 0) if width > 1 else 1))

    def _settings(self, names: Callable[[], Sequence[str]]) -> tuple[Rules, TablePlan, dict[str, Hierarchy | str]]:
        """Check the arguments against the declared columns; ``names`` are the table's, for a domain without any."""
        rules = Rules(self.k, self.l_diversity, self.l_kind, self.c, self.t_closeness, self.t_kind)
        checks.probability("suppress", self.suppress, closed=True)
        check_settings(self.blind, getattr(self, "supervised", False), getattr(self, "mode", "") == "relaxed")
        if self.domain is None:
            raise InvalidType("domain", None, "a Domain", 'domain=Domain({"age": (0, 120)})')
        plan = TablePlan.of(
            as_domain(self.domain, names()),
            sensitive=self.sensitive,
            target=self.target,
            keep=self.keep,
            person=self.person,
            grid=self.grid,
        )
        self._check_person(plan)
        if not self._codes_ends:
            refuse_coded(plan, type(self).__name__)
        if isinstance(plan.domain.unit, Person):
            rules = replace(rules, per_person=True)
        rules.check_columns(plan.sensitive)
        for column in map(plan.domain.column, plan.sensitive):
            most = len(column.categories) if isinstance(column, Categorical) else math.inf
            if rules.l_on and (rules.l_diversity or 0) > most:
                expected = f"no more than the declared values of {column.name!r}: at most it is {most}"
                raise InvalidArgument("l_diversity", rules.l_diversity, expected, f"l_diversity={most}")
        self._check(plan)
        return rules, plan, _read_hierarchies(self.hierarchies, plan)

    def _check(self, plan: TablePlan) -> None:
        """Check what only this method takes."""

    def _check_person(self, plan: TablePlan) -> None:
        if plan.person is not None and not self._counts_persons:
            raise InvalidArgument(
                "person",
                plan.person,
                f"left out: {type(self).__name__} here counts rows, not persons",
                "DensityTree, strict Mondrian or Generalization, or declare the column an identifier",
            )

    def _release(self, table: Table, leaf: IntArray, previous: Any, delivery: Delivery) -> Release:
        records = [] if previous is None else read_previous(previous)
        settings, notes, suppress = self._facts(), self._notes(), float(self.suppress)
        if records:
            if self.blind:
                raise InvalidArgument("previous", "given", "left out where blind=True", "previous=None")
            following_column(self.plan_)
            past = read_past(records, table, leaf)
            found, together = enforce_together(self.tree_, leaf, self.rules_, table, past, suppress=suppress)
            settings |= {"earlier_releases": len(records), "reached_together": together}
            notes.append(TOGETHER)
        else:
            rules = growth_rules(self.rules_, self.blind)
            found = enforce(self.tree_, leaf, rules, table.sensitive, suppress=suppress, persons=table.persons)
        cells = found.cells(self.tree_)
        if self.blind:
            check_blind(self.rules_, cells.of, table.sensitive, table.persons)
            settings["cuts"] = "blind"
        return publish(
            table,
            cells,
            self.rules_,
            delivery,
            method=type(self).__name__,
            settings={**settings, "leaves_merged": found.merged, "suppression_allowed": suppress},
            notes=notes,
            earlier=[record.seal for record in records],
        )


@dataclass(eq=False, repr=False)
class RulePartitioner(Partitioner):
    """A partitioner of which k, l and t can be asked; `DensityTree` says what the arguments mean."""

    k: int = 10
    l_diversity: float | None = None
    t_closeness: float | None = None
    _: KW_ONLY
    domain: Any = None
    sensitive: Sequence[str] | str | None = None
    target: str | None = None
    grid: Any = None
    l_kind: str = "distinct"
    t_kind: str = "auto"
    c: float = 3.0
    hierarchies: Mapping[str, Any] | None = None
    suppress: float = 0.0
    keep: Sequence[str] = ()
    person: str | None = None


def grow_records(table: BuildRecords, rules: Rules, **settings: Any) -> GrownTree:
    """Grow on build records, wherever they are; ``settings`` as `grow_tree` takes them."""
    if not isinstance(table, Table):
        limits = rules.limits(table.entries.sensitive, rows=table.entries.rows)
        return grow_outside(table, table.plan.grids, limits, memory=table.memory, **settings)
    codes, limits = stacked(table.sensitive, table.n), rules.limits(table.sensitive)
    return grow_tree(table.bins, table.plan.grids, limits, sensitive=codes, target=table.target, **settings)


def _with_persons(grown: GrownTree, table: BuildRecords, rules: Rules) -> GrownTree:
    """Merge leaves until each holds k persons."""
    held = table.placed(grown.tree, grown.leaf)
    found = enforce(grown.tree, held.place, rules, held.sensitive, persons=held.persons, rows=held.rows)
    shown, own = np.unique(found.node, return_inverse=True)
    at = np.zeros(grown.tree.n_nodes, bool)
    at[shown] = True
    tree = grown.tree.collapsed(at)
    own = own.ravel()  # every leaf was grown on rows: those that are left come in the order of the nodes shown
    counts = np.zeros(tree.n_nodes, np.int64)
    counts[tree.leaves] = np.bincount(own, held.rows, minlength=len(shown)).astype(np.int64)
    return GrownTree(tree, tree.totals(counts), tree.leaves[own] if len(grown.leaf) else grown.leaf)


def _read_hierarchies(given: Any, plan: TablePlan) -> dict[str, Hierarchy | str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidType("hierarchies", type(given), "a mapping from column to Hierarchy", '{"job": "merge"}')
    found: dict[str, Hierarchy | str] = {}
    for name, tree in given.items():
        if name not in (*plan.quasi, *plan.sensitive):
            raise InvalidArgument("hierarchies", name, "given for quasi-identifiers and sensitive columns", "no other")
        column = plan.domain.column(name)
        if not isinstance(column, Categorical):
            raise InvalidArgument(
                "hierarchies", name, "given for columns with categories; numbers have a grid", f"grid={{{name!r}: 10}}"
            )
        if isinstance(tree, str) and tree == MERGE and name in plan.quasi:
            found[name] = MERGE
            continue
        if isinstance(tree, str):
            raise InvalidArgument("hierarchies", tree, 'a Hierarchy, or "merge" for a quasi-identifier', '"merge"')
        read = tree if isinstance(tree, Hierarchy) else Hierarchy(tree)
        read.check(name, column.categories)
        if name in plan.quasi:
            read.labels(name, column.categories)  # they are printed
        found[name] = read
    return found


def _categories(plan: TablePlan, j: int) -> tuple[Any, ...]:
    column = plan.grids[j].column
    assert isinstance(column, Categorical)
    return column.categories


def _merging(table: BuildRecords, j: int) -> Hierarchy:
    categories = _categories(table.plan, j)
    return Hierarchy.merging(categories, table.bin_counts(j)[: len(categories)].tolist())


def _reordered(table: R, trees: Mapping[str, Hierarchy]) -> R:
    """Put the categories of columns with a hierarchy in its order."""
    grids, places = list(table.plan.grids), {}
    for j, name in enumerate(table.plan.quasi):
        if name in trees:
            categories = _categories(table.plan, j)
            order = trees[name].order(categories)
            grids[j] = make_grid(grids[j].column, None, order, trees[name].labels(name, categories))
            places[j] = np.arange(grids[j].n_bins, dtype=np.uint16)
            places[j][list(order)] = np.arange(len(order))
    return table.reordered(grids, places)


def _refuse_missing(data: Any, table: BuildRecords) -> None:
    """Refuse a quasi-identifier without a single value (spec density-trees, 9.3.5)."""
    plan = table.plan
    empty = []
    if table.n:
        own = [(j, grid) for j, grid in enumerate(plan.grids) if grid.own_missing]
        empty = [grid.name for j, grid in own if table.bin_counts(j)[grid.levels] == table.n]
    elif table.dropped:
        source = engines.open(data, plan.domain)
        for name in plan.quasi:
            pieces = source.batches(plan.domain.select([name]))
            if all(np.isnan(piece[0]).all() for piece in pieces):
                empty.append(name)
    if empty:
        raise without_values(plan.domain.column(empty[0]))
