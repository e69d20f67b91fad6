"""Rows of any table as coordinates, and a table of the same kind from new values.

In the metric model every row is perturbed by itself, so rows stay rows and their number is public.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.core import (
    Domain,
    FloatArray,
    Integer,
    Numeric,
    Time,
    as_domain,
    category_text,
    dialect_of,
    released_columns,
)
from discreet.errors import InvalidArgument

#: Rows that get their noise together. A seeded run depends on it: noise is drawn chunk by chunk, in this size, whether
#: the rows are in memory, in a file or in a Spark frame.
ROWS_AT_ONCE = 1 << 17


def read_rows(X: Any, domain: Any) -> tuple[FloatArray, Domain]:
    """Read the coordinates of all rows (NaN if missing) and their domain.

    Columns that identify whose row it is are not read.
    """
    if isinstance(X, (list, tuple)) and not (X and isinstance(X[0], (str, Path))) and not engines.is_records(X):
        X = rows_of(X)
    source, kept = open_rows(X, domain)
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and all(c.kind == "numeric" for c in kept):
        table = X[:, None] if X.ndim == 1 else X
        if len(kept) < table.shape[1]:
            table = table[:, [source.names.index(name) for name in kept.names]]
        return np.ascontiguousarray(table), kept
    blocks = [np.stack(batch, axis=1) for batch in source.batches(unrounded(kept))]
    rows = np.concatenate(blocks) if blocks else np.empty((0, len(kept)))
    return np.ascontiguousarray(rows), kept


def open_rows(X: Any, domain: Any) -> tuple[engines.Source, Domain]:
    """Open a table to read its rows in chunks, and return their domain; see `read_rows`."""
    if isinstance(X, (list, tuple)) and not (X and isinstance(X[0], (str, Path))) and not engines.is_records(X):
        X = rows_of(X)
    source = engines.open(X, dialect=dialect_of(domain))
    declared = as_domain(domain, source.names)
    kept = released_columns(declared)
    declared = unrounded(declared)
    # By name only the released columns are looked for; by place the others have to be counted in.
    return engines.open(source, unrounded(kept) if source.named and declared.named else declared), kept


def unrounded(domain: Domain) -> Domain:
    """Return a domain that reads whole numbers as floats.

    Rounding before the noise could move two close records apart, to 10 and 11. Rounding afterwards is post-processing.
    """
    # Times of day are whole seconds by how they are read, as dates are whole days: distances are between those.
    whole = {c.name for c in domain if isinstance(c, Integer) and not isinstance(c, Time)}
    if not whole:
        return domain
    plain = {c.name: Numeric(c.name, c.low, c.high, c.role, c.missing) if c.name in whole else c for c in domain}
    return Domain(plain, unit=domain.unit, source=domain.source)


def chunks_of(source: engines.Source, domain: Domain) -> Iterator[FloatArray]:
    """Yield `ROWS_AT_ONCE` rows at a time; a table without rows is one empty chunk."""
    chunk, filled, full = np.empty((ROWS_AT_ONCE, len(domain))), 0, False
    for columns in source.batches(unrounded(domain)):
        start, n = 0, len(columns[0])
        while start < n:
            stop = min(n, start + ROWS_AT_ONCE - filled)
            for j, column in enumerate(columns):
                chunk[filled : filled + stop - start, j] = column[start:stop]
            filled += stop - start
            start = stop
            if filled == ROWS_AT_ONCE:
                yield chunk
                chunk, filled, full = np.empty_like(chunk), 0, True
    if filled or not full:
        yield chunk[:filled]


def rows_of(X: Sequence[Any]) -> Any:
    """Return a list of rows as an array. Errors quote no row."""
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        pass  # text among the numbers
    try:
        rows = np.array(X, dtype=object)
    except ValueError:
        rows = np.empty(0, object)
    if rows.ndim != 2:
        raise InvalidArgument("X", f"a {type(X).__name__}", "rows of one length, each a sequence of values", "X=array")
    return rows


def like(X: Any, names: Sequence[str], values: Mapping[str, Any]) -> Any:
    """Return new columns as a table of the kind of ``X``; an Arrow table for a file.

    NaN and None are what is not reported: null in Polars and Arrow, an empty cell in CSV and workbooks.
    No index, other column or metadata of ``X`` is kept.
    """
    columns = {name: values[name] for name in names}
    X = X.to_frame() if type(X).__name__ == "Series" else X
    library = type(X).__module__.partition(".")[0]
    if isinstance(X, Mapping):
        return {name: column.tolist() for name, column in columns.items()}
    if engines.is_records(X):
        rows = zip(*(c.tolist() for c in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]
    if isinstance(X, (np.ndarray, list, tuple)) and not (len(X) and isinstance(X[0], (str, Path))):
        numeric = all(column.dtype.kind == "f" for column in columns.values())
        return np.column_stack([c if numeric else c.astype(object) for c in columns.values()])
    if library == "pandas":
        return type(X)(columns)  # rows are numbered anew: an index is not declared, and may hold names or raw values
    if library == "polars":
        frame = X.collect() if hasattr(X, "collect") else X
        return type(frame)(columns, nan_to_null=True)
    return pa.table({name: _arrow(column) for name, column in columns.items()})


def _arrow(column: Any) -> pa.Array:
    """Return a column with a fixed type, also without rows or with categories of several types."""
    if column.dtype.kind != "O":
        return pa.array(column, from_pandas=True)
    return pa.array([None if value is None else category_text(value) for value in column], pa.string())
