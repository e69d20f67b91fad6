"""The boxes in which a question is true, from its truth table over stretches of columns.

By the three-valued logic of SQL: what is said of a missing value is neither true nor false.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core import AnyArray, Categorical, Column, Intervals
from discreet.synopses.queries.evenness import Query

_INF = math.inf
#: As many boxes as a question may have.
MOST_BOXES = 500


@dataclass(frozen=True)
class Said:
    """A comparison: the stretches of one axis where it is true."""

    axis: int
    intervals: Intervals
    missing: bool = False


#: A comparison, or ("and" | "or" | "not", parts).
Tree = Any


def collect(tree: Tree, found: list[Said]) -> None:
    if isinstance(tree, Said):
        found.append(tree)
    else:
        for part in tree[1]:
            collect(part, found)


def stretches_of(column: Column, said: list[Said]) -> Intervals:
    """Return the stretches between all constants of a column, and missing values where they are kept."""
    cuts = {end for s in said for pair in s.intervals for end in pair if math.isfinite(end)}
    if isinstance(column, Categorical):
        edges = [0.0, *sorted(c for c in cuts if 0 < c < column.high), column.high]
    else:
        edges = [-_INF, *sorted(cuts), _INF]
    pairs = list(pairwise(edges))
    return [*pairs, (math.nan, math.nan)] if column.missing == "own" else pairs


def truth_of(tree: Tree, axes: list[int], edges: dict[int, Intervals]) -> AnyArray:
    """Return 1 for true, -1 for false, 0 for neither, over all stretches of all axes."""
    if isinstance(tree, Said):
        values = np.array([_true(tree, pair) for pair in edges[tree.axis]], dtype=np.int8)
        return values.reshape([-1 if axis == tree.axis else 1 for axis in axes])
    word, parts = tree
    join: Callable[..., AnyArray] = np.maximum if word == "or" else np.minimum
    made = truth_of(parts[0], axes, edges)
    for part in parts[1:]:
        made = join(made, truth_of(part, axes, edges))
    return -made if word == "not" else made


def _true(said: Said, pair: tuple[float, float]) -> int:
    if said.missing or math.isnan(pair[0]):
        if said.missing:
            return 1 if math.isnan(pair[0]) else -1
        return -1 if said.intervals == [(-_INF, _INF)] else 0  # "is not missing" is plainly false
    return 1 if any(a <= pair[0] and pair[1] <= b for a, b in said.intervals) else -1


def add_boxes(truth: AnyArray, axes: list[int], edges: dict[int, Intervals], so_far: Query, boxes: list[Query]) -> None:
    """Add boxes that cover what is true and do not overlap: stretches of the first axis that agree go together."""
    if not axes:
        if bool(truth):
            boxes.append(so_far)
        return
    axis, stretches = axes[0], edges[axes[0]]
    truth = np.broadcast_to(truth, (len(stretches), *truth.shape[1:]))
    alike: dict[bytes, list[int]] = {}
    for i in range(len(stretches)):
        alike.setdefault(truth[i].tobytes(), []).append(i)
    for members in alike.values():
        part = truth[members[0]]
        if not part.any() or len(boxes) > MOST_BOXES:
            continue
        whole = len(members) == len(stretches)
        more = {} if whole else {axis: _joined([stretches[i] for i in members])}
        add_boxes(part, axes[1:], edges, {**so_far, **more}, boxes)


def _joined(pairs: Intervals) -> Intervals:
    made: Intervals = []
    for low, high in pairs:
        if made and made[-1][1] == low:
            made[-1] = (made[-1][0], high)
        else:
            made.append((low, high))
    return made
