"""What a later release adds to an earlier one, and what it leaves out: subtracting the two must isolate nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.anonymity._frontier import Group
from discreet.anonymity._table import Table, code_column
from discreet.anonymity.rules import Rules, stacked
from discreet.engines.same import key_codes, same_key

IntArray = npt.NDArray[np.int64]


def changed_groups(new: Table, new_leaf: IntArray, old: Table, old_leaf: IntArray, rules: Rules) -> list[Group]:
    """Return the added and the removed records (spec density-trees, 9.7.4).

    Records are the same if identifiers (where declared), leaf and sensitive values agree; of several alike as many are
    the same as both tables have. So a person whose values have changed is both removed and added. Sensitive values are
    judged against their distribution in the new release.
    """
    n = new.n
    joined = [
        code_column(new.plan.domain, name, _both(new.others[name], old.others[name])) for name in new.plan.sensitive
    ]
    codes = stacked(joined, n + old.n)
    limits = rules.limits(joined, np.arange(n + old.n) < n)
    keys = np.concatenate([new_leaf, old_leaf])
    marks = [column.codes.astype(np.int64) for column in joined]
    for name in new.identifiers.column_names:
        declared = new.plan.domain.column(name)
        keys_of = (same_key(t.identifiers[name], declared).cast(pa.large_string()) for t in (new, old))
        marks.append(key_codes(pa.concat_arrays(keys_of)))
    for mark in marks:
        keys = np.unique(keys * (int(mark.max(initial=0)) + 1) + mark, return_inverse=True)[1].ravel()
    added = _beyond(keys[:n], keys[n:])
    removed = _beyond(keys[n:], keys[:n])
    return [
        Group("added", new_leaf[added], codes[:, :n][:, added], limits, _picked(new, added)),
        Group("removed", old_leaf[removed], codes[:, n:][:, removed], limits, _picked(old, removed)),
    ]


def _picked(table: Table, rows: IntArray) -> IntArray | None:
    persons = table.persons
    return None if persons is None else persons[rows]


def _both(new: Any, old: Any) -> pa.ChunkedArray:
    """Join two columns; where the files disagree on the type, as text."""
    if new.type != old.type:
        new, old = new.cast(pa.large_string()), old.cast(pa.large_string())
    return pa.chunked_array([*new.chunks, *old.chunks], new.type)


def _beyond(these: IntArray, those: IntArray) -> IntArray:
    """Return the places of the entries that the others do not have, or not as often."""
    size = int(max(these.max(initial=-1), those.max(initial=-1))) + 1
    there = np.bincount(those, minlength=size)
    order = np.argsort(these, kind="stable")
    ranked = these[order]
    rank = np.arange(len(these)) - np.searchsorted(ranked, ranked)
    return np.sort(order[rank >= there[ranked]])
