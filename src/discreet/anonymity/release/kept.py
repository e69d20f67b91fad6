"""Columns that are passed on unchanged: the cost if an attacker knows them too.

k holds for the quasi-identifiers. An attacker who also knows a kept column or the target sees smaller groups, down to
single rows. The guarantee states their size, and names the columns in which most rows have a unique value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.anonymity.release.table import TablePlan
from discreet.anonymity.release.tabled import Counter
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import total
from discreet.anonymity.risk.persons import persons_by_class
from discreet.core import AnyArray, IntArray

#: A column is named if more than this share of the released rows have a value in it that no other row has.
NEARLY_UNIQUE = 0.5


def own_values(codes: AnyArray, rows: IntArray) -> float:
    """Return the share of rows with a value that no other row has, given values by number (missing below 0)."""
    there = codes >= 0
    held = total(codes[there].astype(np.int64), rows[there])
    return int((held == 1).sum()) / max(int(rows.sum()), 1)


def own_sensitive(columns: Sequence[CodedColumn], rows: IntArray) -> dict[str, float]:
    """Return the share of rows with a unique value in each sensitive column, given how many rows each entry shows."""
    found = {}
    for column in columns:
        gone = column.labels.index(None) if None in column.labels else -1
        found[column.name] = own_values(np.where(column.codes == gone, -1, column.codes), rows)
    return found


class KeptCounter(Counter):
    """Count rows by place and by the values of their kept columns, which are compared as they are spelled."""

    def __init__(self, plan: TablePlan, persons: bool = True) -> None:
        passed = {*plan.keep, *([plan.target] if plan.target else [])} - set(plan.sensitive)
        self.columns = [name for name in plan.domain.names if name in passed]
        self.person = plan.person if persons else None
        super().__init__(plan, asked=[*self.columns, *([self.person] if self.person else [])] if self.columns else [])

    def add_codes(self, place: IntArray, codes: Sequence[AnyArray], rows: IntArray | None = None) -> None:
        """Count rows, or entries of several rows each; those at a negative place are not released."""
        if self.columns:
            super().add_codes(place, codes, rows)

    def facts(self, shares: Mapping[str, float], of_place: IntArray | None = None) -> dict[str, Any]:
        """Return the facts of a guarantee about columns that are passed on, given the cell of each place.

        ``kept``: ``k`` is the size of the smallest group with equal cell and kept columns, ``unique`` the share of lone
        rows. ``nearly_unique``: the columns in which most rows have a value of their own; ``shares`` are those of
        sensitive columns.
        """
        codes, rows = self._tally.result()
        codes = codes if len(rows) else np.empty((1 + len(self.names), 0), np.int32)
        cell = codes[0].astype(np.int64) if of_place is None else of_place[codes[0]]
        shown = cell >= 0
        own = [c[shown].astype(np.int64) for c in (cell, *codes[1:])]
        held, facts = rows[shown], {}
        if self.columns:
            facts["kept"] = {"columns": self.columns, "k": 0, "unique": 0.0}
        if self.columns and len(held):
            together = own[: 1 + len(self.columns)]  # a missing value is -1, and a value of its own
            groups = join([(column + 1, int(column.max()) + 2) for column in together], len(held))
            by_person = self.person is not None
            sizes = persons_by_class(groups, own[-1], int(groups.max()) + 1) if by_person else total(groups, held)
            alone = int(held[sizes[groups] == 1].sum())
            facts["kept"] |= {"k": int(sizes.min()), "unique": alone / int(held.sum())}
            shares = {**shares, **{name: own_values(own[1 + i], held) for i, name in enumerate(self.columns)}}
        named = {name: shares[name] for name in self._plan.passed if shares.get(name, 0.0) > NEARLY_UNIQUE}
        return facts | ({"nearly_unique": named} if named else {})
