"""Steps that all methods share before they group rows: find the columns, read hierarchies, refuse impossible tables."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from discreet import engines
from discreet.anonymity.growth.grid import Grid, make_grid
from discreet.anonymity.release.framed import FramedTable
from discreet.anonymity.release.record import GroupCounts
from discreet.anonymity.release.spilled import SpilledTable
from discreet.anonymity.release.table import Table, TablePlan, without_values
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.core import AnyArray, Categorical, Domain, IntArray, Numeric, as_domain, category_text, dialect_of
from discreet.errors import InvalidArgument, InvalidType, SchemaError

R = TypeVar("R", Table, SpilledTable, FramedTable)
#: Asks for a hierarchy that merges rare categories, built on the rows.
MERGE = "merge"
#: By column, a hierarchy or `MERGE`.
Hierarchies = Mapping[str, Hierarchy | str]


def names_of(data: Any, domain: Any) -> Callable[[], Sequence[str]]:
    return lambda: engines.open(data, dialect=dialect_of(domain)).names


def make_plan(domain: Any, names: Callable[[], Sequence[str]], hierarchies: Any = None, **roles: Any) -> TablePlan:
    """Return the roles of the declared columns; arguments as in `TablePlan.of`.

    ``hierarchies`` of numbers and dates replace their declared levels.
    """
    if domain is None:
        raise InvalidType("domain", None, "a Domain", 'domain=Domain({"age": (0, 120)})')
    whole = as_domain(domain, names())
    given = hierarchies if isinstance(hierarchies, Mapping) else {}
    columns = [c for c in whole if isinstance(c, Numeric) and given.get(c.name) is not None]
    if columns:
        held = ((c, given[c.name]) for c in columns)
        new = {c.name: replace(c, levels=t.to_list() if isinstance(t, Hierarchy) else t) for c, t in held}
        told = {"named": whole.named, "unit": whole.unit, "source": whole.source, "facts": whole.facts}
        whole = Domain._of([new.get(c.name, c) for c in whole], **told)
    return TablePlan.of(whole, **roles)


def possible_names(domain: Any, spoken: Iterable[Any]) -> list[str]:
    """Return names that the columns of a domain without names may have: those in other options, and some more."""
    if not isinstance(domain, tuple):
        return []
    given = [each for each in spoken if each is not None]
    names = list(dict.fromkeys(n for each in given for n in ([each] if isinstance(each, str) else each)))
    sizes = [len(end) for end in domain if isinstance(end, (list, tuple)) or np.ndim(end) == 1]
    width = max(sizes, default=1)  # one number holds for any number of columns
    fresh = (name for i in itertools.count() if (name := f"x{i}") not in names)
    return names + list(itertools.islice(fresh, max(width - len(names), 0) if width > 1 else 1))


def read_hierarchies(given: Any, plan: TablePlan, *, grouped: bool = False) -> dict[str, Hierarchy | str]:
    """Check the hierarchies that a user gave; with ``grouped``, other unordered quasi-identifiers get `MERGE`."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise InvalidType("hierarchies", type(given), "a mapping from column to Hierarchy", '{"job": "merge"}')
    found: dict[str, Hierarchy | str] = {}
    for name, tree in given.items():
        if name not in (*plan.quasi, *plan.sensitive):
            fix = f"leaving {name!r} out"
            raise InvalidArgument("hierarchies", name, "given for quasi-identifiers and sensitive columns", fix)
        column = plan.domain.column(name)
        if not isinstance(column, Categorical):
            continue  # see `make_plan`
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
    columns = [plan.domain.column(name) for name in plan.quasi if grouped and name not in given]
    several = (c for c in columns if isinstance(c, Categorical) and not c.ordered and len(c.categories) > 2)
    return found | {c.name: MERGE for c in several}


def with_hierarchies(
    data: Any, table: R, trees: Hierarchies, earlier: GroupCounts
) -> tuple[R, dict[str, Hierarchy], GroupCounts]:
    """Put categories in the order of their hierarchies; return both, and the counts that those of `MERGE` are built on.

    These are the counts of ``earlier`` releases, or of the rows. A quasi-identifier without a single value is refused.
    """
    _refuse_missing(data, table)
    plan = table.plan
    found = {name: tree for name, tree in trees.items() if isinstance(tree, Hierarchy)}
    groups: dict[str, Mapping[str, int]] = {}
    for j, name in enumerate(plan.quasi):
        if name in trees and name not in found:
            texts = [category_text(c) for c in categories_of(plan, j)]
            held = earlier.get(name) or dict(zip(texts, table.bin_counts(j)[: len(texts)].tolist(), strict=True))
            found[name], groups[name] = Hierarchy.merging(texts, [held.get(text, 0) for text in texts]), held
    grids, places = ordered_grids(plan, found)
    return table.reordered(grids, places), found, groups


def ordered_grids(plan: TablePlan, trees: Mapping[str, Hierarchy]) -> tuple[list[Grid], dict[int, AnyArray]]:
    """Return grids with categories in the order of their hierarchies, and by column where each bin goes."""
    grids, places = list(plan.grids), {}
    for j, name in enumerate(plan.quasi):
        if name in trees:
            tree, categories = trees[name], categories_of(plan, j)
            order = tree.order(categories)
            grids[j] = make_grid(grids[j].column, None, order, tree.labels(name, categories))
            places[j] = np.arange(grids[j].n_bins, dtype=np.uint16)
            places[j][list(order)] = np.arange(len(order))
    return grids, places


def tiers_of(plan: TablePlan, trees: Mapping[str, Hierarchy]) -> dict[int, IntArray]:
    columns = ((j, name) for j, name in enumerate(plan.quasi) if name in trees)
    leveled = {j: np.array(grid.tiers, np.int64) for j, grid in enumerate(plan.grids) if grid.tiers}
    return leveled | {j: trees[name].tiers(categories_of(plan, j)) for j, name in columns}


def categories_of(plan: TablePlan, j: int) -> tuple[Any, ...]:
    column = plan.grids[j].column
    assert isinstance(column, Categorical)
    return column.categories


def _refuse_missing(data: Any, table: Table | SpilledTable | FramedTable) -> None:
    plan = table.plan
    empty = []
    if table.n:
        own = [(j, grid) for j, grid in enumerate(plan.grids) if grid.own_missing]
        empty = [grid.name for j, grid in own if table.bin_counts(j)[grid.levels] == table.n]
    elif table.dropped or table.unnamed:
        source = engines.open(data, plan.domain)
        for name in plan.quasi:
            if all(np.isnan(piece[0]).all() for piece in source.batches(plan.domain.select([name]))):
                empty.append(name)
    if empty:
        raise without_values(plan.domain.column(empty[0]))
    if not table.n and table.unnamed:
        raise SchemaError(
            f"no row has a value in {plan.person!r}, which says whose row it is, and in all quasi-identifiers; rows "
            'without a person are left out: check the column, or declare another one with role = "person"'
        )
