"""Tables in memory: NumPy arrays, pandas and Polars data frames, Arrow tables.

Rows are read in slices, so the table is never copied as a whole. pandas and Polars are not imported here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import AnyArray, FloatArray
from discreet.engines.tables.encode import Encoder, column_kind, numpy_kind
from discreet.engines.tables.part import Batch, Part
from discreet.errors import InvalidArgument, InvalidType


class _Table(Part):
    """Common part of tables in memory: a length, and columns that can be sliced."""

    def __init__(self, names: Sequence[object], n_rows: int, label: str) -> None:
        self.names = tuple(map(str, names))
        self.label = label
        self._n_rows = n_rows

    def size(self) -> int:
        return self._n_rows

    def read(self, positions: Sequence[int], batch_size: int) -> Iterator[Batch]:
        for start in range(0, self._n_rows, batch_size):
            stop = min(start + batch_size, self._n_rows)
            yield [self._slice(p, start, stop) for p in positions], stop - start

    def _slice(self, position: int, start: int, stop: int) -> Any:
        raise NotImplementedError


class ArrayTable(_Table):
    """A NumPy array, rows by columns."""

    bare = True

    def __init__(self, data: AnyArray) -> None:
        if isinstance(data, np.ma.MaskedArray):
            raise InvalidType("data", "a masked array", "a plain array", "data.filled(np.nan)")
        if data.dtype.names is not None:
            raise InvalidType("data", "a structured array", "a plain array or a data frame", "pd.DataFrame(data)")
        data = np.asarray(data)
        if data.ndim == 1:
            data = data[:, np.newaxis]
        if data.ndim != 2 or not data.shape[1]:
            form = f"{data.ndim} dimensions"  # not the shape: the number of rows is a secret
            raise InvalidArgument("data", form, "an array of rows by columns", "data.reshape(len(data), -1)")
        super().__init__([f"x{i}" for i in range(data.shape[1])], len(data), "the array")
        self._data = data

    def check(self, position: int, encoder: Encoder) -> None:
        encoder.check(numpy_kind(self._data.dtype), self._data.dtype, self.label)

    def encode(self, piece: AnyArray, encoder: Encoder) -> FloatArray:
        return _encode_values(encoder, piece)

    def plain(self, positions: Sequence[int], encoders: Sequence[Encoder]) -> bool:
        """Return whether the asked columns are all of the array, in order, and its numbers are their coordinates."""
        whole = list(positions) == list(range(len(self.names))) and self._data.dtype.kind in "biuf"
        return whole and all(encoder.plain for encoder in encoders)

    def blocks(self, batch_size: int) -> Iterator[AnyArray]:
        """Yield rows of a `plain` array, some at a time."""
        return (self._data[start : start + batch_size] for start in range(0, self._n_rows, batch_size))

    def _slice(self, position: int, start: int, stop: int) -> AnyArray:
        return self._data[start:stop, position]


class ColumnsTable(_Table):
    """Columns by name: a mapping of sequences, or a list of records. A record may lack values."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns: list[Any] = [_column(values) for values in columns.values()]
        if not columns or len(set(map(len, self._columns))) > 1:
            form = "columns of several lengths" if columns else "no column"
            raise InvalidArgument("data", form, "a mapping of columns of one length", 'data={"age": [35, 52]}')
        super().__init__(list(columns), len(self._columns[0]), "the table")

    @classmethod
    def of_records(cls, rows: Sequence[Mapping[Any, Any]]) -> "ColumnsTable":
        """Read records; all of their keys are columns."""
        return cls(
            {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}
        )

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._columns[position].dtype
        encoder.check(_kind_of(kind), kind, self.label)

    def encode(self, piece: Any, encoder: Encoder) -> FloatArray:
        return _encode_values(encoder, piece)

    def _slice(self, position: int, start: int, stop: int) -> Any:
        return self._columns[position][start:stop]


def _column(values: Any) -> AnyArray:
    if isinstance(values, np.ndarray) and values.ndim == 1 and not isinstance(values, np.ma.MaskedArray):
        return values
    if isinstance(values, (str, bytes, Mapping, np.ndarray)) or not isinstance(values, Iterable):
        raise InvalidType("data", "a mapping of single values", "a mapping of columns", 'data={"age": [35, 52]}')
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


