"""Keyed public hashes: 64-bit fingerprints of values, and k-wise independent families on top of them.

These hashes are *public*: every device and the collector share the key, and privacy does not depend on it. Accuracy
does: estimates and their variances hold over the draw of the key, so draw it at random, once, before anyone reports.
Anyone who knows the key can find values that collide, which spoils the estimates of these values but reveals nothing.

docs/wire-format.md has the whole definition, for a client in another language: SipHash-2-4 (Aumasson and Bernstein
2012) of the value gives x modulo p = 2^61 - 1, and a polynomial in x with keyed coefficients gives the hash h (Wegman
and Carter 1981); the bucket is floor(h·width / 2^61). With uniform coefficients, a polynomial of degree k - 1 is k-wise
independent (interpolation is a bijection). Deviations: two values share x with probability about 2^-61, a coefficient
is within 2^-61 of uniform, and a bucket's probability is within 2^-60 of 1/width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import AnyArray, ByteArray, IntArray, WordArray, checks
from discreet.errors import InvalidArgument, InvalidType
from discreet.noise.hashing import hash_kernels as kernels
from discreet.noise.hashing.support import count_support

Words: TypeAlias = WordArray
Buckets: TypeAlias = IntArray
Key: TypeAlias = tuple[np.uint64, np.uint64]  # low and high half

_LARGEST_KEY = 2**128 - 1
_EXPECTED = "a list or column of whole numbers, text or bytes"
#: `HashFamily.all` refuses more functions at once: such a table would be a mistake.
_MOST_AT_ONCE = 2**24


def fingerprint(values: Any, key: int) -> Words:
    """Return the keyed 64-bit fingerprint of every value.

    No row can make a call fail. Missing values (None, null) share one fingerprint, and any object in a list that is
    not a whole number, text or bytes counts as missing. Text that is not valid Unicode is hashed as its bytes. A long
    integer is taken modulo 2^64.

    ``values`` is a list, a NumPy or Arrow array, or a series of whole numbers, booleans, text or bytes. A column of
    fractions is refused, because fractions have no canonical form: bin or label it first. ``key`` is below 2^128.

    Examples
    --------
    >>> [f"{f:016x}" for f in fingerprint(["cat", "", "caf\\u00e9", None], key=7)]
    ['701330eed1c30f3d', '7bc96f73e57e7ebc', '102392ffc32a786a', '158a40a8d8600717']
    """
    halves = _halves(key)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _from_arrow(values, halves)
    # A pandas column of objects goes another way: Arrow would guess its type from the rows.
    if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
        return _from_arrow(pa.chunked_array(values), halves)
    if hasattr(getattr(values, "array", None), "__arrow_array__"):  # a nullable column of pandas 2
        return _from_arrow(pa.array(values.array), halves)
    if isinstance(values, (list, tuple)):
        return _from_objects(values, halves)
    if isinstance(values, (str, bytes)) or np.ndim(values) == 0:
        raise InvalidType("values", type(values).__name__, _EXPECTED, "values=[value]")
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidArgument("values", f"{array.ndim} dimensions", "one-dimensional", "values=values.ravel()")
    if array.dtype.kind in "biu":
        return _from_numbers(array, halves)
    if array.dtype.kind in "OUST":
        return _from_objects(array.tolist(), halves)
    raise InvalidType("values", array.dtype.name, _EXPECTED, "numbered bins or labels")


@dataclass(frozen=True)
class HashFamily:
    """A numbered family of public hash functions onto ``0..width-1``, k-wise independent over the draw of the key.

    Coefficients are derived from the key when they are needed, so even 2^63 functions (one per device) need no memory.
    For signs ±1 take ``width=2`` and ``1 - 2 * bucket``, with a separate key.

    Parameters
    ----------
    n_functions : int
        Number of functions, up to 2^63.
    width : int
        Number of buckets, 2 to 2^32.
    key : int
        The public key, 0 to 2^128 - 1. Draw it at random once per collection: ``secrets.randbits(128)``.
    independence : int, default 2
        Number of values that hash independently under one function, 2 to 16. Unbiased estimates need 2, the variances
        of count-mean sketches 3, signs 4.

    Examples
    --------
    >>> family = HashFamily(1024, 256, key=7, independence=3)
    >>> family(["cat", "dog", "cat"], index=[0, 1, 2]).tolist()
    [131, 46, 1]
    >>> family.all(["cat", "dog"], stop=3).tolist()
    [[131, 225], [196, 46], [1, 38]]
    """

    n_functions: int
    width: int
    key: int = field(kw_only=True)
    independence: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        limits = {"n_functions": (1, 2**63), "width": (2, 2**32), "key": (0, _LARGEST_KEY), "independence": (2, 16)}
        for name, (low, high) in limits.items():
            object.__setattr__(self, name, checks.whole(name, getattr(self, name), low=low, high=high))

    def __call__(self, values: Any, index: Any) -> Buckets:
        """Return the bucket of every value under function ``index``: one number for all values, or one per value.

        The content of an array is data and is not checked: a number outside the family is hashed by the same rule.
        """
        points = self._points(values)
        if np.ndim(index) == 0:
            number = checks.whole("index", index, high=self.n_functions - 1)
            return cast(Buckets, self._table(points, np.array([number], np.uint64))[0])
        functions = _numbers("index", index, len(points))
        buckets = np.empty(len(points), np.int64)
        kernels.hash_pairs(points, functions, *self._parameters(), buckets)
        return buckets

    def all(self, values: Any, *, start: int = 0, stop: int | None = None) -> Buckets:
        """Return the buckets of every value under functions ``start..stop-1`` (default: all), one row per function."""
        first = checks.whole("start", start, high=self.n_functions)
        last = self.n_functions if stop is None else checks.whole("stop", stop, low=first, high=self.n_functions)
        if last - first > _MOST_AT_ONCE:
            expected = f"at most start + {_MOST_AT_ONCE}"
            raise InvalidArgument("stop", last, expected, f"stop={first + _MOST_AT_ONCE}")
        return self._table(self._points(values), np.arange(first, last, dtype=np.uint64))

    def support(self, values: Any, index: Any, buckets: Any) -> Buckets:
        """Count, for every candidate, the reports that support it: those whose function sends it to their bucket.

        ``index`` and ``buckets`` hold one function number and one bucket per report; their content is not checked.
        """
        points = self._points(values)
        functions = _numbers("index", index)
        wanted = _numbers("buckets", buckets, len(functions))
        if self.independence == 2:
            return count_support(points, functions, wanted, self.width, *_halves(self.key))
        counts = np.zeros(len(points), np.int64)
        kernels.count_support(points, functions, wanted, *self._parameters(), np.empty_like(points), counts)
        return counts

    def _points(self, values: Any) -> Words:
        points = fingerprint(values, self.key)
        kernels.reduce_words(points)
        return points

    def _parameters(self) -> tuple[np.uint64, np.uint64, np.uint64, Words]:
        """Return the arguments of every kernel: width, halves of the key, an array for one function's coefficients."""
        return np.uint64(self.width), *_halves(self.key), np.empty(self.independence, np.uint64)

    def _table(self, points: Words, functions: Words) -> Buckets:
        table = np.empty((len(functions), len(points)), np.int64)
        kernels.hash_table(points, functions, *self._parameters(), np.empty_like(points), table)
        return table


