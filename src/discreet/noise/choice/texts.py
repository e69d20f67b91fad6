"""Columns of words or persons as text, with missing values."""

from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.hashing.families import nfc

_EXPECTED = "a list or column of text or whole numbers"
#: Doubles below this are exact as whole numbers.
_WHOLE = 2.0**53


def texts_of(name: str, value: Any) -> pa.Array:
    """Read a column as text; anything other than text or whole numbers is missing."""
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__len__") or hasattr(value, "__arrow_c_stream__")):
        raise InvalidType(name, type(value).__name__, _EXPECTED, f"{name}=[...]")
    if hasattr(value, "__arrow_c_stream__") and getattr(value, "dtype", None) != np.dtype(object):
        value = pa.chunked_array(value)
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks() if value.num_chunks else pa.array([], value.type)
    if isinstance(value, pa.Array):
        return _from_arrow(name, value)
    if not isinstance(value, (list, tuple)):
        array = np.asarray(value)
        if array.ndim != 1:
            raise InvalidArgument(name, f"{array.ndim} dimensions", "one-dimensional", f"{name}={name}.ravel()")
        if array.dtype.kind in "iuf":  # in a type that Arrow has
            plain = np.float64 if array.dtype.kind == "f" else array.dtype.newbyteorder("=")
            with np.errstate(over="ignore"):
                return _from_arrow(name, pa.array(array.astype(plain)))
        if array.dtype.kind not in "OUT":
            raise InvalidType(name, array.dtype.name, _EXPECTED, "numbered bins or labels")
        value = array.tolist()
    return _normal(pa.array([_bytes(v) for v in value], pa.large_binary()))


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (float, np.floating)) and abs(float(value)) < _WHOLE and float(value).is_integer():
        value = int(value)  # so are whole numbers written in a column in which one is missing
    # NumPy calls a duration an integer, and Python may refuse to print a number of thousands of digits.
    if not isinstance(value, Integral) or isinstance(value, np.timedelta64) or int(value).bit_length() > 1024:
        return None
    return str(int(value)).encode()


def _from_arrow(name: str, column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind, types = column.type, pa.types
    if types.is_null(kind):
        return pa.nulls(len(column), pa.large_string())
    if types.is_integer(kind):
        return column.cast(pa.large_string())
    if types.is_floating(kind):
        numbers = column.cast(pa.float64())
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), _WHOLE))
        return pc.if_else(whole, numbers, None).cast(pa.int64()).cast(pa.large_string())
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise InvalidType(name, str(kind), _EXPECTED, "numbered bins or labels")
    return _normal(column.cast(pa.large_string()).cast(pa.large_binary()))


def _normal(column: pa.Array) -> pa.Array:
    """Return the NFC form of texts without surrounding blanks; empty texts and invalid UTF-8 are missing."""
    content = nfc(column)
    try:
        texts = content.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = pa.array([_decoded(each) for each in content.to_pylist()], pa.large_string())
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(pc.utf8_length(texts), 0), None, texts)


def _decoded(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None
