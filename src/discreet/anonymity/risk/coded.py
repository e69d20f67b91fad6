"""A sensitive column or a target as numbers: one number per distinct value."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Categorical, Column, Date, Domain, Numeric, Time, category_text, day_number, second_number
from discreet.engines.tables import same_key


@dataclass(frozen=True)
class CodedColumn:
    """A column as numbers ``0..len(labels)-1`` of its values; a missing value is a value of its own.

    Labels follow the order of the declaration, numbers rise. ``ordered``: the order has a meaning, as for numbers.
    """

    name: str
    codes: npt.NDArray[np.int32]
    labels: list[Any]
    ordered: bool

    def take(self, rows: Any) -> Self:
        return replace(self, codes=self.codes[rows])

    def compact(self) -> Self:
        there = np.bincount(self.codes, minlength=len(self.labels)) > 0
        place = (np.cumsum(there) - 1).astype(np.int32)
        return replace(self, codes=place[self.codes], labels=[self.labels[i] for i in np.flatnonzero(there).tolist()])


def code_column(domain: Domain | None, name: str, values: pa.ChunkedArray) -> CodedColumn:
    """Number the values of a column. Declared categories come first, in their order; numbers in rising order.

    Values that mean the same (`discreet.engines.tables.same`) are one value, or they would make a class look diverse:
    ``1`` and ``1.0``, a category with blanks around it, and all missing values.
    """
    column = domain.column(name) if domain is not None else None
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    found = encoded.dictionary.to_pylist()
    alike = same_key(encoded.dictionary, column).to_pylist()
    numbers = isinstance(column, Numeric) or (column is None and all(_is_number(v) for v in found if v is not None))
    numbers = numbers and not hasattr(column, "codes")
    keys: list[float | None] = [None] * len(found)
    if numbers:
        keys = list(map(reader_of(column), found))
        order = sorted(range(len(found)), key=lambda i: (keys[i] is None, keys[i] or 0.0))
    elif isinstance(column, Categorical):
        declared = pa.array([category_text(c) for c in column.categories])
        place = {key: i for i, key in enumerate(same_key(declared, column).to_pylist())}
        order = sorted(range(len(found)), key=lambda i: (place.get(alike[i], len(place)), str(alike[i])))
    else:
        order = sorted(range(len(found)), key=lambda i: (found[i] is None, str(found[i])))
    rank = np.empty(len(found), np.int32)
    first: dict[Any, int] = {}
    labels: list[Any] = []
    for i in order:
        same = ("text", alike[i]) if keys[i] is None else ("number", keys[i])
        if same not in first:
            first[same] = len(labels)
            labels.append(found[i])
        rank[i] = first[same]
    return CodedColumn(name, rank[encoded.indices.to_numpy(zero_copy_only=False)], labels, numbers)


def reader_of(column: Column | None) -> Callable[[Any], float | None]:
    """Return a function that reads a value of a column of numbers, dates or times; None if it cannot be read."""
    if codes := getattr(column, "codes", None):
        return lambda text: None if (run := codes.meant(str(text))) is None else float(run[0])
    return day_number if isinstance(column, Date) else second_number if isinstance(column, Time) else _number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    try:
        number = None if value is None else float(value)
    except (ValueError, OverflowError):
        return None
    return None if number is None or math.isnan(number) else number
