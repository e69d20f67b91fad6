"""Mondrian (LeFevre, DeWitt and Ramakrishnan 2006): cut the widest column at its median, as long as the rules allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from discreet.anonymity.growth._relaxed_kernels import grow_relaxed
from discreet.anonymity.growth.grow import GrownTree, make_space
from discreet.anonymity.methods.partitioner import BuildRecords, RulePartitioner, grow_records
from discreet.anonymity.release.cells import Cells
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.record import refuse_previous
from discreet.anonymity.release.release import Release, publish
from discreet.anonymity.release.streamed import FrozenPartition, ToFile
from discreet.anonymity.release.table import Table, TablePlan
from discreet.anonymity.risk.rules import Rules, stacked
from discreet.core import IntArray, checks
from discreet.errors import InvalidArgument


@dataclass(eq=False, repr=False)
class Mondrian(ToFile, RulePartitioner):
    """Anonymous tables by median cuts.

    Parameters
    ----------
    k : int, default 10
        Every record of a release shares its cell with at least k - 1 others.
    l_diversity, t_closeness, domain, sensitive, target, grid, l_kind, t_kind, c, hierarchies, suppress, keep
        See `DensityTree`.
    person, blind
        See `DensityTree`.
    mode : {"strict", "relaxed"}
        Strict: a cut lies between two bins, at the grid point that parts the records most evenly. Relaxed: records in
        the bin of the median may go to either side, so that both have half; cells then overlap in that bin, a group is
        who was put in it, and only the build records can be released.

    Attributes
    ----------
    tree_ : Tree
        The partition, in strict mode.
    rules_ : Rules
        What is kept.

    Notes
    -----
    The column to cut is that with the largest spread of the node's records, as a share of its declared width, of those
    that can be cut (spec density-trees, 9.11.1). A hierarchy restricts the cuts of the strict mode only; with the
    relaxed mode it is refused.

    Privacy
    -------
    As with `DensityTree`: groups of k records that look alike, and no more.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 40, 40, 64, 66, 69]})
    >>> domain = dc.Domain({"age": (0, 120)})
    >>> sorted(set(Mondrian(k=4, domain=domain).fit_transform(people).table["age"].to_pylist()))
    ['[0, 120]']
    >>> sorted(set(Mondrian(k=4, domain=domain, mode="relaxed").fit_transform(people).table["age"].to_pylist()))
    ['[0, 41)', '[40, 120]']
    """

    _: KW_ONLY
    mode: str = "strict"
    blind: bool = False

    def fit(self, data: Any, y: Any = None) -> Mondrian:
        """Grow the partition on the build records; strict mode only."""
        self._only_strict("fit_transform")
        super().fit(data)
        return self

    def transform(self, data: Any, output: str = "interval", **delivery: Any) -> Release:
        """Release records; strict mode only. Parameters as in `DensityTree.transform`."""
        self._only_strict("fit_transform")
        return super().transform(data, output, **delivery)

    def fit_transform(self, data: Any, y: Any = None, output: str = "interval", **delivery: Any) -> Release:
        """Grow the partition on these records and release them. Parameters as in `DensityTree.fit_transform`."""
        if self.mode != "relaxed":
            return super().fit_transform(data, y, output, **delivery)
        refuse_previous(delivery.pop("previous", None), "overlapping cells are not merged")
        table, _ = self._read(data)
        if any(name in self.hierarchies_ for name in table.plan.quasi):
            raise InvalidArgument("hierarchies", sorted(self.hierarchies_), "left out", 'mode="strict"')
        cells = _relaxed_cells(table, self)
        note = "cells overlap; which of them a record was put in was decided by the record's place in the input"
        handed = Delivery(output, **delivery)
        return publish(table, cells, self.rules_, handed, method="Mondrian", settings=self._facts(), notes=[note])

    def _frozen_partition(self) -> FrozenPartition:
        self._only_strict("fit_transform")
        return super()._frozen_partition()

    @property
    def _grows_outside(self) -> bool:
        return self.mode != "relaxed"

    @property
    def _counts_persons(self) -> bool:  # type: ignore[override]
        return self.mode != "relaxed"

    def _only_strict(self, instead: str) -> None:
        if self.mode == "relaxed":
            raise InvalidArgument(
                "mode", "relaxed", "strict here: overlapping cells cannot tell where a new record belongs", instead
            )

    def _check(self, plan: TablePlan) -> None:
        checks.choice("mode", self.mode, ("strict", "relaxed"))

    def _grow(self, table: BuildRecords, tiers: Mapping[int, IntArray], rules: Rules) -> GrownTree:
        return grow_records(table, rules, criterion="mondrian", min_share=0.0, max_depth=2**31, tiers=tiers)

    def _facts(self) -> dict[str, Any]:
        return {"mode": self.mode}


def _relaxed_cells(table: Table, method: Mondrian) -> Cells:
    limits = method.rules_.limits(table.sensitive)
    space = make_space(table.plan.grids, {})
    last = np.array([g.n_bins - 1 for g in table.plan.grids], np.int64)
    rows = np.ascontiguousarray(table.bins.T)
    first, last, of = grow_relaxed(rows, last, space.places, space.units, stacked(table.sensitive, table.n), limits)
    return Cells(table.plan.grids, first, last, of)
