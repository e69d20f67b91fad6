"""Rows counted by what they hold: values numbered as they come, combinations of numbers with how often each occurs.

This is all that k, l, t and the risk of a table need, and it can be added up batch by batch. It is as large as there
are different combinations, not as the table.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.release.table import CodedColumn, code_column
from discreet.anonymity.risk.classes import join
from discreet.core.arrays import IntArray
from discreet.core.domain import Domain
from discreet.engines.tables.columns import as_text

#: Combinations that may wait before they are added up.
_WAITING = 1 << 18
#: The number of a missing value, and of one that is not known.
MISSING, UNKNOWN = -1, -2


class Values:
    """The different values of a column, numbered in the order in which they first come; a missing one is -1.

    Parameters
    ----------
    key : callable, optional
        Turns a column into what is compared, for one whose values are persons: see `discreet.engines.tables.same`.
        Without it values are compared as they are spelled.

    Examples
    --------
    >>> jobs = Values()
    >>> jobs.codes(pa.array(["cook", None, "smith"])).tolist(), jobs.codes(pa.array(["smith", "smith"])).tolist()
    ([0, -1, 1], [1, 1])
    >>> len(jobs)
    2
    """

    def __init__(self, key: Callable[[pa.Array], pa.Array] | None = None) -> None:
        self._key = key
        self.kind: pa.DataType | None = None
        self._first: pa.Array | None = None  # the values of the first rows, until others come
        self._known: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._known) if self._first is None else len(self._first)

    def codes(self, column: pa.Array) -> IntArray:
        """Number the values of some rows; new ones get the next numbers."""
        column = column if self._key is None else self._key(column)
        indices, found = _distinct(column)
        if self.kind is None:
            self.kind, self._first = column.type, found
            return _at(np.arange(len(found)), indices)
        places = self._places
        return _at([places.setdefault(value, len(places)) for value in found.to_pylist()], indices)

    @property
    def _places(self) -> dict[Any, int]:
        """The number of every value, to look new ones up."""
        if self._first is not None:
            self._known = {value: i for i, value in enumerate(self._first.to_pylist())}
            self._first = None
        return self._known

    def array(self) -> pa.Array:
        """Return the values in the order of their numbers."""
        return pa.array(list(self._known), self.kind or pa.large_string()) if self._first is None else self._first

    def coded(self, domain: Domain | None, name: str, codes: IntArray) -> CodedColumn:
        """Return entries, given by their numbers here, as a sensitive column: see `code_column`."""
        values = self.array() if domain is not None else _numbers(self.array())
        some = bool((codes < 0).any())
        whole = code_column(domain, name, pa.concat_arrays([values, pa.nulls(1, values.type)]) if some else values)
        return CodedColumn(name, whole.codes[codes], whole.labels, whole.ordered)  # -1, missing, picks the last

    def comparing(self, kind: pa.DataType) -> tuple[IntArray, dict[Any, int]]:
        """Return numbers by which to compare with a column of a type: for each value here, and for those to look up.

        Values of two types are compared as texts.
        """
        if kind == self.kind or self.kind is None:
            return np.arange(len(self)), self._places
        known: dict[Any, int] = {}
        texts = as_text(self.array()).to_pylist()
        return np.array([known.setdefault(text, len(known)) for text in texts], np.int64), known


def looked_up(column: pa.Array, known: dict[Any, int], by_text: bool) -> IntArray:
    """Return the numbers of values of another table: -1 where one is missing, -2 where it is not known."""
    indices, found = _distinct(as_text(column) if by_text else column)
    return _at([known.get(value, UNKNOWN) for value in found.to_pylist()], indices)


def _distinct(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the place of every row's value among the different ones, and these."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        column = pc.if_else(pc.equal(column, 0), pa.scalar(0, column.type), column)  # -0.0 is no other number
    encoded = pc.dictionary_encode(column)
    return encoded.indices, encoded.dictionary


def _at(places: Sequence[int] | IntArray, indices: pa.Array) -> IntArray:
    table = np.array([*places, MISSING], np.int64)
    found: IntArray = table[indices.fill_null(len(places)).to_numpy(zero_copy_only=False)]
    return found


class ValueTally:
    """How often every combination of numbers (at least -2) occurs among the rows.

    Examples
    --------
    >>> tally = ValueTally()
    >>> tally.add([np.array([0, 1, 0]), np.array([5, 5, 5])])
    >>> tally.add([np.array([1]), np.array([5])])
    >>> codes, counts = tally.result()
    >>> codes.tolist(), counts.tolist()
    ([[0, 1], [5, 5]], [2, 2])
    """

    def __init__(self) -> None:
        self._parts: list[tuple[npt.NDArray[np.int32], IntArray]] = []
        self._waiting = 0

    def add(self, columns: Sequence[IntArray], counts: IntArray | None = None) -> None:
        """Take in rows: a number per row from every column."""
        n = len(columns[0])
        if not n:
            return
        self._parts.append(_added_up(columns, np.ones(n, np.int64) if counts is None else counts))
        self._waiting += len(self._parts[-1][1])
        if len(self._parts) > 1 and self._waiting > _WAITING + 2 * len(self._parts[0][1]):
            self._compact()

    def result(self) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Return the combinations, a row per column, in rising order, and how often each occurs."""
        if not self._parts:
            return np.empty((0, 0), np.int32), np.empty(0, np.int64)
        self._compact()
        return self._parts[0]

    def _compact(self) -> None:
        if len(self._parts) > 1:
            codes = np.concatenate([c for c, _ in self._parts], axis=1)
            self._parts = [_added_up(list(codes), np.concatenate([n for _, n in self._parts]))]
        self._waiting = len(self._parts[0][1])


def _added_up(columns: Sequence[Any], counts: IntArray) -> tuple[npt.NDArray[np.int32], IntArray]:
    own = join([_from_zero(column) for column in columns], len(counts))
    one = np.empty(int(own.max()) + 1, np.int64)
    one[own] = np.arange(len(own))
    return np.stack([column[one] for column in columns]).astype(np.int32), total(own, counts)


def _from_zero(column: Any) -> tuple[IntArray, int]:
    """Return numbers that begin at 0, and how many there may be: the fewer, the faster they are joined."""
    low, high = int(column.min()), int(column.max())
    return (column if low == 0 else column - low).astype(np.int64, copy=False), high - low + 1


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
