"""Text as rows of symbols, and values as bits: the public codes of the heavy-hitter mechanisms.

The rule, for a client in another language. A text is put into Unicode form NFC and cut to ``length`` characters (code
points). Symbol 0 is the end and fills up shorter texts. Symbols 1, 2, ... are the characters of the alphabet in order.
The upper-case form of a symbol counts as that symbol unless it is one itself. Every other character counts as
``other``, which is one more symbol, the last, unless it is in the alphabet. A missing value, or one that is not text,
counts as the empty text. If the alphabet has digits, a number counts as its text: 7, 7.0 and "7" are one value.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet import noise
from discreet.core import AnyArray, BoolArray, ByteArray, IntArray, checks, option
from discreet.engines.tables import arrow_kind
from discreet.errors import InvalidArgument, InvalidType
from discreet.local.oracles.choices import whole_numbers
from discreet.local.wire.bits import bits_for
from discreet.noise import Generator

Symbols: TypeAlias = npt.NDArray[np.uint16]
Bits: TypeAlias = ByteArray

LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: Alphabets by name. No name is itself an alphabet: each has a letter twice.
NAMED = {"letters": LETTERS, "digits": "0123456789.-", "alphanumeric": LETTERS + "0123456789.-"}
LONGEST = 256
#: Bits that a search tries at once: of a text, and of a number at first and then.
_TEXT_STEP, _FIRST_STEP, _NEXT_STEP = 12, 10, 8
_MOST_CHARACTERS = 2**16 - 2
_UNICODE = 0x110000
_AT_ONCE = 1 << 18
_EXPECTED = "a list or column of text"


ALPHABET: Any = option(
    default=LETTERS, objects=True, example="letters", help="The characters of texts, as one text or by name.",
    details=(
        'Names are "letters", "digits" (with point and minus) and "alphanumeric" (both). Upper case counts as lower '
        "case unless it is declared. With digits, numbers are spelled."
    ),
)  # fmt: skip
LENGTH: Any = option(default=10, objects=True, example=10, help="Length of texts, in characters; longer ones are cut.")
OTHER: Any = option(default="?", objects=True, example="?", help="The character that replaces all others.")


@dataclass(frozen=True)
class Alphabet:
    """Texts of up to a length over declared symbols."""

    characters: str
    length: int
    other: str

    @classmethod
    def read(cls, alphabet: Any, length: Any, other: Any) -> Alphabet:
        """Check the arguments ``alphabet``, ``length`` and ``other``."""
        fix = f"alphabet={LETTERS!r}"
        if not isinstance(alphabet, str):
            raise InvalidType("alphabet", alphabet, "the characters in one text", fix)
        alphabet = NAMED.get(alphabet, alphabet)
        if not 1 <= len(alphabet) <= _MOST_CHARACTERS:
            raise InvalidArgument("alphabet", f"{len(alphabet)} characters", f"1 to {_MOST_CHARACTERS} characters", fix)
        if len(set(alphabet)) < len(alphabet):
            odd = next(c for i, c in enumerate(alphabet) if c in alphabet[:i])
            raise InvalidArgument("alphabet", odd, "without repeated characters", fix)
        if not isinstance(other, str) or len(other) != 1:
            raise InvalidType("other", other, "the one character that stands for all outside the alphabet", "other='?'")
        for name, c in [("other", other), *(("alphabet", c) for c in alphabet)]:
            if 0xD800 <= ord(c) < 0xE000 or unicodedata.normalize("NFC", c) != c:
                raise InvalidArgument(name, c, "of characters that Unicode form NFC leaves as they are", "other='?'")
        return cls(alphabet, checks.whole("length", length, low=1, high=LONGEST), other)

    @property
    def size(self) -> int:
        """Number of symbols, with the end."""
        return len(self._points)

    @cached_property
    def _points(self) -> npt.NDArray[np.uint32]:
        """The code point of every symbol; the end has none."""
        extra = "" if self.other in self.characters else self.other
        return np.array([0, *(ord(c) for c in self.characters + extra)], np.uint32)

    @cached_property
    def _table(self) -> Symbols:
        """The symbol of every code point."""
        table = np.full(_UNICODE, 1 + (self.characters + self.other).index(self.other), np.uint16)
        for symbol, c in enumerate(self.characters, start=1):
            upper = c.upper()
            if len(upper) == 1 and upper.lower() == c:
                table[ord(upper)] = symbol
        for symbol, c in enumerate(self.characters, start=1):
            table[ord(c)] = symbol  # a declared character is itself before it is an upper case
        return table

    def symbols(self, values: Any) -> Symbols:
        """Return the symbols of every text, one row each. No row causes an error."""
        column = _text(_spelled(values) if "0" in self.characters else values)
        out = np.empty((len(column), self.length), np.uint16)
        for start in range(0, len(column), _AT_ONCE):
            part = pc.utf8_slice_codeunits(column.slice(start, _AT_ONCE), 0, self.length)
            data, places = _content(pc.utf8_rpad(part, self.length, " "))
            whole = data[places[0] : places[-1]].tobytes().decode()
            points = np.frombuffer(whole.encode("utf-32-le"), "<u4").reshape(len(part), self.length)
            given = np.arange(self.length) < pc.utf8_length(part).to_numpy()[:, None]
            out[start : start + len(part)] = np.where(given, self._table[points], 0)
        return out

    def column(self, symbols: Symbols) -> pa.Array:
        """Return rows of symbols as an Arrow column of text, for hashing."""
        points = self._points[symbols]
        given = symbols > 0
        sizes = given * (1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000))
        ends = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        content = points[given].astype("<u4").tobytes().decode("utf-32-le").encode()
        buffers = [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(content)]
        return pa.Array.from_buffers(pa.large_string(), len(symbols), buffers)

    def texts(self, symbols: Symbols) -> list[str]:
        return list(self.column(symbols).to_pylist())


@dataclass(frozen=True)
class TextCode:
    """The bits of a text: every symbol as a number, highest bit first."""

    alphabet: Alphabet

    @property
    def bits(self) -> int:
        return self.alphabet.length * self._each

    @property
    def _each(self) -> int:
        return bits_for(self.alphabet.size)

    def steps(self) -> tuple[int, ...]:
        """Return the steps that spell a text: whole characters, about two at a time."""
        if self._each > _TEXT_STEP:
            parts = -(-self._each // _TEXT_STEP)
            return tuple(self._each // parts + (i < self._each % parts) for i in range(parts)) * self.alphabet.length
        step = _TEXT_STEP // self._each * self._each
        whole, left = divmod(self.bits, step)
        return (step,) * whole + ((left,) if left else ())

    def read(self, values: Any, stream: Generator | None = None) -> Symbols:
        """Return the values in the form that `prefix` takes."""
        return self.alphabet.symbols(values)

    def prefix(self, read: AnyArray, bits: int) -> Bits:
        """Return the first bits of every value, one byte per bit."""
        needed = -(-bits // self._each)
        shifts = np.arange(self._each - 1, -1, -1, dtype=np.uint16)
        spelled = ((read[:, :needed, None] >> shifts) & 1).astype(np.uint8)
        return spelled.reshape(len(read), needed * self._each)[:, :bits]

    def possible(self, prefixes: Bits) -> BoolArray:
        """Return which prefixes belong to some text: no unknown symbol, and nothing after the end."""
        given = prefixes.shape[1]
        spelled = self._spell(np.pad(prefixes, ((0, 0), (0, -given % self._each))))
        ended = np.logical_or.accumulate(spelled[:, : given // self._each] == 0, axis=1)
        after = spelled[:, 1:][:, : ended.shape[1]]
        late = (ended[:, : after.shape[1]] & (after > 0)).any(axis=1)
        return np.asarray((spelled < self.alphabet.size).all(axis=1) & ~late)

    def whole(self, prefixes: Bits) -> BoolArray:
        """Return which prefixes belong to one text only: they spell its end, or all its characters."""
        if prefixes.shape[1] == self.bits:
            return np.ones(len(prefixes), np.bool_)
        complete = prefixes.shape[1] // self._each
        return np.asarray((self._spell(prefixes[:, : complete * self._each]) == 0).any(axis=1))

    def needed(self, whole: Bits) -> IntArray:
        """Return the number of bits after which every text is known."""
        lengths = (self._spell(whole) > 0).sum(axis=1)
        return np.asarray(np.minimum((lengths + 1) * self._each, self.bits), np.int64)

    def values(self, whole: Bits) -> list[str]:
        """Return the texts that the bits spell."""
        return self.alphabet.texts(self._spell(whole).astype(np.uint16))

    def _spell(self, bits: Bits) -> IntArray:
        weights = 1 << np.arange(self._each - 1, -1, -1)
        return np.asarray(bits.reshape(len(bits), bits.shape[1] // self._each, self._each) @ weights, np.int64)


@dataclass(frozen=True)
class WholeCode:
    """The bits of whole numbers 0 to 2^bits - 1, highest first."""

    bits: int

    def steps(self) -> tuple[int, ...]:
        """Return the steps that spell a number, the first one longest."""
        if self.bits <= _FIRST_STEP:
            return (self.bits,)
        rest = self.bits - _FIRST_STEP
        parts = -(-rest // _NEXT_STEP)
        return (_FIRST_STEP, *(rest // parts + (i < rest % parts) for i in range(parts)))

    def read(self, values: Any, stream: Generator | None = None) -> IntArray:
        """Return the numbers; one outside the range becomes a random one, which adds the same to every estimate."""
        found = whole_numbers(values)
        outside = (found < 0) | (found >= 1 << self.bits)
        if outside.any():
            if stream is None:
                odd = found[int(np.argmax(outside))]
                raise InvalidArgument("candidates", int(odd), f"whole numbers below 2**{self.bits}")
            found = np.where(outside, 0, found)
            found[outside] = noise.below(1 << self.bits, size=int(outside.sum()), rng=stream)
        return found

    def prefix(self, read: AnyArray, bits: int) -> Bits:
        shifts = np.arange(self.bits - 1, self.bits - 1 - bits, -1)
        return ((read[:, None] >> shifts) & 1).astype(np.uint8)

    def possible(self, prefixes: Bits) -> BoolArray:
        """Return which prefixes belong to some number: all."""
        return np.ones(len(prefixes), np.bool_)

    def whole(self, prefixes: Bits) -> BoolArray:
        """Return which prefixes belong to one number only: those of all bits."""
        return np.full(len(prefixes), prefixes.shape[1] == self.bits)

    def needed(self, whole: Bits) -> IntArray:
        """Return the number of bits after which every number is known: all."""
        return np.full(len(whole), self.bits)

    def values(self, whole: Bits) -> list[int]:
        return [int(v) for v in whole @ (1 << np.arange(self.bits - 1, -1, -1, dtype=np.int64))]


def _spelled(values: Any) -> Any:
    """Return numbers as text, whole ones without a point. Other values stay as they are."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.ndim == 1:
        return [_digits(v) for v in values.tolist()]
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        whole = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        return [_digits(v) for v in values.to_pylist()] if whole else values
    if isinstance(values, (list, tuple)) and any(isinstance(v, (int, float, np.number)) for v in values):
        return [_digits(v) for v in values]
    return values


