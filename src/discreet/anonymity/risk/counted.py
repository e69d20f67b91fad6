"""Rows counted by their values: values are numbered as they come, and combinations of numbers are counted.

k, l, t and the risk of a table need no more. The counts can be added batch by batch and grow with the number of
distinct combinations, not with the table.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.risk import _counting_kernels as kernels
from discreet.anonymity.risk.coded import CodedColumn, code_column
from discreet.core import FEW_STEPS, AnyArray, BoolArray, Domain, IntArray, SmallIntArray, WordArray
from discreet.engines.tables import as_text

#: Values and combinations for which there is room at first.
_FEW = 1 << 10
#: From so many on room is doubled when it is needed, before that it grows faster.
_MANY = 1 << 19
#: Rows that a tally keeps as they are: sorting them takes less time than compiling the kernels that count.
_SORTED = 1 << 15
#: The number of a missing value, and of one that is not known.
MISSING, UNKNOWN = kernels.MISSING, kernels.UNKNOWN


class Values:
    """The distinct values of a column, numbered in the order in which they come; a missing one is -1.

    ``key`` turns a column of persons into what is compared (`discreet.engines.tables.same`); otherwise spelling counts.
    """

    def __init__(self, key: Callable[[pa.Array], pa.Array] | None = None) -> None:
        self._key = key
        self.kind: pa.DataType | None = None
        self._known: _Words | _Texts = _Texts()

    def __len__(self) -> int:
        return self._known.n

    def codes(self, column: pa.Array, *, add: bool = True) -> SmallIntArray:
        """Number the values of some rows; new ones get the next numbers, or -2 if none are to be added."""
        column = column if self._key is None else self._key(column)
        if self.kind is None:
            self.kind = column.type
            self._known = _Words() if _in_words(column.type) else _Texts()
        return self._known.codes(column, add)

    def array(self) -> pa.Array:
        return self._known.array(self.kind or pa.large_string())

    def coded(self, domain: Domain | None, name: str, codes: Any) -> CodedColumn:
        """Return entries, given by their numbers here, as a sensitive column: see `code_column`."""
        values = self.array() if domain is not None else _numbers(self.array())
        some = bool((codes < 0).any())
        whole = code_column(domain, name, pa.concat_arrays([values, pa.nulls(1, values.type)]) if some else values)
        return CodedColumn(name, whole.codes[codes], whole.labels, whole.ordered)  # -1, missing, picks the last

    def comparing(self, kind: pa.DataType) -> tuple[AnyArray, Callable[[pa.Array], SmallIntArray]]:
        """Return numbers of the values here, and what looks up those of a column of a type: -2 for unknown ones.

        Values of two types are compared as texts.
        """
        if kind == self.kind or self.kind is None:
            return np.arange(len(self)), partial(self.codes, add=False)
        known = Values()
        return known.codes(as_text(self.array())), lambda column: known.codes(as_text(column), add=False)


def _in_words(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


class _Words:
    """Different numbers, each in a word."""

    def __init__(self) -> None:
        self.n, self._known, self._slots = 0, np.empty(_FEW, np.uint64), _empty(_FEW)

    def codes(self, column: pa.Array, add: bool) -> SmallIntArray:
        words, gone = _words(column)
        codes, done = np.empty(len(words), np.int32), -1
        while done < len(words):
            if done >= 0:
                self._known = _enlarged(self._known)
                self._slots = _empty(len(self._known))
                kernels.place_words(self._known, self.n, self._slots)
            done, self.n = kernels.number_words(words, gone, max(done, 0), self._slots, self._known, self.n, add, codes)
        return codes

    def array(self, kind: pa.DataType) -> pa.Array:
        found = self._known[: self.n]
        if pa.types.is_floating(kind):
            return pa.array(found.view(np.float64)).cast(kind)
        return pa.array(found if kind == pa.uint64() else found.view(np.int64)).cast(kind)


def _words(column: pa.Array) -> tuple[WordArray, BoolArray]:
    """Return numbers as words, equal ones as equal words, and which are missing; -0.0 is no other number than 0."""
    gone = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else np.zeros(len(column), bool)
    filled = column.fill_null(pa.scalar(0).cast(column.type)) if column.null_count else column
    plain = filled.to_numpy(zero_copy_only=False)
    if plain.dtype.kind != "f":
        return plain.astype(np.int64).view(np.uint64), gone
    numbers = plain.astype(np.float64) + 0.0
    return numbers.view(np.uint64), gone | np.isnan(numbers)


class _Texts:
    """Different texts, one behind the other."""

    def __init__(self) -> None:
        self.n, self._hashes, self._slots = 0, np.empty(_FEW, np.uint64), _empty(_FEW)
        self._ends, self._kept = np.zeros(_FEW + 1, np.int64), np.empty(16 * _FEW, np.uint8)
        self._few: dict[bytes, int] | None = {}  # instead, while there are few: nothing needs to be compiled

    def codes(self, column: pa.Array, add: bool) -> SmallIntArray:
        encoded = pc.dictionary_encode(column)
        texts = encoded.dictionary.cast(pa.large_string())
        if self._few is not None and self.n + len(texts) > FEW_STEPS:
            before, self._few, self.n = self.array(pa.large_string()), None, 0
            self._number(before, add=True)
        codes = self._number(texts, add)
        found: SmallIntArray = codes[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
        return found

    def _number(self, texts: pa.Array, add: bool) -> SmallIntArray:
        """Number different texts; the last number is for what is missing."""
        codes, done = np.full(len(texts) + 1, MISSING, np.int32), -1
        if (few := self._few) is not None:
            for i, text in enumerate(texts.view(pa.large_binary()).to_pylist()):
                codes[i] = few.setdefault(text, len(few)) if add else few.get(text, UNKNOWN)
            self.n = len(few)
            return codes
        _, places, buffer = texts.buffers()
        offsets = np.frombuffer(places, np.int64, len(texts) + 1, texts.offset * 8) if len(texts) else np.zeros(1, int)
        data = np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", np.uint8)
        while done < len(texts):
            if done >= 0:
                self._make_room(int(offsets[done + 1] - offsets[done]))
            done, self.n = kernels.number_texts(
                data, offsets, max(done, 0), self._slots, self._hashes, self._ends, self._kept, self.n, add, codes
            )
        return codes

    def _make_room(self, size: int) -> None:
        while self._ends[self.n] + size > len(self._kept):
            self._kept = _enlarged(self._kept)
        if self.n == len(self._hashes):
            self._hashes = _enlarged(self._hashes)
            self._ends = np.concatenate([self._ends, np.zeros(len(self._hashes) - self.n, np.int64)])
            self._slots = _empty(len(self._hashes))
            kernels.place_words(self._hashes, self.n, self._slots)

    def array(self, kind: pa.DataType) -> pa.Array:
        if self._few is not None:
            return pa.array(list(self._few), pa.large_binary()).view(pa.large_string()).cast(kind)
        ends = self._ends[: self.n + 1]
        texts = self._kept[: ends[-1]].tobytes()
        return pa.LargeStringArray.from_buffers(self.n, pa.py_buffer(ends.tobytes()), pa.py_buffer(texts)).cast(kind)


def _empty(room: int) -> SmallIntArray:
    """Return empty slots for ``room`` values: twice as many, so that searches are short."""
    return np.full(2 * room, -1, np.int32)


def _enlarged(array: Any) -> Any:
    """Return an array with room for more: fewer steps at first, less to spare when there is much."""
    found = np.empty((len(array) * (8 if len(array) < _MANY else 2), *array.shape[1:]), array.dtype)
    found[: len(array)] = array
    return found


class ValueTally:
    """Counts of each combination of numbers (at least -2) among the rows."""

    def __init__(self) -> None:
        self._n, self._slots, self._held = 0, _empty(_FEW), np.empty(_FEW, np.int64)
        self._known = np.empty((_FEW, 0), np.int32)
        self._kept: list[tuple[SmallIntArray, IntArray]] = []

    def add(self, columns: Sequence[Any], counts: IntArray | None = None) -> None:
        n = len(columns[0])
        if not n:
            return
        rows = np.empty((n, len(columns)), np.int32)
        for j, column in enumerate(columns):
            rows[:, j] = column
        self._kept.append((rows, np.ones(n, np.int64) if counts is None else counts))
        if self._n or sum(len(own) for own, _ in self._kept) > _SORTED:
            for own, held in self._kept:
                self._count(own, held)
            self._kept = []

    def _count(self, rows: SmallIntArray, counts: IntArray) -> None:
        if not self._n:
            self._known = np.empty((_FEW, rows.shape[1]), np.int32)
        n, done = len(rows), -1
        while done < n:
            if done >= 0:
                self._known, self._held = _enlarged(self._known), _enlarged(self._held)
                self._slots = _empty(len(self._held))
                kernels.place_rows(self._known, self._n, self._slots)
            done, self._n = kernels.tally_rows(
                rows, counts, max(done, 0), self._slots, self._known, self._held, self._n
            )

    def result(self) -> tuple[SmallIntArray, IntArray]:
        """Return the combinations, a row per column, in rising order, and how often each occurs."""
        if self._kept:
            rows, held = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
            turn = np.lexsort(rows.T[::-1])
            rows = rows[turn]
            first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
            return np.ascontiguousarray(rows[first].T), np.add.reduceat(held[turn], first)
        columns = np.ascontiguousarray(self._known[: self._n].T)
        if not self._n:
            return columns, np.empty(0, np.int64)
        order = np.arange(self._n, dtype=np.int32)
        for column in columns[::-1]:  # the last column first: what is equal in the ones before keeps its order
            low, high = int(column.min()), int(column.max())
            order = kernels.sort_by(column, low, high - low + 1, order)
        return np.take(columns, order, axis=1), self._held[order]


def total(own: IntArray, counts: IntArray | None = None, size: int = 0) -> IntArray:
    """Add up counts by number; whole numbers, exact below 2^53. Without ``counts`` every entry is one."""
    if counts is None:
        return np.bincount(own, minlength=size)
    return np.bincount(own, counts, minlength=size).astype(np.int64)


def _numbers(values: pa.Array) -> pa.Array:
    """Return texts that are all numbers as numbers, which have an order: a CSV file has texts alone."""
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return values
    try:
        return pc.cast(pc.if_else(pc.equal(values, ""), None, values), pa.float64())
    except pa.ArrowInvalid:
        return values