def _halves(key: object) -> Key:
    number = checks.whole("key", key, high=_LARGEST_KEY)
    return np.uint64(number & (2**64 - 1)), np.uint64(number >> 64)


def _numbers(name: str, value: Any, length: int | None = None) -> Words:
    """Read one whole number per report; only type and shape are checked."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidType(name, array.dtype.name, "an array of whole numbers", f"{name}=np.zeros(n, int)")
    if array.ndim != 1 or (length is not None and len(array) != length):
        expected = "a one-dimensional array" if length is None else f"an array of shape ({length},)"
        raise InvalidArgument(name, array.shape, expected, f"one {name} per row")
    return array.astype(np.uint64)


def _from_arrow(column: Any, key: Key) -> Words:
    kind, types = column.type, pa.types
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([_from_arrow(chunk, key) for chunk in column.chunks or [pa.array([], kind)]])
    if isinstance(column, pa.ExtensionArray):
        return _from_arrow(column.storage, key)
    if types.is_dictionary(kind):
        # Each entry is hashed once. One more entry stands for missing rows.
        entries = np.append(_from_arrow(column.dictionary, key), _missing(1, key))
        return cast(Words, entries[column.indices.cast(pa.int64()).fill_null(len(entries) - 1).to_numpy()])
    if types.is_string_view(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_string() if types.is_string_view(kind) else pa.large_binary())
        return _from_arrow(column, key)
    if types.is_null(kind):
        return _missing(len(column), key)
    if types.is_integer(kind) or types.is_boolean(kind):
        numbers = column.cast(pa.uint8()) if types.is_boolean(kind) else column
        words = _from_numbers(numbers.fill_null(0).to_numpy(), key)
    elif types.is_string(kind) or types.is_large_string(kind):
        words = _from_text(column, key)
    elif types.is_binary(kind) or types.is_large_binary(kind):
        words = _from_bytes(column, kernels.TAG_BYTES, key)
    else:
        raise InvalidType("values", str(kind), _EXPECTED, "numbered bins or labels")
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        words[missing] = _missing(1, key)
    return words


def _from_objects(values: Sequence[Any], key: Key) -> Words:
    """Hash a list: at once if its objects have one plain type, else object by object."""
    kinds = set(map(type, values)) - {type(None)}
    plain = {str: pa.large_string(), bytes: pa.large_binary(), int: pa.int64()}
    if len(kinds) == 1 and kinds <= set(plain):
        try:
            return _from_arrow(pa.array(values, plain[kinds.pop()]), key)
        except (UnicodeEncodeError, OverflowError):
            pass  # a lone surrogate, or a number beyond 64 bits
    words = _missing(len(values), key)
    whole = {i: v for i, v in enumerate(values) if isinstance(v, (Integral, np.bool_))}
    # NumPy calls a duration an integer, but cannot convert it.
    numbers = {i: int(v) & (2**64 - 1) for i, v in whole.items() if not isinstance(v, np.timedelta64)}
    texts = {i: v.encode("utf-8", "surrogatepass") for i, v in enumerate(values) if isinstance(v, str)}
    contents = {i: bytes(v) for i, v in enumerate(values) if isinstance(v, (bytes, bytearray))}
    words[list(numbers)] = _from_numbers(np.array(list(numbers.values()), np.uint64), key)
    words[list(contents)] = _from_bytes(pa.array(contents.values(), pa.large_binary()), kernels.TAG_BYTES, key)
    words[list(texts)] = _from_bytes(nfc(pa.array(texts.values(), pa.large_binary())), kernels.TAG_BYTES, key)
    return words


def nfc(texts: pa.Array) -> pa.Array:
    """Return the NFC form of texts as bytes. Bytes that are not UTF-8 stay as they are.

    Arrow's tables decide for every text. Those of Python are of another year: if they read the rest of a column in
    which one text is damaged, that one row would change how others are read.
    """
    content = texts.cast(pa.large_binary())
    try:
        return pc.utf8_normalize(content.cast(pa.large_string()), "NFC").cast(pa.large_binary())
    except pa.ArrowInvalid:
        readable = pa.array([each is None or _is_text(each) for each in content.to_pylist()])
        return pc.if_else(readable, nfc(pc.if_else(readable, content, b"")), content)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_text(column: Any, key: Key) -> Words:
    """Hash the NFC form of Arrow text. ASCII is its own NFC form, so most columns need no copy."""
    data, offsets = _buffers(column)
    used = data[offsets[0] : offsets[-1]]
    if used.size and used.max() >= 0x80:
        column = nfc(column)
    return _from_bytes(column, kernels.TAG_BYTES, key)


def _from_numbers(array: AnyArray, key: Key) -> Words:
    # A cast to unsigned is modulo 2^64. It also copies: one memory layout, so that the kernel compiles once.
    words = array.astype(np.uint64, order="C")
    kernels.siphash_words(words, *key, words)
    return words


def _from_bytes(column: Any, tag: np.uint64, key: Key) -> Words:
    words = np.empty(len(column), np.uint64)
    kernels.siphash_bytes(*_buffers(column), tag, *key, words)
    return words


def _missing(n: int, key: Key) -> Words:
    return np.repeat(_from_bytes(pa.array([b""]), kernels.TAG_MISSING, key), n)


def _buffers(column: Any) -> tuple[ByteArray, AnyArray]:
    """Return the bytes and offsets of Arrow text or bytes, without a copy."""
    wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    kind = np.int64 if wide else np.int32
    _, offsets, content = column.buffers()
    end = column.offset + len(column) + 1
    data = np.frombuffer(content or b"", np.uint8)
    places = np.frombuffer(offsets, kind, count=end) if offsets else np.zeros(1, kind)
    for array in (data, places):
        array.setflags(write=False)  # Arrow marks some buffers writable, and a kernel would compile for both
    return data, places[column.offset :]