class ArrowTable(_Table):
    """An Arrow table or record batch."""

    def __init__(self, data: pa.Table | pa.RecordBatch) -> None:
        super().__init__(data.schema.names, data.num_rows, "the table")
        self._data = data

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._data.schema.field(position).type
        encoder.check(column_kind(kind), kind, self.label)

    def encode(self, piece: pa.Array | pa.ChunkedArray, encoder: Encoder) -> FloatArray:
        return _encode_chunks(encoder, piece)

    def _slice(self, position: int, start: int, stop: int) -> pa.Array | pa.ChunkedArray:
        return self._data.column(position).slice(start, stop - start)


#: Types of Polars whose Arrow form is none that can be read: the addresses of objects, or an error.
_WITHOUT_ARROW = {"Object": "text", "Int128": "int", "UInt128": "int"}


class PolarsTable(_Table):
    """A Polars data frame; slices of it are handed over as Arrow, or as the objects they hold."""

    def __init__(self, data: Any) -> None:
        super().__init__(data.columns, data.height, "the data frame")
        self._data = data

    def check(self, position: int, encoder: Encoder) -> None:
        kind = self._data.dtypes[position]
        known = _WITHOUT_ARROW.get(str(kind)) or column_kind(self._slice(position, 0, 0).type)
        encoder.check(known, kind, self.label)

    def encode(self, piece: pa.Array | AnyArray, encoder: Encoder) -> FloatArray:
        return encoder.arrow(piece) if isinstance(piece, pa.Array) else encoder.objects(piece)

    def _slice(self, position: int, start: int, stop: int) -> Any:
        values = self._data.to_series(position).slice(start, stop - start)
        if str(values.dtype) not in _WITHOUT_ARROW:
            return values.to_arrow()
        found = np.empty(len(values), object)
        found[:] = values.to_list()
        return found


class PandasTable(ColumnsTable):
    """A pandas data frame. Arrow's type inference is not used, because it looks at values."""

    def __init__(self, data: Any) -> None:
        _Table.__init__(self, list(data.columns), len(data), "the data frame")
        self.index_names = list(data.index.names)
        self._columns = [_storage(data.iloc[:, i]) for i in range(data.shape[1])]


def _encode_chunks(encoder: Encoder, values: pa.Array | pa.ChunkedArray) -> FloatArray:
    """Encode an Arrow column that may consist of several pieces."""
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks != 1:
            return np.concatenate([np.empty(0)] + [encoder.arrow(chunk) for chunk in values.chunks])
        values = values.chunk(0)
    return encoder.arrow(values)


def _storage(values: Any) -> Any:
    """Return a NumPy array where pandas keeps one (without copying it), its own kind of array otherwise."""
    return values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array


def _kind_of(kind: Any) -> str:
    if isinstance(kind, np.dtype):
        return numpy_kind(kind)
    if hasattr(kind, "categories"):
        return _kind_of(kind.categories.dtype)
    if hasattr(kind, "pyarrow_dtype"):
        return column_kind(kind.pyarrow_dtype)
    if hasattr(kind, "numpy_dtype"):
        return numpy_kind(kind.numpy_dtype)
    if hasattr(kind, "tz"):
        return "date"
    return "text" if kind.type is str else "other"


def _encode_values(encoder: Encoder, values: Any) -> FloatArray:
    kind = values.dtype
    if hasattr(kind, "categories"):
        used = np.unique(values.codes[values.codes >= 0])
        known = np.full(len(kind.categories) + 1, np.nan)
        known[used] = _encode_values(encoder, _storage(kind.categories)[used])
        coordinates: FloatArray = known[values.codes]  # code -1, missing, picks the NaN at the end
        return coordinates
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return encoder.numbers(values)
    if isinstance(kind, np.dtype) and kind.kind == "M":
        return encoder.times(values)
    if hasattr(kind, "tz"):
        return encoder.times(values.tz_localize(None).to_numpy())  # the day on the clock of its zone
    typed = hasattr(kind, "pyarrow_dtype") or hasattr(kind, "numpy_dtype")
    if typed or getattr(kind, "storage", "") == "pyarrow":
        return _encode_chunks(encoder, pa.array(values))
    return encoder.objects(values.tolist() if isinstance(kind, np.dtype) else list(values))
