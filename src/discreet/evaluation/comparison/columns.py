"""Two tables in the same form: a row of numbers per record, categories as numbers, NaN for missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import engines, noise
from discreet.anonymity.risk import as_numbers, as_texts
from discreet.core import (
    NAMING,
    BoolArray,
    Categorical,
    Domain,
    FloatArray,
    IntArray,
    Integer,
    Numeric,
    checks,
    even_edges,
)
from discreet.engines import Source
from discreet.engines.readers import read_columns
from discreet.errors import InvalidArgument, SchemaError
from discreet.evaluation.attacks import draws

#: A column of texts is taken for a name or number of somebody if it has more different values than this, and more than
#: half as many as rows.
_MANY_TEXTS = 100


@dataclass(frozen=True)
class Columns:
    """The columns that are compared, as declared or as found, and why others are left out."""

    names: tuple[str, ...]
    kinds: tuple[Numeric | Categorical, ...]
    left_out: dict[str, str]
    domain: Domain | None

    @property
    def numeric(self) -> BoolArray:
        """Mask of columns with numbers or dates."""
        return np.array([not isinstance(kind, Categorical) for kind in self.kinds])

    @property
    def widths(self) -> FloatArray:
        one = [isinstance(k, Categorical) or k.high <= _next(k.low) for k in self.kinds]
        return np.array([1.0 if alone else k.high - k.low for alone, k in zip(one, self.kinds, strict=True)])

    def read(self, label: str, table: Any) -> FloatArray:
        source = engines.open(table)
        if self.domain is None:
            return self._numbered(label, _present(read_columns(source, self.names)))
        batches = list(source.batches(self.domain))
        found = np.vstack([np.column_stack(columns) for columns in batches]) if batches else np.empty((0, 1))
        _refuse_empty(label, len(found))
        return np.where(self.numeric, np.clip(found, self.domain.low, self.domain.high), np.floor(found))

    def _numbered(self, label: str, table: pa.Table) -> FloatArray:
        _refuse_empty(label, table.num_rows)
        return np.column_stack([_coded(table[kind.name], kind) for kind in self.kinds])

    def cells(self, values: FloatArray, edges: Sequence[FloatArray | None]) -> tuple[IntArray, IntArray]:
        """Return the cell number of every value, shape (columns, rows), and the number of cells per column.

        Numbers below the first edge, above the last, and missing values have their own cells.
        """
        out = np.empty((len(self.kinds), len(values)), np.int64)
        sizes = np.empty(len(self.kinds), np.int64)
        for j, (kind, cuts) in enumerate(zip(self.kinds, edges, strict=True)):
            v = values[:, j]
            if isinstance(kind, Categorical) or cuts is None:
                sizes[j] = len(getattr(kind, "categories", ()))
                out[j] = np.where(np.isnan(v), sizes[j], np.nan_to_num(v))
                continue
            n = sizes[j] = len(cuts) - 1
            place = np.minimum(np.searchsorted(cuts, v, side="right") - 1, n - 1)
            place = np.where(v < cuts[0], n, np.where(v > cuts[-1], n + 1, place))
            out[j] = np.where(np.isnan(v), n + 2, place)
        return out, sizes

    def edges(self, real: FloatArray, bins: int, rule: str) -> list[FloatArray | None]:
        """Return the cell edges of every column of numbers: of equal width, or of about equally many rows."""
        found: list[FloatArray | None] = []
        for j, kind in enumerate(self.kinds):
            there = real[~np.isnan(real[:, j]), j]
            if isinstance(kind, Categorical):
                found.append(None)
            elif rule == "even" or not len(there):
                found.append(even_edges(kind, bins) if kind.high > kind.low else np.array([kind.low, kind.high]))
            else:
                cuts, times = np.unique(np.quantile(there, np.linspace(0, 1, bins + 1)), return_counts=True)
                # A value with more than a bin's share of the rows has a bin of its own.
                found.append(np.unique(np.append(cuts, np.nextafter(cuts[times > 1], np.inf))))
        return found


def read_tables(
    tables: Mapping[str, Source], domain: Domain | None, names: Sequence[str] | None
) -> tuple[Columns, list[FloatArray]]:
    known = list(dict.fromkeys(name for label in ("real", "synthetic") for name in tables[label].names))
    left_out = {name: reason for name in known if (reason := _absent(name, tables, domain))}
    for name in names or ():
        if name in left_out or name not in known:
            near = checks.nearest(name, [k for k in known if k not in left_out]) or known[0]
            raise InvalidArgument("columns", name, "columns that both tables have", f"columns=[{near!r}]")
    chosen = [name for name in known if name not in left_out and (names is None or name in names)]
    if not chosen:
        raise SchemaError("the two tables have no column in common that can be compared")
    if domain is not None:
        picked = domain.select(chosen)
        columns = Columns(tuple(chosen), picked.columns, left_out, picked)
        return columns, [columns.read(label, table) for label, table in tables.items()]
    held = {label: _present(read_columns(table, chosen)) for label, table in tables.items()}
    for label, table in held.items():
        _refuse_empty(label, table.num_rows)
    found = {name: _kind(name, [table[name] for table in held.values()], names is None) for name in chosen}
    left_out |= {name: kind for name, kind in found.items() if isinstance(kind, str)}
    kinds = tuple(kind for kind in found.values() if not isinstance(kind, str))
    if not kinds:
        raise SchemaError("the two tables have no column in common that can be compared")
    columns = Columns(tuple(kind.name for kind in kinds), kinds, left_out, None)
    return columns, [columns._numbered(label, table) for label, table in held.items()]


def _absent(name: str, tables: Mapping[str, Source], domain: Domain | None) -> str:
    where = next((label for label, table in tables.items() if name not in table.names), None)
    if where is not None:
        return f"is not in the {where} table"
    if domain is not None and name not in domain.names:
        return "is not declared"
    if domain is not None and (role := domain.column(name).role) in NAMING:
        return f"has the role {role}"
    return ""


def _present(table: pa.Table) -> pa.Table:
    """Treat empty text as missing, as CSV files do."""
    return pa.table({
        name: pc.if_else(pc.equal(table[name], ""), None, table[name])
        if pa.types.is_large_string(table[name].type) else table[name] for name in table.column_names
    })  # fmt: skip


def _refuse_empty(label: str, rows: int) -> None:
    if not rows:
        raise InvalidArgument(label, "no rows", "a table with rows", "more rows")


def _kind(name: str, columns: list[Any], unasked: bool) -> Numeric | Categorical | str:
    """Return the type of a column, or why it is left out."""
    numbers = [as_numbers(column) for column in columns]
    if not any(values is None for values in numbers):
        values = np.asarray(numbers[0])
        there = values[np.isfinite(values)]
        if not len(there):
            return "has no value in the real table"
        low, high = float(there.min()), float(there.max())
        if low == high:
            return Numeric(name, low, _next(low))  # one cell, and everything else is outside
        whole = bool((there == np.floor(there)).all()) and max(abs(low), abs(high)) < 2**52
        return Integer(int(low), int(high), name=name) if whole else Numeric(name, low, high)
    labels = pa.chunked_array([as_texts(column) for column in columns]).drop_null()
    counted = pc.value_counts(labels)
    texts = counted.field("values").take(pc.sort_indices(counted.field("counts"), sort_keys=[("", "descending")]))
    if unasked and len(texts) > max(_MANY_TEXTS, sum(len(column) for column in columns) / 2):
        return "nearly every value is different: it names rows"
    return Categorical(name, tuple(texts.to_pylist())) if len(texts) else "has no value"


def _next(value: float) -> float:
    """Return the nearest larger number that can be the upper bound of a column."""
    return max(float(np.nextafter(value, np.inf)), value + 1e-100)


def _coded(column: Any, kind: Numeric | Categorical) -> FloatArray:
    if isinstance(kind, Categorical):
        place = pc.index_in(as_texts(column), value_set=pa.array(kind.categories, pa.large_string()))
        return np.asarray(place.to_numpy(zero_copy_only=False), np.float64)
    numbers = as_numbers(column)
    if numbers is None:  # a table made later, such as a rehearsed release: other values are missing
        return np.full(len(column), np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def drawn(values: FloatArray, most: int, stream: noise.Generator) -> FloatArray:
    return values if len(values) <= most else values[draws.order(len(values), stream)[:most]]
