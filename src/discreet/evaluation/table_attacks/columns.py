"""Tables in the form that the attacks read: released cells as conditions, people as numbers and category numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity import Release
from discreet.anonymity.risk import (
    Sets,
    Stretches,
    as_numbers,
    as_texts,
    declared_of,
    join,
    legend_of,
    printed_columns,
    read_cells,
    read_sets,
    read_stretches,
)
from discreet.core import NAMING, BoolArray, Domain, FloatArray, IntArray
from discreet.engines.readers import read_columns
from discreet.engines.tables import Encoder
from discreet.errors import InvalidArgument, InvalidType, SchemaError
from discreet.evaluation.attacks import draws


@dataclass(frozen=True)
class Column:
    """One column of the released table, of the people in it and of the control group (categories by number)."""

    name: str
    released: Stretches | Sets
    original: FloatArray
    control: FloatArray
    n_labels: int

    @property
    def numeric(self) -> bool:
        return isinstance(self.released, Stretches)

    def missing(self, values: FloatArray) -> BoolArray:
        return np.isnan(values) if self.numeric else values == self.n_labels


@dataclass(frozen=True)
class Tables:
    """The columns of the three tables, and whose row each is (by number) in the original and in the control."""

    columns: list[Column]
    owners: dict[str, IntArray]

    def targets(self, side: str, most: int, stream: noise.Generator, able: Any = None) -> IntArray:
        """Return one row of at most ``most`` people, drawn at random from those that are ``able``."""
        owners = self.owners[side]
        places = np.arange(len(owners)) if able is None else np.flatnonzero(able)
        if len(places) > most or len(np.unique(owners[places])) < len(places):
            places = places[draws.order(len(places), stream)]
            places = places[np.sort(np.unique(owners[places], return_index=True)[1])][:most]
        return places


def read(
    released: Any, original: Any, control: Any, names: Sequence[str] | None, domain: Domain | None = None,
    person: str | None = None,
) -> Tables:  # fmt: skip
    """Read the columns that all tables have, or the named ones. Without a control, it has no rows."""
    domain = declared_of(released) if domain is None else domain
    sources = [engines.open(released.table if isinstance(released, Release) else released), engines.open(original)]
    sources += [] if control is None else [engines.open(control)]
    printed = [n for n in sources[1].names if set(printed_columns(n, sources[0].names)) <= set(sources[0].names)]
    if names is None:
        names = [n for n in printed if n in sources[-1].names and n != person and _describes(domain, n)]
        if not names:
            raise SchemaError("the released table, the original and the control have no column in common")
    cells = [each for n in names for each in (printed_columns(n, sources[0].names) if n in printed else [n])]
    tables = [read_columns(sources[0], cells)]
    for label, source in zip(("original", "control"), sources[1:], strict=False):
        own = [person] if person is not None and (label == "original" or person in source.names) else []
        tables.append(read_columns(source, [*names, *own]))
    for label, table in zip(("released", "original", "control"), tables, strict=False):
        if not table.num_rows:
            raise InvalidArgument(label, "no rows", "a table with rows", "more rows")
    tables += [tables[1].slice(0, 0)] * (control is None)
    dialects = [sources[1].dialect, sources[-1].dialect]
    legend = legend_of(released)
    columns = [_column(name, legend, domain, tables, dialects) for name in names]
    return Tables(columns, {"original": _owners(tables[1], person), "control": _owners(tables[2], person)})


def _describes(domain: Domain | None, name: str) -> bool:
    return domain is None or name not in domain.names or domain.column(name).role not in NAMING


def _owners(table: pa.Table, person: str | None) -> IntArray:
    """Number the people of a table. A row without an identifier is a person of its own."""
    own = np.arange(table.num_rows)
    if person is None or person not in table.column_names:
        return own
    code = as_texts(table[person]).dictionary_encode().indices
    return np.asarray(np.where(code.is_null(), table.num_rows + own, code.fill_null(0)), np.int64)


def column_names(label: str, given: Any) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence) or any(not isinstance(n, str) for n in given):
        raise InvalidType(label, given, "a list of column names", f'{label}=["age"]')
    names = list(given)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(label, names, "at least one column, each named once", f'{label}=["age"]')
    return names


def _column(
    name: str, legend: Mapping[str, Any], domain: Domain | None, tables: Sequence[pa.Table], dialects: Sequence[Any]
) -> Column:
    released, people = tables[0], [table[name] for table in tables[1:]]
    if domain is not None and name in domain.names:
        declared = domain.column(name)
        cells = read_cells(released, declared, legend)
        read = zip(people, dialects, strict=True)
        coded = [np.clip(Encoder(declared, d).arrow(c.combine_chunks()), declared.low, declared.high) for c, d in read]
        if isinstance(cells, Sets):
            labels = len(cells.members[0]) - 1
            own, others = (np.nan_to_num(np.floor(c), nan=labels) for c in coded)
            return Column(name, cells, own, others, labels)
        if cells is not None:
            return Column(name, cells, coded[0], coded[1], 0)
    truth, other = (as_numbers(column) for column in people)
    stretches = None if truth is None or other is None else read_stretches(released[name], legend.get(name))
    if truth is not None and other is not None and stretches is not None:
        return Column(name, stretches, truth, other, 0)
    texts = [as_texts(column) for column in people]
    labels = pa.chunked_array(texts).drop_null().unique()
    numbered = [_numbers(labels, column) for column in texts]
    sets = read_sets(released[name], labels.to_pylist(), legend.get(name))
    return Column(name, sets, numbered[0], numbered[1], len(labels))


def _numbers(labels: Any, texts: Any) -> FloatArray:
    found = pa.compute.index_in(texts, value_set=labels)
    return np.asarray(found.fill_null(len(labels)).to_numpy(zero_copy_only=False), np.float64)


@dataclass(frozen=True)
class Predicates:
    """The conditions of a released table, in the form in which rows are tested.

    ``first`` and ``last`` are the ranks that a condition admits, or its place in ``sets``; ``gap`` says that a missing
    value fits. ``original`` and ``control`` have shape (columns, rows): ranks or category numbers, -1 for missing.
    """

    first: list[IntArray]
    last: list[IntArray]
    gap: list[BoolArray]
    original: npt.NDArray[np.int32]
    control: npt.NDArray[np.int32]
    sets: BoolArray

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Self:
        """Number the ends of all conditions, so that tests compare whole numbers."""
        first, last, gap, people, sets, size = [], [], [], [], [np.empty(0, bool)], 0
        for column in columns:
            released = column.released
            if isinstance(released, Stretches):
                a, b, closed = _around(released)
                ends = np.unique(np.concatenate([a, b]))
                ends = ends[np.isfinite(ends)]
                rank = _ranks(ends, a)
                first.append(np.where(np.isnan(a), 1, rank))
                last.append(np.where(np.isnan(b), 0, _ranks(ends, b) - ~closed))
                gap.append(released.missing)
                people.append([_ranks(ends, values) for values in (column.original, column.control)])
            else:
                first.append(size + np.arange(len(released.members)) * (column.n_labels + 1))
                last.append(np.zeros(len(released.members), np.int64))
                gap.append(released.members[:, -1])
                sets.append(released.members.ravel())
                size += released.members.size
                numbers = [values.astype(np.int64) for values in (column.original, column.control)]
                people.append([np.where(n == column.n_labels, -1, n) for n in numbers])
        stacked = [np.stack([p[side] for p in people]).astype(np.int32) for side in (0, 1)]
        return cls(first, last, gap, stacked[0], stacked[1], np.concatenate(sets))


def _around(released: Stretches) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the interval of each condition. For single values: what is nearer to it than to the others.

    A column of single values, such as means, shows no widths; its other values show where each must end.
    """
    low, high, closed = released.low, released.high, released.closed
    there = ~np.isnan(low)
    if (low[there] != high[there]).any() or not there.any():
        return low, high, closed
    order = np.flatnonzero(there)[np.argsort(low[there])]
    middle = (low[order][:-1] + low[order][1:]) / 2
    a, b = low.copy(), high.copy()
    a[order] = np.append(-np.inf, middle)
    b[order] = np.append(middle, np.inf)
    return a, b, np.isinf(b)


