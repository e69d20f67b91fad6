"""The base of the methods that partition a table: read, grow cells on the build records, check every release."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet import engines, noise
from discreet.anonymity.growth.frontier import enforce, refuse_root
from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.growth.grow import GrownTree, grow_on, grow_tree
from discreet.anonymity.growth.outside import grow_outside
from discreet.anonymity.growth.tree import Tree
from discreet.anonymity.release.blanks import fill_in_together, larger_cells
from discreet.anonymity.release.capped import capped
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.framed import FramedTable, framed
from discreet.anonymity.release.history import as_history
from discreet.anonymity.release.prepare import (
    Hierarchies,
    R,
    make_plan,
    names_of,
    possible_names,
    read_hierarchies,
    tiers_of,
    with_hierarchies,
)
from discreet.anonymity.release.record import GroupCounts, following_column
from discreet.anonymity.release.release import Release, publish
from discreet.anonymity.release.rows import FrozenPartition
from discreet.anonymity.release.spilled import MEMORY, SpilledTable, is_large, known_rows, machine_memory, spilled
from discreet.anonymity.release.streamed import LeavesOf, release_file
from discreet.anonymity.release.table import Table, TablePlan, read_table
from discreet.anonymity.release.together import CONFLICTS, EarlierReleases, enforce_together, facts_together, read_past
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.persons import persons_by_node
from discreet.anonymity.risk.rules import L_KINDS, T_KINDS, LKind, Rules, TKind, growth_rules, stacked
from discreet.core import Categorical, Declared, Domain, Estimator, IntArray, Person, check_fitted, option
from discreet.engines import WrittenTable
from discreet.errors import InvalidArgument

#: An assumption of a release that was checked with earlier ones.
TOGETHER = (
    "the release history holds all earlier releases about these people, and an attacker who holds them knows no more "
    "than who was in which, their quasi-identifiers and who was suppressed"
)
#: Rows to grow a partition on: in memory, in a file, or on Spark.
BuildRecords: TypeAlias = Table | SpilledTable | FramedTable


class Partitioner(Declared, Estimator):
    """Read, fit, transform. A subclass grows cells (`_growth`, `_grow`) and describes them (`_facts`)."""

    k: int = option(
        default=10,
        low=2,
        help="Smallest number of rows (or persons, if a column identifies them) in a group of equal rows.",
    )
    l_diversity: float | None = option(
        default=None, low=1, example=2, job="l", details="See `Rules`.",
        help="Smallest diversity of the sensitive values in each group (l-diversity).",
    )  # fmt: skip
    t_closeness: float | None = option(
        default=None, low=0, high=1, example=0.3, job="t",
        help="Largest distance between the sensitive values of a group and of the table (t-closeness).",
        details="See `Rules`.",
    )  # fmt: skip
    _: KW_ONLY
    domain: Any = option(
        default=None, job="-", required=True, help="The declared columns and their roles.",
        details="If no column is a quasi-identifier, all columns without a role are. Otherwise `keep` must name them.",
    )  # fmt: skip
    sensitive: Sequence[str] | str | None = option(
        default=None, example=["cost"], help="Sensitive columns, instead of those of the schema."
    )
    target: str | None = option(
        default=None, example="label", help="Label column to keep, instead of that of the schema."
    )
    grid: Any = option(
        default=None, help="The public grid of numeric columns: a number of steps, or the inner grid points.",
        details='A mapping sets it by column; for dates also "day", "month" or "year". None takes round steps.',
    )  # fmt: skip
    l_kind: LKind = option(
        takes="text", default="distinct", choices=L_KINDS, help="Measure of diversity.", details="See `Rules`."
    )
    t_kind: TKind = option(
        takes="text", default="auto", choices=T_KINDS, help="Measure of the distance of t-closeness.",
        details="See `Rules`.",
    )  # fmt: skip
    c: float = option(
        default=3.0, above=0,
        help="Constant c of recursive diversity: the most frequent value is rarer than c times the l-th and all less "
        "frequent ones together.",
    )  # fmt: skip
    hierarchies: Mapping[str, Any] | None = option(
        default=None, job="hierarchy", help="From column to a `Hierarchy`, nested groups, or \"merge\".",
        details='"merge" groups rare categories of the build records. Numbers and dates take named intervals '
        '("0..17 minor, 18+ adult"), widths or calendar units. A cell that is a group prints its label.',
    )  # fmt: skip
    suppress: float = option(
        default=0.0, low=0, high=1, example=0.01,
        help="Share of the rows that may be left out, or blanked, instead of merging cells.",
    )  # fmt: skip
    blanks: bool = option(
        default=False, example=True, help="Keep rows that would be left out, with single values blanked.",
        details="A row is printed in a wider group if that keeps the rules: `Generalization` blanks single values, the "
        "other methods print a larger cell of the tree. ``suppress`` is the share of such rows. A blank is printed as "
        "a cell that covers the whole column, and also covers a missing value.",
    )  # fmt: skip
    on_conflict: str = option(
        default="suppress", choices=CONFLICTS, example="merge",
        help="What to do if a release would identify someone together with earlier ones of its history.",
        details='"suppress" merges cells and leaves out rows, whichever loses less, beyond the share of ``suppress`` '
        "if needed; people who were published before may be left out too, so that those who left hide among them. "
        '"merge" only merges cells. "new" publishes only people who were never published. "refuse" changes nothing. '
        "Where that is not enough, the release is refused.",
    )  # fmt: skip
    keep: Sequence[str] = option(default=(), example=["year"], help="Columns without a role to keep unchanged.")
    person: str | None = option(
        default=None, example="patient", help="Column that identifies the person of a row: k then counts persons.",
        details="It is dropped like an identifier. Overrides the roles.",
    )  # fmt: skip
    most_rows: int | None = option(
        default=None, low=1, example=1, help="Most rows to release per person, chosen at random.",
        details="With a release history, rows that were released are chosen again, if they are still there. Needs a "
        "person column, and the table in memory.",
    )  # fmt: skip

    #: Bytes that build records may take in memory; it changes time only.
    _memory: ClassVar[int] = MEMORY

    def fit(self, data: Any, y: Any = None) -> Any:
        """Grow the partition on the build records: anything that `discreet.engines.open` takes. ``y`` is ignored."""
        plan, trees = self._plan(data)
        source = engines.open(data, plan.domain)
        if self._grows_outside and source.remote:
            with framed(source, plan, self.rules_) as records:
                self._partition(*self._ready(source, records, trees))
        elif self._grows_outside and is_large(source, plan, self._memory):
            with spilled(source, plan, self.rules_, max(1, self._memory // 2)) as rows:
                self._partition(*self._ready(source, rows, trees))
        else:
            if not self._grows_outside and known_rows(source) < math.inf and is_large(source, plan, machine_memory()):
                raise self._too_large()
            self._partition(*self._ready(source, read_table(source, plan), trees))
        return self

    def _too_large(self) -> InvalidArgument:
        """Return the error about a table that does not fit into memory, if the options need all rows there."""
        raise NotImplementedError

    def is_large(self, data: Any) -> bool:
        """Return whether `fit` reads these records into a temporary file; release them with `transform_file`."""
        _, plan, _ = self._settings(names_of(data, self.domain))
        large = self._grows_outside and is_large(engines.open(data, plan.domain), plan, self._memory)
        self._refuse_cap(large, self.most_rows)
        return large

    def _refuse_cap(self, outside: bool, most: int | None) -> None:
        """Refuse to choose among the rows of a person if they are not in memory."""
        if outside and most is not None:
            expected = "left out for a table that does not fit into memory, or is released to a file"
            raise InvalidArgument("most_rows", most, expected, "most_rows=None")

    def transform(
        self, data: Any, output: str = "interval", *, random_state: Any = None, history: Any = None,
        order: str = "shuffled", identifiers: str = "drop", key: bytes | None = None,
    ) -> Release:  # fmt: skip
        """Release records. The release is checked as a whole, and cells are merged where necessary.

        Parameters
        ----------
        data : array, data frame, table or path
            All records of the release.
        output : {"interval", "center", "sample"}
            The published form of the quasi-identifiers: bounds of the cell, its centre, or rows drawn from the cells.
        random_state : None, int or Generator
            For drawing and shuffling; None is secure.
        history : ReleaseHistory or its folder, optional
            All releases about the same people. The release is checked with the earlier ones: rows that can be singled
            out by comparing the tables keep the rules too. Cells are merged for that, and people who were never
            published may be suppressed. `Release.save` adds the release to the history. The schema must name a person
            or one identifier. See docs/releasing-again.md.
        order : {"shuffled", "input"}
            A random order; or that of the input, for a table that stays inside the organisation. The order of the input
            can identify people: in rows sorted by age, the last of a class is the oldest.
        identifiers : {"drop", "hash"}
            Leave identifiers out, or replace them by a keyed hash (HMAC-SHA256, 16 hexadecimal digits).
        key : bytes, optional
            The secret of the hash, 16 bytes or more.

        Raises
        ------
        InvalidArgument
            If the release cannot keep the rules, with the value reached.
        """
        check_fitted(self, "n_features_in_")
        delivery = Delivery(output, random_state, order, identifiers, key)
        stream = noise.generator(random_state, "random_state")
        table = self._capped(read_table(data, self.plan_), self._at_fit.most_rows, stream, history)
        return self._release(table, None, history, replace(delivery, random_state=stream))

    def fit_transform(
        self, data: Any, y: Any = None, output: str = "interval", *, history: Any = None, **delivery: Any
    ) -> Release:
        """Grow the partition on these records and release them. Parameters as in `transform`."""
        asked = Delivery(output, **delivery)
        stream = noise.generator(asked.random_state, "random_state")
        return self._release(*self._fit(data, history, stream), history, replace(asked, random_state=stream))

    def transform_file(
        self, data: Any, target: str | Path, output: str = "interval", *, form: str = "text",
        random_state: Any = None, order: str = "shuffled", identifiers: str = "drop", key: bytes | None = None,
        escape_formulas: bool = False, csv_dialect: str = "input", booking: Any = None,
    ) -> WrittenTable:  # fmt: skip
        """Release records to a file in two passes: for tables larger than memory, and Spark frames.

        Rows, cells and guarantee are those of `transform`. The first pass finds the cells, the second writes the rows
        and counts them again: the file appears, with its guarantee next to it, only if they keep the promise. There is
        no ``history``: following people through several releases needs the table in memory.

        Parameters
        ----------
        data : array, data frame, table or path
            All records of the release. They are read twice and must be the same both times.
        target : str or Path
            The file: Parquet or a workbook by its suffix (``.parquet``, ``.xlsx``), CSV otherwise. For a Spark frame, a
            new folder of part files that executors and driver can reach; with ``order="input"`` the driver writes one.
        output : {"interval", "center"}
            As in `transform`; drawn rows ("sample") need the table in memory.
        form, escape_formulas, csv_dialect, booking
            As in `Release.save`.
        random_state, order, identifiers, key
            As in `transform`, with the same order for the same seed (for a Spark frame, another one). Shuffling more
            rows than fit into memory takes private temporary files next to the target.

        Returns
        -------
        WrittenTable
            Where the rows are, how many, and their sealed promise.

        Raises
        ------
        InvalidArgument
            If the release cannot keep the rules, with the value reached.
        DataSourceError
            If the second pass met other rows than the first.
        """
        check_fitted(self, "plan_")
        self._refuse_cap(True, self._at_fit.most_rows)
        delivery = Delivery(output, random_state, order, identifiers, key, form, escape_formulas, csv_dialect, booking)
        told: dict[str, Any] = {"method": type(self).__name__, "notes": self._notes()}
        return release_file(data, target, self.plan_, self.rules_, self._frozen_partition(), delivery, **told)

    def _frozen_partition(self) -> FrozenPartition:
        given = self._at_fit
        return LeavesOf(self.tree_, self.rules_, float(given.suppress), self._facts(), self._is_blind, given.blanks)

    def _grow(self, table: BuildRecords, tiers: Mapping[int, IntArray], rules: Rules) -> GrownTree:
        return grow_records(table, rules, **(self._growth(tiers) or {}))

    def _facts(self) -> dict[str, Any]:
        raise NotImplementedError

    def _notes(self) -> list[str]:
        return []

    @property
    def _is_blind(self) -> bool:
        return bool(getattr(self._at_fit, "blind", False))

    def _freeze(self) -> None:
        """Keep the options that the partition is grown with: a release and its guarantee follow these."""
        self._at_fit = SimpleNamespace(**self.read_options())

    @staticmethod
    def _capped(table: Table, most: int | None, stream: Any, history: Any) -> Table:
        """Choose the rows of each person, as the releases before did."""
        if most is None:
            return table
        records = None if history is None else as_history(history).records()
        known = [record.choice for record in records or () if record.choice]
        return capped(table, most, known[0] if known else noise.order_key(stream).tobytes().hex(), records)

    def _fit(self, data: Any, history: Any = None, stream: Any = None) -> tuple[Table, IntArray]:
        """Grow on records that are released from memory; return them and their leaves.

        Categories are grouped as in the first release of a history that groups them, and its cuts are kept.
        """
        records = [] if history is None else as_history(history).records()
        plan, trees = self._plan(data)
        read, groups = read_table(data, plan), {n: g for record in records[::-1] for n, g in record.groups.items()}
        table, tiers = self._ready(data, self._capped(read, self.most_rows, stream, history), trees, groups)
        known = (Tree.from_cuts(self.plan_.grids, record.cuts) for record in records[::-1])
        tree, settings = next((found for found in known if found is not None), None), self._growth(tiers)
        if tree is None or settings is None:
            return table, self._partition(table, tiers)
        return table, self._grow_on(tree, table, settings)

    @property
    def _groups_categories(self) -> bool:
        return False

    @property
    def _grows_outside(self) -> bool:
        """True if growth needs counts only, so that rows can stay outside memory."""
        return True

    def _partition(self, table: BuildRecords, tiers: Mapping[int, IntArray]) -> IntArray:
        rules = growth_rules(self.rules_, bool(getattr(self, "blind", False)))
        grown = self._grow(table, tiers, rules)
        persons = table.entries.persons
        if persons is not None:
            # Growth counts rows. It is run for k rows and for the average number of rows of k persons; leaves are then
            # merged until each holds k persons. The finer partition is kept.
            rows = math.ceil(rules.k * table.n / len(np.unique(persons)))
            other = self._grow(table, tiers, replace(rules, k=max(rows, rules.k)))
            found = [_with_persons(g, table, rules) for g in (grown, other)]
            grown = max(found, key=lambda g: g.tree.n_leaves)
        return self._take(grown.tree, grown.leaf, grown.counts)

    def _take(self, tree: Tree, leaf: IntArray, counts: IntArray, people: IntArray | None = None) -> IntArray:
        """Keep the partition. ``people`` are the rows or persons of each node if some may hold fewer than k."""
        self._freeze()
        self.tree_, self.leaf_counts_ = tree, counts[tree.leaves]
        self._people = people
        self.n_features_in_ = len(self.plan_.quasi)
        return leaf

    def _growth(self, tiers: Mapping[int, IntArray]) -> dict[str, Any] | None:
        """Return the settings of growth that can go on from earlier cuts, if it can."""
        return None

    def _grow_on(self, tree: Tree, table: Table, settings: dict[str, Any]) -> IntArray:
        """Split the leaves of an earlier release further, so that new cells nest with published ones.

        Nothing is merged here. What this table needs merged, and together with earlier ones, is decided at release.
        """
        rules = self.rules_  # blind growth is refused after the first release
        people = table.n if table.persons is None else len(np.unique(table.persons))
        limits = rules.limits(table.sensitive, persons=table.persons)
        limits = limits._replace(k=max(rules.k, math.ceil(rules.k * table.n / max(people, 1))))
        leaf, codes = tree.route(table.bins), stacked(table.sensitive, table.n)
        tree, leaf = grow_on(tree, table.bins, leaf, np.unique(leaf), limits, sensitive=codes, **settings)
        counts = np.bincount(leaf, minlength=tree.n_nodes)
        held = tree.totals(counts)
        if table.persons is not None:
            held = persons_by_node(tree.parent, tree.levels, leaf, table.persons)
        return self._take(tree, leaf, counts, held)

    def _read(self, data: Any) -> tuple[Table, dict[int, IntArray]]:
        plan, trees = self._plan(data)
        return self._ready(data, read_table(data, plan), trees)

    def _plan(self, data: Any) -> tuple[TablePlan, dict[str, Hierarchy | str]]:
        rules, plan, trees = self._settings(names_of(data, self.domain))
        sensitive = {n: t for n, t in trees.items() if isinstance(t, Hierarchy) and n in plan.sensitive}
        self.rules_ = replace(rules, hierarchies=sensitive)
        return plan, trees

    def _ready(
        self, data: Any, table: R, trees: Hierarchies, earlier: GroupCounts | None = None
    ) -> tuple[R, dict[int, IntArray]]:
        """Put categories in the order of their hierarchies; refuse a table that breaks the rules as a whole."""
        table, self.hierarchies_, self._groups = with_hierarchies(data, table, trees, earlier or {})
        self.plan_, self._grouped_before = table.plan, bool(set(self._groups) & set(earlier or ()))
        whole = table.entries
        good = self.rules_.measure(whole.place, whole.sensitive, whole.persons, whole.rows).ok
        refuse_root(self.rules_, whole.sensitive, np.ones(len(whole.rows), bool), good, whole.persons, whole.rows)
        return table, tiers_of(self.plan_, self.hierarchies_)

    def check(self) -> None:
        """Refuse options that no table could be released with. No table is read.

        If the domain is a pair ``(low, high)``, the columns are unknown and checks that depend on them are left out.
        """
        mappings = (self.grid, self.hierarchies, getattr(self, "widths", None))
        named = [self.sensitive, self.target, self.keep, self.person, *(m for m in mappings if isinstance(m, Mapping))]
        self._settings(lambda: possible_names(self.domain, named))

    def _settings(self, names: Callable[[], Sequence[str]]) -> tuple[Rules, TablePlan, dict[str, Hierarchy | str]]:
        """Check the options against the declared columns; ``names`` are for a domain without names."""
        self.read_options()
        rules = Rules(self.k, self.l_diversity, self.l_kind, self.c, self.t_closeness, self.t_kind)
        roles = {name: getattr(self, name) for name in ("sensitive", "target", "keep", "person", "grid", "hierarchies")}
        plan = make_plan(self.domain, names, **roles)
        if self.most_rows is not None and plan.person is None:
            raise InvalidArgument("most_rows", self.most_rows, "used with a person column", 'person="patient"')
        if isinstance(plan.domain.unit, Person):
            rules = replace(rules, per_person=True)
        rules.check_kinds()
        declared = [c.name for c in self.domain if c.role != "attribute"] if isinstance(self.domain, Domain) else []
        rules.check_columns(plan.sensitive, [name for name in plan.quasi if name not in declared])
        for column in map(plan.domain.column, plan.sensitive):
            most = len(column.categories) if isinstance(column, Categorical) else math.inf
            if rules.l_on and (rules.l_diversity or 0) > most:
                expected = f"at most the number of declared values of {column.name!r} ({most})"
                raise InvalidArgument("l_diversity", rules.l_diversity, expected, f"l_diversity={most}")
        self._check(plan)
        return rules, plan, read_hierarchies(self.hierarchies, plan, grouped=self._groups_categories)

    def _check(self, plan: TablePlan) -> None:
        """Check the options that only this method has."""

    def _release(self, table: Table, place: IntArray | None, history: Any, delivery: Delivery) -> Release:
        known = None if history is None else as_history(history)
        if known is not None:
            following_column(self.plan_)
        records = [] if known is None else known.records()
        partition: Any = self._frozen_partition()
        if self._is_blind:
            partition.settings["cuts"] = "blind"  # it comes before what is decided
        notes = self._notes()
        place = partition.route(table.bins) if place is None or len(place) < table.n else place
        stream = noise.generator(delivery.random_state, "random_state")
        if records:
            if self._is_blind:
                raise InvalidArgument("blind", True, "left out after the first release of a history", "blind=False")
            whole = self.rules_.measure(np.zeros(table.n, np.int64), table.sensitive, table.persons)
            refuse_root(self.rules_, table.sensitive, np.ones(table.n, bool), whole.ok, table.persons)
            past = read_past(records, table)
            cells, settings = self._decide_together(table, place, past, stream)
            notes.append(TOGETHER)
        else:
            decided = partition.decide(table.placed(None, place))
            cells = Cells(table.plan.grids, decided.first, decided.last, decided.of_place[place])
            settings = decided.settings
        if (most := self._at_fit.most_rows) is not None:
            settings = {**settings, "most_rows": most, "left_out_over_most_rows": table.over}
        delivery = replace(delivery, random_state=stream)
        told: dict[str, Any] = {"method": type(self).__name__, "settings": settings, "notes": notes, "history": known}
        told |= {"groups": self._groups, "tree": getattr(self, "tree_", None)}
        return publish(table, cells, self.rules_, delivery, **told, earlier=[record.seal for record in records])

    def _decide_together(
        self, table: Table, place: IntArray, past: EarlierReleases, stream: Any
    ) -> tuple[Cells, dict[str, Any]]:
        """Find the cells of a release that is checked with earlier ones, and what is said of it."""
        way = self._at_fit.on_conflict
        found = enforce_together(self.tree_, place, self.rules_, table, past, way, stream)
        cells, told = found.cells(self.tree_), {**self._facts(), "leaves_merged": found.merged}
        if self._at_fit.blanks:
            wider = partial(larger_cells, self.tree_)
            cells = fill_in_together(cells, place, past, self.rules_, table, wider, way)
            told["blanked"] = int((cells.of[found.node < 0] >= 0).sum())
        return cells, {**told, **facts_together(past, cells.of, self.rules_, table, way)}


def grow_records(table: BuildRecords, rules: Rules, **settings: Any) -> GrownTree:
    if not isinstance(table, Table):
        limits = rules.limits(table.entries.sensitive, rows=table.entries.rows)
        return grow_outside(table, table.plan.grids, limits, memory=table.memory, **settings)
    codes, limits = stacked(table.sensitive, table.n), rules.limits(table.sensitive)
    return grow_tree(table.bins, table.plan.grids, limits, sensitive=codes, target=table.target, **settings)


def _with_persons(grown: GrownTree, table: BuildRecords, rules: Rules) -> GrownTree:
    held = table.placed(grown.tree, grown.leaf)
    found = enforce(grown.tree, held.place, rules, held.sensitive, persons=held.persons, rows=held.rows)
    tree, place = grown.tree.collapsed(found.node)
    own = place[found.node]
    counts = np.bincount(own, held.rows, minlength=tree.n_nodes).astype(np.int64)
    return GrownTree(tree, tree.totals(counts), own if len(grown.leaf) else grown.leaf)
