"""Datafly's rule (Sweeney 1998): raise the column with the most values until few enough records are left out.

Each step needs the number of records in classes that break a rule. For records in a file, distinct combinations of
groups, sensitive values and persons are counted, some classes at a time, and written to a file for the next step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.anonymity.release.spilled import SpilledTable
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.counted import ValueTally
from discreet.anonymity.risk.rules import Rules
from discreet.core import BoolArray, IntArray
from discreet.engines import MOST_FILES, RowFile, divided
from discreet.errors import InvalidArgument

#: For one column, the group of every bin at every level: level 0 is the bins themselves, the last one group.
Ladder = list[IntArray]
#: Numbers by which combinations are dealt to files; any odd ones do.
_MIX = np.uint64(0x9E3779B97F4A7C15)


def choose_levels(
    ladders: Sequence[Ladder], present: Sequence[IntArray], allowed: int, left_out: Callable[[list[IntArray]], int]
) -> list[int]:
    """Return the level of each column at which few enough records are left out.

    ``present`` are the bins of each column that have records. ``left_out`` counts the records in classes that break a
    rule, given the group of each bin of each column.
    """
    level = [0] * len(ladders)
    while True:
        groups = [ladder[level[j]] for j, ladder in enumerate(ladders)]
        open_ = [j for j, ladder in enumerate(ladders) if level[j] < len(ladder) - 1]
        if not open_ or left_out(groups) <= allowed:
            return level
        level[max(open_, key=lambda j: (len(np.unique(groups[j][present[j]])), -j))] += 1


class Combinations:
    """Records in a file, counted by combination of groups, sensitive values and person."""

    def __init__(self, table: SpilledTable, rules: Rules) -> None:
        self._table, self._rules = table, rules
        self._file: RowFile | None = None

    def __enter__(self) -> Combinations:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.__exit__(None, None, None)

    def left_out(self, groups: Sequence[IntArray]) -> int:
        """Return the records in classes that break a rule; groups may only grow from call to call."""
        table = self._table
        read, fields = self._file or table.file, table.fields
        # A group is called by its first bin, so that levels above can be looked up for it.
        heads = [np.searchsorted(group, group).astype(np.uint16) for group in groups]
        size = 32 * (len(groups) + len(fields) + 2)
        parts = min(max(1, math.ceil(len(read) * size / table.memory)), MOST_FILES)
        if parts > 1 and self._rules.t_on:
            raise InvalidArgument(
                "t_closeness", self._rules.t_closeness, "left out for a large table with so many combinations",
                "levels={...}, or fit(some_of_the_rows) and transform_file(all_rows, target)",
            )  # fmt: skip
        found = RowFile(np.dtype([*read.kind.descr, *([] if self._file else [("rows", np.int64)])]))
        blocks = ((block, _dealt(self._heads(block, heads), parts)) for block in read.blocks())
        total = 0
        for file in divided(blocks, read.kind, parts):
            with file:
                for block in file.blocks(max(len(file), 1)):
                    total += self._counted(block, heads, found)
        self.__exit__()
        self._file = found
        return total

    def _heads(self, block: Any, heads: Sequence[Any]) -> Any:
        bins = self._table.rows(block) if self._file is None else block["bins"]
        return np.stack([head[bins[:, j]] for j, head in enumerate(heads)])

    def _counted(self, block: Any, heads: Sequence[Any], found: RowFile) -> int:
        """Add up equal combinations of whole classes, write them down, and count what must be left out."""
        d, table, tally = len(heads), self._table, ValueTally()
        columns = [column.astype(np.int64) for column in self._heads(block, heads)]
        columns += [block[field] for field in table.fields]
        tally.add(columns, None if self._file is None else block["rows"])
        codes, rows = tally.result()
        own = dict(zip(table.fields, codes[d:], strict=True))
        found.add(bins=codes[:d].T, rows=rows, **own)
        held = table.coded(classes([c.astype(np.int64) for c in codes[:d]]), list(codes[d:]), rows)
        kept = keep_ok(held.place, self._rules, held.sensitive, held.persons, held.rows)
        return int(rows[~kept].sum())


def _dealt(heads: Any, parts: int) -> IntArray:
    """Return the file of every row: equal combinations go to the same."""
    mixed = np.zeros(heads.shape[1], np.uint64)
    for column in heads:
        mixed = (mixed ^ column.astype(np.uint64)) * _MIX
    return ((mixed >> np.uint64(40)) % np.uint64(parts)).astype(np.int64)


def classes(codes: Sequence[IntArray]) -> IntArray:
    """Number the combinations of the columns' groups."""
    return join([(c, int(c.max(initial=0)) + 1) for c in codes], len(codes[0]))


def keep_ok(
    of: IntArray, rules: Rules, sensitive: Sequence[CodedColumn], persons: IntArray | None, rows: IntArray | None = None
) -> BoolArray:
    """Return which rows stay when the classes that break a rule are left out; see `Rules.measure` for ``rows``.

    Leaving rows out changes the distribution for t, so this is repeated until nothing changes.
    """
    kept = np.ones(len(of), bool)
    while kept.any():
        good = rules.kept(np.where(kept, of, -1), sensitive, persons, rows)
        stays = kept.copy()
        stays[kept] = good[of[kept]]
        if stays.sum() == kept.sum():
            break
        kept = stays
    return kept
