"""The records in which two neighbouring inputs differ; the auditor knows them."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

#: Records looked at on each side; neighbours have one.
_MOST = 2


def differing(data: Any, neighbour: Any) -> tuple[list[Any], list[Any]]:
    """Return the records that only the first input has, and those that only the second has; at most two of each.

    Records are numbers, tuples, or mappings by column name. Both lists are empty if the inputs cannot be read as rows.
    """
    first, second = _rows(data), _rows(neighbour)
    if first is None or second is None:
        return [], []
    here, there = Counter(map(repr, first)), Counter(map(repr, second))
    found = []
    for rows, more in ((first, here - there), (second, there - here)):
        by_text = {repr(row): row for row in rows if repr(row) in more} if more else {}
        found.append(list(by_text.values())[:_MOST])
    return found[0], found[1]


def _rows(data: Any) -> list[Any] | None:
    """Return the rows of an input."""
    if isinstance(data, (bool, int, float, str, np.generic)):
        return [data.item() if isinstance(data, np.generic) else data]
    if isinstance(data, pa.Table):
        return list(data.to_pylist())
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a data frame
        return list(pa.Table.from_pandas(data, preserve_index=False).to_pylist())
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        return None
    return [tuple(row) if isinstance(row, (list, tuple)) else row for row in data]


def as_vector(record: Any, size: int) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return a record as ``size`` numbers; None if it is something else."""
    values = list(record.values()) if isinstance(record, dict) else record
    values = values.tolist() if isinstance(values, np.ndarray) else values
    cells = list(values) if isinstance(values, (tuple, list)) else [values]
    if len(cells) != size or not all(isinstance(c, (int, float, np.number)) for c in cells):
        return None
    vector = np.array([float(c) for c in cells])
    return vector if all(map(math.isfinite, vector)) else None
