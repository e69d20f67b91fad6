"""Microaggregation by MDAV (Domingo-Ferrer and Torra 2005): groups of k similar records, each replaced by its mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.anonymity.growth.frontier import refuse_root
from discreet.anonymity.methods._mdav_kernels import mdav
from discreet.anonymity.methods.masked import (
    MaskedMethod,
    MaskedRelease,
    masked_release,
    number_array,
    on_grid,
    read_coordinates,
    whole_points,
)
from discreet.anonymity.methods.partitioner import Partitioner
from discreet.anonymity.release.cells import Cells
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.table import Table, read_table
from discreet.anonymity.risk.classes import join, number_column
from discreet.core.arrays import FloatArray, IntArray

_NOTES = (
    "no more is promised: neither that nobody can tell who is in the table, nor differential privacy",
    "a mean can give away an extreme value to somebody who knows the other records of the group, up to k grid steps",
    "no other release is made of the same people: the means of two releases can be subtracted",
)


@dataclass(eq=False, repr=False)
class Microaggregation(MaskedMethod, Partitioner):  # type: ignore[misc]
    """Anonymous tables by group means.

    Parameters
    ----------
    k : int, default 10
        Size of a group: k to 2k - 1.
    domain : Domain or what makes one
        The declared columns. The scale of every column is its declared width.
    sensitive, grid, hierarchies, keep
        See `DensityTree`.
    target : str, optional
        A column that is passed on as it is.

    Attributes
    ----------
    plan_ : TablePlan
        Which column plays which part.
    rules_ : Rules
        What is kept: k.

    Notes
    -----
    MDAV (spec density-trees, 9.11.2): the record farthest from the centroid with its k - 1 nearest makes a group, the
    record farthest from it another, and so on. Two different categories are as far apart as the two ends of a number's
    interval. Equal distances go by the place in the input. The work grows as n²/k: 100,000 records and five columns
    take about 4 s at k = 10 and 13 s at k = 3 on one core; a million, by that law, seven minutes or more.

    A number is replaced by the mean of its group, moved to the nearest point of the public grid. If fewer than k
    records of the group have a value, the mean would be one of fewer than k people, and "missing" is published instead.
    A category is published if the whole group shares it, otherwise the smallest group of the hierarchy that holds all
    of them, and without a hierarchy ``*``: the most frequent category would be false for some and tell of others.

    Nothing of the rows is kept after `fit`. `transform` groups the records it is given, as a release of their own.

    Privacy
    -------
    Every record shares its published quasi-identifiers with at least k - 1 others. A mean is not a cell: k - 1 people
    who pool what they know learn the last one's value, up to k times a grid step. Means hide neither who is in the
    table nor sensitive values that a group shares, and there is no differential privacy.

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
    """

    # MDAV knows no other rule than k: these complete what `Partitioner` reads.
    l_diversity = None
    t_closeness = None
    l_kind = "distinct"
    t_kind = "auto"
    c = 3.0
    suppress = 0.0
    person = None
    _counts_persons = False

    k: int = 10
    _: KW_ONLY
    domain: Any = None
    sensitive: Sequence[str] | str | None = None
    target: str | None = None
    grid: Any = None
    hierarchies: Mapping[str, Any] | None = None
    keep: Sequence[str] = ()

    def fit(self, data: Any, y: Any = None) -> Microaggregation:
        """Check the arguments against the records; groups are made by `transform`."""
        self._read(data)
        self.n_features_in_ = len(self.plan_.quasi)
        return self

    def _masked(self, data: Any, delivery: Delivery) -> MaskedRelease:
        table = read_table(data, self.plan_)
        refuse_root(self.rules_, table.sensitive, np.ones(table.n, bool), table.n >= self.rules_.k)
        return self._publish(data, table, delivery)

    def fit_transform(self, data: Any, y: Any = None, **delivery: Any) -> MaskedRelease:  # type: ignore[override]
        """Group these records and publish them. Parameters as in `transform`."""
        handed = Delivery(**delivery)
        table, _ = self._read(data)
        self.n_features_in_ = len(self.plan_.quasi)
        return self._publish(data, table, handed)

    def _publish(self, data: Any, table: Table, delivery: Delivery) -> MaskedRelease:
        coordinates = read_coordinates(data, table)
        groups = make_groups(table, coordinates, self.rules_.k)
        values, cells = self._values(table, coordinates, groups)
        numbered = [number_column(values[name])[:2] for name in table.plan.quasi]
        classes = join(numbered, table.n)  # groups with equal means are one class to whoever reads the table
        facts = {
            "method": "Microaggregation",
            "output": "mean",
            "quasi_identifiers": list(table.plan.quasi),
            "required": self.rules_.to_dict(),
            "reached": self.rules_.reached(classes, table.sensitive),
            "groups": int(groups.max()) + 1,
        }
        stream = noise.generator(delivery.random_state)
        return masked_release(table, values, cells, delivery, stream, facts=facts, notes=_NOTES, random=False)

    def _values(self, table: Table, coordinates: FloatArray, groups: IntArray) -> tuple[dict[str, pa.Array], Cells]:
        grids = table.plan.grids
        shape = (int(groups.max()) + 1, len(grids))
        first, last = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        values: dict[str, pa.Array] = {}
        for j, grid in enumerate(grids):
            last[:, j] = grid.n_bins - 1  # of a number the mean tells, the cell stays the whole domain
            if grid.numeric:
                means = on_grid(grid, _means(coordinates[j], groups, shape[0], self.rules_.k))
                values[grid.name] = number_array(grid, means[groups], whole_points(grid))
                continue
            tree = self.hierarchies_.get(grid.name)
            tiers = None if tree is None else tree.tiers(grid.column.categories)  # type: ignore[union-attr]
            first[:, j], last[:, j] = _covers(table.bins[j], groups, shape[0], grid.levels, tiers)
        cells = Cells(grids, first, last, groups)
        for j, grid in enumerate(grids):
            if not grid.numeric:
                values[grid.name] = pa.array(cells.texts(j), pa.string()).take(pa.array(groups))
        return values, cells


def make_groups(table: Table, coordinates: FloatArray, k: int) -> IntArray:
    """Return the group of every row. A number that may be missing counts as a number and as a code "is it missing"."""
    numbers, codes = [np.empty((table.n, 0))], [np.empty((table.n, 0), np.int64)]
    for j, grid in enumerate(table.plan.grids):
        if not grid.numeric:
            codes.append(table.bins[j].astype(np.int64)[:, None])
            continue
        column = grid.column
        unit = (coordinates[j] - column.low) / (column.high - column.low)
        numbers.append(np.where(np.isnan(unit), 0.5, unit)[:, None])
        if grid.own_missing:
            codes.append(np.isnan(unit).astype(np.int64)[:, None])
    matrix, labels = np.concatenate(numbers, axis=1), np.concatenate(codes, axis=1)
    return np.asarray(mdav(matrix, labels, int(labels.max(initial=0)) + 1, k), np.int64)


def _means(values: FloatArray, groups: IntArray, n_groups: int, k: int) -> FloatArray:
    """Return the mean of the values in each group; NaN where fewer than k have one."""
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
