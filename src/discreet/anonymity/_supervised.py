"""How much a supervised tree should listen to the label: chosen by cross-validation on the build records.

Cuts by information gain alone keep the label best where it depends on few columns in many records. In a small table
they follow chance, and what the columns have in common tells more: there the common spread, or both by halves, predicts
better. Three trees are grown on each of a few training parts, and the one whose cells foretell the held-out labels best
is taken. Parts are made by counting through the records of each class, so nothing is random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity._growth import grow_tree, label_codes
from discreet.anonymity._table import Table

IntArray = npt.NDArray[np.int64]

#: Weights of the label that are tried, the least first: it wins a draw.
WEIGHTS = (0.0, 0.5, 1.0)
_PARTS = 5
#: In a table this large one held-out part tells enough.
_LARGE = 100_000


def choose_weight(table: Table, sensitive: IntArray | None, settings: Mapping[str, Any]) -> float:
    """Return the weight of the label whose tree predicts held-out labels best.

    Parameters
    ----------
    table : Table
        The build records, with a target.
    sensitive : ndarray
        Their sensitive values, stacked.
    settings : mapping
        Further arguments of `grow_tree`.
    """
    assert table.target is not None
    codes, classes = label_codes(table.target)
    part = np.empty(table.n, np.int64)
    part[np.argsort(codes, kind="stable")] = np.arange(table.n) % _PARTS
    # The training part is smaller: with k as much smaller, its cells are as large as those of the whole table.
    limits = settings["limits"]
    limits = limits._replace(k=max(1, round(limits.k * (1 - 1 / _PARTS))))
    hits = np.zeros(len(WEIGHTS), np.int64)
    for held_out in range(1 if table.n >= _LARGE else _PARTS):
        build, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
        if not len(build) or not len(test):
            continue
        for w, weight in enumerate(WEIGHTS):
            hits[w] += _hits(table, sensitive, codes, classes, build, test, {**settings, "limits": limits}, weight)
    return WEIGHTS[int(hits.argmax())]


def _hits(
    table: Table,
    sensitive: IntArray | None,
    codes: IntArray,
    classes: int,
    build: IntArray,
    test: IntArray,
    settings: Mapping[str, Any],
    weight: float,
) -> int:
    """Grow on the build records and count the test records whose label is the commonest of their leaf."""
    assert table.target is not None
    target = type(table.target)(table.target.name, table.target.codes[build], table.target.labels, table.target.ordered)
    grown = grow_tree(
        np.ascontiguousarray(table.bins[:, build]),
        table.plan.grids,
        sensitive=None if sensitive is None else np.ascontiguousarray(sensitive[:, build]),
        target=target,
        weight=weight,
        **settings,
    )
    votes = np.zeros((grown.tree.n_nodes, classes), np.int64)
    np.add.at(votes, (grown.leaf, codes[build]), 1)
    leaf = grown.tree.route(np.ascontiguousarray(table.bins[:, test]))
    return int((votes.argmax(axis=1)[leaf] == codes[test]).sum())
