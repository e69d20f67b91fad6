"""Items as 64-bit words, and which of them are missing.

One item is one word, however it is spelled, by the same rule as for persons (`discreet.engines.tables.same`). ``7``, ``
7``, ``7.0`` and the number 7 are one item, and so are two ways to compose ``é``. Otherwise a person with two spellings
would set two bits, at twice the price. A whole number of 64 bits is hashed as that number, any other item as the text
of its key, and bytes that are not text as they are.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.core import BoolArray, WordArray
from discreet.engines.persons import plain_texts
from discreet.engines.tables import arrow_kind, same_key
from discreet.errors import InvalidArgument, InvalidType

_EXPECTED = "a list or column of numbers, text or bytes"
_LARGEST = 2**64 - 1


def item_words(items: Any, key: int) -> tuple[WordArray, BoolArray]:
    """Return the fingerprint of every item, and whether it is missing.

    ``items`` holds numbers, text or bytes; anything else in a list is missing.
    """
    if isinstance(items, range):
        items = np.arange(items.start, items.stop, items.step)
    if isinstance(items, (set, frozenset, dict)):
        raise InvalidType("items", type(items).__name__, "a list or column", "items=list(items)")
    column = item_column(items, "items")
    if isinstance(column, pa.Array) and arrow_kind(column.type) in ("int", "bool", "null"):
        return noise.fingerprint(column, key), column.is_null().to_numpy(zero_copy_only=False)
    if isinstance(column, pa.Array) and arrow_kind(column.type) == "text":
        return _texts(column, key)
    if isinstance(column, pa.Array) and pa.types.is_floating(column.type):
        return _fractions(column, key)
    return _by_keys(column, key)


def item_column(items: Any, name: str) -> Any:
    """Return an Arrow array, or a list if objects are of several types. Refuse other types."""
    if isinstance(items, (list, tuple)):
        return _listed(list(items))
    if isinstance(items, (str, bytes)) or not (hasattr(items, "__len__") or hasattr(items, "__arrow_c_stream__")):
        raise InvalidType(name, type(items).__name__, _EXPECTED, f"{name}=[item]")
    if not isinstance(items, (pa.Array, pa.ChunkedArray)):
        if hasattr(getattr(items, "array", None), "__arrow_array__"):  # a nullable column of pandas
            items = pa.array(items.array)
        elif hasattr(items, "__arrow_c_stream__") and getattr(items, "dtype", None) != np.dtype(object):
            items = pa.chunked_array(items)
        else:
            array = np.asarray(items)
            if array.ndim != 1:
                raise InvalidArgument(name, f"{array.ndim} dimensions", "one-dimensional", f"{name}={name}.ravel()")
            if array.dtype.kind not in "biufOUST":
                raise InvalidType(name, array.dtype.name, _EXPECTED, "numbered bins or labels")
            if array.dtype.kind not in "biu" and array.dtype.char not in "fd":
                return _listed(array.tolist())
            items = pa.array(array)
    if isinstance(items, pa.ChunkedArray):
        items = items.combine_chunks() if items.num_chunks else pa.array([], items.type)
    if isinstance(items, pa.ExtensionArray):
        items = items.storage
    if pa.types.is_dictionary(items.type):
        items = items.dictionary_decode()
    if arrow_kind(items.type) == "other":
        raise InvalidType(name, str(items.type), _EXPECTED, "numbered bins or labels")
    return items


def _listed(items: list[Any]) -> Any:
    kinds = set(map(type, items)) - {type(None)}
    plain = {str: pa.large_string(), bytes: pa.large_binary(), int: pa.int64(), float: pa.float64()}
    if len(kinds) == 1 and kinds <= set(plain):
        try:
            return pa.array(items, plain[kinds.pop()])
        except (UnicodeEncodeError, OverflowError):
            pass  # a lone surrogate, or a number beyond 64 bits
    return items


def _texts(column: pa.Array, key: int) -> tuple[WordArray, BoolArray]:
    """Hash texts that are their own keys at once, the others by their keys."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    texts = column.cast(pa.large_binary()).fill_null(b"")
    words, hard = _hashed(texts, key)
    missing, hard = ~valid, hard & valid
    if hard.any():
        chosen = pa.array(hard)
        words[hard], missing[hard] = _by_keys(texts.filter(chosen), key)
    return words, missing


def _fractions(column: pa.Array, key: int) -> tuple[WordArray, BoolArray]:
    """Hash whole numbers as such, the others by their keys."""
    plain = column.cast(pa.float64()).to_numpy(zero_copy_only=False)  # missing ones are not a number
    with np.errstate(invalid="ignore"):
        whole = (np.abs(plain) < 2.0**63) & (np.floor(plain) == plain)
    words, missing = noise.fingerprint(np.where(whole, plain, 0).astype(np.int64), key), np.isnan(plain)
    others = ~whole & ~missing
    if others.any():
        words[others], missing[others] = _by_keys(column.filter(pa.array(others)), key)
    return words, missing


def _by_keys(values: Any, key: int) -> tuple[WordArray, BoolArray]:
    """Hash values by their keys; bytes that are not text as they are."""
    keys = same_key(values).cast(pa.large_string())
    missing = keys.is_null().to_numpy(zero_copy_only=False)
    words, _ = _hashed(keys.cast(pa.large_binary()).fill_null(b""), key)
    unread = pc.match_substring(keys, "\ufffd").fill_null(False).to_numpy(zero_copy_only=False)
    if unread.any():  # the same bytes, whatever else is in the list or column
        held = values if isinstance(values, pa.Array) else pa.array([_bytes(v) for v in values], pa.large_binary())
        words[unread] = noise.fingerprint(held.cast(pa.large_binary()), key)[unread]
    return words, missing


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else None


def _hashed(texts: pa.Array, key: int) -> tuple[WordArray, BoolArray]:
    """Hash texts, whole numbers in their shortest form as numbers; mark those that may not be their own keys."""
    _, places, buffer = texts.buffers()
    offsets = np.frombuffer(places, np.int64, len(texts) + 1, texts.offset * 8) if len(texts) else np.zeros(1, np.int64)
    data = np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", np.uint8)
    numbers, kinds = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int8)
    plain_texts(data, offsets, numbers, kinds)
    words = noise.fingerprint(texts, key)
    words[kinds == 1] = noise.fingerprint(numbers[kinds == 1], key)
    length = np.diff(offsets)
    large = (kinds == 0) & (length >= 19) & (length <= 20)
    if large.any():  # from 2^63 on, as unsigned columns hold
        found = texts.filter(pa.array(large)).to_pylist()
        whole = [int(t) if t.isdigit() and t[:1] != b"0" and int(t) <= _LARGEST else -1 for t in found]
        fits = np.array([number >= 0 for number in whole])
        place = np.flatnonzero(large)[fits]
        words[place] = noise.fingerprint(np.array([n for n in whole if n >= 0], np.uint64), key)
        kinds[place] = 1
    return words, kinds == 0
