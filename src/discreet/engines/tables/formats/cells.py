"""Pieces of columns whose values have more than one form: cells of any kind, and codes with labels.

The reading of a value depends on the value and the declaration of its column, never on other rows.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import Categorical, Column, FloatArray
from discreet.engines.tables.encode import Encoder
from discreet.engines.tables.texts import as_text, text_of


@dataclass(frozen=True)
class Cells:
    """Cells of a column in which every cell has its own type. No mark of the dialect applies to numbers."""

    numbers: FloatArray  # NaN where a cell holds none
    numeric: np.ndarray[tuple[int], np.dtype[np.bool_]]
    texts: pa.LargeBinaryArray  # of the other cells; of whole numbers perhaps all digits, else null

    def encode(self, encoder: Encoder) -> FloatArray:
        if self.numeric.all():
            return encoder.digits(self.numbers, self.texts)
        found = np.array(encoder.arrow(self.texts))
        found[self.numeric] = encoder.digits(self.numbers[self.numeric], self.texts.filter(pa.array(self.numeric)))
        return found

    def text(self) -> pa.LargeBinaryArray:
        """Return all cells as text, numbers in their shortest form."""
        bare = self.numeric & self.texts.is_null().to_numpy(zero_copy_only=False)
        if not bare.any():
            return self.texts
        written = as_text(pa.array(self.numbers[bare])).cast(pa.large_binary())
        return pc.replace_with_mask(self.texts, pa.array(bare), written)


def cells_of(values: Sequence[object]) -> Cells:
    """Sort the cells of a column: numbers, texts (days and times of day too), nothing."""
    kinds = list(map(type, values))
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    empty = pa.nulls(len(values), pa.large_binary())
    if not counts.keys() - {float, int}:
        return Cells(np.array(values, np.float64), np.ones(len(values), np.bool_), empty)
    numeric = np.zeros(len(values), np.bool_)
    numbers = np.full(len(values), np.nan)
    if counts.keys() & {float, int}:
        numeric[:] = [kind is float or kind is int for kind in kinds]
        numbers[numeric] = [v for v, kind in zip(values, kinds, strict=True) if kind is float or kind is int]
    # Equal values of different kinds are written differently: 1, 1.0, True.
    written = {key: _written(key[1]) for key in set(zip(kinds, values, strict=True))}
    texts = [written[key] for key in zip(kinds, values, strict=True)]
    return Cells(numbers, numeric, pa.array(texts, pa.large_binary()))


def _written(value: object) -> bytes | None:
    kind = type(value)
    if kind is float or kind is int or value == "":
        return None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return text_of(value)


@dataclass(frozen=True)
class Labelled:
    """Values of a column, some of which have labels that the file declares.

    A categorical column uses the label, or the value itself if the label is not one of the categories. A column of
    numbers or dates uses the value.
    """

    values: pa.Array
    labels: Mapping[object, str]

    def encode(self, encoder: Encoder) -> FloatArray:
        found = encoder.arrow(self.values)
        if encoder.column.kind != "categorical":
            return found
        by_label = encoder.arrow(self._labels())
        return np.where(np.isnan(by_label), found, by_label)

    def text(self) -> pa.LargeBinaryArray:
        """Return labels, and values where there are none, as text."""
        return pc.coalesce(self._labels(), as_text(self.values).cast(pa.large_binary()))

    def codes(self, declared: Column | None) -> pa.Array:
        """Return the values of a column of persons. Only declared persons go by label: other files may lack labels."""
        if not isinstance(declared, Categorical):
            return self.values
        known = pa.array(~np.isnan(Encoder(declared).arrow(self._labels())))
        return pc.if_else(known, self.text(), as_text(self.values).cast(pa.large_binary()))

    def _labels(self) -> pa.LargeBinaryArray:
        known = pa.array(list(self.labels), self.values.type)
        written = pa.array([label.encode() for label in self.labels.values()], pa.large_binary())
        return written.take(pc.index_in(self.values, value_set=known, skip_nulls=True))
