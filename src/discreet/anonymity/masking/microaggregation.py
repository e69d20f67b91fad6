"""Microaggregation: groups of k similar records, each replaced by its mean.

MDAV (Domingo-Ferrer and Torra 2005), the best groups of single columns (Hansen and Mukherjee 2003), or groups along the
first principal component.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.anonymity.growth.frontier import refuse_root
from discreet.anonymity.growth.grid import Cells
from discreet.anonymity.masking.grouping import Points, auto_rows, mdav_groups, path_groups
from discreet.anonymity.masking.masker import (
    MaskedRelease,
    Masker,
    masked_release,
    on_grid,
    read_coordinates,
    refuse_coded,
    whole_domain,
    whole_points,
)
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.prepare import make_plan, names_of, possible_names, read_hierarchies, with_hierarchies
from discreet.anonymity.release.release import number_array
from discreet.anonymity.release.table import Table, TablePlan, read_table
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.rules import Rules
from discreet.core import FloatArray, IntArray, checks, option
from discreet.errors import InvalidArgument, InvalidType, SchemaError

_NOTES = (
    "no more is promised: neither that nobody can tell who is in the table, nor differential privacy",
    "a mean can give away an extreme value to somebody who knows the other records of the group, up to k grid steps",
    "no other release is made of the same people: the means of two releases can be subtracted",
)
_APART = (
    "nobody knows columns of more than one of these groups ({}): each was grouped by itself, so k holds in each by "
    "itself, and a whole row can be unique"
)
GROUPINGS = ("mdav", "univariate", "pca")


class Microaggregation(Masker):
    """Anonymous tables by group means.

    Notes
    -----
    MDAV: the record farthest from the centroid and its k - 1 nearest records form a group, the record farthest from it
    another, and so on. Distances are relative to the declared widths; two different categories are as far apart as the
    two ends of a number's interval. Large tables are first split into blocks, where the sum of squares falls most.
    Along a line, the best groups of neighbours are found (Hansen and Mukherjee 2003).

    A number is replaced by the mean of its group, moved to the nearest point of the public grid; if fewer than k
    records of the group have a value, by "missing". A category is published if the whole group shares it, otherwise the
    smallest group of the hierarchy that holds all of them, and without a hierarchy ``*``.

    `transform` groups the records it is given, as a release of their own.

    Privacy
    -------
    Every record shares its published quasi-identifiers with at least k - 1 others; with "univariate" or ``columns``,
    those of each group of columns by itself and no more: the guarantee then names no k, but ``k_by_columns``. A mean is
    not a cell: k - 1 people who pool what they know learn the last one's value, up to k times a grid step. Means hide
    neither who is in the table nor sensitive values that a group shares, and there is no differential privacy.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 35, 60, 64, 66, 69], "job": ["cook", "smith", "cook"] + ["smith"] * 4})
    >>> domain = dc.Domain({"age": (0, 120), "job": ["cook", "smith"]})
    >>> release = Microaggregation(k=3, domain=domain).fit_transform(people)
    >>> sorted((row["age"], row["job"]) for row in release.table.to_pylist())
    [(33, '*'), (33, '*'), (33, '*'), (65, 'smith'), (65, 'smith'), (65, 'smith'), (65, 'smith')]
    >>> release.guarantee.parameters["reached"]["k"]
    3
    >>> apart = Microaggregation(k=3, domain=domain, grouping="univariate").fit_transform(people)
    >>> apart.guarantee.parameters["required"]
    {'k': None, 'k_by_columns': {'least': 3, 'columns': [['age'], ['job']]}}
    """

    k: int = option(default=10, low=2, help="Size of a group: k to 2k - 1.")
    _: KW_ONLY
    grouping: str = option(
        default="mdav", choices=GROUPINGS, help="Groups by all columns, per column, or along the first component.",
        details='"mdav" compares all columns, "univariate" groups each column by itself, "pca" groups neighbours along '
        "the first principal component.",
    )  # fmt: skip
    columns: Sequence[Sequence[str]] | Mapping[str, Any] | None = option(
        default=None, help="Lists of quasi-identifiers, each grouped by itself; or from column to the name of a list.",
        details="By default all together. **With several groups k holds for each of them only**, as with "
        '"univariate": whole rows can be unique.',
    )  # fmt: skip
    block_rows: int | str | None = option(
        default="auto", choices=("auto",), low=4, example=20_000,
        help="Largest number of records that MDAV compares at once.",
        details='"auto" compares all up to 100,000 records, and beyond that blocks of 32,768 or 1,500 k. At least 2k. '
        "None makes one block.",
    )  # fmt: skip
    grid: Any = option(default=None, help="The public grid of numeric columns; see `DensityTree`.")
    hierarchies: Mapping[str, Any] | None = option(
        default=None, job="hierarchy", help="From categorical column to a `Hierarchy`; see `DensityTree`."
    )

    def fit(self, data: Any, y: Any = None) -> Self:
        """Check the options against the records; `transform` makes the groups."""
        self._read(data)
        return self

    def fit_transform(self, data: Any, y: Any = None, **delivery: Any) -> MaskedRelease:
        """Group these records and publish them. Parameters as in `transform`."""
        form = Delivery(**delivery)
        return self._publish(data, self._read(data), form)

    def check(self) -> None:
        """Refuse options that no table could be released with. No table is read."""
        mappings = (m for m in (self.grid, self.hierarchies) if isinstance(m, Mapping))
        named = [self.sensitive, self.target, self.keep, *mappings]
        self._settings(lambda: possible_names(self.domain, named))

    def _masked(self, data: Any, delivery: Delivery) -> MaskedRelease:
        self._check_options(self.plan_)
        table = read_table(data, self.plan_)
        self._refuse_small(table)
        return self._publish(data, table, delivery)

    def _read(self, data: Any) -> Table:
        """Check the options and read the records."""
        plan, trees = self._settings(names_of(data, self.domain))
        table, self.hierarchies_, _ = with_hierarchies(data, read_table(data, plan), trees, {})
        self.plan_ = table.plan
        self.n_features_in_ = len(table.plan.quasi)
        self._refuse_small(table)
        self._parts(table.plan)
        return table

    def _refuse_small(self, table: Table) -> None:
        refuse_root(self.rules_, table.sensitive, np.ones(table.n, bool), table.n >= self.rules_.k)

    def _settings(self, names: Callable[[], Sequence[str]]) -> tuple[TablePlan, dict[str, Hierarchy | str]]:
        self.rules_ = Rules(self.k)
        roles = {name: getattr(self, name) for name in ("sensitive", "target", "keep", "grid", "hierarchies")}
        plan = make_plan(self.domain, names, **roles)
        if plan.person is not None:
            fix = "DensityTree, Mondrian or Generalization, or declare the column an identifier"
            raise InvalidArgument("person", plan.person, "left out: Microaggregation counts rows, not persons", fix)
        refuse_coded(plan, "Microaggregation")
        self._check_options(plan)
        return plan, read_hierarchies(self.hierarchies, plan)

    def _check_options(self, plan: TablePlan) -> None:
        for name in set(self.declared) - {"block_rows", "keep"}:
            self.read_option(name)
        if self.block_rows is not None and not (isinstance(self.block_rows, str) and self.block_rows == "auto"):
            checks.whole("block_rows", self.block_rows, low=2 * int(self.k))
            if self.grouping != "mdav":
                expected = f'left at "auto" where grouping={self.grouping!r}: only MDAV needs blocks'
                raise InvalidArgument("block_rows", self.block_rows, expected, 'block_rows="auto"')
        given = self.columns
        if given is not None:
            fix = 'columns=[["age", "pay"], ["job"]]'
            if self.grouping == "univariate":
                raise InvalidArgument("columns", given, 'left out where grouping="univariate"', "columns=None")
            labelled = isinstance(given, Mapping) and all(isinstance(part, (str, Real)) for part in given.values())
            parts = _lists(given) if labelled or (_is_list(given) and not isinstance(given, Mapping)) else []
            if not parts or not all(_is_list(part) and part for part in parts):
                raise InvalidType("columns", given, "a list of lists of quasi-identifiers", fix)
        if not isinstance(self.domain, tuple):  # of a pair of bounds the names are not known before there is a table
            self._parts(plan)

    def _parts(self, plan: TablePlan) -> list[list[int]]:
        """Return the columns that are grouped together, by place."""
        quasi, each = list(plan.quasi), [[name] for name in plan.quasi]
        named = [quasi] if self.columns is None else _lists(self.columns)
        named = each if self.grouping == "univariate" else named
        given = [str(name) for part in named for name in part]
        for name in (*quasi, *given):
            if name not in quasi or given.count(name) != 1:
                times = given.count(name)
                said = "is not one" if name not in quasi else f"is in {times} of them" if times else "is in none"
                raise SchemaError(f"columns must put every quasi-identifier into one group, but {name!r} {said}")
        parts = [[quasi.index(name) for name in part] for part in named]
        for part in parts if self.grouping == "pca" else ():
            words = [quasi[j] for j in part if not plan.grids[j].numeric]
            if words and len(part) > 1:
                expected = f"used with numbers alone in a group of columns: categories ({words[0]!r}) have no component"
                raise InvalidArgument("grouping", "pca", expected, 'grouping="mdav"')
        return parts

    def _blocks(self, n: int) -> int | None:
        """Return the most rows of a block; None for one block."""
        if self.block_rows == "auto":
            return auto_rows(n, self.rules_.k)
        return None if self.block_rows is None or n <= int(self.block_rows) else int(self.block_rows)

    def _publish(self, data: Any, table: Table, delivery: Delivery) -> MaskedRelease:
        coordinates, k = read_coordinates(data, table), self.rules_.k
        parts, rows = self._parts(table.plan), self._blocks(table.n)
        values: dict[str, pa.Array] = {}
        labels: dict[str, Any] = {}
        for part in parts:
            points = Points.of(table, coordinates, part)
            groups = mdav_groups(points, k, rows) if self.grouping == "mdav" else path_groups(points, k)
            found, cells = self._values(table, coordinates, groups, part)
            values |= found
            labels |= cells.legend().get("labels", {})
        encoded = {name: values[name].dictionary_encode("encode") for name in table.plan.quasi}
        numbered = {n: (np.asarray(e.indices, np.int64), len(e.dictionary)) for n, e in encoded.items()}
        classes = join(list(numbered.values()), table.n)  # a reader sees groups with equal means as one class
        reached = self.rules_.measure(classes, table.sensitive).to_dict()
        required, notes = self.rules_.to_dict(), list(_NOTES)
        if len(parts) > 1:
            names = [[table.plan.quasi[j] for j in part] for part in parts]
            least = [int(np.bincount(join([numbered[n] for n in part], table.n)).min()) for part in names]
            required |= {"k": None, "k_by_columns": {"least": k, "columns": names}}
            reached |= {"k": None, "k_by_columns": {"least": min(least), "columns": names}, "k_of_rows": reached["k"]}
            notes.insert(0, _APART.format("; ".join(", ".join(part) for part in names)))
            cells = whole_domain(table)
        facts = {
            "method": "Microaggregation",
            "output": "mean",
            "quasi_identifiers": list(table.plan.quasi),
            "required": required,
            "reached": reached,
            "groups": int((groups if len(parts) == 1 else classes).max()) + 1,
            **({"labels": labels} if labels and len(parts) > 1 else {}),  # one group of columns has them in its cells
            **({} if self.grouping == "mdav" else {"grouping": self.grouping}),
            **({} if rows is None or self.grouping != "mdav" else {"block_rows": rows}),
        }
        stream = noise.generator(delivery.random_state, "random_state")
        return masked_release(table, values, cells, delivery, stream, facts=facts, notes=notes, random=False)

    def _values(
        self, table: Table, coordinates: FloatArray, groups: IntArray, part: Sequence[int]
    ) -> tuple[dict[str, pa.Array], Cells]:
        grids = table.plan.grids
        shape = (int(groups.max()) + 1, len(grids))
        first, last = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        last[:] = [grid.n_bins - 1 for grid in grids]  # a number publishes its mean; its cell stays the whole domain
        values: dict[str, pa.Array] = {}
        for j in part:
            grid = grids[j]
            if grid.numeric:
                means = on_grid(grid, _means(coordinates[j], groups, shape[0], self.rules_.k))
                values[grid.name] = number_array(grid, means[groups], whole_points(grid))
                continue
            tree = self.hierarchies_.get(grid.name)
            tiers = None if tree is None else tree.tiers(grid.column.categories)  # type: ignore[union-attr]
            first[:, j], last[:, j] = _covers(table.bins[j], groups, shape[0], grid.levels, tiers)
        cells = Cells(grids, first, last, groups)
        for j in part:
            if not grids[j].numeric:
                values[grids[j].name] = pa.array(cells.texts(j), pa.string()).take(pa.array(groups))
        return values, cells


def _is_list(given: Any) -> bool:
    return isinstance(given, (Sequence, Mapping)) and not isinstance(given, str)


def _lists(columns: Any) -> list[list[Any]]:
    if not isinstance(columns, Mapping):
        return [list(part) if _is_list(part) else part for part in columns]
    return [[name for name, part in columns.items() if part == own] for own in dict.fromkeys(columns.values())]


def _means(values: FloatArray, groups: IntArray, n_groups: int, k: int) -> FloatArray:
    there = ~np.isnan(values)
    held = np.bincount(groups[there], minlength=n_groups)
    sums = np.bincount(groups[there], values[there], minlength=n_groups)
    return np.where(held >= k, sums / np.maximum(held, 1), np.nan)


def _covers(
    bins: Any, groups: IntArray, n_groups: int, levels: int, tiers: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the run of bins that is published for each group: the smallest node of the hierarchy that covers it."""
    low, high = np.full(n_groups, 2**31, np.int64), np.full(n_groups, -1, np.int64)
    np.minimum.at(low, groups, bins.astype(np.int64))
    np.maximum.at(high, groups, bins.astype(np.int64))
    first, last = np.where(low == high, low, 0), np.where(low == high, high, np.where(high < levels, levels - 1, high))
    if tiers is None or not len(tiers):
        return first, last
    mixed = (low < high) & (high < levels)
    for depth in range(1, int(tiers.max()) + 1):
        node = np.concatenate([[0], np.cumsum(tiers < depth)])  # neighbours stay together below a common ancestor
        own = np.where(mixed, node[np.minimum(low, levels - 1)], -1)
        inside = mixed & (own == node[np.minimum(high, levels - 1)])
        first = np.where(inside, np.searchsorted(node, own), first)
        last = np.where(inside, np.searchsorted(node, own, side="right") - 1, last)
    return first, last
