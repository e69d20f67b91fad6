"""The text of a value, the same for all sources.

It depends on the value and its type, never on other rows. `text_of` writes one Python object, `as_text` an Arrow
column.
"""

import datetime
import math
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from discreet.engines.tables.text_numbers import readable

_BYTES = (
    types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary,
    types.is_binary_view, types.is_fixed_size_binary,
)  # fmt: skip
#: Types that Arrow writes as `text_of` does, and of which it can write every value.
_AT_ONCE = (
    types.is_null, types.is_boolean, types.is_integer, types.is_date, types.is_time, types.is_timestamp,
    types.is_duration,
)  # fmt: skip


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds text, or bytes that are taken as text."""
    return any(test(kind) for test in _BYTES)


def text_of(value: object) -> bytes | None:
    """Return the text of an object, None if it has none that a table could hold.

    A floating-point number that is whole is written with all its digits, so equal numbers of all types are alike.
    """
    if isinstance(value, str):
        return str.encode(value, "utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bool, np.bool_)):
        return b"true" if value else b"false"
    if isinstance(value, np.timedelta64):  # which NumPy calls an integer, and which is none
        return None
    if isinstance(value, (int, np.integer)):
        whole = int(value)
        if whole.bit_length() > 1024:  # beyond any double, and Python may refuse to write it out
            return b"inf" if whole > 0 else b"-inf"
        return str(whole).encode()
    if isinstance(value, (float, np.floating)):
        with np.errstate(all="ignore"):
            # The shortest text of a small type is that of its own digits; a half is widened, as Arrow widens it.
            short = np.float32(value) if isinstance(value, (np.float16, np.float32)) else float(value)
        number = float(short)
        if math.isnan(number):
            return None
        return str(int(number) if number.is_integer() else short).encode()
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, (datetime.date, datetime.time, np.datetime64)):
        return str(value).encode() if value == value else None  # NaT differs from itself
    if isinstance(value, (list, tuple, np.ndarray)):
        return str(value.tolist() if isinstance(value, np.ndarray) else list(value)).encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return str(value).encode("utf-8", "surrogatepass")
    return str(value).encode() if isinstance(value, uuid.UUID) else None


def _decimal(value: Decimal) -> bytes | None:
    """Write a decimal without zeros at its end; in plain digits, unless there would be hundreds of them."""
    if value.is_nan():
        return None
    if not value or abs(value.adjusted()) > 400:
        return str(value).encode() if value else b"0"
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()


def as_text(column: pa.Array) -> pa.Array:
    """Write a column as texts. Equal numbers are written alike, whatever their type.

    Otherwise a person or a value would count once for every type that files keep it in.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_bytes(column.type):
        return readable(column.cast(pa.large_binary()))
    if any(test(column.type) for test in _AT_ONCE):
        return column.cast(pa.large_string())
    if not (types.is_floating(column.type) or types.is_decimal(column.type)):
        return _one_by_one(column.to_pylist())
    if types.is_float16(column.type):
        column = column.cast(pa.float32())
    encoded = pc.dictionary_encode(column)
    single = types.is_float32(column.type)
    values = encoded.dictionary.to_numpy() if single else encoded.dictionary.to_pylist()
    return _one_by_one(values).take(encoded.indices)


def _one_by_one(values: object) -> pa.Array:
    return readable(pa.array([text_of(value) for value in values], pa.large_binary()))  # type: ignore[attr-defined]
