"""Columns that are passed on unchanged: the cost if an attacker knows them too.

k holds for the quasi-identifiers. An attacker who also knows a kept column or the target sees smaller groups, down to
single rows. The release measures these groups, and its guarantee states them. It also names the columns in which most
rows have a unique value.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.anonymity.release.table import TablePlan
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import Values, ValueTally, total
from discreet.anonymity.risk.persons import persons_by_class
from discreet.core import AnyArray, IntArray
from discreet.engines.tables import same_key

#: A column is named if more than this share of the released rows have a value in it that no other row has.
NEARLY_UNIQUE = 0.5


def own_values(codes: AnyArray, rows: IntArray) -> float:
    """Return the share of rows with a value that no other row has, given values by number (missing below 0)."""
    there = codes >= 0
    held = total(codes[there].astype(np.int64), rows[there])
    return int((held == 1).sum()) / max(int(rows.sum()), 1)


def own_sensitive(columns: Sequence[CodedColumn], shown: AnyArray, rows: IntArray) -> dict[str, float]:
    """Return the share of rows with a unique value in each sensitive column, among the entries that are shown."""
    found = {}
    for column in columns:
        gone = column.labels.index(None) if None in column.labels else -1
        codes = column.codes[shown]
        found[column.name] = own_values(np.where(codes == gone, -1, codes), rows[shown])
    return found


def nearly_unique(shares: Mapping[str, float], plan: TablePlan) -> dict[str, Any]:
    """Return the fact of a guarantee about columns in which most values are unique; empty without such columns."""
    named = {name: shares[name] for name in plan.passed if shares.get(name, 0.0) > NEARLY_UNIQUE}
    return {"nearly_unique": named} if named else {}


def kept_columns(plan: TablePlan) -> list[str]:
    """Return the columns that are passed on as they are and are not sensitive, in the declared order."""
    passed = {*plan.keep, *([plan.target] if plan.target else [])} - set(plan.sensitive)
    return [name for name in plan.domain.names if name in passed]


class KeptCounter:
    """Count rows by place and by the values of their kept columns.

    Values are compared as they are spelled, because a reader sees the spelling. Memory grows with the number of
    combinations, up to one per row.
    """

    def __init__(self, plan: TablePlan, persons: bool = True) -> None:
        self.columns = kept_columns(plan)
        self.person = plan.person if persons else None
        self.names = [*self.columns, *([self.person] if self.person else [])] if self.columns else []
        self._values = {name: Values() for name in self.columns}
        if self.person is not None:
            self._values[self.person] = Values(partial(same_key, declared=plan.domain.column(self.person)))
        self._tally = ValueTally()

    def add(self, place: IntArray, raw: Mapping[str, Any], rows: IntArray | None = None) -> None:
        """Count rows, or entries of several rows each; those at a negative place are not released."""
        if self.columns:
            self._tally.add([place, *(self._values[name].codes(raw[name]) for name in self.names)], rows)

    def own(self, of_place: IntArray | None = None) -> dict[str, float]:
        """Return by column the share of released rows with a value of their own."""
        codes, rows = self._tally.result()
        if not len(rows):
            return {}
        shown = (codes[0] if of_place is None else of_place[codes[0]]) >= 0
        return {name: own_values(codes[1 + i][shown], rows[shown]) for i, name in enumerate(self.columns)}

    def result(self, of_place: IntArray | None = None) -> dict[str, Any]:
        """Return the fact of a guarantee about the kept columns, given the cell of each place; empty without any.

        ``k`` is the size of the smallest group with equal cell and kept columns, ``unique`` the share of rows that are
        alone (or of a single person) in their group.
        """
        if not self.columns:
            return {}
        codes, rows = self._tally.result()
        codes = codes if len(rows) else np.empty((1 + len(self.names), 0), np.int32)
        cell = codes[0].astype(np.int64) if of_place is None else of_place[codes[0]]
        shown = cell >= 0
        own = [c[shown].astype(np.int64) for c in (cell, *codes[1:])]
        held = rows[shown]
        if not len(held):
            return {"kept": {"columns": self.columns, "k": 0, "unique": 0.0}}
        together = own[: 1 + len(self.columns)]  # a missing value is -1, and a value of its own
        groups = join([(column + 1, int(column.max()) + 2) for column in together], len(held))
        sizes = total(groups, held) if self.person is None else persons_by_class(groups, own[-1], int(groups.max()) + 1)
        alone = int(held[sizes[groups] == 1].sum())
        return {"kept": {"columns": self.columns, "k": int(sizes.min()), "unique": alone / int(held.sum())}}
