"""The settings of supervised growth, chosen by cross-validation on the build records.

Splits by information gain alone keep a label best if it depends on few columns and there are many records. In small
tables they follow chance, and the common spread predicts better. If the label depends on columns together, looking
ahead helps, but follows chance even more. Parts are made by counting through each class: no randomness.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from discreet.anonymity.growth.grow import grow_tree, label_codes
from discreet.anonymity.growth.lookahead import LEVELS, affordable
from discreet.anonymity.release.table import Table
from discreet.core import IntArray, in_order


class GrowthChoice(NamedTuple):
    """The weight of the label against the common spread, and the number of levels that are split by looking ahead."""

    weight: float
    ahead: int


#: What is tried, the plainest first: it wins a draw.
PLAIN = tuple(GrowthChoice(weight, 0) for weight in (0.0, 0.25, 0.5, 0.75, 1.0))
AHEAD = tuple(GrowthChoice(weight, LEVELS) for weight in (0.75, 1.0))
PARTS = 5
#: With fewer records per column, looking ahead follows chance: it is not tried.
_FEW = 50
#: In a table of this size one held-out part suffices.
_LARGE = 100_000


def choose_growth(table: Table, sensitive: IntArray | None, settings: Mapping[str, Any]) -> GrowthChoice:
    """Return the choice whose tree predicts held-out labels best; ``settings`` are further arguments of `grow_tree`."""
    assert table.target is not None
    # The training part is smaller: with k as much smaller, its cells are as large as those of the whole table.
    limits = settings["limits"]
    settings = {**settings, "limits": limits._replace(k=max(1, round(limits.k * (1 - 1 / PARTS))))}
    d = len(table.bins)
    small = affordable(table.n, d)
    choices = PLAIN + AHEAD if small and table.n >= _FEW * d else PLAIN
    part, tried = parts_of(label_codes(table.target)[0])

    def work(held_out: int) -> list[int]:
        return [_hits(table, sensitive, part, held_out, settings, choice) for choice in choices]

    # Growth on a large table has threads of its own.
    found = (in_order if small else map)(work, tried)
    return choices[int(np.array(list(found), np.int64).sum(axis=0).argmax())]


def parts_of(codes: IntArray) -> tuple[IntArray, range]:
    """Return the part of each record, by counting through the classes, and the parts to hold out in turn."""
    part = np.empty(len(codes), np.int64)
    part[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % PARTS
    return part, range(1 if len(codes) >= _LARGE else PARTS)


def _hits(
    table: Table, sensitive: IntArray | None, part: IntArray, held_out: int, settings: Mapping[str, Any],
    choice: GrowthChoice,
) -> int:  # fmt: skip
    """Grow on all other parts; count the held-out records with the most common label of their leaf."""
    assert table.target is not None
    codes, classes = label_codes(table.target)
    build, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
    if not len(build) or not len(test):
        return 0
    own = None if sensitive is None else np.ascontiguousarray(sensitive[:, build])
    more = {"sensitive": own, "target": table.target.take(build), **choice._asdict(), **settings}
    grown = grow_tree(np.ascontiguousarray(table.bins[:, build]), table.plan.grids, **more)
    leaf = grown.tree.route(np.ascontiguousarray(table.bins[:, test]))
    return foretold(grown.leaf, codes[build], leaf, codes[test], classes)


def foretold(leaf: IntArray, labels: IntArray, at: IntArray, truth: IntArray, classes: int) -> int:
    votes = np.zeros((max(int(leaf.max()), int(at.max(initial=0))) + 1, classes), np.int64)
    np.add.at(votes, (leaf, labels), 1)
    return int((votes.argmax(axis=1)[at] == truth).sum())
