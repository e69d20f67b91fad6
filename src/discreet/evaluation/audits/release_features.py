"""Feature maps of this package's releases and of tables, and the records in which two neighbouring inputs differ."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import BoolArray, Categorical, Domain, FloatArray
from discreet.errors import InvalidType
from discreet.evaluation.audits.features import (
    WIDEST,
    FeatureMap,
    NumberFeatures,
    PointFeatures,
    number_of,
    word_code,
)
from discreet.local import Counts, Reports
from discreet.synopses import Synopsis

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

#: Records looked at on each side; neighbours have one.
_MOST = 2


def features_for(release: Any, data: Any, neighbour: Any) -> FeatureMap:
    """Choose a map by the kind of the first release."""
    records = [r for side in differing(data, neighbour) for r in side]
    if isinstance(_synopsis(release), Synopsis):
        return LeafFeatures(_synopsis(release), records)
    if isinstance(release, Reports):
        return ReportFeatures(release)
    if isinstance(release, Counts):
        return PartFeatures(_counters, NumberFeatures(_counters(release)))
    if (table := as_table(release)) is not None:
        return TableFeatures(table, records)
    centres = getattr(release, "cluster_centers_", None)
    if centres is not None:
        near = PointFeatures(centres, _vectors(records, np.shape(centres)[1]))
        return PartFeatures(attrgetter("cluster_centers_"), near)
    if isinstance(release, np.ndarray) and release.dtype.kind == "f" and release.ndim in (1, 2) and release.size:
        vectors = _vectors([*records, data, neighbour], release.shape[-1])  # the input may be one record itself
        if vectors and (release.ndim == 2 or release.shape[-1] > 1):
            return PointFeatures(release, vectors)
    plain = (Real, str, bytes, bool, np.generic, np.ndarray, list, tuple, Mapping, set, frozenset)
    if release is None or isinstance(release, plain):
        return NumberFeatures(release)
    expected = f"a function that turns a {type(release).__name__} into numbers: there is no map for it here"
    raise InvalidType("features", None, expected, "features=lambda release: [...]")


def _vectors(records: Sequence[Any], size: int) -> list[FloatArray]:
    """Return the records that consist of so many finite numbers."""
    vectors = []
    for record in records:
        values = list(record.values()) if isinstance(record, dict) else record
        values = values.tolist() if isinstance(values, np.ndarray) else values
        cells = list(values) if isinstance(values, (tuple, list)) else [values]
        if len(cells) == size and all(isinstance(c, (int, float, np.number)) and math.isfinite(c) for c in cells):
            vectors.append(np.array(cells, np.float64))
    return vectors


class LeafFeatures(FeatureMap):
    """Total, leaves and edges of a synopsis, and what it says at the place of each differing record.

    For each record: its leaf (weight, box), and the noisy counts on its path through the tree.
    """

    def __init__(self, first: Synopsis, records: Sequence[Any], levels: int = 24, leaves: int = 128) -> None:
        self.levels, self.leaves = levels, leaves
        self.places = [p for p in (_place(first.domain, r) for r in records) if p is not None]
        columns = first.domain.names
        names = ["total", "leaves", "least weight", "largest weight", "weights above 0"]
        names += [f"edges of {c}" for c in columns]
        for i in range(len(self.places)):
            names += [f"weight at differing record {i}", f"volume at differing record {i}"]
            names += [f"{end} edge of {c} at differing record {i}" for c in columns for end in ("lower", "upper")]
            names += [f"count at differing record {i}, level {level}" for level in range(levels)]
            names += [f"depth of differing record {i}"]
        names += [f"weight of leaf {i}" for i in range(leaves)]
        self.names = tuple(names)

    def __call__(self, release: Any) -> FloatArray:
        release = _synopsis(release)
        weights = release.weights.astype(np.float64)
        some = len(weights) > 0
        found = [release.total, float(len(weights))]
        found += [float(weights.min()), float(weights.max())] if some else [np.nan, np.nan]
        found.append(float((weights > 0).sum()))
        found += [float(len(np.unique(ends))) for ends in np.concatenate([release.lower, release.upper]).T]
        for place in self.places:
            found += self._at(release, weights, place)
        return np.array([*found, *weights[: self.leaves], *([np.nan] * max(self.leaves - len(weights), 0))])

    def _at(self, release: Synopsis, weights: FloatArray, place: FloatArray) -> list[float]:
        d = len(place)
        inside = np.flatnonzero(_holds(release.lower, release.upper, place, release.domain.high))
        if len(inside):
            leaf = int(inside[0])
            low, high = release.lower[leaf], release.upper[leaf]
            found = [float(weights[leaf]), float(np.prod(high - low)), *np.column_stack([low, high]).ravel().tolist()]
        else:
            found = [np.nan] * (2 + 2 * d)
        path, depth = np.full(self.levels, np.nan), np.nan
        tree = release.tree
        if tree is not None:
            nodes = np.flatnonzero(_holds(tree.lower, tree.upper, place, release.domain.high))
            path[np.minimum(tree.depth[nodes], self.levels - 1)] = tree.estimate[nodes]
            depth = float(tree.depth[nodes].max()) if len(nodes) else np.nan
        return [*found, *path.tolist(), depth]


def _synopsis(release: Any) -> Any:
    """Return the synopsis of a fitted method that makes one and no centres."""
    return release if hasattr(release, "cluster_centers_") else getattr(release, "synopsis_", release)


def _holds(lower: FloatArray, upper: FloatArray, place: FloatArray, top: FloatArray) -> BoolArray:
    last = (upper == top) & (place == top)  # the domain's upper end belongs to the last box
    return np.asarray(((lower <= place) & ((place < upper) | last)).all(axis=1))


def _place(domain: Domain, record: Any) -> FloatArray | None:
    if isinstance(record, dict):
        cells = [record.get(c.name) for c in domain]
    else:
        cells = list(record) if isinstance(record, (tuple, list)) else [record]
    if len(cells) != len(domain):
        return None
    found = []
    for column, cell in zip(domain, cells, strict=True):
        if isinstance(column, Categorical) and cell in column.categories:
            found.append(column.categories.index(cell) + 0.5)
        elif isinstance(cell, (int, float, np.number)):
            found.append(float(np.clip(cell, column.low, column.high)))
        else:
            return None
    place = np.array(found)
    return None if np.isnan(place).any() else place


class ReportFeatures(FeatureMap):
    """Reports of a local mechanism: their bits, and for short ones the whole report as one number."""

    def __init__(self, first: Reports) -> None:
        self.rows = min(len(first), max(WIDEST // (8 * max(first.rows.shape[1], 1)), 1))
        self.bits = min(8 * first.rows.shape[1], WIDEST)
        self.names = (
            "reports",
            *(f"report {i}" for i in range(self.rows)),
            *(f"bit {b} of report {i}" for i in range(self.rows) for b in range(self.bits)),
        )

    def __call__(self, release: Reports) -> FloatArray:
        found = np.full(len(self.names), np.nan)
        found[0] = len(release)
        rows = release.rows[: self.rows]
        found[1 : 1 + len(rows)] = [word_code(row.tobytes().hex()) for row in rows]
        bits = np.unpackbits(rows, axis=1)[:, : self.bits].ravel()
        start = 1 + self.rows
        found[start : start + len(bits)] = bits
        return found


class PartFeatures(FeatureMap):
    """The features of a part of a release: the counters of a collector, or the centres of a clustering."""

    def __init__(self, part: Callable[[Any], Any], inner: FeatureMap) -> None:
        self.part, self.inner, self.names = part, inner, inner.names

    def __call__(self, release: Any) -> Any:
        return self.inner(self.part(release))


def _counters(counts: Counts) -> FloatArray:
    return np.concatenate([[counts.n], *(np.ravel(c) for c in counts.counters.values())]).astype(np.float64)


class TableFeatures(FeatureMap):
    """Rows of a table, and for each column its values, interval ends, and whether they equal a true value."""

    def __init__(self, first: pa.Table, records: Sequence[Any]) -> None:
        self.columns = tuple(first.column_names)
        self.records = tuple(records)
        names = ["rows", "columns"]
        for c in self.columns:
            names += [f"distinct in {c}", f"least of {c}", f"largest of {c}", f"sum of {c}", f"set of {c}"]
            names += [f"entries of {c} equal to differing record {i}" for i in range(len(self.records))]
        self.names = tuple(names)

    def __call__(self, release: Any) -> FloatArray:
        table = as_table(release)
        if table is None:
            return np.full(len(self.names), np.nan)
        found = [float(table.num_rows), float(table.num_columns)]
        for position, name in enumerate(self.columns):
            cells = table.column(name).to_pylist() if name in table.column_names else []
            numbers = _numbers(cells)
            found.append(float(len(set(map(repr, cells)))))
            found += [min(numbers), max(numbers), float(np.sum(numbers))] if numbers else [np.nan] * 3
            found.append(word_code(repr(sorted(set(map(repr, cells))))))
            found += [float(numbers.count(_cell(r, name, position))) for r in self.records]
        return np.array(found)


def as_table(release: Any) -> pa.Table | None:
    """Return a release that is a table as an Arrow table: Arrow, pandas, or an object with one as ``table``."""
    inner = getattr(release, "table", release)
    if isinstance(inner, pa.RecordBatch):
        return pa.Table.from_batches([inner])
    if isinstance(inner, pa.Table):
        return inner
    if hasattr(inner, "to_dict") and hasattr(inner, "columns") and hasattr(inner, "iloc"):
        return pa.Table.from_pandas(inner, preserve_index=False)
    return None


def _numbers(cells: list[Any]) -> list[float]:
    found: list[float] = []
    for cell in cells:
        if isinstance(cell, str):
            found += map(float, _NUMBER.findall(cell))
        elif isinstance(cell, (list, tuple)):
            found += [number_of(x) for x in cell]
        elif cell is not None:
            found.append(number_of(cell))
    return [x for x in found if x == x]


def _cell(record: Any, name: str, position: int) -> float:
    if isinstance(record, dict):
        return number_of(record.get(name))
    if isinstance(record, (tuple, list)):
        return number_of(record[position]) if position < len(record) else np.nan
    return number_of(record)


def differing(data: Any, neighbour: Any) -> tuple[list[Any], list[Any]]:
    """Return the records that only the first input has, and those that only the second has; at most two of each.

    Records are numbers, tuples, or mappings by column name. Both lists are empty if the inputs cannot be read as rows.
    """
    first, second = _records(data), _records(neighbour)
    if first is None or second is None:
        return [], []
    here, there = Counter(map(repr, first)), Counter(map(repr, second))
    found = []
    for rows, more in ((first, here - there), (second, there - here)):
        by_text = {repr(row): row for row in rows if repr(row) in more} if more else {}
        found.append(list(by_text.values())[:_MOST])
    return found[0], found[1]


def _records(data: Any) -> list[Any] | None:
    if isinstance(data, (bool, int, float, str, np.generic)):
        return [data.item() if isinstance(data, np.generic) else data]
    if (table := as_table(data)) is not None:
        return list(table.to_pylist())
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        return None
    return [tuple(row) if isinstance(row, (list, tuple)) else row for row in data]