def _digits(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return value
    number = value.item() if isinstance(value, np.generic) else value
    if number != number:  # not a number: missing
        return None
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    # A decimal spells a whole number of any size; `str` refuses more than 4300 digits.
    return str(Decimal(number)) if isinstance(number, int) else str(number)


def _text(values: Any) -> pa.Array:
    """Read text of any kind as one Arrow column in form NFC, "" if there is none."""
    column = _column(values)
    data, places = _content(column)
    used = data[places[0] : places[-1]]
    if used.size and used.max() >= 0x80:
        try:
            return pc.utf8_normalize(column, "NFC")
        except pa.ArrowInvalid:  # somewhere the bytes are not UTF-8
            column = pa.array([_mended(v) for v in column.cast(pa.large_binary()).to_pylist()], pa.large_string())
            return pc.utf8_normalize(column, "NFC")
    return column


def _column(values: Any) -> pa.Array:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _from_arrow(values)
    if hasattr(values, "__arrow_c_stream__") and getattr(values, "dtype", None) != np.dtype(object):
        return _from_arrow(pa.chunked_array(values))
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "OUST" or values.ndim != 1:
            raise InvalidType("values", f"{values.dtype.name}, {values.ndim} dimensions", _EXPECTED, "values=['cat']")
        values = values.tolist()
    if isinstance(values, (str, bytes, dict, set)) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise InvalidType("values", type(values).__name__, _EXPECTED, "values=['cat']")
    listed = list(values)
    if set(map(type, listed)) <= {str, type(None)}:
        try:
            return pa.array(listed, pa.large_string()).fill_null("")
        except UnicodeEncodeError:  # a lone surrogate
            pass
    return pa.array([_mended(v) for v in listed], pa.large_string())


def _from_arrow(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # too long for one array of its kind
        column = pa.concat_arrays([_from_arrow(chunk) for chunk in column.chunks])
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        # Not decoded as it is: Arrow cannot decode some kinds of entries that Polars makes.
        entries = column.dictionary.cast(pa.large_string()) if arrow_kind(kind) == "text" else column.dictionary
        column = pa.DictionaryArray.from_arrays(column.indices, entries).dictionary_decode()
        kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return column.cast(pa.large_string()).fill_null("")
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.array([_mended(v) for v in column.to_pylist()], pa.large_string())
    raise InvalidType("values", str(column.type), "a column of text", "values=column.cast(pa.string())")


def _mended(value: Any) -> str:
    """Read one value as valid Unicode; anything but text is empty."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content(column: pa.Array) -> tuple[ByteArray, IntArray]:
    """Return the bytes and the offsets of Arrow text."""
    _, offsets, content = column.buffers()
    data = np.frombuffer(content or b"", np.uint8)
    if not len(column) or offsets is None:
        return data, np.zeros(1, np.int64)
    return data, np.frombuffer(offsets, np.int64, count=column.offset + len(column) + 1)[column.offset :]