def _ranks(ends: FloatArray, values: FloatArray) -> IntArray:
    """Return 2 i for a value between ends i - 1 and i, 2 i + 1 for end i itself, -1 for a missing value."""
    rank = np.searchsorted(ends, values, side="left") + np.searchsorted(ends, values, side="right")
    return np.where(np.isnan(values), -1, rank)


@dataclass(frozen=True)
class ColumnSpace:
    """Some columns of the released table as combinations of conditions, to find the nearest to a person.

    ``rows`` lists released rows by combination; combination c has the places ``starts[c]..starts[c + 1]-1``.
    """

    rows: IntArray
    starts: IntArray
    numeric: BoolArray
    low: FloatArray
    high: FloatArray
    gaps: FloatArray
    sets: FloatArray
    original: FloatArray
    control: FloatArray

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Self:
        """Group the released rows and scale every number by its released range."""
        n = len(columns[0].released.code)
        classes = join([(c.released.code, int(c.released.code.max()) + 1) for c in columns], n)
        rows = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[rows], np.arange(int(classes.max()) + 2))
        one = rows[starts[:-1]]
        low, high, gaps, people, sets, size = [], [], [], [], [np.empty(0)], 0
        for column in columns:
            released = column.released
            code = released.code[one]
            if isinstance(released, Stretches):
                a, b, origin, scale = _scaled(released)
                low.append(a[code])
                high.append(b[code])
                # Missing for sure, perhaps, or not at all.
                gaps.append(np.where(released.missing, np.where(np.isnan(released.low), 0.0, 0.5), 1.0)[code])
                people.append([(values - origin) / scale for values in (column.original, column.control)])
            else:
                held = released.members.sum(axis=1, keepdims=True)
                sets.append((1.0 - released.members / np.maximum(held, 1)).ravel())
                low.append((size + code * (column.n_labels + 1)).astype(np.float64))
                high.append(np.zeros(len(code)))
                gaps.append(np.zeros(len(code)))
                size += released.members.size
                people.append([column.original, column.control])
        numeric = np.array([column.numeric for column in columns])
        sides = [np.stack([p[side] for p in people]) for side in (0, 1)]
        flat = np.concatenate(sets)
        return cls(rows, starts, numeric, np.stack(low), np.stack(high), np.stack(gaps), flat, sides[0], sides[1])

    @property
    def combinations(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        return self.numeric, self.low, self.high, self.gaps, self.sets, self.starts


def _scaled(released: Stretches) -> tuple[FloatArray, FloatArray, float, float]:
    ends = np.concatenate([released.low, released.high])
    ends = ends[np.isfinite(ends)]
    origin, top = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    scale = top - origin or 1.0
    low, high = np.maximum(released.low, origin), np.minimum(released.high, top)
    return (low - origin) / scale, (high - origin) / scale, origin, scale
